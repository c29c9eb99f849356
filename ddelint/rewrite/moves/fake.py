"""A custom operator without a fake kernel gets one that its body suggests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ddelint.diagnostics import Claim, Edit, Span
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import called, indent_unit, torch_name
from ddelint.rewrite.kinds import is_torch
from ddelint.rewrite.knowledge import knowledge
from ddelint.rewrite.proposals import around, function_statements, offer
from ddelint.source import SourceFile

_MOVE = "fake_kernel"


@dataclass(frozen=True, slots=True)
class _Output:
    """One way to make an output without its data."""

    text: str
    size: str = ""
    """What its unknown size hangs on (outputs with the same share one symbol); empty where it has none."""


@move(_MOVE)
def fake_kernel(context: Context) -> Iterator[Candidate]:
    """`@op.register_fake` under the operator's definition; a size that hangs on data becomes a new symbol."""
    source = context.site.source
    torch, _ = torch_name(source)
    seen = [re.sub(r"\btorch\b", torch, line) for line in context.fake]
    if seen:
        yield from _for_schema(context, seen)
    for function in _operators(context):
        if _has_fake(source, function.name) or not _stands_alone(source, function):
            continue
        if seen and _named_in(context, function):
            yield from _registered(context, function, seen)
        for outputs in _outputs(source, function):
            yield from _guessed(context, function, outputs)


def _operators(context: Context) -> Iterator[ast.FunctionDef]:
    """Custom operators of this file that the site's statement calls; the only one where it calls none by name."""
    source = context.site.source
    defined = {
        node.name: node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef) and any(_is_custom(decorator) for decorator in node.decorator_list)
    }
    names = [name for name, function in defined.items() if context.operator and _named_in(context, function)]
    for node in around(context):
        if isinstance(node, ast.Call):
            for name, function in defined.items():
                qualified = _qualified(function)
                if called(node) in {name, qualified.rpartition("::")[2]}:
                    names.append(name)
    for name in dict.fromkeys(names or (list(defined) if len(defined) == 1 else [])):
        yield defined[name]


