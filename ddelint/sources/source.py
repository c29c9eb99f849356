"""One file: its bytes, text, line index and syntax tree, and where a node stands in it."""

from __future__ import annotations

import ast
import bisect
import codecs
import io
import tokenize
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ddelint.nouns.spans import Edit, Span
from ddelint.sources.parsing import TOO_DEEP, parse
from ddelint.system.files import LARGE, read_regular


def lines_of(text: str) -> list[str]:
    """Lines with their line ends, split as Python's tokenizer does (`\\n`, `\\r\\n`, `\\r` only)."""
    return io.StringIO(text, newline="").readlines()


def bare_lines(text: str) -> list[str]:
    """The same lines without their ends."""
    return [line.rstrip("\r\n") for line in lines_of(text)]


class SourceError(Exception):
    """A file that cannot be read as Python; `span` says where, the message says why."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.span = span


class TooDeepError(SourceError):
    """A file that may well be Python, but nests too deep for its parser; `span` is the file's first character."""


_WITHOUT_NODES = frozenset(
    ("asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "lineno", "module", "rest",
     "simple", "tag", "type_comment")
)  # fmt: skip
"""Fields of nodes that hold no further nodes (contexts aside), whatever the node."""
_WITHOUT_NODES_IN: dict[type[ast.AST], frozenset[str]] = {
    ast.Constant: frozenset(("value",)),
    ast.MatchSingleton: frozenset(("value",)),
    ast.Global: frozenset(("names",)),
    ast.Nonlocal: frozenset(("names",)),
    ast.arg: frozenset(("arg",)),
    ast.keyword: frozenset(("arg",)),
    **dict.fromkeys(
        (ast.alias, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.FunctionDef, ast.MatchAs, ast.MatchStar),
        frozenset(("name",)),
    ),
}


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each type of node that may hold nodes: looking at the others costs most of a walk."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        without = _WITHOUT_NODES | _WITHOUT_NODES_IN.get(kind, frozenset())
        self[kind] = found = tuple(name for name in kind._fields if name not in without)
        return found


_FIELDS = _Fields()


class DeferredBody(list[ast.stmt]):
    """A function's statements, which are parsed when somebody looks at them (see static.outline)."""

    def __init__(self, load: Callable[[], list[ast.stmt]]) -> None:
        super().__init__()
        self._load: Callable[[], list[ast.stmt]] | None = load

    @property
    def loaded(self) -> bool:
        """Whether somebody has looked."""
        return self._load is None

    def _loaded(self) -> None:
        if self._load is not None:
            statements = self._load()
            self._load = None
            self.extend(statements)

    def give_up(self) -> None:
        """Stay empty: nobody will look."""
        self._load = None

    def __iter__(self) -> Iterator[ast.stmt]:
        self._loaded()
        return super().__iter__()

    def __len__(self) -> int:
        self._loaded()
        return super().__len__()

    def __getitem__(self, index: Any) -> Any:
        self._loaded()
        return super().__getitem__(index)


def descend(root: ast.AST, deferred: bool = True) -> Iterator[ast.AST]:
    """The node and everything below it, in no order (`ast.walk`, at a fraction of its cost; no contexts).

    Without `deferred`, what is parsed so far.
    """
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        if node is None:  # `**more` in a dict, a keyword without a default
            continue
        yield node
        for name in _FIELDS[type(node)]:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                waiting.append(value)
            elif isinstance(value, list) and (deferred or type(value) is not DeferredBody or value.loaded):
                waiting += value


def inner_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """What `descend` gives, without names, literals and other leaves: half as many, and half the cost."""
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        yield node
        for name in _FIELDS[type(node)]:
            value = getattr(node, name, None)
            if isinstance(value, list):
                waiting += [child for child in value if child is not None and _FIELDS[type(child)]]
            elif isinstance(value, ast.AST) and _FIELDS[type(value)]:
                waiting.append(value)


def _parents(root: ast.AST) -> dict[ast.AST, ast.AST]:
    """The parents of what is parsed so far."""
    parents: dict[ast.AST, ast.AST] = {}
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        for name in _FIELDS[type(node)]:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                parents[value] = node
                waiting.append(value)
            elif type(value) is list:
                for child in value:
                    if isinstance(child, ast.AST):
                        parents[child] = node
                        waiting.append(child)
    return parents


