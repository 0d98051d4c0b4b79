"""`%pip`: installs, and forgets what was imported of packages that changed, so that the next import sees the new ones."""

import importlib
import importlib.util
import os
import subprocess
import sys

from agent_eval_kernel.streams import streams

EXTENSIONS = (".so", ".pyd", ".dylib")


class ExternallyManaged(RuntimeError):
    pass


ExternallyManaged.__module__ = "builtins"


def pip(arguments):
    changes = arguments[:1] in (["install"], ["uninstall"])
    before = installed() if changes else None
    more = ["--yes"] if arguments[:1] == ["uninstall"] and not {"-y", "--yes"} & set(arguments) else []
    streams.flush()
    status = subprocess.call([sys.executable, "-m", "pip"] + arguments + more, stdin=subprocess.DEVNULL)
    if changes:
        evict_changed(before)
    if status and is_externally_managed():
        raise ExternallyManaged(
            "the packages of %s are managed by the system. Make a virtual environment in the working directory "
            "(`!python3 -m venv .venv`) and call eval with reset: a trusted checkout's .venv is taken" % sys.executable)
    if status:
        raise RuntimeError("pip ended with status %d" % status)


def is_externally_managed():
    if sys.prefix != sys.base_prefix:
        return False
    import sysconfig

    return os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))


def installed():
    """The distributions: name to version and the top-level modules that they bring."""
    import importlib.metadata

    importlib.invalidate_caches()
    found = {}
    for distribution in importlib.metadata.distributions():
        try:
            name = distribution.metadata["Name"]
            found[name] = (distribution.version, _top_levels(name, distribution))
        except Exception:
            continue
    return found


def _top_levels(name, distribution):
    declared = (distribution.read_text("top_level.txt") or "").split()
    files = {str(file).split("/")[0] for file in distribution.files or []}
    modules = {file.split(".")[0] for file in files if file.endswith(".py") or "." not in file}
    return set(declared) | modules | {name.replace("-", "_")}


def evict_changed(before):
    """Forgets the modules of distributions that came, went or changed. One with a loaded extension stays: a process can
    load it once."""
    after = installed()
    changed = {name for name in before.keys() | after.keys() if before.get(name, ("",))[0] != after.get(name, ("",))[0]}
    evicted, stuck = set(), set()
    for name in sorted(changed):
        tops = before.get(name, ("", set()))[1] | after.get(name, ("", set()))[1]
        loaded = [module for module in list(sys.modules) if module.split(".")[0] in tops]
        if not loaded:
            continue
        if any(_is_extension(module) for module in loaded):
            stuck.add(name)
            continue
        for module in loaded:
            sys.modules.pop(module, None)
        evicted.add(name)
    importlib.invalidate_caches()
    if evicted:
        print("imports of %s are forgotten: the next import sees what is installed now" % ", ".join(sorted(evicted)))
    if stuck:
        print("%s changed on disk, and the loaded one stays: it has an extension module, which a process loads once. "
              "Call eval with reset to use the new one" % ", ".join(sorted(stuck)))


def _is_extension(name):
    file = getattr(sys.modules.get(name), "__file__", None)
    return isinstance(file, str) and file.endswith(EXTENSIONS)
