"""Functions of a package that are made of tensors and for everybody: who imports them compiles them.

Nothing in the package need call them from a `forward`. By their text: their name is public, they take a tensor (by
annotation, or as only tensors are used) and give back tensors, and do nothing that no compiler follows.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterator
from functools import cache

from ddelint.knowledge import extensions
from ddelint.knowledge.operators import operators
from ddelint.static.program import eagerness, scan
from ddelint.static.program.always import Always, alone, eager_calls
from ddelint.static.program.declared import ClassOutline, Outline
from ddelint.static.program.distributed import is_distributed
from ddelint.static.program.documented import docstring_of, documented_tensors
from ddelint.static.program.eagerness import is_fit, is_test, keeps_states, reads_files, words_in
from ddelint.static.program.giving import gives_numbers, gives_records, gives_something, tells
from ddelint.static.program.imports import Imports

_OBJECTS = frozenset({"self", "cls"})
LONGEST_HEADER = 4_000
"""Characters of a function's parameters."""

_MISSING = frozenset({"None", "Optional", "typing"})
"""Words in annotations that say nothing of what a container holds."""
_WORD = re.compile(r"\w++")
_HANDED_ON = re.compile(r"(?<![\w.])(\w++)\(((?:\s*+\w++\s*+,){0,8}(?:\s*+\w++(?=\s*+\)))?)")
"""A call, and those of its first arguments that are names."""
_HEADER_LINE = re.compile(r":[ \t]*+(?:#[^\n]*+)?\n")


def public_functions(
    path: str, outline: Outline, project: Imports | None, eager: Always | None = None
) -> frozenset[str]:
    """The functions (`fn`, `Class.method`) of a file that people import to compile them."""
    if not in_package(path):
        return frozenset()
    project = project or alone(path, outline.text)
    reader = _Reader(path, outline, project, eager or eager_calls(project))
    texts = outline.function_texts
    of_tensors = (name for name in texts if _is_for_others(name) and reader.is_of_tensors(texts[name]))
    found = {name for name in of_tensors if not reader.only_eager_use(name) and reader.is_shown(name)}
    for owner, cls in outline.classes.items():
        if not owner.startswith("_") and cls.bases and _is_interface(path, owner, project):
            of_tensors = (name for name, text in _public(cls) if reader.is_of_tensors(text, owner, records=True))
            found |= {f"{owner}.{name}" for name in of_tensors if not _prepares(cls, name)}
        elif not owner.startswith("_"):
            found |= {
                f"{owner}.{name}" for name, text in _public(cls) if reader.is_of_tensors(text, owner, static=True)
            }
            found |= {f"{owner}.{name}" for name in _of_accumulator(path, owner, cls, reader, project)}
        if cls.bases and _inherits(path, owner, "stepping_bases", project):
            steps = operators().regions["stepping"] & cls.methods.keys()
            found |= {f"{owner}.{name}" for name in steps if not reader.is_eager(cls.methods[name], owner)}
        if cls.bases or not owner.startswith("_"):
            found |= {f"{owner}.{name}" for name in _of_metric(owner, cls, reader)}
    return frozenset(found)


def _public(cls: ClassOutline) -> Iterator[tuple[str, str]]:
    """The public methods of a class, each with its text, but for those that are compiled in any case."""
    entries = operators().regions["entry_methods"]
    return ((name, text) for name, text in cls.methods.items() if _is_for_others(name) and name not in entries)


def _prepares(cls: ClassOutline, name: str) -> bool:
    """Whether a method is there for those of its class that make parameters, as constructors do: all that call it."""
    used = re.compile(rf"\bself\.{name}\b")
    users = [method for method, text in cls.methods.items() if method != name and used.search(text)]
    known = operators().regions
    return bool(users) and all(
        user in known["constructors"]
        or (user not in known["entry_methods"] and eagerness.makes_parameters(cls.methods[user]))
        for user in users
    )


