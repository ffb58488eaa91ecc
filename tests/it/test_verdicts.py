"""How a program ended: the verdict, the figures and the words for it."""

import re
import signal

import pytest

import harness

OPTIONS = dict(harness.LIGHT, **{
    "limits.output": "64k", "limits.output_kill": "4m",
    "limits.memory": "128m", "limits.timeout_max": "20s", "pool.max": "8"})

RUNS = [
    # name, code, verdict, what the receipt has, texts that occur
    ("printed", "print('hi')", "ok", {"exit_code": 0}, ["hi\n"]),
    ("silent", "x = 1", "ok", {"exit_code": 0}, ["print("]),
    ("last value", "x = 20\nx + 1\n", "ok", {}, ["21"]),
    ("value None", "None", "ok", {}, ["print("]),
    ("SystemExit without", "print('a')\nraise SystemExit", "ok",
        {"exit_code": 0}, ["a\n"]),
    ("exit 0", "import sys\nprint('a')\nsys.exit(0)", "ok",
        {"exit_code": 0}, ["a\n"]),
    ("exit 3", "import sys\nprint('a')\nsys.exit(3)", "exit",
        {"exit_code": 3}, ["a\n", "3"]),
    ("exit True", "import sys\nsys.exit(True)", "exit", {"exit_code": 1}, []),
    ("exit message", "import sys\nsys.exit('no data')", "exit",
        {"exit_code": 1}, ["no data"]),
    ("exit in finally", "import sys\ntry:\n    sys.exit(4)\nfinally:\n"
        "    print('cleanup')\n", "exit", {"exit_code": 4}, ["cleanup\n"]),
    ("quit()", "quit(5)", "exit", {"exit_code": 5}, []),
    ("os._exit 0", "import os, sys\nprint('before')\nsys.stdout.flush()\n"
        "os._exit(0)\nprint('after')\n", "ok", {"exit_code": 0},
        ["before\n"]),
    ("os._exit 7", "import os\nprint('before', flush=True)\nos._exit(7)\n",
        "exit", {"exit_code": 7}, ["before\n", "7"]),
    ("exception", "print('a')\n1 / 0\n", "exception",
        {"exception": "ZeroDivisionError"},
        ["a\n", "line 2", "1 / 0", "ZeroDivisionError: division by zero"]),
    ("exception in a function",
        "def f(x):\n    return g(x)\n\ndef g(x):\n    raise KeyError(x)\n\n"
        "f('key')\n", "exception", {"exception": "KeyError"},
        ["line 7", "f('key')", "line 2", "return g(x)", "line 5",
        "raise KeyError(x)", "KeyError: 'key'"]),
    ("exception of one's own",
        "class Odd(Exception):\n    pass\nraise Odd('so')\n", "exception",
        {}, ["line 3", "Odd: so"]),
    ("chained", "try:\n    int('abc')\nexcept ValueError as e:\n"
        "    raise RuntimeError('worse') from e\n", "exception",
        {"exception": "RuntimeError"}, ["invalid literal", "line 2",
        "direct cause", "line 4", "RuntimeError: worse"]),
    ("group", "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])",
        "exception", {"exception": "ExceptionGroup"},
        ["ValueError: 1", "TypeError: 2"]),
    ("syntax", "x = 1\nif x\n    pass\n", "exception",
        {"exception": "SyntaxError"},
        ["line 2", "if x", "SyntaxError: expected ':'"]),
    ("indentation", "def f():\nreturn 1\n", "exception",
        {"exception": "IndentationError"}, ["line 2"]),
    ("KeyboardInterrupt", "print('w')\nraise KeyboardInterrupt\n",
        "exception", {"exception": "KeyboardInterrupt"},
        ["w\n", "line 2", "KeyboardInterrupt"]),
    ("BaseException", "class E(BaseException):\n    pass\nraise E('x')\n",
        "exception", {}, ["line 3", "E: x"]),
    ("str fails", "class Evil(Exception):\n    def __str__(self):\n"
        "        raise RuntimeError('no')\nraise Evil()\n", "exception", {},
        ["line 4", "exception str() failed"]),
    ("recursion", "def f(n):\n    return f(n + 1)\nf(0)\n", "exception",
        {"exception": "RecursionError"},
        ["line 3", "line 2", "[Previous line repeated",
        "maximum recursion depth exceeded"]),
    ("huge message", "raise ValueError('bad ' + 'x' * 300000)", "exception",
        {"exception": "ValueError"}, ["ValueError: bad xxx", "line 1"]),
    ("excepthook", "import sys\n"
        "sys.excepthook = lambda t, v, b: print('HOOK', v)\n"
        "raise RuntimeError('custom')\n", "exception",
        {"exception": "RuntimeError"}, ["HOOK custom\n"]),
    ("atexit", "import atexit\natexit.register(print, 'bye')\nprint('hi')\n",
        "ok", {}, ["hi\nbye\n"]),
    ("thread goes on", "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(.2), print('t')))"
        ".start()\nprint('m')\n", "ok", {}, ["m\nt\n"]),
    ("module is __main__", "import __main__, sys\n"
        "print(__name__, __main__ is sys.modules['__main__'], "
        "'RunMe' in dir(__main__))\nclass RunMe: pass\n"
        "print(hasattr(__main__, 'RunMe'), sys.argv)\n", "ok", {},
        ["__main__ True False\nTrue ["]),
]


