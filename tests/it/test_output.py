"""What comes back: output at descriptor level, input, figures, files."""

import base64
import re

import pytest

import harness

# The scientific stack, once, for this file.
OPTIONS = {"limits.output": "64k", "limits.output_kill": "4m",
    "pool.warm": "2", "result.files": "8"}
KEPT = 64 * 1024

EXACT = [
    # name, code, stdout to the byte
    ("print", "print('a', 1, [2])", "a 1 [2]\n"),
    ("no newline", "print('a', end='')", "a"),
    ("write", "import sys\nsys.stdout.write('b\\n')", "b\n"),
    ("buffer", "import sys\nsys.stdout.buffer.write(b'c\\n')", "c\n"),
    ("descriptor", "import os\nos.write(1, b'd\\n')", "d\n"),
    ("order", "import os, sys\nprint('1', flush=True)\nos.write(1, b'2\\n')\n"
        "print('3')\n", "1\n2\n3\n"),
    ("C library", "import ctypes\nctypes.CDLL(None).puts(b'from C')",
        "from C\n"),
    ("CR and TAB", "print('a\\tb\\r\\nc')", "a\tb\r\nc\n"),
    ("Unicode", "print('\\u00e9\\u20ac\\U0001f600')",
        "\u00e9\u20ac\U0001f600\n"),
    ("separators", "print('a\\u2028b\\u2029c\\x85d\\x0be')",
        "a\u2028b\u2029c\x85d\x0be\n"),
    ("escape codes", "print('\\x1b[31mred\\x1b[0m')",
        "\x1b[31mred\x1b[0m\n"),
    ("NUL", "print('a\\0b')", "a\0b\n"),
    ("looks like an answer",
        "print('{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}')",
        '{"jsonrpc":"2.0","id":1,"result":{}}\n'),
    ("reconfigured", "import sys\nsys.stdout.reconfigure(encoding='latin-1',"
        " errors='replace')\nprint('x\\u20ac')\n", "x?\n"),
    ("a new sys.stdout", "import io, sys\nold = sys.stdout\n"
        "sys.stdout = io.StringIO()\nprint('lost')\nsys.stdout = old\n"
        "print('kept')\n", "kept\n"),
    ("isatty", "import sys\nprint(sys.stdout.isatty(), sys.stdin.isatty(), "
        "sys.stdout.fileno(), sys.stdout.encoding)\n",
        "False False 1 utf-8\n"),
    ("buffered until the end", "import sys\nsys.stdout.write('tail')",
        "tail"),
    ("an encoding line", "# -*- coding: latin-1 -*-\nprint('\u00e9')",
        "\u00c3\u00a9\n"),
    ("a byte order mark", "\ufeffprint('bom')", "bom\n"),
    ("CRLF", "if 1:\r\n    print('crlf')\r\n", "crlf\n"),
]


@pytest.mark.parametrize("code,stdout", [row[1:] for row in EXACT],
    ids=[row[0].replace(" ", "-") for row in EXACT])
def test_stdout_is_exact(client, code, stdout):
    answer = client.run(code)
    assert answer.verdict == "ok", answer
    assert answer.stdout == stdout, answer
    size = answer.receipt["stdout_bytes"]
    assert size == len(stdout.encode()), answer
    assert not answer.receipt.get("truncated"), answer


def test_binary_output_is_made_valid(client):
    answer = client.run("import os\nos.write(1, bytes(range(256)))\n"
        "os.write(2, b'\\xff\\xfe')\n")
    assert answer.receipt["stdout_bytes"] == 256
    assert answer.receipt["stderr_bytes"] == 2
    assert answer.stdout.startswith("\0\x01\x02"), answer
    assert "\ufffd" in answer.stdout and "~" in answer.stdout
    answer.text.encode("utf-8")		# no lone surrogate


