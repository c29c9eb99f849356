"""Runs a script or a module in this process as `python SCRIPT ARGS` and `python -m MODULE ARGS` do."""

from __future__ import annotations

import builtins
import contextlib
import importlib.machinery
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, FrameType, ModuleType

from ddelint.nouns.protocol import ScriptSpec

_MAIN = "__main__"
_PYTEST_OPTIONS = "--assert=plain"
"""What pytest must not do to code that is looked at: rewrite it."""
_PYTEST_HERE = "-n0"
"""Nor, with pytest-xdist, run it in another process."""


class NoSuchScript(Exception):
    """There is nothing to run under the name that was given; the message is one line."""


class Stopped(KeyboardInterrupt):
    """Ends the script from inside. Programs and test runners let a KeyboardInterrupt through."""


class TimeUp(Stopped):
    """The script has had its time."""


def run(script: ScriptSpec) -> None:
    """Execute the script as `__main__`; whatever it raises goes through, SystemExit and Stopped included.

    Its module stays `sys.modules["__main__"]`. `os._exit` in this process raises SystemExit. Raises NoSuchScript.
    """
    code, module, first = _module(script) if script.module else _script(script)
    sys.argv = [str(module.__file__) if script.module else script.target, *script.arguments]
    sys.path.insert(0, first)
    vars(module)["__builtins__"] = builtins
    sys.modules[_MAIN] = module
    _settle_pytest()
    with _no_hard_exit():
        exec(code, vars(module))


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """TimeUp is raised inside after so many seconds, unless the program inside takes the alarm for itself."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeUp

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGALRM) is ring:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _script(script: ScriptSpec) -> tuple[CodeType, ModuleType, str]:
    filename = os.path.realpath(script.target)
    first = os.path.dirname(filename)
    if os.path.isdir(filename):
        first, filename = filename, os.path.join(filename, f"{_MAIN}.py")
    if not os.path.isfile(filename):
        raise NoSuchScript(f"no such script: {script.target}")
    loader = SourceFileLoader(_MAIN, filename)
    spec = _overlaid(importlib.util.spec_from_file_location(_MAIN, filename, loader=loader))
    module = ModuleType(_MAIN)
    module.__file__ = filename
    module.__spec__ = None
    return _code(spec, _MAIN, script.target), _with_loader(module, spec), first


def _module(script: ScriptSpec) -> tuple[CodeType, ModuleType, str]:
    first = os.getcwd()
    name = script.target
    with _path_entry(first):
        spec = _found(name)
        if spec.submodule_search_locations is not None:
            name = f"{name}.{_MAIN}"
            spec = _found(name)
    spec = _overlaid(spec)
    module = ModuleType(_MAIN)
    module.__spec__ = spec
    module.__file__ = spec.origin
    module.__package__ = spec.parent
    return _code(spec, name, script.target), _with_loader(module, spec), first


def _found(name: str) -> ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except ImportError as error:
        raise NoSuchScript(f"no module named {name}: {error}") from error
    except (ValueError, AttributeError):
        spec = None
    if spec is None:
        raise NoSuchScript(f"no module named {name}")
    return spec


def _code(spec: ModuleSpec, name: str, shown: str) -> CodeType:
    get_code = getattr(spec.loader, "get_code", None)
    code: CodeType | None = get_code(name) if get_code is not None else None
    if code is None:
        raise NoSuchScript(f"{shown} is not Python code")
    return code


def _with_loader(module: ModuleType, spec: ModuleSpec) -> ModuleType:
    module.__loader__ = spec.loader
    return module


def _overlaid(spec: ModuleSpec | None) -> ModuleSpec:
    """The spec with the loader of whoever replaces file contents on `sys.meta_path` (see overlay)."""
    assert spec is not None
    for finder in sys.meta_path:
        replace = getattr(finder, "overlaid", None)
        if replace is not None:
            spec = replace(spec)
    return spec


@contextlib.contextmanager
def _path_entry(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _settle_pytest() -> None:
    """Where the script is or starts pytest: run the tests here, and as they are written."""
    if importlib.util.find_spec("pytest") is None:
        return
    options = [os.environ.get("PYTEST_ADDOPTS", ""), _PYTEST_OPTIONS]
    if importlib.util.find_spec("xdist") is not None:
        options.append(_PYTEST_HERE)
    os.environ["PYTEST_ADDOPTS"] = " ".join(filter(None, options))


@contextlib.contextmanager
def _no_hard_exit() -> Iterator[None]:
    """`os._exit` in this process ends the script, not the process that holds what was captured."""
    owner, hard = os.getpid(), os._exit

    def leave(status: int) -> None:
        if os.getpid() != owner or threading.current_thread() is not threading.main_thread():
            hard(status)
        raise SystemExit(status)

    os._exit = leave  # type: ignore[assignment]
    try:
        yield
    finally:
        os._exit = hard