def _is_custom(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and called(decorator) == "custom_op"


def _qualified(function: ast.FunctionDef) -> str:
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(args=[ast.Constant(value=str() as name), *_]) if _is_custom(decorator):
                return name
    return ""


def _has_fake(source: SourceFile, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in {"register_fake", "impl_abstract"}
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in ast.walk(source.tree)
    )


def _stands_alone(source: SourceFile, function: ast.FunctionDef) -> bool:
    return isinstance(source.parents.get(function), ast.Module) and not function.args.vararg


def _named_in(context: Context, function: ast.FunctionDef) -> bool:
    """Whether the function is the operator that the question is about."""
    name = context.operator.removesuffix(".default").replace(".", "::")
    return not name or _qualified(function) == name


def _guessed(context: Context, function: ast.FunctionDef, outputs: list[_Output]) -> Iterator[Candidate]:
    """What the operator's own body suggests."""
    torch, _ = torch_name(context.site.source)
    unknown = list(dict.fromkeys(output.size for output in outputs if output.size))
    names = {size: "size" if len(unknown) == 1 else f"size_{number}" for number, size in enumerate(unknown, 1)}
    body = [f"{name} = {torch}.library.get_ctx().new_dynamic_size()" for name in names.values()]
    texts = [output.text.replace("SIZE", names.get(output.size, "")) for output in outputs]
    result = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
    yield from _registered(context, function, [*body, f"return {result}"])


def _registered(context: Context, function: ast.FunctionDef, body: list[str]) -> Iterator[Candidate]:
    unit = indent_unit(context.site.source, function)
    kernel = [f"@{function.name}.register_fake", _signature(function), *(unit + line for line in body)]
    yield from _written(context, function, function.name, kernel)


def _written(context: Context, after: ast.stmt, name: str, kernel: list[str]) -> Iterator[Candidate]:
    """The fake kernel of the operator `name` below the statement `after`."""
    source = context.site.source
    newline = source.newline
    row = (after.end_lineno or after.lineno) + 1
    following = source.lines[row - 1].strip() if row <= len(source.lines) else ""
    lines = ["", "", *kernel, *(["", ""] if following else [])]
    last = source.lines[row - 2]
    missing = "" if last.endswith(("\n", "\r")) else newline
    position = (row, 1) if not missing else (row - 1, len(last) + 1)
    edit = Edit(Span(source.filename, *position, *position), missing + newline.join(lines) + newline)
    unknown = any("new_dynamic_size" in line for line in kernel)
    yield from offer(
        context,
        _MOVE,
        Claim.RESTRUCTURED,
        f"`{name}` has no fake kernel, so nothing can trace it; "
        + ("its output's size is a new symbol" if unknown else "its output's shape follows from its input"),
        edits=[edit],
        notes=("eager never calls a fake kernel",),
    )


def _for_schema(context: Context, body: list[str]) -> Iterator[Candidate]:
    """For an operator that the file defines by a schema (`library.define("pick(Tensor x) -> Tensor")`)."""
    source = context.site.source
    torch, _ = torch_name(source)
    qualified = context.operator.removesuffix(".default").replace(".", "::")
    for statement in source.tree.body:
        match statement:
            case ast.Expr(value=ast.Call() as call) if called(call) == "define":
                texts = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
                schema = " ".join(texts).strip()
                name, _, rest = schema.partition("(")
                if name.strip() not in (qualified, qualified.rpartition("::")[2]) or not qualified:
                    continue
                header = f"def _({', '.join(_parameters(rest))}):"
                decorator = f'@{torch}.library.register_fake("{qualified}")'
                yield from _written(context, statement, qualified, [decorator, header, *("    " + x for x in body)])


def _parameters(rest: str) -> Iterator[str]:
    """The parameters of a schema, from behind its opening bracket: `Tensor x, float least=0.5, *, bool up) -> …`."""
    inside, _, _ = rest.partition(") ->")
    for part in re.split(r",(?![^\[(]*[\])])", inside):
        if part.strip():
            yield part.split()[-1]


def _signature(function: ast.FunctionDef) -> str:
    """The header of the fake: the operator's own parameters and annotations."""
    returns = f" -> {ast.unparse(function.returns)}" if function.returns is not None else ""
    return f"def _({ast.unparse(function.args)}){returns}:"


def _outputs(source: SourceFile, function: ast.FunctionDef) -> Iterator[list[_Output]]:
    """Ways to make the outputs, likeliest first."""
    returned = [s.value for s in function_statements(function) if isinstance(s, ast.Return) and s.value is not None]
    if len(returned) != 1:
        returned = returned[-1:]
    if not returned:
        return
    values = returned[0].elts if isinstance(returned[0], ast.Tuple) else [returned[0]]
    choices = [list(_forms(source, function, value)) for value in values]
    if not all(choices):
        return
    longest = max(len(choice) for choice in choices)
    for index in range(longest):
        yield [choice[min(index, len(choice) - 1)] for choice in choices]


def _tensors(function: ast.FunctionDef) -> list[str]:
    """Names of the parameters that are tensors."""
    return [
        argument.arg
        for argument in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        if argument.annotation is not None and ast.unparse(argument.annotation).split(".")[-1] == "Tensor"
    ]


def _forms(source: SourceFile, function: ast.FunctionDef, value: ast.expr) -> Iterator[_Output]:
    torch, _ = torch_name(source)
    tensors = _tensors(function)
    known = knowledge().fake_kernels
    size, flat = "", False
    while True:
        if isinstance(value, ast.Name) and value.id not in tensors:
            size = value.id
            inner = _inlined(function, value)
            if inner is value:
                break
            value = inner
        match value:
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if not is_torch(inner):
                if attr not in known.copies | known.flattened:
                    break
                flat = flat or attr in known.flattened
                value = inner
            case ast.Subscript(value=ast.Call() as inner, slice=ast.Tuple() | ast.Constant()):
                flat, value = True, inner
            case _:
                break
    first = _base(value, tensors) or (tensors[0] if tensors else "")
    if not first:
        return
    if isinstance(value, ast.Subscript) and not isinstance(value.slice, (ast.Tuple, ast.Slice)):
        size = ast.unparse(value.slice)
    size = size or ast.unparse(value)
    dynamic = _Output(f"{first}.new_empty(SIZE)", size)
    rows = _Output(f"{first}.new_empty((SIZE, *{first}.shape[1:]))", size)
    match value:
        case ast.Subscript(slice=ast.Compare() | ast.Name() | ast.Call() | ast.UnaryOp() | ast.BinOp() as mask):
            whole = _mentions(function, mask, first) and not _is_index(function, mask)
            yield from (dynamic, rows) if whole else (rows, dynamic)
            return
        case ast.Call() if called(value) in known.tables:
            shape = "SIZE" if flat else f"(SIZE, {first}.dim())"
            yield _Output(f"{first}.new_empty({shape}, dtype={torch}.int64)", size)
            return
        case ast.Call() if called(value) in known.flat:
            yield dynamic
            return
    dtypes = _dtypes(function, torch)
    for tensor in [first, *(other for other in tensors if other != first)]:
        for dtype in dtypes:
            yield _Output(f"{torch}.empty_like({tensor}{dtype})")
    for dtype in dtypes:
        yield _Output(f"{first}.new_empty((){dtype})")
    yield dynamic
    yield rows


def _dtypes(function: ast.FunctionDef, torch: str) -> list[str]:
    """What says an output's dtype, likeliest first: the input's own, or integers where the body says so."""
    words = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    own, integers = "", f", dtype={torch}.int64"
    return [integers, own] if words & knowledge().fake_kernels.integers else [own, integers, f", dtype={torch}.bool"]


def _inlined(function: ast.FunctionDef, value: ast.expr) -> ast.expr:
    """The last value that a returned name was given."""
    if isinstance(value, ast.Name):
        found = [
            s.value
            for s in function_statements(function)
            if isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == value.id for t in s.targets)
        ]
        if found:
            return found[-1]
    return value


def _base(value: ast.expr, tensors: list[str]) -> str:
    for node in ast.walk(value):
        if isinstance(node, ast.Name) and node.id in tensors:
            return node.id
    return ""


def _is_index(function: ast.FunctionDef, mask: ast.expr) -> bool:
    """Whether what a tensor is indexed with holds positions, not booleans."""
    calls = {called(node) for node in ast.walk(_inlined(function, mask)) if isinstance(node, ast.Call)}
    return bool(calls & knowledge().fake_kernels.positions)


def _mentions(function: ast.FunctionDef, mask: ast.expr, name: str) -> bool:
    """Whether a mask is made from the tensor itself, and so covers all its dimensions."""
    mask = _inlined(function, mask)
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(mask))
