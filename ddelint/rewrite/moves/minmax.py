"""Built-ins that compare in Python, and clamping by an `if`, as symbolic maximum and minimum."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import reduce

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import is_tensor, number_kind, origins
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import is_pure
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, Writer, restructured, rewriting
from ddelint.sources.sites import Role

_SYMBOLIC = {"max": "sym_max", "min": "sym_min"}
_TENSORS = {"max": "maximum", "min": "minimum"}
_BOUNDS = {"max": "min", "min": "max"}


@rewriting("symbolic_minmax")
def symbolic_minmax(context: Context) -> Iterator[Rewrite]:
    """`max(a, b)` → `torch.sym_max(a, b)`; so for `a if a > b else b`, `if n > m: n = m` and `math.ceil(a / b)`."""
    kinds, write = Kinds(context), context.write
    yield from _statement(context, kinds)
    for node in origins(context):
        match node:
            case ast.Call(func=ast.Name(id="max" | "min" as name), args=args, keywords=[]):
                yield from _call(kinds, write, node, name, args, asks_tensors=context.diagnostic.code == "DDE105")
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = _chosen(test, body, orelse)
                if chosen and is_pure(node) and not is_tensor(kinds, body) and not is_tensor(kinds, orelse):
                    message = f"the choice is a `{chosen}`, which `{_shown(write, chosen)}` says without a question"
                    yield Rewrite(message, {node: _nested(write, chosen, [body, orelse])}, decisions=(test,))
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="math"), attr="ceil"),
                args=[ast.BinOp(left=left, op=ast.Div(), right=right)],
                keywords=[],
            ):
                sides = (left, right)
                if not any(is_tensor(kinds, side) or number_kind(kinds, side) == "float" for side in sides):
                    yield restructured(
                        "dividing upwards in whole numbers stays symbolic; `math.ceil` of a quotient does not",
                        {node: write.expr("-(-{} // {})", left, right)},
                    )


def _shown(write: Writer, name: str) -> str:
    """What the file calls the symbolic function, for messages."""
    return f"{write.torch}.{_SYMBOLIC[name]}"


def _nested(write: Writer, name: str, parts: Sequence[ast.expr]) -> Expr:
    """`torch.sym_max(torch.sym_max(a, b), c)` for `max` of several parts."""

    def pair(left: Expr, right: Expr) -> Expr:
        return write.expr("torch.{name}({}, {})", left, right, name=_SYMBOLIC[name])

    return reduce(pair, map(write.expression, parts))


def _call(
    kinds: Kinds, write: Writer, node: ast.Call, name: str, args: list[ast.expr], asks_tensors: bool = False
) -> Iterator[Rewrite]:
    match args:
        case [ast.List(elts=[_, _, *_] as elements) | ast.Tuple(elts=[_, _, *_] as elements)]:
            yield from _call(kinds, write, node, name, elements, asks_tensors)
        case [] | [ast.List() | ast.Tuple() | ast.Starred()]:
            pass
        case [one] if is_tensor(kinds, one):
            message = f"the built-in `{name}` compares the elements in Python; the tensor's own `{name}` does not"
            yield Rewrite(message, {node: write.expr("{}.{name}()", one, name=name)})
        case [one] if _holds_tensors(kinds, one) or asks_tensors:
            message = f"the built-in `{name}` asks for the truth of tensors; they are compared side by side"
            yield restructured(message, {node: write.expr("torch.stack({}).{name}()", write.listed(one), name=name)})
        case [one]:
            message = f"the built-in `{name}` compares while tracing; `{_shown(write, name)}` over the list does not"
            reduced = write.expr("functools.reduce(torch.{name}, {})", one, name=_SYMBOLIC[name])
            yield Rewrite(message, {node: reduced})
        case _ if any(isinstance(argument, ast.Starred) for argument in args):
            pass
        case _ if any(is_tensor(kinds, argument) for argument in args):
            yield from _of_tensors(kinds, write, node, name, args)
        case _:
            found = {number_kind(kinds, argument) for argument in args}
            in_place = args is node.args and len(args) == 2  # then its commas and comments stay
            function = write.expr("torch.{name}", name=_SYMBOLIC[name])
            yield Rewrite(
                f"the built-in `{name}` compares while tracing; `{_shown(write, name)}` keeps both in one symbol",
                {node.func: function} if in_place else {node: _nested(write, name, args)},
                Claim.RESTRUCTURED if "float" in found and len(found) > 1 else Claim.EQUIVALENT,
            )


def _holds_tensors(kinds: Kinds, several: ast.expr) -> bool:
    """Whether a list, or what goes through one, gives tensors."""
    match several:
        case ast.GeneratorExp(elt=part) | ast.ListComp(elt=part):
            return is_tensor(kinds, part)
    fact = kinds.fact(several)
    return fact is not None and fact.element is not None and fact.element.kind == "tensor"


def _of_tensors(kinds: Kinds, write: Writer, node: ast.Call, name: str, args: list[ast.expr]) -> Iterator[Rewrite]:
    if len(args) != 2:
        return
    tensor, other = args if is_tensor(kinds, args[0]) else args[::-1]
    if is_tensor(kinds, other):
        new = write.expr("torch.{name}({})", args, name=_TENSORS[name])
    else:
        new = write.expr("{}.clamp({})", tensor, [write.keyword(_BOUNDS[name], other)])
    message = f"the built-in `{name}` asks for a tensor's truth value; the tensor operation does not"
    yield restructured(message, {node: new})


def _chosen(test: ast.expr, body: ast.expr, orelse: ast.expr) -> str | None:
    """`max` or `min` where `body if test else orelse` is one."""
    match test:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE() as operator], comparators=[right]):
            sides, values = [[ast.unparse(n) for n in pair] for pair in ((left, right), (body, orelse))]
            if sides in (values, values[::-1]):
                return "max" if isinstance(operator, (ast.Gt, ast.GtE)) is (sides == values) else "min"
    return None


def _statement(context: Context, kinds: Kinds) -> Iterator[Rewrite]:
    """`if n > m: n = m` → `n = torch.sym_min(n, m)`."""
    match context.site.statement:
        case ast.If(test=test, body=[ast.Assign(targets=[ast.Name() as name], value=value)], orelse=[]) as branch:
            chosen = _chosen(test, value, name)
            if context.site.role is not Role.IF_TEST or not chosen or not is_pure(value):
                return
            if is_tensor(kinds, value) or is_tensor(kinds, name):
                return
            write = context.write
            yield Rewrite(
                f"the `if` keeps the {'larger' if chosen == 'max' else 'smaller'} of two numbers, which "
                f"`{_shown(write, chosen)}` says without a question",
                {branch: write.lines("{name} = {value}", name=name, value=_nested(write, chosen, [name, value]))},
                decisions=(test,),
            )
