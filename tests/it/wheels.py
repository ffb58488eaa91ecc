"""Wheels made here, so that no test needs a network."""

import base64
import hashlib
import pathlib
import zipfile


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "%s,sha256=%s,%d" % (name, digest.rstrip(b"=").decode(), len(data))


def make_wheel(directory, name, version="1.0", files=None, requires=(),
        extras=None, links=()):
    """A pure wheel: files are {path in it: text or bytes}; links are
    (path, target) that go in as symbolic links."""
    module = name.replace("-", "_")
    if files is None:
        files = {"%s/__init__.py" % module: "VERSION = %r\n" % version}
    info = "%s-%s.dist-info" % (module, version)
    metadata = "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name,
        version)
    for extra in extras or {}:
        metadata += "Provides-Extra: %s\n" % extra
    for need in requires:
        metadata += "Requires-Dist: %s\n" % need
    for extra, needs in (extras or {}).items():
        for need in needs:
            metadata += "Requires-Dist: %s; extra == \"%s\"\n" % (need, extra)
    contents = {path: data if isinstance(data, bytes) else data.encode()
        for path, data in files.items()}
    contents[info + "/METADATA"] = metadata.encode()
    contents[info + "/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: it\n"
        b"Root-Is-Purelib: true\nTag: py3-none-any\n")
    record = [record_line(*item) for item in contents.items()]
    path = pathlib.Path(directory) / ("%s-%s-py3-none-any.whl" % (module,
        version))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for item in contents.items():
            wheel.writestr(*item)
        for link, target in links:
            entry = zipfile.ZipInfo(link)
            entry.create_system = 3
            entry.external_attr = 0o120777 << 16
            wheel.writestr(entry, target)
            record.append("%s,," % link)
        wheel.writestr(info + "/RECORD", "\n".join(record +
            [info + "/RECORD,,"]) + "\n")
    path.chmod(0o644)
    return path


def make_sdist(directory, name, version="1.0", setup=""):
    """A source distribution whose setup.py runs the given code first."""
    import io
    import tarfile
    path = pathlib.Path(directory) / ("%s-%s.tar.gz" % (name, version))
    text = setup + ("\nfrom setuptools import setup\nsetup(name=%r, "
        "version=%r, py_modules=[])\n" % (name, version))
    with tarfile.open(path, "w:gz") as tar:
        for file, data in (("setup.py", text), ("PKG-INFO",
                "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name,
                version))):
            entry = tarfile.TarInfo("%s-%s/%s" % (name, version, file))
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data.encode()))
    path.chmod(0o644)
    return path
