"""adderd behind jails of three strengths, each of which says so itself.

strong+  started as root
strong   started by an ordinary user who may make user namespaces
medium   the same without them, as in a container (tools/container_like.c)
"""

import os
import types

import harness

USER = types.SimpleNamespace(pw_uid=1000, pw_gid=1000)

# What the programs' thresholds assume; see also adderd.conf(5).
LIMITS = {
    "limits.timeout": "5s",
    "limits.memory": "512m",
    "limits.pids": "64",
    "limits.output": "256k",
    "limits.scratch": "64m",
    "limits.files": "8192",
}
TMPFS = "size=64m,nr_inodes=8192,mode=0711,uid=%d,gid=%d" % (USER.pw_uid,
    USER.pw_gid)

NAMES = ("strong+", "strong", "medium")
ROOT = os.geteuid() == 0


def why_not(tier):
    """Why this machine or user cannot have the tier, or None."""
    if tier == "strong+" and not ROOT:
        return "strong+ needs root"
    if tier == "medium" and not ROOT:
        return "a scratch directory of limited size needs root to mount it"
    if tier == "medium" and not container_like().exists():
        return "tests/tools/container_like is not built"
    if ROOT and tier != "strong+" and not open_to_all(harness.build_dir()):
        return "an ordinary user cannot reach %s" % harness.build_dir()
    return None


def open_to_all(directory):
    """Whether others than its owner may pass through all of the path."""
    return all(d.stat().st_mode & 0o001 for d in (directory,
        *directory.parents))


def container_like():
    return harness.build_dir() / "tests/tools/container_like"


class TierDaemon(harness.Daemon):
    """One adderd behind the jail that tier names; fails if it is another.

    Root's workers get user ids that no other adderd of this machine uses."""

    def __init__(self, tier, options=None, flags=(), **kwargs):
        self.tier = tier
        options = dict(LIMITS, **(options or {}))
        if tier == "strong+":
            options["sandbox.uid_base"] = str(100000 + os.getpid() % 100000 *
                1000)
        elif tier == "medium":
            kwargs["owner"] = USER
            kwargs["prefix"] = (container_like(), "--user", USER.pw_uid,
                "--tmpfs", "{scratch}:" + TMPFS, *flags)
        elif ROOT:
            kwargs["user"] = USER
        super().__init__(options, **kwargs)
        try:
            found = self.wait_log(r" sandbox: (\S+) \(")[1]
            assert found == tier, "the jail is %s:\n%s" % (found,
                self.log_tail())
            self.wait_log(r" zygote [0-9]+ ready")
        except BaseException:
            self.kill()
            raise

    def scratch_files(self):
        """What is below the scratch directory, as adderd sees it."""
        root = "/proc/%d/root" % self.pid
        found = []
        for top, dirs, files in os.walk(root + str(self.scratch)):
            found += [os.path.join(top, name)[len(root):]
                for name in dirs + files]
        return found