def test_lone_surrogates_do_not_break_the_answer(client):
    answer = client.run("import sys\n"
        "sys.stdout.reconfigure(errors='surrogatepass')\nprint('a\\ud800b')")
    assert answer.stdout.startswith("a") and answer.stdout.endswith("b\n")
    answer.text.encode("utf-8")


def test_surrogate_is_an_error_as_in_python(client):
    answer = client.run("print('x')\nprint('\\ud800')\n")
    assert answer.receipt["exception"] == "UnicodeEncodeError", answer
    assert answer.stdout == "x\n"


def test_stderr_is_labelled_and_apart(client):
    answer = client.run("import os, sys, warnings\nprint('out')\n"
        "sys.stderr.write('err 1\\n')\nos.write(2, b'err 2\\n')\n"
        "warnings.warn('careful')\n")
    assert answer.verdict == "ok" and not answer.is_error, answer
    assert answer.stdout == "out\n", answer
    assert "stderr" in answer.rest.lower()
    assert "err 1\nerr 2\n" in answer.rest
    assert "UserWarning: careful" in answer.rest
    assert answer.receipt["stderr_bytes"] > len("err 1\nerr 2\n")


def kept_lines(text):
    """The numbered lines of a cut text: those of the head, of the tail, and
    the count in the note between them."""
    note = re.search(r"([0-9][0-9,]*) bytes", text)
    assert note, text[:200]
    head = [int(w) for w in text[:note.start()].split() if w.isdigit()]
    tail = [int(w) for w in text[note.end():].split() if w.isdigit()]
    return head, tail, int(note[1].replace(",", ""))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_long_output_keeps_head_and_tail(client, stream):
    count = 100000
    answer = client.run("import sys\nfor i in range(%d):\n"
        "    print(i, file=sys.%s)\n" % (count, stream), timeout=20)
    assert answer.verdict == "ok", answer
    assert answer.receipt["truncated"] is True
    total = sum(len(str(i)) + 1 for i in range(count))
    assert answer.receipt[stream + "_bytes"] == total
    text = answer.stdout if stream == "stdout" else answer.rest
    head, tail, dropped = kept_lines(text)
    # The cut may go through a number at either side.
    assert head[:3] == [0, 1, 2] and tail[-1] == count - 1
    assert head[:-1] == list(range(len(head) - 1))
    assert tail[1:] == list(range(count - len(tail) + 1, count))
    assert KEPT * 0.95 <= total - dropped <= KEPT * 1.05
    assert len(text) < KEPT * 1.1


def test_cut_never_breaks_a_character(client):
    answer = client.run("print('\u20ac' * 200000)", timeout=20)
    assert answer.receipt["truncated"] is True
    assert "\ufffd" not in answer.stdout


@pytest.mark.parametrize("stream", [1, 2])
def test_flood_is_ended(client, stream):
    answer = client.run("import os\nwhile True:\n"
        "    os.write(%d, b'spam ' * 1000)\n" % stream, timeout=20)
    assert answer.verdict == "output" and answer.is_error, answer
    assert answer.receipt["truncated"] is True
    total = answer.receipt["stdout_bytes"] + answer.receipt["stderr_bytes"]
    assert 4 << 20 <= total < 16 << 20
    assert "spam spam" in answer.text and "4" in answer.rest
    assert len(answer.text) < KEPT * 1.2
    assert client.run("print(2)").stdout == "2\n"


def test_flood_leaves_the_server_small(daemon, client):
    before = harness.proc_status_kib(daemon.pid, "VmHWM")
    idents = [client.start("import os\nwhile True:\n"
        "    os.write(1, b'spam ' * 10000)\n") for _ in range(8)]
    for ident in idents:
        client.finish(ident)
    after = harness.proc_status_kib(daemon.pid, "VmHWM")
    assert after - before < 32 * 1024 or harness.sanitized(), (
        "grew by %d KiB" % (after - before))


