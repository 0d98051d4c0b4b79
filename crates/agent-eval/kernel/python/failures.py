"""Errors of a cell as a reader wants them: from the cell's own frame on, without frames of the kernel."""

OURS = "<agent-eval>"
CELL = "<cell "


def describe(error):
    """The name, the text and the traceback's lines."""
    kind = type(error)
    try:
        text = str(error)
    except BaseException:
        text = "<its __str__ failed>"
    try:
        lines = _lines(error)
    except BaseException as failure:
        lines = ["%s: %s (its traceback cannot be shown: %r)" % (kind.__name__, text, failure)]
    return kind.__name__, text, lines


def _lines(error):
    import traceback

    seen = traceback.TracebackException(type(error), error, error.__traceback__)
    _strip(seen, set())
    return "".join(seen.format()).rstrip("\n").split("\n")


def _strip(seen, done):
    if seen is None or id(seen) in done:
        return
    done.add(id(seen))
    frames = [frame for frame in seen.stack if not frame.filename.startswith(OURS)]
    own = [index for index, frame in enumerate(frames) if frame.filename.startswith(CELL)]
    if own:
        frames = frames[own[0]:]
    elif isinstance(seen.exc_type, type) and issubclass(seen.exc_type, SyntaxError):
        frames = []
    seen.stack[:] = frames
    _strip(seen.__cause__, done)
    _strip(seen.__context__, done)
    for inner in getattr(seen, "exceptions", None) or []:
        _strip(inner, done)
