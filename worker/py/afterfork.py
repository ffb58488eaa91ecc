"""What a fork of the zygote would have to do in Python, found beforehand."""
import gc
import os
import sys

# At-fork hooks that are run once in the zygote, after which a fork finds
# nothing left to do: they make locks anew that nobody holds, forget threads
# that are not there, and drop what is dropped already.  (Seeding generators
# is done for each worker, without this hook.)
SETTLED = {
    ("logging", "_after_at_fork_child_reinit_locks"),
    ("matplotlib.font_manager", "_get_font"),
    ("random", "Random.seed"),
    ("threading", "_after_fork"),
}

_hooks = []
_generators = []
_register = os.register_at_fork


def _record(**hooks):
    if "after_in_child" in hooks:
        _hooks.append(hooks["after_in_child"])
    return _register(**hooks)


# From now on: only the interpreter's own modules are loaded yet.
os.register_at_fork = _record


def _is_settled(hook):
    if getattr(hook, "__name__", "") == "_at_fork_reinit":
        return True     # of a lock that nobody holds
    # cache_clear() is the cache's, whose function has the name.
    hook = getattr(getattr(hook, "__self__", None), "__wrapped__", hook)
    return (getattr(hook, "__module__", ""),
            getattr(hook, "__qualname__", "")) in SETTLED


def watch():
    """Before more modules are imported: hooks() will have theirs, too."""
    os.register_at_fork = _record


def hooks():
    """The hooks that have to run in each worker, in their order."""
    os.register_at_fork = _register
    return [hook for hook in _hooks if not _is_settled(hook)]


def generators():
    """Every generator of the module random that some module has made.  One
    that the collector has frozen is not found, so this is called before that,
    and again for those that came later.

    An object refers to its type, so the collector can look for them and only
    reads: a list of all objects would write to each, which in a fork is a copy
    of each page."""
    random = sys.modules.get("random")
    if random is not None:
        types = [random.Random]
        for t in types:
            types.extend(type.__subclasses__(t))
        known = set(map(id, _generators))
        _generators.extend(
            o for o in gc.get_referrers(*types)
            if isinstance(o, random.Random) and id(o) not in known
            and not isinstance(o, random.SystemRandom))
    return _generators


def numpy_state():
    """The address of the state of NumPy's global generator, 624 words of 32
    bits and the place in them as an int.  Where that is not certain, 0, and
    hooks() has its function instead."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return 0
    rand = numpy.random.mtrand._rand
    words = os.urandom(2496)
    rand.set_state(("MT19937", numpy.frombuffer(words, "uint32"), 624, 0, 0.0))
    try:
        from ctypes import string_at
        address = rand._bit_generator.ctypes.state_address
        seen = string_at(address, 2500)
    except Exception:
        seen = b""
    if seen == words + (624).to_bytes(4, sys.byteorder):
        return address
    _hooks.append(rand.seed)
    return 0
