# Address space must not run out after a few threads, for each of which libc
# would reserve an arena.
import threading

import numpy

go = threading.Event()
done = []


def work(i):
    go.wait()
    done.append(int(numpy.arange(1000).sum()) + i)


threads = [threading.Thread(target=work, args=(i,)) for i in range(40)]
for thread in threads:
    thread.start()
go.set()
for thread in threads:
    thread.join()
assert sorted(done) == [499500 + i for i in range(40)]
print("held")
