# verdict: signal 15
# By default a signal to itself ends it, and the receipt says which.
import signal

print("held", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
print("not reached")
