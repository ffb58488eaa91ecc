# Streams over pipes, made after the fork.
for stream in (sys.stdout, sys.stderr, sys.stdin):
    assert not stream.seekable(), stream
    assert not stream.isatty()
raises("lseek", os.lseek, 1, 0, os.SEEK_CUR, errnos=(errno.ESPIPE,))
assert sys.stdin.read() == ""
assert sys.stdout.encoding == "utf-8"
print("unbuffered?", end="")
sys.stdout.flush()
os.write(1, b" no\n")
print("held")
