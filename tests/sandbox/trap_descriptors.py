# Objects made before the fork own no descriptor of ours: their end, and what
# a finalizer closes, leaves output and result alone.
import gc

import numpy

before = os.fstat(3)
for _ in range(3):
    gc.unfreeze()
    gc.collect()
with open("a file", "w") as file:
    assert file.fileno() == 4, file.fileno()
try:
    import matplotlib.font_manager
    matplotlib.font_manager._get_font.cache_clear()
except ImportError:
    pass
gc.collect()
after = os.fstat(3)
assert (before.st_dev, before.st_ino) == (after.st_dev, after.st_ino)
print("held")
