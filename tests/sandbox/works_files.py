# Temporary files, maps, copies, archives and a database.
import bz2
import io
import lzma
import mmap
import pathlib
import shutil
import sqlite3
import tarfile
import tempfile
import zipfile

import numpy

with tempfile.TemporaryDirectory() as top, \
        tempfile.NamedTemporaryFile() as named, \
        tempfile.TemporaryFile() as nameless, \
        tempfile.SpooledTemporaryFile(10) as spooled:
    for file in (named, nameless, spooled):
        file.write(b"some text")
        file.seek(0)
        assert file.read() == b"some text"
    top = pathlib.Path(top)
    (top / "a").write_text("text")
    for copy in (shutil.copy, shutil.copy2, shutil.copyfile):
        copy(top / "a", top / copy.__name__)
        assert (top / copy.__name__).read_text() == "text"
    shutil.copytree(top, pathlib.Path("tree"))
    assert sorted(p.name for p in pathlib.Path("tree").iterdir()) == ["a",
        "copy", "copy2", "copyfile"]
    shutil.move("tree", "moved")
    shutil.rmtree("moved")
assert not top.exists()
pathlib.Path("touched").touch()
pathlib.Path("touched").touch()
os.replace("touched", "replaced")
os.symlink("replaced", "symlink")
os.link("replaced", "hard link")
assert os.path.samefile("symlink", "hard link")

with open("mapped", "w+b") as file:
    file.truncate(8192)
    with mmap.mmap(file.fileno(), 0) as shared:
        shared[:5] = b"hello"
        shared.flush()
    assert file.read(5) == b"hello"
anonymous = mmap.mmap(-1, 4096)
anonymous[:3] = b"abc"
array = numpy.memmap("array", dtype="f8", mode="w+", shape=(100,))
array[:] = numpy.arange(100)
array.flush()
assert numpy.memmap("array", dtype="f8", mode="r").sum() == 4950
numpy.save("saved.npy", array)
assert numpy.load("saved.npy", mmap_mode="r")[7] == 7

with zipfile.ZipFile("z.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a/b.txt", "in the archive")
with zipfile.ZipFile("z.zip") as z:
    z.extractall("out")
assert pathlib.Path("out/a/b.txt").read_text() == "in the archive"
with tarfile.open("t.tar.xz", "w:xz") as t:
    t.add("out")
with tarfile.open("t.tar.xz") as t:
    t.extractall("again")
assert pathlib.Path("again/out/a/b.txt").read_text() == "in the archive"
shutil.make_archive("made", "gztar", "out")
for codec in (lzma, bz2):
    assert codec.decompress(codec.compress(b"x" * 1000)) == b"x" * 1000

for where in ("rows.db", ":memory:"):
    with sqlite3.connect(where) as db:
        db.execute("create table t (x integer)")
        db.executemany("insert into t values (?)", [(i,) for i in range(99)])
        db.execute("pragma journal_mode")
        assert db.execute("select sum(x) from t").fetchone() == (4851,)
print("held")
