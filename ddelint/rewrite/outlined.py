"""The text of a custom operator around a region: its definition, and its gradient, which runs the region again."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ddelint.diagnostics import Edit, Span
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.expressions import block_text
from ddelint.source import SourceFile


@dataclass(frozen=True, slots=True)
class Operand:
    """One parameter of the operator: its name there, what is handed over, its type, and whether gradients flow into it.

    `changed`: the region changes it in place, so that the operator works on a copy.
    """

    name: str
    text: str
    annotation: str
    differentiable: bool = False
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """One value that comes out: what the region calls it, its type, and whether it may share memory with an operand."""

    text: str
    annotation: str
    differentiable: bool
    aliases: bool


@dataclass
class Region:
    """What is outlined: statements of one block, or one expression."""

    body: Sequence[ast.stmt]
    expression: ast.expr | None = None
    operands: list[Operand] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Names that the outputs are given to; empty where the region returns."""
    several: bool = False
    replacements: dict[str, str] = field(default_factory=dict)
    """Attribute chain → the parameter that stands for it."""
    returns: bool = False
    """Whether it ends in a return of the function around it."""
    typed: bool = True
    """Whether it becomes an operator: everything has a type that a schema knows."""
    random: bool = False
    """Whether it may draw random numbers."""

    @property
    def differentiable(self) -> bool:
        """Whether gradients flow from an output to an operand."""
        return any(o.differentiable for o in self.operands) and any(o.differentiable for o in self.outputs)


def _parameters(operands: Sequence[Operand], torch: str) -> str:
    return ", ".join(f"{o.name}: {_qualified(o.annotation, torch)}" for o in operands)


def _qualified(annotation: str, torch: str) -> str:
    return re.sub(r"\b(Tensor|dtype|device)\b", rf"{torch}.\1", annotation)


def _called(region: Region, base: str) -> str:
    """The region on its operands, those that it changes copied."""
    return f"{base}({', '.join(f'{o.name}.clone()' if o.changed else o.name for o in region.operands)})"


def operator_definition(region: Region, base: str, unit: str, torch: str, namespace: str) -> list[str]:
    returned = [_qualified(output.annotation, torch) for output in region.outputs]
    result = f"tuple[{', '.join(returned)}]" if region.several else returned[0]
    copied = f".clone(memory_format={torch}.contiguous_format)"
    # neither merged with another call nor run a second time in the backward
    tags = f", tags=({torch}.Tag.nondeterministic_seeded,)" if region.random else ""
    lines = [
        f'@{torch}.library.custom_op("{namespace}::{base.strip("_")}", mutates_args=(){tags})',
        f"def {base}_op({_parameters(region.operands, torch)}) -> {result}:",
    ]
    call = _called(region, base)
    # the fake kernel says that what comes out is contiguous, and no operator may give its operand back
    laid_out = ["" if o.annotation != "Tensor" else copied if o.aliases else ".contiguous()" for o in region.outputs]
    if not any(laid_out):
        return [*lines, f"{unit}return {call}"]
    if not region.several:
        return [*lines, f"{unit}return {call}{laid_out[0]}"]
    names = [f"result_{number}" for number in range(1, len(region.outputs) + 1)]
    values = [name + text for name, text in zip(names, laid_out)]
    return [*lines, f"{unit}{', '.join(names)} = {call}", f"{unit}return {', '.join(values)}"]


def gradient_definition(region: Region, base: str, unit: str, torch: str, namespace: str) -> list[str]:
    """The backward: an operator that runs the region again under autograd, and its registration."""
    operands = region.operands
    wanted = [o for o in operands if o.differentiable]
    given = [number for number, output in enumerate(region.outputs) if output.differentiable]
    taken = {o.name for o in operands}
    grads = ["grad" if len(given) == 1 else f"grad_{number + 1}" for number in given]
    grads = [name if name not in taken else f"{name}_output" for name in grads]
    result = f"{torch}.Tensor" if len(wanted) == 1 else f"tuple[{', '.join([f'{torch}.Tensor'] * len(wanted))}]"
    names = [o.name for o in wanted]
    parameters = ", ".join([*(f"{grad}: {torch}.Tensor" for grad in grads), _parameters(operands, torch)])
    passed = ", ".join([*grads, *(o.name for o in operands)])
    one = len(wanted) == 1
    body = _recomputed(region, base, unit, torch, names, given, grads)
    empties = [f"{name}.new_empty({name}.shape)" for name in names]
    tensors = [o.name for o in operands if o.annotation == "Tensor"]
    others = [o.name for o in operands if o.annotation != "Tensor"]
    everything = ", ".join(o.name for o in operands)
    unpacked = f"{everything if len(operands) > 1 else f'({everything},)'} = inputs"
    setup = [f"{unit}{unpacked}", f"{unit}ctx.save_for_backward({', '.join(tensors)})"]
    setup += [f"{unit}ctx.{name} = {name}" for name in others]
    saved = f"{', '.join(tensors) if len(tensors) > 1 else f'({tensors[0]},)'} = ctx.saved_tensors"
    incoming = [grads[given.index(n)] if n in given else f"_grad_{n + 1}" for n in range(len(region.outputs))]
    backward_passed = ", ".join([*grads, *(o.name if o.name in tensors else f"ctx.{o.name}" for o in operands)])
    outgoing = [
        ("gradient" if one else f"gradients[{names.index(o.name)}]") if o.differentiable else "None" for o in operands
    ]
    return [
        f'@{torch}.library.custom_op("{namespace}::{base.strip("_")}_backward", mutates_args=())',
        f"def {base}_backward_op({parameters}) -> {result}:",
        *(unit + line for line in body),
        "",
        "",
        f"@{base}_backward_op.register_fake",
        f"def _({passed}):",
        f"{unit}return {', '.join(empties)}",
        "",
        "",
        f"def {base}_setup(ctx, inputs, output):",
        *setup,
        "",
        "",
        f"def {base}_backward(ctx, {', '.join(incoming)}):",
        f"{unit}{saved}",
        f"{unit}{'gradient' if one else 'gradients'} = {base}_backward_op({backward_passed})",
        f"{unit}return {', '.join(outgoing)}",
        "",
        "",
        f"{base}_op.register_autograd({base}_backward, setup_context={base}_setup)",
    ]


