"""What the text of a function says of its names: which of them are used as only tensors are used."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.source import descend, inner_nodes
from ddelint.static.domain.definitions import ClassInfo
from ddelint.static.domain.evidence import Evidence
from ddelint.static.domain.masks import named_a_mask
from ddelint.static.domain.values import UNKNOWN, Module
from ddelint.static.program.documented import documented_tensors
from ddelint.static.walk.class_tables import attribute_table
from ddelint.static.walk.walker import Walker

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


_TYPE_TESTS = frozenset(("isinstance", "hasattr", "callable"))


@dataclass
class _Gathering:
    parameters: set[str]
    optional: set[str]
    """Those with a default."""
    ambiguous: set[str] = field(default_factory=set)
    rebound: dict[str, int] = field(default_factory=dict)
    uses: list[tuple[str, int]] = field(default_factory=list)
    surely: set[str] = field(default_factory=set)

    def used(walker, name: str, node: ast.expr, surely: bool = False) -> None:
        if name:
            walker.uses.append((name, node.lineno))
            if surely:
                walker.surely.add(name)


def gather(function: ast.AST, owner: ClassInfo | None, walker: Walker) -> Evidence:
    """Read the function's text once."""
    declared = function.args if isinstance(function, _FUNCTIONS) else None
    parameters = {p.arg for p in (*declared.posonlyargs, *declared.args, *declared.kwonlyargs)} if declared else set()
    seen = _Gathering(parameters, _with_defaults(declared) if declared else set())
    known = operators()
    for node in inner_nodes(function):
        kind = type(node)
        if kind is ast.Call:
            assert isinstance(node, ast.Call)
            _called(node, seen, owner, walker)
        elif kind is ast.Attribute:
            assert isinstance(node, ast.Attribute)
            if isinstance(node.value, ast.Name) and node.attr in known.evidence_attributes:
                seen.used(node.value.id, node, node.attr in known.sure_attributes)
        elif kind is ast.Subscript:
            assert isinstance(node, ast.Subscript)
            _subscripted(node, seen)
        elif kind is ast.UnaryOp:
            assert isinstance(node, ast.UnaryOp)
            if isinstance(node.op, ast.Invert) and isinstance(node.operand, ast.Name):
                seen.used(node.operand.id, node)
        elif kind is ast.Assign:
            assert isinstance(node, ast.Assign)
            _assigned(node, seen)
    for name in parameters & _documented(function):
        seen.uses.append((name, 0))
    names = frozenset(name for name, _ in seen.uses) - seen.ambiguous
    first = seen.rebound
    return Evidence(
        frozenset(n for n, line in seen.uses if n in names and n in parameters and line <= first.get(n, line)),
        frozenset(seen.surely - seen.ambiguous),
        names,
    )


def _documented(function: ast.AST) -> frozenset[str]:
    """The parameters that the docstring says are tensors."""
    if not isinstance(function, ast.FunctionDef):
        return frozenset()
    return documented_tensors(ast.get_docstring(function, clean=False) or "")


def _called(node: ast.Call, seen: _Gathering, owner: ClassInfo | None, walker: Walker) -> None:
    known = operators()
    match node.func:
        case ast.Name(id=name) if name in _TYPE_TESTS:
            if node.args and isinstance(node.args[0], ast.Name):
                seen.ambiguous.add(node.args[0].id)
        case ast.Attribute(value=ast.Name(id=name), attr=method):
            if method in known.evidence_methods and method not in walker.index.method_names:
                seen.used(name, node, method in known.sure_methods)
            elif not _of_tensors(method) and not walker.index.dotted(node.func):
                seen.ambiguous.add(name)
        case ast.Attribute(value=ast.Compare() | ast.BinOp() as operand, attr=method):
            if method in known.evidence_methods:
                name = _only_name(operand, seen.parameters)
                if name not in seen.optional or not _holds_others(operand, seen.parameters):
                    seen.used(name, node)
    _handed_over(node, seen, owner, walker)


def _of_tensors(method: str) -> bool:
    known = operators()
    return method in known.returns or method in known.known_methods or method.endswith("_")