def check(answer, verdict, receipt, texts):
    assert answer.verdict == verdict, answer
    assert answer.is_error == (verdict != "ok"), answer
    for key, value in receipt.items():
        assert answer.receipt.get(key) == value, answer
    for text in texts:
        assert text in answer.text, (text, answer)
    for key in ("wall_ms", "cpu_ms", "queue_ms"):
        assert answer.receipt[key] >= 0, answer
    if verdict != "signal":	# nobody measures who kills himself
        assert answer.receipt["peak_kib"] > 0, answer
    assert answer.receipt["run_id"], answer


@pytest.mark.parametrize("code,verdict,receipt,texts",
    [row[1:] for row in RUNS], ids=[row[0].replace(" ", "-") for row in RUNS])
def test_run(client, code, verdict, receipt, texts):
    check(client.run(code), verdict, receipt, texts)


def test_traceback_has_user_frames_only(client):
    code = ("import json\n\ndef hook(d):\n    raise ValueError('in hook')\n\n"
        "json.loads('{}', object_hook=hook)\n")
    answer = client.run(code)
    lines = re.findall(r'File "([^"]*)", line (\d+)', answer.rest)
    assert [int(line) for _, line in lines] == [6, 4], answer
    assert len({name for name, _ in lines}) == 1, answer
    # Plain frames of a program of the user's own keep their names.
    answer = client.run("exec(compile('\\n1/0', '<generated>', 'exec'))")
    assert 'File "<generated>", line 2' in answer.rest, answer


def signal_number(answer):
    value = answer.receipt.get("signal")
    return value if isinstance(value, int) else signal.Signals[value]


CRASHES = [
    ("abort", "import os\nprint('x', flush=True)\nos.abort()",
        {signal.SIGABRT, signal.SIGSEGV}),
    ("segfault", "import ctypes\nprint('x', flush=True)\n"
        "ctypes.string_at(0)", {signal.SIGSEGV}),
    ("kill -9 of itself", "import os\nprint('x', flush=True)\n"
        "os.kill(os.getpid(), 9)", {signal.SIGKILL}),
]


@pytest.mark.parametrize("code,signals", [row[1:] for row in CRASHES],
    ids=[row[0].replace(" ", "-") for row in CRASHES])
def test_crash(client, code, signals):
    answer = client.run(code)
    check(answer, "signal", {}, ["x\n"])
    assert signal_number(answer) in signals, answer
    assert signal.Signals(signal_number(answer)).name in answer.rest, answer
    assert client.run("print(2)").stdout == "2\n"


def test_unhandled_alarm(client):
    """A process that is the first of its pid namespace does not die of a
    signal that it does not handle (pid_namespaces(7)): the deadline ends it
    then."""
    answer = client.run("import signal, time\nprint('x', flush=True)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(5)",
        timeout=1)
    assert answer.stdout == "x\n"
    assert answer.verdict == "timeout" or (answer.verdict == "signal" and
        signal_number(answer) == signal.SIGALRM), answer


def test_c_stack_overflow(client):
    code = ("import sys\nsys.setrecursionlimit(10**9)\nx = []\n"
        "for _ in range(200000):\n    x = [x]\nrepr(x)\n")
    answer = client.run(code, timeout=20)
    if answer.verdict == "exception":
        assert answer.receipt["exception"] in ("RecursionError",
            "MemoryError"), answer
    else:
        check(answer, "signal", {}, [])
        assert signal_number(answer) == signal.SIGSEGV
    assert client.run("print(2)").stdout == "2\n"