STDIN = [
    ("input", "print(input(), input())", "a\nb\n", "a b\n"),
    ("prompt", "x = input('name? ')\nprint('hi', x)", "bo\n",
        "name? hi bo\n"),
    ("no last newline", "print(repr(input()))", "a", "'a'\n"),
    ("read", "import sys\nprint(len(sys.stdin.read()))", "x" * 100000,
        "100000\n"),
    ("lines", "import sys\nprint([l for l in sys.stdin])", "a\nb",
        "['a\\n', 'b']\n"),
    ("bytes", "import sys\nprint(sys.stdin.buffer.read())", "\u00e9\n",
        "b'\\xc3\\xa9\\n'\n"),
    ("descriptor", "import os\nprint(os.read(0, 10))", "abc", "b'abc'\n"),
    ("empty", "import sys\nprint(repr(sys.stdin.read()))", "", "''\n"),
    ("not read", "print('no')", "x" * 1000000, "no\n"),
]


@pytest.mark.parametrize("code,stdin,stdout", [row[1:] for row in STDIN],
    ids=[row[0].replace(" ", "-") for row in STDIN])
def test_stdin(client, code, stdin, stdout):
    answer = client.run(code, stdin=stdin)
    assert answer.verdict == "ok" and answer.stdout == stdout, answer


def test_input_without_stdin_is_at_its_end(client):
    answer = client.run("print('x')\ninput()\n")
    assert answer.receipt["exception"] == "EOFError", answer
    assert answer.stdout == "x\n" and "line 2" in answer.rest
    assert "stdin" in answer.rest, "no word on what to do: %r" % answer


PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
FIGURES = [
    # name, code, pictures
    ("left open", PLOT, 1),
    ("shown", PLOT + "plt.show()\n", 1),
    ("shown twice", PLOT + "plt.show()\nplt.show()\n", 1),
    ("changed between", PLOT + "plt.show()\nplt.plot([2, 1])\nplt.show()\n",
        2),
    ("two figures", PLOT + "plt.figure()\nplt.plot([3])\n", 2),
    ("closed after show", PLOT + "plt.show()\nplt.close('all')\n", 1),
    ("closed unseen", PLOT + "plt.close('all')\n", 0),
    ("goes on after show", PLOT + "plt.show()\n"
        "print(len(plt.gca().lines))\n", 1),
    ("shown before an error", PLOT + "plt.show()\n1 / 0\n", 1),
    ("open at an error", PLOT + "1 / 0\n", 1),
    ("no figure", "import matplotlib.pyplot as plt\n", 0),
]


@pytest.mark.parametrize("code,count", [row[1:] for row in FIGURES],
    ids=[row[0].replace(" ", "-") for row in FIGURES])
def test_figures(client, code, count):
    answer = client.run(code, timeout=20)
    assert len(answer.images) == count, answer
    for image in answer.images:
        assert image.startswith(b"\x89PNG\r\n\x1a\n")
        assert image.endswith(b"IEND\xaeB`\x82")
    if "1 / 0" in code:
        assert answer.receipt["exception"] == "ZeroDivisionError"
    else:
        assert answer.verdict == "ok", answer


def test_saved_figure_comes_back_once_as_a_picture(client):
    answer = client.run(PLOT + "plt.savefig('a.png')\nplt.close()\n",
        timeout=20)
    assert len(answer.images) == 1, answer


def test_figure_survives_a_timeout(client):
    answer = client.run(PLOT + "plt.show()\nwhile True:\n    pass\n",
        timeout=3)
    assert answer.verdict == "timeout" and len(answer.images) == 1, answer


def embedded(answer):
    """Files that came back whole: name -> bytes."""
    found = {}
    for item in answer.files:
        assert item["type"] == "resource", item
        resource = item["resource"]
        data = (resource["text"].encode() if "text" in resource else
            base64.b64decode(resource["blob"], validate=True))
        found[resource["uri"].rsplit("/", 1)[1]] = data
    return found


