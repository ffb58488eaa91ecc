"""What a zygote does for an environment of packages, in Python."""
import gc
import os
import sys


def _base_index():
    """Where on sys.path the packages are that every worker has."""
    for i, path in enumerate(sys.path):
        if os.path.basename(path) in ("site-packages", "dist-packages"):
            return i
    return len(sys.path)


def enter(top, site):
    """Programs find its packages before those that every worker has, and
    interpreters that they start do, too."""
    sys.path.insert(_base_index(), site)
    bin = os.path.join(top, "bin")
    os.environ["PATH"] = bin + os.pathsep + os.environ.get("PATH", "")
    os.environ["VIRTUAL_ENV"] = top
    sys.executable = os.path.join(bin, "python3")
    spawn = sys.modules.get("multiprocessing.spawn")
    if spawn is not None:
        spawn.set_executable(sys.executable)


def import_ahead(site, names):
    """Runs code of the packages: only where that is held."""
    from site import addsitedir
    try:
        addsitedir(site)        # its .pth files
    except BaseException:
        pass                    # as if there were none
    for name in names.split(","):
        if name and name not in sys.modules:
            try:
                __import__(name)
            except BaseException:
                pass            # the program will see why


def settle():
    # No collection: it would write to pages that forks then have to copy.
    gc.freeze()
