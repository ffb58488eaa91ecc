# Nothing that was registered before the fork runs in a job, or at its end,
# but what a program that imports the same has, too.
import atexit
import signal
import threading
import weakref

# At most those of logging and multiprocessing; not the one of matplotlib,
# which removes a directory that all share.
assert atexit._ncallbacks() <= 2, atexit._ncallbacks()
assert threading.active_count() == 1
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN
assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
atexit.register(print, "held")
