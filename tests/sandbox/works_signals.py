# Signals to itself, timers and alarms do what they do elsewhere.
import signal
import threading
import time

got = []


def handler(number, frame):
    got.append(number)


def wait(count):
    end = time.monotonic() + 5
    while len(got) < count:
        assert time.monotonic() < end, got
        time.sleep(0.001)


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR2)
assert signal.sigpending() == {signal.SIGUSR2}
assert signal.sigwait([signal.SIGUSR2]) == signal.SIGUSR2

for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGALRM, signal.SIGHUP):
    signal.signal(number, handler)
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGTERM)
signal.pthread_kill(threading.get_ident(), signal.SIGHUP)
wait(3)
assert got == [signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP], got
signal.setitimer(signal.ITIMER_REAL, 0.01)
wait(4)
signal.alarm(1)
wait(5)
assert got[3:] == [signal.SIGALRM] * 2

other = threading.Thread(target=time.sleep, args=(0.2,))
other.start()
signal.pthread_kill(other.ident, signal.SIGUSR1)
other.join()
wait(6)
main = threading.get_ident()
other = threading.Thread(target=signal.pthread_kill, args=(main,
    signal.SIGUSR1))
other.start()
other.join()
wait(7)

os.kill(os.getpid(), 0)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("held")
