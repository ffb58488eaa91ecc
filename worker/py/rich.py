"""The value of a last expression in richer forms than its text."""
import sys

# The names are those that IPython asks for; the first picture is enough.
PICTURES = (("_repr_png_", "image/png", "value.png"),
            ("_repr_jpeg_", "image/jpeg", "value.jpg"))
TEXTS = (("_repr_svg_", "value.svg"), ("_repr_html_", "value.html"),
         ("_repr_markdown_", "value.md"), ("_repr_latex_", "value.tex"))


def _form(value, name):
    """What the method of that name returns; None if there is none, or if it
    fails.  Asked of the type: an object may have any attribute."""
    method = getattr(type(value), name, None)
    if not callable(method):
        return None
    try:
        form = method(value)
    except Exception:
        return None
    # With metadata beside it, as IPython allows.
    if isinstance(form, tuple) and len(form) == 2:
        form = form[0]
    return form or None


def show(value):
    figure = sys.modules.get("matplotlib.figure")
    if figure is not None and isinstance(value, figure.Figure):
        adder.figure(value)
        return
    # A table as text is a quarter of the same table as HTML.
    if type(value).__module__.partition(".")[0] == "pandas":
        return
    for name, mime, file in PICTURES:
        data = _form(value, name)
        if isinstance(data, bytes):
            adder.image(mime, file, data)
            break
    for name, file in TEXTS:
        text = _form(value, name)
        if isinstance(text, str):
            adder.file(file, text.encode("utf-8", "replace"))
