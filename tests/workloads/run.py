#!/usr/bin/python3
"""Real programs through the server, byte for byte what plain CPython prints.

  run.py [--all] [--count N] [--seed N] [--only REGEX] [--record] [--verbose]

The programs lie in ../shared/workloads beside the project; without that
folder there is nothing to do and the exit status is 77.  What is expected is
what plain CPython prints in the environment that adderd uses, not what the
collection recorded with older packages.  Plain runs are kept in the build
directory, by a hash of program and versions; plain.txt beside this file holds
digests of them for the pinned versions, so that a sample needs few plain
runs: an answer that agrees with its digest is right, any other is
compared with a plain run of today.

Differences that are understood stand in tests/workloads-known.md.  A
difference that is not listed fails, and so does a listed one that is gone.

--all takes every program and runs plain CPython for each; --record does the
same and writes plain.txt anew.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import importlib.util
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "it"))

import harness  # noqa: E402

SHARED = ROOT.parent / "shared" / "workloads"
KNOWN = HERE.parent / "workloads-known.md"
WRITES_TMP = {"agent-home-and-tmp-write"}
DIGESTS = HERE / "plain.txt"
SKIP = 77
PLAIN_TIMEOUT = 60

# A figure's last digits and a clock are not the point; these say what the
# answer must be instead of what plain CPython printed.
OWN_RULE = {"timeout", "memory", "error_or_friendly", "error_type_line",
    "differs_between_runs", "differs_between_runs_optional"}
STATE = ["agent-state-pristine", "agent-state-polluter",
    "agent-builtins-mutated", "agent-df-options-leak"]

Plain = collections.namedtuple("Plain", "stdout stderr status pngs")


def load_verdict():
    """verdict() of the collection's own judge."""
    spec = importlib.util.spec_from_file_location("check_plain",
        SHARED / "check_plain.py")
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


# --- plain CPython ---------------------------------------------------------

