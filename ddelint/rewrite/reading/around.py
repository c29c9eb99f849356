"""Where to look around a site: what stands near it, where its names come from, what kinds of numbers they are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from ddelint.knowledge.operators import operators
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.bindings import type_in_eager
from ddelint.rewrite.reading.kinds import NUMBERS, Kind, Kinds, definition, is_torch, is_whole, tensor_argument
from ddelint.rewrite.reading.names import blocks, called
from ddelint.sources.source import SourceFile

_DEEPEST = 8
_UNBACKED = re.compile(r"\bu\d")
"""A size that data decides, in the text of a tensor's shape."""
AS_EITHER = "torch.as_tensor({}).item()"
"""The number of what is an int in eager and a tensor while compiling."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def headers(statement: ast.stmt) -> list[ast.expr]:
    """The expressions that a statement evaluates itself, not those of the blocks inside it."""
    match statement:
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(iter=iterated, target=target) | ast.AsyncFor(iter=iterated, target=target):
            return [iterated, target]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.context_expr for item in items]
        case ast.Match(subject=subject):
            return [subject]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Try():
            return []
    return [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.expr)]


def around(context: Context) -> Iterator[ast.expr]:
    """Expressions of the site's statement, nearest first: what asks, what stands in it, what it stands in, the rest."""
    site = context.site
    seen: set[int] = set()
    groups: list[Iterable[ast.AST]] = []
    if isinstance(site.node, ast.expr):
        groups.append(ast.walk(site.node))
        chain = []
        for parent in site.source.ancestors(site.node):
            if isinstance(parent, ast.stmt):
                break
            chain.append(parent)
        groups.append(chain)
    groups += [ast.walk(header) for header in headers(site.statement)]
    for group in groups:
        for node in group:
            if isinstance(node, ast.expr) and id(node) not in seen:
                seen.add(id(node))
                yield node


def origins(context: Context, depth: int = 2) -> Iterator[ast.expr]:
    """What `around` gives, then the same for the one definition of each name in it, `depth` steps back."""
    found = list(around(context))
    yield from found
    seen = {id(node) for node in found}
    for _ in range(depth):
        names = dict.fromkeys(node.id for node in found if isinstance(node, ast.Name))
        values = [value for name in names if (value := definition(context, name)) is not None]
        found = [node for value in values for node in ast.walk(value) if isinstance(node, ast.expr)]
        found = [node for node in found if id(node) not in seen]
        seen.update(id(node) for node in found)
        yield from found


def is_int_in_eager(context: Context, node: ast.expr) -> bool:
    """Whether an expression is an int in eager, although the compiler has a tensor of one: its arm chose by
    `torch.where`. Not where the one value that a name has is a tensor by now, whatever the original's was."""
    value = definition(context, node.id) if isinstance(node, ast.Name) else None
    if value is not None and not isinstance(value, ast.IfExp) and is_tensor(Kinds(context), value):
        return False
    fact = type_in_eager(context, ast.unparse(node))
    return fact is not None and fact.kind == "int"


def number_kind(kinds: Kinds, node: ast.expr, depth: int = 0) -> str:
    """`int`, `float` or `bool` for an expression that is a Python number or symbol; empty where nothing says."""
    if depth > _DEEPEST:
        return ""
    fact = kinds.fact(node)
    if fact is not None:
        return NUMBERS.get(fact.kind, "")
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return type(value).__name__
        case (
            ast.Subscript(value=ast.Attribute(attr="shape"))
            | ast.Call(func=ast.Attribute(attr="size" | "stride"), args=[_])
            | ast.Call(func=ast.Attribute(attr="numel" | "dim" | "nelement" | "sym_int") | ast.Name(id="len" | "int"))
        ):
            return "int"
        case ast.Call(func=ast.Name(id="float") | ast.Attribute(attr="sym_float")):
            return "float"
        case ast.Call(func=ast.Attribute(value=receiver, attr="item"), args=[]):
            return number_of(kinds.dtype(receiver))
        case ast.IfExp(body=body, orelse=orelse):
            sides = {number_kind(kinds, body, depth + 1), number_kind(kinds, orelse, depth + 1)}
            return sides.pop() if len(sides) == 1 else ""
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return number_kind(kinds, operand, depth + 1)
        case ast.BinOp(left=left, right=right, op=operator):
            sides = {number_kind(kinds, left, depth + 1), number_kind(kinds, right, depth + 1)}
            if "" in sides:
                return ""
            if isinstance(operator, ast.Div) or "float" in sides:
                return "float"
            return "" if isinstance(operator, ast.Pow) else "int"
        case ast.Call(func=ast.Name(id="max" | "min") | ast.Attribute(attr="sym_max" | "sym_min"), args=args) if args:
            sides = {number_kind(kinds, argument, depth + 1) for argument in args}
            return sides.pop() if len(sides) == 1 else ""
        case ast.Name(id=name):
            defined, listed = definition(kinds.context, name), looped_over(kinds.context, name)
            if defined is not None:
                return number_kind(kinds, defined, depth + 1)
            if listed is not None and (tensor := listed_tensor(kinds, listed)) is not None:
                return number_of(kinds.dtype(tensor))
    return ""