def test_files_come_back(client):
    answer = client.run("import os\nopen('t.txt', 'w').write('text')\n"
        "open('b.bin', 'wb').write(bytes(range(256)))\n"
        "os.makedirs('d/e')\nopen('d/e/deep.csv', 'w').write('a,b\\n1,2\\n')\n"
        "open('empty', 'w')\n")
    found = embedded(answer)
    assert found["t.txt"] == b"text"
    assert found["b.bin"] == bytes(range(256))
    assert found["deep.csv"] == b"a,b\n1,2\n"
    assert any("d/e/deep.csv" in f["resource"]["uri"] for f in answer.files)


def test_files_come_back_after_an_exception(client):
    answer = client.run("open('t.txt', 'w').write('text')\n1 / 0\n")
    assert answer.verdict == "exception"
    assert embedded(answer)["t.txt"] == b"text"


def test_links_and_devices_do_not_come_back(client):
    answer = client.run("import os\nos.symlink('/etc/passwd', 'link')\n"
        "os.symlink('/etc', 'dir')\nos.mkfifo('fifo')\n"
        "open('real', 'w').write('r')\n")
    if answer.verdict == "ok":
        assert list(embedded(answer)) == ["real"], answer
    assert "root:" not in repr(answer.result)


def test_too_many_files_are_counted(client):
    answer = client.run("for i in range(30):\n"
        "    open('f%02d' % i, 'w').write('x')\n")
    assert len(answer.files) == 8, answer
    assert "22" in answer.text, "the files left out are not counted"


def test_numpy_differs_between_runs(client):
    code = "import numpy as np\nprint(np.random.rand(), np.random.randn())"
    seen = {client.run(code).stdout for _ in range(6)}
    assert len(seen) == 6


def test_whole_stack_is_there(client):
    answer = client.run("from scipy.integrate import quad\n"
        "import numpy as np\n"
        "r, e = quad(lambda x: np.exp(np.sin(2 * x)), 0, np.pi / 2)\n"
        "print(f'result={r}')\nprint(f'error={e}')\n", timeout=20)
    assert answer.stdout == ("result=3.104379017855555\n"
        "error=2.025584703747011e-10\n"), answer
    answer = client.run("import sympy, pandas\nx = sympy.Symbol('x')\n"
        "print(sympy.integrate(sympy.sin(x), x))\n"
        "print(pandas.DataFrame({'a': [1, 2]}).sum())\n", timeout=20)
    assert answer.stdout == "-cos(x)\na    3\ndtype: int64\n", answer


FORGIVING = [
    # name, code, what is printed; None: a clear error instead
    ("fence", "```python\nprint(1)\n```", "1\n"),
    ("fence without a name", "```\nprint(1)\n```\n", "1\n"),
    ("fence with CRLF", "```py\r\nprint('hi')\r\n```", "hi\n"),
    ("await", "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n"
        "    return 42\nprint(await f())\n", "42\n"),
    ("await value", "import asyncio\nawait asyncio.sleep(0, 'v')\n", None),
    ("magic", "%timeit 1\nprint(1)\n", None),
    ("shell", "!ls\nprint(1)\n", None),
]


@pytest.mark.parametrize("name,code,stdout", FORGIVING,
    ids=[row[0].replace(" ", "-") for row in FORGIVING])
def test_code_as_models_write_it(client, name, code, stdout):
    answer = client.run(code)
    if name == "await value":
        assert answer.verdict == "ok" and "v" in answer.rest, answer
    elif stdout is None:
        assert answer.verdict == "exception", answer
        assert answer.receipt["exception"] == "SyntaxError"
        assert "line 1" in answer.rest
    else:
        assert answer.verdict == "ok" and answer.stdout == stdout, answer


def test_fence_keeps_line_numbers(client):
    answer = client.run("```python\nx = 1\n1 / 0\n```\n")
    assert "line 3" in answer.rest or "line 2" in answer.rest, answer
    assert "1 / 0" in answer.rest
