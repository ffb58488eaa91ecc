"""Pictures of matplotlib figures.

plt.show() takes a picture of every open figure and leaves it open, as plain
Agg does; what is open at the end is taken then.  A figure that has not
changed since it was taken, or since the program saved it to a picture file,
is not taken again.
"""
import io
import logging
import os
import sys
import warnings
import weakref

SIDE_MAX = 8000                 # pixels
PICTURE_TYPES = (".png", ".jpg", ".jpeg", ".gif", ".webp")

_taken = weakref.WeakKeyDictionary()    # Figure -> key of its last picture
_count = {}                             # figure number -> pictures sent
_savefig = None
_show = None
_errstate = None


def install():
    """Hooks show() and savefig(); called once matplotlib is imported."""
    global _savefig, _show, _errstate
    from functools import update_wrapper

    from matplotlib.backend_bases import FigureManagerBase
    from matplotlib.figure import Figure
    from numpy import errstate
    _savefig, _show, _errstate = Figure.savefig, FigureManagerBase.show, errstate
    # A method made in C: no frame of ours in a traceback through savefig.
    Figure.savefig = adder.method_then(_savefig, _saved)
    FigureManagerBase.show = update_wrapper(lambda self: _shown(self), _show)


def _shown(manager):
    take(manager)
    return _show(manager)


def _saved(fig, fname=None, *args, **kwargs):
    """After fig.savefig(fname, ...) has worked."""
    if not isinstance(fname, (str, os.PathLike)):
        return
    ext = os.path.splitext(os.fspath(fname))[1].lower()
    if ext in PICTURE_TYPES or ext == "":       # no extension means .png
        _taken[fig] = None
        fig.stale = False


def _dpi(fig):
    """A lower resolution for a figure whose picture would be huge."""
    side = max(fig.get_size_inches()) or 1
    return "figure" if side * fig.dpi <= SIDE_MAX else SIDE_MAX / side


def _draw(fig):
    out = io.BytesIO()
    log = logging.getLogger("matplotlib")
    level = log.level
    # Under plain Agg show() draws nothing, so it does not warn either.
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(), _errstate(all="ignore"):
            warnings.simplefilter("ignore")
            kwargs = {} if _dpi(fig) == "figure" else {"dpi": _dpi(fig)}
            _savefig(fig, out, format="png", **kwargs)
    finally:
        log.setLevel(level)
    return out.getvalue()


def take(manager):
    fig, num = manager.canvas.figure, manager.num
    if fig in _taken and not fig.stale:
        return
    if len(fig.get_children()) < 2:     # nothing but its background
        return
    try:
        data = _draw(fig)
    except Exception as e:
        adder.note("figure %s could not be drawn: %s: %s"
                   % (num, type(e).__name__, e))
        return
    key = (len(data), hash(data))
    if _taken.get(fig) != key:
        _count[num] = _count.get(num, 0) + 1
        suffix = "" if _count[num] == 1 else "-%d" % _count[num]
        adder.image("image/png", "figure-%s%s.png" % (num, suffix), data)
    _taken[fig] = key
    fig.stale = False


def collect():
    """Takes what is open at the end of the program."""
    if _savefig is None:
        install()
    for manager in list(sys.modules["matplotlib._pylab_helpers"]
                        .Gcf.figs.values()):
        take(manager)
