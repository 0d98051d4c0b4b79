"""One cell: compiled so that its last expression is shown, run in `__main__`, reported."""

import __future__
import ast
import importlib
import linecache
import os
import sys

from agent_eval_kernel import failures
from agent_eval_kernel.magics import idioms
from agent_eval_kernel.mime import bundle, figures
from agent_eval_kernel.reload import reloader
from agent_eval_kernel.state import STATE
from agent_eval_kernel.streams import streams
from agent_eval_kernel.wire import send

TOP_LEVEL_AWAIT = getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)
FUTURE = 0
# `inspect` has it, and takes longer to import than all of this.
CO_COROUTINE = 0x80
for _feature in __future__.all_feature_names:
    FUTURE |= getattr(__future__, _feature).compiler_flag
# How many variables are named after an interrupt.
NAMES = 30

_getpid, _exit = os.getpid, os._exit


class Runner:
    def __init__(self):
        # Features that a cell imports from __future__ hold for the later ones, as in a file.
        self.flags = 0
        # The last value shown; `_` is updated until a cell makes it its own.
        self.last = None
        # Whether anything of the current cell was run: a cell that does not compile has changed nothing.
        self.began = False

    def compile(self, tree, name, mode):
        code = compile(tree, name, mode, flags=TOP_LEVEL_AWAIT | self.flags, dont_inherit=True)
        self.flags |= code.co_flags & FUTURE
        return code

    def run_source(self, source, name, tree=None):
        """Runs statements and gives the value of the last one, if that is an expression that no semicolon silences."""
        if tree is None:
            tree = ast.parse(source, name)
        wants_loop = _wants_loop(tree)
        last, codes = None, []
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not _is_silenced(source):
            last = ast.Expression(tree.body.pop().value)
        if tree.body:
            codes.append(self.compile(tree, name, "exec"))
        if last is not None:
            codes.append(self.compile(last, name, "eval"))
        self.began = True
        value = None
        if wants_loop or any(_awaits(code) for code in codes):
            value = self._await(_run_on_loop(codes))
        else:
            for code in codes:
                value = eval(code, STATE.namespace)
        return None if last is None else value

    def _await(self, coroutine):
        # Only a cell that awaits runs on the loop, so `asyncio.run` works in every other.
        import asyncio

        if asyncio._get_running_loop() is not None:
            coroutine.close()
            raise RuntimeError("code of a magic cannot await in a cell that awaits elsewhere too: give the magic a cell of its own")
        if STATE.loop is None or STATE.loop.is_closed():
            STATE.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(STATE.loop)
        task = STATE.loop.create_task(coroutine)
        try:
            return STATE.loop.run_until_complete(task)
        except KeyboardInterrupt:
            # One that was raised inside of the task has ended it, and the loop does not stop for such a task.
            if not task.done():
                task.cancel()
                try:
                    STATE.loop.run_until_complete(task)
                except BaseException:
                    pass
            raise

    def show(self, value):
        data, metadata, left_out = bundle(value)
        names = STATE.namespace
        if names.get("_") is self.last:
            names["___"], names["__"], names["_"] = names.get("__"), names.get("_"), value
            self.last = value
        names["_%d" % STATE.count] = value
        names.setdefault("Out", {})[STATE.count] = value
        content = {"execution_count": STATE.count, "data": data, "metadata": metadata}
        send("execute_result", content, {"left_out": left_out}, marked=True)

    def parse(self, source, rewritten, name):
        """The cell as it is where that is Python; else as it was rewritten, which has the same lines."""
        try:
            return source, ast.parse(source, name)
        except SyntaxError:
            if not rewritten or rewritten == source:
                raise
        return rewritten, ast.parse(rewritten, name)

    def attempt(self, source, rewritten):
        name = STATE.cell_name
        STATE.running = True
        try:
            reloader.look()
            source, tree = self.parse(source, rewritten, name)
            value = self.run_source(source, name, tree)
            if value is not None:
                self.show(value)
            figures.flush()
            reloader.look()
        finally:
            STATE.running = False

    def execute(self, message):
        content, metadata = message["content"], message.get("metadata") or {}
        STATE.parent = message["header"]
        STATE.count += 1
        source = content["code"]
        STATE.cell_name = "<cell %d>" % STATE.count
        send("status", {"execution_state": "busy"})
        linecache.cache[STATE.cell_name] = (len(source), None, source.splitlines(True), STATE.cell_name)
        error, self.began = None, False
        try:
            self.prepare(source)
            self.attempt(source, metadata.get("rewritten"))
        except SystemExit as exit:
            error = self.exited(exit.code)
        except BaseException as raised:
            if isinstance(raised, SyntaxError):
                raised.__context__ = None
            error = failures.describe(raised)
            error = (error[0], error[1], error[2] + _hint(raised, error[1], source))
            sys.last_type, sys.last_value, sys.last_traceback = type(raised), raised, raised.__traceback__
        self.report(error)

    def prepare(self, source):
        """What an earlier cell may have taken away is there again."""
        names = STATE.namespace
        for name, value in self.given.items():
            names.setdefault(name, value)
        names.setdefault("In", [""]).append(source)
        streams.mend()
        importlib.invalidate_caches()

    @staticmethod
    def exited(code):
        if code in (None, 0):
            streams.note("the cell called sys.exit(); the interpreter is still running")
            return None
        return "SystemExit", str(code), ["SystemExit: %s (the interpreter is still running)" % (code,)]

    def report(self, error):
        if _getpid() != STATE.pid:
            # A forked child that ran on out of the cell: it is no second kernel.
            streams.flush()
            _exit(1 if error else 0)
        reply = {"status": "ok", "execution_count": STATE.count, "payload": [], "user_expressions": {}}
        if error:
            try:
                figures.flush()
            except BaseException:
                pass
            name, text, lines = error
            content = {"ename": name, "evalue": text, "traceback": lines}
            send("error", content, marked=True)
            reply.update(content, status="error")
        names = [name for name in idioms.names() if name not in ("In", "Out")]
        about = {"names": names[:NAMES], "more": max(0, len(names) - NAMES), "began": self.began}
        send("execute_reply", reply, about, marked=True)
        send("status", {"execution_state": "idle"})


