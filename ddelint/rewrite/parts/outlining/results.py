"""What comes out of a region: names that are read behind it, attributes that it assigns, or what it returns."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ddelint.nouns.protocol import RETURNED
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.parts.outlining.forms import TENSOR, Form, Way, form_of
from ddelint.rewrite.parts.outlining.operands import augmented, callers
from ddelint.rewrite.parts.outlining.region import Region, Result
from ddelint.rewrite.reading.bindings import type_behind
from ddelint.rewrite.reading.changes_of_calls import changed_by_calls
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import names_written, position
from ddelint.rewrite.reading.regions import (
    changed_in_place,
    ends_in_return,
    live_behind,
    may_alias,
    of_unknown_length,
    separate_names,
)


def read_results(context: Context, region: Region, way: Way) -> str:
    """Fill in what comes out; gives what stands in the way."""
    returns = [node for statement in region.body for node in ast.walk(statement) if isinstance(node, ast.Return)]
    if returns:
        if not ends_in_return(region.body):
            return "it returns on one side"
        region.returns = True
        return _returned(context, region, returns, way) if region.typed else ""
    written = names_written(*region.body) | changed_in_place(region.body) | changed_by_calls(context, region.body)
    live = written & live_behind(context.site.source, region.body[-1])
    if region.typed:
        live -= callers(context)  # these change where they stand
    assigned = _attributes(region.body, augmented(context, region.body)) if region.typed else {}
    region.targets = {name: name for name in sorted(live)} | {name: text for text, name in assigned.items()}
    if not region.typed:
        return ""
    region.replacements |= assigned
    separate, growing = separate_names(region.body, given_back=True), of_unknown_length(region.body)
    for name, target in region.targets.items():
        fact = type_behind(context, target, region.body)
        form = form_of(fact, way)
        if name in growing and form is not None and "[" in form.annotation:
            region.parts_read[name] = _elements_read(context, region, name)
            if not region.parts_read[name]:
                return f"`{target}` has another length for other data"
        if form is None or (form.constant and len(region.targets) == 1) or not _is_nameable(context, form):
            return f"`{target}` cannot come out of an operator"
        region.results.append(Result(name, form, (True,) if name in separate and form.schema else ()))
    return ""


def _elements_read(context: Context, region: Region, name: str) -> int:
    """How many elements of a list that the region fills are read behind it, where all are by their numbers alone: the
    first ones, or the last where negative; 0 where more is read."""
    source, last = context.site.source, region.body[-1]
    in_loop = any(isinstance(node, (ast.For, ast.AsyncFor, ast.While)) for node in source.ancestors(last))
    if context.site.function is None or in_loop:
        return 0
    inside = {node for statement in region.body for node in ast.walk(statement)}
    read: list[int] = []
    for node in ast.walk(context.site.function):
        if isinstance(node, ast.Name) and node.id == name and node not in inside and position(node) > position(last):
            parent = source.parents[node]
            match parent:
                case ast.Subscript(slice=index, ctx=ast.Load()) if (number := integer(index)) is not None:
                    read.append(number)
                case _:
                    return 0
    if read and min(read) >= 0:
        return max(read) + 1
    return min(read) if read and max(read) < 0 else 0


def _attributes(body: Sequence[ast.stmt], in_place: set[str]) -> dict[str, str]:
    """Chains of attributes that are assigned, not changed `in_place`, with what they are called inside."""
    found: dict[str, str] = {}
    for statement in body:
        for node in ast.walk(statement):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and ast.unparse(node) not in in_place
            ):
                found[ast.unparse(node)] = f"{node.attr.strip('_')}_"
    return found


def _returned(context: Context, region: Region, returns: Sequence[ast.Return], way: Way) -> str:
    values = [node.value for node in returns]
    if any(value is None for value in values):
        return "it returns nothing"
    whole = form_of(context.type_of(RETURNED), way)
    separate = separate_names(region.body, given_back=True)
    known = [value for value in values if value is not None]
    forms = [_form(context, value, way) for value in known]
    if whole is None:
        several = {form.annotation for form in forms if form is not None}
        if len(several) > 1:
            return "it returns different structures"
        if any(form is None for form in forms):
            return f"`{ast.unparse(known[forms.index(None)])}` cannot come out of an operator"
        whole = forms[0]
        assert whole is not None
    if not _is_nameable(context, whole):
        return f"`{ast.unparse(known[0])}` cannot come out of an operator"
    own = [
        tuple(_is_own(part, separate) for part in (value.elts if isinstance(value, ast.Tuple) else [value]))
        for value in known
    ]
    flat = all(part.schema for part in (whole.parts or (whole,)))
    fits = flat and len({len(flags) for flags in own}) == 1 and len(own[0]) == len(whole.parts or (whole,))
    region.results = [Result("", whole, tuple(map(all, zip(*own))) if fits else ())]
    return ""


def _is_own(value: ast.expr, separate: set[str]) -> bool:
    return value.id in separate if isinstance(value, ast.Name) else not may_alias(value, given_back=True)


def _form(context: Context, value: ast.expr, way: Way) -> Form | None:
    """The form of a returned expression, read off the text where no run saw it."""
    if isinstance(value, ast.Tuple):
        parts = [_form(context, part, way) for part in value.elts]
        known = tuple(part for part in parts if part is not None)
        inner = ", ".join(part.annotation for part in known)
        return Form(f"tuple[{inner}]", parts=known) if len(known) == len(parts) else None
    kinds = Kinds(context)
    fact = kinds.fact(value)
    if fact is not None:
        return form_of(fact, way)
    if isinstance(value, (ast.Dict, ast.Starred, ast.List)) or kinds.of(value) not in (Kind.TENSOR, Kind.UNKNOWN):
        return None
    return Form(TENSOR, TENSOR, is_floating(context, value))


def _is_nameable(context: Context, form: Form) -> bool:
    """Whether the classes of all records in a value have their names in the file of the site."""
    there = {name for statement in context.site.source.tree.body for name in names_written(statement)}
    return there.issuperset(form.classes)


def is_floating(context: Context, node: ast.expr) -> bool:
    """Whether gradients may flow through a tensor expression."""
    dtype = Kinds(context).dtype(node)
    return not dtype or dtype.startswith(("float", "bfloat"))
