# verdict: denied
# int 0x80 has numbers of its own: 310 is unshare there, 336 is openat here.
import mmap

code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE |
    mmap.PROT_EXEC)
code.write(b"\xb8\x14\x00\x00\x00"	# mov eax, 20 (getpid)
    b"\xcd\x80"				# int 0x80
    b"\xc3")				# ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print("calling", flush=True)
ctypes.CFUNCTYPE(ctypes.c_int)(address)()
print("not reached")
