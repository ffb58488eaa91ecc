"""Finds or makes the environment that a list of requirements asks for.

Runs confined, with the interpreter that workers import from.  One JSON object
on standard input says what is wanted; on standard output goes a JSON object a
line: {"progress": text} any number of times, then {"ok": {...}}, or {"error":
sentence, "log": last lines of the resolver}.

deps.dir holds environments as env-XXXXXXXX, each a virtual environment beside
which adder.json says what is in it.  A symbolic link named by the digest of
the request is made last, by a rename: what no link leads to is not finished
and is swept away.
"""
import contextlib
import ctypes
import fcntl
import fnmatch
import hashlib
import importlib.metadata as metadata
import json
import os
import re
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv

try:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.utils import canonicalize_name
except ImportError:
    try:
        from pip._vendor.packaging.requirements import (InvalidRequirement,
            Requirement)
        from pip._vendor.packaging.specifiers import (InvalidSpecifier,
            SpecifierSet)
        from pip._vendor.packaging.utils import canonicalize_name
    except ImportError:
        canonicalize_name = None

FORMAT = 1              # of environments; part of their digest
LOG_LINES = 12          # of the resolver, that a failure shows
LOG_BYTES = 2000
LOOK_S = 1.0            # between looks at the size of what grows
RECENT_S = 60           # an environment used so lately is not evicted
MANIFEST = "adder.json"


class Refused(Exception):
    """A sentence for the client, and what the resolver said."""

    def __init__(self, sentence, log=""):
        super().__init__(sentence)
        self.log = log


def say(**members):
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


def printable(text):
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


# --- what is asked for

def script_requirements(block):
    """The dependencies of a script block of PEP 723."""
    import tomllib
    lines = [line[2:] if line.startswith("# ") else line[1:]
             for line in block.splitlines()[1:-1]]
    try:
        table = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as e:
        raise Refused("The script metadata in the code (# /// script) is no "
                      "TOML: %s." % e)
    found = table.get("dependencies", [])
    if not (isinstance(found, list)
            and all(isinstance(f, str) for f in found)):
        raise Refused("The script metadata in the code has dependencies that "
                      "are no array of strings.")
    check_python(table.get("requires-python", ""))
    return found


def check_python(wanted):
    version = "%d.%d.%d" % sys.version_info[:3]
    try:
        if version in SpecifierSet(wanted):
            return
    except (InvalidSpecifier, TypeError):
        raise Refused("requires-python in the code's script metadata is no "
                      "version specifier: %.60r." % (wanted,))
    raise Refused("The code's script metadata asks for Python %s, but this "
                  "is Python %s." % (wanted, version))


def parse(text):
    try:
        wanted = Requirement(text)
    except InvalidRequirement as e:
        raise Refused("\"%.100s\" is no requirement as packages are named, "
                      "such as \"networkx>=3\": %s." % (text,
                      str(e).splitlines()[0].rstrip(".:")))
    if wanted.url is not None:
        raise Refused("\"%.100s\" names an address; only names and versions "
                      "of packages are taken here." % (text,))
    return wanted


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, p) for p in patterns)


def check_name(name, ask, why=""):
    allow, deny = (re.split(r"[,\s]+", ask[k].lower().replace("_", "-"))
                   if ask[k] else [] for k in ("allow", "deny"))
    if matches(name, deny):
        raise Refused("The package %s may not be installed here (deps.deny)"
                      "%s." % (name, why))
    if allow and not matches(name, allow):
        raise Refused("The package %s is not among those that may be "
                      "installed here (deps.allow)%s." % (name, why))


def normalise(wanted):
    extras = sorted(canonicalize_name(e) for e in wanted.extras)
    return "%s%s%s" % (canonicalize_name(wanted.name),
        "[%s]" % ",".join(extras) if extras else "",
        ",".join(sorted(str(s) for s in wanted.specifier)))


def requirements(ask):
    """[Requirement], those whose marker is false left out."""
    texts = list(ask["requirements"])
    if ask["script"]:
        texts += script_requirements(ask["script"])
    found = [parse(text) for text in texts]
    found = [r for r in found if r.marker is None or r.marker.evaluate()]
    return {normalise(r): r for r in found}


# --- what is there

def base_paths():
    """Directories of packages that every worker has."""
    return [p for p in sys.path
            if os.path.basename(p) in ("site-packages", "dist-packages")]


def distributions(paths):
    found = {}
    for dist in metadata.distributions(path=paths):
        name = dist.metadata["Name"]
        if name:
            found.setdefault(canonicalize_name(name), dist)
    return found