class PlainRunner:
    """Runs programs under the interpreter that the workers have."""

    def __init__(self, judge):
        self.judge = judge
        self.python = self._interpreter()
        self.user = unprivileged(self.python)
        self.versions = self._versions()
        self.cache = harness.build_dir() / "workloads-cache"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.runs = 0

    def _interpreter(self):
        env = harness.effective_conf()["python.env"]
        if env not in ("", "system"):
            return os.path.join(env, "bin", "python")
        return os.environ.get("ADDER_PYTHON", "/usr/bin/python3")

    def _versions(self):
        code = ("import sys, importlib.metadata as m\n"
            "print('python %d.%d' % sys.version_info[:2])\n"
            "for d in sorted((d.metadata['Name'].lower(), d.version)\n"
            "        for d in m.distributions()):\n"
            "    if d[0] not in ('pip', 'setuptools', 'wheel'):\n"
            "        print(*d)\n")
        lines = subprocess.run([self.python, "-c", code], check=True,
            capture_output=True, text=True).stdout.split("\n")
        names = ("python", "numpy", "scipy", "sympy", "mpmath", "pandas",
            "matplotlib", "pillow")
        return "; ".join(line for line in lines
            if line.split(" ")[0] in names)

    def result(self, item):
        """From the cache, or by running it."""
        key = hashlib.sha256(repr((item["code"], self.versions,
            bool(item.get("expect_png_min")))).encode("utf-8",
            "surrogatepass")).hexdigest()
        path = self.cache / key[:2] / key
        if path.exists():
            data = json.loads(path.read_text())
            return Plain(bytes.fromhex(data[0]), *data[1:])
        plain = self.run(item)
        path.parent.mkdir(exist_ok=True)
        part = path.with_suffix(".%d" % os.getpid())
        part.write_text(json.dumps([plain.stdout.hex(), *plain[1:]]))
        part.rename(path)
        return plain

    def run(self, item):
        """One run in a fresh directory with a small fixed environment."""
        self.runs += 1
        top = pathlib.Path(tempfile.mkdtemp(prefix="adder-plain-"))
        png = bool(item.get("expect_png_min")) and not re.search(
            r"\buse\(|switch_backend", item["code"])
        try:
            for name in ("w", "tmp", "mpl"):
                (top / name).mkdir()
            (top / "w/main.py").write_bytes(item["code"].encode("utf-8",
                "surrogatepass"))
            env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC",
                "HOME": str(top), "TMPDIR": str(top / "tmp"),
                "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(top / "mpl")}
            if png:
                (top / "png_on_show.py").write_text(self.judge.BACKEND)
                env.update(MPLBACKEND="module://png_on_show",
                    PYTHONPATH=str(top))
            if self.user is not None:
                for path in [top, *top.rglob("*")]:
                    os.chown(path, self.user.pw_uid, self.user.pw_gid)
            return self._spawn(top, env, png)
        finally:
            shutil.rmtree(top, ignore_errors=True)

    def _spawn(self, top, env, png):
        who = {} if self.user is None else {"user": self.user.pw_uid,
            "group": self.user.pw_gid, "extra_groups": []}
        with tempfile.TemporaryFile() as out, \
                tempfile.TemporaryFile() as err:
            process = subprocess.Popen([self.python, "main.py"],
                cwd=top / "w", env=env, stdin=subprocess.DEVNULL, stdout=out,
                stderr=err, start_new_session=True, preexec_fn=lambda:
                signal.signal(signal.SIGINT, signal.SIG_DFL), **who)
            try:
                status = process.wait(PLAIN_TIMEOUT)
            except subprocess.TimeoutExpired:
                status = "timeout"
            try:			# children that it left behind
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            out.seek(0), err.seek(0)
            text = err.read().decode("utf-8", "replace")
            pngs = (sum(1 for _ in (top / "w").rglob("*.png")) if png
                else None)
            return Plain(self.portable(out.read()), self.portable(
                text.encode()).decode().replace("%s/w/" % top, ""), status,
                pngs)

    def portable(self, data):
        """Without the place of the environment, which is not in the key."""
        return data.replace(str(pathlib.Path(self.python).parents[1]
            ).encode(), b"<env>")


def unprivileged(program):
    """User nobody, if this is root and nobody may run the program: root
    must not run other people's programs."""
    if os.getuid() != 0:
        return None
    user = pwd.getpwnam("nobody")
    try:
        subprocess.run([program, "-c", ""] if "python" in program else
            [program, "-V"], user=user.pw_uid, group=user.pw_gid,
            extra_groups=[], check=True, capture_output=True, cwd="/")
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit(skip("as root, programs are run as user nobody, "
            "who may not run %s" % program)) from None
    return user


def skip(why):
    print("skipped: %s" % why)
    return SKIP


# --- judging ---------------------------------------------------------------

def exit_status(answer):
    """The status as subprocess would give it."""
    verdict, receipt = answer.verdict, answer.receipt
    if verdict == "exception":
        return (-signal.SIGINT if receipt.get("exception") ==
            "KeyboardInterrupt" else receipt.get("exit_code") or 1)
    if verdict == "signal":
        value = receipt["signal"]
        return -(value if isinstance(value, int) else signal.Signals[value])
    if verdict in ("ok", "exit"):
        return receipt.get("exit_code", 0)
    return verdict


def readable(data):
    """Bytes as an answer shows them."""
    return data.decode("utf-8", "replace")


def digest(stdout, status):
    text = "%s %s" % (status, readable(stdout))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")
        ).hexdigest()[:20]


def last_line(text):
    """The line that names the exception: the last that is not indented."""
    lines = [line for line in text.strip().split("\n")
        if line and not line[0].isspace()]
    return lines[-1] if lines else ""


