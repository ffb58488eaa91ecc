"""Random sessions against a model that knows every variable.

A script is a list of steps: each is code, what it does to the model, and how
it must end.  What a step that ends badly has done must be undone, but for
files.  After each step the session is asked for everything, and the answer
compared.  $ADDER_SESSIONS says how many scripts, $ADDER_SESSION_SEED repeats.
"""

import concurrent.futures
import os
import random

import pytest

import sessions
import tiers

SCRIPTS = int(os.environ.get("ADDER_SESSIONS", "6"))
SEED = int(os.environ.get("ADDER_SESSION_SEED", "0")) or \
    random.SystemRandom().randrange(1, 1 << 32)
STEPS = 14
NAMES = "abcdef"
OPTIONS = {"python.modules": "numpy,matplotlib.pyplot", "pool.warm": "1",
    "limits.memory": "128m"}

# Everything that a session may hold, as one line.
ASK = """
import os as _os
_v = {n: globals()[n] for n in %r if n in globals()}
print(repr(sorted(_v.items())))
print(repr([f() for f in globals().get('functions', [])]))
print(repr(sorted(n for n in ('json', 'colorsys', 'bisect')
    if n in globals())))
print(repr(rng.getstate()[1][:3] if 'rng' in globals() else None))
print(repr(globals().get('taken')))
print(repr({n: open(n).read() for n in sorted(_os.listdir('.'))
    if n.endswith('.txt')}))
""" % NAMES


class Model:
    def __init__(self):
        self.names = {}
        self.functions = []
        self.modules = set()
        self.rng = None
        self.generator = None		# next value
        self.taken = None
        self.files = {}

    def copy(self):
        other = Model()
        other.names = {k: list(v) if isinstance(v, list) else v
            for k, v in self.names.items()}
        other.functions = list(self.functions)
        other.modules = set(self.modules)
        if self.rng is not None:
            other.rng = random.Random()
            other.rng.setstate(self.rng.getstate())
        other.generator, other.taken = self.generator, self.taken
        other.files = self.files	# shared: files are not rolled back
        return other

    def expected(self):
        return "".join(repr(part) + "\n" for part in (
            sorted(self.names.items()), self.functions,
            sorted(self.modules),
            self.rng.getstate()[1][:3] if self.rng else None, self.taken,
            dict(sorted(self.files.items()))))


# --- what a step does: code, having changed the model -----------------------

def assign(rng, m):
    name, value = rng.choice(NAMES), rng.randrange(1000)
    m.names[name] = value
    return "%s = %d\n" % (name, value)


def assign_list(rng, m):
    name, n = rng.choice(NAMES), rng.randrange(5)
    m.names[name] = list(range(n))
    return "%s = list(range(%d))\n" % (name, n)


def mutate(rng, m):
    lists = [n for n, v in m.names.items() if isinstance(v, list)]
    if not lists:
        return assign_list(rng, m)
    name, value = rng.choice(lists), rng.randrange(100)
    m.names[name].append(value)
    return "%s.append(%d)\n" % (name, value)


def delete(rng, m):
    if not m.names:
        return assign(rng, m)
    name = rng.choice(sorted(m.names))
    del m.names[name]
    return "del %s\n" % name


def define(rng, m):
    value = rng.randrange(1000)
    m.functions.append(value)
    return ("if 'functions' not in globals(): functions = []\n"
        "def _f():\n\treturn %d\nfunctions.append(_f)\n" % value)


def import_one(rng, m):
    name = rng.choice(("json", "colorsys", "bisect"))
    m.modules.add(name)
    return "import %s\n" % name


def write_file(rng, m):
    name, text = "f%d.txt" % rng.randrange(3), "t%d" % rng.randrange(1000)
    m.files[name] = text
    return "with open(%r, 'w') as _f: _f.write(%r)\n" % (name, text)


def draw_number(rng, m):
    if m.rng is None:
        seed = rng.randrange(1000)
        m.rng = random.Random(seed)
        return "import random; rng = random.Random(%d)\n" % seed
    count = rng.randrange(700)
    for _ in range(count):
        m.rng.random()
    return "for _i in range(%d): rng.random()\n" % count


