"""A syntax tree whose function bodies are parsed when somebody looks at them: most functions nobody looks at."""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial

from ddelint.knowledge import extensions
from ddelint.knowledge.operators import operators
from ddelint.nouns.spans import Span
from ddelint.sources.parsing import TOO_DEEP, parse
from ddelint.sources.source import DeferredBody, SourceError, SourceFile
from ddelint.static.domain.definitions import FunctionNode

PLACEHOLDER = "__later__"
"""The name that stands for a body until it is deferred."""
WORTH_IT = 3
"""Bodies of fewer lines are parsed at once."""
LONGEST_HEADER = 100
"""Lines after which the end of a function's header is no longer looked for."""

_DEFINITION = re.compile(r"def[ \t]+(\w+)")
_BEFORE_DEF = re.compile(r"[ \t]*(?:async[ \t]+)?")
_WORD = re.compile(r"\w")
_NAMING = re.compile(r"=|\bimport\b")
_REGULAR_EXPRESSION = re.compile(r"\bre\.$")
_QUOTES = ('"""', "'''")


@dataclass(frozen=True, slots=True)
class Body:
    """One function's place in the text; offsets in characters, rows from 1."""

    name: str
    row: int
    start: int
    """Of the line with the `def`."""
    body: int
    end: int
    indentation: str


def outlined(source: SourceFile, compiles: bool = True) -> SourceFile:
    """The file with deferred bodies, but for those that may decide what is compiled (by a call, a nested decorator).

    `compiles`: whether any may, where that is known.
    """
    if "tree" in vars(source):
        return source
    found = OutlinedSource(source.filename, source.text, source.encoding)
    if not compiles:
        found.compiling_places = []
    return found


def may_compile(source: SourceFile) -> bool:
    """Whether the text may hold a call, or a decorator, that says what is compiled. False is certain."""
    if isinstance(source, OutlinedSource):
        return bool(source.compiling_places)
    return next(_compiling_places(source.text), None) is not None


def _compiling_places(text: str) -> Iterator[int]:
    """Where it may hold one, in no order: `anything.compile` but for `re.compile`, and imports."""
    for name, pattern in _compiling():
        if name not in text:
            continue
        for match in pattern.finditer(text):
            start = match.start()
            if text[start - 1 : start] == ".":
                if _REGULAR_EXPRESSION.search(text, max(start - 4, 0), start) is None:
                    yield start
            elif "import " in text[text.rfind("\n", 0, start) + 1 : start] and not _WORD.match(text[start - 1]):
                yield start


@extensions.remembered
def _compiling() -> tuple[tuple[str, re.Pattern[str]], ...]:
    regions = operators().regions
    names = {name.rpartition(".")[2] for name in regions["compiling_calls"]}
    names |= regions["custom_operator_methods"] | regions["fake_kernel_methods"]
    # what is looked up in the name is something else (`torch.jit.is_tracing`), and code has no backquotes
    return tuple((name, re.compile(rf"{name}\b(?![.`]|[ \t]+import\b)")) for name in sorted(names))


