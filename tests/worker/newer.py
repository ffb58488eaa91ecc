"""Programs about what CPython has had since 3.12, 3.13 and 3.14, as
(name, since, code): more for the table of test_fidelity.py."""

PROGRAMS = []


def program(name, since, code):
    PROGRAMS.append((name, since, code))


# --- 3.12

program("type aliases and parameters", (3, 12), """
import typing
type Pair[T] = tuple[T, T]
class Box[T: int]:
    def get[U](self, u: U) -> T | U: return u
print(Pair, Pair.__value__, Box.__type_params__, Box().get("u"))
print(typing.get_type_hints(Box.get))
def f[T](x: T): raise TypeError(T)
f(1)
""")
program("nested f-strings", (3, 12), """
d = {"a": 1}
print(f"{d["a"]} {f"{f"{1 + 1}"}"} {
    d["a"] + 1   # a comment
}")
print(f"{d["b"]}")
""")
program("monitoring", (3, 12), """
import sys
m = sys.monitoring
m.use_tool_id(2, "mine")
seen = []
m.register_callback(2, m.events.PY_START, lambda c, at: seen.append(c.co_name))
m.set_events(2, m.events.PY_START)
def f(): pass
f(); f()
m.set_events(2, 0)
print(seen, [m.get_tool(i) for i in range(6)])
""")
program("thread started at the end", (3, 13), """
import atexit, threading
def late():
    t = threading.Thread(target=print, args=("from the thread",))
    t.start(); t.join()
atexit.register(late)
""")
program("process started at the end", (3, 13), """
import atexit, os
def late():
    pid = os.fork()
    if pid == 0: os._exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
atexit.register(late)
""")
program("thread and process of a finalizer", (3, 12), """
import os, threading
class D:
    def __init__(self, do): self.do = do
    def __del__(self, print=print):
        try: self.do()
        except BaseException as e: print(type(e), e, isinstance(e, RuntimeError))
a = D(threading.Thread(target=print).start)
b = D(os.fork)
c = [D(os.fork)]; c.append(c)
""")
program("fork beside a thread", (3, 12), """
import os, threading
go = threading.Event()
t = threading.Thread(target=go.wait)
t.start()
pid = os.fork()
if pid == 0: os._exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
go.set(); t.join()
""")
program("immortal objects", (3, 12), """
import sys
print(sys.getrefcount(None) > 1 << 20, sys.getrefcount(1) > 1 << 20)
print(sys.getrefcount([]))
""")
program("override and batched", (3, 12), """
import itertools, typing, warnings
class A:
    @typing.override
    def f(self): return list(itertools.batched("abcde", 2))
print(A().f(), A.f.__override__)
""")
program("invalid escape warning", (3, 12), "print('\\d')\nx = 1 if True else 2\n")

# --- 3.13

program("locals", (3, 13), """
def f(x):
    l = locals()
    exec("x = 5; y = 6")
    print(x, l, locals() is l)
f(1)
import sys
def g():
    v = 1
    sys._getframe().f_locals["v"] = 2
    print(v)
g()
""")
program("deprecated", (3, 13), """
import warnings
@warnings.deprecated("use g")
def f(): pass
f(); f()
""")
program("colours by the environment", (3, 13), """
import os, subprocess, sys
os.environ["FORCE_COLOR"] = "1"
def f(x): return 1 / x
try: f(0)
except ZeroDivisionError:
    import traceback
    traceback.print_exc()
raise ValueError("in colour")
""")
program("keyword that is none", (3, 13), "'a,b'.split(max_split=1)\n")
program("file that hides a module", (3, 13), """
import importlib, os
with open("imaplib.py", "w") as f: f.write("x = 1")
importlib.invalidate_caches()
import imaplib
os.remove("imaplib.py")
imaplib.Time2Internaldate(0)
""")
program("names of the interpreter", (3, 13), """
import sys
print(sys._is_gil_enabled(), sys._is_interned("x"), exit, quit, copyright)
print(sorted(n for n in vars(sys) if not n.startswith("last_")))
""")
program("queue shut down", (3, 13), """
import queue
q = queue.Queue(); q.put(1); q.shutdown()
print(q.get())
try: q.get()
except queue.ShutDown as e: print(repr(e))
""")

