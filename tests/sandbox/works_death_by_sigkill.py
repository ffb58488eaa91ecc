# verdict: signal 9
# Not even a process 1 may outlive this one.
import signal

print("held", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
print("not reached")
