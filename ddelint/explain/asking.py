"""Which expression of a statement asks, and how the user would write the question."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from ddelint.explain.births import SYMBOL
from ddelint.explain.places import Spot
from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.source import SourceFile, descend

_RELATIONS: Mapping[str, type[ast.cmpop]] = {
    "Eq": ast.Eq,
    "Ne": ast.NotEq,
    "Lt": ast.Lt,
    "Le": ast.LtE,
    "Gt": ast.Gt,
    "Ge": ast.GtE,
}
_ARITHMETIC: Mapping[str, type[ast.operator]] = {
    "FloorDiv": ast.FloorDiv,
    "CleanDiv": ast.FloorDiv,
    "IntTrueDiv": ast.Div,
    "FloatTrueDiv": ast.Div,
    "Mod": ast.Mod,
    "PythonMod": ast.Mod,
    "PowByNatural": ast.Pow,
    "FloatPow": ast.Pow,
}
_FUNCTIONS = {"TruncToInt": "int", "ToFloat": "float", "RoundToInt": "round", "Max": "max", "Min": "min", "Abs": "abs"}
_INFINITIES = frozenset(("IntInfinity", "NegativeIntInfinity", "int_oo", "oo"))
_JOINTS: Mapping[str, type[ast.boolop]] = {"And": ast.And, "Or": ast.Or}
_INPUT = re.compile(r"L\[['\"](?P<name>\w+)['\"]\]")
_SIZE = re.compile(r"\.size\(\)\[(?P<dimension>\d+)\]")
_SIZE_METHODS = frozenset(("size", "numel", "nelement"))


def narrowed(spot: Spot, kind: str) -> ast.expr | ast.stmt | None:
    """The expression of a statement that a question of `kind` is about, where the text names only a line."""
    node = spot.source.at(spot.span)
    if node is None:
        return None
    if spot.exact and not isinstance(node, ast.stmt):
        return _within(next(_integers(node, [node]), node) if kind == "integer" else node, kind)
    parts = list(_headers(node)) if isinstance(node, ast.stmt) else [node]
    if kind in ("truth", "operator"):
        chosen = next(_tests(node, parts), None) or (next(_calls(parts), None) if kind == "operator" else None)
    else:
        chosen = next(_integers(node, parts), None)
    if chosen is not None:
        return _within(chosen, kind)
    return parts[0] if parts and isinstance(node, (ast.expr, ast.Assign, ast.Return, ast.Expr)) else node


def worded(raw: str, names: Mapping[str, str]) -> str:
    """The compiler's words as the user would write them: `Eq(u0, 0)` → `n == 0`, `L['x'].size()[0]` → `x.shape[0]`."""
    text = input_name(raw)
    try:
        tree = ast.parse(text, mode="eval").body
        text = ast.unparse(_Pythonic().visit(tree))
    except (SyntaxError, ValueError, RecursionError):
        pass
    return SYMBOL.sub(lambda match: input_name(names.get(match[0], match[0])), text)


def input_name(source: str) -> str:
    """`L['x'].size()[0]` → `x.shape[0]`."""
    return _SIZE.sub(r".shape[\g<dimension>]", _INPUT.sub(r"\g<name>", source))


def symbols_in(raw: str) -> list[str]:
    """The unbacked symbols of an expression, in their order."""
    return [name for name in dict.fromkeys(SYMBOL.findall(raw)) if name.startswith(("u", "zu", "i", "f"))]


def name_at(node: ast.AST | None, source: SourceFile) -> str:
    """What the user's code calls the one number that a comparison is about; empty where that isn't plain."""
    match node:
        case ast.Compare(left=left, comparators=[right]):
            if isinstance(right, ast.Constant) and not isinstance(left, ast.Constant):
                return name_at(left, source) or source.segment(left)
            if isinstance(left, ast.Constant) and not isinstance(right, ast.Constant):
                return name_at(right, source) or source.segment(right)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return name_at(operand, source)
        case ast.BinOp(left=left, right=right):
            if isinstance(left, ast.Constant) or isinstance(right, ast.Constant):
                return name_at(left if isinstance(right, ast.Constant) else right, source)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return source.segment(node)
    return ""


