# verdict: signal 6
# abort() ends as SIGABRT everywhere.
import signal

print("held", flush=True)
os.abort()
print("not reached")
