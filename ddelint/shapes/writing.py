"""A spec as a file beside the entry: for `torch.compile`, for `torch.export`, as marks on inputs."""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ddelint.nouns.contracts import Contract, Requirement
from ddelint.nouns.size_specs import ITEMS, KEYS, Bounds, SizeSpec
from ddelint.shapes.annotations import PACKAGE, annotation_lines
from ddelint.shapes.facts import dimension_of, read
from ddelint.shapes.places import grown, in_order, root_of
from ddelint.shapes.requirements import requirement_text
from ddelint.shapes.specs import affine, grouped, names_in

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
    annotated = list(annotation_lines(contract, spec))
    yield from [f"import {PACKAGE}"] if annotated else []
    yield from ["import torch"] if annotated or any(_EXTREME.search(text) for text in spec.assumptions) else []
    yield "from torch._dynamo.decorators import mark_unbacked"
    exported = list(_exported(contract, spec))
    yield from ["from torch.export import Dim"] if any(" = Dim(" in line for line in exported) else []
    yield f"from torch.fx.experimental.dynamic_spec import {spec_names(contract)}"
    yield ""
    for one in contract.requirements:
        yield from because(one)
    for branch in contract.branches:
        side = branch.text if read(branch.text).holds(contract.example) else f"not ({branch.text})"
        yield f"# {side}: {_place(branch.span.filename, branch.span.row)} decides by it; this is the example's side"
    for name, bounds in spec.variables.items():
        yield f"{name} = ShapeVar({_quoted(name)}{limits(bounds)})"
    yield ""
    yield f"# torch.compile(model, fullgraph=True, {contract.spec_argument}=SHAPES)"
    yield "SHAPES = ShapesSpec("
    yield "    {"
    yield from (f"        {line}" for line in spec_lines(contract, spec))
    yield "    },"
    if spec.assumptions:
        yield "    assumptions=["
        yield from (f"        {symbolic(text)}," for text in spec.assumptions)
        yield "    ],"
    yield ")"
    yield ""
    yield from exported
    yield from annotated
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


def spec_lines(contract: Contract, spec: SizeSpec) -> Iterator[str]:
    """The entries of a ShapesSpec, a line for each."""
    flat = {place: f"TensorSpec([{', '.join(dims)}])" for place, dims in tensors(contract, spec).items()}
    listed = grown(flat, _container)
    for name, one in grouped(listed, contract.handed, "None").items():
        if isinstance(one, list):
            yield f"{_quoted(name)}: [{', '.join(one)}],"
        elif isinstance(one, dict):
            yield f"{_quoted(name)}: {{{', '.join(f'{_quoted(key)}: {text}' for key, text in one.items())}}},"
        else:
            yield f"{_quoted(name)}: {one},"


def _container(kind: str, parts: dict[str | int, Any], place: str) -> str:
    if kind == ITEMS:
        return f"SeqSpec([{', '.join(in_order(parts, 'None'))}])"
    name = "DictSpec" if kind == KEYS else "ObjectSpec"
    return f"{name}({{{', '.join(f'{_quoted(str(key))}: {part}' for key, part in parts.items())}}})"


def spec_names(contract: Contract) -> str:
    """What a file of specs imports."""
    kinds = {"['": "DictSpec", "[": "SeqSpec", ".": "ObjectSpec"}
    used = {kinds[sign] for place in contract.ranks for sign in re.findall(r"\['|\[|\.", place)}
    return ", ".join(sorted({"ShapesSpec", "ShapeVar", "TensorSpec", *used}, key=str.lower))


def symbolic(text: str) -> str:
    """A condition as an expression over torch's symbols: `|` for `or`, `&` for `and`, `torch.sym_min` for `min`."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.BoolOp):
        return ast.unparse(_Symbolic().visit(node)) if _EXTREME.search(text) else text
    sign = " | " if isinstance(node.op, ast.Or) else " & "
    return sign.join(f"({symbolic(ast.unparse(part))})" for part in node.values)


_EXTREME = re.compile(r"\b(?:min|max)\(")


class _Symbolic(ast.NodeTransformer):
    """Python's `min` and `max` would ask which it is; torch's take two numbers."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=[first, *others], keywords=[]):
                function = ast.Attribute(ast.Name("torch", ast.Load()), f"sym_{name}", ast.Load())
                for other in others:
                    first = ast.Call(function, [first, other], [])
                return first
        return node


