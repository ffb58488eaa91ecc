"""What a worker does in Python around a program."""
import _signal
import os
import sys

_rand = None
_frombuffer = None


def zygote_ready():
    """In the zygote: remember what prepare() will need."""
    global _rand, _frombuffer
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        _rand = numpy.random.mtrand._rand
        _frombuffer = numpy.frombuffer


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
    """In a fresh worker: what must differ from its siblings."""
    environ = os.environ
    environ["HOME"] = environ["TMPDIR"] = scratch
    sys.path.insert(0, scratch)
    if _rand is not None:
        # A state of random bytes is as good as a seeded one and needs no
        # run of the seeding code.  (random reseeds itself after a fork.)
        _rand.set_state(("MT19937", _frombuffer(os.urandom(2496), "uint32"),
                         624, 0, 0.0))


def run_async(codes, ns):
    """Runs code objects that may await at top level, on one loop."""
    from asyncio import Runner
    from inspect import iscoroutine
    with Runner() as runner:
        for code in codes:
            result = eval(code, ns)
            if iscoroutine(result):
                runner.run(result)