def _is_for_others(name: str) -> bool:
    """Whether a function's name is public, and not that of what no compiler follows."""
    return not name.startswith("_") and not _is_eager_by_name(name)


def _is_eager_by_name(name: str) -> bool:
    """Whether a name is that of what fits, reads files or the states of modules, tests, or tells how it went."""
    told = words_in(name) & operators().regions["eager_words"]
    return bool(told) or is_fit(name) or reads_files(name) or keeps_states(name) or is_test(name)


def _of_metric(owner: str, cls: ClassOutline, reader: _Reader) -> Collection[str]:
    """The methods by which a metric is used, where the class is one of tensors."""
    inputs, answers = operators().regions["metric_inputs"], operators().regions["metric_answers"]
    if not inputs | answers <= cls.methods.keys():
        return ()
    if not all(reader.is_of_tensors(cls.methods[name], owner, gives=False) for name in inputs):
        return ()
    return [*inputs, *(name for name in answers if not reader.is_eager(cls.methods[name], owner))]


def _of_accumulator(path: str, owner: str, cls: ClassOutline, reader: _Reader, project: Imports) -> Iterator[str]:
    """The methods that take and give tensors of a class that keeps them until it is reset, and that its package shows.

    An environment is reset, too, and makes steps.
    """
    known, methods = operators().regions, cls.methods.keys()
    resets, steps = known["accumulator_resets"] & methods, known["environment_methods"] & methods
    if resets and not steps and project.is_exported(path, owner):
        public = ((name, text) for name, text in _public(cls) if reader.says_tensors(text))
        yield from (name for name, text in public if reader.is_of_tensors(text, owner))


def in_package(path: str) -> bool:
    """Whether a file is of a package, and not among its tests, examples, or what reads data and draws."""
    packaged = _places(os.path.dirname(os.path.abspath(path))) is not None or is_distributed(path)
    return packaged and not among_eager(path)


def among_eager(path: str) -> bool:
    """Whether a file lies among a package's tests, examples, or what reads data and draws."""
    folder, name = os.path.split(os.path.abspath(path))
    return bool(((_places(folder) or frozenset()) | words_in(name)) & operators().regions["eager_places"])


@cache
def _places(folder: str) -> frozenset[str] | None:
    """The words in the names of a package's folder and of those around it; None where it is none.

    A folder inside of a package is one itself, with an `__init__.py` or without.
    """
    around, name = os.path.split(folder)
    outer = _places(around) if name else None
    if outer is None and not os.path.exists(os.path.join(folder, "__init__.py")):
        return None
    return (outer or frozenset()) | words_in(name)


def _is_interface(path: str, owner: str, project: Imports) -> bool:
    """Whether objects of a class are compiled: modules, and what goes with them."""
    return project.is_module(path, owner) is True or _inherits(path, owner, "interface_bases", project)


def _inherits(path: str, owner: str, bases: str, project: Imports) -> bool:
    """Whether a class is made of one of those, or of one whose module is among them, that this entry has."""
    known = operators().regions[bases]
    found = (ancestor for ancestor in project.ancestors(path, owner) if isinstance(ancestor, str))
    return any(ancestor in known or ancestor.rpartition(".")[0] in known for ancestor in found)