def _recomputed(
    region: Region, base: str, unit: str, torch: str, names: list[str], given: list[int], grads: list[str]
) -> list[str]:
    """The body of the backward operator: the region once more, with autograd switched on."""
    taken = {o.name for o in region.operands} | set(grads)
    contiguous = f"memory_format={torch}.contiguous_format"
    fresh = ", ".join(f"{name}.detach().requires_grad_()" for name in names)
    zeros = ", ".join(f"{torch}.zeros_like({name}, {contiguous})" for name in names)
    wanted = names[0] if len(names) == 1 else f"({', '.join(names)})"
    options = "allow_unused=True, materialize_grads=True"
    result, gradients = _unlike("result", taken), _unlike("gradients", taken)
    lines = [
        f"with {torch}.inference_mode(False):  # a custom operator runs below autograd: switch it on again",
        f"{unit}{', '.join(names)} = {fresh}",
        f"{unit}{result} = {_called(region, base)}",
    ]
    if not region.several:
        flows, results, incoming = f"{result}.requires_grad", result, grads[0]
    else:
        pairs, picked = _unlike("pairs", taken), ", ".join(f"({result}[{n}], {g})" for n, g in zip(given, grads))
        lines.append(f"{unit}{pairs} = [pair for pair in ({picked},) if pair[0].requires_grad]")
        flows, results, incoming = pairs, f"[pair[0] for pair in {pairs}]", f"[pair[1] for pair in {pairs}]"
    return [
        *lines,
        f"{unit}if not {flows}:",
        f"{unit}{unit}return {zeros}",
        f"{unit}{gradients} = {torch}.autograd.grad({results}, {wanted}, {incoming}, {options})",
        f"return {gradients}[0].clone({contiguous})"
        if len(names) == 1
        else f"return tuple(gradient.clone({contiguous}) for gradient in {gradients})",
    ]


def _unlike(name: str, taken: set[str]) -> str:
    """`name`, or with an underscore behind it where an operand has it."""
    while name in taken:
        name += "_"
    return name


def namespace(source: SourceFile) -> str:
    """A namespace for operators: the module's name, with its package's."""
    path = Path(source.filename)
    parts = [path.stem]
    if path.with_name("__init__.py").exists():
        parts.insert(0, path.parent.name)
    text = re.sub(r"\W", "_", "_".join(parts))
    return text if text[:1].isalpha() else f"ops{text}" if text.startswith("_") else f"ops_{text}"


def before_top_level(source: SourceFile, function: ast.stmt, lines: Sequence[str]) -> Edit:
    top = function
    for parent in source.ancestors(function):
        if isinstance(parent, ast.stmt):
            top = parent
    decorators = getattr(top, "decorator_list", [])
    row = decorators[0].lineno if decorators else top.lineno
    while row > 1 and source.lines[row - 2].startswith("#"):
        row -= 1
    text = "".join(f"{line}{source.newline}" for line in (*lines, "", ""))
    return Edit(Span(source.filename, row, 1, row, 1), text)


def helper(context: Context, region: Region, base: str, unit: str) -> list[str]:
    """The region as a function of its operands."""
    header = f"def {base}({', '.join(o.name for o in region.operands)}):"
    source = context.site.source
    if region.expression is not None:
        text = _with_parameters(source, region, source.segment(region.expression))
        broken = "\n" in text
        value = f"({text})" if broken else text
        lines = f"{unit}return {value}".splitlines()
    else:
        text = block_text(source, region.body, unit) or ""
        if not text:
            raise ValueError("lines that cannot be moved")
        lines = _with_parameters(source, region, text).splitlines()
        if region.names:
            lines.append(f"{unit}return {', '.join(region.names)}")
    return [header, *lines]


def _with_parameters(source: SourceFile, region: Region, text: str) -> str:
    """`text` with attribute chains replaced by the parameters that stand for them."""
    for chain, name in sorted(region.replacements.items(), key=lambda item: -len(item[0])):
        pattern = r"(?<![\w.])" + re.escape(chain) + r"(?!\w)"
        text = re.sub(pattern, name, text)
    return text
