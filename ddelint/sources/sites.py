"""Where a question stands in the syntax: its role, the statement that asks it, and what that statement guards.

Classify the guarded block before a move is chosen: each class has one natural move.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import StrEnum

from ddelint.nouns.spans import Span
from ddelint.sources.source import SourceFile

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Role(StrEnum):
    """How the asking expression is used."""

    IF_TEST = "if"
    WHILE_TEST = "while"
    ASSERT_TEST = "assert"
    TERNARY_TEST = "ternary"
    COMPREHENSION_TEST = "comprehension-if"
    BOOLEAN_OPERAND = "boolean-operand"
    """Operand of and / or / not, or a link of a chained comparison, outside of any test above."""
    CALL_ARGUMENT = "call-argument"
    INDEX = "index"
    SLICE_BOUND = "slice-bound"
    ITERATED = "iterated"
    UNPACKED = "unpacked"
    FORMATTED = "formatted"
    OTHER = "other"


class Block(StrEnum):
    """What an `if` guards, read off its syntax."""

    RAISES = "raises"
    WARNS = "warns"
    LEAVES_LOOP = "leaves-loop"
    RETURNS = "returns"
    ASSIGNS = "assigns"
    """Both arms only assign (or one arm assigns and the other is absent)."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Site:
    """An expression that asks, and its surroundings."""

    source: SourceFile
    node: ast.expr | ast.stmt
    role: Role
    decision: ast.expr | None
    """The whole test that the answer decides (`a and b` for a question in `b`), where there is one."""
    statement: ast.stmt
    """The innermost statement: the `if`, `while`, `assert` itself for a test."""
    function: ast.FunctionDef | ast.AsyncFunctionDef | None
    block: Block | None
    """For an `if`: what its body does."""

    @property
    def span(self) -> Span:
        """The asking expression's span."""
        return self.source.span(self.node)


def locate(source: SourceFile, span: Span) -> Site | None:
    """The site at `span`, or None where the file has no expression there."""
    found = source.at(span)
    return None if found is None else site_of(source, found)


def site_of(source: SourceFile, node: ast.expr | ast.stmt) -> Site:
    """The site of a node of the file's own tree."""
    chain: list[ast.AST] = [node, *source.ancestors(node)]
    statement = next(n for n in chain if isinstance(n, ast.stmt))
    function = next((n for n in chain if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if node is function:
        function = next((n for n in chain[1:] if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if node is statement:
        node = _asking_expression(statement) or node
        chain = [node, *chain] if node is not statement else chain
    role, decision = _role(chain)
    block = classify(statement.body) if isinstance(statement, ast.If) and role is Role.IF_TEST else None
    return Site(source, node, role, decision, statement, function, block)


def _asking_expression(statement: ast.stmt) -> ast.expr | None:
    """Where code objects only know the statement, the expression in it that must have asked."""
    match statement:
        case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test):
            return test
        case ast.For(iter=iterated):
            return iterated
    return None


def _role(chain: list[ast.AST]) -> tuple[Role, ast.expr | None]:
    child = chain[0]
    boolean: ast.expr | None = None
    direct: Role | None = None
    for parent in chain[1:]:
        match parent:
            case ast.If(test=test) if test is child:
                return Role.IF_TEST, test
            case ast.While(test=test) if test is child:
                return Role.WHILE_TEST, test
            case ast.Assert(test=test) if test is child:
                return Role.ASSERT_TEST, test
            case ast.IfExp(test=test) if test is child:
                return Role.TERNARY_TEST, test
            case ast.comprehension(ifs=ifs) if child in ifs:
                return Role.COMPREHENSION_TEST, child if isinstance(child, ast.expr) else None
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                boolean = parent
            case _ if boolean is not None and boolean is child:
                return Role.BOOLEAN_OPERAND, boolean
            case _ if direct is None and child is chain[0]:
                direct = _direct_role(child, parent)
                if direct is not None:
                    return direct, None
        if isinstance(parent, ast.stmt):
            break
        child = parent
    return (Role.BOOLEAN_OPERAND, boolean) if boolean is not None else (Role.OTHER, None)


def _direct_role(child: ast.AST, parent: ast.AST) -> Role | None:
    match parent:
        case ast.Call():
            return Role.CALL_ARGUMENT if child is not parent.func else None
        case ast.keyword():
            return Role.CALL_ARGUMENT
        case ast.Slice():
            return Role.SLICE_BOUND
        case ast.Subscript(slice=index) if index is child:
            return Role.INDEX
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated) if iterated is child:
            return Role.ITERATED
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=value) if value is child:
            return Role.UNPACKED
        case ast.FormattedValue():
            return Role.FORMATTED
    return None


def classify(body: list[ast.stmt]) -> Block:
    """What the body of an `if` does, by its syntax."""
    kept = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if not kept or all(isinstance(s, ast.Pass) or is_talk(s) for s in kept):
        return Block.WARNS
    if isinstance(kept[-1], ast.Raise) and all(is_talk(s) or isinstance(s, ast.Assign) for s in kept[:-1]):
        return Block.RAISES
    if isinstance(kept[-1], (ast.Break, ast.Continue)):
        return Block.LEAVES_LOOP
    if isinstance(kept[-1], ast.Return):
        return Block.RETURNS
    if all(isinstance(s, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or is_talk(s) for s in kept):
        return Block.ASSIGNS
    return Block.OTHER


def is_said_only(source: SourceFile, node: ast.AST) -> bool:
    """Whether what `node` says is only for people: an exception's or a check's message, a warning, a log line."""
    for parent in source.ancestors(node):
        if isinstance(parent, (ast.Lambda, ast.Raise, ast.Assert)):
            return True
        if isinstance(parent, ast.stmt):
            return is_talk(parent)
    return False


_TALKERS = frozenset(
    ("warn", "warning", "warning_once", "warn_once", "warning_advice", "info", "debug", "error", "exception", "log")
)
_TALK_OWNERS = frozenset(("warnings", "logger", "logging", "log", "_logger", "LOGGER"))


def is_talk(statement: ast.AST) -> bool:
    """A statement that only prints, warns or logs."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    match statement.value.func:
        case ast.Name(id=name):
            return name == "print" or name.startswith("rank_zero_") or "warn" in name.split("_")
        case ast.Attribute(value=owner, attr=attr):
            names = _names_along(owner)
            return attr in _TALKERS and (
                bool(_TALK_OWNERS & {*names[:1]}) or any("log" in name.lower() for name in names)
            )
    return False


def _names_along(node: ast.expr) -> list[str]:
    """The names in `a.b().c`, the last one first."""
    found: list[str] = []
    while True:
        match node:
            case ast.Attribute(value=value, attr=name):
                found.append(name)
                node = value
            case ast.Call(func=value) | ast.Subscript(value=value):
                node = value
            case ast.Name(id=name):
                return [*found, name]
            case _:
                return found