def satisfied(wanted, base):
    """No extras: what those need is the resolver's affair."""
    for r in wanted.values():
        dist = base.get(canonicalize_name(r.name))
        if (dist is None or r.extras
                or not r.specifier.contains(dist.version, prereleases=True)):
            return False
    return True


def digest_of(wanted, base, ask):
    what = [FORMAT, sorted(wanted), sys.version, sysconfig.get_platform(),
        sys.prefix, sorted((n, d.version) for n, d in base.items()),
        ask["index"], ask["offline"], ask["sdist"]]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def site_of(top):
    return os.path.join(top, "lib", "python%d.%d" % sys.version_info[:2],
        "site-packages")


def walk(top):
    """(path, lstat) of everything below."""
    todo = [top]
    while todo:
        with os.scandir(todo.pop()) as entries:
            for entry in entries:
                st = entry.stat(follow_symlinks=False)
                yield entry.path, st
                if stat.S_ISDIR(st.st_mode):
                    todo.append(entry.path)


def measure(top):
    """Bytes on disk, files, and a digest of names and sizes."""
    total = files = 0
    names = []
    for path, st in walk(top):
        total += max(st.st_blocks * 512, st.st_size)
        if stat.S_ISREG(st.st_mode) and not path.endswith(MANIFEST):
            files += 1
            names.append("%s %d" % (path[len(top):], st.st_size))
    return (total, files,
        hashlib.sha256("\n".join(sorted(names)).encode("utf-8",
        "surrogateescape")).hexdigest())


def check_environment(top):
    """Its manifest, or None if it is not as it was made."""
    try:
        with open(os.path.join(top, MANIFEST), "rb") as f:
            manifest = json.load(f)
        _, files, digest = measure(top)
        if (files, digest) == (manifest["files"], manifest["digest"]):
            return manifest
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


# --- making one

# Landlock (landlock(7)): what changes files, as far as version 1 has it;
# truncating and linking elsewhere follow with versions 2 and 3.
LANDLOCK_WRITE = sum(1 << n for n in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12))


