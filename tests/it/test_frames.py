"""A worker that a program has taken over speaks frames as it likes.

First a zygote without Python, whose workers draw what they send from a seed
(tests/unit/fuzz_worker.c); $ADDER_FUZZ_SEED repeats one, $ADDER_FUZZ_COUNT
says how many.  Then programs that write to their own job link.
"""

import os
import random
import time

import pytest

import harness

COUNT = int(os.environ.get("ADDER_FUZZ_COUNT", "150"))
SEED = int(os.environ.get("ADDER_FUZZ_SEED", "0")) or \
    random.SystemRandom().randrange(1, 1 << 32)
VERDICTS = {"ok", "exception", "exit", "timeout", "cpu", "memory", "output",
    "files", "pids", "signal", "denied", "lost"}
GOOD = "out alive\ndone 0\n"
FAKE = harness.build_dir() / "tests/unit/fake_zygote"

need_fake = pytest.mark.skipif(not FAKE.exists(),
    reason="tests/unit/fake_zygote is not built")


@pytest.fixture(scope="module")
def fake():
    with harness.Daemon({"zygote.path": str(FAKE), "pool.max": "4",
            "pool.warm": "4", "result.bytes": "1m",
            "sandbox.mode": "off"}) as daemon:
        yield daemon


def check_good(answer, seed):
    assert answer.verdict == "ok" and answer.stdout == "alive", \
        "beside or after seed %d: %r" % (seed, answer)


def check_bad(answer, seed):
    """Whatever it said, the answer is one, and in its form."""
    assert answer.verdict in VERDICTS, "seed %d: %r" % (seed, answer)
    assert answer.is_error == (answer.verdict != "ok"), "seed %d" % seed
    for content in answer.content:
        assert content["type"] in ("text", "image", "resource",
            "resource_link"), "seed %d: %r" % (seed, content)
    answer.message["result"]["content"] = None
    assert "jsonrpc" not in str(answer.result), "seed %d" % seed


@need_fake
def test_workers_that_say_anything(fake):
    print("ADDER_FUZZ_SEED=%d" % SEED)
    with fake.connect() as client, fake.connect() as other:
        check_good(client.run(GOOD), 0)
        # The pool fills up again: each worker has descriptors here.
        harness.eventually(lambda: len(fake.processes()) >= 3 +
            int(fake.options["pool.warm"]), "a full pool")
        fds = harness.proc_fds(fake.pid)
        rss = harness.proc_status_kib(fake.pid, "VmRSS")
        for seed in range(SEED, SEED + COUNT):
            beside = other.start(GOOD)
            ident = client.start("fuzz %d\n" % seed, timeout=0.1)
            check_bad(client.finish(ident), seed)
            check_good(other.finish(beside), seed)
            check_good(client.run(GOOD), seed)
            assert client.inbox == other.inbox == [], "seed %d" % seed
    harness.eventually(lambda: harness.proc_fds(fake.pid) <= fds,
        "descriptors are back at %d" % fds)
    grown = harness.proc_status_kib(fake.pid, "VmRSS") - rss
    assert grown < 16 * 1024 or harness.sanitized(), \
        "adderd grew by %d KiB" % grown


# Frames made by hand, in a program; see proto/PROTOCOL.md.
FRAMES = r'''
import os, struct

def text(data):
    if isinstance(data, bool):
        return b"\xc3" if data else b"\xc2"
    if isinstance(data, int):
        return b"\xcf" + struct.pack(">Q", data)
    return b"\xc6" + struct.pack(">I", len(data)) + data

def frame(kind, **fields):
    body = bytes([0x80 | len(fields)]) + b"".join(
        bytes([0xa0 | len(k)]) + k.encode() + text(v)
        for k, v in fields.items())
    return struct.pack(">IHH", len(body), kind, 0) + body

def send(data):
    while data:
        data = data[os.write(3, data):]

VALUE, EXCEPTION, IMAGE, FILE, DONE, FILE_PART = 52, 53, 54, 55, 56, 57
'''


@pytest.fixture(scope="module")
def daemon():
    with harness.Daemon(dict(harness.LIGHT, **{"pool.max": "3",
            "pool.warm": "3", "result.bytes": "2m"})) as daemon:
        yield daemon


def test_a_program_can_forge_only_its_own_answer(client):
    """What it claims is shown as what it claims."""
    answer = client.run(FRAMES + "send(frame(VALUE, text=b'forged'))\n"
        "send(frame(EXCEPTION, type=b'Forged', message=b'm', "
        "traceback=b'tb', line=1))\nos._exit(0)\n")
    assert answer.verdict == "exception", answer
    assert answer.receipt["exception"] == "Forged"
    assert "forged" in answer.rest
    assert client.run("print(1)").stdout == "1\n"
    assert client.inbox == []


