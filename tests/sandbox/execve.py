# Programs run where processes are held, and are held as their parent is.
import subprocess

EXECVE, EXECVEAT = 59, 322

if not JAIL["processes"]:
    refused("execve", syscall(EXECVE, b"/bin/true", None, None))
    refused("execveat", syscall(EXECVEAT, -100, b"/bin/true", None, None, 0))
    raises("os.execv", os.execv, "/bin/true", ["true"])
    raises("subprocess", subprocess.run, ["/bin/true"])
else:
    ask = ("import os; print(os.getuid(), os.geteuid(), os.getresgid(), "
        "os.path.exists('/proc/self'), os.path.exists('/root/.bashrc'))")
    child = subprocess.run([sys.executable, "-c", ask], capture_output=True,
        text=True)
    assert child.returncode == 0, child.stderr
    me = "%d %d %r False False" % (os.getuid(), os.geteuid(), os.getresgid())
    assert child.stdout.startswith(me), child.stdout
    # The filter goes with it, and a set-user-id program stays what it is.
    unshare = subprocess.run(["/usr/bin/unshare", "-U", "true"],
        capture_output=True)
    assert unshare.returncode != 0
    su = subprocess.run(["/bin/su", "-c", "true"], capture_output=True,
        stdin=subprocess.DEVNULL)
    assert su.returncode != 0
    # What is written in the scratch directory is a program, too.
    with open("script", "w") as file:
        file.write("#!/bin/sh\nid -u\n")
    os.chmod("script", 0o4755)
    raises("a program of ours", subprocess.run, ["./script"])
print("held")
