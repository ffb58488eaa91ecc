"""What a worker does in Python around a program."""
import _signal
import os
import sys

def flush_late_on(signum):
    """In the zygote: what late_flush.c sends is answered by a flush.
    Returns the handler."""
    _signal.signal(signum, _flush_late)
    return _flush_late


def _flush_late(signum, frame):
    """The program's time is almost up: show what it has printed."""
    for name in ("stdout", "__stdout__", "stderr"):
        try:
            getattr(sys, name).flush()
        except Exception:
            pass    # closed, replaced, or in the middle of a write


def prepare(scratch):
    """Where a program's files are."""
    environ = os.environ
    environ["HOME"] = environ["TMPDIR"] = scratch
    if sys.path[:1] != [scratch]:
        sys.path.insert(0, scratch)


def run_async(codes, ns):
    """Runs code objects that may await at top level, on one loop."""
    from asyncio import Runner
    from inspect import iscoroutine
    with Runner() as runner:
        for code in codes:
            result = eval(code, ns)
            if iscoroutine(result):
                runner.run(result)
