# verdict: denied
# A number of the x32 ABI: no way around a list of x86-64 numbers.
print(os.getpid() > 0, flush=True)
syscall(0x40000000 | 39)
print("not reached")
