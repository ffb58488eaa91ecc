# verdict: memory
# Memory runs out again and again in whatever handles that it ran out.
import resource

hoard = []
size = 1 << 24
print("filling", flush=True)


def fill():
    global size
    while size > 16:
        try:
            hoard.append(bytearray(size))
        except MemoryError:
            size //= 2


sys.excepthook = lambda *args: fill()
fill()
fill()
raise MemoryError
