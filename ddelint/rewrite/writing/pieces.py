"""Pieces of the source as libcst nodes, with their blanks and comments.

What a piece of code means is read off `ast`; what stands in the file is kept by libcst. A piece is parsed from its own
lines when somebody takes it over: no tree of the whole file is built.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

import libcst as cst

from ddelint.rewrite.reading.around import statement_of
from ddelint.rewrite.writing.imports import torch_name
from ddelint.rewrite.writing.rewrites import Lines, Part, Unwritable
from ddelint.sources.source import SourceFile

UNKEPT = "# cannot be taken over as it stands"
"""What marks a statement that is not written as it stood: rendering refuses what has it."""
_NAME = re.compile(r"[\w.]+")


class Pieces:
    """Takes pieces of one file over."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self._known: dict[ast.expr, cst.BaseExpression] = {}

    @cached_property
    def config(self) -> cst.PartialParserConfig:
        """The file's own line ends and indentation."""
        return cst.PartialParserConfig(default_newline=self.source.newline, default_indent=self.unit)

    @cached_property
    def unit(self) -> str:
        """One level of indentation, as the file has it."""
        for node in ast.walk(self.source.tree):
            body = getattr(node, "body", None)
            if isinstance(node, ast.stmt) and isinstance(body, list) and body[0].lineno > node.lineno:
                outer, inner = self.source.indentation(node), self.source.indentation(body[0])
                if inner.startswith(outer) and inner != outer:
                    unit = inner[len(outer) :]
                    return unit if not unit.strip(" \t") else "    "  # a form feed is none to libcst
        return "    "

    @cached_property
    def torch(self) -> str:
        """What the file calls torch."""
        return torch_name(self.source) or "torch"

    def of(self, node: Part) -> cst.CSTNode:
        """The libcst node of an expression, keyword or slice of the source; names and numbers as they are said.

        A layout that libcst does not take is lost. Raises ValueError for what is none of these.
        """
        match node:
            case cst.CSTNode():
                return node
            case str():
                if not _NAME.fullmatch(node):
                    raise ValueError(f"not a name: {node}")
                first, dot, rest = node.partition(".")
                return cst.parse_expression(
                    f"{self.torch}.{rest}" if (first, dot) == ("torch", ".") else node, self.config
                )
            case int() | float():
                return cst.parse_expression(repr(node), self.config)
            case ast.Slice() if not hasattr(node, "lineno"):
                return cst.Slice(None, None)
            case ast.Slice():
                return cast(cst.Subscript, self._item("_[{}]", node)).slice[0].slice
            case ast.keyword() | ast.Starred():
                return cast(cst.Call, self._item("_({})", node)).args[0]
            case ast.expr() if hasattr(node, "lineno"):
                if node not in self._known:
                    self._known[node] = self.marked(node, {})
                return self._known[node]
            case ast.expr():
                return cst.parse_expression(ast.unparse(node), self.config)  # a node that somebody has made
        raise ValueError(f"no expression: {type(node).__name__}")

    def _item(self, around: str, node: ast.AST, marks: Mapping[ast.AST, str] = MappingProxyType({})) -> Any:
        """An expression parsed where it stands, so that its further lines move along when it goes to another block.

        Where Python does not know that place, or libcst does not take its layout, only what it says is kept.
        """
        if not any(has_false_place(self.source, each) for each in (node, *marks)):
            with suppress(Unwritable):
                return self._placed(around.format(self._said(node, marks)), self.source.indentation(node))
        named = {id(each): ast.Name(name, ast.Load()) for each, name in marks.items()}
        return self._placed(around.format(ast.unparse(deepcopy(node, named))), "")

    def _placed(self, text: str, indentation: str) -> Any:
        if not indentation:
            return self._parsed(f"{text}\n").body[0].body[0].value
        return self._parsed(f"if _:\n{indentation}{text}\n").body[0].body.body[0].body[0].value

    def _said(self, node: ast.AST, marks: Mapping[ast.AST, str]) -> str:
        """The text of a node, with names in the places of some nodes inside it."""
        text, start = self.source.segment(node), self.source.span(node)
        first = self.source.offset(start.row, start.column)
        for each in sorted(marks, key=self.source.span, reverse=True):
            span = self.source.span(each)
            begin = self.source.offset(span.row, span.column) - first
            end = self.source.offset(span.end_row, span.end_column) - first
            text = f"{text[:begin]}{marks[each]}{text[end:]}"
        return text

    def block(self, body: Lines) -> list[cst.BaseStatement]:
        """The statements with their comments, and what stands between those that follow each other in the source."""
        found: list[cst.BaseStatement] = []
        behind = 0
        for statement in body:
            last, behind = behind, 0
            match statement:
                case ast.stmt():
                    found += self._statements(statement, last)
                    behind = 0 if shares_rows(self.source, statement) else rows(self.source, statement)[1]
                case cst.BaseExpression():
                    found.append(cst.SimpleStatementLine([cst.Expr(statement)]))
                case _:
                    found.append(statement)
        return found

    def body(self, block: Sequence[ast.stmt]) -> list[cst.BaseStatement]:
        """All statements of a block, with the comments above its first one, too."""
        return [built for each in block for built in self._statements(each, self._row_above(each))]

    def _row_above(self, statement: ast.stmt) -> int:
        """The last row above a statement that is neither blank nor a comment."""
        row, lines = _first_row(statement), self.source.lines
        return next((r for r in range(row - 1, 0, -1) if lines[r - 1].strip() and lines[r - 1].strip()[0] != "#"), 0)

    def _statements(self, statement: ast.stmt, behind: int) -> Sequence[cst.BaseStatement]:
        """`behind`: the row of which only blank lines and comments may divide it, so that they belong to it; or 0."""
        lines, indentation = self._lines(statement, behind), self.source.indentation(statement)
        text = "".join(lines) if indentation == "" else f"if _:{self.source.newline}{''.join(lines)}"
        try:
            module = self._parsed(text)
        except Unwritable:
            (built,) = self._parsed(f"{ast.unparse(statement)}\n").body
            return [built.with_changes(leading_lines=[cst.EmptyLine(comment=cst.Comment(UNKEPT))])]
        body = module.body if indentation == "" else module.body[0].body.body
        return cast(Sequence[cst.BaseStatement], body)

    def _lines(self, statement: ast.stmt, behind: int) -> Sequence[str]:
        source, indentation = self.source, self.source.indentation(statement)
        if shares_rows(source, statement):
            return [f"{indentation}{source.segment(statement)}{source.newline}"]
        first, last = rows(source, statement)
        lines = source.lines[first - 1 : last]
        if is_elif(source, statement):
            lines[0] = indentation + lines[0][len(indentation) + 2 :]
        between = source.lines[behind : first - 1] if behind else []
        if all(line.strip() == "" or line.lstrip().startswith("#") for line in between):
            lines = between + lines
        return lines

    def _parsed(self, text: str) -> Any:
        """A module of the source's lines; a form feed as indentation, say, is more than libcst takes."""
        try:
            return cst.parse_module(text, self.config)
        except cst.ParserSyntaxError as error:
            raise Unwritable(str(error)) from error

    def marked(self, node: ast.expr, marks: Mapping[ast.AST, str]) -> cst.BaseExpression:
        """An expression of the source with names in the places of some nodes inside it."""
        tree: cst.BaseExpression = self._item("({})", node, marks)
        if isinstance(tree, cst.GeneratorExp) and len(tree.lpar) == 1:
            return tree
        return tree.with_changes(lpar=tree.lpar[1:], rpar=tree.rpar[:-1])


