"""Which expression of a statement asks, and how the user would write the question."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from ddelint.explain.births import SYMBOL
from ddelint.explain.places import Spot
from ddelint.operators import operators, terminal_name
from ddelint.source import SourceFile, descend

_RELATIONS: Mapping[str, type[ast.cmpop]] = {
    "Eq": ast.Eq,
    "Ne": ast.NotEq,
    "Lt": ast.Lt,
    "Le": ast.LtE,
    "Gt": ast.Gt,
    "Ge": ast.GtE,
}
_JOINTS: Mapping[str, type[ast.boolop]] = {"And": ast.And, "Or": ast.Or}
_INPUT = re.compile(r"L\[['\"](?P<name>\w+)['\"]\]")
_SIZE = re.compile(r"\.size\(\)\[(?P<dimension>\d+)\]")
_SIZE_METHODS = frozenset(("size", "numel", "nelement"))


def narrowed(spot: Spot, kind: str) -> ast.expr | ast.stmt | None:
    """The expression of a statement that a question of `kind` is about, where the text names only a line."""
    node = spot.source.at(spot.span)
    if node is None or spot.exact or not isinstance(node, ast.stmt):
        return node
    parts = list(_headers(node))
    if kind in ("truth", "operator"):
        chosen = next(_tests(node, parts), None) or (next(_calls(parts), None) if kind == "operator" else None)
    else:
        chosen = next(_integers(node, parts, spot.source), None)
    return chosen or (parts[0] if len(parts) >= 1 and isinstance(node, (ast.Assign, ast.Return, ast.Expr)) else node)


def is_call_of(node: ast.AST | None, names: frozenset[str]) -> bool:
    """Whether a node is nothing but a call of one of `names`."""
    return isinstance(node, ast.Call) and terminal_name(node.func) in names


def worded(raw: str, names: Mapping[str, str]) -> str:
    """The compiler's words as the user would write them: `Eq(u0, 0)` → `n == 0`, `L['x'].size()[0]` → `x.shape[0]`."""
    text = _SIZE.sub(r".shape[\g<dimension>]", _INPUT.sub(r"\g<name>", raw))
    try:
        tree = ast.parse(text, mode="eval").body
        text = ast.unparse(_Pythonic().visit(tree))
    except (SyntaxError, ValueError, RecursionError):
        pass
    return SYMBOL.sub(lambda match: names.get(match[0], match[0]), text)


def symbols_in(raw: str) -> list[str]:
    """The unbacked symbols of an expression, in their order."""
    return [name for name in dict.fromkeys(SYMBOL.findall(raw)) if name.startswith(("u", "zu"))]


def name_at(node: ast.AST | None, source: SourceFile) -> str:
    """What the user's code calls the one number that a comparison is about; empty where that isn't plain."""
    match node:
        case ast.Compare(left=left, comparators=[right]):
            if isinstance(right, ast.Constant) and not isinstance(left, ast.Constant):
                return source.segment(left)
            if isinstance(left, ast.Constant) and not isinstance(right, ast.Constant):
                return source.segment(right)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return name_at(operand, source)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return source.segment(node)
    return ""


def is_tensor_truth(raw: str, node: ast.AST | None) -> bool:
    """Whether a tensor itself was tested: `bool(t)` reads its item and asks `Eq(u0, 1)`, which the code doesn't."""
    if re.fullmatch(r"(?:Eq|Ne)\(u\d+, 1\)", "".join(raw.split()).replace(",", ", ")) is None or node is None:
        return False
    return not any(isinstance(part, ast.Constant) and part.value == 1 and part.value is not True for part in descend(node))


def looks_like_size(text: str) -> bool:
    """Whether a name says that it is a size: `x.shape[0]`, `x.numel()`, `len(x)`."""
    return any(mark in text for mark in (".shape[", ".size(", ".numel()", "len("))


class _Pythonic(ast.NodeTransformer):
    """sympy's functions → Python's operators."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = terminal_name(node.func)
        if name in _RELATIONS and len(node.args) == 2:
            return ast.Compare(node.args[0], [_RELATIONS[name]()], [node.args[1]])
        if name in _JOINTS and len(node.args) >= 2:
            return ast.BoolOp(_JOINTS[name](), node.args)
        if name == "Not" and len(node.args) == 1:
            return ast.UnaryOp(ast.Not(), node.args[0])
        return node


def _headers(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that a statement evaluates itself."""
    for name, value in ast.iter_fields(statement):
        if name in ("body", "orelse", "finalbody", "handlers", "decorator_list", "targets", "target"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.expr):
                yield part


def _tests(statement: ast.stmt, parts: list[ast.expr]) -> Iterator[ast.expr]:
    match statement:
        case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test):
            yield test
    for part in parts:
        for node in ast.walk(part):
            match node:
                case ast.IfExp(test=test):
                    yield test
                case ast.comprehension(ifs=[test, *_]):
                    yield test
                case ast.Call(args=[condition, *_]) if terminal_name(node.func) in operators().checks:
                    yield condition
                case ast.Call(func=ast.Name(id="bool")):
                    yield node
    for part in parts:
        for node in ast.walk(part):
            match node:
                case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                    yield node
                case ast.Call() if terminal_name(node.func) in operators().questions:
                    yield node


def _calls(parts: list[ast.expr]) -> Iterator[ast.expr]:
    for part in parts:
        for node in ast.walk(part):
            if isinstance(node, ast.Call):
                yield node


def _integers(statement: ast.stmt, parts: list[ast.expr], source: SourceFile) -> Iterator[ast.expr]:
    """What wants a number: a cast, a range, a static argument, an index, a slice."""
    known = operators()
    wanted = known.python_builtins
    for part in parts:
        for node in ast.walk(part):
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in wanted and node.args:
                    yield node
                case ast.Call() if terminal_name(node.func) in known.static_arguments:
                    yield node
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        yield statement.iter
    for part in parts:
        for node in ast.walk(part):
            if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
                yield node
