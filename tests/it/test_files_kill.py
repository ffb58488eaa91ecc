"""adderd killed while runs make files: files.dir holds whole runs or none.

make check-files does it with a thousand calls (ADDER_FILE_CALLS) and prints
its seed; ADDER_FILE_SEED=N repeats a run."""

import hashlib
import os
import random
import shutil
import tempfile

import pytest

import kept
from harness import Daemon, LIGHT, eventually

CALLS = int(os.environ.get("ADDER_FILE_CALLS", "60"))
SEED = int(os.environ.get("ADDER_FILE_SEED", random.randrange(1 << 32)))
AT_ONCE = 8

# Every file says in its name what must be in it; some travel in parts.
PROGRAM = """
import hashlib, os
os.mkdir('d')
for i, size in enumerate(%r):
    seed = '%%s-%%d-%%d' %% (%r, i, size)
    block = hashlib.sha256(seed.encode()).digest()
    with open(('d/' if i %% 2 else '') + seed + '.bin', 'wb') as f:
        f.write((block * (size // 32 + 1))[:size])
"""


def expected(name):
    seed = name.rpartition("/")[2].removesuffix(".bin")
    size = int(seed.rpartition("-")[2])
    block = hashlib.sha256(seed.encode()).digest()
    return (block * (size // 32 + 1))[:size]


@pytest.fixture
def top():
    path = tempfile.mkdtemp(prefix="adder-files-")
    os.chmod(path, 0o711)
    yield path
    shutil.rmtree(path)


def daemon_of(top):
    return Daemon(dict(LIGHT, **{"files.dir": top + "/kept",
        "files.quota": "2g", "pool.warm": str(AT_ONCE),
        "clients.calls_max": "1000"}))


def sizes(rng):
    return [rng.choice((0, 1, 100, 5000, 300000, 3 << 20))
        for _ in range(rng.randint(1, 5))]


def kill_in_the_middle(top, rng, calls, answered):
    """Runs calls until some are answered, then kills adderd; which answers
    came, and what they said."""
    daemon = daemon_of(top)
    try:
        client = daemon.connect()
        idents = {}
        for n in range(calls):
            tag = "%08x-%d" % (rng.randrange(1 << 32), n)
            idents[client.start(PROGRAM % (sizes(rng), tag), timeout=60)] = tag
        enough = rng.randint(1, calls)
        eventually(lambda: sum(client.answered(i) for i in idents) >= enough
            or client.eof, "answers")
        daemon.process.kill()
        client.wait_closed()
    finally:
        daemon.kill()
    for message in client.inbox:
        if message.get("id") in idents and "result" in message:
            receipt = message["result"]["_meta"]["adder/receipt"]
            assert receipt["verdict"] == "ok"
            answered.add(receipt["run_id"])


def check_disk(top):
    """Between two servers: what has its own name is whole."""
    return {run: set(files) for run, files in
        kept.runs_on_disk(top + "/kept").items()}


def check_served(daemon, top, answered):
    """The next server lists and reads all of it, and has swept the rest."""
    client = daemon.connect()
    listed = {}
    for resource in kept.resources(client):
        run, name = kept.split_uri(resource["uri"])
        assert name not in listed.setdefault(run, set())
        listed[run].add(name)
        data = kept.read_resource(client, resource["uri"])
        assert data == expected(name) and len(data) == resource["size"]
    left = [p for p in os.listdir(top + "/kept/runs") if p.startswith(".")]
    assert left == []
    on_disk = check_disk(top)
    assert listed == on_disk
    assert answered <= set(on_disk)
    return len(listed), sum(map(len, listed.values()))


def test_killed_while_files_are_made(top):
    rng = random.Random(SEED)
    print("seed %d, %d calls" % (SEED, CALLS))
    answered, done, kills, torn = set(), 0, 0, 0
    while done < CALLS:
        calls = min(CALLS - done, rng.randint(5, 25))
        kill_in_the_middle(top, rng, calls, answered)
        done += calls
        kills += 1
        check_disk(top)
        torn += sum(p.startswith(".") for p in
            os.listdir(top + "/kept/runs"))
    with daemon_of(top) as daemon:
        daemon.wait_log(r"files.dir .* kept")
        runs, files = check_served(daemon, top, answered)
        again = daemon.connect()
        assert again.run("print(1)").stdout == "1\n"
    print("%d calls, %d kills, %d answered, %d runs with %d files kept, "
        "%d runs were torn" % (done, kills, len(answered), runs, files, torn))
    assert runs >= len(answered) > 0


def test_a_run_that_is_damaged_goes(top):
    """As if the machine had lost its power: sizes that do not fit, files that
    are not there, a list that is none."""
    with daemon_of(top) as daemon:
        client = daemon.connect()
        ids = [client.run("open('a.txt', 'w').write('%d' * 9)" % i).receipt[
            "run_id"] for i in range(6)]
    runs = top + "/kept/runs/"
    open(runs + ids[0] + "/files/a.txt", "w").write("short")
    os.unlink(runs + ids[1] + "/files/a.txt")
    open(runs + ids[2] + "/about", "w").write("adder run 1\nfile x")
    os.unlink(runs + ids[3] + "/files/a.txt")
    os.symlink("/etc/passwd", runs + ids[3] + "/files/a.txt")
    about = open(runs + ids[5] + "/about").read()
    open(runs + ids[5] + "/about", "w").write(about[:about.index("file ")])
    os.mkdir(runs + "." + "0" * 32)
    open(runs + "notes", "w").write("of the operator")
    with daemon_of(top) as daemon:
        found = daemon.wait_log(r"kept, ([0-9]+) that were not whole removed")
        assert found[1] == "6"
        client = daemon.connect()
        assert [kept.split_uri(r["uri"])[0] for r in
            kept.resources(client)] == [ids[4]]
        assert sorted(os.listdir(runs)) == sorted([ids[4], "notes"])


def test_one_server_a_directory(top):
    with daemon_of(top):
        other = Daemon(dict(LIGHT, **{"files.dir": top + "/kept"}),
            wait=False)
        try:
            assert other.wait_exit() == 1
            other.wait_log("in use by another adderd")
        finally:
            other.kill()