def take_next(rng, m):
    if m.generator is None:
        m.generator = 0
        return "def _g():\n\ti = 0\n\twhile True:\n\t\tyield i\n" \
            "\t\ti += 1\ngenerator = _g()\n"
    m.taken = m.generator
    m.generator += 1
    return "taken = next(generator)\n"


def plot(rng, m):
    return "import matplotlib.pyplot as plt\nplt.plot([1, %d])\n" \
        "plt.close('all')\n" % rng.randrange(100)


EFFECTS = (assign, assign, assign_list, mutate, mutate, delete, define,
    import_one, write_file, draw_number, take_next, plot)

# --- how it ends: more code, verdict, fate, arguments -----------------------

WELL = ("", {"ok"}, "kept", {})
ENDS = (
    ("raise ValueError('on purpose')\n", {"exception"}, "kept", {}),
    ("raise SystemExit(3)\n", {"exit"}, "kept", {}),
    ("while True: pass\n", {"timeout"}, "rolled_back", {"timeout": 0.7}),
    ("import time; time.sleep(100)\n", {"timeout"}, "rolled_back",
        {"timeout": 0.7}),
    ("import ctypes; ctypes.string_at(0)\n", {"signal"}, "rolled_back", {}),
    ("import os; os._exit(5)\n", {"exit"}, "rolled_back", {}),
    ("_l = []\nwhile True: _l.append(bytearray(20_000_000))\n", {"memory"},
        "rolled_back", {"timeout": 30}),
    ("_b = bytearray(10**12)\n", {"memory"}, "rolled_back", {}),
)
CANCEL = "print('here', flush=True)\nimport time; time.sleep(3600)\n"


def play(daemon, seed):
    """One script; the text of each disagreement."""
    rng = random.Random(seed)
    model, bad, log = Model(), [], []
    with daemon.connect() as client, sessions.Session(client) as session:
        for _ in range(STEPS):
            tried = model.copy()
            code = "".join(rng.choice(EFFECTS)(rng, tried)
                for _ in range(rng.randrange(1, 4)))
            if rng.random() < 0.06:
                log.append(code + CANCEL)
                client.rpc("logging/setLevel", {"level": "debug"})
                ident = session.start(code + CANCEL, timeout=60)
                # Its files are written by then; the rest is undone.
                client.take(lambda m: "here" in str(m.get("params")),
                    "output of the call")
                client.cancel(ident)
                client.rpc("logging/setLevel", {"level": "emergency"})
            else:
                more, verdicts, fate, arguments = WELL \
                    if rng.random() < 0.7 else rng.choice(ENDS)
                log.append(code + more)
                answer = session.run(code + more, **arguments)
                if answer.verdict not in verdicts or \
                        sessions.fate(answer) != fate:
                    bad.append("seed %d: %r ended as %r" % (seed,
                        log[-1], answer))
                    break
                if fate == "kept":
                    model = tried
            found = session.run(ASK)
            if found.stdout != model.expected():
                bad.append("seed %d: after %r\nfound    %s\nexpected %s"
                    % (seed, log, found.text, model.expected()))
                break
    return bad


@pytest.mark.parametrize("tier", tiers.NAMES)
def test_model(tier):
    if tiers.why_not(tier):
        pytest.skip(tiers.why_not(tier))
    share = (SCRIPTS + len(tiers.NAMES) - 1) // len(tiers.NAMES)
    seeds = [SEED + tiers.NAMES.index(tier) * share + i
        for i in range(share)]
    print("sessions %s: seed %d, %d scripts" % (tier, SEED, share))
    with tiers.TierDaemon(tier, OPTIONS) as daemon, \
            concurrent.futures.ThreadPoolExecutor(4) as pool:
        bad = sum(pool.map(lambda seed: play(daemon, seed), seeds), [])
    assert not bad, "ADDER_SESSION_SEED=%d\n%s" % (SEED, "\n".join(bad))