MEMORY = [
    ("bytes", "x = []\nwhile True:\n    x.append(b'x' * (1 << 24))\n"),
    ("one piece", "x = bytearray(1 << 40)\n"),
    ("small objects", "x = []\nwhile True:\n    x.append([0] * 100)\n"),
    ("shared mapping", "import mmap\nx = []\nwhile True:\n"
        "    x.append(mmap.mmap(-1, 1 << 24))\n    x[-1].write(b'x' * "
        "(1 << 24))\n"),
]


@pytest.mark.parametrize("code", [row[1] for row in MEMORY],
    ids=[row[0].replace(" ", "-") for row in MEMORY])
def test_memory(client, code):
    answer = client.run("print('start', flush=True)\n" + code, timeout=20)
    if answer.verdict == "exception":
        assert answer.receipt["exception"] in ("MemoryError", "OSError",
            "PermissionError"), answer
        assert "line " in answer.rest
    else:
        assert answer.verdict == "memory", answer
        assert "128" in answer.rest, "the limit is not named: %r" % answer
    assert answer.stdout == "start\n", answer
    assert client.run("print(2)").stdout == "2\n"


CLOSED = [
    ("stdout", "import os\nprint('x', flush=True)\nos.close(1)\n"),
    ("all", "import os\nprint('x', flush=True)\nos.closerange(0, 256)\n"
        "x = sum(range(1000))\n"),
    ("all and exit", "import os, sys\nprint('x', flush=True)\n"
        "os.closerange(0, 256)\nsys.exit(3)\n"),
    ("all and raise", "import os\nprint('x', flush=True)\n"
        "os.closerange(0, 256)\nraise ValueError('unseen')\n"),
    ("sys.stdout", "import sys\nprint('x')\nsys.stdout.close()\n"),
    ("all and hang", "import os, time\nprint('x', flush=True)\n"
        "os.closerange(0, 256)\ntime.sleep(3600)\n"),
]


@pytest.mark.parametrize("code", [row[1] for row in CLOSED],
    ids=[row[0].replace(" ", "-") for row in CLOSED])
def test_closed_descriptors(client, code):
    """Any verdict will do, but there is one and nothing hangs."""
    answer = client.run(code, timeout=1)
    assert answer.verdict in ("ok", "exit", "exception", "lost", "timeout",
        "signal"), answer
    assert answer.stdout == "x\n", answer
    assert client.run("print(2)").stdout == "2\n"


HANGS = [
    ("sleep", "import time\nprint('so far')\ntime.sleep(3600)\n"),
    ("busy", "print('so far')\nwhile True:\n    pass\n"),
    ("ignored signals", "import signal, time\nprint('so far')\n"
        "for s in set(signal.Signals) - {9, 19}:\n    try:\n"
        "        signal.signal(s, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass\n"
        "while True:\n    time.sleep(1)\n"),
    ("blocked signals", "import signal, time\nprint('so far', flush=True)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
        "time.sleep(3600)\n"),
    ("stuck in C", "import re\nprint('so far', flush=True)\n"
        "re.match(r'(a+)+$', 'a' * 40 + 'b')\n"),
    ("a thread", "import threading, time\nprint('so far')\n"
        "threading.Thread(target=time.sleep, args=(3600,)).start()\n"),
    ("atexit", "import atexit\nprint('so far')\n"
        "@atexit.register\ndef spin():\n    while True:\n        pass\n"),
    ("except all", "import time\nprint('so far')\nwhile True:\n    try:\n"
        "        time.sleep(3600)\n    except BaseException:\n"
        "        pass\n"),
    ("reads for ever", "import os\nprint('so far')\nr, w = os.pipe()\n"
        "os.read(r, 1)\n"),
]


def test_timeout(client):
    """All at once, so that it takes the time of one.  A deadline may come a
    few milliseconds early: the server's loop has a clock of its own."""
    idents = {name: client.start(code, timeout=0.5) for name, code in HANGS}
    for name, ident in idents.items():
        answer = client.finish(ident)
        assert answer.verdict == "timeout", (name, answer)
        assert answer.stdout == "so far\n", (name, answer)
        assert 490 <= answer.receipt["wall_ms"] < 5000, (name, answer)
        assert "0.5" in answer.rest or "500" in answer.rest, (name, answer)
        assert answer.is_error
    assert client.run("print(2)").stdout == "2\n"


def test_stopped_job_times_out(client):
    answer = client.run("import os\nprint('so far', flush=True)\n"
        "os.kill(os.getpid(), 19)\n", timeout=0.5)
    assert answer.verdict in ("timeout", "ok", "exception"), answer
    assert answer.stdout.startswith("so far\n")


