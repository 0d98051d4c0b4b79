"""Values as MIME bundles, as a notebook shows them."""

import base64
import io
import sys

from agent_eval_kernel.streams import streams
from agent_eval_kernel.wire import send

REPRS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
)
PLAIN_LIMIT = 50_000
PLAIN_HEAD = 25_000
PLAIN_TAIL = 15_000
# What a chart's specification may take; its data is in the cell still.
JSON_LIMIT = 1 << 20
WIDTH = 100
# Types whose repr is broken over lines where it is long. Subclasses have a repr of their own.
CONTAINERS = (dict, list, tuple, set, frozenset)


def bundle(value):
    """The MIME types of a value and their metadata."""
    data, metadata = {}, {}
    if _is_figure(value):
        figures.shown.add(id(value))
        data["image/png"] = _png_of_figure(value)
    if not isinstance(value, type):
        _own_bundle(value, data, metadata)
        _own_reprs(value, data, metadata)
    if "text/plain" not in data:
        data["text/plain"] = plain(value)
    tidy, left_out = _tidy(data)
    return tidy, metadata, left_out


def _own_bundle(value, data, metadata):
    # Methods are looked up on the type: a mock has every attribute.
    method = getattr(type(value), "_repr_mimebundle_", None)
    if method is None:
        return
    try:
        result = method(value, include=None, exclude=None)
        if isinstance(result, tuple):
            result, about = result
            metadata.update(about or {})
        for mime, content in (result or {}).items():
            data[mime] = _encoded(content)
    except Exception as error:
        streams.note("_repr_mimebundle_ of %s failed: %r" % (type(value).__name__, error))


def _own_reprs(value, data, metadata):
    for name, mime in REPRS:
        method = getattr(type(value), name, None)
        if mime in data or method is None:
            continue
        try:
            result = method(value)
        except Exception as error:
            streams.note("%s of %s failed: %r" % (name, type(value).__name__, error))
            continue
        if isinstance(result, tuple):
            result, metadata[mime] = result
        if result is not None:
            data[mime] = _encoded(result)


def plain(value):
    """The text of a value. One broken `__repr__` is a placeholder, not a lost cell."""
    try:
        text = repr(value)
        if type(value) in CONTAINERS and len(text) > WIDTH:
            import pprint

            text = pprint.pformat(value, width=WIDTH, compact=True, sort_dicts=False)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return "<%s object; its repr failed: %s: %s>" % (type(value).__name__, type(error).__name__, _text(error))
    return text


def clip(text):
    """The text, its middle left out where it is long, and how many characters these are."""
    if len(text) <= PLAIN_LIMIT:
        return text, 0
    left_out = len(text) - PLAIN_HEAD - PLAIN_TAIL
    # The host knows this line.
    return "%s\n… %d characters left out …\n%s" % (text[:PLAIN_HEAD], left_out, text[-PLAIN_TAIL:]), left_out


def _text(error):
    try:
        return str(error)
    except Exception:
        return "no text"


def _encoded(content):
    if isinstance(content, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(content)).decode()
    return content


def _tidy(data):
    """The bundle as it is sent, and how many characters of its text are left out."""
    tidy, left_out = {}, 0
    for mime, content in data.items():
        if content is None:
            continue
        if mime.endswith("json"):
            size = len(content) if isinstance(content, str) else len(repr(content))
            if size > JSON_LIMIT:
                streams.note("%s of %d characters left out: it is over %d" % (mime, size, JSON_LIMIT))
                continue
        elif not isinstance(content, str):
            content = str(content)
        if mime == "text/plain":
            content, left_out = clip(content)
        tidy[mime] = content
    return tidy, left_out


class DisplayHandle:
    """A display that can be replaced."""

    def __init__(self, display_id):
        self.display_id = display_id

    def display(self, value, **options):
        _send("display_data", value, self.display_id, **options)

    def update(self, value, **options):
        _send("update_display_data", value, self.display_id, **options)


def _send(kind, value, display_id, raw=False, metadata=None, **_options):
    if raw:
        (data, left_out), about = _tidy(dict(value)), metadata or {}
    else:
        data, about, left_out = bundle(value)
    transient = {"display_id": display_id} if display_id else {}
    send(kind, {"data": data, "metadata": about, "transient": transient}, {"left_out": left_out}, marked=True)


def display(*values, raw=False, metadata=None, display_id=None, **options):
    """Shows values where the cell is read."""
    if display_id is True:
        display_id = "display-%d" % id(values)
    for value in values:
        _send("display_data", value, display_id, raw=raw, metadata=metadata, **options)
    return DisplayHandle(display_id) if display_id else None


def clear_output(wait=False):
    """Forgets what the cell has shown so far."""
    send("clear_output", {"wait": bool(wait)}, marked=True)


def _is_figure(value):
    return type(value).__name__ == "Figure" and type(value).__module__.startswith("matplotlib")


def _png_of_figure(figure):
    target = io.BytesIO()
    figure.savefig(target, format="png", bbox_inches="tight")
    return base64.b64encode(target.getvalue()).decode()


class Figures:
    """The open figures of matplotlib: shown once, at `show()` or at the end of the cell, also after an error."""

    def __init__(self):
        self.shown = set()

    def flush(self):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not hasattr(pyplot, "get_fignums"):
            return
        for number in list(pyplot.get_fignums()):
            figure = pyplot.figure(number)
            if id(figure) not in self.shown:
                display(figure)
            pyplot.close(figure)
        self.shown.clear()


figures = Figures()
