# Processes where the jail holds them; elsewhere an error that says so.
import multiprocessing
import subprocess

if not JAIL["processes"]:
    for call in (os.fork, lambda: subprocess.run(["true"]),
            lambda: multiprocessing.Pool(2), lambda: os.system("true")):
        try:
            result = call()
        except OSError as e:
            assert e.errno in (errno.EPERM, errno.EACCES), e
        else:
            assert result not in (0, None), result	# os.system
else:
    import concurrent.futures
    from multiprocessing import shared_memory

    def square(x):
        return x * x

    with multiprocessing.Pool(3) as pool:
        assert pool.map(square, range(20))[19] == 361
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert list(pool.map(square, [3, 4])) == [9, 16]
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=queue.put, args=("sent",))
    child.start()
    assert queue.get(timeout=10) == "sent"
    child.join(10)
    assert child.exitcode == 0
    child = multiprocessing.Process(target=sys.exit, args=(3,))
    child.start()
    child.join(10)
    assert child.exitcode == 3
    block = shared_memory.SharedMemory(create=True, size=4096)
    block.buf[0] = 7
    block.close()
    block.unlink()
    run = subprocess.run([sys.executable, "-c",
        "import sys; print(sys.stdin.read()[::-1]); sys.exit(4)"],
        input="abc", capture_output=True, text=True)
    assert (run.stdout, run.returncode) == ("cba\n", 4), run
    assert os.system("exit 5") == 5 << 8
    piped = subprocess.run("echo a b | tr a-z A-Z", shell=True,
        capture_output=True, text=True)
    assert piped.stdout == "A B\n", piped
    spin = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    spin.terminate()
    assert spin.wait(10) == -15
    pid = os.fork()
    if pid == 0:
        os._exit(6)
    assert os.waitpid(pid, 0) == (pid, 6 << 8)
print("held")