class OutlinedSource(SourceFile):
    """A file whose `tree` defers most function bodies (see DeferredBody): all that cannot say what is compiled."""

    def __init__(self, filename: str, text: str, encoding: str = "utf-8") -> None:
        super().__init__(filename, text, encoding)
        self.on_loading: Callable[[FunctionNode], None] | None = None
        """Told of each function whose body has been put in."""
        self.too_deep: list[FunctionNode] = []
        """Functions that were looked at but could not be parsed, for they nest too deep: they stand there empty."""
        self._deferred: list[DeferredBody] = []

    def release(self) -> None:
        """Nothing more is asked: what holds the tree in a circle is cut, so that it goes without a collection."""
        self.on_loading = None
        for body in self._deferred:
            body.give_up()
        self._deferred.clear()

    @cached_property
    def functions(self) -> list[Body]:
        """See functions_in."""
        return list(functions_in(self.text))

    @cached_property
    def compiling_places(self) -> list[int]:
        """Where the text may hold a call, or a decorator, that says what is compiled: offsets, in no order."""
        return list(_compiling_places(self.text))

    @cached_property
    def tree(self) -> ast.Module:
        """The tree with deferred bodies, or the whole one where the text is laid out unusually. Raises SourceError."""
        worth_it = [body for body in self.functions if self._is_worth_it(body)]
        bodies = _without_compiling(self.text, worth_it, self.compiling_places)
        if bodies:
            try:
                tree = parse(_without(self.text, bodies), self.filename)
                for node, place in _placed(tree, bodies, self.text):
                    node.body = deferred = DeferredBody(partial(self._load, node, place))
                    self._deferred.append(deferred)
            except (SyntaxError, ValueError, *TOO_DEEP, _Unusual):
                pass
            else:
                return tree
        return SourceFile(self.filename, self.text, self.encoding).tree

    def _is_worth_it(self, body: Body) -> bool:
        """Whether to defer the body: not a short one, nor one in which a class has an entry of its own."""
        return self.text.count("\n", body.body, body.end) >= WORTH_IT and not any(
            f"def {name}(" in self.text[body.body : body.end] for name in operators().regions["entry_methods"]
        )

    @property
    def defers(self) -> bool:
        """Whether there are bodies that were not parsed with the rest."""
        return bool(self._deferred)

    def _load(self, node: FunctionNode, place: Body) -> list[ast.stmt]:
        """Parse a function and put its body in. Raises SourceError where it does not parse."""
        try:
            whole = self._parsed(place)
        except TOO_DEEP:
            self.too_deep.append(node)
            return [ast.copy_location(ast.Pass(), node)]
        node.body, node.end_lineno, node.end_col_offset = whole.body, whole.end_lineno, whole.end_col_offset
        self._near.clear()
        self.__dict__.pop("parents", None)
        if self.on_loading is not None:
            self.on_loading(node)
        return whole.body

    def _parsed(self, place: Body) -> FunctionNode:
        block = self.text[place.start : place.end]
        # as many lines before it as in the file, so that every position is the file's
        text = "\n" * (place.row - 2) + "if 1:\n" + block if place.indentation else "\n" * (place.row - 1) + block
        try:
            statement: ast.stmt = parse(text, self.filename).body[0]
        except (SyntaxError, ValueError) as error:
            _ = SourceFile(self.filename, self.text, self.encoding).tree  # says what is wrong, and where
            span = Span(self.filename, place.row, 1, place.row, 2)
            raise SourceError("the function does not parse", span) from error
        if isinstance(statement, ast.If):
            statement = statement.body[0]
        assert isinstance(statement, FunctionNode)
        return statement


def _without_compiling(text: str, bodies: list[Body], places: list[int]) -> list[Body]:
    """The bodies that cannot say what is compiled; none where another name for what compiles may be anywhere."""
    starts = [body.body for body in bodies]
    saying: set[int] = set()
    for place in places:
        number = bisect.bisect_right(starts, place) - 1
        if number >= 0 and place < bodies[number].end:
            saying.add(number)
        elif _NAMING.search(text, text.rfind("\n", 0, place) + 1, place + len("import")):
            return []
    return [body for number, body in enumerate(bodies) if number not in saying]


class _Unusual(Exception):
    """The text is not laid out as the outline took it to be."""


def functions_in(text: str) -> Iterator[Body]:
    """The functions that stand in no other, in the order of the text; not those that are laid out unusually."""
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
        body = _header_end(text, start)
        if body is None:
            continue
        end = _body_end(text, body, blank, strings, string)
        row += text.count("\n", counted, line)
        counted = line
        done = end
        yield Body(match.group(1), row, line, body, end, blank)


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


def _header_end(text: str, start: int) -> int | None:
    """The offset of the first line of the body; None where the header is laid out in an unusual way."""
    depth = 0
    for _ in range(LONGEST_HEADER):
        end = text.find("\n", start)
        if end < 0:
            return None
        line = text[start:end].partition("#")[0].rstrip()
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if depth <= 0:
            return end + 1 if line.endswith(":") else None
        start = end + 1
    return None


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


def _without(text: str, bodies: list[Body]) -> str:
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


def _placed(tree: ast.Module, bodies: list[Body], text: str) -> list[tuple[FunctionNode, Body]]:
    """Which node is to have which body. Raises _Unusual where a body belongs to none."""
    by_row = {place.row: place for place in bodies}
    found: list[tuple[FunctionNode, Body]] = []
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


def _length(text: str, place: Body) -> int:
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
