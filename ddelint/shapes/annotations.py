"""What jaxtyping annotations say of sizes (`x: Float[Tensor, "batch 8"]`), and the contract as such annotations.

They know numbers, names that are equal wherever they stand, and arithmetic over names; no bounds, no multiples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddelint.nouns.contracts import Contract, Requirement
from ddelint.nouns.size_specs import Bounds, SizeSpec
from ddelint.shapes.canonical import representatives
from ddelint.shapes.facts import dimension_of, read, size_name, with_words
from ddelint.shapes.functions import function_of
from ddelint.shapes.linear_forms import linear
from ddelint.shapes.requirements import requirement_text, side_taken
from ddelint.sources.source import SourceError, SourceFile

PACKAGE = "jaxtyping"
ORIGIN = "annotations"
_ANY = ("_", "...")


@dataclass(frozen=True, slots=True)
class _Annotation:
    kind: str
    """`Float`, `Int`, …: what it is called in the file."""
    dims: tuple[str, ...]


def annotated_spec(contract: Contract) -> SizeSpec | None:
    """The annotations of a program's parameters as a spec; None where there are none.

    What annotations cannot say (bounds, multiples, which side of a branch) is taken from the contract: nobody is told
    that it is missing there.
    """
    found = _annotations(contract)
    if not found:
        return None
    dimensions, variables = dict[str, str](), dict[str, Bounds]()
    for name in contract.example:
        parameter, at = dimension_of(name)
        annotation = found.get(parameter)
        dims = _aligned(annotation.dims, contract.ranks[parameter]) if annotation is not None else None
        text = dims[at] if dims is not None else "_"
        dimensions[name] = text if text not in _ANY else f"{parameter}_{at}_"
        variables |= dict.fromkeys(_words(dimensions[name]), (0, None))
    meant = {name: f"({text})" if not text.isidentifier() else text for name, text in dimensions.items()}
    unsaid = [requirement_text(one) for one in contract.requirements if not is_sayable(one)]
    unsaid += [side_taken(branch, contract.example) for branch in contract.branches]
    assumptions = tuple(dict.fromkeys(with_words(text, meant) for text in unsaid))
    rank = next((name for name, one in found.items() if _aligned(one.dims, contract.ranks[name]) is None), None)
    if rank is not None:  # said of a tensor with other dimensions: left to whoever checks the types
        return None
    return SizeSpec(variables, dimensions, tuple(text for text in assumptions if _words(text)), ORIGIN)


def names_said(contract: Contract) -> dict[str, str]:
    """Dimension → what its annotation calls it."""
    found: dict[str, str] = {}
    for parameter, one in _annotations(contract).items():
        for at, text in enumerate(_aligned(one.dims, contract.ranks[parameter]) or ()):
            if text.isidentifier() and text not in _ANY and f"{parameter}.shape[{at}]" in contract.example:
                found[f"{parameter}.shape[{at}]"] = text
    return found


def is_sayable(one: Requirement) -> bool:
    """Whether annotations can say a requirement: one size is a number, another one, or a sum of multiples of others."""
    match read(one.text).node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) if not one.when:
            return linear(read(one.text)) is not None and (size_name(left) is not None or size_name(right) is not None)
    return False


def _words(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}


# ------------------------------------------------------------------------------------------------------------ reading


def _annotations(contract: Contract) -> dict[str, _Annotation]:
    """Tensor parameter → its annotation, of those that have one."""
    function = function_of(contract)
    kinds = kinds_in(contract)
    if function is None or not kinds:
        return {}
    arguments = function[0].args
    found = {}
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        annotation = _annotation(one.annotation, kinds) if one.annotation is not None else None
        if annotation is not None and one.arg in contract.ranks:
            found[one.arg] = annotation
    return found


def kinds_in(contract: Contract) -> dict[str, str]:
    """What the program's file imports of jaxtyping: its name there → that of jaxtyping (`jaxtyping` itself: "")."""
    where = contract.function
    try:
        tree = SourceFile.read(Path(where.filename)).tree if where is not None else None
    except (OSError, SourceError):
        tree = None
    found: dict[str, str] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            found |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: "" for alias in node.names if alias.name == PACKAGE}
    return found