def _handed_over(node: ast.Call, seen: _Gathering, owner: ClassInfo | None, walker: Walker) -> None:
    """`torch.nonzero(x)`, `walker.linear(x)`: the first argument of such a call is a tensor."""
    if terminal_name(node.func) in operators().tensor_offsets:
        # split points that a caller passes in: numbers would stand in the module
        for argument in node.args[:2]:
            if isinstance(argument, ast.Name) and argument.id in seen.parameters:
                seen.used(argument.id, node)
    if not node.args:
        return
    first = node.args[0]
    name = first.id if isinstance(first, ast.Name) else _only_name(first, seen.parameters)
    if not name or (name in seen.optional and _holds_others(first, {*seen.parameters, name})):
        return
    match node.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=attribute) if owner is not None:
            held = attribute_table(walker, owner, attribute) if attribute not in owner.methods else UNKNOWN
            layers = operators().regions["tensor_modules"]
            if isinstance(held, Module) and held.path.rsplit(".", 1)[-1] in layers:
                seen.used(name, node)
        case ast.Name() | ast.Attribute():
            function = terminal_name(node.func)
            behaviour = "" if function in operators().number_first else operators().returns.get(function, "")
            if behaviour in operators().tensor_first and walker.index.dotted(node.func).startswith("torch."):
                seen.used(name, node, isinstance(first, ast.Name))


def _subscripted(node: ast.Subscript, seen: _Gathering) -> None:
    """`x[:, 0]` and `x[..., None]` are no lists; `x[mask]` takes a tensor on both sides, `x[x > 0]` one."""
    if not isinstance(node.value, ast.Name):
        return
    match node.slice:
        case ast.Tuple(elts=elements):
            if any(isinstance(e, ast.Slice) or _is_literal(e, (None, Ellipsis)) for e in elements):
                seen.used(node.value.id, node)
        case ast.Name(id=mask) if named_a_mask(mask):
            seen.used(node.value.id, node)
            seen.used(mask, node)
        case ast.Compare() | ast.BinOp() as test if _tests(test, node.value.id):
            seen.used(node.value.id, node)


def _tests(test: ast.Compare | ast.BinOp, name: str) -> bool:
    """Whether a comparison, or one joined to others by `&` or `|`, is of the name's own elements: `x[x > 0]`."""
    waiting: list[ast.expr] = [test]
    while waiting:
        match waiting.pop():
            case ast.Compare(left=left, comparators=comparators):
                if any(isinstance(part, ast.Name) and part.id == name for part in (left, *comparators)):
                    return True
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr(), left=left, right=right):
                waiting += [left, right]
    return False


def _assigned(node: ast.Assign, seen: _Gathering) -> None:
    if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.BinOp):
        own = node.targets[0].id
        if any(isinstance(part, ast.Name) and part.id == own for part in descend(node.value)):
            return  # x = x + 1: what x is afterwards it was before
    for target in node.targets:
        for part in descend(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                seen.rebound[part.id] = min(seen.rebound.get(part.id, node.lineno), node.lineno)


def _only_name(node: ast.expr, parameters: set[str]) -> str:
    """The one parameter that an expression of operators computes with; empty where there are several or none."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        match waiting.pop():
            case ast.Name(id=name) if name in parameters:
                found.add(name)
            case ast.UnaryOp(operand=operand):
                waiting.append(operand)
            case ast.Compare(left=left, comparators=comparators):
                waiting += [left, *comparators]
            case ast.BinOp(left=left, right=right):
                waiting += [left, right]
    return found.pop() if len(found) == 1 else ""


def _holds_others(node: ast.expr, parameters: set[str]) -> bool:
    """Whether names stand in an expression that are no parameters: the tensor of `(sizes == k).any()` may be these."""
    return any(isinstance(part, ast.Name) and part.id not in parameters for part in descend(node))


def _with_defaults(declared: ast.arguments) -> set[str]:
    positional = [*declared.posonlyargs, *declared.args]
    last = positional[len(positional) - len(declared.defaults) :]
    named = (p for p, default in zip(declared.kwonlyargs, declared.kw_defaults) if default is not None)
    return {parameter.arg for parameter in (*last, *named)}


def _is_literal(node: ast.expr, values: tuple[object, ...]) -> bool:
    return isinstance(node, ast.Constant) and any(node.value is value for value in values)
