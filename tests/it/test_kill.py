"""Any process may be killed at any moment.

Under load, worker, zygote, keeper and in the end adderd itself or its guard
are killed at moments drawn from $ADDER_KILL_SEED.  Each call that was
accepted gets exactly one answer, or its connection closes; and nothing is
left behind.  $ADDER_KILLS says how many kills there are.
"""

import contextlib
import os
import random
import re
import signal
import time

import harness
import tiers

KILLS = int(os.environ.get("ADDER_KILLS", "36"))
SEED = int(os.environ.get("ADDER_KILL_SEED", "0")) or \
    random.SystemRandom().randrange(1, 1 << 32)
# Kills of one adderd before the last one.  A keeper that dies young makes
# its guard wait twice as long each time, so there are few of those.
BELOW = ["worker"] * 11 + ["zygote"] * 3 + ["keeper"] * 1
OPTIONS = dict(harness.LIGHT, **{"pool.max": "4", "pool.warm": "3",
    "queue.max": "64", "limits.timeout": "30s"})
CLIENTS, WINDOW = 3, 4

PROGRAMS = (
    "print('n%d')\n",
    "import time\ntime.sleep(0.1)\nprint('n%d')\n",
    "import os\nopen('f', 'w').write('x' * 10000)\nos.mkdir('d')\n"
    "print('n%d')\n",
    "sum(i * i for i in range(100000))\nprint('n%d')\n",
)
# How a call may end when a process has been killed under it.
LOST = {"lost", "signal", "busy"}


class Load:
    """Clients that always have some calls waiting or running."""

    def __init__(self, daemon, rng):
        self.daemon, self.rng = daemon, rng
        self.clients = [daemon.connect() for _ in range(CLIENTS)]
        self.waiting = {client: {} for client in self.clients}
        self.number = 0
        self.answered = self.lost = 0
        self.ending = False

    def fill(self):
        for client in self.clients:
            while len(self.waiting[client]) < WINDOW:
                self.number += 1
                code = self.rng.choice(PROGRAMS) % self.number
                self.waiting[client][client.start(code)] = self.number

    def pump(self, seconds):
        """Send and receive until the time is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.fill()
            for client in self.clients:
                client._pump(min(0.01, max(0, end - time.monotonic())))
                self.take(client)

    def take(self, client):
        for message in client.inbox:
            assert "method" not in message, message
            # KeyError: an answer to nothing, or a second one.
            number = self.waiting[client].pop(message["id"])
            if self.ending and "error" in message:
                # adderd ends by itself when its guard is gone.
                assert "shutting down" in message["error"]["message"]
                continue
            self.check(harness.Answer(message), number)
        client.inbox.clear()

    def check(self, answer, number):
        self.answered += 1
        if answer.verdict == "ok":
            assert answer.stdout == "n%d\n" % number, answer
        else:
            self.lost += 1
            assert answer.verdict in LOST, answer

    def finish(self):
        """All that is waiting is answered."""
        deadline = time.monotonic() + harness.WAIT
        while any(self.waiting.values()):
            assert time.monotonic() < deadline, "no answer to %r" % [
                sorted(w) for w in self.waiting.values()]
            for client in self.clients:
                if self.waiting[client]:
                    client._pump(0.05)
                    assert not client.eof
                    self.take(client)

    def wait_closed(self):
        """Answers may still come, none twice; then the end."""
        self.ending = True
        for client in self.clients:
            client.wait_closed()
            self.take(client)
            client.close()


def pick(daemon, rng, what):
    """A process of this kind, or None if there is none just now."""
    processes = daemon.processes()
    keeper = next((p for p in processes if p.comm == "adderd-keeper"), None)
    if what == "adderd":
        return daemon.pid
    if what == "guard":
        return next((p.pid for p in processes if p.ppid == daemon.pid), None)
    if keeper is None:
        return None
    if what == "keeper":
        return keeper.pid
    zygotes = {int(m[1]) for m in (re.search(
        r"zygote [0-9]+ (?:ready|serves while .*): pid ([0-9]+)", line)
        for line in list(daemon.lines)) if m}
    below = [p.pid for p in processes if p.ppid == keeper.pid and
        (p.pid in zygotes) == (what == "zygote")]
    return rng.choice(below) if below else None


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def control_groups(pids):
    """Directories that keepers of these pids have made."""
    return [top for top, _, _ in os.walk("/sys/fs/cgroup")
        if any(top.endswith("/adder-%d" % pid) for pid in pids)]


def check_rest(daemon):
    """The pool is full again, and only of workers."""
    want = int(daemon.options["pool.warm"])
    def at_rest():
        keeper, zygote = daemon.keeper().pid, daemon.zygote().pid
        found = daemon.processes()
        below = [p for p in found if p.ppid == keeper and p.pid != zygote]
        return len(below) == want and len(found) == want + 3
    harness.eventually(at_rest, "only guard, keeper, zygote and %d workers" %
        want)


def run_one(rng, tier, kills, last):
    """One adderd, so many kills below it, then the last one."""
    daemon = tiers.TierDaemon(tier, OPTIONS)
    # As adderd sees it, which may have mounted something there.
    scratch = os.open("/proc/%d/root%s" % (daemon.pid, daemon.scratch),
        os.O_RDONLY)
    keepers = set()
    done = 0
    try:
        load = Load(daemon, rng)
        load.pump(0.3)
        for what in rng.sample(BELOW, len(BELOW))[:kills]:
            keepers.add(daemon.keeper().pid)
            pid = pick(daemon, rng, what)
            done += pid is not None and kill(pid)
            load.pump(rng.choice((0.01, 0.1, 0.3)))
        load.finish()
        with daemon.connect() as client:
            assert client.run("print(6*7)").stdout == "42\n"
        check_rest(daemon)
        keepers.add(daemon.keeper().pid)
        assert len(control_groups(keepers)) <= \
            len(control_groups([daemon.keeper().pid])), "groups are left"

        load.pump(0.1)
        load.fill()
        before = daemon.processes()
        done += kill(pick(daemon, rng, last))
        load.wait_closed()
        daemon.wait_exit()
        harness.eventually(lambda: not [p for p in before
            if harness.alive(p)], "processes are left: %r" % before, 5)
        harness.eventually(lambda: not harness.strays(), "orphans are left")
        # The path of a socket stays, for the next adderd to take over.
        left = os.listdir(scratch)
        assert not left, "scratch files are left: %r" % left[:10]
        groups = control_groups(keepers)
        assert not groups, "control groups are left: %r" % groups
    except BaseException:
        print("tier %s; below adderd: %r" % (tier, daemon.processes()))
        print(daemon.log_tail(60))
        raise
    finally:
        os.close(scratch)
        daemon.kill()
    return done, load


def test_kills():
    print("ADDER_KILL_SEED=%d" % SEED)
    rng = random.Random(SEED)
    can_have = [tier for tier in tiers.NAMES if not tiers.why_not(tier)]
    done = answered = lost = 0
    while done < KILLS:
        kills, load = run_one(rng, rng.choice(can_have),
            min(len(BELOW), KILLS - done - 1),
            rng.choice(("adderd", "adderd", "guard")))
        done += kills
        answered += load.answered
        lost += load.lost
    print("%d kills, %d calls answered, %d of them lost" % (done, answered,
        lost))
    # Or the kills have hit nothing.
    assert answered > done and lost > 0
