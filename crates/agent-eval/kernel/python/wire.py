"""The private channel to the host: Jupyter's messages as JSON lines, and the marks that order them with the outputs.

The channel is none of 0, 1 and 2, so a cell can print what it likes. Before a message that belongs into the order of
the outputs a mark is written into both of them; the host holds the message until it has seen both.
What a cell might patch (`json`, `os.write`) is bound here before any cell runs.
"""

import fcntl
import itertools
import json
import os
import resource
import signal
import threading

from agent_eval_kernel.state import STATE

# Programs that clean up after themselves close the descriptors up to some small number.
HIGH_DESCRIPTOR = 700
LOW_DESCRIPTOR = 64
# The host's parser stops at 128.
DEEPEST = 90

_write, _read, _getpid, _ident = os.write, os.read, os.getpid, threading.get_ident
_loads = json.loads
_strict = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_lax = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=repr).encode


def _private(descriptor):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    lowest = HIGH_DESCRIPTOR if most == resource.RLIM_INFINITY or most > HIGH_DESCRIPTOR + 100 else LOW_DESCRIPTOR
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)


CHANNEL = _private(0)
OUTPUTS = (_private(1), _private(2))


def clean(value, depth=0):
    """The value as a strict parser takes it: no NaN, no lone surrogate, keys that are strings, bounded depth."""
    if depth > DEEPEST:
        return "…"
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else repr(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {clean(str(key)): clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item, depth + 1) for item in value]
    return value


def _encode(message):
    try:
        line = _strict(message)
        if line.count("[") + line.count("{") > DEEPEST:
            line = _strict(clean(message))
        return line.encode("utf-8") + b"\n"
    except (ValueError, TypeError, RecursionError):
        return _lax(clean(message)).encode("utf-8", "replace") + b"\n"


def encode_strictly(value):
    """Raises in the caller's own frame what JSON cannot hold."""
    _strict(value)


class Channel:
    def __init__(self):
        self.lock = threading.Lock()
        self.ids = itertools.count(1)
        self.marks = itertools.count(1)
        self.token = ""
        self.flush = lambda: None
        # While the main thread writes, an interrupt waits: it must not break a line in two.
        self.critical = 0
        self.deferred = False

    def header(self, kind):
        return {"msg_id": "k%d" % next(self.ids), "username": "", "session": "", "date": "1970-01-01T00:00:00Z",
                "msg_type": kind, "version": "5.4"}

    def send(self, kind, content, metadata=None, marked=False, header=None):
        if _getpid() != STATE.pid:
            return
        main = _ident() == STATE.main_thread
        if main:
            self.critical += 1
        try:
            with self.lock:
                metadata = dict(metadata or {})
                if marked:
                    metadata["mark"] = self._mark()
                message = {"header": header or self.header(kind), "parent_header": STATE.parent,
                           "metadata": metadata, "content": content}
                self._write_all(CHANNEL, _encode(message))
        finally:
            if main:
                self.critical -= 1
                if not self.critical and self.deferred:
                    self.deferred = False
                    raise KeyboardInterrupt

    def _mark(self):
        self.flush()
        number = next(self.marks)
        mark = ("\x1e%s:%d\x1e" % (self.token, number)).encode()
        for descriptor in OUTPUTS:
            try:
                self._write_all(descriptor, mark)
            except OSError:
                pass
        return number

    @staticmethod
    def _write_all(descriptor, data):
        data = memoryview(data)
        while data:
            data = data[_write(descriptor, data):]

    def on_interrupt(self, _number, _frame):
        if not STATE.running:
            return
        if self.critical:
            self.deferred = True
            return
        raise KeyboardInterrupt

    def read_forever(self, handle):
        """Gives each message to `handle`; when the host is gone the whole group goes."""
        pending = bytearray()
        while True:
            try:
                chunk = _read(CHANNEL, 1 << 16)
            except OSError:
                chunk = b""
            if not chunk:
                try:
                    os.killpg(0, signal.SIGKILL)
                finally:
                    os._exit(1)
            searched = len(pending)
            pending += chunk
            end = pending.find(b"\n", searched)
            while end >= 0:
                line = bytes(pending[:end])
                del pending[:end + 1]
                handle(_loads(line))
                end = pending.find(b"\n")


channel = Channel()
send = channel.send


def forget_in_child():
    """A forked child answers nothing: the channel is its parent's."""
    channel.lock = threading.Lock()
    for descriptor in (CHANNEL,) + OUTPUTS:
        try:
            os.close(descriptor)
        except OSError:
            pass


os.register_at_fork(after_in_child=forget_in_child)