_OF_HOST_NAMES = frozenset(("idna", "punycode"))
"""Encodings that no source file has; to read one takes a time that is quadratic (encodings/punycode.py)."""
_CHARACTERS = bytes(set(range(0x20, 0x7F)) - {0x5C}) + rb"\u0041\n~{+-" + b"\t\r\n"


@cache
def _is_of_characters(encoding: str) -> bool:
    """Whether ASCII stands for itself in an encoding: in `unicode_escape`, `utf-7` or `hz` parts of it are escapes."""
    try:
        text = _CHARACTERS.decode(encoding)
        return text == _CHARACTERS.decode("ascii") and text.encode(encoding).endswith(_CHARACTERS)  # behind a mark
    except (ValueError, LookupError):
        return False


class SourceFile:
    """A Python file with exact positions.

    `text` keeps the file's own newlines (`\\r\\n` stays), so that text → bytes gives the same bytes back.
    Rows and columns count from 1, columns in characters.
    """

    def __init__(self, filename: str, text: str, encoding: str = "utf-8") -> None:
        self.filename = filename
        self.text = text
        self.encoding = encoding

    @classmethod
    def read(cls, path: Path) -> SourceFile:
        """Read and decode `path` (PEP 263 cookie or BOM respected).

        Raises SourceError when it isn't decodable, OSError when it cannot be read or is no regular file.
        """
        return cls.from_bytes(str(path), read_regular(path, LARGE))

    @classmethod
    def from_bytes(cls, filename: str, data: bytes) -> SourceFile:
        """Decode `data` as Python does. Raises SourceError when that fails."""
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            if codecs.lookup(encoding).name in _OF_HOST_NAMES:
                raise LookupError(f"{encoding} is an encoding of host names")
            return cls(filename, data.decode(encoding), encoding)
        except (SyntaxError, ValueError, LookupError) as error:  # some codecs raise a bare UnicodeError
            row = data.count(b"\n", 0, getattr(error, "start", 0)) + 1
            raise SourceError(f"cannot decode the file: {error}", Span(filename, row, 1, row, 2)) from error

    def is_text_of(self, data: bytes) -> bool:
        """Whether `data` is read as this text, in this encoding."""
        try:
            other = SourceFile.from_bytes(self.filename, data)
        except SourceError:
            return False
        return (other.text, other.encoding) == (self.text, self.encoding)

    @property
    def is_written_as_read(self) -> bool:
        """Whether the encoding is one of characters: others give back bytes that differ from those that were read."""
        return _is_of_characters(self.encoding)

    def encode(self, text: str | None = None) -> bytes:
        """The bytes of `text` (default: this file's) in the file's own encoding, its BOM included."""
        return (self.text if text is None else text).encode(self.encoding)

    @cached_property
    def lines(self) -> list[str]:
        """See lines_of."""
        return lines_of(self.text)

    @cached_property
    def newline(self) -> str:
        """The line end that the file uses first; `\\n` where it has none."""
        for line in self.lines:
            for ending in ("\r\n", "\n", "\r"):
                if line.endswith(ending):
                    return ending
        return "\n"

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree. Raises SourceError where the file does not parse, TooDeepError where that is why."""
        try:
            return parse(self.text, self.filename)
        except SyntaxError as error:
            row, column = error.lineno or 1, error.offset or 1
            end_row, end_column = error.end_lineno or row, error.end_offset or column + 1
            if (end_row, end_column) <= (row, column):
                end_row, end_column = row, column + 1
            raise SourceError(str(error.msg), Span(self.filename, row, column, end_row, end_column)) from error
        except ValueError as error:
            raise SourceError(str(error), Span(self.filename, 1, 1, 1, 2)) from error
        except TOO_DEEP as error:
            raise TooDeepError("the file nests too deep to be parsed", Span(self.filename, 1, 1, 1, 2)) from error

    @cached_property
    def imports(self) -> tuple[ast.Import | ast.ImportFrom, ...]:
        """All import statements, wherever they stand, in no order."""
        return tuple(node for node in descend(self.tree) if isinstance(node, (ast.Import, ast.ImportFrom)))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Each node's parent."""
        return _parents(self.tree)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """From the node's parent up to the module."""
        parents = self.__dict__.get("parents") or self._parents_near(node)
        while (parent := parents.get(node)) is not None:
            yield parent
            node = parent

    def _parents_near(self, node: ast.AST) -> dict[ast.AST, ast.AST]:
        """Parents within the module's statement that holds `node`: a file with one question isn't walked whole."""
        row: int | None = getattr(node, "lineno", None)
        body = self.tree.body
        if row is None or not body:
            return self.parents
        place = bisect.bisect_right(self._statement_rows, row) - 1
        if place < 0:
            return self.parents
        known = self._near.get(place)
        if known is None:
            known = self._near[place] = _parents(body[place])
            known[body[place]] = self.tree
        return known if node in known else self.parents

    @cached_property
    def _statement_rows(self) -> list[int]:
        return [statement.lineno for statement in self.tree.body]

    @cached_property
    def _near(self) -> dict[int, dict[ast.AST, ast.AST]]:
        return {}

    def column(self, row: int, byte_offset: int) -> int:
        """The column (characters, from 1) of a UTF-8 byte offset (from 0), as `ast` and code objects count."""
        line = self.lines[row - 1] if 0 < row <= len(self.lines) else ""
        if line.isascii():
            return byte_offset + 1
        return len(line.encode()[:byte_offset].decode(errors="replace")) + 1

    def span(self, node: ast.AST) -> Span:
        """The node's own span (decorators not included)."""
        row, end_row = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        return Span(
            self.filename,
            row,
            self.column(row, node.col_offset),  # type: ignore[attr-defined]
            end_row,
            self.column(end_row, node.end_col_offset),  # type: ignore[attr-defined]
        )

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    def offset(self, row: int, column: int) -> int:
        """Characters from the start of the text to (row, column); past the end it is clamped to the text's end."""
        return min(self._line_starts[min(row, len(self._line_starts)) - 1] + column - 1, len(self.text))

    def position(self, offset: int) -> tuple[int, int]:
        """Row and column of a character offset; that of the text's end lies behind its last character."""
        row = bisect.bisect_right(self._line_starts, offset)
        if row > len(self.lines) and self.lines and not self.lines[-1].endswith(("\n", "\r")):
            row -= 1
        return row, offset - self._line_starts[row - 1] + 1

    def segment(self, where: Span | ast.AST) -> str:
        """The text under a span or node, as it stands in the file."""
        span = where if isinstance(where, Span) else self.span(where)
        return self.text[self.offset(span.row, span.column) : self.offset(span.end_row, span.end_column)]

    def indentation(self, node: ast.AST) -> str:
        """The white space before the first statement on the node's line."""
        line = self.lines[node.lineno - 1]  # type: ignore[attr-defined]
        return line[: len(line) - len(line.lstrip())]

    def at(self, span: Span) -> ast.expr | ast.stmt | None:
        """The smallest expression or statement that covers `span` exactly, or else the smallest that contains it."""
        if span not in self._at:  # the same few places are asked for again and again
            self._at[span] = self._smallest(span)
        return self._at[span]

    @cached_property
    def _at(self) -> dict[Span, ast.expr | ast.stmt | None]:
        return {}

    def _smallest(self, span: Span) -> ast.expr | ast.stmt | None:
        best: tuple[Span, ast.expr | ast.stmt] | None = None
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, (ast.expr, ast.stmt)):
                place = self.span(node)
                if place.contains(span):
                    if best is None or best[0].contains(place):
                        best = place, node
                elif not hasattr(node, "decorator_list") and not isinstance(node, (ast.JoinedStr, ast.FormattedValue)):
                    continue  # only decorators, and parts of an f-string (before 3.12), lie outside of their parent
            waiting += ast.iter_child_nodes(node)
        return best[1] if best is not None else None

    def apply(self, edits: Sequence[Edit]) -> str:
        """The text after `edits` (all of this file). Raises ValueError where two of them overlap."""
        pieces: list[str] = []
        done = 0
        for edit in sorted(edits, key=lambda e: (e.span.row, e.span.column, e.span.end_row, e.span.end_column)):
            start = self.offset(edit.span.row, edit.span.column)
            if start < done:
                raise ValueError(f"edits overlap at {edit.span.row}:{edit.span.column}")
            pieces += [self.text[done:start], edit.content]
            done = self.offset(edit.span.end_row, edit.span.end_column)
        return "".join(pieces) + self.text[done:]
