"""`int(t)` demands a concrete number while tracing; `t.item()` gives a symbol that stands for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.truths import MEMBER
from ddelint.rewrite.reading.around import (
    AS_EITHER,
    is_int_in_eager,
    is_tensor,
    listed_tensor,
    looped_over,
    number_kind,
    number_of,
    origins,
)
from ddelint.rewrite.reading.hashing import wants_value
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition, is_whole
from ddelint.rewrite.reading.names import is_pure
from ddelint.rewrite.reading.number_uses import NumberUses, number_uses
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_CASTS = frozenset(("int", "float", "bool", "round"))
_CUT_OFF = "`//` rounds down where `int()` cuts off: negative quotients differ"
_BEYOND = "`int()` is exact from 2**63 on and raises for NaN and infinity, where `.long()` gives some number"

_READ, _TRUNCATED, _WIDENED = "{}.item()", "{}.long().item()", "{}.double().item()"
_WHOLE = "torch.sym_int({}.item())"
_OF_TENSORS = {
    ("float", "float"): (_READ,),
    ("float", "int"): (_WHOLE, _TRUNCATED),
    ("int", "float"): (_WIDENED,),
    ("int", "int"): (_READ,),
    ("bool", "float"): (_WIDENED,),
    ("bool", "int"): (_TRUNCATED,),
    ("", "float"): ("torch.sym_float({}.item())", _WIDENED),
    # right for integers and floats alike; a tensor of booleans wants the cast
    ("", "int"): (_WHOLE, _TRUNCATED),
}
"""By what a tensor's numbers are, and what they are cast to."""

Form = tuple[str, *tuple[ast.expr, ...]]
"""A template and what fills it."""


@rewriting("item_instead_of_cast")
def item_instead_of_cast(context: Context) -> Iterator[Rewrite]:
    """`int(t)` → `t.item()`, cast on the tensor first where it isn't of integers; a cast of a number is dropped."""
    kinds, write = Kinds(context), context.write
    for node in origins(context, 1):
        yield from _whole_list(context, kinds, node)
        yield from _membership(context, kinds, node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _CASTS:
                if isinstance(argument, (ast.Starred, ast.Constant)):
                    continue
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr="trunc"), args=[argument], keywords=[]):
                name = "int"
            case _:
                continue
        if not is_pure(argument) or wants_value(kinds, node):
            continue
        uses = number_uses(kinds, argument.id) if name == "int" and isinstance(argument, ast.Name) else None
        if uses is not None and uses.count > 1:
            yield _at_definition(context, kinds, node, argument, uses)
            if context.kind == "static" and not uses.reads:
                continue  # the fixes of all its uses go together, and those make it a number
        for template, *parts in _forms(context, kinds, argument, name):
            new = write.expr(template, *parts)
            shown = " ".join(write.code(new).split())
            is_cut = template == _TRUNCATED and number_of(kinds.dtype(parts[0])) != "bool"
            cut_off = "//" in template and not all(map(_not_negative, parts))
            yield Rewrite(
                f"`{ast.unparse(node.func)}(…)` demands a concrete number while tracing; `{shown}` stays symbolic",
                {node: new},
                Claim.RESTRUCTURED if cut_off else Claim.EQUIVALENT,
                (_CUT_OFF,) * cut_off,
                doubt=_BEYOND if is_cut else "",
            )


def _at_definition(context: Context, kinds: Kinds, node: ast.Call, name: ast.expr, uses: NumberUses) -> Rewrite:
    """`n = mask.sum()` → `n = mask.sum().item()`, where `n` is used several times, and as nothing but a number."""
    write = context.write
    number = write.expr("{}" if is_whole(kinds.dtype(name)) else "torch.sym_int({})", name)
    changes: dict[ast.AST, Any] = {uses.value: write.expr("{}.item()", uses.value), node: number}
    if context.kind != "static":
        changes |= dict.fromkeys(uses.casts, number)
    changes |= {read: write.expression(name) for read in uses.reads}
    message = f"`{ast.unparse(name)}` is used as a number: reading it where it is made gives the compiler one symbol"
    return Rewrite(message, changes)


def _forms(context: Context, kinds: Kinds, argument: ast.expr, name: str) -> Iterator[Form]:
    if name == "bool":
        yield from _truth(kinds, argument)
    elif name == "round":
        yield from _rounded(context, kinds, argument)
    elif name == "int" and is_tensor(kinds, argument) and is_int_in_eager(context, argument):
        yield AS_EITHER, argument
    elif is_tensor(kinds, argument):
        yield from _of_tensor(kinds, argument, name)
    elif kinds.of(argument) is Kind.NUMBER or number_kind(kinds, argument) or _is_item(argument):
        yield from _of_number(kinds, argument, name)
    else:
        fact = kinds.fact(argument)
        if fact is not None and fact.kind not in {"other"}:
            return
        if not _from_list(kinds, argument):
            yield from _of_tensor(kinds, argument, name)
        yield from _of_number(kinds, argument, name)


