"""What files tell of each other: where an imported name comes from, what a class inherits, who compiles what.

Nothing is parsed for this: imports, classes and functions are read off the lines they begin with. A file's own syntax
tree is interpreted alone; from here it only learns what its imports are (`Context`), and which functions of other files
become compiled by what stands in it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ddelint.files import LARGE, read_regular
from ddelint.operators import operators
from ddelint.static import scan

REMEMBERED = 200
"""Files whose outlines are kept: most of what is imported comes from the same few."""
MOST_STARS = 32
"""A file that imports everything of more modules gathers a whole library under one name; nobody looks behind that."""
DEEPEST = 8
"""Re-exports of re-exports, base classes of base classes."""

Reached = tuple[str, str]
"""A file, and a function (`fn`, `Class.method`) in it."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a file learns from the others."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    """Imported name → what it is outside of the project: `nz` → `torch.nonzero`, through however many files."""
    modules: Mapping[str, bool] = field(default_factory=dict)
    """Name of an imported base class → whether it is an nn.Module."""
    roots: frozenset[str] = frozenset()
    """Functions (`fn`, `Class.method`) that are compiled because of what stands in other files."""


@dataclass(frozen=True, slots=True)
class Imported:
    """`from module import name` (`name` empty: the module itself), at a level of dots."""

    level: int
    module: str
    name: str


class ClassOutline:
    """A module-level class: the names of its bases, and its methods."""

    def __init__(self, bases: tuple[str, ...], text: str) -> None:
        self.bases = bases
        self._text = text
        self._told: dict[str, tuple[frozenset[str], bool]] = {}

    @cached_property
    def methods(self) -> dict[str, str]:
        """Method → its text, from `def` to the next one."""
        found = [(indentation, place) for indentation, place in _first_on_lines(_FUNCTION, self._text) if indentation]
        if not found:
            return {}
        places = [place for indentation, place in found if indentation == found[0][0]]
        ends = [place.start() for place in places[1:]] + [len(self._text)]
        return {place.group(1): self._text[place.start() : end] for place, end in zip(places, ends, strict=True)}

    @cached_property
    def _kept(self) -> frozenset[str]:
        return scan.kept_tensors(self._text)

    def tells(self, method: str) -> tuple[frozenset[str], bool]:
        """Which methods a method calls on `self`, and whether its text may read or demand data."""
        if method not in self._told:
            text = self.methods[method]
            self._told[method] = frozenset(_OWN_CALL.findall(text)), scan.asks(text, self._kept)
        return self._told[method]


LONGEST_LIST = 10_000
"""Characters of an import's names in parentheses: what is longer was opened in a comment, and closes elsewhere."""

# An expression that begins with a word is looked for much faster than one that begins with a line. Each repeat is
# possessive or bounded: nothing is tried a second time, and an unfinished match ends soon.
_FROM = re.compile(r"from(?=[ \t.])[ \t]*+(\.*+)[ \t]*+(?:(?!import\b)([\w.]{1,500}+)[ \t]++)?+import\b[ \t]*+")
_LISTED = re.compile(r"\((?:[^()#]++|#[^\n]*+)*+\)|(?:[^\n#;\\]|\\\r?\n)*+")
_IMPORT = re.compile(r"import[ \t]++([^\n#;]++)")
_NO_NAME = re.compile(r"#[^\n]*|\\")
_CLASS = re.compile(r"class[ \t]++(\w++)[ \t]*+(?:\(([^)]{0,4000}+)\)[ \t]*+)?+:")
_FUNCTION = re.compile(r"def[ \t]++(\w++)")
_NEXT_STATEMENT = re.compile(r"\n[^\s#)\]}\"']")
_OWN_CALL = re.compile(r"self\.(\w++)\(")