def test_a_program_cannot_answer_for_the_kernel(client):
    """Not that it lives when it is killed, nor after its time."""
    answer = client.run(FRAMES + "send(frame(VALUE, text=b'x'))\n"
        "os.kill(os.getpid(), 9)\n")
    assert answer.verdict == "signal" and answer.receipt["signal"] == 9
    answer = client.run(FRAMES + "while True: send(frame(VALUE, text=b'x'))",
        timeout=0.5)
    assert answer.verdict == "timeout", answer


def test_names_count_as_bytes_of_files(daemon, client):
    """Names of 15 MiB are not kept."""
    client.run("print(1)")
    rss = harness.proc_status_kib(daemon.pid, "VmRSS")
    with open("/proc/%d/clear_refs" % daemon.pid, "w") as file:
        file.write("5")		# proc(5): VmHWM starts anew
    answer = client.run(FRAMES + "name = b'n' * (15 << 20)\n"
        "for i in range(8):\n"
        "    send(frame(IMAGE, mime=b'image/png', name=name, small=b'', "
        "data=b'd'))\n"
        "    send(frame(FILE, path=name, size=1, whole=True, shown=False, "
        "parts=False, data=b'd'))\n"
        "print('sent')\n", timeout=20)
    assert answer.verdict == "ok" and answer.stdout == "sent\n", answer
    peak = harness.proc_status_kib(daemon.pid, "VmHWM") - rss
    # One frame as it is read and decoded, and what may be kept.
    assert peak < 80 * 1024 or harness.sanitized(), \
        "adderd grew by %d KiB" % peak
    assert len(str(answer.result)) < 1 << 20


def test_pictures_that_are_not_what_they_say():
    """A smaller one that is none, or is larger, or is not within bounds."""
    with harness.Daemon(dict(harness.LIGHT, **{"result.max_images": "60k",
            "result.keep": "4m"})) as own, own.connect() as client:
        answer = client.run(FRAMES + """
def png(w, h, rest=b''):
    return (b'\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR' +
        w.to_bytes(4, 'big') + h.to_bytes(4, 'big') + rest)
for small in b'no picture', png(2000, 3), png(9, 9, bytes(99999)):
    send(frame(IMAGE, mime=b'image/png', name=b'a.png', small=small,
        data=png(9, 9)))
for data in png(2000, 3), png(0, 3), png(9, 9, bytes(99999)), b'no picture':
    send(frame(IMAGE, mime=b'image/png', name=b'b.png', small=b'',
        data=data))
print('sent')
""")
    assert answer.stdout == "sent\n" and not answer.images, answer
    assert answer.text.count("left out: it is too large") == 6


def test_files_that_are_not_what_they_say(client):
    """Too many parts, too few, of nothing; names that leave the directory."""
    answer = client.run(FRAMES + """
def file(path, size, data, parts=True):
    send(frame(FILE, path=path, size=size, whole=not parts, shown=False,
        parts=parts, data=data))
file(b'short', 10, b'12345')
file(b'long', 10, b'12345')
send(frame(FILE_PART, data=b'1234567890'))
file(b'right', 10, b'12345')
send(frame(FILE_PART, data=b'67890'))
file(b'huge', 1 << 62, b'')
file(b'../../etc/x', 1, b'x', False)
file(b'/etc/x', 1, b'x', False)
file(b'', 1, b'x', False)
file(b'a\\0b', 1, b'x', False)
print('sent')
""")
    assert answer.stdout == "sent\n" and answer.verdict == "ok"
    line = [t for t in answer.texts if t.startswith("files: ")][0]
    assert "short (10 bytes, left out: it changed" in line
    assert "long (10 bytes, left out: it changed" in line
    assert "right (10 bytes, attached)" in line
    assert "huge (4611686018427387904 bytes, left out" in line or \
        "huge (9007199254740992 bytes, left out" in line
    answer = client.run(FRAMES + "send(frame(FILE_PART, data=b'x'))\n"
        "print('still')")
    assert answer.stdout == "still\n"
    assert client.run("print(1)").stdout == "1\n"


def test_a_flood_of_frames_holds_up_nobody(daemon, client, other):
    """And a program that only reads, when its end has been shut."""
    usual = time.monotonic()
    assert other.run("print(1)").stdout == "1\n"
    usual = time.monotonic() - usual
    ident = client.start(FRAMES + "data = frame(VALUE, text=b'x' * 1000000)\n"
        "while True: send(data)\n", timeout=2)
    worst = 0
    for _ in range(5):
        begun = time.monotonic()
        assert other.run("print(1)").stdout == "1\n"
        worst = max(worst, time.monotonic() - begun)
    assert client.finish(ident).verdict == "timeout"
    assert worst < 3 * usual + 1, "%.3f s, usually %.3f s" % (worst, usual)


def test_frames_that_come_in_pieces(client):
    """A frame that never ends keeps nobody from being answered."""
    answer = client.run(FRAMES + "send(frame(VALUE, text=b'x' * 1000)[:500])\n"
        "print('over')\n")
    assert answer.stdout == "over\n", answer
    assert client.run("print(1)").stdout == "1\n"
