"""Pictures of matplotlib figures.

plt.show() takes a picture of every open figure and leaves it open, as plain
Agg does; what is open at the end is taken then.  A drawing, that is a figure
in one state, is shown once: by a picture of ours, or by the first file that
the program saved it to and that is still there at the end.  Further files of
the same drawing come back as files.
"""
import io
import logging
import os
import sys
import warnings
import weakref

SIDE_MAX = 8000                 # pixels
DRAWINGS_MAX = 1000             # that are remembered
PICTURE_TYPES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
# Fonts with the scripts that DejaVu lacks, of each kind the first that is
# there; matplotlib asks them for the characters that fonts before lack.
CJK_FONTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR",
             "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei",
             "Unifont")
HAN_FONTS = ("Noto Sans SC", "Noto Sans JP", "Droid Sans Fallback",
             "IPAGothic", "IPAexGothic", "TakaoGothic", "VL Gothic",
             "AR PL UMing CN")
KOREAN_FONTS = ("Noto Sans KR", "NanumGothic", "UnDotum", "Baekmuk Dotum")
SYMBOL_FONTS = ("Noto Sans Symbols2", "Noto Sans Symbols", "Symbola")

_state = weakref.WeakKeyDictionary()    # Figure -> its drawing
_was_stale = weakref.WeakKeyDictionary()
_drawings = []                          # with files; never another list
_count = {}                             # figure number -> pictures sent
_scratch = ""                           # where files come back from
_savefig = None
_show = None
_errstate = None


class Drawing:
    __slots__ = ("key", "sent", "files")

    def __init__(self):
        self.key = None         # of the picture that was sent
        self.sent = False
        self.files = []         # (path, inode, mtime) of picture files


def install():
    """Hooks show(), savefig() and save(); called once matplotlib is
    imported."""
    global _savefig, _show, _errstate
    from functools import update_wrapper

    from matplotlib.animation import Animation
    from matplotlib.backend_bases import FigureManagerBase
    from matplotlib.figure import Figure
    from numpy import errstate
    from PIL.Image import Image
    _savefig, _show, _errstate = Figure.savefig, FigureManagerBase.show, errstate
    # Methods made in C: no frame of ours in a traceback through them.
    Figure.savefig = adder.method_then("savefig", _savefig, _saved, _saving)
    Animation.save = adder.method_then("save", Animation.save, _animated,
                                       None)
    Image.show = adder.method_then("show", Image.show, _image_shown, None)
    FigureManagerBase.show = update_wrapper(lambda self: _shown(self), _show)
    _add_fonts()


def _add_fonts():
    from matplotlib import rcParams, rcParamsDefault
    from matplotlib.font_manager import fontManager
    there = {f.name for f in fontManager.ttflist}
    kinds = [[n for n in names if n in there] for names in
             (CJK_FONTS, HAN_FONTS, KOREAN_FONTS, SYMBOL_FONTS)]
    if kinds[0]:
        del kinds[1:3]
    found = [names[0] for names in kinds if names]
    if not found:
        return
    # The default font once more: a program may name others for sans-serif,
    # and letters should not come from a font for other scripts then.
    for rc in (rcParams, rcParamsDefault):
        if rc["font.family"] == ["sans-serif"]:
            rc["font.family"] = ["sans-serif", "DejaVu Sans"] + found


def begin(scratch):
    """In a fresh worker."""
    global _scratch
    _scratch = scratch + "/"


def _shown(manager):
    take(manager)
    return _show(manager)


def _send(name, data):
    number = _count[name] = _count.get(name, 0) + 1
    suffix = "" if number == 1 else "-%d" % number
    adder.image("image/png", name + suffix + ".png", data)


def _image_shown(image, *args, **kwargs):
    """After image.show() of PIL, which finds no viewer here."""
    data = image._repr_png_()
    if data:
        _send("image", data)


def _saving(fig, *args, **kwargs):
    """Before fig.savefig(...), which changes the figure for a while."""
    _was_stale[fig] = fig.stale


def _file_of(path):
    """What tells that a picture file is still the one that was written and
    comes back by itself; None if it does not."""
    try:
        path = os.path.abspath(os.fspath(path))
        st = os.lstat(path)
        real = os.path.realpath(path)
    except (OSError, TypeError, ValueError):
        return None
    inside = real[len(_scratch):] if real.startswith(_scratch) else ""
    if not inside or any(part.startswith(".") or part == "__pycache__"
                         for part in inside.split("/")[:-1]):
        return None
    return real, st.st_ino, st.st_mtime_ns


def _add_file(fig, drawing, path):
    if os.path.splitext(path)[1].lower() not in PICTURE_TYPES:
        return
    file = _file_of(path)
    if file is None:
        return
    if not drawing.files and len(_drawings) < DRAWINGS_MAX:
        _drawings.append(drawing)
    drawing.files.append(file)
    _state[fig] = drawing
    fig.stale = False


def _saved(fig, fname=None, *args, **kwargs):
    """After fig.savefig(fname, ...) has worked."""
    if not isinstance(fname, (str, os.PathLike)):
        return
    drawing = _state.get(fig)
    if drawing is None or _was_stale.get(fig, True):
        drawing = Drawing()
    path = os.fspath(fname)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not os.path.splitext(path)[1]:   # no extension means .png
        path += ".png"
    _add_file(fig, drawing, path)


def _animated(animation, filename=None, *args, **kwargs):
    """After animation.save(filename, ...) has worked."""
    _add_file(animation._fig, Drawing(), os.fspath(filename))


def _is_there(file):
    return _file_of(file[0]) == file


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


def _take(fig, name):
    drawing = _state.get(fig)
    if drawing is not None and not fig.stale:
        if drawing.sent or any(_is_there(f) for f in drawing.files):
            return
    if len(fig.get_children()) < 2:     # nothing but its background
        return
    try:
        data = _draw(fig)
    except Exception as e:
        adder.note("%s could not be drawn: %s: %s"
                   % (name.replace("-", " "), type(e).__name__, e))
        return
    key = (len(data), hash(data))
    if drawing is None or drawing.key != key:
        if drawing is None or fig.stale:
            drawing = Drawing()
        _send(name, data)
    drawing.key = key
    drawing.sent = True
    _state[fig] = drawing
    fig.stale = False


def take(manager):
    _take(manager.canvas.figure, "figure-%s" % manager.num)


def take_value(fig):
    """A figure that is the program's value and that pyplot may not know."""
    for manager in _managers():
        if manager.canvas.figure is fig:
            return              # taken at the end
    _take(fig, "figure")


def _managers():
    return list(sys.modules["matplotlib._pylab_helpers"].Gcf.figs.values())


def collect():
    """Takes what is open at the end of the program, and tells which files
    show what has been shown."""
    if _savefig is None:
        install()
    for manager in _managers():
        take(manager)
    for drawing in _drawings:
        seen = drawing.sent
        for file in drawing.files:
            if _is_there(file):
                if seen:
                    adder.shown(file[0])
                seen = True
    _drawings.clear()
