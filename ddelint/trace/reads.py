"""What an entry's process read besides its own memory: what an answer about the entry rests on.

An audit hook hears of every file that Python opens, every folder that is listed, and whether the program talked to
something outside of this machine's files, of which nobody can say later that it is what it was.
"""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from typing import Any

from ddelint.knowledge.catalog import rules_folder
from ddelint.system.files import read_toml

_OUTSIDE = ("socket.connect", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn")
_LISTED = ("os.listdir", "os.scandir")
_LOADED = ("ctypes.dlopen",)
_HEARD = frozenset(("open", *_LISTED, *_LOADED, *_OUTSIDE))
_IMPORTS = "<frozen importlib._bootstrap_external>"
_NO_FILES = ("/dev/", "/proc/", "/sys/")
_COMPILED = (".pyc", ".pyo")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep

_files: set[str] = set()
_folders: set[str] = set()
_outside: set[str] = set()
_watching = False


def watch() -> None:
    """From now on remember what this process and its forks read. Calling it twice changes nothing."""
    global _watching
    if not _watching:
        _native()  # what this reads is not the program's
        _watching = True
        sys.addaudithook(_heard)


def found() -> dict[str, Any]:
    """Everything that was read until now, the files of loaded modules included, as plain values."""
    installed = _installed()
    modules = {os.path.abspath(path) for path in map(_file_of, list(sys.modules.values())) if path}
    files = {path for path in modules | _files if not path.startswith(_PACKAGE)}
    own = sorted(path for path in files if not path.startswith(installed))
    folders = {os.path.abspath(folder) for folder in sys.path}
    return {
        "own": own,
        "installed": sorted(path for path in files if path.startswith(installed)),
        "sources": sorted(folder for folder in folders if not _is_installed(folder, installed)),
        "packages": sorted(folder for folder in folders if _is_installed(folder, installed)),
        "folders": sorted(_folders),
        "beside": sorted({os.path.dirname(path) for path in own}) if _native() & set(sys.modules) else [],
        "outside": sorted(_outside),
    }


def news(before: Mapping[str, Any]) -> dict[str, Any]:
    """What was read since `mark`: files, folders, and what is outside."""
    files = sorted(path for path in _files - before["files"] if not path.startswith(_PACKAGE))
    installed = _installed()
    return {
        "own": [path for path in files if not path.startswith(installed)],
        "installed": [path for path in files if path.startswith(installed)],
        "folders": sorted(_folders - before["folders"]),
        "outside": sorted(_outside - before["outside"]),
    }


def mark() -> dict[str, set[str]]:
    """What was read until now, for `news`."""
    return {"files": set(_files), "folders": set(_folders), "outside": set(_outside)}


@cache
def _native() -> frozenset[str]:
    """Packages that open files where Python does not hear of it: what lies beside the known files counts then."""
    return frozenset(read_toml(rules_folder() / "reads.toml")["unheard"])


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _HEARD:
        with contextlib.suppress(Exception):  # what is raised here would be raised in the user's code
            _remember(event, arguments)


def _remember(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, mode, flags = arguments
        reads = "r" in mode if isinstance(mode, str) else not flags & (os.O_WRONLY | os.O_RDWR)
        if reads and isinstance(path, (str, bytes)):
            _note(_files, path)
    elif event in _LISTED:
        if sys._getframe(2).f_code.co_filename != _IMPORTS:  # whoever lists, behind `_heard`
            _note(_folders, arguments[0] if arguments[0] is not None else ".")
    elif event in _LOADED:
        _note(_files, arguments[0])
    else:
        _outside.add(event)


def _note(among: set[str], path: object) -> None:
    if isinstance(path, (str, bytes)) and path:
        name = os.path.abspath(os.fsdecode(path))
        if not name.startswith(_NO_FILES) and not name.endswith(_COMPILED):
            among.add(name)


def _file_of(module: object) -> str | None:
    path = getattr(module, "__file__", None)
    return path if isinstance(path, str) and os.path.isabs(path) else None


def _installed() -> tuple[str, ...]:
    """The folders of Python and of installed packages, each with a closing separator."""
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {folder for folder in sys.path if os.path.basename(folder) in ("site-packages", "dist-packages")}
    return tuple(sorted(os.path.abspath(folder) + os.sep for folder in folders))


def _is_installed(folder: str, installed: tuple[str, ...]) -> bool:
    return (folder + os.sep).startswith(installed) or folder.endswith(".zip")
