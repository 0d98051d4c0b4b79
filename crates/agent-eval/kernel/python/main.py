"""The kernel's main loop: cells one after the other, background tasks in between."""

import builtins
import faulthandler
import os
import queue
import resource
import signal
import sys
import threading

from agent_eval_kernel import bridge, hooks
from agent_eval_kernel.cell import runner
from agent_eval_kernel.magics import Shell, idioms
from agent_eval_kernel.mime import display
from agent_eval_kernel.state import STATE
from agent_eval_kernel.streams import streams
from agent_eval_kernel.wire import channel, send

# How often background tasks are left alone to look for a request.
TASK_LOOK = 0.02

requests = queue.SimpleQueue()


def no_input(_prompt="", *_rest):
    raise EOFError("input() is not there: nobody types into this interpreter. Put the value into the cell; where it is a "
                   "person's to say, ask before the cell")


def no_breakpoint(*_args, **_options):
    raise RuntimeError("breakpoint() is not there: use the debug tool")


def give_names():
    shell = Shell()
    runner.given = {
        "__name__": "__main__", "__builtins__": builtins, "__agent__": idioms, "display": display,
        "tool": bridge.tool, "ToolError": bridge.ToolError, "In": [""], "Out": {},
    }
    STATE.namespace.update(runner.given)
    idioms.hidden = set(runner.given)
    sys.modules["__main__"] = STATE.module
    # Imported modules see these too.
    builtins.get_ipython = lambda: shell
    builtins.display = display
    builtins.tool = bridge.tool
    # Where pickle looks for it: a worker process hands it back to the cell.
    builtins.ToolError = bridge.ToolError
    builtins.input = no_input
    sys.breakpointhook = no_breakpoint


def received(message):
    kind = message["header"]["msg_type"]
    if kind == "tool_reply":
        bridge.answered(message)
    elif kind == "interrupt_request":
        signal.pthread_kill(STATE.main_thread, signal.SIGINT)
    else:
        requests.put(message)


def next_request():
    """The next request. Tasks that a cell left behind go on while it is waited for."""
    loop = STATE.loop
    if loop is None or loop.is_closed() or "asyncio" not in sys.modules:
        return requests.get()
    import asyncio

    async def wait():
        while requests.empty() and len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(TASK_LOOK)

    if asyncio.all_tasks(loop):
        loop.run_until_complete(wait())
    return requests.get()


def preload():
    """What the first cells will need, imported while nobody waits and before the checkout is on the path: a file of the
    checkout with the name of a module of the standard library is not what the kernel imports."""
    for name in ("asyncio", "ast", "inspect", "traceback", "tokenize", "pprint", "timeit", "statistics", "runpy",
                 "importlib.metadata", "sysconfig", "shlex"):
        __import__(name)


def set_limits(boot):
    """What the system itself holds this process and its children to."""
    for name, limit in (("memory_bytes", resource.RLIMIT_AS), ("processes", resource.RLIMIT_NPROC)):
        if boot.get(name):
            resource.setrlimit(limit, (boot[name], boot[name]))


def run(boot):
    os.setsid()
    set_limits(boot)
    STATE.pid = os.getpid()
    channel.token = boot["token"]
    signal.signal(signal.SIGINT, channel.on_interrupt)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    hooks.set_environment()
    try:
        faulthandler.enable(file=2)
    except Exception:
        pass
    give_names()
    hooks.install()
    threading.Thread(target=channel.read_forever, args=(received,), daemon=True, name="agent-eval").start()
    about = {"version": sys.version.split()[0], "executable": sys.executable, "pid": STATE.pid}
    send("status", {"execution_state": "starting"}, about)
    preload()
    sys.path.insert(0, "")
    while True:
        try:
            message = next_request()
        except KeyboardInterrupt:
            continue
        kind = message["header"]["msg_type"]
        if kind == "execute_request":
            runner.execute(message)
        elif kind == "shutdown_request":
            streams.flush()
            os._exit(0)
