# Nothing that makes descriptors send signals or types into terminals.
import socket

IOCTL = 16
DENIED = {"TIOCSTI": 0x5412, "TIOCSCTTY": 0x540e, "TIOCLINUX": 0x541c,
    "TIOCSETD": 0x5423, "TCSETS": 0x5402, "FIOASYNC": 0x5452,
    "FIOSETOWN": 0x8901, "SIOCSPGRP": 0x8902, "SIOCGIFCONF": 0x8912,
    "SIOCETHTOOL": 0x8946, "FICLONE": 0x40049409, "FIFREEZE": 0xc0045877,
    "FS_IOC_SETFLAGS": 0x40086602, "KVM_GET_API_VERSION": 0xae00,
    "RNDADDENTROPY": 0x40085203, "NS_GET_PARENT": 0xb702}

a, b = socket.socketpair()
file = open("a file", "w")
random = open("/dev/urandom")
arg = ctypes.create_string_buffer(64)
for name, request in DENIED.items():
    for fd in (0, 1, 3, a.fileno(), file.fileno(), random.fileno()):
        for high in (0, 1 << 32, 1 << 63):
            refused("ioctl %s" % name, syscall(IOCTL, fd, request | high,
                arg), REFUSED + (errno.ENOTTY,))
b.send(b"12345")
waiting = ctypes.c_int(0)
assert syscall(IOCTL, a.fileno(), 0x541b, ctypes.byref(waiting)) == 0
assert waiting.value == 5
a.setblocking(False)
# What isatty() asks, of older and newer C libraries.
for request in (0x5401, 0x802c542a):
    refused("TCGETS", syscall(IOCTL, file.fileno(), request, arg),
        (errno.ENOTTY,))
assert not file.isatty()
print("held")