def confine_to(top):
    """From now on this process and its children change nothing but what is
    below top, not even other environments."""
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(444, None, 0, 1)
    if abi < 1:
        return
    handled = LANDLOCK_WRITE
    if abi >= 2:
        handled |= 1 << 13
    if abi >= 3:
        handled |= 1 << 14
    attr = (ctypes.c_uint64 * 1)(handled)
    ruleset = libc.syscall(444, ctypes.byref(attr), 8, 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    for path, access in ((top, handled), ("/dev/null", handled & (1 << 1))):
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = (ctypes.c_uint8 * 12)(*(access.to_bytes(8, sys.byteorder)
            + fd.to_bytes(4, sys.byteorder)))
        if libc.syscall(445, ruleset, 1, ctypes.byref(rule), 0) != 0:
            raise OSError(ctypes.get_errno(), "landlock_add_rule")
        os.close(fd)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.syscall(446, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    os.close(ruleset)


def pip_arguments(top, wanted, ask):
    argv = [os.path.join(top, "bin", "python"), "-I", "-m", "pip", "install",
        "--no-input", "--no-cache-dir", "--disable-pip-version-check",
        "--no-user", "--progress-bar", "off", "--no-color",
        "--report", os.path.join(top, "report.json")]
    if not ask["sdist"]:
        argv += ["--only-binary", ":all:"]
    if ask["index"]:
        argv += ["--index-url", ask["index"]]
    if ask["offline"]:
        argv += ["--no-index", "--find-links", ask["offline"]]
    # None begins with a dash: that is not in the grammar.
    return argv + sorted(wanted)


def progress(line):
    word, _, rest = line.partition(" ")
    if word in ("Collecting", "Downloading", "Building", "Installing"):
        say(progress="%s %.150s" % (word.lower(), rest.strip()))


def tail_of(lines):
    text = "\n".join(lines[-LOG_LINES:])
    return text if len(text) <= LOG_BYTES else "..." + text[-LOG_BYTES:]


def run_pip(top, wanted, ask):
    env = dict(os.environ, TMPDIR=os.path.join(top, "tmp"))
    if ask["offline"]:
        # Nothing but that directory, whatever pip is told elsewhere.
        env = {k: v for k, v in env.items() if not k.startswith("PIP_")}
        env["PIP_CONFIG_FILE"] = os.devnull
    os.mkdir(env["TMPDIR"])
    pip = subprocess.Popen(pip_arguments(top, wanted, ask), env=env, cwd=top,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, preexec_fn=lambda: confine_to(top))
    lines, rest, looked = [], b"", time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(pip.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(LOOK_S):
                data = os.read(pip.stdout.fileno(), 65536)
                if not data:
                    break
                *whole, rest = (rest + data)[-1 << 20:].split(b"\n")
                for raw in whole:
                    line = raw.decode("utf-8", "replace").rstrip()
                    lines = lines[-200:] + [line]
                    progress(line)
            if time.monotonic() - looked > LOOK_S:
                looked = time.monotonic()
                check_size(top, ask, pip)
    if pip.wait() != 0:
        raise Refused("The packages %s could not be installed; the resolver "
                      "says:" % ", ".join(sorted(wanted)), tail_of(lines))
    shutil.rmtree(env["TMPDIR"], ignore_errors=True)


def check_size(top, ask, pip=None):
    try:
        size = measure(top)[0]
    except OSError:         # it changes under our eyes
        return
    if size > ask["max_bytes"]:
        if pip is not None:
            pip.kill()
        raise Refused("The packages take more than the %d MiB that all "
                      "environments together may (deps.max_bytes); ask for "
                      "less." % (ask["max_bytes"] >> 20))


def check_files(top):
    """Regular files and directories only, and links that stay inside or lead
    to the interpreter."""
    home = sys.base_prefix
    for path, st in walk(top):
        if stat.S_ISLNK(st.st_mode):
            target = os.path.realpath(path)
            if not (target.startswith((top + "/", home + "/"))
                    or target == top):
                raise Refused("A package holds a link that leads out of its "
                              "environment (%.100s), and is not installed."
                              % path[len(top) + 1:])
        elif not (stat.S_ISREG(st.st_mode) or stat.S_ISDIR(st.st_mode)):
            raise Refused("A package holds a special file (%.100s), and is "
                          "not installed." % path[len(top) + 1:])


def import_names(dist):
    """Names that it can be imported by."""
    text = dist.read_text("top_level.txt")
    names = set(text.split()) if text else set()
    for path in [] if names else dist.files or []:
        first = path.parts[0]
        if len(path.parts) == 1:
            first, _, rest = first.partition(".")
            if not (rest == "py" or rest.endswith("so")):
                continue
        names.add(first)
    return sorted(n for n in names if n.isidentifier() and n.isascii()
                  and not n.startswith("_") and len(n) < 80)


def write_file(path, text):
    with open(path, "w") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())


def make_environment(store, wanted, base, ask):
    """Its directory and manifest."""
    top, lock = store.new_directory()
    try:
        venv.EnvBuilder(with_pip=False, symlinks=True).create(top)
        site = site_of(top)
        # What every worker has counts as installed.
        write_file(os.path.join(site, "adder-base.pth"),
            "".join(p + "\n" for p in base_paths()))
        run_pip(top, wanted, ask)
        check_size(top, ask)
        check_files(top)
        manifest = describe(top, wanted, base, ask)
        write_file(os.path.join(top, MANIFEST), json.dumps(manifest))
        os.sync()
    except BaseException:
        shutil.rmtree(top, ignore_errors=True)
        os.close(lock)
        raise
    return top, manifest


def describe(top, wanted, base, ask):
    new = distributions([site_of(top)])
    asked = {canonicalize_name(r.name) for r in wanted.values()}
    for name in new:
        if name not in asked:
            check_name(name, ask, ", but a package that was asked for needs "
                "it")
    size, files, digest = measure(top)
    return {
        "requirements": sorted(wanted),
        "python": sys.version.split()[0],
        "packages": {n: new[n].version for n in sorted(new)},
        "imports": sorted({name for n in asked if n in new
                           for name in import_names(new[n])})[:200],
        "shadows": sorted(n for n in new if n in base),
        "bytes": size, "files": files, "digest": digest,
    }


# --- all environments

class Store:
    """deps.dir.  Its lock is held for moments only."""

    def __init__(self, top):
        self.top = top
        self.evicted = 0
        self.lock = os.open(os.path.join(top, "lock"),
            os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def __enter__(self):
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        return self

    def __exit__(self, *exc):
        fcntl.flock(self.lock, fcntl.LOCK_UN)

    def new_directory(self):
        """A directory that is locked as long as it is worked on."""
        with self:
            top = tempfile.mkdtemp(prefix="env-", dir=self.top)
            os.chmod(top, 0o755)
            fd = os.open(top, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(fd, fcntl.LOCK_EX)
        return top, fd

    @contextlib.contextmanager
    def digest_locked(self, digest):
        """One process at a time makes what has this digest."""
        path = os.path.join(self.top, "lock-" + digest)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(progress="waiting for the same packages to be installed")
            fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            # Who waits for it finds all done.
            with contextlib.suppress(OSError):
                os.unlink(path)
            os.close(fd)

    def find(self, digest):
        try:
            name = os.readlink(os.path.join(self.top, digest))
        except OSError:
            return None, None
        top = os.path.join(self.top, os.path.basename(name))
        return top, check_environment(top)

    def publish(self, digest, top):
        new = os.path.join(self.top, "new-" + digest)
        if os.path.lexists(new):
            os.unlink(new)
        os.symlink(os.path.basename(top), new)
        os.replace(new, os.path.join(self.top, digest))

    def touch(self, top):
        os.utime(os.path.join(top, MANIFEST))

    def links(self):
        """{environment's name: digest}"""
        found = {}
        for name in os.listdir(self.top):
            if re.fullmatch("[0-9a-f]{32}", name):
                with_link = os.path.join(self.top, name)
                found[os.path.basename(os.readlink(with_link))] = name
        return found

    def remove(self, name, digest=None):
        if digest is not None:
            os.unlink(os.path.join(self.top, digest))
        path = os.path.join(self.top, name)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(path)

    def sweep(self, keep):
        """Removes what a process that was killed has left."""
        links = self.links()
        for name in os.listdir(self.top):
            if (not name.startswith(("env-", "lock-")) or name in links
                    or name in keep):
                continue
            try:
                fd = os.open(os.path.join(self.top, name), os.O_RDONLY)
            except OSError:
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.remove(name)
            except BlockingIOError:
                pass
            os.close(fd)

    def evict(self, keep, max_bytes):
        """Those unused for longest, until the rest fits."""
        found = []
        for name, digest in self.links().items():
            try:
                path = os.path.join(self.top, name, MANIFEST)
                with open(path, "rb") as f:
                    found.append((os.stat(path).st_mtime, name, digest,
                        json.load(f)["bytes"]))
            except (OSError, ValueError, KeyError):
                if name not in keep:
                    self.remove(name, digest)
        total = sum(f[3] for f in found)
        for used, name, digest, size in sorted(found):
            if total <= max_bytes:
                break
            if name in keep or time.time() - used < RECENT_S:
                continue
            self.remove(name, digest)
            self.evicted += 1
            total -= size


def answer(top, manifest, made, evicted):
    say(ok={"path": top, "site": site_of(top),
        "packages": manifest["packages"], "imports": manifest["imports"],
        "shadows": bool(manifest["shadows"]), "made": made,
        "evicted": evicted})


def serve(ask):
    if canonicalize_name is None:
        raise Refused("Packages cannot be installed: the Python environment "
                      "of this server has no packaging module and no pip.")
    wanted = requirements(ask)
    for r in wanted.values():
        check_name(canonicalize_name(r.name), ask)
    base = distributions(base_paths())
    if satisfied(wanted, base):
        say(ok={"plain": True})
        return
    store = Store(ask["dir"])
    digest = digest_of(wanted, base, ask)
    with store.digest_locked(digest):
        answer(*find_or_make(store, digest, wanted, base, ask))


def find_or_make(store, digest, wanted, base, ask):
    """The directory and manifest of a whole environment, whether it is new,
    and how many made room for it."""
    keep = set(ask["keep"])
    with store:
        store.sweep(keep)
        top, manifest = store.find(digest)
        if manifest is not None:
            store.touch(top)
    made = manifest is None
    if made:
        if "pip" not in base:
            raise Refused("Packages cannot be installed: the Python "
                          "environment of this server has no pip.")
        say(progress="resolving %s" % ", ".join(sorted(wanted))[:200])
        top, manifest = make_environment(store, wanted, base, ask)
        with store:
            store.publish(digest, top)
    with store:
        store.evict(keep | {os.path.basename(top)}, ask["max_bytes"])
    return top, manifest, made, store.evicted


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    ask = json.load(sys.stdin)
    try:
        serve(ask)
    except Refused as e:
        say(error=printable(str(e)), log=printable(e.log))
        return 1
    except OSError as e:
        say(error="The packages cannot be installed: %s (%s)." % (e.strerror,
            e.filename or "no file"), log="")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
