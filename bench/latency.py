"""How long one call takes, when a worker is ready for it, against the same
program in an interpreter that runs already.

A call is made every PAUSE_MS, so that the pool is at rest again: full, and the
next worker prefaulted (pool.prefault).  The floor is asked at the same pace, by
turns, since a machine that has just rested is slower for both.
"""

from tools import CODE, GREETING, PRINTED, TURNS, call, floor, load, median, \
    times

PAUSE_MS = 60
PROGRAMS = {
    "print": (CODE, PRINTED),
    "numpy solve 100x100": ("""import numpy as np
r = np.random.default_rng(1)
a = r.normal(size=(100, 100))
print('ok', np.linalg.solve(a, r.normal(size=100)).sum())""", "ok"),
    "pandas groupby": ("""import pandas as pd
df = pd.DataFrame({'k': list('abcabc') * 50, 'x': range(300)})
print('ok', df.groupby('k').x.mean().sum())""", "ok"),
    # Another integrand each time: the floor must not find it in a cache.
    "sympy integrate": ("""import random, sympy as sp
x = sp.symbols('x')
n = random.randrange(2, 10**6)
print('ok', sp.integrate(x**2 * sp.exp(-n * x), x))""", "ok"),
    "scipy quad": ("""import math
from scipy.integrate import quad
print('ok', quad(lambda t: math.exp(math.sin(2 * t)), 0, math.pi / 2)[0])""",
        "ok"),
    "matplotlib PNG": ("""import io
import matplotlib.pyplot as plt
fig = plt.figure()
plt.plot([1, 2, 3], [1, 4, 9])
out = io.BytesIO()
fig.savefig(out, format='png')
plt.close(fig)
print('ok', len(out.getvalue()) > 1000)""", "ok"),
}
LIBRARIES = ("numpy solve 100x100", "pandas groupby", "sympy integrate",
    "scipy quad")


def measure(daemon, calls):
    """{program: {"floor": run, "adder": run}}"""
    found = {}
    with floor() as path:
        for name, (code, expect) in PROGRAMS.items():
            each = max(5, calls // TURNS // (1 if name == "print" else 5))
            runs = {"floor": [], "adder": []}
            load(path, code, 5, expect=expect)
            for _ in range(TURNS):
                runs["floor"].append(load(path, code, each, 1, None,
                    PAUSE_MS, expect))
                runs["adder"].append(load(daemon.socket_path, call(code),
                    each, 1, GREETING, PAUSE_MS, expect))
            found[name] = {way: median(run) for way, run in runs.items()}
    return found


def ratio(pair):
    return pair["adder"]["p50_us"] / pair["floor"]["p50_us"]


def rows(found):
    out = []
    for name, pair in found.items():
        out.append(("%s: floor, p50 / p90 / p99" % name,
            times(pair["floor"])))
        out.append(("%s: call, ready worker" % name, "%s  (%.2f x)" %
            (times(pair["adder"]), ratio(pair))))
    return out


def judge(found):
    trivial = found["print"]
    over = (trivial["adder"]["p50_us"] - trivial["floor"]["p50_us"]) / 1e3
    lines = [
        ("warm call - floor, p50", "%.2f ms" % over, "<= 1.2 ms",
            over <= 1.2),
        ("warm call / floor, p50", "%.2f x" % ratio(trivial), "<= 6 x",
            ratio(trivial) <= 6),
    ]
    for name in LIBRARIES:
        x = ratio(found[name])
        lines.append(("%s / the same in a warm interpreter" % name,
            "%.2f x" % x, "<= 1.5 x", x <= 1.5))
    return lines
