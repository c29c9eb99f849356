"""`int(t)` demands a concrete number while tracing; `t.item()` gives a symbol that stands for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ddelint.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import Binding, is_pure, text_of, torch_name
from ddelint.rewrite.kinds import Kind, Kinds, definition
from ddelint.rewrite.proposals import is_tensor, listed_tensor, looped_over, number_kind, offer, origins

_CASTS = frozenset(("int", "float", "bool", "round"))


@dataclass(frozen=True, slots=True)
class _Form:
    text: str
    claim: Claim = Claim.EQUIVALENT
    notes: tuple[str, ...] = ()


@move("item_instead_of_cast")
def item_instead_of_cast(context: Context) -> Iterator[Candidate]:
    """`int(t)` → `t.item()`, cast on the tensor first where it isn't of integers; a cast of a number is dropped."""
    source = context.site.source
    kinds = Kinds(context)
    for node in origins(context, 1):
        yield from _whole_list(context, kinds, node)
        cast = _cast(node)
        if cast is None or not is_pure(cast.args[0]):
            continue
        name, torch, imports = ast.unparse(cast.func), *torch_name(source)
        for form in _forms(context, kinds, cast, torch):
            yield from offer(
                context,
                "item_instead_of_cast",
                form.claim,
                f"`{name}(…)` demands a concrete number while tracing; `{' '.join(form.text.split())}` stays symbolic",
                [(cast, form.text)],
                imports=imports if f"{torch}." in form.text else (),
                notes=form.notes,
            )


def _cast(node: ast.expr) -> ast.Call | None:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _CASTS:
            return None if isinstance(argument, (ast.Starred, ast.Constant)) else node
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr="trunc"), args=[_], keywords=[]):
            return node
    return None


def _forms(context: Context, kinds: Kinds, cast: ast.Call, torch: str) -> Iterator[_Form]:
    argument = cast.args[0]
    name = cast.func.id if isinstance(cast.func, ast.Name) else "int"
    if name == "bool":
        yield from _truth(context, kinds, argument)
    elif name == "round":
        yield from _rounded(context, kinds, argument)
    elif is_tensor(kinds, argument):
        yield from _of_tensor(context, kinds, argument, name, torch)
    elif kinds.of(argument) is Kind.NUMBER or number_kind(kinds, argument) or _is_item(argument):
        yield from _of_number(context, kinds, argument, name, torch)
    else:
        fact = kinds.fact(argument)
        if fact is not None and fact.kind not in {"other"}:
            return
        if not _from_list(kinds, argument):
            yield from _of_tensor(context, kinds, argument, name, torch)
        yield from _of_number(context, kinds, argument, name, torch)