def _first_on_lines(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """The matches that begin their line (or stand behind `async`), each with its indentation."""
    for match in pattern.finditer(text):
        start, end = _before_blanks(text, match.start()), match.start()
        if text[max(start - len("async"), 0) : start] == "async":
            end = start - len("async")
            start = _before_blanks(text, end)
        if not start or text[start - 1] == "\n":
            yield text[start:end], match


def _before_blanks(text: str, place: int) -> int:
    while place and text[place - 1] in " \t":
        place -= 1
    return place


def _at_the_margin(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    return (match for indentation, match in _first_on_lines(pattern, text) if not indentation)


def _imports_in(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Imports, those at the margin last: where a name is bound twice they count, not an example in a docstring.

    Before one there may be other statements on its line, or `try:`.
    """
    indented: list[re.Match[str]] = []
    others: list[re.Match[str]] = []
    for match in pattern.finditer(text):
        before = _before_blanks(text, match.start())
        if not before or text[before - 1] in "\n;:":
            line = text.rfind("\n", 0, match.start()) + 1
            (indented if text[line] in " \t" else others).append(match)
    return [*indented, *others]


class Outline:
    """The lines of a file that other files may ask about."""

    def __init__(self, data: bytes) -> None:
        self.text = data.decode("utf-8", errors="replace")
        self.digest = digest_of(data)

    @cached_property
    def imports(self) -> dict[str, Imported]:
        """Name → where it comes from. Star imports are in `stars`."""
        found: dict[str, Imported] = {}
        for match in _imports_in(_IMPORT, self.text):
            for part in match.group(1).split(","):
                name, _, alias = (word.strip() for word in part.partition(" as "))
                bound = alias or name.partition(".")[0]
                found[bound] = Imported(0, name if alias else bound, "")
        for dots, module, names in self._froms:
            for name, alias in names:
                if name != "*":
                    found[alias or name] = Imported(len(dots), module, name)
        return found

    @cached_property
    def stars(self) -> list[Imported]:
        """The modules of which everything is imported."""
        return [Imported(len(d), m, "") for d, m, names in self._froms if ("*", "") in names]

    @cached_property
    def _froms(self) -> list[tuple[str, str, list[tuple[str, str]]]]:
        found = []
        for match in _imports_in(_FROM, self.text):
            found_list = _LISTED.match(self.text, match.end(), match.end() + LONGEST_LIST)
            listed = _NO_NAME.sub("", found_list.group() if found_list else "").strip("() \t\r\n")
            names = [part.split() for part in listed.split(",")]
            pairs = [(words[0], words[2] if len(words) == 3 else "") for words in names if words]
            found.append((match.group(1), match.group(2) or "", pairs))
        return found

    @cached_property
    def classes(self) -> dict[str, ClassOutline]:
        """The module-level classes."""
        found: dict[str, ClassOutline] = {}
        for match in _at_the_margin(_CLASS, self.text):
            end = _NEXT_STATEMENT.search(self.text, match.end())
            bases = [base.partition("[")[0].strip() for base in (match.group(2) or "").split(",")]
            named = [base for base in bases if base and "=" not in base]
            names = tuple(base if re.fullmatch(r"[\w.]+", base) else "?" for base in named)  # ?: anything
            found[match.group(1)] = ClassOutline(names, self.text[match.start() : end.start() + 1 if end else None])
        return found

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names of the module-level functions."""
        return frozenset(match.group(1) for match in _at_the_margin(_FUNCTION, self.text))


def digest_of(data: bytes) -> str:
    """What stands for a file's content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class Project:
    """The files of a call. `consulted` grows while questions are answered: what the answers rest on."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = frozenset(files)
        self._outlines: dict[str, Outline | None] = {}
        self._modules: dict[tuple[str, int, str, str], tuple[str | None, dict[str, str | None]]] = {}
        self._places: dict[Reached, tuple[Reached | str | None, dict[str, str | None]]] = {}
        self._verdicts: dict[Reached, tuple[bool | None, dict[str, str | None]]] = {}
        self._handed: tuple[str, bytes] = "", b""
        self._seen: dict[str, str] = {}
        """File → the digest of what answers may rest on."""
        self.consulted: dict[str, str | None] = {}
        """File → its digest; None: it was looked for and is none of the project's."""

    @cached_property
    def _root_of(self) -> dict[str, str]:
        """Folder → the folder around the outermost package that it is in."""
        found: dict[str, str] = {}
        for folder in {os.path.dirname(file) for file in self._files}:
            root = folder
            while os.path.join(root, "__init__.py") in self._files and root != os.path.dirname(root):
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
        for folder in self._root_of:
            while folder != (above := os.path.dirname(folder)):
                if above in roots:
                    found.add(os.path.basename(folder))
                folder = above
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
            self._places.clear()  # answers that may rest on the old content
            self._verdicts.clear()

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

    # ---- classes

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
        for ancestor in self.ancestors(path, name):
            if isinstance(ancestor, str):
                if ancestor in known["module_bases"]:
                    return True
                last = ancestor.rpartition(".")[2]
                if last not in known["other_bases"] and not last.endswith(tuple(known["other_suffixes"])):
                    verdict = None
        return verdict

    # ---- what one file learns, and what it makes of others

    def inherits(self, path: str) -> tuple[Context, frozenset[Reached]]:
        """What the classes of a file learn from their base classes, and the methods of other files they compile."""
        outline = self.outline(path)
        modules: dict[str, bool] = {}
        own: set[str] = set()
        reached: set[Reached] = set()
        for name, cls in outline.classes.items() if outline is not None else ():
            elsewhere = False
            for base in cls.bases:
                found = self.resolve(path, base)
                if isinstance(found, tuple) and found[0] != path:
                    elsewhere = True
                    verdict = self.is_module(*found)
                    if verdict is not None:
                        modules[base] = verdict
            if elsewhere and self.is_module(path, name) is not False:
                mine, others = self._called(path, name)
                own |= mine
                reached |= others
        return Context(modules=modules, roots=frozenset(own)), frozenset(reached)

    def aliases(self, path: str) -> dict[str, str]:
        """Names that a file imports from the project, and that are of a library outside of it after all."""
        outline = self.outline(path)
        found: dict[str, str] = {}
        for name, imported in outline.imports.items() if outline is not None else ():
            if self.module(path, imported) is not None:
                place = self.resolve(path, name)
                if isinstance(place, str):
                    found[name] = place
        return found

    def _called(self, path: str, name: str) -> tuple[set[str], set[Reached]]:
        """The methods that the entry methods of a class call on `self`, across files.

        Those of `path` that something in another file calls, and those of other files that may ask.
        """
        chain = [ancestor for ancestor in self.ancestors(path, name) if isinstance(ancestor, tuple)]
        outlines: list[tuple[Reached, ClassOutline]] = []
        for place in chain:
            outline = self.outline(place[0])
            if outline is not None and place[1] in outline.classes:
                outlines.append((place, outline.classes[place[1]]))
        mine: set[str] = set()
        others: set[Reached] = set()
        waiting = [(method, False) for method in operators().regions["guessed_methods"]]
        seen: set[tuple[str, bool]] = set()
        while waiting:
            method, from_elsewhere = waiting.pop()
            if (method, from_elsewhere) in seen:
                continue
            seen.add((method, from_elsewhere))
            found = next((known for known in outlines if method in known[1].methods), None)
            if found is None:
                continue
            (file, cls), defined = found
            called, asks = defined.tells(method)
            if file == path and from_elsewhere:
                mine.add(f"{cls}.{method}")
            elif file != path and asks and method not in operators().regions["entry_methods"]:
                others.add((file, f"{cls}.{method}"))
            waiting += [(name, from_elsewhere or file != path) for name in called]
        return mine, others
