"""What libraries are told of where they run: no screen, no browser, no terminal; displays come here."""

import builtins
import importlib.util
import os
import sys
import types

from agent_eval_kernel.mime import clear_output, display, figures

# Always, whatever the host's own terminal is.
FORCED = {"MPLBACKEND": "Agg", "PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb"}
DEFAULTS = {"NO_COLOR": "1", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "GIT_TERMINAL_PROMPT": "0",
            "PLOTLY_RENDERER": "plotly_mimetype"}


def set_environment():
    os.environ.update(FORCED)
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    # `!python` and `!pip` are this interpreter's.
    folder = os.path.dirname(sys.executable)
    path = os.environ.get("PATH", "")
    if folder and path.split(os.pathsep)[0] != folder:
        os.environ["PATH"] = folder + os.pathsep + path if path else folder


def _pyplot(module):
    module.show = lambda *_args, **_options: figures.flush()


def _displays(module):
    module.display = display
    module.clear_output = clear_output


def _plotly(module):
    module.BaseFigure.show = lambda self, *_args, **_options: display(self)


class AfterImport:
    """Changes a module once it has been imported."""

    def __init__(self):
        self.changes = {
            "matplotlib.pyplot": _pyplot,
            "IPython.core.display_functions": _displays,
            "plotly.basedatatypes": _plotly,
        }

    def find_spec(self, name, _path=None, _target=None):
        change = self.changes.pop(name, None)
        if change is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            self.changes[name] = change
            return None
        execute = spec.loader.exec_module

        def changed(module):
            execute(module)
            change(module)

        spec.loader.exec_module = changed
        return spec


class Rich:
    """The classes of `IPython.display` in small."""

    mime = "text/plain"

    def __init__(self, data=None, filename=None, url=None, **_options):
        if filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
        self.data = data if data is not None else url

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: self.data, "text/plain": "<%s>" % type(self).__name__}


def _rich(name, mime):
    return type(name, (Rich,), {"mime": mime})


class Image(Rich):
    def _repr_mimebundle_(self, include=None, exclude=None):
        data = self.data
        if isinstance(data, str) and os.path.exists(data):
            with open(data, "rb") as file:
                data = file.read()
        mime = "image/jpeg" if isinstance(data, bytes) and data[:2] == b"\xff\xd8" else "image/png"
        return {mime: data, "text/plain": "<Image>"}


class WithoutIPython:
    """`IPython.display` where IPython is not installed: people import it by reflex."""

    def find_spec(self, name, _path=None, _target=None):
        if name in ("IPython", "IPython.display"):
            return importlib.util.spec_from_loader(name, self, is_package=name == "IPython")
        return None

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        if module.__name__ == "IPython":
            module.get_ipython = builtins.get_ipython
            return
        module.display, module.clear_output, module.Image = display, clear_output, Image
        for name, mime in (("HTML", "text/html"), ("Markdown", "text/markdown"), ("SVG", "image/svg+xml"),
                           ("JSON", "application/json"), ("Latex", "text/latex"), ("Math", "text/latex")):
            setattr(module, name, _rich(name, mime))


def install():
    sys.meta_path.insert(0, AfterImport())
    sys.meta_path.append(WithoutIPython())
