# A full disk or too long a file is an error, and not a signal.
import signal

assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN
block = b"x" * (1 << 20)
try:
    with open("big", "wb", buffering=0) as file:
        for _ in range(200):
            file.write(block)
except OSError as e:
    assert e.errno in (errno.EFBIG, errno.ENOSPC), e
    size = os.path.getsize("big")
    assert size <= 64 << 20, size
    os.remove("big")
else:
    raise AssertionError("200 MiB of file")
# And there is room again.
with open("small", "wb") as file:
    file.write(block)
print("held")
