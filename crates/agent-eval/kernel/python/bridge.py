"""`tool(name, {...})`: the run's own tools, called over the kernel's channel."""

import os
import queue

from agent_eval_kernel.state import STATE
from agent_eval_kernel.wire import channel, encode_strictly, send

_getpid = os.getpid


class ToolError(RuntimeError):
    """A tool that did not do its job. `kind` and `code` say why."""

    def __init__(self, message, kind="failed", code="failed"):
        super().__init__(message)
        self.kind = kind
        self.code = code


ToolError.__module__ = "builtins"

waiting = {}


def answered(message):
    """Hands a reply to the thread that waits for it; one that nobody waits for any more is dropped."""
    place = waiting.pop(message["parent_header"].get("msg_id"), None)
    if place is not None:
        place.put(message["content"])


def _call(name, args, more):
    if _getpid() != STATE.pid:
        raise ToolError("tool() is not there in a forked process: call it in the cell and pass the result on",
                        "unavailable", "forked")
    arguments = dict(args or {})
    arguments.update(more)
    content = {"name": str(name), "arguments": arguments}
    encode_strictly(content)
    place, header = queue.SimpleQueue(), channel.header("tool_request")
    waiting[header["msg_id"]] = place
    try:
        send("tool_request", content, header=header)
        reply = place.get()
    except BaseException:
        if waiting.pop(header["msg_id"], None) is not None:
            send("tool_cancel", {"id": header["msg_id"]})
        raise
    if reply.get("ok"):
        return reply
    raise ToolError(reply.get("error") or "the tool failed", reply.get("kind", "failed"), reply.get("code", "failed"))


def tool(name, args=None, **more):
    """Calls a tool of the run and returns its result: text as str, structured as dict, an image as {"mime", "data"}, text
    with an image as a list of both.

    Blocks until the result is there; use threads or asyncio.to_thread for several at once. A tool that takes one call at a time
    (shell) refuses a second one meanwhile. Raises ToolError.
    """
    return _call(name, args, more).get("value")


def tool_data(name, args=None, **more):
    """The same call, with the structured form of the result where the tool has one."""
    return _call(name, args, more).get("data")


tool.data = tool_data