class Judge:
    def __init__(self, plain, digests):
        self.plain = plain
        self.digests = digests

    def __call__(self, item, answer, thorough):
        """None if the answer is right, else what is wrong with it."""
        if item["check"] in ("timeout", "memory"):
            return self._limit(item, answer)
        stdout = self.plain.portable(answer.stdout.encode())
        status = exit_status(answer)
        if item["check"] in OWN_RULE:
            ok, why = self.plain.judge.verdict(item, stdout, answer.rest,
                status, len(answer.images))
            return None if ok else why
        if not thorough:
            want = self.digests.get(item["id"])
            if want is not None and want == digest(stdout, status):
                return self._pictures(item, answer, None)
        return self._as_plain(item, answer, stdout, status)

    def _limit(self, item, answer):
        if answer.verdict not in ("timeout", "memory", "output"):
            return "not stopped: %s" % answer.verdict
        if not answer.stdout.startswith(item.get("partial_stdout", "")):
            return "output so far is lost"
        return None

    def _as_plain(self, item, answer, stdout, status):
        plain = self.plain.result(item)
        why = self._compare(item, plain, answer, stdout, status)
        if why and not self.same(plain, self.plain.run(item)):
            print("unstable: %s differs between plain runs" % item["id"])
            return None
        return why

    @staticmethod
    def same(a, b):
        return (a.stdout, a.status) == (b.stdout, b.status)

    def _compare(self, item, plain, answer, stdout, status):
        want = {"id": item["id"], "check": "stdout",
            "expect_stdout": readable(plain.stdout),
            "expect_exit": plain.status,
            "alternatives": item.get("alternatives", ())}
        if plain.status == 1 and plain.stderr:
            want["expect_error"] = {"last_line": last_line(plain.stderr),
                "line": item.get("expect_error", {}).get("line")
                if item.get("expect_error", {}).get("last_line", "?")
                in plain.stderr else None}
        # What the collection says of stderr holds if it holds of plain.
        if all(c in plain.stderr for c in item.get("stderr_contains", ())):
            want["stderr_contains"] = list(item.get("stderr_contains", ()))
            if "stderr_exact" in item:
                want["stderr_contains"].append(plain.stderr)
        rest = self.plain.portable(answer.rest.encode()).decode()
        ok, why = self.plain.judge.verdict(want, stdout, rest, status, None)
        return why if not ok else self._pictures(item, answer, plain)

    def _pictures(self, item, answer, plain):
        least = item.get("expect_png_min", 0)
        if plain is not None and plain.pngs is not None:
            least = min(least, plain.pngs)
        if len(answer.images) < least:
            return "%d pictures, expected at least %d" % (
                len(answer.images), least)
        return None


# --- running -----------------------------------------------------------------

def arguments(item):
    stopped = item["check"] in ("timeout", "memory")
    return {"timeout": 2 if stopped else 60}


def run_one(client, item):
    return client.run(item["code"], wait=120, **arguments(item))


def run_all(daemon, items, judge, thorough, report):
    """Two at a time: each thread has a connection of its own."""
    def work(part):
        with daemon.connect() as client:
            for item in part:
                answer = run_one(client, item)
                report(item, answer, judge(item, answer, thorough))
    parts = [items[i::2] for i in range(2)]
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        for future in [threads.submit(work, part) for part in parts]:
            future.result()


def run_state(daemon, items, judge, thorough, report):
    """Programs that leave traces, and one that must see none of them."""
    by_id = {item["id"]: item for item in items}
    order = [i for i in STATE if i in by_id]
    if STATE[0] not in order:
        return
    with daemon.connect() as client:
        for name in order + [STATE[0]] * 8:
            answer = run_one(client, by_id[name])
            report(by_id[name], answer, judge(by_id[name], answer, thorough))


def run_twice(daemon, items):
    """Programs whose output must differ between runs."""
    wrong = {}
    with daemon.connect() as client:
        for item in items:
            if item["check"] != "differs_between_runs":
                continue
            a, b = (run_one(client, item).stdout.split() for _ in range(2))
            same = [i for i, (x, y) in enumerate(zip(a, b)) if x == y]
            if same:
                wrong[item["id"]] = "columns %s are alike" % same
    return wrong