def test_timeout_is_clamped():
    options = dict(harness.LIGHT, **{"limits.timeout": "200ms",
        "limits.timeout_max": "400ms"})
    with harness.Daemon(options) as daemon:
        client = daemon.connect()
        hang = "import time\ntime.sleep(3600)\n"
        idents = [client.start(hang, timeout=t)
            for t in (80000, "3e2", 3, None)]
        walls = []
        for ident in idents:
            answer = client.finish(ident)
            assert answer.verdict == "timeout", answer
            walls.append(answer.receipt["wall_ms"])
        assert all(390 <= wall < 5000 for wall in walls[:3]), walls
        assert 190 <= walls[3] < 5000, walls
        assert walls[3] < min(walls[:3]), walls


def test_figures_of_the_receipt(client):
    answer = client.run("import time\nx = bytearray(64 << 20)\n"
        "t = time.process_time()\n"
        "while time.process_time() - t < 0.3:\n    pass\n"
        "time.sleep(0.2)\n", timeout=20)
    receipt = answer.receipt
    assert receipt["verdict"] == "ok"
    assert 290 <= receipt["cpu_ms"] <= 2000, receipt
    assert 490 <= receipt["wall_ms"] <= 10000, receipt
    assert receipt["peak_kib"] > 64 * 1024, receipt
    assert "session" not in receipt or receipt["session"] is not None
    assert receipt["run_id"] != client.run("1").receipt["run_id"]


def test_nothing_is_kept_between_runs(client):
    dirty = ("import builtins, os, sys, json, decimal, random\n"
        "builtins.len = None\nos.environ['LEFT'] = '1'\n"
        "open('left.txt', 'w').write('x')\nos.chdir('/')\n"
        "json.dumps = None\ndecimal.getcontext().prec = 3\n"
        "sys.path.insert(0, '/left')\nx_left = 1\nrandom.seed(1)\n"
        "sys.modules['left'] = sys\nsys.setrecursionlimit(50)\n")
    clean = ("import os, sys, json, decimal, random\n"
        "print(len('abc'), 'LEFT' in os.environ, os.listdir('.'),\n"
        "    callable(json.dumps), decimal.getcontext().prec,\n"
        "    '/left' in sys.path, 'x_left' in globals(),\n"
        "    'left' in sys.modules, sys.getrecursionlimit(),\n"
        "    os.getcwd() == os.path.realpath(os.environ['HOME']))\n")
    want = "3 False ['main.py'] True 28 False False False 1000 True\n"
    assert client.run(clean).stdout == want
    for _ in range(3):
        client.run(dirty)
        assert client.run(clean).stdout == want


def test_random_numbers_differ(client):
    code = ("import random, os, uuid, tempfile\n"
        "print(random.random(), os.urandom(4).hex(), uuid.uuid4().hex,\n"
        "    next(tempfile._get_candidate_names()))\n")
    seen = [client.run(code).stdout.split() for _ in range(8)]
    for column in zip(*seen):
        assert len(set(column)) == len(seen), column


def test_children_do_not_outlive_the_job(daemon, client):
    code = harness.mark("orphan") + ("import os, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork():\n"
        "        os._exit(0)\n    os.closerange(0, 256)\n"
        "    time.sleep(3600)\nprint('parent done')\n")
    answer = client.run(code)
    if answer.verdict == "exception":
        pytest.skip("jobs may not start processes here: " +
            answer.receipt["exception"])
    assert answer.stdout == "parent done\n", answer
    harness.eventually(lambda: not daemon.marked("orphan"),
        "what the job started is gone", 2)


def test_children_die_at_the_deadline(daemon, client):
    code = harness.mark("late") + ("import os, time\nprint('x', flush=True)\n"
        "for i in range(3):\n    if os.fork() == 0:\n        os.setsid()\n"
        "        time.sleep(3600)\ntime.sleep(3600)\n")
    answer = client.run(code, timeout=0.5)
    if answer.verdict == "exception":
        pytest.skip("jobs may not start processes here: " +
            answer.receipt["exception"])
    assert answer.verdict == "timeout" and answer.stdout == "x\n", answer
    harness.eventually(lambda: not daemon.marked("late"),
        "what the job started is gone", 2)


def test_forked_child_answers_nothing(client):
    """A child that returns from the user's code is not a second job."""
    answer = client.run("import os\npid = os.fork()\n"
        "print('child' if pid == 0 else 'parent', flush=True)\n"
        "if pid:\n    os.waitpid(pid, 0)\n")
    if answer.verdict == "exception":
        pytest.skip("jobs may not start processes here")
    assert sorted(answer.stdout.split()) == ["child", "parent"], answer
    client.ping()
    assert client.inbox == []
