"""A custom operator around a region: the region as a function, the operator, and what stands between both."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ddelint.knowledge.operators import operators
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.outlining.forms import TENSOR, TENSORS, Leaf, rebuilt
from ddelint.rewrite.parts.outlining.region import BUFFERS, PARAMETERS, Region
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, names_written
from ddelint.rewrite.reading.naming import handed_on, value_name
from ddelint.rewrite.writing.rewrites import Expr, Part, Run, Statements, Writer
from ddelint.sources.source import SourceFile

_UNTYPED = "@{decorator}\ndef {name}({parameters}):\n    {body}"
CUSTOM = "torch.library.custom_op({}, mutates_args=())"
_DRAWING = "torch.library.custom_op({}, mutates_args=(), tags=(torch.Tag.nondeterministic_seeded,))"
"""Neither merged with another call nor run a second time in the backward."""
_COPIES = {
    (TENSOR, False): "{}.clone(memory_format=torch.contiguous_format)",
    (TENSOR, True): "{}.contiguous()",
    (TENSORS, False): "[part.clone(memory_format=torch.contiguous_format) for part in {}]",
}
"""By type, and whether it is certainly of its own: else it may share memory with an operand.

The fake kernel says that what comes out is contiguous, and no operator may give its operand back.
"""

_PUT_BACK = {
    BUFFERS: "for part, after in zip([{held}], {state}):\n    part.copy_(after.detach())",
    PARAMETERS: (
        "for part, after in zip([{held}], {state}):\n    if not part.requires_grad:\n        part.copy_(after.detach())"
    ),
}


def changes(context: Context, region: Region, definitions: Statements, call: Expr) -> dict[ast.AST, Any]:
    """The definitions above the function of the site, and the call in the place of the region."""
    write, source, function = context.write, context.site.source, context.site.function
    assert function is not None
    top = [node for node in (function, *source.ancestors(function)) if isinstance(node, ast.stmt)][-1]
    above: dict[ast.AST, Any] = {top: [*definitions, top]}
    if region.expression is not None:
        return above | {region.expression: call}
    if region.targets:
        targets = [write.expr(target) for target in region.targets.values()]
        return above | {Run(region.body): write.assigned(one_or_all(write, targets), call)}
    return above | {Run(region.body): write.lines("return {call}", call=call) if region.returns else [call]}


def what_it_gives(region: Region) -> str:
    """A word for what the region is for: what its result is called, or what it calls."""
    if region.targets:
        return list(region.targets)[-1].strip("_")
    ends = [s for s in region.body if not isinstance(s, ast.Raise)] or region.body  # an error is not what it is for
    last = region.expression if region.expression is not None else ends[-1]
    value = last.value if isinstance(last, ast.Return) else region.expression
    if value is not None and (word := value_name(value)):
        return word
    calls = [called(node) for node in ast.walk(last) if isinstance(node, ast.Call) and handed_on(node) is None]
    words = [name.strip("_") for name in calls if name not in operators().regions["entry_methods"]]
    return next((word for word in words if word.isidentifier()), "region")


def helper(write: Writer, region: Region, name: str, decorator: str = "") -> Statements:
    """The region as a function of its operands."""
    if region.expression is not None:
        body = write.lines("return {value}", value=write.renamed(region.expression, region.replacements))
    else:
        body = write.renamed_lines(region.body, region.replacements)
        if region.targets:
            names = [_read_of(write, region, name) for name in region.targets]
            body += write.lines("return {names}", names=one_or_all(write, names))
    flag: list[Any] = []
    if region.asks_compiling:  # what it is called from may be compiled, and what runs is not
        word = region.word("compiled")
        flag, body = [(word, write.expr("bool"), write.expr("False"))], write.answered_lines(body, word)
    if decorator:
        parameters = [*(operand.name for operand in (*region.modules, *region.values)), *(name for name, *_ in flag)]
        return write.lines(_UNTYPED, decorator=decorator, name=name, parameters=parameters, body=body)
    parameters = [*_typed(write, region), *flag]
    return write.lines("def {name}({parameters}):\n    {body}", name=name, parameters=parameters, body=body)


def _read_of(write: Writer, region: Region, name: str) -> Expr:
    """What comes out of a name inside of the region."""
    count = region.parts_read.get(name, 0)
    if not count:
        return write.expression(name)
    return write.expr("{}[:{}]" if count > 0 else "{}[-{}:]", name, str(abs(count)))


def _typed(write: Writer, region: Region) -> list[tuple[str, Expr]]:
    return [(o.name, write.expr(o.form.annotation)) for o in (*region.modules, *region.values)]


def definitions_for_modules(write: Writer, region: Region) -> Statements:
    """What operators of a file find modules with, unless the file has it."""
    there = "_number_of" in names_written(*write.source.tree.body)
    return write.lines(knowledge().outlining["modules"]) if region.modules and not there else []


def operator_definition(write: Writer, region: Region, name: str) -> Statements:
    """The operator around the function `name`."""
    result = region.word("result")
    outputs = region.outputs(write, result)
    body = region.copies(write)
    call = region.called(write, name)
    whole = len(outputs) == 1 and len(region.results) == 1 and region.results[0].form.is_leaf
    if whole:
        ((leaf, own),) = outputs
        body += write.lines("return {value}", value=_own(write, leaf, call, own))
    else:
        body += write.assigned(result, call)
        values = [_own(write, leaf, leaf.value, own) for leaf, own in outputs]
        body += write.lines("return {values}", values=one_or_all(write, values))
    types = [write.expr(leaf.schema) for leaf, _ in outputs]
    return write.lines(
        knowledge().outlining["operator"],
        custom=custom(write, name, _DRAWING if region.random else CUSTOM),
        operator=f"{name}_op",
        parameters=schema(write, region.parameters(write)),
        result=types[0] if len(types) == 1 else write.expr("tuple[{}]", types),
        body=body,
    )


def _own(write: Writer, leaf: Leaf, value: Expr, own: bool) -> Expr:
    """A result that lies in memory of its own, as the fake kernel says."""
    template = _COPIES.get((leaf.schema, own))
    return write.expr(template, value) if template else value


def between(write: Writer, region: Region, name: str) -> Statements:
    """The function that stands between the program and the operator; none where the operator can be called itself."""
    if region.crosses_as_it_is:
        return []
    outputs = [leaf for leaf, _ in region.outputs(write, "result")]
    names = [_unlike(leaf.name, {o.name for o in region.operands}) for leaf in outputs]
    call = write.expr("{}({})", f"{name}_op", [leaf.value for leaf in region.parameters(write)])
    body = write.assigned(one_or_all(write, names), call)
    given = iter(names)
    results = [rebuilt(write, result.form, given) for result in region.results]
    for operand, after in zip(region.given_back, given):
        new = write.expr("{}.detach()" if operand.without_history else "{}", after)
        body += write.lines("{before}.copy_({after})", before=operand.name, after=new)
    for state, after in zip(region.states, given):
        body += write.lines(_PUT_BACK[state], held=region.held(write, state), state=after)
    if results:
        body += write.lines("return {results}", results=one_or_all(write, results))
    return write.lines(
        knowledge().outlining["between"], name=f"{name}_traced", parameters=_typed(write, region), body=body
    )


def call(write: Writer, region: Region, name: str) -> Expr:
    """The call in the place of the region: of the function in eager, of the operator while compiling."""
    operands = [
        write.expr("{}.detach()", write.expr(operand.text)) if operand.detached else write.expr(operand.text)
        for operand in (*region.modules, *region.values)
    ]
    traced = f"{name}_op" if region.crosses_as_it_is else f"{name}_traced"
    return write.expr("({} if torch.compiler.is_compiling() else {})({})", traced, name, operands)


def schema(write: Writer, parameters: Sequence[Leaf]) -> list[tuple[str, Expr]]:
    """Parameters with their types."""
    return [(leaf.name, write.expr(leaf.schema)) for leaf in parameters]


def custom(write: Writer, name: str, template: str) -> Expr:
    """The decorator that makes a function an operator of its module's namespace."""
    qualified = f"{namespace(write.source)}::{name.strip('_')}"
    return write.expr(template, write.string(qualified))


def one_or_all(write: Writer, parts: Sequence[Part]) -> Expr:
    """The part, or a tuple of the parts."""
    return write.expression(parts[0]) if len(parts) == 1 else write.tuple(parts)


def _unlike(name: str, taken: set[str]) -> str:
    """`name`, or with a word behind it where an operand has it."""
    while name in taken:
        name += "_after"
    return name


def namespace(source: SourceFile) -> str:
    """A namespace for operators: the module's name, with its package's."""
    path = Path(source.filename)
    parts = [path.stem]
    if path.with_name("__init__.py").exists():
        parts.insert(0, path.parent.name)
    text = re.sub(r"\W", "_", "_".join(parts))
    return text if text[:1].isalpha() else f"ops{text}" if text.startswith("_") else f"ops_{text}"