# -------------------------------------------------------------------------------------------------------- for export


def _exported(contract: Contract, spec: SizeSpec) -> Iterator[str]:
    """The same for export, as far as it can be said there: bounds, equalities, multiples, sums."""
    derived = _derived(spec)
    variables, multiples = _with_what_is_derived(spec, derived)
    unsaid = [text for text in spec.assumptions if not _says_multiple(text, derived) and not _says(text, derived)]
    tied = {text: _resting_on(_equated(text), derived, spec) for text in unsaid}
    static = {name for names in tied.values() for name in names}
    words: dict[str, str] = {}
    for name, (low, high) in variables.items():
        if name not in derived and name not in static:
            factor = multiples.get(name, 1)
            dim = f"{name}_dim"
            within = limits((-(-low // factor), None if high is None else high // factor))
            yield f"{dim} = Dim({_quoted(name if factor == 1 else f'{name}_by_{factor}')}{within})"
            words[name] = dim if factor == 1 else f"{factor} * {dim}"
    for name in derived:
        root, factor, constant = _root_of(name, derived)
        if root in words:
            words[name] = _affine_text(words[root], factor, constant)
    yield ""
    for text in unsaid:
        kept = ", ".join(tied[text])
        yield f"# no Dim says this{f', so the example sets {kept}' if kept else ''}: {text}"
    yield "# torch.export.export(model, args, dynamic_shapes=DYNAMIC_SHAPES); it keeps 0 and 1 apart, also among sizes"
    yield "# that it computes, so that it may ask for a larger `min`, and says for which"
    yield "DYNAMIC_SHAPES = {"
    flat: dict[str, str] = {}
    for place, rank in contract.ranks.items():
        dims = {
            at: words[text] for at in range(rank) if (text := spec.dimensions.get(f"{place}.shape[{at}]", "")) in words
        }
        flat[place] = f"{{{', '.join(f'{at}: {word}' for at, word in dims.items())}}}"
    flat |= dict.fromkeys(contract.others, "None")
    for name, text in grown(flat, partial(_nested_dims, contract.lists)).items():
        yield f"    {_quoted(name)}: {text},"
    yield "}"


def _nested_dims(lists: Sequence[str], kind: str, parts: dict[str | int, Any], place: str) -> str:
    if kind == KEYS:
        return f"{{{', '.join(f'{_quoted(str(key))}: {part}' for key, part in parts.items())}}}"
    inside = list(parts.values()) if kind != ITEMS else in_order(parts, "None")
    return f"[{', '.join(inside)}]" if place in lists else f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"


def _multiples(spec: SizeSpec) -> dict[str, int]:
    """Variable → what divides it, wherever there are any elements: export takes no size of 0 or 1 for another."""
    found: dict[str, int] = {}
    for text in spec.assumptions:
        if (said := _multiple(text)) is not None:
            name, divisor = said
            found[name] = math.lcm(found.get(name, 1), divisor)
    return found


def _multiple(text: str) -> tuple[str, int] | None:
    """`n % 8 == 0` as its parts."""
    left, _, right = _without_zeros(text).partition(" % ")
    divisor, _, rest = right.partition(" == ")
    return (left, int(divisor)) if left.isidentifier() and divisor.isdigit() and rest == "0" else None


def _without_zeros(text: str) -> str:
    """`n < 1 or n % 8 == 0` as `n % 8 == 0`; anything else as it is."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.BoolOp) or not isinstance(node.op, ast.Or):
        return text
    left = [ast.unparse(part) for part in node.values if not _is_zero(part)]
    return left[0] if len(left) == 1 else text


def _equated(text: str) -> set[str]:
    """The variables of an equation, which torch.export refuses where no Dim says it; an inequality it checks."""
    said = ast.parse(_without_zeros(text), mode="eval").body
    is_equation = isinstance(said, ast.Compare) and isinstance(said.ops[0], ast.Eq)
    return names_in(ast.unparse(said)) if is_equation else set()


def _is_zero(node: ast.expr) -> bool:
    match node:
        case ast.Compare(left=ast.Name(), ops=[ast.Lt()], comparators=[ast.Constant(value=1)]):
            return True
        case ast.Compare(left=ast.Name(), ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
            return True
    return False


_Derived = Mapping[str, tuple[str, int, int]]
"""Variable → (another, factor, constant): it is `factor * another + constant`."""


def _derived(spec: SizeSpec) -> _Derived:
    """The variables that an equation gives by another one."""
    found: dict[str, tuple[str, int, int]] = {}
    for text in spec.assumptions:
        for left, right in _equality(text):
            roots = names_in(right) & spec.variables.keys()
            if left not in spec.variables or left in found or len(roots) != 1:
                continue
            (root,) = roots
            factor, constant = affine(right, root)
            if factor > 0 and left not in _chain(root, found):
                found[left] = root, factor, constant
                break
    return found


def _chain(name: str, derived: _Derived) -> list[str]:
    """A variable, and those that it rests on."""
    found = [name]
    while found[-1] in derived:
        found.append(derived[found[-1]][0])
    return found


def _root_of(name: str, derived: _Derived) -> tuple[str, int, int]:
    """The variable that one rests on in the end, and what it is of that."""
    factor, constant = 1, 0
    while name in derived:
        name, by, more = derived[name]
        factor, constant = factor * by, factor * more + constant
    return name, factor, constant


def _with_what_is_derived(spec: SizeSpec, derived: _Derived) -> tuple[dict[str, Bounds], dict[str, int]]:
    """Bounds and divisors of the variables that others rest on, with what is said of those."""
    variables, multiples = dict(spec.variables), _multiples(spec)
    for name in derived:
        root, factor, constant = _root_of(name, derived)
        low, high = spec.variables[name]
        own_low, own_high = variables[root]
        highs = [one for one in (own_high, None if high is None else (high - constant) // factor) if one is not None]
        variables[root] = max(own_low, -((constant - low) // factor)), min(highs, default=None)
        divisor = multiples.get(name, 1)
        if constant % divisor == 0:
            multiples[root] = math.lcm(multiples.get(root, 1), divisor // math.gcd(divisor, factor))
    return variables, multiples


def _says_multiple(text: str, derived: _Derived) -> bool:
    """Whether a multiple is said by that of the variable that it rests on: of `2 * n + 1` a multiple of 3 is not."""
    said = _multiple(text)
    return said is not None and _root_of(said[0], derived)[2] % said[1] == 0


def _resting_on(names: set[str], derived: _Derived, spec: SizeSpec) -> list[str]:
    """The variables that rest on the same ones as these do: where one has only one size, all have."""
    roots = {_root_of(name, derived)[0] for name in names}
    return [name for name in spec.variables if _root_of(name, derived)[0] in roots]


def _affine_text(word: str, factor: int, constant: int) -> str:
    return (word if factor == 1 else f"{factor} * {_bracketed(word)}") + (
        f" + {constant}" if constant > 0 else f" - {-constant}" if constant else ""
    )


def _bracketed(word: str) -> str:
    return f"({word})" if " " in word else word


def _equality(text: str) -> list[tuple[str, str]]:
    """`a == 16 * b` as a variable and what it is; both ways around where both sides are variables."""
    match ast.parse(text, mode="eval").body:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            sides = ((left, right), (right, left))
            return [(one.id, ast.unparse(other)) for one, other in sides if isinstance(one, ast.Name)]
    return []


def _says(text: str, derived: _Derived) -> bool:
    return any(
        left in derived and derived[left] == (derived[left][0], *affine(right, derived[left][0]))
        for left, right in _equality(text)
    )


# ------------------------------------------------------------------------------------------------------------- marks


def _marks(contract: Contract, spec: SizeSpec) -> Iterator[str]:
    marked = {name: text for name, text in spec.dimensions.items() if text in spec.variables}
    parameters = list(dict.fromkeys(root_of(dimension_of(name)[0]) for name in marked))
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
