"""Figures, pictures and other values that are more than text."""

import json
import os

import pytest

import golden_programs
import kept
from harness import Daemon, eventually, source_dir

PLT = "import matplotlib.pyplot as plt\n"
DRAW = PLT + "plt.plot([1, 2])\n"
CORPUS = source_dir().parent / "shared" / "workloads" / "handed.jsonl"
# Of the plot programs there; make check-plots runs all.
SHARE = int(os.environ.get("ADDER_PLOTS", "60"))
OPTIONS = {"result.max_text": "20k", "result.max_images": "8m",
    "result.keep": "64m", "result.files": "100", "pool.warm": "4",
    "queue.timeout": "10m"}


@pytest.fixture(scope="module")
def daemon():
    with Daemon(OPTIONS) as daemon:
        yield daemon


def names(answer):
    """The files of an answer that are no pictures of it."""
    return [b["name"] if b["type"] == "resource_link" else
        kept.split_uri(b["resource"]["uri"])[1] for b in answer.content
        if b["type"] in ("resource", "resource_link")]


# --- each drawing once

@pytest.mark.parametrize("code, images, files", [
    (PLT, 0, []),
    (PLT + "plt.figure()", 0, []),
    (DRAW, 1, []),
    (DRAW + "plt.figure(); plt.plot([2, 1])", 2, []),
    (DRAW + "plt.show()", 1, []),
    (DRAW + "plt.show(); plt.show()", 1, []),
    (DRAW + "plt.show(); plt.plot([3]); plt.show()", 2, []),
    (DRAW + "plt.show(); plt.plot([3])", 2, []),
    (DRAW + "plt.show(); plt.close('all')", 1, []),
    (DRAW + "plt.close('all')", 0, []),
    # A file shows it; which of them comes first does not matter.
    (DRAW + "plt.savefig('a.png')", 1, []),
    (DRAW + "plt.savefig('a')", 1, []),
    (DRAW + "plt.savefig('a.png'); plt.show()", 1, []),
    (DRAW + "plt.show(); plt.savefig('a.png')", 1, ["a.png"]),
    (DRAW + "plt.savefig('a.png'); plt.close()", 1, []),
    (DRAW + "plt.savefig('a.png'); plt.savefig('b.jpg'); plt.close()", 1,
        ["b.jpg"]),
    (DRAW + "plt.savefig('a.png'); plt.plot([3]); plt.show()", 2, []),
    (DRAW + "plt.show(); plt.title('x'); plt.savefig('a.png')", 2, []),
    (PLT + "for i in range(3):\n    plt.plot([i, 2]); "
        "plt.savefig('a.png')", 1, []),
    (PLT + "for i in range(3):\n    plt.figure(); plt.plot([i, 2]); "
        "plt.savefig('%d.png' % i); plt.close()", 3, []),
    # A file that does not come back shows nothing.
    (DRAW + "import os; plt.savefig('a.png'); os.remove('a.png')", 1, []),
    (DRAW + "import os; plt.savefig('a.png'); plt.savefig('b.png'); "
        "os.remove('a.png')", 1, []),
    (DRAW + "import os; os.mkdir('.d'); plt.savefig('.d/a.png')", 1, []),
    (DRAW + "import io; plt.savefig(io.BytesIO())", 1, []),
    (DRAW + "plt.savefig('a.png'); open('a.png', 'w').write('no picture')",
        1, ["a.png"]),
    # Others are files.
    (DRAW + "plt.savefig('a.svg'); plt.savefig('a.pdf')", 1,
        ["a.svg", "a.pdf"]),
    (PLT + "from matplotlib.animation import FuncAnimation\n"
        "fig, ax = plt.subplots()\nline, = ax.plot([0, 1])\n"
        "a = FuncAnimation(fig, lambda i: line.set_ydata([0, i]), frames=3)\n"
        "a.save('a.gif', writer='pillow')\n0", 1, []),
    # An error does not lose what was drawn.
    (DRAW + "1 / 0", 1, []),
    # Figures that pyplot does not know.
    ("from matplotlib.figure import Figure\nf = Figure()\n"
        "f.subplots().plot([1, 2])\nf", 1, []),
    (DRAW + "plt.gcf()", 1, []),
    ("from PIL import Image\nImage.new('RGB', (9, 9), 'red').show()", 1, []),
])
def test_each_drawing_once(client, code, images, files):
    answer = client.run(code, timeout=60)
    assert len(answer.images) == images, answer
    assert names(answer) == files, answer
    assert len(set(answer.images)) == images


def test_in_order(client):
    answer = client.run(PLT + "for i in range(4):\n    plt.figure("
        "figsize=(2 + i, 1), dpi=50)\n    plt.plot([i])", timeout=60)
    assert [golden_programs.decode(i)[0] for i in answer.images] == [
        100, 150, 200, 250]


