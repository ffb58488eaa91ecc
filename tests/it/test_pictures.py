"""Pictures that are too large to be shown: smaller in the answer, and whole
behind a link."""

import base64
import re
import subprocess
import struct

import pytest

import harness
from harness import Answer
from test_http import Http

SIDE, BUDGET = 600, 200 << 10		# pixels; bytes of base64
OPTIONS = {"python.modules": "numpy,matplotlib.pyplot",
    "listen.http": "127.0.0.1:0", "result.max_image_px": str(SIDE),
    "result.max_images": str(BUDGET), "result.max_text": "20k",
    "result.keep": "64m"}
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


def png_size(data):
    assert data.startswith(PNG)
    return struct.unpack(">II", data[16:24])


def jpeg_size(data):
    """Of the first frame header."""
    at = 2
    while data[at + 1] not in (0xc0, 0xc1, 0xc2):
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    height, width = struct.unpack(">HH", data[at + 5:at + 9])
    return width, height


def size(data):
    return png_size(data) if data.startswith(PNG) else jpeg_size(data)


def links(answer):
    return [c["uri"] for c in answer.content if c["type"] == "resource_link"]


def read(client, uri):
    contents = client.rpc("resources/read", {"uri": uri})
    return base64.b64decode(contents["result"]["contents"][0]["blob"])


def run(client, code):
    answer = client.run(code, timeout=60)
    assert answer.verdict == "ok", answer
    assert sum(len(c["data"]) for c in answer.content
        if c["type"] == "image") <= BUDGET
    for image in answer.images:
        assert max(size(image)) <= SIDE
    return answer


FIGURE = "import matplotlib.pyplot as plt\n"


def test_a_large_figure(client):
    answer = run(client, FIGURE +
        "plt.figure(figsize=(8, 4), dpi=300)\nplt.plot([1, 3, 2])\n")
    image, = answer.images
    assert png_size(image) == (600, 300)
    uri, = links(answer)
    assert png_size(read(client, uri)) == (2400, 1200)
    assert "shown smaller than it is, and whole at " + uri in answer.text


def test_a_small_figure_is_sent_as_it_is(client):
    answer = run(client, FIGURE + "plt.figure(figsize=(4, 3), dpi=100)\n"
        "plt.plot([1, 2])\nplt.savefig('a.png')\n"
        "import hashlib\nprint(hashlib.md5(open('a.png', 'rb').read())."
        "hexdigest())\n")
    image, = answer.images
    import hashlib
    assert hashlib.md5(image).hexdigest() == answer.stdout.strip()
    assert not links(answer) and "pictures:" not in answer.text


def test_while_the_program_runs(client):
    """show() sends what it takes; the figure can go on being drawn."""
    answer = run(client, FIGURE + "for i in range(3):\n"
        "    plt.figure(figsize=(8, 8), dpi=100)\n    plt.plot([1, i])\n"
        "    plt.show()\nprint('end')\n")
    assert answer.stdout == "end\n"
    assert [size(i) for i in answer.images] == [(600, 600)] * 3
    assert [png_size(read(client, uri)) for uri in links(answer)] == [
        (800, 800)] * 3


SAVE = "from PIL import Image\nimport numpy as np\nrng = np.random." \
    "default_rng(1)\nnoise = rng.integers(0, 255, (%d, %d, 3), 'uint8')\n"


def test_too_many_bytes(client):
    """Noise, which no size of PNG makes small enough."""
    answer = run(client, SAVE % (500, 500) +
        "Image.fromarray(noise).save('noise.png')\n")
    image, = answer.images
    assert image.startswith(JPEG)
    uri, = links(answer)
    assert png_size(read(client, uri)) == (500, 500)


@pytest.mark.parametrize("save, start, want", [
    ("Image.fromarray(noise).save('a.jpg')", JPEG, (600, 300)),
    ("Image.new('RGBA', (1200, 600), (9, 9, 9, 99)).save('a.png')", PNG,
        (600, 300)),
    ("Image.new('P', (1200, 600), 3).save('a.gif')", PNG, (600, 300)),
    ("Image.new('1', (1200, 600)).save('a.png')", PNG, (600, 300)),
    ("Image.new('I;16', (1200, 600)).save('a.png')", PNG, (600, 300)),
    ("Image.new('LA', (1200, 600)).save('a.png')", PNG, (600, 300)),
    ("Image.new('CMYK', (1200, 600)).save('a.jpg')", JPEG, (600, 300)),
    ("Image.new('L', (6000, 2)).save('a.png')", PNG, (600, 1)),
], ids=["jpeg", "rgba", "gif", "bits", "16-bits", "grey-alpha", "cmyk",
    "narrow"])
def test_kinds(client, save, start, want):
    answer = run(client, SAVE % (600, 1200) + save)
    image, = answer.images
    assert image.startswith(start) and size(image) == want
    original = read(client, links(answer)[0])
    assert original != image


