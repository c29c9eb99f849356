"""A spec as a file beside the entry: for `torch.compile`, for `torch.export`, as marks on inputs."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping

from ddelint.contracts import Contract, Requirement
from ddelint.shapes.facts import dimension_of, read
from ddelint.shapes.requirements import requirement_text
from ddelint.shapes.specs import names_in
from ddelint.size_specs import Bounds, SizeSpec

BESIDE = "_shapes.py"
"""How the file ends that is put beside the entry's."""
MARK = "as `ddelint shapes --write` found them"
"""What such a file says of itself: another one is not overwritten."""
_WIDTH = 100


def written(contract: Contract, spec: SizeSpec) -> str:
    """The file's text."""
    return "\n".join(_lines(contract, spec)) + "\n"


def _lines(contract: Contract, spec: SizeSpec) -> Iterator[str]:
    yield f'"""The sizes that {contract.label.partition(",")[0]} takes, {MARK}."""'
    yield ""
    yield "from torch._dynamo.decorators import mark_unbacked"
    yield "from torch.export import Dim"
    yield "from torch.fx.experimental.dynamic_spec import ShapesSpec, ShapeVar, TensorSpec"
    yield ""
    for one in contract.requirements:
        yield from because(one)
    for branch in contract.branches:
        side = branch.text if read(branch.text).holds(contract.example) else f"not ({branch.text})"
        yield f"# {side}: {_place(branch.span.filename, branch.span.row)} decides by it; this is the example's side"
    for name, bounds in spec.variables.items():
        yield f"{name} = ShapeVar({_quoted(name)}{limits(bounds)})"
    yield ""
    yield "# torch.compile(model, fullgraph=True, shapes_spec=SHAPES)"
    yield "SHAPES = ShapesSpec("
    yield "    {"
    for parameter, dims in tensors(contract, spec).items():
        yield f"        {_quoted(parameter)}: TensorSpec([{', '.join(dims)}]),"
    yield "    },"
    if spec.assumptions:
        yield "    assumptions=["
        yield from (f"        {symbolic(text)}," for text in spec.assumptions)
        yield "    ],"
    yield ")"
    yield ""
    yield from _exported(contract, spec)
    yield ""
    yield ""
    yield from _marks(contract, spec)


def because(one: Requirement) -> Iterator[str]:
    """A comment: the condition, and the line that needs it."""
    where = _place(one.span.filename, one.span.row) if one.span is not None else ""
    line = f"# {requirement_text(one)}: {where} `{' '.join(one.code.split())}`"
    yield line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _place(filename: str, row: int) -> str:
    return f"{os.path.basename(filename)}:{row}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def limits(bounds: Bounds) -> str:
    """Bounds as arguments of a variable: `, min=1, max=128`."""
    low, high = bounds
    return (f", min={low}" if low else "") + (f", max={high}" if high is not None else "")


def tensors(contract: Contract, spec: SizeSpec) -> dict[str, list[str]]:
    """Parameter → what stands for each of its dimensions."""
    found: dict[str, list[str]] = {}
    for parameter, rank in contract.ranks.items():
        dims = [spec.dimensions.get(f"{parameter}.shape[{at}]", "None") for at in range(rank)]
        if any(dim != "None" for dim in dims):
            found[parameter] = dims
    return found


def symbolic(text: str) -> str:
    """A condition as an expression over torch's symbols: `|` for `or`, `&` for `and`."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.BoolOp):
        return text
    sign = " | " if isinstance(node.op, ast.Or) else " & "
    return sign.join(f"({symbolic(ast.unparse(part))})" for part in node.values)


# -------------------------------------------------------------------------------------------------------- for export


def _exported(contract: Contract, spec: SizeSpec) -> Iterator[str]:
    """The same for export, as far as it can be said there: bounds, equalities, multiples."""
    multiples = _multiples(spec)
    words: dict[str, str] = {}
    for name, (low, high) in spec.variables.items():
        factor = multiples.get(name, 1)
        dim = f"{name}_dim"
        within = limits((-(-low // factor), None if high is None else high // factor))
        yield f"{dim} = Dim({_quoted(name if factor == 1 else f'{name}_by_{factor}')}{within})"
        words[name] = dim if factor == 1 else f"{factor} * {dim}"
    unsaid = [text for text in spec.assumptions if not _is_multiple(text)]
    yield ""
    for text in unsaid:
        yield f"# not said here, and checked by the exported program itself: {text}"
    yield "# torch.export.export(model, args, dynamic_shapes=DYNAMIC_SHAPES)"
    yield "DYNAMIC_SHAPES = {"
    for parameter in contract.ranks:
        dims = {
            at: words[text]
            for at in range(contract.ranks[parameter])
            if (text := spec.dimensions.get(f"{parameter}.shape[{at}]", "")) in words
        }
        yield f"    {_quoted(parameter)}: {{{', '.join(f'{at}: {word}' for at, word in dims.items())}}},"
    yield "}"


def _multiples(spec: SizeSpec) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in spec.assumptions:
        if _is_multiple(text):
            left, _, right = text.partition(" == ")[0].partition(" % ")
            found[left] = int(right)
    return found


def _is_multiple(text: str) -> bool:
    left, _, right = text.partition(" % ")
    divisor, _, rest = right.partition(" == ")
    return left.isidentifier() and divisor.isdigit() and rest == "0"


# ------------------------------------------------------------------------------------------------------------- marks


def _marks(contract: Contract, spec: SizeSpec) -> Iterator[str]:
    marked = {name: text for name, text in spec.dimensions.items() if text in spec.variables}
    parameters = list(dict.fromkeys(dimension_of(name)[0] for name in marked))
    yield f"def mark_inputs({', '.join(parameters)}):"
    yield '    """The same as marks, for a `torch.compile` without a spec: call it before the first call."""'
    shared = _shared(marked)
    for name, variable in marked.items():
        parameter, dimension = dimension_of(name)
        group = f', shape_id="{variable}"' if variable in shared else ""
        yield f"    mark_unbacked({parameter}, {dimension}{limits(spec.variables[variable])}{group})"
    if not marked:
        yield "    return"
    for text in spec.assumptions:
        if names_in(text):
            yield f"    # not said here, and checked at run time: {text}"


def _shared(marked: Mapping[str, str]) -> set[str]:
    variables = list(marked.values())
    return {variable for variable in variables if variables.count(variable) > 1}
