"""A syntax tree whose function bodies are parsed when somebody looks at them: most functions nobody looks at."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial

from ddelint.diagnostics import Span
from ddelint.operators import operators
from ddelint.source import DeferredBody, SourceError, SourceFile

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

PLACEHOLDER = "__later__"
"""The name that stands for a body until it is deferred."""
WORTH_IT = 3
"""Bodies of fewer lines are parsed at once."""

_DEFINITION = re.compile(r"def ")
_BEFORE_DEF = re.compile(r"[ \t]*(?:async[ \t]+)?")
_QUOTES = ('"""', "'''")


@dataclass(frozen=True, slots=True)
class _Body:
    """One function's place in the text; offsets in characters, rows from 1."""

    row: int
    start: int
    """Of the line with the `def`."""
    body: int
    end: int
    indentation: str


def outlined(source: SourceFile) -> SourceFile:
    """The file with deferred bodies, where no body can decide what is compiled (by a call, a nested decorator)."""
    if "tree" in vars(source) or may_compile(source.text):
        return source
    return OutlinedSource(source.filename, source.text, source.encoding)


def may_compile(text: str) -> bool:
    """Whether the text may hold a call, or a decorator, that says what is compiled. False is certain."""
    return any(name in text and pattern.search(text) for name, pattern in _compiling())


@cache
def _compiling() -> tuple[tuple[str, re.Pattern[str]], ...]:
    regions = operators().regions
    names = {name.rpartition(".")[2] for name in regions["compiling_calls"]} | regions["custom_operator_methods"]
    return tuple((n, re.compile(rf"\.{n}\b(?<!\bre\.{n})|import [^\n]*\b{n}\b")) for n in sorted(names))


class OutlinedSource(SourceFile):
    """A file whose `tree` defers most function bodies (see DeferredBody)."""

    def __init__(self, filename: str, text: str, encoding: str = "utf-8") -> None:
        super().__init__(filename, text, encoding)
        self.on_loading: Callable[[FunctionNode], None] | None = None
        """Told of each function whose body has been put in."""
        self._deferred: list[DeferredBody] = []

    def release(self) -> None:
        """Nothing more is asked: what holds the tree in a circle is cut, so that it goes without a collection."""
        self.on_loading = None
        for body in self._deferred:
            body.give_up()
        self._deferred.clear()

    @cached_property
    def tree(self) -> ast.Module:
        """The tree with deferred bodies, or the whole one where the text is laid out unusually. Raises SourceError."""
        bodies = list(_bodies(self.text))
        if bodies:
            try:
                tree = ast.parse(_without(self.text, bodies), self.filename)
                for node, place in _placed(tree, bodies, self.text):
                    node.body = deferred = DeferredBody(partial(self._load, node, place))
                    self._deferred.append(deferred)
            except (SyntaxError, ValueError, RecursionError, MemoryError, _Unusual):
                pass
            else:
                return tree
        return SourceFile(self.filename, self.text, self.encoding).tree

    def _load(self, node: FunctionNode, place: _Body) -> list[ast.stmt]:
        """Parse a function and put its body in. Raises SourceError where it does not parse."""
        whole = self._parsed(place)
        node.body, node.end_lineno, node.end_col_offset = whole.body, whole.end_lineno, whole.end_col_offset
        self._near.clear()
        self.__dict__.pop("parents", None)
        if self.on_loading is not None:
            self.on_loading(node)
        return whole.body

    def _parsed(self, place: _Body) -> FunctionNode:
        block = self.text[place.start : place.end]
        # as many lines before it as in the file, so that every position is the file's
        text = "\n" * (place.row - 2) + "if 1:\n" + block if place.indentation else "\n" * (place.row - 1) + block
        try:
            statement: ast.stmt = ast.parse(text, self.filename).body[0]
        except (SyntaxError, ValueError) as error:
            _ = SourceFile(self.filename, self.text, self.encoding).tree  # tells what is wrong, and where
            span = Span(self.filename, place.row, 1, place.row, 2)
            raise SourceError("the function does not parse", span) from error
        if isinstance(statement, ast.If):
            statement = statement.body[0]
        assert isinstance(statement, FunctionNode)
        return statement


class _Unusual(Exception):
    """The text is not laid out as the outline took it to be."""