# --- 3.14

program("template strings", (3, 14), """
x = 3
t = t"a{x!r:>5}b{x + 1}"
print(t.strings, t.values, t)
print([i.expression for i in t.interpolations])
t"{y}"
""")
program("deferred annotations", (3, 14), """
import annotationlib
def f(x: Later) -> list[Later]: pass
class C:
    a: Later
    b: "Later"
print(annotationlib.get_annotations(f, format=annotationlib.Format.STRING))
class Later: pass
print(f.__annotations__, C.__annotations__)
z: Never = 1
print(__annotate__(annotationlib.Format.FORWARDREF))
print(f.__annotate__.__name__)
__annotate__(1)
""")
program("annotations of the module", (3, 14), """
x: int = 1
import sys
print(sys.modules["__main__"].__annotations__, __conditional_annotations__)
""")
program("except without parentheses", (3, 14), """
try: 1 / 0
except ValueError, ZeroDivisionError: print("caught")
""")
program("return in finally", (3, 14), """
def f():
    try: 1 / 0
    finally: return 2
print(f())
""")
program("default start method", (3, 14), """
import concurrent.futures as cf, multiprocessing as mp
def sq(x): return x * x
def fail(x): raise ValueError(x)
if __name__ == "__main__":
    with mp.Pool(2) as p: print(p.map(sq, range(4)))
    with cf.ProcessPoolExecutor(2) as ex:
        print(list(ex.map(sq, range(4))))
        try: ex.submit(fail, 1).result()
        except ValueError as e: print("failed", e)
    p = mp.Process(target=fail, args=(7,)); p.start(); p.join()
    print(p.exitcode)
""")
program("interpreters", (3, 14), """
from concurrent import interpreters
i = interpreters.create()
i.exec("print('in another', flush=True)")
print(i.call(divmod, 7, 2), len(interpreters.list_all()))
try: i.exec("1 / 0")
except interpreters.ExecutionFailed as e: print(e)
i.close()
""")
program("interpreters left", (3, 14), """
from concurrent import interpreters
left = [interpreters.create()]
for i, one in enumerate(left):
    one.exec(f"print('left {i}', end=' ')")
    one.exec("class D:\\n    def __del__(self): print('del', end=' ')\\nd = D()")
print("end")
""")
program("pool of interpreters", (3, 14), """
from concurrent.futures import InterpreterPoolExecutor
with InterpreterPoolExecutor(2) as ex:
    print(list(ex.map(abs, [-1, -2, 3])))
""")
program("attached to itself", (3, 14), """
import os, sys
print(sys.is_remote_debug_enabled())
print(sys.flags.context_aware_warnings, sys.flags.thread_inherit_context)
""")
program("suggested keyword", (3, 14), "forf x in range(3):\n    pass\n")
program("elif after else", (3, 14),
    "if 1:\n    pass\nelse:\n    pass\nelif 2:\n    pass\n")
program("zstd", (3, 14), """
from compression import zstd
print(zstd.decompress(zstd.compress(b"x" * 1000)) == b"x" * 1000)
""")
program("paths copied", (3, 14), """
import pathlib
p = pathlib.Path("d"); p.mkdir(); (p / "f").write_text("t")
p.copy("e"); print((pathlib.Path("e") / "f").read_text())
p.move("g"); print(sorted(x.name for x in pathlib.Path(".").iterdir()))
import shutil; shutil.rmtree("g"); shutil.rmtree("e")
""")
program("tasks shown", (3, 14), """
import asyncio
async def work():
    print(len(asyncio.all_tasks()))
    return [asyncio.capture_call_graph() is not None]
print(asyncio.run(work()))
try: asyncio.get_event_loop()
except RuntimeError as e: print(e)
""")