async def _run_on_loop(codes):
    """The whole cell in one coroutine, so that its first line finds the loop running as its last one does."""
    value = None
    for code in codes:
        value = eval(code, STATE.namespace)
        if _awaits(code):
            value = await value
    return value


def _awaits(code):
    return code.co_flags & CO_COROUTINE


# Calls that fail without a running loop, and calls that fail within one.
INSIDE = ("create_task", "ensure_future", "get_running_loop")
OUTSIDE = ("run_until_complete", "run_forever")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _wants_loop(tree):
    """Whether the cell itself, and no function in it, calls what needs a running loop and nothing that refuses one."""
    inside = outside = False
    rest = [tree]
    while rest:
        node = rest.pop()
        if isinstance(node, FUNCTIONS):
            continue
        if isinstance(node, ast.Call):
            owner, name = _callee(node.func)
            of_asyncio = owner in ("", "asyncio")
            inside = inside or (of_asyncio and name in INSIDE)
            outside = outside or name in OUTSIDE or (of_asyncio and name == "run")
        rest.extend(ast.iter_child_nodes(node))
    return inside and not outside


def _callee(function):
    """The name that is called, and what it is called on; nothing for a bare name."""
    if isinstance(function, ast.Name):
        return "", function.id
    return getattr(getattr(function, "value", None), "id", None), getattr(function, "attr", None)


def _is_silenced(source):
    """Whether the last token is a semicolon."""
    if ";" not in source:
        return False
    import io
    import tokenize

    layout = (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT)
    try:
        tokens = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type not in layout]
    except (tokenize.TokenError, SyntaxError):
        return False
    return bool(tokens) and tokens[-1].string == ";"


AUTOMAGIC = ("pip", "ls", "cd", "conda")


def _hint(raised, text, source):
    if isinstance(raised, RuntimeError) and text in ("no running event loop", "There is no current event loop"):
        return ["a loop runs in a cell that awaits at its top: begin this one with `await asyncio.sleep(0)`"]
    words = source.split()
    if isinstance(raised, (SyntaxError, NameError)) and words and words[0] in AUTOMAGIC:
        return ["write %%%s, or !%s for the shell" % (words[0], words[0])]
    return []


runner = Runner()
idioms.run_source = runner.run_source
idioms.autoreload = reloader