def test_an_animation_is_a_gif_of_many_frames(client):
    answer = client.run(PLT + "from matplotlib.animation import "
        "FuncAnimation\nfig, ax = plt.subplots(figsize=(1, 1))\n"
        "line, = ax.plot([0, 9])\n"
        "a = FuncAnimation(fig, lambda i: line.set_ydata([0, i]), frames=4)\n"
        "a.save('a.gif', writer='pillow')\nprint('saved')", timeout=60)
    (gif,) = answer.images
    assert gif.startswith(b"GIF89a") and gif.count(b"\x21\xf9\x04") == 4


def test_hooks_leave_no_trace(client):
    """Tracebacks through what is hooked have no frame of ours, and what is
    hooked takes the same arguments."""
    answer = client.run(DRAW + "plt.savefig('no/such/dir.png')", timeout=60)
    assert answer.verdict == "exception" and len(answer.images) == 1
    assert "figures.py" not in answer.text and "method_then" not in \
        answer.text
    answer = client.run(DRAW + "try: plt.savefig()\n"
        "except TypeError as e: print(e)", timeout=60)
    assert "fname" in answer.stdout


def test_a_program_that_breaks_our_tools(client):
    for line in ("import os; os.lstat = os.path.realpath = None",
            "import builtins; builtins.open = builtins.len = None",
            "import io; io.BytesIO = None", "import logging; logging.getLogger"
            " = None", "plt.Figure.savefig = None"):
        answer = client.run(PLT + line + "\nplt.plot([1, 2])\nplt.show()",
            timeout=60)
        assert answer.verdict in ("ok", "exception"), answer
        assert client.run("print(1)").stdout == "1\n"


# --- values

RICH = """class A:
    def __repr__(self): return 'A()'
    def _repr_png_(self): return %r
    def _repr_svg_(self): return '<svg/>'
    def _repr_html_(self): return '<b>é</b>', {}
    def _repr_markdown_(self): return '# x'
    def _repr_latex_(self): return '$x$'
A()
"""


def test_forms_of_a_value(client):
    picture = (golden_programs.GOLDEN / "bars.png").read_bytes()
    answer = client.run(RICH % picture)
    assert answer.texts[0] == "value: A()"
    assert answer.images == [picture]
    forms = {b["resource"]["mimeType"]: b["resource"]["text"]
        for b in answer.content if b["type"] == "resource"}
    assert forms == {"image/svg+xml": "<svg/>", "text/html": "<b>é</b>",
        "text/markdown": "# x", "text/x-tex": "$x$"}


def test_only_of_a_last_value(client):
    assert client.run(RICH % b"" + "1").texts == ["value: 1"]
    assert not client.run(RICH.replace("\nA()", "\nx = A()") % b"").files


@pytest.mark.parametrize("code", [
    "class A:\n    def _repr_html_(self): 1 / 0\n"
    "    def __repr__(self): return 'A()'\nA()",
    "class A:\n    def __getattr__(self, name): return lambda: 'x'\n"
    "    def __repr__(self): return 'A()'\nA()",
    "class A:\n    _repr_html_ = 5\n    def _repr_png_(self): return 'text'\n"
    "    def _repr_svg_(self): return b'bytes'\n"
    "    def __repr__(self): return 'A()'\nA()",
    "class A:\n    def _repr_html_(self): return None\n"
    "    def __repr__(self): return 'A()'\nA()",
    "class A:\n    def _repr_html_(self): return 'x' * (20 << 20)\n"
    "    def __repr__(self): return 'A()'\nA()",
    "from unittest.mock import Mock\nclass A(Mock):\n"
    "    def __repr__(self): return 'A()'\nA()",
])
def test_values_that_only_seem_rich(client, code):
    answer = client.run(code, timeout=60)
    assert answer.verdict == "ok" and answer.texts == ["value: A()"]
    assert len(answer.content) == 1


def test_a_picture_of_pil(client):
    answer = client.run("from PIL import Image\n"
        "Image.new('RGB', (20, 10), 'red')")
    (picture,) = answer.images
    width, height, rows = golden_programs.decode(picture)
    assert (width, height) == (20, 10) and bytes(rows[0][:3]) == b"\xff\0\0"
    assert answer.texts[0].startswith("value: <PIL.Image.Image")


def test_a_table_is_text_within_the_budget(client):
    answer = client.run("import pandas as pd\n"
        "pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})")
    assert answer.texts == ["value:\n   a  b\n0  1  x\n1  2  y"]
    answer = client.run("import pandas as pd\n"
        "pd.set_option('display.max_rows', None)\n"
        "pd.DataFrame({'a': range(5000)})", timeout=60)
    assert not answer.files and "bytes of value left out" in answer.text
    assert len(answer.text) < 21 << 10


def test_a_value_too_long_says_so(client):
    answer = client.run("'é' * 200000", meta={"adder/whole": True})
    assert answer.text.endswith("bytes of the value left out ...]")