def _is_item(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item"


def _from_list(kinds: Kinds, node: ast.expr) -> bool:
    """Whether `node` runs through the numbers of a `.tolist()`."""
    if not isinstance(node, ast.Name):
        return False
    iterated = looped_over(kinds.context, node.id)
    return iterated is not None and listed_tensor(kinds, iterated) is not None


def _of_tensor(context: Context, kinds: Kinds, node: ast.expr, name: str, torch: str) -> Iterator[_Form]:
    text = text_of(context.site.source, node, Binding.PRIMARY)
    dtype = kinds.dtype(node)
    floating = dtype.startswith(("float", "bfloat"))
    if name == "float":
        if floating:
            yield _Form(f"{text}.item()")
        elif dtype.startswith(("int", "uint", "bool")) or dtype == "integer":
            yield _Form(f"{text}.double().item()")
        else:
            yield _Form(f"{torch}.sym_float({text}.item())")
            yield _Form(f"{text}.double().item()")
        return
    if dtype.startswith(("int", "uint")) or dtype == "integer":
        yield _Form(f"{text}.item()")
    elif dtype == "bool":
        yield _Form(f"{text}.long().item()")
    elif floating:
        yield _Form(
            f"{text}.long().item()",
            notes=("`int()` of NaN or infinity raises, `.long()` gives some number",),
        )
        yield _Form(f"{torch}.sym_int({text}.item())")
    else:
        # right for integers and floats alike; a tensor of booleans wants the cast
        yield _Form(f"{torch}.sym_int({text}.item())")
        yield _Form(f"{text}.long().item()")


def _of_number(context: Context, kinds: Kinds, node: ast.expr, name: str, torch: str) -> Iterator[_Form]:
    source = context.site.source
    kind = number_kind(kinds, node)
    if name == "int":
        yield from _divided(context, kinds, node)
        if kind == "int":
            yield _Form(text_of(source, node))
        elif kind == "bool":
            match node:
                case ast.Call(func=ast.Attribute(value=receiver, attr="item"), args=[]):
                    yield _Form(f"{text_of(source, receiver, Binding.PRIMARY)}.long().item()")
            return
        yield _Form(f"{torch}.sym_int({text_of(source, node)})")
    else:
        if kind == "float":
            yield _Form(text_of(source, node))
        yield _Form(f"{torch}.sym_float({text_of(source, node)})")


def _divided(context: Context, kinds: Kinds, node: ast.expr) -> Iterator[_Form]:
    """`int(a / b)` of whole numbers → `a // b`."""
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            sides = [number_kind(kinds, side) for side in (left, right)]
            if "float" in sides or "bool" in sides or is_tensor(kinds, left) or is_tensor(kinds, right):
                return
            source = context.site.source
            first = text_of(source, left, Binding.ARITHMETIC + 1)
            second = text_of(source, right, Binding.ARITHMETIC + 2)
            sizes = all(_not_negative(side) for side in (left, right))
            yield _Form(
                f"{first} // {second}",
                Claim.EQUIVALENT if sizes else Claim.RESTRUCTURED,
                () if sizes else ("`//` rounds down where `int()` cuts off: negative quotients differ",),
            )


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


def _rounded(context: Context, kinds: Kinds, node: ast.expr) -> Iterator[_Form]:
    """`round(t)`, `round(t.item())`: both round halves to even."""
    receiver = node if is_tensor(kinds, node) else _receiver(context, node)
    if receiver is None:
        return
    text = text_of(context.site.source, receiver, Binding.PRIMARY)
    if kinds.dtype(receiver).startswith(("int", "uint")):
        yield _Form(f"{text}.item()")
    else:
        yield _Form(f"{text}.round().long().item()")


def _receiver(context: Context, node: ast.expr) -> ast.expr | None:
    """`t` where `node` is `t.item()` or a name for it."""
    match node:
        case ast.Call(func=ast.Attribute(value=receiver, attr="item"), args=[]):
            return receiver
        case ast.Name(id=name):
            value = definition(context, name)
            return _receiver(context, value) if isinstance(value, ast.Call) and is_pure(value) else None
    return None


def _truth(context: Context, kinds: Kinds, node: ast.expr) -> Iterator[_Form]:
    source = context.site.source
    if not is_tensor(kinds, node):
        kind = number_kind(kinds, node)
        if kind == "bool":
            yield _Form(text_of(source, node))
        elif kind in {"int", "float"}:
            yield _Form(f"{text_of(source, node, Binding.BITWISE)} != 0")
        return
    if kinds.dtype(node) == "bool":
        yield _Form(f"{text_of(source, node, Binding.PRIMARY)}.item()")
    else:
        yield _Form(f"({text_of(source, node, Binding.BITWISE)} != 0).item()")


def _whole_list(context: Context, kinds: Kinds, node: ast.expr) -> Iterator[Candidate]:
    """`[int(v) for v in t]`, `list(map(int, t))` → `t.tolist()`."""
    match node:
        case ast.ListComp(
            elt=ast.Call(func=ast.Name(id="int"), args=[ast.Name(id=name)], keywords=[]),
            generators=[ast.comprehension(target=ast.Name(id=target), iter=iterated, ifs=[], is_async=0)],
        ) if name == target:
            pass
        case ast.ListComp(
            elt=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="item"), args=[], keywords=[]),
            generators=[ast.comprehension(target=ast.Name(id=target), iter=iterated, ifs=[], is_async=0)],
        ) if name == target:
            pass
        case ast.Call(
            func=ast.Name(id="list" | "tuple"),
            args=[ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="int"), iterated], keywords=[])],
            keywords=[],
        ):
            pass
        case _:
            return
    text = _tolist(context, kinds, iterated)
    if text is None:
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tuple":
        text = f"tuple({text})"
    yield from offer(
        context,
        "item_instead_of_cast",
        Claim.EQUIVALENT,
        "`.tolist()` gives one symbol for each element where `int(…)` demands concrete numbers",
        [(node, text)],
    )


def _tolist(context: Context, kinds: Kinds, iterated: ast.expr) -> str | None:
    """The elements of what is run through as a list of numbers; None where it is not a tensor of integers."""
    source = context.site.source
    if listed_tensor(kinds, iterated) is not None:
        text = text_of(source, iterated, Binding.PRIMARY)
        return text if isinstance(iterated, ast.Call) else f"list({text})"
    if kinds.of(iterated) is Kind.TENSOR and kinds.dtype(iterated).startswith(("int", "uint")):
        return f"{text_of(source, iterated, Binding.PRIMARY)}.tolist()"
    return None