def number_of(dtype: str) -> str:
    """What a tensor of a dtype holds: `int`, `float` or `bool`; empty where the dtype is not known."""
    if dtype == "bool":
        return "bool"
    return "int" if is_whole(dtype) else "float" if dtype.startswith(("float", "bfloat")) else ""


def counted_mask(kinds: Kinds, node: ast.AST) -> ast.expr | None:
    """The mask whose true places a call counts: `mask` of `mask.sum()`; None where it counts none."""
    if not isinstance(node, ast.Call) or called(node) not in operators().counting:
        return None
    subject = tensor_argument(node)
    return subject if subject is not None and kinds.dtype(subject) == "bool" else None


def is_count(kinds: Kinds, node: ast.expr, depth: int = 0) -> bool:
    """Whether a whole number is never negative since it counts: rows, elements, the places where a mask is true."""
    if depth > _DEEPEST:
        return False
    match node:
        case ast.Constant(value=int() as value):
            return value >= 0
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant() | ast.UnaryOp()):
            return True
        case (
            ast.Call(func=ast.Attribute(value=counted, attr="item"), args=[])
            | ast.Call(func=ast.Name(id="int") | ast.Attribute(attr="sym_int"), args=[counted])
        ) if isinstance(counted, ast.Call):
            return counted_mask(kinds, counted) is not None or is_count(kinds, counted, depth + 1)
        case (
            ast.Call(func=ast.Attribute(attr="size"), args=[_])
            | ast.Call(func=ast.Attribute(attr="numel" | "nelement") | ast.Name(id="len"))
        ):
            return True
        case ast.BinOp(left=left, right=right, op=ast.Add() | ast.Mult() | ast.FloorDiv()):
            return is_count(kinds, left, depth + 1) and is_count(kinds, right, depth + 1)
        case ast.NamedExpr(value=value):
            return is_count(kinds, value, depth + 1)
        case ast.Name(id=name):
            defined = definition(kinds.context, name)
            return defined is not None and is_count(kinds, defined, depth + 1)
    return False


def is_read(kinds: Kinds, node: ast.expr, depth: int = 0) -> bool:
    """Whether a number hangs on what a tensor holds: on a value that was read, or on a size that data decides."""
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Attribute(attr="item" | "tolist"), args=[]):
                return True
            case ast.Call(func=ast.Name(id="int" | "float"), args=[tensor]) if is_tensor(kinds, tensor):
                return True
            case (
                ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"))
                | ast.Call(func=ast.Attribute(value=tensor, attr="size" | "numel" | "nelement"))
                | ast.Call(func=ast.Name(id="len"), args=[tensor])
            ):
                shape = kinds.shape(tensor)
                if shape is not None and any(_UNBACKED.search(size) for size in shape):
                    return True
            case ast.Name(id=name):
                defined = definition(kinds.context, name) if depth < _DEEPEST else None
                fact = kinds.fact(inner)
                seen = fact is not None and fact.kind in ("symint", "symfloat")
                if seen if defined is None else is_read(kinds, defined, depth + 1):
                    return True
    return False


