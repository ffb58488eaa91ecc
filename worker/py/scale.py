"""Smaller pictures of pictures that are too large to be shown.

This runs in a program's process and its memory, maybe after its end, when
nothing can be imported any more: whatever goes wrong, there is no smaller
picture, and the server names the original without showing it.
"""
import io

PIXELS_MAX = 24 << 20           # decoded at once, four bytes each
SIDE_MIN = 64                   # pixels; smaller shows nothing
QUALITY = 85                    # of a JPEG


def fit(data, side, room):
    """The picture in data within side pixels either way and room bytes, as
    PNG or JPEG; None if it fits as it is, or cannot be made to."""
    from warnings import catch_warnings, simplefilter

    from PIL import Image

    # Pillow imports as it goes, and after the end of the program builtins
    # are what the interpreter began with, which cannot import.
    theirs = Image.Image.save.__builtins__
    before = theirs.get("__import__")
    theirs["__import__"] = __import__
    try:
        with catch_warnings():
            simplefilter("ignore")
            return _fit(Image, Image.open(io.BytesIO(data)), len(data), side,
                        room)
    finally:
        theirs["__import__"] = before


def _fit(Image, picture, size, side, room):
    width, height = picture.size
    if max(width, height) <= side and size <= room:
        return None
    if width * height > PIXELS_MAX:
        return None
    return _smaller(Image, picture, min(side, max(width, height)), room)


def _smaller(Image, picture, side, room):
    writers = (_jpeg,) if picture.format == "JPEG" else (_png, _jpeg)
    # Only what a JPEG can leave out while it is decoded.
    picture.draft(None, (side, side))
    if picture.mode not in ("L", "RGB", "RGBA"):
        clear = picture.mode in ("LA", "PA") or "transparency" in picture.info
        picture = picture.convert("RGBA" if clear else "RGB")
    while side >= SIDE_MIN:
        picture.thumbnail((side, side), Image.Resampling.LANCZOS)
        for write in writers:
            out = io.BytesIO()
            write(Image, picture, out)
            if len(out.getvalue()) <= room:
                return out.getvalue()
        side = side * 3 // 4
    return None


def _png(Image, picture, out):
    picture.save(out, "PNG")


def _jpeg(Image, picture, out):
    if picture.mode == "RGBA":
        flat = Image.new("RGB", picture.size, "white")
        flat.paste(picture, mask=picture.getchannel("A"))
        picture = flat
    picture.save(out, "JPEG", quality=QUALITY)