def definition(source: SourceFile, node: ast.AST, name: str) -> ast.expr | None:
    """What the last plain assignment above `node`, in its function, gave to a name."""
    function = _function(source, node)
    row = getattr(node, "lineno", 0)
    found: ast.expr | None = None
    for statement in ast.walk(function) if function is not None else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name and statement.lineno < row:
                found = value if found is None or value.lineno >= found.lineno else found
    return found


def is_parameter(source: SourceFile, node: ast.AST) -> bool:
    """Whether a node is a name that its function was given and never assigned above."""
    function = _function(source, node)
    if function is None or not isinstance(node, ast.Name):
        return False
    given = function.args
    names = {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return node.id in names and definition(source, node, node.id) is None


def _function(source: SourceFile, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    return next((n for n in source.ancestors(node) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), None)


def is_tensor_truth(raw: str, node: ast.AST | None) -> bool:
    """Whether a tensor itself was tested: `bool(t)` reads its item and asks `Eq(u0, 1)`, which the code doesn't."""
    if re.fullmatch(r"(?:Eq|Ne)\(u\d+, 1\)", "".join(raw.split()).replace(",", ", ")) is None or node is None:
        return False
    return not any(
        isinstance(part, ast.Constant) and part.value == 1 and part.value is not True for part in descend(node)
    )


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
        if name in _ARITHMETIC and len(node.args) == 2:
            return ast.BinOp(node.args[0], _ARITHMETIC[name](), node.args[1])
        if name in _FUNCTIONS:
            return ast.Call(ast.Name(_FUNCTIONS[name]), node.args, [])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """sympy joins comparisons by `|` and `&`."""
        self.generic_visit(node)
        joint = {ast.BitOr: ast.Or, ast.BitAnd: ast.And}.get(type(node.op))
        if joint is None or not isinstance(node.left, (ast.Compare, ast.BoolOp)):
            return node
        return ast.BoolOp(joint(), [node.left, node.right])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """sympy negates by `~`."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Invert):
            return ast.UnaryOp(ast.Not(), node.operand)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """A comparison with infinity says nothing."""
        self.generic_visit(node)
        kept = [value for value in node.values if not _is_trivial(value)]
        if not kept:
            return node
        return kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)


def _is_trivial(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and any(
        terminal_name(part.func if isinstance(part, ast.Call) else part) in _INFINITIES
        for part in (node.left, *node.comparators)
        for part in ([part.operand] if isinstance(part, ast.UnaryOp) else [part])
    )


def _within(node: ast.expr, kind: str) -> ast.expr:
    """Of an indexed container the index asks, of a slice its bound, of a comprehension its test or what it calls."""
    if kind == "truth" and isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return next(_tests(node, [node]), None) or next(_calls([node.elt]), node)
    if kind != "integer" or not isinstance(node, (ast.Subscript, ast.Slice)):
        return node
    index = node.slice if isinstance(node, ast.Subscript) else node
    match index:
        case ast.Slice(lower=lower, upper=upper, step=step):
            bounds = [part for part in (lower, upper, step) if part is not None and not isinstance(part, ast.Constant)]
            return bounds[0] if len(bounds) == 1 else node
        case ast.Tuple() | ast.Constant():
            return node
    return index


def _headers(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that a statement evaluates itself."""
    for name, value in ast.iter_fields(statement):
        if name in ("body", "orelse", "finalbody", "handlers", "decorator_list", "targets", "target"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.expr):
                yield part


def _tests(statement: ast.AST, parts: list[ast.expr]) -> Iterator[ast.expr]:
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


def _integers(statement: ast.AST, parts: list[ast.expr]) -> Iterator[ast.expr]:
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