def _bodies(text: str) -> Iterator[_Body]:
    """The functions that stand in no other, with bodies that are worth leaving out, in the order of the text."""
    if "\r" in text or "\f" in text:
        return
    strings = _strings(text)
    string = 0
    done = 0
    row, counted = 1, 0
    for match in _DEFINITION.finditer(text):
        start = match.start()
        if start < done:
            continue
        while string < len(strings) and strings[string][1] <= start:
            string += 1
        if string < len(strings) and strings[string][0] < start:
            continue
        line = text.rfind("\n", 0, start) + 1
        indentation = _BEFORE_DEF.fullmatch(text, line, start)
        if indentation is None:
            continue
        blank = text[line : line + len(text[line:start]) - len(text[line:start].lstrip())]
        body = _header_end(text, start, blank)
        if body is None:
            continue
        end = _body_end(text, body, blank, strings, string)
        if text.count("\n", body, end) < WORTH_IT:
            done = end
            continue
        row += text.count("\n", counted, line)
        counted = line
        done = end
        yield _Body(row, line, body, end, blank)


def _strings(text: str) -> list[tuple[int, int]]:
    """Where the triple-quoted strings begin and end. Quotes in comments mislead this, which `_placed` notices."""
    places = sorted((match.start(), quotes) for quotes in _QUOTES for match in re.finditer(quotes, text))
    found: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for start, quotes in places:
        if opened is None:
            opened = start, quotes
        elif quotes == opened[1] and text[start - 1] != "\\":
            found.append((opened[0], start + 3))
            opened = None
    return found


def _header_end(text: str, start: int, indentation: str) -> int | None:
    """The offset of the first line of the body; None where the header is laid out in an unusual way."""
    end = text.find("\n", start)
    if end < 0:
        return None
    first = text[start:end].partition("#")[0].rstrip()
    if first.endswith(":") and first.count("(") == first.count(")") and first.count("[") == first.count("]"):
        return end + 1
    closing = _closing(indentation).search(text, end)
    if closing is None or "def " in text[end : closing.start()]:
        return None
    return closing.end()


@cache
def _closing(indentation: str) -> re.Pattern[str]:
    return re.compile(rf"^{indentation}\)[^\n#]*:[ \t]*(?:#[^\n]*)?\n", re.MULTILINE)


@cache
def _outside(indentation: str) -> re.Pattern[str]:
    """The first line that is not indented deeper than the header."""
    return re.compile(rf"\n[ \t]{{0,{len(indentation)}}}[^\s#]")


def _body_end(text: str, body: int, indentation: str, strings: list[tuple[int, int]], string: int) -> int:
    pattern = _outside(indentation)
    position = body - 1
    while (match := pattern.search(text, position)) is not None:
        place = match.start() + 1
        while string < len(strings) and strings[string][1] <= place:
            string += 1
        if string == len(strings) or strings[string][0] >= place:
            return place
        position = strings[string][1] - 1
    return len(text)


def _without(text: str, bodies: list[_Body]) -> str:
    """The text with a placeholder for each body; every line that is left stays in its row."""
    pieces: list[str] = []
    done = 0
    for place in bodies:
        pieces.append(text[done : place.body])
        pieces.append(f"{place.indentation} return {PLACEHOLDER}")
        pieces.append("\n" * text.count("\n", place.body, place.end))
        done = place.end
    pieces.append(text[done:])
    return "".join(pieces)


def _placed(tree: ast.Module, bodies: list[_Body], text: str) -> list[tuple[FunctionNode, _Body]]:
    """Which node is to have which body. Raises _Unusual where a body belongs to none."""
    by_row = {place.row: place for place in bodies}
    found: list[tuple[FunctionNode, _Body]] = []
    waiting: list[ast.stmt | ast.excepthandler] = [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, FunctionNode):
            place = by_row.get(node.lineno)
            if place is not None and _is_placeholder(node.body[0]):
                found.append((node, place))
                node.end_lineno = place.row + text.count("\n", place.start, place.start + _length(text, place))
        else:
            for name in ("body", "orelse", "finalbody", "handlers"):
                waiting += getattr(node, name, ())
    if len(found) != len(bodies):
        raise _Unusual
    return found


def _is_placeholder(node: ast.stmt) -> bool:
    match node:
        case ast.Return(value=ast.Name(id=name)):
            return name == PLACEHOLDER
    return False


def _length(text: str, place: _Body) -> int:
    """How many characters the function has, without the blank lines and comments behind it."""
    end = place.end
    while True:
        line = text.rfind("\n", place.body, end - 1) + 1
        if line <= place.body:
            break
        stripped = text[line:end].strip()
        if stripped and not stripped.startswith("#"):
            break
        end = line
    return len(text[place.start : end].rstrip())
