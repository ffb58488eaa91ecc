"""Programs whose pictures lie in golden/, and how to compare pictures.

Run with a build (ADDER_BUILD) to make them anew, then look at each:
    python3 tests/it/golden_programs.py
"""

import os
import pathlib
import struct
import zlib

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"

HEAD = """import numpy as np
import matplotlib.pyplot as plt
plt.rcParams['figure.dpi'] = 50
plt.rcParams['figure.figsize'] = (4, 3)
"""

PROGRAMS = {
    "lines": HEAD + """
x = np.linspace(0, 6, 100)
plt.plot(x, np.sin(x), label='sin')
plt.plot(x, np.cos(x), '--', label='cos')
plt.title('Two lines'); plt.xlabel('x'); plt.legend(); plt.grid(True)
""",
    "bars": HEAD + """
plt.bar(['a', 'b', 'c'], [3, 1, 2], color=['red', 'green', 'blue'])
plt.ylabel('height')
""",
    "image": HEAD + """
plt.imshow(np.add.outer(np.arange(8), np.arange(8)), cmap='viridis')
plt.colorbar()
""",
    "text": HEAD + r"""
plt.axis('off')
plt.text(0.05, 0.7, 'αβγ δεζ ∑∫√∞ ≤≥ →', fontsize=18)
plt.text(0.05, 0.3, r'$\frac{\alpha^2}{\sqrt{\beta}} \sum_{i=0}^n x_i$',
    fontsize=22)
""",
    "grid": HEAD + """
fig, axes = plt.subplots(2, 2, sharex=True)
rng = np.random.default_rng(1)
axes[0, 0].scatter(rng.random(30), rng.random(30), s=9)
axes[0, 1].hist(rng.normal(size=200), bins=9)
axes[1, 0].fill_between([0, 1, 2], [1, 3, 2], alpha=0.5)
axes[1, 1].pie([1, 2, 3])
fig.tight_layout()
""",
}


def decode(data):
    """(width, height, rows of RGB bytes) of a PNG with 8 bits a channel."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlaced = struct.unpack(
                ">IIBBBBB", body)
            assert depth == 8 and color in (2, 6) and not interlaced
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    step = 3 if color == 2 else 4
    raw, rows = zlib.decompress(packed), []
    last = bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        last = unfilter(raw[start], bytearray(
            raw[start + 1:start + 1 + width * step]), last, step)
        rows.append(last if step == 3 else flatten(last))
    return width, height, rows


def unfilter(kind, row, above, step):
    for i in range(len(row)):
        left = row[i - step] if i >= step else 0
        up, corner = above[i], above[i - step] if i >= step else 0
        if kind == 4:
            p = left + up - corner
            guess = min((abs(p - left), 0, left), (abs(p - up), 1, up),
                (abs(p - corner), 2, corner))[2]
        else:
            guess = (0, left, up, (left + up) // 2)[kind]
        row[i] = row[i] + guess & 255
    return row


def flatten(row):
    """RGBA on white."""
    out = bytearray()
    for i in range(0, len(row), 4):
        a = row[i + 3]
        out += bytes((c * a + 255 * (255 - a)) // 255 for c in row[i:i + 3])
    return out


def blocks(picture, side=4):
    """Mean colours of squares: text that moved by less than a pixel, or was
    smoothed in another way, hardly changes them."""
    width, height, rows = picture
    found = []
    for y in range(0, height - side + 1, side):
        for x in range(0, width - side + 1, side):
            for c in range(3):
                found.append(sum(rows[y + j][3 * (x + i) + c]
                    for i in range(side) for j in range(side)) // side ** 2)
    return found


def difference(one, two):
    """The share of colour values of blocks that differ by more than a
    little; 1 for pictures of other sizes."""
    one, two = decode(one), decode(two)
    if one[:2] != two[:2]:
        return 1.0
    pairs = list(zip(blocks(one), blocks(two)))
    return sum(abs(a - b) > 40 for a, b in pairs) / len(pairs)


def make():
    import harness
    with harness.Daemon({}) as daemon:
        for name, code in PROGRAMS.items():
            (picture,) = daemon.connect().run(code, timeout=60).images
            GOLDEN.mkdir(exist_ok=True)
            (GOLDEN / (name + ".png")).write_bytes(picture)
            print(name, len(picture), "bytes")


if __name__ == "__main__":
    make()