def _annotation(node: ast.expr, kinds: Mapping[str, str]) -> _Annotation | None:
    """The one that a parameter's annotation holds: `Float[Tensor, "n 8"]`, also where it may be None, or is a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _annotation(ast.parse(node.value, mode="eval").body, kinds)
        except SyntaxError:
            return None
    for part in ast.walk(node):
        match part:
            case ast.Subscript(value=ast.Name(id=kind), slice=ast.Tuple(elts=[_, ast.Constant(value=str(dims))])):
                if kinds.get(kind):
                    return _read(kinds[kind], dims)
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=module), attr=kind),
                slice=ast.Tuple(elts=[_, ast.Constant(value=str(dims))]),
            ):
                if kinds.get(module) == "":
                    return _read(kind, dims)
    return None


def _read(kind: str, dims: str) -> _Annotation | None:
    """Each dimension as an expression over names; `_` where it may be anything (`#n` is n or 1), None if unreadable."""
    found = []
    for word in dims.split():
        text = word.rpartition("=")[2].lstrip("?")
        if text.startswith(("*", "...")):
            found.append("...")
        elif text.startswith(("#", "_")):
            found.append("_")
        else:
            try:
                tree = ast.parse(text, mode="eval")
            except SyntaxError:
                return None
            if any(isinstance(node, (ast.Call, ast.JoinedStr, ast.Set)) for node in ast.walk(tree)):
                return None
            found.append(ast.unparse(tree))
    return _Annotation(kind, tuple(found))


def _aligned(dims: Sequence[str], rank: int) -> tuple[str, ...] | None:
    """A dimension's text for each dimension of the tensor; None where there are more or fewer."""
    if "..." not in dims:
        return tuple(dims) if len(dims) == rank else None
    at = dims.index("...")
    missing = rank - (len(dims) - 1)
    return (*dims[:at], *["_"] * missing, *dims[at + 1 :]) if missing >= 0 else None


# ------------------------------------------------------------------------------------------------------------ writing


def annotation_lines(contract: Contract, spec: SizeSpec) -> Iterator[str]:
    """`ANNOTATIONS` for a written file: a type for each tensor; nothing where the program's file has none of them."""
    if not kinds_in(contract):
        return
    known = _annotations(contract)
    yield ""
    yield "# the same as types, as far as they can say it: numbers, equal sizes, sums"
    yield "ANNOTATIONS = {"
    bound: set[str] = set()
    sums = _sums(contract, spec)
    for parameter, rank in contract.ranks.items():
        kind = known[parameter].kind if parameter in known else "Shaped"
        dims = []
        for at in range(rank):
            text = spec.dimensions.get(f"{parameter}.shape[{at}]", "_")
            said = sums.get(text, "")
            dims.append(said if said and _words(said) <= bound else text)
            bound |= {dims[-1]} if dims[-1].isidentifier() else set()
        yield f'    "{parameter}": {PACKAGE}.{kind}[torch.Tensor, "{" ".join(dims)}"],'
    yield "}"


def _sums(contract: Contract, spec: SizeSpec) -> dict[str, str]:
    """Variable → what it is of others, without spaces: `16*channels`."""
    found: dict[str, str] = {}
    same = representatives(contract.requirements, list(contract.example))
    words = {name: text for name, text in spec.dimensions.items() if text in spec.variables}
    for one in contract.requirements:
        match read(one.text).node:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) if is_sayable(one):
                name, other = size_name(left), read(ast.unparse(right))
                if name in words and name not in same and other.names <= words.keys() and size_name(right) is None:
                    found[words[name]] = with_words(other.text, words).replace(" ", "")
    return found
