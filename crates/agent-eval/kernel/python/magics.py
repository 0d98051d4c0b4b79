"""What a rewritten cell calls: each idiom of IPython that is worth having is a method, `line_NAME` or `cell_NAME`."""

import io
import os
import shlex
import sys
import types

from agent_eval_kernel import packages, shell, timing
from agent_eval_kernel.state import STATE
from agent_eval_kernel.streams import streams

# Their argument is Python source, which is no template.
SOURCE = ("time", "timeit", "run", "pinfo", "pinfo2")

INSTEAD = {
    "conda": "use %pip, or run conda outside", "prun": "use cProfile", "lprun": "use cProfile",
    "debug": "use the debug tool", "pdb": "use the debug tool", "load": "read the file with the read tool",
    "store": "pickle the value", "html": "use display() with an object that has _repr_html_",
    "js": "call eval with language javascript", "javascript": "call eval with language javascript",
    "memit": "use tracemalloc", "history": "In holds the cells",
}


class Idioms:
    def __init__(self):
        self.before = None
        self.hidden = set()
        self.run_source = None
        self.autoreload = None

    def system(self, command):
        shell.system(shell.expand(command))

    def getoutput(self, command):
        return shell.output(shell.expand(command))

    def line(self, name, arguments):
        method = getattr(self, "line_" + name, None)
        if method is None:
            self._refuse("%" + name, name, "cell_")
        return method(arguments if name in SOURCE else shell.expand(arguments))

    def cell(self, name, arguments, body):
        method = getattr(self, "cell_" + name, None)
        if method is None:
            self._refuse("%%" + name, name, "line_")
        return method(arguments, body)

    def _refuse(self, shown, name, other):
        if name in INSTEAD:
            raise NameError("%s is not here: %s" % (shown, INSTEAD[name]))
        if hasattr(self, other + name):
            one, two = ("line", "%" + name) if other == "line_" else ("cell", "%%" + name + " on the first line")
            raise NameError("%s is not here, the %s magic is: write %s" % (shown, one, two))
        raise NameError("there is no magic %s: write plain Python instead" % shown)

    # Packages, folders, environment

    def line_pip(self, arguments):
        packages.pip(shlex.split(arguments))

    def line_cd(self, arguments):
        target = arguments.strip().strip("'\"") or "~"
        if target == "-":
            target = self.before or "."
        try:
            self.before = os.getcwd()
        except OSError:
            pass
        os.chdir(os.path.expanduser(target))
        print(os.getcwd())

    def line_pwd(self, _arguments):
        return os.getcwd()

    def line_ls(self, arguments):
        shell.call([shell.SHELL, "-c", "ls " + arguments])

    def line_env(self, arguments):
        arguments = arguments.strip()
        if not arguments:
            return dict(os.environ)
        name, found, value = arguments.partition("=" if "=" in arguments else " ")
        if not found:
            return os.environ.get(name)
        os.environ[name.strip()] = value.strip()
        print("env: %s=%s" % (name.strip(), value.strip()))

    line_set_env = line_env

    # Running and timing

    def line_run(self, arguments):
        import runpy

        words, before = shlex.split(arguments), sys.argv
        sys.argv = words
        try:
            names = runpy.run_path(words[0], run_name="__main__")
        finally:
            sys.argv = before
        STATE.namespace.update({name: value for name, value in names.items() if not name.startswith("__")})

    def line_time(self, source):
        return timing.timed(lambda: self.run_source(source, STATE.cell_name))

    def line_timeit(self, arguments):
        timing.timeit(arguments)

    def cell_time(self, _arguments, body):
        # The body begins on the cell's second line, which tracebacks show.
        return timing.timed(lambda: self.run_source("\n" + body, STATE.cell_name))

    def cell_timeit(self, arguments, body):
        timing.timeit_cell(arguments, body)

    def cell_capture(self, arguments, body):
        names = [word for word in arguments.split() if not word.startswith("-")]
        out, err = io.StringIO(), io.StringIO()
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = out, err
        try:
            self.run_source("\n" + body, STATE.cell_name)
        finally:
            sys.stdout, sys.stderr = before
            if names:
                STATE.namespace[names[0]] = types.SimpleNamespace(stdout=out.getvalue(), stderr=err.getvalue())

    # Other programs and files

    def cell_bash(self, arguments, body):
        shell.script(arguments, body, shell.SHELL)

    def cell_sh(self, arguments, body):
        shell.script(arguments, body, "/bin/sh")

    def cell_python(self, _arguments, body):
        status = shell.call([sys.executable, "-c", body])
        if status:
            raise RuntimeError("the script ended with status %d" % status)

    cell_python3 = cell_python

    def cell_writefile(self, arguments, body):
        words = shlex.split(arguments)
        append = words[:1] in (["-a"], ["--append"])
        path = os.path.expanduser(words[-1])
        verb = "Appending to" if append else "Overwriting" if os.path.exists(path) else "Writing"
        with open(path, "a" if append else "w", encoding="utf-8") as file:
            file.write(body)
        print(verb, path)

    cell_file = cell_writefile

    # Looking

    def line_who(self, _arguments):
        print("\t".join(self.names()) or "Interactive namespace is empty.")

    def line_whos(self, _arguments):
        for name in self.names():
            print("%-20s %s" % (name, type(STATE.namespace[name]).__name__))

    def names(self):
        """The variables that cells have made."""
        return sorted(name for name, value in STATE.namespace.items()
                      if not name.startswith("_") and name not in self.hidden
                      and not isinstance(value, types.ModuleType))

    def line_pinfo(self, source):
        import inspect

        method = getattr(self, "line_" + source.lstrip("%"), None) if source.startswith("%") else None
        try:
            value = method or eval(source, STATE.namespace)
        except Exception:
            print("Object `%s` not found." % source)
            return
        try:
            signature = "%s%s" % (source, inspect.signature(value))
        except (TypeError, ValueError):
            signature = source
        print("Type: %s\nSignature: %s\nDocstring:\n%s" % (type(value).__name__, signature, inspect.getdoc(value)))

    def line_pinfo2(self, source):
        import inspect

        try:
            print(inspect.getsource(eval(source, STATE.namespace)))
        except Exception:
            self.line_pinfo(source)

    # What needs nothing here, or does nothing

    def line_matplotlib(self, arguments):
        if arguments.strip() not in ("", "inline", "agg", "Agg"):
            streams.note("%%matplotlib %s does nothing here: figures come back as images" % arguments.strip())

    line_pylab = line_matplotlib

    def line_config(self, arguments):
        streams.note("%%config %s does nothing here" % arguments.strip())

    def line_load_ext(self, arguments):
        if arguments.strip() not in ("autoreload", "dotenv"):
            streams.note("%%load_ext %s does nothing here" % arguments.strip())

    line_reload_ext = line_load_ext

    def line_autoreload(self, arguments):
        self.autoreload.on = arguments.strip() not in ("0", "off")


idioms = Idioms()


class Shell:
    """What `get_ipython()` gives: enough for the calls that people type. It is no kernel app, so libraries stay textual."""

    config = {}

    @property
    def user_ns(self):
        return STATE.namespace

    def run_line_magic(self, name, arguments="", _depth=None):
        return idioms.line(name, arguments)

    def magic(self, line):
        name, _, arguments = line.lstrip("%").partition(" ")
        return idioms.line(name, arguments)

    def run_cell_magic(self, name, arguments, body):
        return idioms.cell(name, arguments, body)

    def system(self, command):
        shell.system(command)

    def getoutput(self, command):
        return shell.output(command)

    def run_cell(self, source):
        idioms.run_source(source, STATE.cell_name)

    def __getattr__(self, name):
        raise AttributeError("this is not IPython: get_ipython().%s is not there" % name)
