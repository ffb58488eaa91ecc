# Thread pools, locks, queues and asyncio, which needs socket pairs.
import asyncio
import concurrent.futures
import queue
import socket
import threading

with concurrent.futures.ThreadPoolExecutor(8) as pool:
    assert list(pool.map(lambda x: x * x, range(100)))[99] == 9801
    future = pool.submit(sum, range(1000))
    assert future.result(5) == 499500

q = queue.Queue()
threading.Thread(target=lambda: [q.put(i) for i in range(10)]).start()
assert [q.get(timeout=5) for _ in range(10)] == list(range(10))

a, b = socket.socketpair()
threading.Thread(target=lambda: b.sendall(b"x" * 100000)).start()
total = 0
while total < 100000:
    total += len(a.recv(65536))


async def main():
    loop = asyncio.get_running_loop()
    got = await asyncio.gather(asyncio.sleep(0.01, 1),
        loop.run_in_executor(None, lambda: 2), asyncio.to_thread(lambda: 3))
    assert got == [1, 2, 3]
    event = asyncio.Event()
    loop.call_later(0.01, event.set)
    await asyncio.wait_for(event.wait(), 5)
    loop.add_signal_handler(10, event.clear)
    os.kill(os.getpid(), 10)
    while event.is_set():
        await asyncio.sleep(0)
    try:
        await asyncio.wait_for(asyncio.sleep(5), 0.01)
    except asyncio.TimeoutError:
        return "ended"

assert asyncio.run(main()) == "ended"
print("held")
