"""Small programs of the kinds that are asked for most, to find out which
memory programs touch.  Each is run once in a fork of the zygote (prefault.h);
what it prints goes nowhere.  Several of one library, since what only one
touches is mostly left out: (module that must be loaded, text)."""

# Its programs take so long that what they only read costs them little, while to
# have it mapped ahead would take much of the memory of a waiting worker.  For
# pictures, which take longer still, even what they write to does.
LONG = ("sympy",)

PROGRAMS = (
    ("sys", """
import math
print(math.sqrt(2), sum(range(100)))
"""),
    ("json", """
import json, re
from collections import Counter, defaultdict
words = re.findall(r"\\w+", "the quick brown fox and the lazy dog")
groups = defaultdict(list)
for w in words:
    groups[len(w)].append(w)
print(json.dumps({"n": len(words), "top": Counter(words).most_common(2)}))
print(f"{sum(map(len, words)) / len(words):.2f}", sorted(groups))
"""),
    ("json", """
from datetime import date, timedelta
from dataclasses import dataclass
@dataclass
class Item:
    name: str
    price: float
    def total(self, n):
        return round(self.price * n, 2)
items = [Item("a", 1.25), Item("b", 2.5)]
try:
    items[2]
except IndexError as e:
    print("no:", e)
for i in items:
    print(i, i.total(3), date(2024, 1, 31) + timedelta(days=1))
"""),
    ("numpy", """
import numpy as np
a = np.array([[4.0, 1.0], [1.0, 3.0]])
b = np.arange(12).reshape(3, 4)
print(np.linalg.solve(a, np.array([1.0, 2.0])), np.linalg.eigvals(a))
print(b.mean(axis=0), b @ b.T, b[b > 3].sum(), np.linspace(0, 1, 5))
m = np.random.default_rng(3).normal(size=(110, 110)) + 5 * np.eye(110)
print(np.linalg.solve(m, np.ones(110)).sum(), np.linalg.inv(m).trace())
"""),
    ("numpy", """
import numpy as np
rng = np.random.default_rng(7)
x = rng.normal(size=(120, 120))
y = rng.normal(size=120)
s = np.linalg.solve(x, y)
print(float(s.sum()), x.std(), np.round(np.percentile(y, [25, 50, 75]), 3))
"""),
    ("pandas", """
import pandas as pd
df = pd.DataFrame({"city": ["Oslo", "Rome", "Oslo", "Rome"],
    "year": [2022, 2022, 2023, 2023], "sales": [10.5, 20.0, 12.5, 18.0]})
print(df.groupby("city")["sales"].mean())
print(df.groupby("city").agg({"sales": ["sum", "max"]}))
print(df.describe())
"""),
    ("numpy", """
import numpy as np
r = np.random.default_rng(11)
a, y = r.normal(size=(100, 20)), r.normal(size=100)
print(np.linalg.lstsq(a, y, rcond=None)[0].round(3)[:4], np.fft.rfft(y)[:2])
print(np.linalg.solve(a.T @ a, a.T @ y).sum(), np.sort(y)[:3], y.argmax())
"""),
    ("pandas", """
import pandas as pd
df = pd.DataFrame({"k": list("abcabc") * 40, "x": range(240)})
print("mean", df.groupby("k").x.mean().sum(), df["x"].max())
print(df.groupby("k")["x"].agg(["mean", "count"]).reset_index())
"""),
    ("pandas", """
import io
import pandas as pd
text = "day,kind,n\\n2024-01-01,a,1\\n2024-01-02,b,2\\n2024-01-03,a,4\\n"
df = pd.read_csv(io.StringIO(text), parse_dates=["day"])
df["twice"] = df["n"] * 2
print(df[df["n"] > 1].sort_values("n", ascending=False))
print(df.groupby("kind").n.sum(), df.n.mean(), df.shape)
print(df.merge(pd.DataFrame({"kind": ["a", "b"], "w": [1, 2]}), on="kind"))
"""),
    ("scipy.integrate", """
import math
from scipy import integrate, optimize
print(integrate.quad(lambda t: math.exp(-t * t), 0, 2))
print(optimize.minimize(lambda v: (v[0] - 3) ** 2 + 1, [0.0]).x)
"""),
    ("scipy.stats", """
import numpy as np
from scipy import stats, optimize
from scipy.integrate import quad, solve_ivp
print(stats.norm.cdf(1.96), stats.ttest_ind([1, 2, 3, 4], [2, 3, 4, 6]))
print(optimize.brentq(lambda x: x ** 2 - 2, 0, 2), quad(np.sin, 0, np.pi)[0])
"""),
    ("scipy.integrate", """
import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
area, error = quad(lambda x: np.exp(-x ** 2 / 2), -1, 1)
print(round(area, 6), error < 1e-8)
print(minimize_scalar(lambda x: (x - 1) ** 2).x)
"""),
    ("sympy", """
import sympy as sp
x = sp.symbols("x")
print(sp.integrate(x * sp.exp(-2 * x), x))
print(sp.solve(x ** 2 - 5 * x + 6, x), sp.diff(sp.sin(x) * x ** 2, x))
print(sp.simplify(sp.sin(x) ** 2 + sp.cos(x) ** 2))
"""),
    ("sympy", """
from sympy import *
x, y = symbols("x y")
print(integrate(x ** 3 * exp(-3 * x), x), integrate(sin(x) * x, x))
print(solve([x + y - 3, x - y - 1], [x, y]), limit(sin(x) / x, x, 0))
print(factor(x ** 3 - x), expand((x + 1) ** 3), series(exp(x), x, 0, 4))
"""),
)


def programs():
    """[(text, whether it is short)] of those whose library is loaded."""
    import sys
    return [(text.encode(), module not in LONG) for module, text in PROGRAMS
            if module in sys.modules]