def read_digests(versions):
    """Digests of plain runs, if they were made with these versions."""
    if not DIGESTS.exists():
        return {}
    first, *lines = DIGESTS.read_text().split("\n")
    if first != "# " + versions:
        print("plain.txt is of other versions: %s" % first[2:])
        return {}
    return dict(line.split(" ") for line in lines if line)


def write_digests(plain, items):
    with open(DIGESTS, "w") as out:
        print("# " + plain.versions, file=out)
        for item in sorted(items, key=lambda item: item["id"]):
            if item["check"] in OWN_RULE or item.get("no_plain"):
                continue
            result = plain.result(item)
            print(item["id"], digest(result.stdout, result.status), file=out)


def read_known():
    """Ids that tests/workloads-known.md lists."""
    text = KNOWN.read_text() if KNOWN.exists() else ""
    return {m[1] for m in re.finditer(r"^\| `([^`]+)` \|", text, re.M)}


def choose(items, options):
    if options.only:
        return [i for i in items if re.search(options.only, i["id"])]
    if options.all or options.record:
        return items
    picked = random.Random(options.seed).sample(
        [i for i in items if i["id"] not in STATE],
        min(options.count, len(items)))
    print("sample of %d, seed %d" % (len(picked), options.seed))
    return picked + [i for i in items if i["id"] in STATE]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(os.environ.get(
        "ADDER_SEED", "1")))
    parser.add_argument("--only")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    handed = SHARED / "handed.jsonl"
    if not handed.exists():
        return skip("%s is not there" % os.path.relpath(handed, ROOT))
    harness.become_subreaper()
    with open(handed, encoding="utf-8") as lines:
        items = choose([json.loads(line) for line in lines], options)
    plain = PlainRunner(load_verdict())
    print("expectation: %s (%s)" % (plain.python, plain.versions))
    thorough = options.all or options.record or bool(options.only)
    judge = Judge(plain, read_digests(plain.versions))
    if options.record:
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            list(threads.map(plain.result, [i for i in items
                if not i.get("no_plain")]))
        write_digests(plain, items)
        return 0
    return serve(items, plain, judge, thorough, options)


def serve(items, plain, judge, thorough, options):
    wrong, ran = {}, set()

    def report(item, answer, why):
        ran.add(item["id"])
        if why:
            wrong[item["id"]] = "%s: %s" % (item["check"], why)
        if options.verbose:
            print("%-6s %s %s ms" % ("DIFF" if why else "ok", item["id"],
                answer.receipt.get("wall_ms")), flush=True)

    begun = time.monotonic()
    with harness.Daemon({"limits.output": "16m", "limits.timeout_max": "60s",
            "limits.memory": "2g", "pool.max": "2", "pool.warm": "2"}
            ) as daemon:
        run_all(daemon, [i for i in items if i["id"] not in STATE], judge,
            thorough, report)
        run_state(daemon, items, judge, thorough, report)
        wrong.update(run_twice(daemon, items))
    known = read_known()
    # A program finds its scratch directory at /tmp, unless Python is there.
    excused = WRITES_TMP if os.path.realpath(plain.python).startswith(
        "/tmp/") or plain.python.startswith("/tmp/") else set()
    unlisted = sorted(set(wrong) - known - excused)
    gone = sorted((known & ran) - set(wrong))
    for name in unlisted:
        print("DIFFERS %s %s" % (name, wrong[name]))
    for name in gone:
        print("LISTED AS DIFFERENT, BUT RIGHT: %s" % name)
    print("%d programs in %.0f s, %d plain runs; %d right, %d known "
        "differences, %d unlisted differences, %d listed that are gone" % (
        len(ran), time.monotonic() - begun, plain.runs,
        len(ran) - len(wrong), len(set(wrong) & known), len(unlisted),
        len(gone)))
    return 1 if unlisted or gone else 0


if __name__ == "__main__":
    sys.exit(main())
