"""The backward of an outlined region: an operator that runs the region once more, under autograd."""

from __future__ import annotations

from collections.abc import Sequence

from ddelint.rewrite.parts.outlining.forms import TENSOR, TENSORS, Leaf
from ddelint.rewrite.parts.outlining.operator import CUSTOM, custom, one_or_all, schema
from ddelint.rewrite.parts.outlining.region import Region
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.writing.rewrites import Expr, Part, Statements, Writer

_EACH = {
    "zeros": {
        "one": "torch.zeros_like({}, memory_format=torch.contiguous_format)",
        "several": "tuple(torch.zeros_like(part, memory_format=torch.contiguous_format) for part in {})",
        "listed": "[torch.zeros_like(part, memory_format=torch.contiguous_format) for part in {}]",
    },
    "empty": {
        "one": "torch.empty_like({}, memory_format=torch.contiguous_format)",
        "several": "tuple(part.new_empty(part.shape) for part in ({},))",
        "listed": "[part.new_empty(part.shape) for part in ({},)]",
    },
    "returned": {
        "one": "{}[0].clone(memory_format=torch.contiguous_format)",
        "several": "tuple(gradient.clone(memory_format=torch.contiguous_format) for gradient in {})",
        "listed": "[gradient.clone(memory_format=torch.contiguous_format) for gradient in {}]",
    },
}
"""By how many gradients there are: one, several, or as many as a list of operands has."""
_GIVEN = {TENSOR: "{}.detach()", TENSORS: "[part.detach() for part in {}]"}
_FRESH = {TENSOR: "{}.detach().requires_grad_()", TENSORS: "[part.detach().requires_grad_() for part in {}]"}


def gradient_definition(write: Writer, region: Region, name: str) -> Statements:
    """The backward: an operator that runs the region again under autograd, and its registration."""
    parameters = region.parameters(write)
    outputs = [leaf for leaf, _ in region.outputs(write, region.word("result"))]
    wanted = [leaf for leaf in parameters if leaf.floating]
    listed = [_in_list(write, leaf, leaf.name) for leaf in wanted]
    count = "listed" if any(leaf.schema == TENSORS for leaf in wanted) else "several" if len(wanted) > 1 else "one"
    parts = write.expression(wanted[0].name) if count == "one" else listed
    flowing = [leaf for leaf in outputs if leaf.floating]
    words = ["grad"] if len(flowing) == 1 else [f"grad_{number}" for number in range(1, len(flowing) + 1)]
    grads = {leaf.name: region.word(word) for leaf, word in zip(flowing, words, strict=True)}
    incoming = [Leaf(grads[leaf.name], leaf.value, leaf.schema, False) for leaf in flowing]
    fresh = [line for leaf in wanted for line in write.assigned(leaf.name, write.expr(_FRESH[leaf.schema], leaf.name))]
    again = write.assigned(region.word("result"), region.called(write, name))
    gradients, kind = region.word("gradients"), TENSORS if count == "listed" else TENSOR
    return write.lines(
        knowledge().outlining["gradient"],
        custom=custom(write, f"{name}_backward", CUSTOM),
        operator=f"{name}_backward_op",
        parameters=schema(write, [*incoming, *parameters]),
        result=write.expr("tuple[{}]", [TENSOR] * len(wanted)) if count == "several" else write.expr(kind),
        recomputed=[*fresh, *region.copies(write), *again],
        results=write.expr("[{}]", [_in_list(write, leaf, leaf.value) for leaf in flowing]),
        incoming=write.expr("[{}]", [_in_list(write, leaf, leaf.name) for leaf in incoming]),
        zeros=write.expr(_EACH["zeros"][count], parts if count == "one" else region.word("inputs")),
        inputs=region.word("inputs"),
        empty=write.expr(_EACH["empty"][count], parts),
        pairs=region.word("pairs"),
        gradients=gradients,
        wanted=write.expr("[{}]", listed),
        returned=write.expr(_EACH["returned"][count], gradients),
        setup=f"{name}_setup",
        kept=_kept(write, region, parameters, [leaf.name for leaf in outputs]),
        backward=f"{name}_backward",
        arriving=[grads.get(leaf.name, f"_grad_{number}") for number, leaf in enumerate(outputs, 1)],
        given_back=_given_back(write, region, parameters, list(grads.values()), f"{name}_backward_op"),
        outlined=f"{name}_op",
    )


def _in_list(write: Writer, leaf: Leaf, value: Part) -> Part:
    """A leaf among tensors of a list."""
    return write.starred(value) if leaf.schema == TENSORS else value


def _kept(write: Writer, region: Region, parameters: Sequence[Leaf], outputs: Sequence[str]) -> Statements:
    """What the forward leaves for the backward: of what changes in the meantime, the copies that it gives."""
    changing = region.changing(write)
    given = {
        leaf.name: write.expr(_GIVEN[leaf.schema], write.expr("output[{}]", str(position)))
        for position, leaf in enumerate(changing, len(outputs) - len(changing))
    }
    lines = write.assigned(write.tuple([leaf.name for leaf in parameters]), "inputs")
    saved = _saved(region, parameters)
    if saved:
        lines += write.lines("ctx.save_for_backward({tensors})", tensors=saved)
    for leaf in parameters:
        if leaf.name not in saved:
            value = given.get(leaf.name, write.expression(leaf.name))
            lines += write.lines("ctx.{name} = {value}", name=leaf.name, value=value)
    return lines


def _saved(region: Region, parameters: Sequence[Leaf]) -> list[str]:
    changed = {operand.name for operand in region.given_back}
    return [leaf.name for leaf in parameters if leaf.schema == TENSOR and leaf.name not in changed]


def _given_back(
    write: Writer, region: Region, parameters: Sequence[Leaf], grads: Sequence[str], operator: str
) -> Statements:
    """What the backward does: the gradient of each operand, None for those that have none."""
    saved = _saved(region, parameters)
    lines = write.assigned(write.tuple(saved), "ctx.saved_tensors") if saved else []
    passed = [leaf.name if leaf.name in saved else write.expr("ctx.{}", leaf.name) for leaf in parameters]
    call = write.expr("{}({})", operator, [*grads, *passed])
    wanted = [leaf for leaf in parameters if leaf.floating]
    if len(wanted) == len(parameters) and all(leaf.schema == TENSOR for leaf in parameters):
        return [*lines, *write.lines("return {call}", call=call)]
    one = len(wanted) == 1 and wanted[0].schema == TENSOR
    name = region.word("gradient" if one else "gradients")
    lines += write.assigned(name, call)
    if not one:
        lines += write.assigned(name, write.expr("iter({})", name))
    next_one = write.expression(name) if one else write.expr("next({})", name)
    outgoing: list[Expr] = []
    for leaf in parameters:
        part = next_one if leaf.floating else write.expr("None")
        outgoing.append(write.expr("[{} for _ in ctx.{}]", part, leaf.name) if leaf.schema == TENSORS else part)
    return [*lines, *write.lines("return {outgoing}", outgoing=one_or_all(write, outgoing))]
