"""The files that a program makes: which come back, how, and what is kept."""

import os
import shutil
import struct
import subprocess
import tempfile
import zlib

import pytest

import kept
import sessions
import tiers
from harness import Daemon, LIGHT, eventually

# As it comes: the budgets and the store that the harness turns off.
PLAIN = {"result.max_text": "20k", "result.max_images": "700k",
    "result.keep": "64m"}


def png(shade):
    """A picture of one pixel."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I",
            zlib.crc32(body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1,
        1, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(bytes([0, shade])))
        + chunk(b"IEND", b""))


@pytest.fixture
def top():
    path = tempfile.mkdtemp(prefix="adder-files-")
    os.chmod(path, 0o711)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def daemon():
    with Daemon(dict(LIGHT, **PLAIN)) as daemon:
        yield daemon


def keeper(top, **options):
    """A daemon with a files.dir below top; options with _ for the dot."""
    conf = dict(LIGHT, **PLAIN)
    conf["files.dir"] = top + "/kept"
    conf.update({k.replace("_", ".", 1): v for k, v in options.items()})
    return Daemon(conf)


def line_of(answer):
    """The line that names the files."""
    (line,) = [t for t in answer.texts if t.startswith("files: ")]
    return line


def links(answer):
    return {b["name"]: b for b in answer.content
        if b["type"] == "resource_link"}


def embedded(answer):
    return {kept.split_uri(b["resource"]["uri"])[1]: b["resource"]
        for b in answer.content if b["type"] == "resource"}


# --- what comes back, and in which form

def test_only_regular_files_and_no_links(client):
    answer = client.run("""import os, socket
open('file', 'w').write('x')
os.symlink('/etc/passwd', 'link')
os.symlink('file', 'link2')
os.mkdir('dir'); os.symlink('/etc', 'dir/etc')
try: os.mkfifo('fifo')
except PermissionError: pass
os.link('file', 'hard')
os.mkdir('.cache'); open('.cache/x', 'w').write('private')
os.mkdir('__pycache__'); open('__pycache__/x', 'w').write('private')
print('made')
""")
    assert answer.stdout == "made\n"
    assert set(embedded(answer)) == {"file", "hard"}


def test_types_by_content(client):
    cases = {"a.csv": (b"a,b\n1,2\n", "text/csv"),
        "b.json": (b"{}", "application/json"),
        "c.svg": (b"<svg/>", "image/svg+xml"),
        "d.png": (b"no picture", "text/plain"),
        "e.txt": (b"\x00\x01", "application/octet-stream"),
        "f.txt": (b"\xff\xfe\xfd", "application/octet-stream"),
        "g.csv": (b"PK\x03\x04rest\x00", "application/zip"),
        "h.xlsx": (b"PK\x03\x04rest\x00", "application/vnd.openxmlformats-"
            "officedocument.spreadsheetml.sheet"),
        "i.dat": (b"%PDF-1.4\n%\xe2", "application/pdf"),
        "j": (b"", "text/plain"), "k.txt": (b"\xe0", "application/"
            "octet-stream"), "l": ("é".encode(), "text/plain"),
        "m.gif": (b"GIF89a is a format", "text/plain")}
    answer = client.run("for n, d in %r.items(): open(n, 'wb').write(d)" %
        {n: d for n, (d, _) in cases.items()})
    got = {n: r["mimeType"] for n, r in embedded(answer).items()}
    got.update({n: b["mimeType"] for n, b in links(answer).items()})
    assert got == {n: t for n, (_, t) in cases.items()}
    assert not answer.images


def test_small_text_is_there_and_the_rest_is_linked(client):
    answer = client.run("""open('small.txt', 'w').write('short')
open('large.txt', 'w').write('long ' * 5000)
open('data.bin', 'wb').write(bytes(range(256)) * 10)
""")
    assert embedded(answer)["small.txt"]["text"] == "short"
    assert set(links(answer)) == {"large.txt", "data.bin"}
    assert links(answer)["large.txt"]["size"] == 25000
    # Also what was there at once can be read again.
    for block in list(links(answer).values()) + [embedded(answer)[
            "small.txt"]]:
        assert kept.read_resource(client, block["uri"]) is not None
    uri = links(answer)["data.bin"]["uri"]
    assert kept.read_resource(client, uri) == bytes(range(256)) * 10


def test_many_small_texts_are_linked_after_a_while(client):
    answer = client.run("for i in range(10): "
        "open('%d.txt' % i, 'w').write('x' * 4000)")
    assert len(embedded(answer)) == 4 and len(links(answer)) == 6


def test_changed_lists_and_order(client):
    answer = client.run("""import time
