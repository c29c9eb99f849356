"""Where an imported name comes from, and what a class inherits, across the files of a call.

Nothing is parsed for this: imports, classes and functions are read off the lines they begin with.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from functools import cached_property
from typing import Any

from ddelint.knowledge.operators import operators
from ddelint.static.program.declared import Imported, Outline
from ddelint.system.digests import digest_of
from ddelint.system.files import LARGE, read_regular

REMEMBERED = 200
"""Files whose outlines are kept: most of what is imported comes from the same few."""
MOST_STARS = 32
"""A file that imports everything of more modules gathers a whole library under one name; nobody looks behind that."""
DEEPEST = 8
"""Re-exports of re-exports, base classes of base classes."""


Reached = tuple[str, str]
"""A file, and a function (`fn`, `Class.method`) in it."""

Consulted = Mapping[str, str | None]
"""The files that an answer rests on: see `Imports.consulted`."""


def forget(path: str, *answers: MutableMapping[Any, tuple[Any, Consulted]]) -> None:
    """Drop the answers that rest on a file, which has changed; each comes with what it rests on."""
    for known in answers:
        for question in [question for question, (_, consulted) in known.items() if path in consulted]:
            del known[question]


class Imports:
    """The files of a call. `consulted` grows while questions are answered: what the answers rest on."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = frozenset(files)
        self._outlines: dict[str, Outline | None] = {}
        self._modules: dict[tuple[str, int, str, str], tuple[str | None, Consulted]] = {}
        self._places: dict[Reached, tuple[Reached | str | None, Consulted]] = {}
        self._verdicts: dict[Reached, tuple[bool | None, Consulted]] = {}
        self._handed: tuple[str, bytes] = "", b""
        self.changes: list[str] = []
        """Files that were found to be others than before, in this order."""
        self._seen: dict[str, str] = {}
        """File → the digest of what answers may rest on."""
        self.consulted: dict[str, str | None] = {}
        """File → its digest; None: it was looked for and is none of the project's."""

    @cached_property
    def _root_of(self) -> dict[str, str]:
        """Folder → the folder around the outermost package that it is in.

        A folder of modules without an `__init__` is part of the package around it.
        """
        folders = {os.path.dirname(file) for file in self._files}
        packages = {folder for folder in folders if os.path.join(folder, "__init__.py") in self._files}
        found: dict[str, str] = {}
        for folder in folders:
            root = folder
            while root in packages or (root in folders and root != folder and _lies_in(root, packages)):
                root = os.path.dirname(root)
            found[folder] = root
        return found

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The folders that absolute imports start from."""
        return tuple(sorted(set(self._root_of.values())))

    @cached_property
    def _tops(self) -> frozenset[str]:
        """What an absolute import of the project's files can begin with: modules and folders in a root."""
        roots = frozenset(self._root_of.values())
        found = {os.path.basename(file).removesuffix(".py") for file in self._files if os.path.dirname(file) in roots}
        for folder, root in self._root_of.items():
            if folder != root:
                found.add(os.path.relpath(folder, root).partition(os.sep)[0])
            while root != (above := os.path.dirname(root)):
                if above in roots:
                    found.add(os.path.basename(root))
                root = above
        return frozenset(found)

    @cached_property
    def signature(self) -> str:
        """Changes when another import could be one of the project's."""
        return digest_of("\0".join((*self.roots, *sorted(self._tops))).encode(errors="surrogateescape"))

    def holds(self, path: str) -> bool:
        """Whether the file is one of the call's."""
        return path in self._files

    def hand(self, path: str, data: bytes) -> None:
        """The content of a file that will be asked about, so that it isn't read again. It may be new (a fix)."""
        self._handed = path, data
        if path in self._seen and self._seen[path] != digest_of(data):
            del self._seen[path]
            self._outlines.pop(path, None)
            self.changes.append(path)
            forget(path, self._places, self._verdicts)

    def _read(self, path: str) -> Outline | None:
        handed, data = self._handed
        if handed != path:
            try:
                data = read_regular(path, LARGE)
            except OSError:
                return None
        return Outline(data)

    def outline(self, path: str) -> Outline | None:
        """The lines of a file that matter to others; None where it cannot be read."""
        if path not in self._outlines:
            while len(self._outlines) >= REMEMBERED:
                del self._outlines[next(iter(self._outlines))]
            self._outlines[path] = self._read(path)
        found = self._outlines[path] = self._outlines.pop(path)  # the last that is forgotten
        self.consulted[path] = None if found is None else found.digest
        self._seen[path] = "" if found is None else found.digest
        return found

    def module(self, importer: str, imported: Imported, more: str = "") -> str | None:
        """The file of an imported module, where it is one of the project's; `more`: a submodule of it."""
        if not imported.level and imported.module.partition(".")[0] not in self._tops:
            return None
        key = (os.path.dirname(importer), imported.level, imported.module, more)
        if key not in self._modules:
            before, self.consulted = self.consulted, {}
            found = self._module(importer, imported, more)
            self._modules[key] = found, self.consulted
            self.consulted = before
        found, consulted = self._modules[key]
        self.consulted.update(consulted)
        return found

    def _module(self, importer: str, imported: Imported, more: str) -> str | None:
        parts = [part for part in (*imported.module.split("."), *more.split(".")) if part]
        if imported.level:
            folder = importer
            for _ in range(imported.level):
                folder = os.path.dirname(folder)
            folders = [folder]
        elif not parts:
            return None
        else:
            folders = list(dict.fromkeys((self._root_of[os.path.dirname(importer)], *self.roots)))
        for folder in folders:
            stem = os.path.join(folder, *parts)
            for candidate in (f"{stem}.py", os.path.join(stem, "__init__.py")):
                if candidate in self._files:
                    return candidate
                self.consulted[candidate] = None
        return None

    def resolve(self, path: str, name: str, depth: int = 0) -> Reached | str | None:
        """Where a (dotted) name of a file comes from: a definition in the project, or a full name outside of it."""
        key = (path, name)
        if key not in self._places:
            before, self.consulted = self.consulted, {}
            found = self._resolve(path, name, depth)
            if not depth:  # an answer that the depth may have cut short is not for keeps
                self._places[key] = found, self.consulted
            before.update(self.consulted)
            self.consulted = before
            return found
        found, consulted = self._places[key]
        self.consulted.update(consulted)
        return found

    def _resolve(self, path: str, name: str, depth: int) -> Reached | str | None:
        outline = self.outline(path)
        if outline is None or depth > DEEPEST:
            return None
        first, _, rest = name.partition(".")
        if first in outline.classes or first in outline.functions:
            return None if rest else (path, first)
        imported = outline.imports.get(first)
        if imported is None and len(outline.stars) > MOST_STARS:
            return None
        if imported is None:
            for star in outline.stars:
                target = self.module(path, star)
                found = self.resolve(target, name, depth + 1) if target is not None else None
                if found is not None:
                    return found
            return None
        inner = self.module(path, imported, imported.name)
        found = self.resolve(inner, rest, depth + 1) if inner is not None and rest else None
        if found is not None:
            return found
        deeper = rest.split(".")
        for count in range(len(deeper) - 1, 0, -1):  # import package.module; package.module.fn
            submodule = ".".join(part for part in (imported.name, *deeper[:count]) if part)
            target = self.module(path, imported, submodule)
            if target is not None:
                return self.resolve(target, ".".join(deeper[count:]), depth + 1)
        if inner is not None:
            return None
        target = self.module(path, imported) if imported.name else None
        if target is not None:
            whole = f"{imported.name}.{rest}" if rest else imported.name
            return self.resolve(target, whole, depth + 1) if target != path else None
        if imported.level:
            return None
        return ".".join(part for part in (imported.module, imported.name, rest) if part)

    def bound(self, path: str, name: str, depth: int = 0) -> tuple[str, frozenset[str]] | None:
        """The file in which a name of a module is bound to a value, and the names in that: `OPS = {"a": one}`."""
        outline = self.outline(path)
        if outline is None or depth > DEEPEST:
            return None
        if name in outline.bound:
            return path, outline.bound[name]
        imported = outline.imports.get(name)
        if imported is None:
            targets = [self.module(path, star) for star in outline.stars[:MOST_STARS]]
            found = (self.bound(target, name, depth + 1) for target in targets if target not in (None, path))
            return next((one for one in found if one is not None), None)
        target = self.module(path, imported) if imported.name else None
        return self.bound(target, imported.name, depth + 1) if target not in (None, path) else None

    def is_exported(self, path: str, name: str) -> bool:
        """Whether a package that a file lies in imports a function of it, under whatever name, for others to use."""
        for front, outline in self.fronts(path):
            others = (bound for bound, way in outline.imports.items() if way.name == name)
            if any(self.resolve(front, bound) == (path, name) for bound in (name, *others)):
                return True
        return False

    def fronts(self, path: str) -> Iterator[tuple[str, Outline]]:
        """The `__init__` of each package that a file lies in, from the inside."""
        folder = os.path.dirname(path)
        root = self._root_of.get(folder, folder)
        while folder != root:
            front = os.path.join(folder, "__init__.py")
            outline = self.outline(front) if front != path and front in self._files else None
            if front not in self._files:
                self.consulted[front] = None
            if outline is not None:
                yield front, outline
            folder = os.path.dirname(folder)

    def names_tensors(self, path: str, name: str, *, within: bool = False) -> bool:
        """Whether a name of a module is that of a type of tensors: `Points = TensorType["n", 3]`, or an heir of one.

        `within`: also of what holds tensors, `Pair = tuple[Tensor, Tensor]`.
        """
        known = operators().annotations
        types = known["tensor"] | known["mask"]
        place = self.resolve(path, name)
        if isinstance(place, tuple):
            above = (ancestor for ancestor in self.ancestors(*place) if isinstance(ancestor, str))
            return any(ancestor.rpartition(".")[2] in types for ancestor in above)
        bound = self.bound(path, name) if place is None else None
        words = set() if bound is None else {full.rpartition(".")[2] for full in bound[1]}
        tensors = words & types
        others = known["arrays"] | known["union"] | known["optional"] | (known["anything"] if within else frozenset())
        return bool(tensors) and words <= tensors | others

    def is_record_of_tensors(self, path: str, name: str) -> bool:
        """Whether a name of a module is that of a class that declares attributes that are tensors, or of an heir."""
        place = self.resolve(path, name)
        if not isinstance(place, tuple) or self.is_module(*place) is True:
            return False
        known = operators().annotations
        types = known["tensor"] | known["mask"]
        for ancestor in self.ancestors(*place):
            outline = self.outline(ancestor[0]) if isinstance(ancestor, tuple) else None
            cls = outline.classes.get(ancestor[1]) if outline is not None else None
            if cls is not None and any(full.rpartition(".")[2] in types for full in cls.declared):
                return True
        return False

    # ---- classes

    def is_ours(self, path: str, name: str) -> bool:
        """Whether a name is of the file, or imported from one of the project's."""
        outline = self.outline(path)
        if outline is None:
            return False
        if name in outline.functions or name in outline.classes:
            return True
        imported = outline.imports.get(name)
        if imported is None:
            return bool(outline.stars) and name not in operators().builtins
        return self.module(path, imported) is not None or (self.module(path, imported, imported.name) is not None)

    def is_class(self, place: Reached) -> bool:
        """Whether what a name stands for is a class."""
        outline = self.outline(place[0])
        return outline is not None and place[1] in outline.classes

    def ancestors(self, path: str, name: str) -> Iterator[Reached | str]:
        """A class and what it inherits from, nearest first: definitions, and names outside of the project."""
        waiting: list[Reached | str] = [(path, name)]
        seen: set[Reached | str] = set()
        while waiting:
            current = waiting.pop(0)
            if current in seen or len(seen) > 64:
                continue
            seen.add(current)
            yield current
            if isinstance(current, str):
                continue
            outline = self.outline(current[0])
            found = outline.classes.get(current[1]) if outline is not None else None
            for base in found.bases if found is not None else ():
                waiting.append(self.resolve(current[0], base) or f"?.{base}")

    def is_module(self, path: str, name: str) -> bool | None:
        """Whether a class is an nn.Module; None where a base class is of no file here."""
        place = (path, name)
        if place not in self._verdicts:
            before, self.consulted = self.consulted, {}
            verdict = self._is_module(path, name)
            self._verdicts[place] = verdict, self.consulted
            self.consulted = before
        verdict, consulted = self._verdicts[place]
        self.consulted.update(consulted)
        return verdict

    def _is_module(self, path: str, name: str) -> bool | None:
        known = operators().regions
        verdict: bool | None = False
        guessed = False
        for ancestor in self.ancestors(path, name):
            if isinstance(ancestor, str):
                if ancestor in known["module_bases"]:
                    return True
                last = ancestor.rpartition(".")[2]
                if last in known["other_bases"] or last.endswith(tuple(known["other_suffixes"])):
                    continue
                if last.endswith(tuple(known["sure_suffixes"])):
                    return True
                guessed = guessed or last.endswith(tuple(known["module_suffixes"]))
                verdict = None
        return True if guessed and self._enters(path, name) else verdict

    def _enters(self, path: str, name: str) -> bool:
        """Whether a class has, or inherits from one of the project, a method that makes it a module."""
        for place in self.ancestors(path, name):
            outline = self.outline(place[0]) if isinstance(place, tuple) else None
            found = outline.classes.get(place[1]) if outline is not None else None
            if found is not None and not operators().regions["guessed_methods"].isdisjoint(found.methods):
                return True
        return False


def _lies_in(folder: str, packages: Collection[str]) -> bool:
    """Whether a folder around this one is a package."""
    while folder != (above := os.path.dirname(folder)):
        if above in packages:
            return True
        folder = above
    return False
