"""One small job of each library, so that what they load, build or cache on
first use is there before any worker is forked."""
import io
import sys


def _numpy():
    import numpy as np
    a = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    b = np.array([1.0, 2.0, 3.0])
    np.linalg.solve(a, b)
    np.linalg.inv(a)
    np.linalg.det(a)
    np.linalg.eig(a)
    np.linalg.eigh(a)
    np.linalg.svd(a)
    np.linalg.qr(a)
    np.linalg.lstsq(a, b, rcond=None)
    np.linalg.cholesky(a)
    np.fft.fft(b)
    np.polyfit([0, 1, 2, 3], [1, 2, 5, 10], 2)
    rng = np.random.default_rng(1)
    rng.normal(size=8)
    state = np.random.get_state()
    np.random.rand(3)
    np.random.randn(2)
    np.random.randint(0, 9, 4)
    np.random.set_state(state)
    x = np.linspace(0, 1, 50).reshape(5, 10)
    repr(x), str(x), str(x > 0.5), repr(np.arange(5)), f"{x[0, 0]:.3f}"
    np.sort(x, axis=None)
    np.unique([3, 1, 1])
    np.concatenate([x, x])
    np.mean(x), np.std(x), np.median(x), np.percentile(x, 40), np.cumsum(x)
    np.corrcoef(x), np.histogram(x), np.where(x > 0.5), np.einsum("ij->j", x)
    np.array(["a", "b"]), np.array([1, None], dtype=object)
    np.loadtxt(io.StringIO("1 2\n3 4"))


def _pandas():
    import pandas as pd
    df = pd.DataFrame({
        "day": pd.date_range("2024-01-01", periods=6),
        "kind": list("abcabc"), "n": range(6),
        "x": [1.5, None, 2.5, 3.5, 4.5, 5.5]})
    repr(df), df.to_string(), repr(df.x), df.to_csv(), df.to_html()
    df.to_json(), df.to_dict("records")
    df.describe(), df.info(buf=io.StringIO()), df.isna().sum()
    repr(df.groupby("kind").agg({"n": "sum", "x": ["mean", "max"]}))
    repr(df.groupby("kind").x.mean())
    df.sort_values("x"), df.fillna(0), df.dropna(), df.head(2)
    df.merge(df, on="kind"), pd.concat([df, df])
    df.pivot_table(index="kind", values="x", aggfunc="mean")
    df.apply(lambda r: r.n, axis=1), df.n.map(str), df.kind.value_counts()
    df.set_index("day").x.resample("2D").sum(), df.x.rolling(2).mean()
    df[df.n > 2].loc[:, ["n"]], df.iloc[0], df.kind.str.upper()
    df.day.dt.month, pd.to_datetime(["2024-01-02"]), df.n.astype(float)
    pd.read_csv(io.StringIO("a,b,c\n1,x,2024-01-01\n2,y,2024-01-02\n"),
                parse_dates=["c"])
    df.select_dtypes("number").corr()


def _scipy():
    import numpy as np
    from scipy import (integrate, interpolate, linalg, optimize, signal,
                       sparse, special, stats)
    integrate.quad(lambda x: np.exp(np.sin(2 * x)), 0, np.pi / 2)
    integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0])
    integrate.odeint(lambda y, t: -y, [1.0], [0.0, 1.0])
    optimize.minimize(lambda v: (v[0] - 1) ** 2, [0.0])
    optimize.minimize(lambda v: (v[0] - 1) ** 2, [0.0], method="Nelder-Mead")
    optimize.fsolve(lambda v: v ** 2 - 2, 1.0)
    optimize.brentq(lambda v: v ** 2 - 2, 0, 2)
    optimize.root(lambda v: v ** 2 - 2, [1.0])
    optimize.curve_fit(lambda x, a, b: a * x + b, [0, 1, 2], [1, 3, 5.1])
    optimize.linprog([-1, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6])
    stats.norm.cdf(1.0), stats.norm.ppf(0.9), stats.t.pdf(0.1, 3)
    stats.ttest_ind([1, 2, 3], [2, 3, 5]), stats.linregress([0, 1, 2],
                                                          [1, 3, 5.2])
    stats.pearsonr([1, 2, 3], [2, 3, 5]), stats.describe([1.0, 2.0, 4.0])
    linalg.expm(np.eye(2)), linalg.lu(np.eye(2)), linalg.eig(np.eye(2))
    signal.find_peaks([0, 1, 0, 2, 0]), signal.butter(2, 0.2)
    interpolate.interp1d([0, 1, 2], [0, 1, 4])(0.5)
    interpolate.CubicSpline([0, 1, 2], [0, 1, 4])(0.5)
    special.gamma(0.5), sparse.csr_matrix(np.eye(3)).dot(np.ones(3))