def looped_over(context: Context, name: str) -> ast.expr | None:
    """What a `for` over `name` in the site's function runs through (`enumerate` and comprehensions included)."""
    function = context.site.function
    if function is None:
        return None
    for node in ast.walk(function):
        if isinstance(node, (ast.For, ast.comprehension)):
            match node.target, node.iter:
                case (ast.Name(id=target), iterated) | (
                    ast.Tuple(elts=[_, ast.Name(id=target)]),
                    ast.Call(func=ast.Name(id="enumerate"), args=[iterated, *_]),
                ) if target == name:
                    return iterated
    return None


def listed_tensor(kinds: Kinds, node: ast.expr, depth: int = 0) -> ast.expr | None:
    """`t` where `node` is `t.tolist()`, or a name for it."""
    match node:
        case ast.Call(func=ast.Attribute(value=tensor, attr="tolist"), args=[]):
            return tensor
        case ast.Name(id=name) if depth < 3:
            value = definition(kinds.context, name)
            return listed_tensor(kinds, value, depth + 1) if value is not None else None
    return None


def read_from(context: Context, node: ast.expr) -> ast.expr:
    """What a number is read from: names followed to their one definition, `int(…)` and `.item()` taken off."""
    for _ in range(_DEEPEST):
        match node:
            case ast.Name(id=name) if (defined := definition(context, name)) is not None:
                node = defined
            case (
                ast.Call(func=ast.Name(id="int"), args=[inner])
                | ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[])
            ):
                node = inner
            case _:
                return node
    return node


def listed_mask(node: ast.expr) -> ast.expr | None:
    """The mask whose places a tuple lists: that of `torch.where(mask)` or `mask.nonzero(as_tuple=True)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="where"), args=[mask], keywords=[]) if is_torch(owner):
            return mask
        case ast.Call(
            func=ast.Attribute(value=owner, attr="nonzero"),
            args=arguments,
            keywords=[ast.keyword(arg="as_tuple", value=ast.Constant(value=True))],
        ):
            return arguments[0] if is_torch(owner) and arguments else owner
    return None


def is_tensor(kinds: Kinds, node: ast.expr) -> bool:
    """Whether `node` is a tensor as far as anything says, loops over tensors included."""
    if kinds.of(node) is Kind.TENSOR:
        return True
    if isinstance(node, ast.Name):
        iterated = looped_over(kinds.context, node.id)
        return iterated is not None and kinds.of(iterated) is Kind.TENSOR
    return False


def read_elsewhere(context: Context, name: str, statement: ast.stmt) -> bool:
    """Whether the function reads a name outside of a statement."""
    function, inside = context.site.function, set(ast.walk(statement))
    return function is None or any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and node not in inside
        for node in ast.walk(function)
    )


def function_statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.stmt]:
    """Every statement of a function, those of its nested blocks included, nested functions not."""
    pending: list[ast.stmt] = list(reversed(function.body))
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, _SCOPES):
            continue
        pending += reversed([inner for block in blocks(statement) for inner in block])


def statement_of(source: SourceFile, node: ast.AST) -> ast.stmt | None:
    """The innermost statement that `node` is part of."""
    if isinstance(node, ast.stmt):
        return node
    return next((parent for parent in source.ancestors(node) if isinstance(parent, ast.stmt)), None)


def behind_known(context: Context, test: ast.expr) -> tuple[list[ast.expr], list[ast.expr]]:
    """The operands of `known and asks`, apart; the block must not run where what is known is false.

    All operands that ask are treated alike.
    """
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            kinds = Kinds(context)
            asking = [value for value in values if kinds.of(value) is not Kind.STATIC]
            if len(asking) != 1:
                asking = [value for value in values if context.asks_in(value)]
            if len(asking) == 1 or (len(asking) < len(values) and values[-len(asking) :] == asking):
                return values[: len(values) - len(asking)], asking
    return [], [test]


def is_unconditional(source: SourceFile, node: ast.expr, statement: ast.stmt) -> bool:
    """Whether a statement evaluates a part of it once, whatever comes before it."""
    child: ast.AST = node
    for parent in source.ancestors(node):
        match parent:
            case ast.IfExp(test=test) if test is not child:
                return False
            case ast.BoolOp(values=[first, *_]) if first is not child:
                return False
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return False
            case ast.Compare(left=left, comparators=[_, _, *_]) if left is not child:
                return False
        if parent is statement:
            return True
        child = parent
    return False
