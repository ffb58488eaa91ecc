"""What the zygote does in Python before it serves: import, warm, settle."""
import atexit
import gc
import sys
import time

# Standard modules that programs often import.  Importing them here costs the
# zygote a little and each program nothing; none of them starts a thread,
# keeps a descriptor or prints.
STDLIB = """
abc argparse array ast asyncio base64 bisect builtins calendar cmath
collections collections.abc concurrent.futures concurrent.futures.process
concurrent.futures.thread contextlib contextvars copy csv ctypes dataclasses
datetime decimal difflib dis doctest enum fractions functools glob graphlib
gzip hashlib heapq hmac html html.parser inspect io itertools json keyword
linecache locale logging math multiprocessing multiprocessing.pool numbers
operator os pathlib pickle platform pprint queue random re reprlib sched
secrets shlex shutil signal sqlite3 stat statistics string struct subprocess
sys tempfile textwrap threading time timeit tokenize traceback types typing
unicodedata unittest unittest.mock urllib.parse urllib.request uuid warnings
weakref xml.etree.ElementTree zipfile zlib zoneinfo
""".split()

# Handlers that library modules register with atexit when they are imported.
# A program that imports such a module has them under plain CPython too, so
# pyend.c calls them, unless what they work on has not grown since; what else
# was registered while the zygote started is about the zygote's own files.
KEEP_ATEXIT = {
    ("logging", "shutdown"): (("logging", "_handlerList"),),
    ("multiprocessing.util", "_exit_function"):
        (("multiprocessing.util", "_finalizer_registry"),
         ("logging", "_handlerList")),
}

_handlers = []
_register = atexit.register


def _record(func, *args, **kwargs):
    _handlers.append((func, args, kwargs))
    return _register(func, *args, **kwargs)


# From now on: this is the first of our modules to be loaded.
atexit.register = _record


def import_module(name):
    """Imports one module; (milliseconds, "" or why it is left out)."""
    t = time.perf_counter()
    try:
        __import__(name)
        why = ""
    except Exception as e:  # a broken package must not stop the zygote
        why = "%s: %s" % (type(e).__name__, e)
    return int((time.perf_counter() - t) * 1000), why


def extension_file(name):
    """The file of an extension module; its import would do too much."""
    from importlib.util import find_spec
    spec = find_spec(name)
    return spec.origin if spec is not None else None


def import_stdlib():
    gc.disable()        # hardly anything that imports make is garbage
    for name in STDLIB:
        import_module(name)


def library_exits():
    """[(handler, (container, ...))], in the order of registration."""
    found = []
    for func, args, kwargs in _handlers:
        key = (getattr(func, "__module__", ""), getattr(func, "__name__", ""))
        if key in KEEP_ATEXIT:
            found.append((func, tuple(getattr(sys.modules[module], name)
                                      for module, name in KEEP_ATEXIT[key])))
    return found


def _settle_atexit():
    atexit.register = _register
    atexit._clear()
    _handlers.clear()
    # Its handler went with the others; the next finalizer registers it.
    from weakref import finalize
    finalize._registry.clear()
    finalize._registered_with_atexit = False


def _close_fonts():
    """Fonts that matplotlib caches keep their files open."""
    fonts = sys.modules.get("matplotlib.font_manager")
    mathtext = sys.modules.get("matplotlib.mathtext")
    for cached in (getattr(fonts, "_get_font", None),
                   getattr(getattr(mathtext, "MathTextParser", None),
                           "_parse_cached", None)):
        if cached is not None:
            cached.cache_clear()


def _settle_modules():
    """Takes back what imports and warm-up left for a program to notice."""
    for mod in list(sys.modules.values()):
        ns = getattr(mod, "__dict__", None)
        if isinstance(ns, dict):
            # Else a warning that was shown here is not shown to a program.
            ns.pop("__warningregistry__", None)
    sys.modules["linecache"].clearcache()
    sys.modules["tempfile"].tempdir = None
    sys.modules["random"].seed()
    _close_fonts()
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)


def _settle_processes():
    """The default of multiprocessing is a fork server since 3.14.  That needs
    sockets, which no jail gives, so it is fork, as it was before."""
    context = sys.modules["multiprocessing.context"]
    default = context._default_context
    if default.get_start_method() == "forkserver":
        default._default_context = context._concrete_contexts["fork"]
    default._actual_context = None


def settle():
    """The last thing before forks: leave a state like that of a fresh
    interpreter, and keep the garbage collector from ever touching what is
    there now."""
    _settle_modules()
    _settle_processes()
    _settle_atexit()
    gc.collect()
    gc.collect()
    gc.freeze()


def collect_all():
    """Also what was frozen, of which some may be garbage with descriptors."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def settle_early():
    """The same after the imports alone, in a hurry: their garbage stays."""
    _settle_modules()
    _settle_processes()
    _settle_atexit()
    gc.freeze()
    gc.enable()


def _import_names(dist, name):
    """" (import x, y)" where that is not the name of the package."""
    import re
    names = (dist.read_text("top_level.txt") or "").split()
    if not names:
        names = re.findall(r"^(\w+)(?:/__init__)?\.py,",
                           dist.read_text("RECORD") or "", re.M)
    names = sorted({n for n in names if n[0] != "_"})
    if not names or name.lower().replace("-", "_") in names:
        return ""
    return " (import %s)" % ", ".join(names[:8])


def packages():
    """"name version" lines, sorted, of what can be imported."""
    from importlib.metadata import distributions
    found = {}
    for dist in distributions():
        name = dist.metadata["Name"]
        if name and name.lower() not in found:
            # The first on sys.path is the one that is imported.
            found[name.lower()] = "%s %s%s\n" % (name, dist.version,
                _import_names(dist, name))
    return "".join(found[k] for k in sorted(found))


def directories():
    """The directories that modules come from, none inside another."""
    from os.path import isabs, isdir, realpath
    found = []
    for path in sorted([sys.prefix, sys.exec_prefix, sys.base_prefix,
                        sys.base_exec_prefix] + sys.path, key=len):
        for name in (path, realpath(path) if path else ""):
            if (isabs(name) and isdir(name) and name != "/"
                    and not any(name == f or name.startswith(f + "/")
                                for f in found)):
                found.append(name)
    return found


def run_file(path):
    """Runs the operator's own warm-up program in a namespace of its own."""
    with open(path, "rb") as f:
        code = compile(f.read(), path, "exec", dont_inherit=True)
    exec(code, {"__name__": "__warm__", "__file__": path})
    # Should it have frozen something, afterfork.generators() is to find it.
    gc.unfreeze()