def _sympy():
    import sympy as sp
    x, y = sp.symbols("x y")
    sp.integrate(sp.exp(-x) * sp.sin(x), x)
    sp.integrate(x ** 2 * sp.log(x), (x, 1, 2))
    sp.integrate(sp.exp(-x ** 2), (x, -sp.oo, sp.oo))
    sp.solve(x ** 2 - 3 * x + 1, x)
    sp.solve([x + y - 3, x - y - 1], [x, y])
    sp.diff(sp.sin(x) * x, x), sp.limit(sp.sin(x) / x, x, 0)
    sp.series(sp.exp(x), x, 0, 4), sp.factor(x ** 2 - 1)
    sp.expand((x + y) ** 3), sp.simplify(sp.sin(x) ** 2 + sp.cos(x) ** 2)
    sp.Matrix([[2, 1], [1, 3]]).eigenvals(), sp.Matrix([[2, 1], [1, 3]]).inv()
    sp.latex(x / y), str(x / y), sp.pretty(x / y), sp.N(sp.pi, 20)
    sp.lambdify(x, x ** 2)(3), sp.sympify("x**2 + 1"), sp.nsimplify(0.5)
    f = sp.Function("f")
    sp.dsolve(f(x).diff(x) - f(x), f(x))
    sp.factorint(360), sp.isprime(97), sp.summation(x, (x, 1, y))


def _matplotlib():
    import matplotlib.pyplot as plt
    plt.figure()
    plt.plot([1, 2, 3], [1, 4, 9], label="a")
    plt.scatter([1, 2], [2, 3])
    plt.bar([1, 2], [1, 2])
    plt.hist([1, 2, 2, 3])
    plt.title("warm $x^2$")
    plt.xlabel("x")
    plt.ylabel("y")
    plt.legend()
    plt.grid(True)
    plt.tight_layout()
    plt.savefig(io.BytesIO(), format="png")
    plt.savefig(io.BytesIO(), format="jpg")
    fig, axes = plt.subplots(1, 2)
    im = axes[0].imshow([[1, 2], [3, 4]])
    fig.colorbar(im)
    fig.savefig(io.BytesIO(), format="png", bbox_inches="tight")
    plt.close("all")


def _stdlib():
    import asyncio
    import json
    import re
    from datetime import datetime
    json.loads(json.dumps({"a": [1, 2.5, None]}))
    re.sub(r"(\d+)", r"<\1>", "a1b22")
    datetime(2024, 1, 2).strftime("%Y-%m-%d")

    async def nothing():
        await asyncio.sleep(0)
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(nothing())
    finally:
        loop.close()


def _pillow():
    """What scale.py needs when nothing can be imported any more."""
    from PIL import Image
    for kind in ("PNG", "JPEG", "GIF"):
        out = io.BytesIO()
        Image.new("RGB", (8, 8)).save(out, kind)
        picture = Image.open(io.BytesIO(out.getvalue()))
        picture.draft(None, (4, 4))
        picture = picture.convert("RGBA")
        picture.thumbnail((4, 4), Image.Resampling.LANCZOS)
        picture.save(io.BytesIO(), "PNG")


# Without these a program would get another answer, not just a later one.
NEEDED = (("PIL.Image", _pillow),)
JOBS = (("sys", _stdlib), ("numpy", _numpy), ("pandas", _pandas),
        ("scipy.optimize", _scipy), ("sympy", _sympy),
        ("matplotlib.pyplot", _matplotlib))


def needed():
    """What every fork must find, those of an early zygote, too."""
    return _run(NEEDED)


def warm():
    """Runs each job whose library is loaded; "" or what failed."""
    import gc
    # What was imported stays, so the collector need not look at it again.  It
    # has rested since preload.import_stdlib().
    gc.freeze()
    gc.enable()
    return _run(JOBS)


def _run(jobs):
    import warnings
    failed = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module, job in jobs:
            if module not in sys.modules:
                continue
            try:
                job()
            except Exception as e:
                failed.append("%s: %s: %s" % (module, type(e).__name__, e))
    return "; ".join(failed)
