"""The parent of the kernel inside its environment. It needs nothing of the host but three pipes.

What the kernel, its threads and its children write is read here, outside the interpreter, so that C code which holds the
interpreter lock cannot block on a full pipe. Frames to the host: kind (1 byte), length (4 bytes, little-endian), payload.
`p` protocol, `o` and `e` the kernel's outputs, `x` how it ended. Frames from the host: `m` protocol, `s` a signal for
the process (`p`) or its group (`g`).
"""

import os
import selectors
import signal
import socket
import struct
import sys
import time
import types

CHUNK = 1 << 16
HEADER = struct.Struct("<cI")
# How long what the kernel left in the pipes is waited for once it has ended: a child of it may hold them open.
REST_SECONDS = 0.3


def start_kernel(boot):
    """Forks the kernel and gives its process id, the protocol's socket and the two outputs."""
    ours, theirs = socket.socketpair()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    pid = os.fork()
    if pid:
        theirs.close()
        os.close(out_write)
        os.close(err_write)
        return pid, ours, out_read, err_read
    ours.close()
    os.dup2(theirs.fileno(), 0)
    os.dup2(out_write, 1)
    os.dup2(err_write, 2)
    for descriptor in (theirs.detach(), out_read, out_write, err_read, err_write):
        if descriptor > 2:
            os.close(descriptor)
    try:
        run_kernel(boot)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(1)


def run_kernel(boot):
    """Executes the kernel's modules in their order, as a package that exists in memory alone."""
    sys.argv = [""]
    package = types.ModuleType("agent_eval_kernel")
    package.__path__ = []
    sys.modules["agent_eval_kernel"] = package
    for name, source in boot["modules"]:
        module = types.ModuleType("agent_eval_kernel." + name)
        sys.modules[module.__name__] = module
        setattr(package, name, module)
        exec(compile(source, "<agent-eval>/%s.py" % name, "exec"), module.__dict__)
    sys.modules["agent_eval_kernel.main"].run(boot)


class Supervisor:
    def __init__(self, pid, protocol, out, err):
        self.pid = pid
        self.protocol = protocol
        self.pending = bytearray()
        # What the kernel has not taken yet: it may hold its lock for long, and its outputs are read meanwhile.
        self.outgoing = bytearray()
        self.waits_to_write = False
        self.speaks = True
        protocol.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.open = 0
        for source, kind in ((protocol.fileno(), b"p"), (out, b"o"), (err, b"e")):
            self.selector.register(source, selectors.EVENT_READ, kind)
            self.open += 1
        self.selector.register(0, selectors.EVENT_READ, b"i")

    def run(self):
        ended, deadline = None, None
        while self.open:
            events = self.selector.select(None if ended is None else max(0, deadline - time.monotonic()))
            if ended is not None and not events:
                break
            for key, ready in events:
                if ready & selectors.EVENT_WRITE:
                    self.give()
                if ready & selectors.EVENT_READ:
                    self.serve(key)
            if ended is None and not self.speaks:
                # The protocol's end closes when the kernel does; a grandchild may hold the outputs open for long.
                ended = os.waitpid(self.pid, 0)[1]
                deadline = time.monotonic() + REST_SECONDS
            elif deadline is not None and time.monotonic() > deadline:
                break
        if ended is None:
            ended = os.waitpid(self.pid, 0)[1]
        self.send(b"x", struct.pack("<i", ended))
        self.kill()

    def serve(self, key):
        try:
            data = os.read(key.fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if key.data == b"i":
            if not data:
                # Whoever owned this is gone: nothing of the kernel outlives it.
                self.kill()
                os._exit(0)
            self.pending += data
            self.take_frames()
        elif data:
            self.send(key.data, data)
        else:
            self.selector.unregister(key.fd)
            self.open -= 1
            self.speaks = self.speaks and key.data != b"p"

    def take_frames(self):
        while len(self.pending) >= HEADER.size:
            kind, length = HEADER.unpack_from(self.pending)
            end = HEADER.size + length
            if len(self.pending) < end:
                return
            payload = bytes(self.pending[HEADER.size:end])
            del self.pending[:end]
            if kind == b"m":
                self.outgoing += payload
                self.give()
            elif kind == b"s":
                self.signal(payload[:1], payload[1])

    def give(self):
        """Writes to the kernel what it takes now, and waits for the rest to become possible."""
        if not self.speaks:
            return
        try:
            while self.outgoing:
                del self.outgoing[:self.protocol.send(self.outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            self.outgoing.clear()
        if self.waits_to_write != bool(self.outgoing):
            self.waits_to_write = not self.waits_to_write
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.outgoing else 0)
            self.selector.modify(self.protocol.fileno(), wanted, b"p")

    def signal(self, scope, number):
        try:
            if scope == b"g":
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except OSError:
            pass

    def kill(self):
        self.signal(b"g", signal.SIGKILL)
        self.signal(b"p", signal.SIGKILL)

    def send(self, kind, payload):
        data = memoryview(HEADER.pack(kind, len(payload)) + payload)
        try:
            while data:
                data = data[os.write(1, data):]
        except OSError:
            self.kill()
            os._exit(0)


# A terminal's Ctrl-C at a shared group is for the program, not for the kernel.
signal.signal(signal.SIGINT, signal.SIG_IGN)
supervised = start_kernel(boot)  # noqa: F821, the loader's
boot.clear()  # noqa: F821
Supervisor(*supervised).run()
