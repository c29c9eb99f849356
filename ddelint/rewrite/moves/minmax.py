"""Built-ins that compare in Python, and clamping by an `if`, as symbolic maximum and minimum."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import reduce

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, Import, move
from ddelint.rewrite.expressions import Binding, is_pure, text_of, torch_name
from ddelint.rewrite.kinds import Kinds
from ddelint.rewrite.proposals import is_tensor, number_kind, offer, origins
from ddelint.sites import Role

_SYMBOLIC = {"max": "sym_max", "min": "sym_min"}
_TENSORS = {"max": "maximum", "min": "minimum"}
_CLAMPS = {"max": "min", "min": "max"}


@move("symbolic_minmax")
def symbolic_minmax(context: Context) -> Iterator[Candidate]:
    """`max(a, b)` → `torch.sym_max(a, b)`; so for `a if a > b else b`, `if n > m: n = m` and `math.ceil(a / b)`."""
    kinds = Kinds(context)
    yield from _statement(context, kinds)
    for node in origins(context):
        match node:
            case ast.Call(func=ast.Name(id="max" | "min" as name), args=args, keywords=[]):
                if len(args) >= 2 and not any(isinstance(argument, ast.Starred) for argument in args):
                    yield from _call(context, kinds, node, name, args)
                elif len(args) == 1:
                    yield from _iterable(context, kinds, node, name, args[0])
            case ast.IfExp():
                yield from _ternary(context, kinds, node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr="ceil"), args=[argument], keywords=[]):
                yield from _ceiling(context, kinds, node, argument)


def _call(context: Context, kinds: Kinds, node: ast.Call, name: str, args: list[ast.expr]) -> Iterator[Candidate]:
    source = context.site.source
    torch, imports = torch_name(source)
    tensors = [is_tensor(kinds, argument) for argument in args]
    if any(tensors):
        yield from _of_tensors(context, kinds, node, name, args, tensors)
        return
    edits = [Edit(source.span(node.func), f"{torch}.{_SYMBOLIC[name]}")] if args == node.args and len(args) == 2 else []
    text = nested(torch, name, [text_of(source, argument) for argument in args])
    number_kinds = {number_kind(kinds, argument) for argument in args}
    claim = Claim.RESTRUCTURED if "float" in number_kinds and len(number_kinds) > 1 else Claim.EQUIVALENT
    yield from offer(
        context,
        "symbolic_minmax",
        claim,
        f"the built-in `{name}` compares while tracing; `{torch}.{_SYMBOLIC[name]}` keeps both in one symbol",
        [] if edits else [(node, text)],
        edits=edits,
        imports=imports,
    )


def nested(torch: str, name: str, texts: list[str]) -> str:
    """`torch.sym_max(torch.sym_max(a, b), c)` for `max` of several texts."""
    return reduce(lambda left, right: f"{torch}.{_SYMBOLIC[name]}({left}, {right})", texts)


def _of_tensors(
    context: Context, kinds: Kinds, node: ast.Call, name: str, args: list[ast.expr], tensors: list[bool]
) -> Iterator[Candidate]:
    source = context.site.source
    torch, imports = torch_name(source)
    if len(args) != 2:
        return
    if all(tensors):
        first, second = (text_of(source, argument) for argument in args)
        text = f"{torch}.{_TENSORS[name]}({first}, {second})"
    else:
        tensor, bound = args if tensors[0] else args[::-1]
        keyword = {"max": "min", "min": "max"}[name]
        text = f"{text_of(source, tensor, Binding.PRIMARY)}.clamp({keyword}={text_of(source, bound)})"
        imports = ()
    yield from offer(
        context,
        "symbolic_minmax",
        Claim.RESTRUCTURED,
        f"the built-in `{name}` asks for a tensor's truth value; the tensor operation does not",
        [(node, text)],
        imports=imports,
    )


def _iterable(context: Context, kinds: Kinds, node: ast.Call, name: str, argument: ast.expr) -> Iterator[Candidate]:
    """`max(sizes)` of a list of symbols."""
    source = context.site.source
    torch, imports = torch_name(source)
    if isinstance(argument, (ast.List, ast.Tuple)):
        if len(argument.elts) >= 2 and not any(isinstance(element, ast.Starred) for element in argument.elts):
            yield from _call(context, kinds, node, name, argument.elts)
        return
    if is_tensor(kinds, argument):
        text = f"{text_of(source, argument, Binding.PRIMARY)}.{name}()"
        yield from offer(
            context,
            "symbolic_minmax",
            Claim.EQUIVALENT,
            f"the built-in `{name}` compares the elements in Python; the tensor's own `{name}` does not",
            [(node, text)],
        )
        return
    text = f"functools.reduce({torch}.{_SYMBOLIC[name]}, {text_of(source, argument)})"
    yield from offer(
        context,
        "symbolic_minmax",
        Claim.EQUIVALENT,
        f"the built-in `{name}` compares while tracing; `{torch}.{_SYMBOLIC[name]}` over the list does not",
        [(node, text)],
        imports=(Import("functools"), *imports),
    )


def _ternary(context: Context, kinds: Kinds, node: ast.IfExp) -> Iterator[Candidate]:
    """`a if a > b else b`."""
    chosen = _chosen(node.test, node.body, node.orelse)
    if chosen is None or not is_pure(node) or any(is_tensor(kinds, side) for side in (node.body, node.orelse)):
        return
    source = context.site.source
    torch, imports = torch_name(source)
    text = nested(torch, chosen, [text_of(source, node.body), text_of(source, node.orelse)])
    yield from offer(
        context,
        "symbolic_minmax",
        Claim.EQUIVALENT,
        f"the choice is a `{chosen}`, which `{torch}.{_SYMBOLIC[chosen]}` says without a question",
        [(node, text)],
        imports=imports,
        decisions=[source.span(node.test)],
    )


def _chosen(test: ast.expr, body: ast.expr, orelse: ast.expr) -> str | None:
    """`max` or `min` where `body if test else orelse` is one."""
    match test:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE() as operator], comparators=[right]):
            sides = ast.unparse(left), ast.unparse(right)
            values = ast.unparse(body), ast.unparse(orelse)
            greater = isinstance(operator, (ast.Gt, ast.GtE))
            if sides == values:
                return "max" if greater else "min"
            if sides == values[::-1]:
                return "min" if greater else "max"
    return None


def _statement(context: Context, kinds: Kinds) -> Iterator[Candidate]:
    """`if n > m: n = m` → `n = torch.sym_min(n, m)`."""
    site = context.site
    match site.statement:
        case ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=name) as target], value=value)], orelse=[]) if (
            site.role is Role.IF_TEST
        ):
            current = ast.Name(id=name, ctx=ast.Load())
            chosen = _chosen(test, value, current)
            if chosen is None or not is_pure(value) or is_tensor(kinds, value) or is_tensor(kinds, current):
                return
            source = site.source
            if source.segment(site.statement).startswith("elif") or "#" in source.segment(site.statement):
                return
            torch, imports = torch_name(source)
            text = f"{source.segment(target)} = {nested(torch, chosen, [name, text_of(source, value)])}"
            yield from offer(
                context,
                "symbolic_minmax",
                Claim.EQUIVALENT,
                f"the `if` keeps the {'larger' if chosen == 'max' else 'smaller'} of two numbers, which "
                f"`{torch}.{_SYMBOLIC[chosen]}` says without a question",
                edits=[Edit(source.span(site.statement), text)],
                imports=imports,
                decisions=[source.span(test)],
            )


def _ceiling(context: Context, kinds: Kinds, node: ast.Call, argument: ast.expr) -> Iterator[Candidate]:
    """`math.ceil(a / b)` of whole numbers → `-(-a // b)`."""
    match argument:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            if is_tensor(kinds, left) or is_tensor(kinds, right):
                return
            if "float" in (number_kind(kinds, left), number_kind(kinds, right)):
                return
            source = context.site.source
            first = text_of(source, left, Binding.ARITHMETIC + 2)
            second = text_of(source, right, Binding.ARITHMETIC + 2)
            yield from offer(
                context,
                "symbolic_minmax",
                Claim.RESTRUCTURED,
                "dividing upwards in whole numbers stays symbolic; `math.ceil` of a quotient does not",
                [(node, f"-(-{first} // {second})")],
            )