def _is_item(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item"


def _from_list(kinds: Kinds, node: ast.expr) -> bool:
    """Whether `node` runs through the numbers of a `.tolist()`."""
    if not isinstance(node, ast.Name):
        return False
    iterated = looped_over(kinds.context, node.id)
    return iterated is not None and listed_tensor(kinds, iterated) is not None


def _of_tensor(kinds: Kinds, node: ast.expr, name: str) -> Iterator[Form]:
    for template in _OF_TENSORS[number_of(kinds.dtype(node)), name]:
        yield template, node


def _of_number(kinds: Kinds, node: ast.expr, name: str) -> Iterator[Form]:
    kind = number_kind(kinds, node)
    if name == "int":
        yield from _divided(kinds, node)
        if kind == "int":
            yield "{}", node
        elif kind == "bool":
            match node:
                case ast.Call(func=ast.Attribute(value=receiver, attr="item"), args=[]):
                    yield "{}.long().item()", receiver
            return
    elif kind == "float":
        yield "{}", node
    yield "torch.sym_int({})" if name == "int" else "torch.sym_float({})", node


def _divided(kinds: Kinds, node: ast.expr) -> Iterator[Form]:
    """`int(a / b)` of whole numbers → `a // b`."""
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            sides = [number_kind(kinds, side) for side in (left, right)]
            if not {"float", "bool"} & set(sides) and not is_tensor(kinds, left) and not is_tensor(kinds, right):
                yield "{} // {}", left, right


def _not_negative(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=int() as value):
            return value >= 0
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Call(func=ast.Attribute(attr="size" | "numel" | "nelement")) | ast.Call(func=ast.Name(id="len")):
            return True
        case ast.BinOp(op=ast.Add() | ast.Mult() | ast.FloorDiv(), left=left, right=right):
            return _not_negative(left) and _not_negative(right)
    return False


def _rounded(context: Context, kinds: Kinds, node: ast.expr) -> Iterator[Form]:
    """`round(t)`, `round(t.item())`: both round halves to even."""
    receiver = node if is_tensor(kinds, node) else _receiver(context, node)
    if receiver is not None:
        whole = kinds.dtype(receiver).startswith(("int", "uint"))
        yield _READ if whole else "torch.sym_int({}.round().item())", receiver


def _receiver(context: Context, node: ast.expr) -> ast.expr | None:
    """`t` where `node` is `t.item()` or a name for it."""
    match node:
        case ast.Call(func=ast.Attribute(value=receiver, attr="item"), args=[]):
            return receiver
        case ast.Name(id=name):
            value = definition(context, name)
            return _receiver(context, value) if isinstance(value, ast.Call) and is_pure(value) else None
    return None


def _truth(kinds: Kinds, node: ast.expr) -> Iterator[Form]:
    if is_tensor(kinds, node):
        yield "{}.item()" if kinds.dtype(node) == "bool" else "({} != 0).item()", node
    elif kind := number_kind(kinds, node):
        yield "{}" if kind == "bool" else "{} != 0", node


def _membership(context: Context, kinds: Kinds, node: ast.expr) -> Iterator[Rewrite]:
    """`7 in t` → `(t == 7).any().item()`."""
    match node:
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as operator], comparators=[right]) if (
            kinds.of(right) is Kind.TENSOR
        ):
            template = f"{MEMBER}.item()" if isinstance(operator, ast.In) else f"torch.sym_not({MEMBER}.item())"
            new = context.write.expr(template, right, left)
            shown = " ".join(context.write.code(new).split())
            yield Rewrite(f"`in` demands a concrete answer while tracing; `{shown}` stays symbolic", {node: new})


def _whole_list(context: Context, kinds: Kinds, node: ast.expr) -> Iterator[Rewrite]:
    """`[int(v) for v in t]`, `list(map(int, t))` → `t.tolist()`."""
    match node:
        case ast.ListComp(
            elt=ast.Call(func=ast.Name(id="int"), args=[ast.Name(id=name)], keywords=[])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="item"), args=[], keywords=[]),
            generators=[ast.comprehension(target=ast.Name(id=target), iter=iterated, ifs=[], is_async=0)],
        ) if name == target:
            kind = "list"
        case ast.Call(
            func=ast.Name(id="list" | "tuple" as kind),
            args=[ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="int"), iterated], keywords=[])],
            keywords=[],
        ):
            pass
        case _:
            return
    if listed_tensor(kinds, iterated) is not None:
        template = "{}" if isinstance(iterated, ast.Call) else "list({})"
    elif kinds.of(iterated) is Kind.TENSOR and kinds.dtype(iterated).startswith(("int", "uint")):
        template = "{}.tolist()"
    else:
        return
    new = context.write.expr(template, iterated)
    yield Rewrite(
        "`.tolist()` gives one symbol for each element where `int(…)` demands concrete numbers",
        {node: context.write.expr("tuple({})", new) if kind == "tuple" else new},
    )
