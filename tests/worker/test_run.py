"""What a program's run sends back, frame by frame."""


def test_print_and_value(run):
    r = run("print(sum(range(100)))\n6 * 7\n")
    assert r.stdout == b"4950\n" and r.stderr == b""
    assert [n for n, _ in r.frames] == ["STARTED", "VALUE", "DONE"]
    assert r.value == "42" and r.exit_code == 0


def test_exception(run):
    r = run("def f():\n    return 1 / 0\nprint('a')\nf()\n")
    assert r.stdout == b"a\n" and r.exit_code == 1
    assert r.exception["type"] == "ZeroDivisionError"
    assert r.exception["message"] == "division by zero"
    assert r.exception["line"] == 2
    assert r.traceback == (
        'Traceback (most recent call last):\n'
        '  File "main.py", line 4, in <module>\n    f()\n'
        '  File "main.py", line 2, in f\n    return 1 / 0\n'
        '           ~~^~~\nZeroDivisionError: division by zero\n')
