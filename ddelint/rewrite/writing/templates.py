"""Code templates: parsed once, their holes filled with nodes, in parentheses where those need them."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from string import Formatter
from typing import Any, TypeVar, cast

import libcst as cst

from ddelint.rewrite.writing.brackets import fitted
from ddelint.rewrite.writing.renaming import renamed
from ddelint.rewrite.writing.rewrites import Lines, Part

Node = TypeVar("Node", bound=cst.CSTNode)

HOLE = "_hole_"
_INDENTATION = re.compile(r"^(?: {4})+", re.MULTILINE)


def _marked(template: str) -> tuple[str, list[str]]:
    """The template with names in the place of its holes, and the holes without a name."""
    text = ""
    unnamed: list[str] = []
    for before, name, _, _ in Formatter().parse(template):
        text += before
        if name is not None:
            if not name:
                name = str(len(unnamed))
                unnamed.append(name)
            text += HOLE + name
    return text, unnamed


@dataclass(frozen=True)
class Template:
    """Code with holes."""

    tree: cst.CSTNode
    ways: Mapping[int, Sequence[str]]
    """By the id of a node that is a hole or has one inside: the fields in which those are."""
    unnamed: Sequence[str] = ()
    """The holes without a name."""


@cache
def expression(template: str, torch: str) -> Template:
    """The expression that a template stands for, in a file that calls torch so."""
    text, unnamed = _marked(template)
    tree = _saying(torch, cst.parse_expression(text))
    return Template(tree, ways(tree), unnamed)


@cache
def statements(template: str, torch: str, unit: str) -> Sequence[Template]:
    """The statements that a template stands for, its four blanks as the file's unit of indentation.

    It may begin with a line end, which is none of theirs.
    """
    text = _INDENTATION.sub(lambda blanks: unit * (len(blanks[0]) // 4), _marked(template.removeprefix("\n"))[0])
    # in a block, as its blank lines shall bear no indentation wherever it goes
    config = cst.PartialParserConfig(default_indent=unit)
    block: Any = cst.parse_statement(f"if _:\n{textwrap.indent(text, unit)}", config)
    trees = [_saying(torch, statement) for statement in block.body.body]
    return [Template(tree, ways(tree)) for tree in trees]


def _saying(torch: str, tree: Node) -> Node:
    return tree if torch == "torch" else renamed(tree, {"torch": torch})


def ways(tree: cst.CSTNode) -> Mapping[int, Sequence[str]]:
    """See Template: libcst would visit and rebuild the whole tree, which takes longer than all else."""
    found: dict[int, Sequence[str]] = {}

    def leads(node: cst.CSTNode) -> bool:
        names = [field.name for field in fields(node) if sum(map(leads, _nodes(node, field.name)))]
        if names or (isinstance(node, cst.Name) and node.value.startswith(HOLE)):
            found[id(node)] = names
        return id(node) in found

    leads(tree)
    return found


def _nodes(node: cst.CSTNode, field: str) -> Sequence[cst.CSTNode]:
    value = getattr(node, field)
    if isinstance(value, (list, tuple)):
        return value
    return [value] if isinstance(value, cst.CSTNode) else []


@dataclass(frozen=True)
class Filling:
    """Puts parts into a template's holes."""

    parts: Mapping[str, Any]
    """What the holes take, by their names: a missing one raises KeyError."""
    of: Callable[[Part], cst.CSTNode]
    block: Callable[[Lines], list[cst.BaseStatement]]

    def filled(self, template: Template) -> Any:
        """The template's code; a FlattenSentinel where it is one hole that takes statements."""
        return self._filled(template.tree, template.ways)

    def _filled(self, node: Any, ways: Mapping[int, Sequence[str]]) -> Any:
        if id(node) not in ways:
            return node
        changes: dict[str, Any] = {}
        for name in ways[id(node)]:
            value = getattr(node, name)
            if isinstance(value, (list, tuple)):
                changes[name] = flat(self._filled(child, ways) for child in value)
            else:
                changes[name] = self._filled(value, ways)
        return self._replaced(node.with_changes(**changes) if changes else node)

    def _part(self, name: str) -> Any:
        return self.parts[name[len(HOLE) :]]

    def _replaced(self, node: Any) -> Any:
        """A hole's part, or a node whose inside is filled."""
        match node:
            case cst.Name(value=name):
                part = self._part(name)
                return node if isinstance(part, (list, tuple)) else self.of(part)
            case cst.Arg(value=cst.Name(value=name)) | cst.Element(value=cst.Name(value=name)) if name.startswith(HOLE):
                return self._members(node, self._part(name))
            case cst.Param(name=cst.Name(value=name)) if name.startswith(HOLE):
                return cst.FlattenSentinel([self._parameter(each) for each in self._part(name)])
            case cst.Parameters(params=[only]) if isinstance(whole := getattr(only, "name", None), cst.Parameters):
                return whole
            case cst.Arg(value=cst.Arg() as whole):
                return whole.with_changes(comma=node.comma)
            case cst.Element(value=cst.Arg(value=starred)):
                return cst.StarredElement(starred, comma=node.comma)
            case cst.SubscriptElement(slice=cst.Index(value=cst.BaseSlice() as cut)):
                return node.with_changes(slice=cut)
            case cst.SubscriptElement(slice=cst.Index(value=cst.Name(value=name))) if name.startswith(HOLE):
                return self._places(node, self._part(name))
            case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Name(value=name))]) if name.startswith(HOLE):
                return self._statements(node, self._part(name))
            case cst.FunctionDef(body=cst.IndentedBlock(body=[*body]) as block):
                return fitted(node.with_changes(body=block.with_changes(body=_without_blank_start(body))))
        return fitted(node)

    def _members(self, hole: Any, parts: Iterable[Part]) -> Any:
        """An argument or element for each part; the last one keeps the hole's comma."""
        found = [self.of(part) for part in parts]
        last = len(found) - 1
        members: list[cst.CSTNode] = []
        for number, built in enumerate(found):
            is_tuple = isinstance(hole, cst.Element) and last > 0  # its comma is that of a tuple of one
            comma = hole.comma if number == last and not is_tuple else cst.MaybeSentinel.DEFAULT
            if isinstance(built, cst.Arg) and isinstance(hole, cst.Element):
                members.append(cst.StarredElement(built.value, comma=comma))
            elif isinstance(built, cst.Arg):
                members.append(built.with_changes(comma=comma))
            else:
                members.append(fitted(hole.with_changes(value=built, comma=comma)))
        return cst.FlattenSentinel(members)

    def _places(self, hole: cst.SubscriptElement, parts: Sequence[Part]) -> Any:
        """An index or slice for each part of a subscript."""
        last = len(parts) - 1
        return cst.FlattenSentinel(
            cst.SubscriptElement(
                built if isinstance(built, cst.BaseSlice) else fitted(cst.Index(cast(cst.BaseExpression, built))),
                hole.comma if number == last else cst.MaybeSentinel.DEFAULT,
            )
            for number, built in enumerate(self.of(part) for part in parts)
        )

    def _parameter(self, part: Any) -> cst.Param:
        """A name; a name and its type; or these and its default."""
        if isinstance(part, str):
            return cst.Param(cst.Name(part))
        name, annotation, *default = part
        typed = cst.Param(cst.Name(name), cst.Annotation(cast(cst.BaseExpression, self.of(annotation))))
        return typed.with_changes(default=self.of(default[0])) if default else typed

    def _statements(self, hole: cst.SimpleStatementLine, parts: Lines) -> Any:
        block = self.block(parts)
        if block and hole.leading_lines:
            first: Any = block[0]
            block[0] = first.with_changes(leading_lines=(*hole.leading_lines, *first.leading_lines))
        return cst.FlattenSentinel(block)


def _without_blank_start(body: Sequence[Any]) -> list[Any]:
    """The statements of a function, whose first stands right below its head."""
    first, *rest = body
    lines = itertools.dropwhile(lambda line: line.comment is None, first.leading_lines)
    return [first.with_changes(leading_lines=[*lines]), *rest]


def flat(found: Iterable[Any]) -> list[Any]:
    """Members of a list, those that one hole was filled with among them."""
    return [s for each in found for s in (each if isinstance(each, cst.FlattenSentinel) else [each])]