def has_false_place(source: SourceFile, node: ast.AST) -> bool:
    """Whether `node` stands in an f-string, and Python (before 3.12) says that it stood elsewhere."""
    inside = any(isinstance(parent, ast.JoinedStr) for parent in source.ancestors(node))
    if sys.version_info >= (3, 12) or not inside:
        return False
    try:
        return ast.dump(ast.parse(source.segment(node), mode="eval").body) != ast.dump(node)
    except SyntaxError:
        return True


def comments(text: str) -> list[str]:
    """The comments in a piece of code, in order."""
    if "#" not in text:
        return []
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"(\n{text}\n)", newline="").readline))
    except (tokenize.TokenError, SyntaxError):
        tokens = list(_tokens_as_far(text))
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def _tokens_as_far(text: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    except (tokenize.TokenError, SyntaxError):
        return


def is_enclosed(source: SourceFile, node: ast.AST) -> bool:
    """Whether a node of the source stands in brackets, where lines may break."""
    statement = statement_of(source, node)
    if statement is None:
        return False
    first, last = source.span(statement), source.span(node)
    before = source.text[source.offset(first.row, first.column) : source.offset(last.row, last.column)]
    tokens = [token.string for token in _tokens_as_far(before) if token.type == tokenize.OP]
    return sum((token in "([{") - (token in ")]}") for token in tokens) > 0


def is_elif(source: SourceFile, statement: ast.stmt) -> bool:
    """Whether an `if` statement is written `elif`."""
    return isinstance(statement, ast.If) and source.segment(statement).startswith("elif")


def rows(source: SourceFile, statement: ast.stmt) -> tuple[int, int]:
    """First and last row of a statement, its decorators included. Raises Unwritable where it shares them."""
    if shares_rows(source, statement):
        raise Unwritable("a statement that shares its lines")
    return _first_row(statement), source.span(statement).end_row


def shares_rows(source: SourceFile, statement: ast.stmt) -> bool:
    """Whether another statement, or the header of one, stands on a line with this one."""
    span = source.span(statement)
    before = source.lines[span.row - 1][: span.column - 1].strip()
    behind = source.lines[span.end_row - 1][span.end_column - 1 :].strip()
    return bool(before or (behind and not behind.startswith("#")))


def _first_row(statement: ast.stmt) -> int:
    return min((d.lineno for d in getattr(statement, "decorator_list", ())), default=statement.lineno)
