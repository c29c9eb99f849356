"""What Python asks of a list of numbers that came out of a tensor is asked of the tensor: no element is compared."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import listed_tensor, number_kind, origins
from ddelint.rewrite.reading.constants import value_of
from ddelint.rewrite.reading.kinds import NUMBERS, Kinds
from ddelint.rewrite.reading.names import is_pure, names_read
from ddelint.rewrite.reading.unread import unread_definitions
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, restructured, rewriting

_MOST_AROUND = 3
_EXTREMES = {"max": "argmax", "min": "argmin"}
_NOTHING = "of no element, a ValueError in eager is a RuntimeError"
_ABSENT = "where no element fits, eager raised and the tensor form gives the first place"


@rewriting("tensor_instead_of_list")
def tensor_instead_of_list(context: Context) -> Iterator[Rewrite]:
    """`v.index(max(v))`, `v.index(x)`, `next(i for i, n in enumerate(v) if n > x)` → the tensor's `argmax`; so for
    `sum(v[:n])` and `v[n]`.
    """
    yield from _all_uses(context)
    for node in origins(context, 1):
        found = _Asked(context, Kinds(context)).of(node)
        if found is not None:
            new, notes = found
            message = f"`{_short(context, node)}` compares the elements in Python; the tensor's own operators do not"
            changes: dict[ast.AST, Any] = {node: new}
            changes |= {statement: [] for statement in unread_definitions(context, [node], context.write.reads(new))}
            yield restructured(message, changes, *notes, preferred=True)


def _all_uses(context: Context) -> Iterator[Rewrite]:
    """`v = t.tolist()`, where all that is asked of the list, further on, can be asked of the tensor."""
    function = context.site.function
    match context.site.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="tolist")) as listed):
            pass
        case _:
            return
    if function is None or not is_pure(listed):
        return
    kinds, changes, notes = Kinds(context), dict[ast.AST, Any](), dict[str, None]()
    tensor = listed_tensor(kinds, listed)
    is_named = tensor is None or isinstance(tensor, ast.Name)
    # a tensor without a name gets that of the list
    asked = _Asked(context, kinds, "" if is_named else name)
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            around = [node, *context.site.source.ancestors(node)][:_MOST_AROUND]
            answers = [(each, answer) for each in around if isinstance(each, ast.expr) and (answer := asked.of(each))]
            if not answers:
                return
            place, (new, said) = answers[-1]
            changes[place] = new
            notes |= dict.fromkeys(said)
    read = set[str]().union(*(context.write.reads(new) for new in changes.values()))
    gone = unread_definitions(context, list(changes), read - {name})
    if not changes or context.site.statement not in gone:
        return
    if not is_named and tensor is not None:
        changes[listed] = context.write.expression(tensor)
    else:
        changes |= {statement: [] for statement in gone}
    message = f"what is asked of `{name}` is asked of the tensor: no list of unknown length is made"
    yield restructured(message, changes, *notes, preferred=True)


def _short(context: Context, node: ast.expr) -> str:
    first, *more = context.site.source.segment(node).splitlines()
    return f"{first[:45]}…" if more or len(first) > 50 else first


_Found = tuple[Expr, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The questions that Python asks of lists."""

    context: Context
    kinds: Kinds
    is_tensor: str = ""
    """The name of a list that the tensor itself takes."""

    def of(self, node: ast.expr) -> _Found | None:
        """What `node` asks of a list of numbers, asked of a tensor."""
        match node:
            case ast.Call(func=ast.Attribute(value=listed, attr="index"), args=[wanted], keywords=[]):
                return self._place(listed, wanted)
            case ast.Call(func=ast.Name(id="max" | "min" as name), args=[places], keywords=[ast.keyword("key", key)]):
                read = _read_by(key)
                return self._extreme(name, read) if read is not None and self._counts(places, read) else None
            case ast.Call(
                func=ast.Name(id="sum" | "max" | "min" as name),
                args=[ast.Subscript(value=listed, slice=ast.Slice() as part)],
                keywords=[],
            ):
                return self._reduced(name, listed, part)
            case ast.Call(func=ast.Name(id="sum" | "max" | "min" | "len" as name), args=[listed], keywords=[]):
                return self._whole(name, listed)
            case ast.Subscript(value=listed, slice=place, ctx=ast.Load()) if not isinstance(place, ast.Slice):
                return self._element(listed, place)
            case ast.Call(
                func=ast.Name(id="next"), args=[ast.GeneratorExp(elt=chosen, generators=[each]), *default], keywords=[]
            ) if len(default) < 2:
                return self._first(chosen, each, default[0] if default else None)
        return None

    def _tensor(self, listed: ast.expr) -> Expr | None:
        """The tensor of one dimension whose elements a list holds."""
        tensor, write = listed_tensor(self.kinds, listed), self.context.write
        if tensor is not None and isinstance(listed, ast.Name) and listed.id == self.is_tensor:
            return write.expression(listed)
        if tensor is not None:
            shape = self.kinds.shape(tensor)
            return write.expression(tensor) if is_pure(tensor) and (shape is None or len(shape) == 1) else None
        fact = self.kinds.fact(listed)
        numbers = fact is not None and fact.kind in {"list", "tuple"} and fact.element is not None
        if fact is None or fact.element is None or not numbers or fact.element.kind not in NUMBERS:
            return None
        return write.expr("torch.tensor({})", listed) if is_pure(listed) else None

    def _reduced(self, name: str, listed: ast.expr, part: ast.Slice) -> _Found | None:
        """`sum(v[:n])`, of a part that ends where data says."""
        tensor = self._tensor(listed)
        if tensor is None or part.step is not None or self._is_fixed(part):
            return None
        write, lower, upper = self.context.write, part.lower, part.upper
        if lower is None:
            plain = isinstance(upper, (ast.Name, ast.Constant))
            template = "{}[:{}].{name}().item()" if plain else "{}[: {}].{name}().item()"
            return write.expr(template, tensor, upper or "", name=name), ()
        if upper is None:
            return write.expr("{}[{} :].{name}().item()", tensor, lower, name=name), ()
        return write.expr("{}[{} : {}].{name}().item()", tensor, lower, upper, name=name), ()

    def _whole(self, name: str, listed: ast.expr) -> _Found | None:
        """`max(v)`, `len(v)` of a list with as many elements as data says."""
        tensor, whole = listed_tensor(self.kinds, listed), self._tensor(listed)
        if tensor is None or whole is None or self._is_counted(tensor):
            return None
        if name == "len":
            return self.context.write.expr("{}.shape[0]", whole), ()
        fact = self.kinds.fact(listed)
        element = fact.element.kind if fact is not None and fact.element is not None else ""
        if name == "sum" and element not in ("int", "symint") and not self.kinds.dtype(tensor).startswith("int"):
            return None  # Python adds up in double precision
        return self.context.write.expr("{}.{name}().item()", whole, name=name), (_NOTHING,) * (name != "sum")

    def _is_counted(self, tensor: ast.expr) -> bool:
        """Whether it is known while tracing how many elements a tensor has: then Python's own list will do."""
        shape = self.kinds.shape(tensor)
        return shape is not None and shape[0].isdigit()

    def _element(self, listed: ast.expr, place: ast.expr) -> _Found | None:
        """`v[n]`."""
        tensor = self._tensor(listed)
        if tensor is None or self._is_fixed(place) or not is_pure(place) or not number_kind(self.kinds, place):
            return None
        return self.context.write.expr("{}[{}].item()", tensor, place), ()

    def _is_fixed(self, place: ast.AST) -> bool:
        """Whether a place is written as a number, or counted by Python."""
        numbers = [node for node in ast.walk(place) if isinstance(node, ast.expr) and not isinstance(node, ast.Slice)]
        facts = [fact for node in numbers if (fact := self.kinds.fact(node)) is not None]
        return not any(fact.kind in ("symint", "tensor") for fact in facts)

    def _place(self, listed: ast.expr, wanted: ast.expr) -> _Found | None:
        """`v.index(max(v))`, `v.index(x)`."""
        best = value_of(self.context, wanted)
        match best:
            case ast.Call(func=ast.Name(id="max" | "min" as name), args=[same], keywords=[]) if _same(same, listed):
                return self._extreme(name, listed)
        tensor = self._tensor(listed)
        if tensor is None or not is_pure(wanted):
            return None
        return self.context.write.expr("({} == {}).int().argmax().item()", tensor, wanted), (_ABSENT,)

    def _extreme(self, name: str, listed: ast.expr) -> _Found | None:
        tensor = self._tensor(listed)
        if tensor is None:
            return None
        return self.context.write.expr("{}.{name}().item()", tensor, name=_EXTREMES[name]), ()

    def _counts(self, places: ast.expr, listed: ast.expr) -> bool:
        """Whether `places` are all places of the list: `range(len(v))`."""
        match places:
            case ast.Call(
                func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[counted])], keywords=[]
            ):
                return _same(counted, listed)
        return False

    def _first(self, chosen: ast.expr, each: ast.comprehension, default: ast.expr | None) -> _Found | None:
        """`next(i for i, n in enumerate(v) if n > x)`, `next((n for n in v if n > x), 0)`."""
        match each:
            case ast.comprehension(
                target=ast.Tuple(elts=[ast.Name(id=place), ast.Name(id=name)]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[listed], keywords=[]),
                ifs=[test],
                is_async=0,
            ):
                pass
            case ast.comprehension(target=ast.Name(id=name), iter=listed, ifs=[test], is_async=0):
                place = ""
            case _:
                return None
        tensor = self._tensor(listed)
        if tensor is None or not _elementwise(test, name) or place in names_read(test):
            return None
        write = self.context.write
        fits = write.replaced(test, {n: tensor for n in ast.walk(test) if isinstance(n, ast.Name) and n.id == name})
        first = write.expr("{}.int().argmax()", fits)
        match chosen:
            case ast.Name(id=read) if read == place:
                found = first
            case ast.Name(id=read) if read == name:
                found = write.expr("{}[{}]", tensor, first)
            case _:
                return None
        if default is None:
            return write.expr("{}.item()", found), (_ABSENT,)
        return write.expr("torch.where({}.any(), {}, {}).item()", fits, found, default), ()


def _same(first: ast.expr, second: ast.expr) -> bool:
    return ast.dump(first) == ast.dump(second)


def _read_by(key: ast.expr) -> ast.expr | None:
    """The list that a sort key reads: `v.__getitem__`, `lambda i: v[i]`."""
    match key:
        case ast.Attribute(value=listed, attr="__getitem__"):
            return listed
        case ast.Lambda(
            args=ast.arguments(args=[ast.arg(arg=name)]), body=ast.Subscript(value=listed, slice=ast.Name(id=read))
        ) if read == name:
            return listed
    return None


def _elementwise(test: ast.expr, name: str) -> bool:
    """Whether a test of one number is the same test of all: comparisons and sums, in which nothing short-circuits."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() | ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
            return all(_number(side, name) for side in (left, *test.comparators))
    return False


def _number(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.BinOp(left=left, right=right, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Mod()):
            return _number(left, name) and _number(right, name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _number(operand, name)
    return name not in names_read(node) and is_pure(node)
