"""Commands of a cell: `!cmd`, `x = !cmd`, `%%bash`. Their output is the kernel's own."""

import importlib
import os
import re
import shlex
import subprocess
import sys

from agent_eval_kernel import packages
from agent_eval_kernel.state import STATE
from agent_eval_kernel.streams import streams

SHELL = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"

# `$$`, `{expression}`, `$name` and `$name.attribute`. `{{` and `}}` are braces.
TEMPLATE = re.compile(
    r"\{\{|\}\}|\$\$|\{([^{}]+)\}|\$([A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*)"
)
LITERAL = {"{{": "{", "}}": "}", "$$": "$"}

PIP = re.compile(r"\s*(?:python3?\s+-m\s+)?pip3?\s+(install|uninstall)\b")


class Lines(list):
    """The lines of a command's output."""

    @property
    def n(self):
        return "\n".join(self)

    @property
    def s(self):
        return " ".join(self)

    @property
    def l(self):  # noqa: E743, the name that people type
        return list(self)


def expand(command, depth=2):
    """Puts values of the caller's variables in. What is no variable stays for the shell."""
    frame = sys._getframe(depth)
    names = dict(frame.f_globals)
    names.update(frame.f_locals)

    def value(match):
        whole, expression, name = match.group(0), match.group(1), match.group(2)
        if whole in LITERAL:
            return LITERAL[whole]
        source = expression if expression is not None else name
        if name is not None and name.split(".")[0] not in names:
            return whole
        try:
            return str(eval(source, names))
        except Exception:
            return whole

    return TEMPLATE.sub(value, command)


def call(arguments):
    """Runs a program with the kernel's outputs and gives its status."""
    streams.flush()
    status = subprocess.call(arguments, stdin=subprocess.DEVNULL)
    importlib.invalidate_caches()
    return status


def system(command):
    """`!cmd`: never raises; the status is in `_exit_code`."""
    before = packages.installed() if PIP.match(command) else None
    status = call([SHELL, "-c", command])
    STATE.namespace["_exit_code"] = status
    if status:
        streams.note("exit status %d" % status)
    if before is not None:
        packages.evict_changed(before)


def output(command):
    """`x = !cmd`: the lines of its standard output."""
    streams.flush()
    done = subprocess.run([SHELL, "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    STATE.namespace["_exit_code"] = done.returncode
    importlib.invalidate_caches()
    return Lines(done.stdout.decode("utf-8", "replace").splitlines())


def script(arguments, body, shell):
    """`%%bash`: the body verbatim; a status other than 0 is an error. `--out NAME` and `--err NAME` put an output into a
    variable, `--no-raise-error` leaves the status in `_exit_code` alone."""
    kept, raises, rest = {}, True, shlex.split(arguments)
    while rest and rest[0].startswith("--"):
        option, found, name = rest.pop(0).partition("=")
        if option in ("--out", "--err") and (found or rest):
            kept[option] = name if found else rest.pop(0)
        elif option in ("--no-raise-error", "--raise-error"):
            raises = option == "--raise-error"
        else:
            raise ValueError("%s of a script is not here: --out NAME, --err NAME and --no-raise-error are" % option)
    streams.flush()
    pipe = {stream: subprocess.PIPE for option, stream in (("--out", "stdout"), ("--err", "stderr")) if option in kept}
    done = subprocess.run([shell, "-c", body, shell] + rest, stdin=subprocess.DEVNULL, **pipe)
    importlib.invalidate_caches()
    for option, output in (("--out", done.stdout), ("--err", done.stderr)):
        if option in kept:
            STATE.namespace[kept[option]] = output.decode("utf-8", "replace")
    STATE.namespace["_exit_code"] = done.returncode
    if done.returncode and raises:
        raise subprocess.CalledProcessError(done.returncode, os.path.basename(shell))
