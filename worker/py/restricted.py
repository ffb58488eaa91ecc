"""policy = restricted: the calculator's policy, for what a program may name.

It makes for clear messages and keeps honest programs small; it is no
boundary.  The jail is, and the audit hook (policy.c) refuses effects."""
import ast
import builtins
import sys

BUILTINS = """abs min max sum round len range enumerate sorted pow divmod int
float str bool list dict tuple set print zip map filter""".split()

# Roots of modules that programs may not import; all that begin with an
# underscore, too.
DENIED_ROOTS = frozenset("""os sys subprocess socket shutil pathlib pickle
ctypes importlib posix nt builtins io codecs signal threading multiprocessing
concurrent asyncio gc inspect types code codeop ast dis marshal mmap resource
fcntl pty tty termios select selectors ssl http urllib ftplib smtplib poplib
imaplib telnetlib xmlrpc socketserver webbrowser tempfile glob fnmatch
fileinput linecache traceback tracemalloc trace pdb bdb cProfile profile
timeit runpy pkgutil zipimport zipfile tarfile shelve dbm sqlite3 copyreg
weakref atexit site sysconfig platform getpass pwd grp syslog logging warnings
cffi numba distutils setuptools pip annotationlib compression""".split())

BOUND = {"math": "math", "statistics": "statistics", "datetime": "datetime",
         "decimal": "decimal", "fractions": "fractions",
         "itertools": "itertools", "collections": "collections",
         "numpy": "numpy", "np": "numpy", "pandas": "pandas",
         "pd": "pandas", "scipy": "scipy", "sympy": "sympy"}

# Attributes that lead from an object to the interpreter.
FRAME_ATTRIBUTES = ("gi_", "cr_", "ag_", "tb_", "f_", "co_", "func_")
FORMATTERS = ("format", "format_map", "vformat")

_import = builtins.__import__


class PolicyError(Exception):
    pass


def _refuse(node, what, instead):
    raise PolicyError("line %d: policy restricted refuses %s; %s." %
                      (getattr(node, "lineno", 0), what, instead))


def _check_root(node, name):
    root = name.partition(".")[0]
    if root in DENIED_ROOTS or root.startswith("_"):
        _refuse(node, "the import of %s" % root, "it offers math, "
                "statistics, datetime, decimal, fractions, itertools, "
                "collections, numpy, pandas, scipy and sympy")


def _check_attribute(node, name, text):
    if name.startswith("_") or name.startswith(FRAME_ATTRIBUTES):
        _refuse(node, "the attribute %s" % name, "use public attributes "
                "only")
    if name in FORMATTERS:
        if (not isinstance(text, ast.Constant)
                or not isinstance(text.value, str)
                or "._" in text.value or "[_" in text.value):
            _refuse(node, "%s() with a text that is not written out or "
                    "reads private attributes" % name, "use an f-string")


def _check(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            _check_attribute(node, node.attr, node.value)
        elif isinstance(node, ast.MatchClass):
            for name in node.kwd_attrs:
                _check_attribute(node, name, None)
        elif isinstance(node, ast.Name) and node.id.startswith("__"):
            if node.id != "__name__":
                _refuse(node, "the name %s" % node.id,
                        "use public names only")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                _check_root(node, alias.name)
        elif isinstance(node, ast.ImportFrom):
            _check_root(node, node.module or "_")
            for alias in node.names:
                if alias.name.startswith("_"):
                    _refuse(node, "the import of %s" % alias.name,
                            "use public names only")


def _guarded_import(name, globals=None, locals=None, fromlist=(), level=0):
    _check_root(None, name)
    return _import(name, globals, locals, fromlist, level)


def prepare(source, ns):
    """Checks the program and gives its namespace what it may use; the reason
    why it may not run, or None."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        tree = None             # running it gives the message
    try:
        if tree is not None:
            _check(tree)
    except PolicyError as e:
        return str(e)
    except RecursionError:
        return "policy restricted refuses a program that is nested so deeply"
    allowed = {name: getattr(builtins, name) for name in BUILTINS}
    allowed["__import__"] = _guarded_import
    ns["__builtins__"] = allowed
    for name, module in BOUND.items():
        if module not in sys.modules:
            try:
                _import(module)
            except ImportError:
                continue        # not installed here
        ns[name] = sys.modules[module]
    return None
