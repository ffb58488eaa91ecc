"""Turns an uncaught exception into what is sent of it."""
import io
import sys
import sysconfig
from types import TracebackType

TEXT_MAX = 256 * 1024           # characters of a traceback
MESSAGE_MAX = 64 * 1024         # characters of a message
CHAIN_MAX = 100                 # exceptions looked at in one chain

# C descriptors: a program's exception class may define these names anew.
_get_tb = BaseException.__traceback__.__get__
_set_tb = BaseException.__traceback__.__set__
_get_cause = BaseException.__cause__.__get__
_get_context = BaseException.__context__.__get__
_display = sys.__excepthook__

_library = tuple({p.rstrip("/") + "/" for p in (
    sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"),
    sysconfig.get_path("purelib"), sysconfig.get_path("platlib"),
    "/usr/lib/python3", sys.prefix + "/lib")} |
    {"<frozen ", "<adder ", "<__array_function__"})


# Compiled Cython code puts frames of its sources into tracebacks.
_cython = (".pyx", ".pxd", ".pxi")


def _is_user(tb):
    name = tb.tb_frame.f_code.co_filename
    return not name.startswith(_library) and not name.endswith(_cython)


def _entries(tb):
    found = []
    while tb is not None:
        found.append(tb)
        tb = tb.tb_next
    return found


def _user_only(tb):
    """A copy of the traceback without library frames; all of it where there
    is nothing else."""
    kept = [t for t in _entries(tb) if _is_user(t)]
    if not kept:
        return tb
    new = None
    for t in reversed(kept):
        new = TracebackType(new, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return new


def _chain(exc):
    found, todo = {}, [exc]
    while todo and len(found) < CHAIN_MAX:
        e = todo.pop()
        if e is None or id(e) in found:
            continue
        found[id(e)] = e
        todo += [_get_cause(e), _get_context(e)]
        if isinstance(e, BaseExceptionGroup):
            todo += BaseExceptionGroup.exceptions.__get__(e)
    return found.values()


def _standard_text(exc):
    """What CPython itself prints, with each traceback cut to user frames."""
    saved = [(e, _get_tb(e)) for e in _chain(exc)]
    stderr = getattr(sys, "stderr", None)
    out = io.StringIO()
    try:
        for e, tb in saved:
            _set_tb(e, _user_only(tb))
        sys.stderr = out
        _display(type(exc), exc, _get_tb(exc))
    finally:
        sys.stderr = stderr
        for e, tb in saved:
            _set_tb(e, tb)
    return out.getvalue()


def _cut(text, limit):
    if len(text) <= limit:
        return text
    keep = limit // 2
    return "%s\n... %d characters left out ...\n%s" % (
        text[:keep], len(text) - 2 * keep, text[-keep:])


def _type_name(t):
    module, name = t.__module__, t.__qualname__
    if module in ("builtins", "__main__"):
        return name
    return "%s.%s" % (module, name)


def _message(exc):
    try:
        return str(exc)
    except BaseException:
        return "<exception str() failed>"


def _line(exc, path):
    """The deepest line of the program itself, 0 if there is none."""
    users = [t for t in _entries(_get_tb(exc)) if _is_user(t)]
    main = [t for t in users if t.tb_frame.f_code.co_filename == path]
    if main or users:
        return (main or users)[-1].tb_lineno or 0
    if isinstance(exc, SyntaxError) and exc.filename == path:
        return exc.lineno or 0
    return 0


_MAGIC = ("line %d is an IPython magic, not Python: remove it. Figures come "
          "back without %%matplotlib, and time.perf_counter() measures what "
          "%%timeit would.")
_SHELL = ("line %d is a shell command for IPython, not Python: remove it. "
          "subprocess.run() starts a program where programs are allowed; "
          "pip cannot install packages from inside the code.")
_HELP = "line %d asks IPython for help: write help(name) instead."
_PROMPT = ("line %d begins with an interpreter prompt: remove \">>> \" and "
           "\"... \" from the code.")
_FENCE = ("send only the code: without the text around it and without the "
          "``` lines.")
_ESCAPED = ("line %d holds a backslash and an n where a line should end: the "
            "code was escaped twice. Send real line ends.")


def _syntax_hint(exc, source):
    lines = source.splitlines()
    n = exc.lineno or 0
    text = lines[n - 1].strip() if 0 < n <= len(lines) else ""
    if text.startswith("%"):
        return _MAGIC % n
    if text.startswith("!"):
        return _SHELL % n
    if text.endswith("?"):
        return _HELP % n
    if text.startswith((">>>", "... ")):
        return _PROMPT % n
    if any(line.startswith("```") for line in lines):
        return _FENCE
    if "\\n" in text and "line continuation" in str(exc.msg):
        return _ESCAPED % n
    return ""


def _hint(exc, path, source):
    """What to do about a mistake that programs for notebooks make."""
    if isinstance(exc, SyntaxError) and exc.filename == path:
        return _syntax_hint(exc, source)
    if isinstance(exc, NameError) and exc.name in ("display", "get_ipython"):
        return ("%s() exists only in IPython: use print(); figures come "
                "back by themselves." % exc.name)
    return ""


def render(exc, path, source):
    """(type name, message, text, line) of an exception that ended the
    program at path, whose text is source."""
    scratch = path[:path.rindex("/") + 1]
    text = _standard_text(exc).replace('File "' + scratch, 'File "')
    if not text:
        # Later versions of CPython leave the printing to modules that the
        # program may have broken; the plain report in C does without.
        raise RuntimeError("nothing was displayed")
    try:
        hint = _hint(exc, path, source)
    except BaseException:       # attributes of exc are the program's
        hint = ""
    if hint:
        text += "Hint: " + hint + "\n"
    return (_type_name(type(exc)), _cut(_message(exc), MESSAGE_MAX),
            _cut(text, TEXT_MAX), _line(exc, path))
