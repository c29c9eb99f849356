"""Importing the user's files, so that the copy under PATHs is the one that runs. Executes them: in forks only."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from ddelint.nouns.protocol import SessionOptions
from ddelint.settings.options import SAVED_INPUTS
from ddelint.trace import registrations
from ddelint.trace.entry import EntryProblem


def package_root(path: Path) -> tuple[Path, str]:
    """The folder to put on `sys.path` for a file or folder, and its dotted module name below that folder.

    The root is the first ancestor without an `__init__.py`. A folder that is no package is its own root, without a
    name.
    """
    if path.is_dir():
        if not (path / "__init__.py").is_file():
            return path, ""
        folder, names = path.parent, [path.name]
    else:
        folder, names = path.parent, [] if path.name == "__init__.py" else [path.stem]
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def prepare_path(options: SessionOptions) -> None:
    """Put the files' folders first on `sys.path`, so that the copy under PATHs wins over an installed package."""
    spec = options.entry
    wanted: list[Path] = []
    for path in options.paths:
        root, _ = package_root(Path(path))
        wanted.append(root)
        source = root / "src"
        if Path(path).is_dir() and source.is_dir() and not (source / "__init__.py").exists():
            wanted.append(source)
    for filename in (spec.filename, spec.inputs_filename, spec.init_filename):
        if filename is not None and not filename.endswith(SAVED_INPUTS):
            wanted.append(package_root(Path(filename))[0])
    for root in reversed(list(dict.fromkeys(wanted))):
        text = str(root)
        # site-packages itself may be a root: moved to the front it would hide the standard library's modules
        if text in sys.path and not _is_shadowed(root, options.paths):
            continue
        sys.path.insert(0, text)
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    importlib.invalidate_caches()
    for path in options.paths:
        _forget_other_copies(Path(path))


def _is_shadowed(root: Path, paths: Sequence[str]) -> bool:
    """Whether a package of PATHs under `root` would be imported from another folder."""
    for path in paths:
        parent, name = package_root(Path(path))
        if parent != root or not name:
            continue
        found = importlib.machinery.PathFinder.find_spec(name.split(".")[0])
        if found is None or found.origin is None or root not in Path(found.origin).parents:
            return True
    return False


def _forget_other_copies(path: Path) -> None:
    """Drop modules of the same package that were imported from elsewhere before."""
    root, name = package_root(path)
    top = name.split(".")[0]
    module = sys.modules.get(top)
    origin = getattr(module, "__file__", None)
    if not top or not isinstance(origin, str) or root in Path(origin).parents or top == "torch":
        return
    for loaded in list(sys.modules):
        if loaded == top or loaded.startswith(top + "."):
            del sys.modules[loaded]


def same_file(one: str | None, other: str) -> bool:
    """Whether two names are the same file on disk."""
    return one is not None and (one == other or os.path.realpath(one) == os.path.realpath(other))


def import_file(filename: str, *, again: bool = False) -> ModuleType:
    """Execute a file as a module (never as `__main__`); `again`: anew, even when it is loaded already.

    A file inside a package is imported under its dotted name, so that relative imports work.
    Whatever the file raises goes through.
    """
    path = Path(filename)
    if not path.is_file():
        raise EntryProblem("missing", f"{filename} is not a file")
    _, name = package_root(path)
    if name != path.stem and path.stem.isidentifier():  # nobody imports `model.v2.py` by a name
        return _import_member(filename, name, again)
    name = _free_name(path)
    loaded = sys.modules.get(name)
    if loaded is not None and not again and same_file(getattr(loaded, "__file__", None), filename):
        return loaded
    spec = importlib.util.find_spec(name) if not name.startswith("entry_") and loaded is None else None
    if spec is None or not same_file(spec.origin, filename):
        loader = importlib.machinery.SourceFileLoader(name, filename)
        spec = _overlaid(importlib.util.spec_from_file_location(name, filename, loader=loader))
    if spec is None or spec.loader is None:
        raise EntryProblem("missing", f"{filename} cannot be loaded as a Python module")
    registrations.forget(filename)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if loaded is not None:
            sys.modules[name] = loaded
        else:
            del sys.modules[name]
        raise
    return sys.modules.get(name, module)


def _import_member(filename: str, name: str, again: bool) -> ModuleType:
    loaded = sys.modules.pop(name, None) if again else None
    if loaded is not None:
        registrations.forget(filename)
    try:
        module = importlib.import_module(name)
    except BaseException:
        if loaded is not None:
            sys.modules[name] = loaded
        raise
    if not same_file(getattr(module, "__file__", None), filename):
        raise EntryProblem("missing", f"{filename} is hidden by {getattr(module, '__file__', 'another module')}")
    return module


def _overlaid(spec: importlib.machinery.ModuleSpec | None) -> importlib.machinery.ModuleSpec | None:
    """The spec with the loader of whoever replaces file contents on `sys.meta_path` (see overlay)."""
    for finder in sys.meta_path:
        replace = getattr(finder, "overlaid", None)
        if replace is not None and spec is not None:
            spec = replace(spec)
    return spec


def _free_name(path: Path) -> str:
    """The module name that other files would import it by, or one that hides nothing else."""
    name = path.stem
    if name.isidentifier() and name not in sys.stdlib_module_names:
        loaded = sys.modules.get(name)
        if loaded is not None:
            if same_file(getattr(loaded, "__file__", None), str(path)):
                return name
        else:
            found = importlib.machinery.PathFinder.find_spec(name)
            if found is None or same_file(found.origin, str(path)):
                return name
    return "entry_" + "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name)