HEADER = ("import struct, zlib\ndef chunk(kind, data):\n"
    "    return (struct.pack('>I', len(data)) + kind + data +\n"
    "        struct.pack('>I', zlib.crc32(kind + data)))\n"
    "def png(w, h):\n    return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR',\n"
    "        struct.pack('>IIBBBBB', w, h, 8, 0, 0, 0, 0)) +\n"
    "        chunk(b'IDAT', zlib.compress(bytes(99))) + chunk(b'IEND', b''))\n")


@pytest.mark.parametrize("code", [
    HEADER + "_ = open('a.png', 'wb').write(png(100000, 100000))",
    HEADER + "_ = open('a.png', 'wb').write(png(5000, 5000))",
    HEADER + "_ = open('a.png', 'wb').write(png(2**31 - 1, 1))",
    HEADER + "_ = open('a.png', 'wb').write(png(0, 0))",
    "_ = open('a.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n')",
    "_ = open('a.jpg', 'wb').write(b'\\xff\\xd8\\xff' * 50)",
    "_ = open('a.jpg', 'wb').write(b'\\xff\\xd8\\xff\\xe0\\xff\\xff' + bytes(9))",
    "_ = open('a.webp', 'wb').write(b'RIFF1234WEBPVP8 ')",
    "_ = open('a.gif', 'wb').write(b'GIF89a')",
    SAVE % (600, 1200) + "Image.fromarray(noise).save('a.png')\n"
        "def no(*a, **k): 1 / 0\nImage.open = no",
    SAVE % (600, 1200) + "Image.fromarray(noise).save('a.png')\n"
        "import sys\nsys.modules['PIL'] = None",
    SAVE % (600, 1200) + "Image.fromarray(noise).save('a.png')\n"
        "Image.Image.thumbnail = lambda *a, **k: None",
], ids=["huge", "many-pixels", "wide", "no-size", "no-header", "no-frame",
    "long-segment", "webp", "gif", "open-broken", "no-pillow",
    "thumbnail-broken"])
def test_what_cannot_be_shown_is_not(client, code):
    """And nothing of our own shows in the output."""
    answer = run(client, code)
    assert not answer.images and len(answer.files) == 1
    assert answer.texts[0].startswith(("pictures: a.", "files: a.")), answer


def test_budget_is_for_all_pictures(client):
    answer = run(client, FIGURE + "import numpy as np\nfor i in range(6):\n"
        "    plt.figure(figsize=(6, 6), dpi=100)\n"
        "    plt.imshow(np.random.rand(90, 90, 3))\n")
    assert 1 <= len(answer.images) < 6
    assert answer.text.count("left out: it is too large, and whole at") + \
        len(answer.images) == 6


def test_in_a_session(client):
    """Where the interpreter goes on, call after call."""
    text = client.rpc("tools/call", {"name": "sandbox_initialize",
        "arguments": {}})
    session = Answer(text).texts[0]
    session = re.search(r"[A-Za-z0-9]+_[0-9a-f]{32}", session)[0]
    for turn in range(2):
        answer = client.run(FIGURE + "plt.figure(figsize=(8, 4), dpi=300)\n"
            "plt.plot([1, %d])\n" % turn, session_id=session, timeout=60)
        assert answer.verdict == "ok", answer
        assert [size(i) for i in answer.images] == [(600, 300)]


def test_programs_get_the_original(daemon, client):
    """/run and adderctl have no model to spare."""
    code = FIGURE + "plt.figure(figsize=(8, 4), dpi=300)\nplt.plot([1, 3])\n"
    ident = client.start(code, {"adder/whole": True}, timeout=60)
    image, = client.finish(ident).images
    assert png_size(image) == (2400, 1200)
    with Http(daemon) as web:
        reply = web.ask("POST", "/run", {"code": code, "timeout": 60},
            {"Accept": "application/json"})
        data = base64.b64decode(reply.json["images"][0]["data"])
        assert png_size(data) == (2400, 1200)


def test_a_picture_keeps_the_name_of_its_file(daemon, client, tmp_path):
    code = FIGURE + "import os\nos.mkdir('d')\nplt.plot([1, 3])\n" \
        "plt.savefig('a.png')\nplt.figure()\nplt.plot([2, 1])\n" \
        "plt.savefig('d/b.png')\nplt.figure()\nplt.plot([9])\nNone\n"
    answer = client.run(code, timeout=60)
    assert sorted(c["_meta"]["adder/name"] for c in answer.content
        if c["type"] == "image") == ["a.png", "d/b.png",
            "figure-3.png"]
    (tmp_path / "p.py").write_text(code)
    ran = subprocess.run([harness.build_dir() / "adderctl", "-s",
        daemon.socket_path, "run", "-t", "60", "-o", ".", "p.py"],
        cwd=tmp_path, capture_output=True)
    assert ran.returncode == 0, ran
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "b.png",
        "figure-3.png", "p.py"]