class _Reader:
    """Reads the functions of one file, and of those that they hand their arguments on to."""

    def __init__(self, path: str, outline: Outline, project: Imports, eager: Always) -> None:
        self._path = path
        self._project = project
        self._text = outline.text
        self._texts = outline.function_texts
        self._listed = outline.listed
        self._strangers = _strangers(outline)
        self._eager_calls = eager
        self._places: dict[str, tuple[bool, ...]] = {}
        """Function → which of its parameters are tensors, in their order; while that is found out, none."""

    def is_of_tensors(
        self, text: str, owner: str = "", *, gives: bool = True, records: bool = False, static: bool = False
    ) -> bool:
        """Whether a function takes (and gives) tensors, and does nothing that no compiler follows.

        `records`: it may give an object of any class; `static`: it is a class's, and must not need an object.
        """
        header = _header(text)
        if header is None or self.is_eager(text, owner, len(header)):
            return False
        node = _parsed(header)
        if node is None or not self._parameters(node, text[len(header) :]):
            return False
        if static and _first(node) in _OBJECTS:
            return False
        if not gives:
            return True
        if node.returns is None:
            body = text[len(header) :]
            return gives_something(body) and not gives_numbers(body) and not gives_records(body, self._texts)
        words = _words_of(node.returns)
        if self._say_tensor(words):
            return True
        if any(tells(word) for word in words):
            return False
        if words & operators().annotations["sequence"] and words & operators().annotations["mapping"]:
            return False
        named = words - _containers() - _MISSING
        if named and all(self._is_record(word) for word in named):
            return True
        return (
            not named <= operators().annotations["number"]
            if records and named
            else bool(words & _containers()) and not named
        )

    def says_tensors(self, text: str) -> bool:
        """Whether a function's annotations say that it takes a tensor, and gives tensors."""
        header = _header(text)
        node = None if header is None else _parsed(header)
        if node is None or node.returns is None or not self._say_tensor(_words_of(node.returns)):
            return False
        given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        return any(p.annotation is not None and self._say_tensor(_words_of(p.annotation)) for p in given)

    def only_eager_use(self, name: str) -> bool:
        """Whether all that a file does with a function is to call it in others that no compiler follows.

        It is for others, too, where a package imports it from there.
        """
        call = re.compile(rf"(?<![\w.]){name}\(")
        users = [other for other, text in self._texts.items() if other != name and name in text and call.search(text)]
        if not users or not all(_is_eager_by_name(user) or self.is_eager(self._texts[user]) for user in users):
            return False
        calls = sum(len(call.findall(self._texts[user])) for user in (*users, name))
        if calls != len(re.findall(rf"\b{name}\b", self._text)):
            return False
        return not self._project.is_exported(self._path, name)

    def is_shown(self, name: str) -> bool:
        """Whether a function is among those that its file says are for others, or that its package shows."""
        return self._listed is None or name in self._listed or self._project.is_exported(self._path, name)

    def is_eager(self, text: str, owner: str = "", start: int = 0) -> bool:
        """Whether a function, or a method of a class, does what no compiler follows; its body begins at `start`."""
        if self._strangers is not None and self._strangers.search(text):
            return True
        return eagerness.is_eager(text, start) or self._eager_calls.through_calls(text, self._path, owner)

    def _parameters(self, node: ast.FunctionDef, body: str) -> frozenset[str]:
        """The parameters that are tensors: by annotation, by use, or as they are handed on; none for what is eager."""
        known = operators().regions
        found: set[str] = set()
        undeclared: list[str] = []
        for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            words = frozenset() if parameter.annotation is None else _words_of(parameter.annotation)
            if words & (known["eager_arguments"] | known["eager_types"]):
                return frozenset()
            if words and self._say_tensor(words):
                found.add(parameter.arg)
            elif parameter.arg in known["eager_names"]:
                return frozenset()
            elif parameter.annotation is None:
                undeclared.append(parameter.arg)
        if not found and undeclared:
            text = scan.without_prose(body)
            used = {
                name for match in _tensor_use().finditer(text) for name in _WORD.findall(match[match.lastindex or 0])
            }
            said = documented_tensors(docstring_of(body))
            found = (used | said).intersection(undeclared) or set(self._handed_on(text, undeclared))
        return frozenset(found)

    def _say_tensor(self, words: frozenset[str]) -> bool:
        """Whether the words of an annotation name a type of tensors, or of what holds them, under whatever name."""
        if words & _tensor_types():
            return True
        return any(self._project.names_tensors(self._path, word, within=True) for word in words)

    def _is_record(self, word: str) -> bool:
        """Whether a name of the file is a class of the project that declares tensors: a named tuple, a dataclass."""
        return self._project.is_record_of_tensors(self._path, word)

    def _handed_on(self, text: str, names: Collection[str]) -> Iterator[str]:
        """Those of the names that a function is given where it takes a tensor."""
        for called, given in _HANDED_ON.findall(text):
            arguments = _WORD.findall(given)
            if any(name in names for name in arguments):
                yield from (name for name, takes in zip(arguments, self._takes(called)) if takes and name in names)

    def _takes(self, function: str) -> tuple[bool, ...]:
        """Which arguments of a function, of this file or of another one, are tensors, in their order."""
        if function not in self._places:
            self._places[function] = ()
            text = self._texts.get(function) or self._imported(function)
            header = None if text is None else _header(text)
            node = None if header is None else _parsed(header)
            if text is not None and header is not None and node is not None:
                tensors = self._parameters(node, text[len(header) :])
                order = [*node.args.posonlyargs, *node.args.args]
                self._places[function] = tuple(parameter.arg in tensors for parameter in order)
        return self._places[function]

    def _imported(self, function: str) -> str | None:
        """The text of a function of another file of the project."""
        place = self._project.resolve(self._path, function)
        if not isinstance(place, tuple) or place[0] == self._path:
            return None
        outline = self._project.outline(place[0])
        return None if outline is None else outline.function_texts.get(place[1])


