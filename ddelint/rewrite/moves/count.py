"""Operators whose number of results, or whose output's form, hangs on data: the same said with a static count."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, Import, move
from ddelint.rewrite.expressions import Binding, called, fresh_name, is_pure, text_of, torch_name
from ddelint.rewrite.kinds import Kind, Kinds, is_torch
from ddelint.rewrite.proposals import around, is_tensor, lines_before, offer
from ddelint.rewrite.replacements import replacements
from ddelint.source import SourceFile

_MOVE = "static_count"


@dataclass(frozen=True, slots=True)
class Applied:
    """A call of a tensor method, or of the function of the same name."""

    tensor: ast.expr
    arguments: tuple[ast.expr, ...]
    named: dict[str, ast.expr]

    def argument(self, position: int, name: str) -> ast.expr | None:
        """The argument at a position after the tensor, or by its name."""
        return self.arguments[position] if len(self.arguments) > position else self.named.get(name)


def applied(node: ast.Call) -> Applied | None:
    """`x.chunk(2)` and `torch.chunk(x, 2)` alike; None for starred arguments."""
    named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    if len(named) != len(node.keywords) or any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    if isinstance(node.func, ast.Attribute) and not is_torch(node.func.value):
        return Applied(node.func.value, tuple(node.args), named)
    tensor = node.args[0] if node.args else named.pop("input", None)
    return Applied(tensor, tuple(node.args[1:]), named) if tensor is not None else None


@move(_MOVE)
def static_count(context: Context) -> Iterator[Candidate]:
    """`torch.chunk(x, 2)` → two `narrow`; unpacking → a checked count; `one_hot`, `linspace`, `unfold` by `arange`."""
    kinds = Kinds(context)
    for node in around(context):
        if not isinstance(node, ast.Call) or not is_pure(node):
            continue
        name = called(node)
        call = applied(node)
        if call is None:
            continue
        if name == "chunk":
            yield from _chunk(context, node, call)
        elif name == "split":
            yield from _split(context, kinds, node, call)
        elif name == "one_hot" and "num_classes" not in call.named and not call.arguments:
            yield from _one_hot(context, node, call)
        elif name == "one_hot":
            yield from _one_hot_of_count(context, node, call)
        elif name == "linspace":
            yield from _linspace(context, node)
        elif name == "unfold":
            yield from _unfold(context, node, call)
        elif name in {"adaptive_avg_pool1d", "adaptive_avg_pool2d"}:
            yield from _adaptive(context, node, call, 1 if name.endswith("1d") else 2)
    yield from _unpacked(context, kinds)


def _whole(context: Context, tensor: ast.expr) -> tuple[str, list[str]]:
    """The text of a tensor that may be named several times, and the line that names it where it needs one."""
    source = context.site.source
    if isinstance(tensor, (ast.Name, ast.Attribute)):
        return source.segment(tensor), []
    name = fresh_name(source, "whole")
    return name, [f"{name} = {text_of(source, tensor)}"]


def _integer(node: ast.expr | None) -> int | None:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
    return None


def _with_lines(
    context: Context,
    lines: Sequence[str],
    node: ast.expr,
    text: str,
    message: str,
    claim: Claim = Claim.RESTRUCTURED,
    notes: Sequence[str] = (),
    imports: Sequence[Import] = (),
) -> Iterator[Candidate]:
    edits: list[Edit] = []
    if lines:
        line = lines_before(context.site.source, context.site.statement, lines)
        if line is None:
            return
        edits.append(line)
    yield from offer(context, _MOVE, claim, message, [(node, text)], edits=edits, notes=notes, imports=imports)


def _chunk(context: Context, node: ast.Call, call: Applied) -> Iterator[Candidate]:
    """Two or more pieces of a size that is not known."""
    source = context.site.source
    torch, imports = torch_name(source)
    count = _integer(call.argument(0, "chunks"))
    dimension = call.argument(1, "dim")
    axis = 0 if dimension is None else _integer(dimension)
    if count is None or not 2 <= count <= 8 or axis is None:
        return
    whole, lines = _whole(context, call.tensor)
    size = f"{whole}.shape[{axis}]"
    piece = fresh_name(source, "half" if count == 2 else "piece")
    message = f"the number of pieces of `chunk` hangs on the size; {count} pieces by `narrow` do not"
    if count == 2:
        pieces = [f"{whole}.narrow({axis}, 0, {piece})", f"{whole}.narrow({axis}, {piece}, {size} - {piece})"]
    else:
        pieces = []
        for number in range(count):
            offset = piece if number == 1 else f"{number} * {piece}"
            start = "0" if number == 0 else f"{torch}.sym_min({offset}, {size})"
            rest = f"{torch}.sym_max({size} - {offset}, 0)" if number else size
            pieces.append(f"{whole}.narrow({axis}, {start}, {torch}.sym_min({piece}, {rest}))")
    rounded = [*lines, f"{piece} = ({size} + {count - 1}) // {count}"]
    if count == 2 and _targets(context, node) == 2:
        # a single row makes one piece, which cannot be unpacked into two names
        rounded.insert(len(lines), f"{torch}._check_value({size} != 1)")
    yield from _with_lines(
        context,
        rounded,
        node,
        f"({', '.join(pieces)})",
        message,
        notes=(f"always {count} pieces; `chunk` gives fewer where the size is small",),
        imports=imports,
    )
    even = [*lines, f"{torch}._check({size} % {count} == 0)", f"{piece} = {size} // {count}"]
    starts = ["0", piece, *(f"{number} * {piece}" for number in range(2, count))]
    equal = [f"{whole}.narrow({axis}, {start}, {piece})" for start in starts]
    yield from _with_lines(
        context,
        even,
        node,
        f"({', '.join(equal)})",
        message,
        notes=(f"sizes that {count} does not divide now raise",),
        imports=imports,
    )


def _targets(context: Context, node: ast.expr) -> int | None:
    """Into how many names the value `node` is unpacked."""
    match context.site.statement:
        case ast.Assign(targets=[ast.Tuple(elts=elements) | ast.List(elts=elements)], value=value) if value is node:
            return None if any(isinstance(element, ast.Starred) for element in elements) else len(elements)
    return None


def _split(context: Context, kinds: Kinds, node: ast.Call, call: Applied) -> Iterator[Candidate]:
    """`a, b = x.split(n)` → `x.split([n, x.shape[0] - n])`."""
    source = context.site.source
    size = call.argument(0, "split_size_or_sections") or call.argument(0, "split_size")
    dimension = call.argument(1, "dim")
    axis = 0 if dimension is None else _integer(dimension)
    count = _targets(context, node)
    if size is None or axis is None or count is None or count < 2 or _integer(size) is not None:
        return
    if kinds.of(size) is Kind.STATIC or not is_pure(size) or isinstance(size, (ast.List, ast.Tuple)):
        return
    whole, lines = _whole(context, call.tensor)
    text = text_of(source, size)
    if not isinstance(size, (ast.Name, ast.Attribute)):
        name = fresh_name(source, "piece")
        lines.append(f"{name} = {text}")
        text = name
    torch, imports = torch_name(source)
    taken = text if count == 2 else f"{count - 1} * {text}"
    rest = f"{whole}.shape[{axis}] - {taken}"
    lines += [
        f"{torch}._check({text} > 0)",
        f"{torch}._check_value({taken} < {whole}.shape[{axis}])",
        f"{torch}._check_value({whole}.shape[{axis}] <= {count} * {text})",
    ]
    tail = "" if dimension is None else f", dim={axis}"
    yield from _with_lines(
        context,
        lines,
        node,
        f"{whole}.split([{', '.join([text] * (count - 1))}, {rest}]{tail})",
        f"the number of pieces of `split` hangs on the size; a list of {count} lengths does not",
        notes=("another number of pieces still raises ValueError, with another message",),
        imports=imports,
    )


def _one_hot(context: Context, node: ast.Call, call: Applied) -> Iterator[Candidate]:
    """The classes are counted from the data: compare with `arange` instead."""
    source = context.site.source
    torch, imports = torch_name(source)
    whole, lines = _whole(context, call.tensor)
    classes = f"{torch}.arange({whole}.max().item() + 1, device={whole}.device)"
    yield from _with_lines(
        context,
        lines,
        node,
        f"({whole}.unsqueeze(-1) == {classes}).long()",
        "`one_hot` without `num_classes` reads the number of classes from the data; comparing with `arange` "
        "leaves it a symbol",
        imports=imports,
    )
    match context.site.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            fact = context.type_of(name)
            if fact is not None and fact.shape and fact.shape[-1].isdigit():
                text = source.segment(node)
                yield from _with_lines(
                    context,
                    [],
                    node,
                    f"{text[:-1].rstrip().rstrip(',')}, num_classes={fact.shape[-1]})",
                    f"`one_hot` without `num_classes` reads their number from the data; a run had {fact.shape[-1]}",
                    claim=Claim.PROMISE,
                    notes=("the number of classes is that of one run: better pass the true one",),
                )


def _one_hot_of_count(context: Context, node: ast.Call, call: Applied) -> Iterator[Candidate]:
    """The number of classes depends on data: compare with `arange`, cut at once where the result is cut to a bound."""
    source = context.site.source
    count = call.named.get("num_classes") or next(iter(call.arguments), None)
    if count is None or not is_pure(count):
        return
    torch, imports = torch_name(source)
    whole, lines = _whole(context, call.tensor)
    compared = f"({whole}.unsqueeze(-1) == {torch}.arange({{}}, device={whole}.device)).long()"
    bound = _cut_to(source, node)
    if bound is not None:
        cut, text = bound
        yield from _with_lines(
            context,
            lines,
            cut,
            compared.format(text),
            f"the classes beyond `{text}` are cut off anyway; comparing with `arange` needs no number from the data",
            notes=("a negative index gives a row of zeros where `one_hot` raises",),
            imports=imports,
        )
    yield from _with_lines(
        context,
        lines,
        node,
        compared.format(text_of(source, count)),
        "`one_hot` wants the number of classes while tracing; comparing with `arange` leaves it a symbol",
        notes=("an index out of range gives a row of zeros where `one_hot` raises",),
        imports=imports,
    )


def _cut_to(source: SourceFile, node: ast.Call) -> tuple[ast.Subscript, str] | None:
    """For `one_hot(…)[..., :k]`: the subscript and the text of `k`."""
    parent = source.parents.get(node)
    match parent:
        case ast.Subscript(
            value=value,
            slice=ast.Tuple(elts=[ast.Constant(value=value_of_dots), ast.Slice(None, ast.expr() as upper, None)]),
        ) if value is node and value_of_dots is Ellipsis and is_pure(upper):
            return parent, text_of(source, upper)
    return None


def _linspace(context: Context, node: ast.Call) -> Iterator[Candidate]:
    source = context.site.source
    torch, imports = torch_name(source)
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    given = list(node.args)
    if len(given) < 3:
        given += [named.pop(key) for key in ("start", "end", "steps")[len(given) :] if key in named]
    if len(given) != 3 or not all(is_pure(part) for part in given):
        return
    first, last, steps = given
    keywords = ", ".join(source.segment(keyword) for keyword in node.keywords if keyword.arg not in _LINSPACE)
    start, end = text_of(source, first, Binding.ARITHMETIC), text_of(source, last, Binding.ARITHMETIC)
    begin = text_of(source, first, Binding.ARITHMETIC + 1)
    count = text_of(source, steps)
    dtype = "" if "dtype" in named else f", dtype={torch}.get_default_dtype()"
    points = f"{torch}.arange({count}{', ' if keywords else ''}{keywords}{dtype})"
    less = f"{torch}.sym_max({text_of(source, steps, Binding.ARITHMETIC)} - 1, 1)"
    steps_text = f"{points} / {less}"
    if isinstance(first, ast.Constant) and first.value == 0:
        text = f"{text_of(source, last, Binding.ARITHMETIC + 1)} * {steps_text}"
        if isinstance(last, ast.Constant) and last.value == 1:
            text = steps_text
    else:
        text = f"{start} + ({end} - {begin}) * {steps_text}"
    yield from _with_lines(
        context,
        [],
        node,
        text,
        "`linspace` demands a concrete count; the same points by `arange` do not",
        notes=("points may differ in the last bit",),
        imports=imports,
    )


_LINSPACE = frozenset(("start", "end", "steps"))


def _unfold(context: Context, node: ast.Call, call: Applied) -> Iterator[Candidate]:
    """Windows as an index: `x[..., starts[:, None] + arange(size)]`, moved to where `unfold` has them."""
    source = context.site.source
    torch, imports = torch_name(source)
    dimension, size, step = (call.argument(i, key) for i, key in enumerate(("dimension", "size", "step")))
    axis = _integer(dimension)
    if axis is None or size is None or step is None or len(call.arguments) + len(call.named) != 3:
        return
    whole, lines = _whole(context, call.tensor)
    width = text_of(source, size, Binding.ARITHMETIC + 1)
    device = f"device={whole}.device"
    starts = f"{torch}.arange(0, {whole}.shape[{axis}] - {width} + 1, {text_of(source, step)}, {device})"
    name = fresh_name(source, "windows")
    lines = [*lines, f"{name} = {starts}.unsqueeze(1) + {torch}.arange({text_of(source, size)}, {device})"]
    if axis == -1:
        text = f"{whole}[..., {name}]"
    elif axis == 0:
        text = f"{whole}[{name}].movedim(1, -1)"
    else:
        text = f"{whole}[{', '.join([':'] * axis)}, {name}].movedim({axis + 1}, -1)" if axis > 0 else ""
    if text:
        yield from _with_lines(
            context,
            lines,
            node,
            text,
            "`unfold` demands a concrete window; indexing with the windows' positions does not",
            notes=("the windows are copied: writing to them no longer writes to the tensor",),
            imports=imports,
        )


def _adaptive(context: Context, node: ast.Call, call: Applied, dimensions: int) -> Iterator[Candidate]:
    """Adaptive averaging as a product with the weights of each cell, made by `arange`."""
    source = context.site.source
    torch, imports = torch_name(source)
    size = call.argument(0, "output_size")
    if size is None or not is_pure(size):
        return
    sizes = size.elts if isinstance(size, (ast.Tuple, ast.List)) else [size] * dimensions
    if len(sizes) != dimensions or any(isinstance(part, ast.Starred) or _is_none(part) for part in sizes):
        return
    whole, lines = _whole(context, call.tensor)
    device = f"device={whole}.device"
    text = whole
    bases = ["cells"] if dimensions == 1 else ["row_cells", "column_cells"]
    for number, (base, part) in reversed(list(enumerate(zip(bases, sizes)))):
        name = fresh_name(source, base)
        width, count = f"{whole}.shape[{number - dimensions}]", text_of(source, part, Binding.ARITHMETIC + 2)
        positions = fresh_name(source, "positions")
        lines += [
            f"{positions} = {torch}.arange({width}, {device})",
            f"{name} = {torch}.arange({text_of(source, part)}, {device}).unsqueeze(1)",
            f"{name} = ({positions} >= {name} * {width} // {count}) & "
            f"({positions} < -(-({name} + 1) * {width} // {count}))",
            f"{name} = {name}.to({whole}.dtype) / {name}.sum(1, keepdim=True)",
        ]
        text = f"{text} @ {name}.T" if number == dimensions - 1 else f"{name} @ ({text})"
    yield from _with_lines(
        context,
        lines,
        node,
        text,
        "adaptive pooling demands a concrete output size; a product with the weights of its cells does not",
        notes=("values may differ in the last bits",),
        imports=imports,
    )


def _max_pool(context: Context, node: ast.Call, call: Applied) -> Iterator[Candidate]:
    """`max_pool1d` demands a concrete length; the same pooling in two dimensions does not."""
    source = context.site.source
    names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
    given = dict(zip(names, call.arguments)) | call.named
    function = source.segment(node.func)
    if not function.endswith("max_pool1d") or set(given) - set(names):
        return
    arguments = []
    for name, empty in (("kernel_size", 1), ("stride", 1), ("padding", 0), ("dilation", 1)):
        value = given.get(name)
        if value is None or _is_none(value):
            continue
        if _integer(value) is None:
            return
        pair = f"({empty}, {source.segment(value)})"
        arguments.append(pair if name == "kernel_size" else f"{name}={pair}")
    if "ceil_mode" in given:
        arguments.append(f"ceil_mode={source.segment(given['ceil_mode'])}")
    tensor = text_of(source, call.tensor, Binding.PRIMARY)
    yield from offer(
        context,
        "symbolic_function",
        Claim.RESTRUCTURED,
        "`max_pool1d` demands a concrete length; the same pooling as `max_pool2d` over one row does not",
        [(node, f"{function.removesuffix('1d')}2d({tensor}.unsqueeze(-2), {', '.join(arguments)}).squeeze(-2)")],
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _unpacked(context: Context, kinds: Kinds) -> Iterator[Candidate]:
    """`a, b = t`: the number of rows is checked first."""
    source = context.site.source
    torch, imports = torch_name(source)
    match context.site.statement:
        case ast.Assign(targets=[ast.Tuple(elts=elements) | ast.List(elts=elements)], value=value):
            pass
        case _:
            return
    dimension = "0"
    if isinstance(value, ast.Call) and called(value) == "unbind":
        call = applied(value)
        axis = None if call is None else (0 if not call.arguments and not call.named else call.argument(0, "dim"))
        number = axis if isinstance(axis, int) else _integer(axis)
        if call is None or number is None:
            return
        tensor, dimension = call.tensor, str(number)
    elif isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)) and (
        is_tensor(kinds, value) or kinds.of(value) is Kind.UNKNOWN
    ):
        # what a call returns may be a tuple of tensors
        fact = kinds.fact(value)
        if fact is not None and fact.kind != "tensor":
            return
        tensor = value
    else:
        return
    if any(isinstance(element, ast.Starred) for element in elements):
        return
    whole, lines = _whole(context, tensor)
    lines.append(f"{torch}._check_value({whole}.shape[{dimension}] == {len(elements)})")
    line = lines_before(source, context.site.statement, lines)
    if line is None:
        return
    changes = [(tensor, whole)] if len(lines) > 1 else []
    yield from offer(
        context,
        _MOVE,
        Claim.RESTRUCTURED,
        f"{len(elements)} names want {len(elements)} rows, which the compiler is told before they are unpacked",
        changes,
        edits=[line],
        imports=imports,
        notes=("another number of rows still raises ValueError, with another message",),
    )


@move("symbolic_function")
def symbolic_function(context: Context) -> Iterator[Candidate]:
    """`math.sqrt(n)` → `torch.sym_sqrt(n)`, `sorted(t.tolist())` → `t.sort()`, a causal mask that is written out."""
    source = context.site.source
    torch, imports = torch_name(source)
    table = replacements().math
    for node in around(context):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=[argument]) if name in table:
                yield from offer(
                    context,
                    "symbolic_function",
                    Claim.EQUIVALENT,
                    f"`math.{name}` demands a concrete number; `{torch}.{table[name]}` takes a symbol",
                    [(node, f"{torch}.{table[name]}({text_of(source, argument)})")],
                    imports=imports,
                )
            case ast.Call(func=ast.Name(id="sorted"), args=[ast.Call(func=ast.Attribute(value=tensor, attr="tolist"))]):
                if all(k.arg == "reverse" and isinstance(k.value, ast.Constant) for k in node.keywords):
                    falling = any(k.arg == "reverse" and _truth(k.value) for k in node.keywords)
                    order = "descending=True" if falling else ""
                    yield from offer(
                        context,
                        "symbolic_function",
                        Claim.EQUIVALENT,
                        "`sorted` compares in Python; the tensor is sorted before it is read",
                        [(node, f"{text_of(source, tensor, Binding.PRIMARY)}.sort({order}).values.tolist()")],
                    )
            case ast.Call() if called(node) == "max_pool1d" and (call := applied(node)) is not None:
                yield from _max_pool(context, node, call)
            case ast.Call() if called(node) == "scaled_dot_product_attention":
                yield from _causal(context, source, node, torch, imports)


def _truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _causal(
    context: Context, source: SourceFile, node: ast.Call, torch: str, imports: tuple[Import, ...]
) -> Iterator[Candidate]:
    """`is_causal=True` over a length that is not known asks; the mask written out does not."""
    keyword = next((k for k in node.keywords if k.arg == "is_causal"), None)
    if keyword is None or not _truth(keyword.value) or any(k.arg == "attn_mask" for k in node.keywords):
        return
    if len(node.args) not in (2, 3) or not all(isinstance(argument, ast.Name) for argument in node.args[:2]):
        return
    query, key = (source.segment(argument) for argument in node.args[:2])
    mask = f"{torch}.ones({query}.shape[-2], {key}.shape[-2], dtype={torch}.bool, device={query}.device).tril()"
    span = source.span(keyword.value)
    start = source.offset(span.row, span.column) - len("is_causal=")
    if source.text[start : start + len("is_causal=")] != "is_causal=":
        return
    name = type(span)(span.filename, span.row, span.column - len("is_causal="), span.end_row, span.end_column)
    yield from offer(
        context,
        "symbolic_function",
        Claim.RESTRUCTURED,
        "`is_causal` asks whether the length is known; the same mask, written out, does not",
        edits=[Edit(name, f"attn_mask={mask}")],
        imports=imports,
        notes=("a mask of length × length is made",),
    )