for n in 'cab':
    open(n, 'w').write(n)
    time.sleep(0.02)
open('c', 'a').write('!')
""")
    assert list(embedded(answer)) == ["a", "b", "c"]


def test_pictures_among_files_are_shown(client):
    answer = client.run("for i in range(3): "
        "open('%%d.png' %% i, 'wb').write(%r)" % png(7))
    assert answer.images == [png(7)] * 3


@pytest.mark.parametrize("name", ["日本語.bin", "a b.bin", "50%.bin",
    "#?&=.bin", "é/ü/x.bin", "x" * 255, "\u202egnp.bin", "'\".bin"])
def test_unusual_names_can_be_read(client, name):
    answer = client.run("import os\nn = %r\n"
        "os.makedirs(os.path.dirname(n) or '.', exist_ok=True)\n"
        "open(n, 'wb').write(bytes(9000))" % name)
    block = links(answer)[name]
    assert kept.read_resource(client, block["uri"]) == bytes(9000)


def test_names_that_are_no_text(client):
    answer = client.run("open(b'\\xff\\xfe.bin', 'wb').write(bytes(9000))\n"
        "open('new\\nline', 'wb').write(bytes(9000))")
    assert sorted(len(kept.read_resource(client, b["uri"])) for b in
        links(answer).values()) == [9000, 9000]


# --- how much

def test_caps_name_what_is_left_out():
    with Daemon(dict(LIGHT, **PLAIN, **{"result.files": "3",
            "result.bytes": "20k"})) as daemon:
        client = daemon.connect()
        answer = client.run("import time\nfor i in range(5):\n"
            "    open('%d.txt' % i, 'w').write('x')\n    time.sleep(0.02)")
        assert set(embedded(answer)) == {"0.txt", "1.txt", "2.txt"}
        assert "3.txt (1 bytes, left out: more files than result.files), " \
            "4.txt" in line_of(answer)
        answer = client.run("import time\n"
            "open('large', 'wb').write(bytes(30000)); time.sleep(0.02)\n"
            "open('small', 'wb').write(bytes(10000))")
        assert set(links(answer)) == {"small"}
        assert "large (30000 bytes, left out: too large for result.bytes)" \
            in line_of(answer)


def test_a_sparse_file_counts_by_what_it_holds():
    with Daemon(dict(LIGHT, **PLAIN, **{"limits.scratch": "2g"})) as daemon:
        client = daemon.connect()
        answer = client.run("f = open('sparse', 'wb'); f.truncate(1 << 30)\n"
            "open('after', 'w').write('x')\nNone")
        assert answer.verdict == "ok"
        assert "sparse (1073741824 bytes, left out: too large for " \
            "result.bytes)" in line_of(answer)
        assert set(embedded(answer)) == {"after"}


def test_room_behind_the_end_counts_too():
    """A file that takes more than it holds."""
    with Daemon(dict(LIGHT, **PLAIN, **{"result.bytes": "1m"})) as daemon:
        client = daemon.connect()
        answer = client.run("import os, ctypes\n"
            "f = open('thick', 'wb'); f.write(b'x'); f.flush()\n"
            "libc = ctypes.CDLL(None)\n"
            "print(libc.fallocate(f.fileno(), 1, ctypes.c_long(0), "
            "ctypes.c_long(8 << 20)))")
        assert answer.stdout == "0\n"
        assert "thick (1 bytes, left out" in line_of(answer)


def test_ten_thousand_files(top):
    conf = {"limits.files": "12000"}
    with Daemon(dict(LIGHT, **PLAIN, **conf)) as daemon:
        client = daemon.connect()
        code = "for i in range(10000): open('%05d' % i, 'w').write('x')"
        answer = client.run(code, timeout=60)
        assert answer.verdict == "ok"
        assert len(embedded(answer)) == 32
        assert "9904 more left out" in line_of(answer)
        assert len(line_of(answer)) < 10000
    with keeper(top, limits_files="12000") as daemon:
        client = daemon.connect()
        answer = client.run(code, timeout=60)
        assert len(embedded(answer)) == 32
        line = line_of(answer)
        assert "904 more kept" in line and "9000 more left out" in line
        (files,) = kept.runs_on_disk(top + "/kept").values()
        assert len(files) == 1000
        assert len(kept.resources(client)) == 1000


def test_a_gigabyte(top):
    """Kept in parts, read in ranges; memory does not grow with it."""
    with keeper(top, limits_scratch="2g", limits_memory="2g",
            files_run_bytes="2g", files_quota="3g") as daemon:
        client = daemon.connect()
        answer = client.run("f = open('large', 'wb'); f.truncate(1 << 30)\n"
            "f.seek(1 << 29); f.write(b'middle')\nNone", timeout=60)
        assert answer.verdict == "ok"
        block = links(answer)["large"]
        assert block["size"] == 1 << 30
        data, where = kept.read_file(client, block["uri"],
            offset=(1 << 29) - 2, limit=10)
        assert data == b"\0\0middle\0\0"
        assert where == "[bytes %d to %d of %d; to go on: offset %d]" % (
            (1 << 29) - 2, (1 << 29) + 8, 1 << 30, (1 << 29) + 8)
        reply = client.rpc("resources/read", {"uri": block["uri"]})
        assert "too many for one message" in reply["error"]["message"]
        peak = [line for line in open("/proc/%d/status" % daemon.pid)
            if line.startswith("VmHWM")][0]
        assert int(peak.split()[1]) < 200 << 10


# --- files.dir

def test_kept_over_a_restart(top):
    with keeper(top) as daemon:
        client = daemon.connect()
        ids = [client.run("open('a.bin', 'wb').write(bytes([%d]) * 9000)"
            % i).receipt["run_id"] for i in range(3)]
        assert set(kept.runs_on_disk(top + "/kept")) == set(ids)
    with keeper(top) as daemon:
        client = daemon.connect()
        found = kept.resources(client)
        assert [kept.split_uri(r["uri"])[0] for r in found] == ids
        for i, resource in enumerate(found):
            assert kept.read_resource(client, resource["uri"]) == \
                bytes([i]) * 9000


def test_nothing_is_kept_of_what_makes_nothing(top):
    with keeper(top) as daemon:
        client = daemon.connect()
        for _ in range(5):
            assert client.run("print(1)").stdout == "1\n"
        assert os.listdir(top + "/kept/runs") == []


def test_nothing_is_kept_of_a_cancelled_run(top):
    with keeper(top) as daemon:
        client = daemon.connect()
        ident = client.start("import time\nopen('x', 'w').write('x')\n"
            "print('there', flush=True)\ntime.sleep(60)", timeout=60)
        eventually(lambda: daemon.connect().rpc("adder/status")["result"][
            "workers"]["busy"], "a run")
        client.cancel(ident)
        client.ping()
        assert client.run("open('y', 'w').write('y')").verdict == "ok"
        assert len(kept.runs_on_disk(top + "/kept")) == 1
        assert len(os.listdir(top + "/kept/runs")) == 1


@pytest.fixture
def small_disk(top):
    """A directory on a file system of 256 KiB."""
    path = top + "/disk"
    os.mkdir(path)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o",
            "size=256k,mode=0777", "tmpfs", path]).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def test_a_name_can_pretend_nothing(daemon):
    answer = daemon.connect().run("for name in 'a\\nfiles: evil', 'b\\x1b[2J':"
        "\n    open(name, 'w').write('x')")
    assert line_of(answer) == "files: a?files: evil (1 bytes, attached), " \
        "b?[2J (1 bytes, attached)"
    # What names them for programs has the names as they are.
    assert [c["resource"]["uri"].split("/", 4)[4] for c in answer.files] == \
        ["a%0Afiles%3A%20evil", "b%1B%5B2J"]


def test_a_full_disk(small_disk):
    with keeper(small_disk, result_bytes="1k") as daemon:
        client = daemon.connect()
        make = "open('f%d', 'wb').write(b'x' * 200000)\nNone"
        assert "linked" in line_of(client.run(make % 1))
        answer = client.run(make % 2)
        assert answer.verdict == "ok"
        assert "left out: the disk of files.dir is full" in line_of(answer)
        # However many files there are, the log is not filled with them.
        answer = client.run("for i in range(50):\n"
            "    open('s%d' % i, 'wb').write(b'x' * 70000)")
        assert answer.text.count("the disk of files.dir is full") > 9
        log = daemon.log_tail(1000)
        assert log.count("a file cannot be written") == 2, log
        assert len(kept.runs_on_disk(small_disk + "/kept")) == 1


def test_least_recently_used_go_first(top):
    with keeper(top, files_quota="400k") as daemon:
        client = daemon.connect()

        def make(n):
            return client.run("open('f', 'wb').write(bytes([%d]) * 100000)"
                % n).receipt["run_id"]
        runs = [make(i) for i in range(3)]
        assert set(kept.runs_on_disk(top + "/kept")) == set(runs)
        uri = "adder://run/%s/f" % runs[0]
        assert kept.read_file(client, uri, limit=1)[0] == b"\0"
        newest = make(3)
        assert set(kept.runs_on_disk(top + "/kept")) == {runs[0], runs[2],
            newest}
        assert kept.read_resource(client,
            "adder://run/%s/f" % runs[1]) is None
    # The order holds over a restart.
    with keeper(top, files_quota="250k") as daemon:
        client = daemon.connect()
        client.ping()
        assert set(kept.runs_on_disk(top + "/kept")) == {runs[0], newest}


def test_what_no_quota_has_room_for_evicts_nothing(top):
    with keeper(top, files_quota="200k", files_run_bytes="10m") as daemon:
        client = daemon.connect()
        first = client.run("open('f', 'wb').write(bytes(100000))")
        answer = client.run("open('f', 'wb').write(bytes(300000))")
        assert "shown" not in line_of(answer)
        assert set(kept.runs_on_disk(top + "/kept")) == {
            first.receipt["run_id"]}


def test_too_much_of_one_run(top):
    with keeper(top, files_run_bytes="100k", result_bytes="10k") as daemon:
        client = daemon.connect()
        answer = client.run("open('f', 'wb').write(bytes(200000))")
        assert "f (200000 bytes, left out: " in line_of(answer)
        assert os.listdir(top + "/kept/runs") == []


def test_age(top):
    with keeper(top, files_age="1s") as daemon:
        client = daemon.connect()
        uri = links(client.run("open('f', 'wb').write(bytes(9000))"))["f"][
            "uri"]
        eventually(lambda: os.listdir(top + "/kept/runs") == [],
            "the run goes")
        assert kept.read_resource(client, uri) is None
        assert kept.resources(client) == []


def test_a_program_may_name_its_files_as_we_name_output(top):
    with keeper(top) as daemon:
        client = daemon.connect()
        answer = client.run("print('x' * 50000)\n"
            "open('stdout', 'wb').write(bytes(9000))")
        run = answer.receipt["run_id"]
        assert kept.read_file(client, "adder://run/%s/stdout" % run,
            limit=3)[0] == b"xxx"
        assert kept.read_resource(client, links(answer)["stdout"]["uri"]) \
            == bytes(9000)


def test_nobody_else_lists_them(top):
    with Daemon(dict(LIGHT, **PLAIN, **{"files.dir": top + "/kept"}),
            tcp=True) as daemon:
        first = daemon.connect("tcp")
        uri = links(first.run("open('f', 'wb').write(bytes(9000))"))["f"][
            "uri"]
        assert [r["uri"] for r in kept.resources(first)] == [uri]
        second = daemon.connect("tcp")
        assert kept.resources(second) == []
        assert kept.resources(daemon.connect("unix")) == []
        # Whoever was given the name may read it.
        assert kept.read_resource(second, uri) == bytes(9000)


def test_http_runs_are_kept_and_bounded_too(top):
    """What travels whole in the answer is on disk as well."""
    import http.client
    import json
    with Daemon(dict(LIGHT, **PLAIN, **{"files.dir": top + "/kept",
            "listen.http": "127.0.0.1:0"})) as daemon:
        hit = daemon.wait_log(r"listening on http ([0-9.]+):([0-9]+)")
        conn = http.client.HTTPConnection(hit[1], int(hit[2]), timeout=60)
        conn.request("POST", "/run", json.dumps({"code":
            "open('f', 'wb').write(open('g', 'rb').read() * 2)",
            "files": [{"path": "g", "base64": "AAEC"}]}),
            {"Content-Type": "application/json"})
        body = json.loads(conn.getresponse().read())
        assert [f["name"] for f in body["files"]] == ["f"]
        (files,) = kept.runs_on_disk(top + "/kept").values()
        assert files["f"].read_bytes() == bytes([0, 1, 2]) * 2


def test_a_directory_that_cannot_be_used(top):
    os.mkdir(top + "/kept")
    os.chmod(top + "/kept", 0o500)
    if os.geteuid() != 0:
        pytest.skip("a user may always write to a directory of its own")
    daemon = Daemon(dict(LIGHT, **{"files.dir": top + "/kept"}), wait=False)
    try:
        assert daemon.wait_exit() == 1
        daemon.wait_log("files.dir .* cannot be written by user id")
    finally:
        daemon.kill()


def test_a_list_that_changed_is_told(top):
    with keeper(top, files_quota="150k") as daemon:
        client = daemon.connect()
        code = "open('f', 'wb').write(bytes(100000))"
        client.run(code)
        client.notification("notifications/resources/list_changed")
        # Another one makes the first go.
        client.run(code)
        client.notification("notifications/resources/list_changed")
        assert len(kept.resources(client)) == 1


# --- in sessions

def test_runs_of_a_session_lie_together(top):
    with keeper(top) as daemon:
        client = daemon.connect()
        session = sessions.Session(client)
        first = session.run("open('a', 'wb').write(bytes(9000))")
        second = session.run("open('b', 'wb').write(bytes(9000))")
        third = session.run("print(open('a', 'rb').read() == bytes(9000))")
        assert set(links(first)) == {"a"} and set(links(second)) == {"b"}
        assert third.stdout == "True\n" and third.files == []
        on_disk = kept.runs_on_disk(top + "/kept", session.handle)
        assert {run: set(files) for run, files in on_disk.items()} == {
            first.receipt["run_id"]: {"a"}, second.receipt["run_id"]: {"b"}}
        assert os.listdir(top + "/kept/runs") == []
        for answer in first, second:
            (block,) = links(answer).values()
            assert kept.read_resource(client, block["uri"]) == bytes(9000)
    with keeper(top, files_age="1s") as daemon:
        eventually(lambda: os.listdir(top + "/kept/sessions") == [],
            "the session's directory goes with its last run")


def test_what_a_call_of_a_session_changed(client):
    session = sessions.Session(client)
    session.run("for n in 'abc': open(n, 'w').write('12345')")
    # As many bytes, in the same step of the clock as the call before.
    answer = session.run("with open('b', 'r+') as f: f.write('54321')")
    assert set(embedded(answer)) == {"b"}
    answer = session.run("import os; os.rename('a', 'd')")
    assert set(embedded(answer)) == {"d"}
    assert session.run("print(sorted(os.listdir()))").files == []


def test_files_of_a_call_replace_what_lies_there(client):
    session = sessions.Session(client)
    session.run("import os\nopen('f', 'w').write('old')\n"
        "open('target', 'w').write('target')\nos.symlink('target', 'link')\n"
        "os.symlink('/etc', 'out')\nos.mkdir('dir')")
    answer = session.run("print(open('f').read(), open('link').read(), "
        "open('target').read(), os.path.islink('link'))", files=[
        {"path": "f", "text": "new"}, {"path": "link", "text": "linked"}])
    assert answer.stdout == "new linked target False\n"
    assert answer.files == []
    answer = session.run("print('ran')", files=[{"path": "dir", "text": ""}])
    assert answer.is_error and "a directory is there" in answer.text
    answer = session.run("print('ran')", files=[{"path": "out/x",
        "text": ""}])
    assert answer.is_error and "stands where a directory is needed" in \
        answer.text
    assert session.run("print(open('f').read())").stdout == "new\n"


def test_drawings_of_a_session(daemon):
    with Daemon(dict(PLAIN, **{"python.modules": "numpy,matplotlib.pyplot"})
            ) as own:
        session = sessions.Session(own.connect())
        answer = session.run("import matplotlib.pyplot as plt\n"
            "plt.plot([1, 2])", timeout=60)
        assert len(answer.images) == 1
        assert session.run("1", timeout=60).images == []
        assert len(session.run("plt.plot([2, 1])", timeout=60).images) == 1
        assert session.run("plt.close('all')", timeout=60).images == []


# --- behind each jail

@pytest.mark.parametrize("tier", tiers.NAMES)
def test_files_behind_each_jail(tier, top):
    """And kept by whoever adderd is there."""
    reason = tiers.why_not(tier)
    if reason is not None:
        pytest.skip(reason)
    if tiers.ROOT and tier != "strong+":
        os.chown(top, tiers.USER.pw_uid, tiers.USER.pw_gid)
    with tiers.TierDaemon(tier, dict(LIGHT, **PLAIN,
            **{"files.dir": top + "/kept"})) as daemon:
        client = daemon.connect()
        answer = client.run("import os\n"
            "print(open('d/in').read())\nopen('d/out', 'w').write('out')\n"
            "os.symlink('/etc/passwd', 'link')",
            files=[{"path": "d/in", "text": "in"}])
        assert answer.stdout == "in\n"
        assert {n: r["text"] for n, r in embedded(answer).items()} == {
            "d/out": "out"}
        (files,) = kept.runs_on_disk(top + "/kept").values()
        assert files["d/out"].read_bytes() == b"out"
        assert kept.read_resource(client, embedded(answer)["d/out"]["uri"]) \
            == b"out"