def _strangers(outline: Outline) -> re.Pattern[str] | None:
    """Uses of what the file imports from libraries that no compiler follows, but for what is asked about numbers."""
    known = operators().regions
    libraries = known["drawing_libraries"] | known["array_libraries"]
    names = [
        name
        for name, way in outline.imports.items()
        if not way.level and (way.module or way.name).partition(".")[0] in libraries
    ]
    if not names:
        return None
    numbers = rf"\.(?:{'|'.join(sorted(known['array_numbers']))})\b"
    return re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(names)))})\b(?!{numbers})")


def _first(node: ast.FunctionDef) -> str:
    """The name of the first parameter; empty where there is none."""
    return next((parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)), "")


def _parsed(header: str) -> ast.FunctionDef | None:
    try:
        node = ast.parse(f"{header} ...").body[0]
    except (SyntaxError, ValueError):
        return None
    return node if isinstance(node, ast.FunctionDef) else None


def _words_of(annotation: ast.expr) -> frozenset[str]:
    """The names in an annotation, also where it is text."""
    found: set[str] = set()
    for node in ast.walk(annotation):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.Constant(value=str(text)):
                found.update(_WORD.findall(text))
    return frozenset(found)


def _header(text: str) -> str | None:
    """From `def` to the colon before the body."""
    opened = text.find(")")
    while opened >= 0:
        line = _HEADER_LINE.search(text, opened, LONGEST_HEADER)
        if line is None:
            return None
        header = text[: line.start() + 1]
        if header.count("(") == header.count(")") and header.count("[") == header.count("]"):
            return header
        opened = line.end()
    return None


@cache
def _tensor_types() -> frozenset[str]:
    known = operators().annotations
    return known["tensor"] | known["mask"] | known["integers"]


@cache
def _containers() -> frozenset[str]:
    """What may hold tensors where an annotation says no more than that."""
    return operators().annotations["sequence"] | operators().annotations["mapping"]


@extensions.remembered
def _tensor_use() -> re.Pattern[str]:
    """What is used as only tensors are, and what a call is given whose answer is: `jacobian(f, x).pinverse()`."""
    known = operators()
    methods = "|".join(sorted(known.sure_methods))
    makers = "|".join(sorted(known.regions["made_of_numbers"]))
    sure = "|".join(sorted(known.sure_methods | known.sure_attributes))
    return re.compile(
        rf"(?<![\w.])(\w++)\.(?:{sure})\b|(?<![\w.])(?:torch|F)\.(?!(?:{makers})\()\w++(?:\.\w++)?\((\w++)(?=[,)])"
        rf"|\w\((\w[\w, ]{{0,99}}+)\)\.(?:{methods})\("
    )