def test_sympy_has_its_formula(client):
    answer = client.run("import sympy\nsympy.sqrt(sympy.Symbol('x'))",
        timeout=60)
    assert answer.texts[0] == "value: sqrt(x)"
    (block,) = answer.files
    assert "\\sqrt{x}" in block["resource"]["text"]


# --- pixels

@pytest.mark.parametrize("name", sorted(golden_programs.PROGRAMS))
def test_golden(client, name):
    (picture,) = client.run(golden_programs.PROGRAMS[name],
        timeout=60).images
    golden = (golden_programs.GOLDEN / (name + ".png")).read_bytes()
    assert golden_programs.difference(picture, golden) < 0.02


def test_the_comparison_sees_a_difference(client):
    """Another colour, another curve, a missing label."""
    golden = (golden_programs.GOLDEN / "bars.png").read_bytes()
    for old, new in (("'red'", "'orange'"), ("[3, 1, 2]", "[3, 2, 2]")):
        (other,) = client.run(golden_programs.PROGRAMS["bars"].replace(old,
            new), timeout=60).images
        assert golden_programs.difference(other, golden) >= 0.02


BOXES = PLT + """
import warnings
plt.rcParams['figure.dpi'] = 60
def draw(text):
    plt.figure(figsize=(2, 1)); plt.axis('off')
    plt.text(0, 0.3, text, fontsize=24)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter('always')
    for text in %r:
        draw(text)
        plt.gcf().canvas.draw()
    print(len([w for w in seen if 'issing' in str(w.message)]))
"""


def test_greek_and_symbols_have_no_boxes(client):
    answer = client.run(BOXES % ["αβγΩ", "∑∫√∞≠", "→⇒∀∃", "½°²µ", "★♥✓"],
        timeout=60)
    assert answer.stdout == "0\n" and len(set(answer.images)) == 5


def test_chinese_and_japanese_have_no_boxes(client):
    added = client.run("from matplotlib import rcParams\n"
        "print([n for n in rcParams['font.family'][2:] if not any(k in n "
        "for k in ('Symbol', 'KR', 'Nanum', 'Dotum'))])", timeout=60).stdout
    if added == "[]\n":
        pytest.skip("no font with Chinese characters is installed")
    for recipe in ("", "plt.rcParams['font.sans-serif'] = ['SimHei']\n"):
        answer = client.run(BOXES.replace("import warnings", recipe +
            "import warnings") % ["漢字", "中文", "かな", "abc 漢"],
            timeout=60)
        assert answer.stdout == "0\n" and len(set(answer.images)) == 4


# --- real programs

def corpus():
    if not CORPUS.exists():
        pytest.skip("the collection of programs is not there")
    items = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    items = [i for i in items if i["kind"] == "plot" and
        i.get("expect_png_min") is not None and i["check"] == "png"]
    step = max(1, len(items) // SHARE)
    return items[::step][:SHARE] if SHARE < len(items) else items


def most(item):
    """Pictures that plain CPython with one for each show() would leave."""
    figures = item.get("figures") or {}
    return sum(figures.get(k, 0) for k in ("shown", "left_open",
        "png_files"))


def judge(n, item, answer, tagged):
    """What is wrong with the answer, and with that of the program beside."""
    least, count = item["expect_png_min"], len(answer.images)
    if names(tagged) != ["tag-%d.txt" % n] or tagged.images:
        yield "beside it: %r" % tagged
    if [f for f in names(answer) if f.startswith("tag-")]:
        yield "files of another run"
    if count < least:
        yield "%d images, %d expected; %s" % (count, least,
            answer.text[-300:])
    # A program may draw the same twice, in two figures.
    if (count > most(item) if "figures" in item else
            len(set(answer.images)) < count):
        yield "%d images, too many" % count


def test_plot_programs_give_their_images(daemon):
    """Beside programs that leave files with names of their own: nothing
    appears twice, and nothing of another run."""
    items, wrong, other_versions, shown = corpus(), [], 0, 0
    with daemon.connect() as client, daemon.connect() as other:
        daemon.wait_log("ready: Python", 120)
        for n, item in enumerate(items):
            beside = other.start("open('tag-%d.txt', 'w').write('%d')" % (n,
                n), timeout=60)
            answer = client.run(item["code"], wait=120, timeout=60)
            tagged = other.finish(beside)
            shown += len(answer.images)
            if answer.verdict == "exception" and item["expect_exit"] == 0:
                other_versions += 1	# of the libraries; see check-workloads
            else:
                wrong += ["%s: %s" % (item["id"], w) for w in judge(n, item,
                    answer, tagged)]
    print("%d programs, %d images, %d not for these versions" % (len(items),
        shown, other_versions))
    assert not wrong, "\n".join(wrong)
    # NumPy 2.5, which has no wheels for Python 3.11, lacks more than 2.4.
    assert other_versions <= len(items) / 6
