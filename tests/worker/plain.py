"""What plain CPython makes of a program: the measure for a worker."""
import os
import re
import signal
import subprocess
import tempfile

PYTHON_ENV = os.environ.get("ADDER_PYTHON_ENV", "")
PYTHON = (os.path.join(PYTHON_ENV, "bin", "python3") if PYTHON_ENV
          else os.environ["ADDER_PYTHON"])

# (major, minor, micro) of the interpreter that is the measure.
VERSION = tuple(int(n) for n in subprocess.run(
    [PYTHON, "-c", "import sys; print(*sys.version_info[:3])"],
    capture_output=True, text=True, check=True).stdout.split())


def environment(home):
    """As a worker has it, but for what only numeric libraries read."""
    path = "/usr/local/bin:/usr/bin:/bin"
    if PYTHON_ENV:
        path = os.path.join(PYTHON_ENV, "bin") + ":" + path
    return {"PATH": path, "LANG": "C.UTF-8", "TZ": "UTC", "HOME": home,
            "TMPDIR": home, "MPLBACKEND": "Agg",
            "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _as_from_a_terminal():
    """A shell in the background, or nohup, has some signals ignored."""
    os.umask(0o22)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def run_plain(code, stdin=b""):
    """(stdout, stderr, exit code) of `python3 main.py` with pipes."""
    if isinstance(code, str):
        code = code.encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory(prefix="adder-plain-") as d:
        d = os.path.realpath(d)
        with open(os.path.join(d, "main.py"), "wb") as f:
            f.write(code)
        p = subprocess.run(
            [PYTHON, "main.py"], cwd=d, env=environment(d), input=stdin,
            capture_output=True, timeout=60,
            preexec_fn=_as_from_a_terminal)
        return clean(p.stdout, d), clean(p.stderr, d), p.returncode


def clean(data, directory):
    """Without what differs in each process: the directory, addresses of
    objects, the process id."""
    text = data.decode("utf-8", "surrogateescape")
    text = text.replace(directory + "/", "").replace(directory, "DIR")
    text = re.sub(r"\(pid=\d+\)", "(pid=PID)", text)
    return re.sub(r"0x[0-9a-f]{6,}", "0xADDRESS", text)


def same_exit(plain, ours):
    """-2 is 130: a death by signal is also told as shells tell it."""
    return plain == ours or (plain < 0 and ours == 128 - plain)
