"""Shapes as people write them: `(B, T, C)`, `[batch, 3, H, W]`, `Tensor[N, 4]`, `"b t c"`; and what they come to."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from ddelint.guessing.knowledge import Knowledge
from ddelint.guessing.nouns import Sizes

_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,100})[)\]]")
_DIMENSION = re.compile(r"(?:\\?[A-Za-z_|\\{}][\w|\\{}]*|\d+|\*|\.\.\.)(?:\s*[*/+-]\s*[\w]+)*")
_NOT_SHAPES = frozenset(
    ("optional", "default", "required", "str", "int", "float", "bool", "tensor", "torch.tensor", "torch.floattensor",
     "torch.longtensor", "none")
)  # fmt: skip


def shape_in(text: str) -> tuple[str, ...] | None:
    """The first shape in a piece of text: its dimensions as they are called."""
    text = re.sub(r":math:|`+|\\text\{(\w+)\}", lambda found: found[1] or "", text).replace(r"\times", ",")
    text = text.replace("×", ",").replace(" x ", ", ").replace("$", "")
    for match in _BRACKETS.finditer(text):
        parts = [part.strip() for part in match[1].strip(" ,").split(",")]
        is_spaced = len(parts) == 1 and len(match[1].split()) > 1 and match[1] == match[1].lower()
        if is_spaced and "shape" in text[: match.start()]:
            parts = match[1].split()
        if len(parts) == 1 and match[1].strip()[:1].islower() and "shape" not in text and "," not in match[1]:
            continue
        if len(parts) > 6 or any(part.lower() in _NOT_SHAPES for part in parts):
            continue
        if all(_DIMENSION.fullmatch(part) for part in parts):
            return tuple(parts)
    return None


def sizes_of(dimensions: tuple[str, ...], known: Mapping[str, int], facts: Knowledge, agreed: dict[str, int]) -> Sizes:
    """A number for each dimension.

    `known`: the constructor's numbers; `agreed`: names that have one by now, to which others are added.
    """
    sizes: list[int] = []
    for position, dimension in enumerate(dimensions):
        name = dimension.strip().lstrip("#?").split("=")[-1]
        if name in ("...", "*") or name.startswith("*"):
            continue
        if position and name.lower() == "n" and facts.dimensions.get(dimensions[0].lower()) == "batch":
            agreed.setdefault(name, facts.sizes["sequence"])  # (B, N, …): the batch stands first
        sizes.append(_size(name, known, facts, agreed))
    return tuple(sizes) or (facts.sizes["batch"],)


def _size(name: str, known: Mapping[str, int], facts: Knowledge, agreed: dict[str, int]) -> int:
    try:
        value = number_of(ast.parse(name.replace("\\", ""), mode="eval").body, _Sizes(known, facts, agreed))
    except SyntaxError:
        value = None
    return max(1, value) if value is not None else _Sizes(known, facts, agreed)[name]


class _Sizes(dict[str, int]):
    """A number for any word: what is known of it, what it was given before, what it usually stands for."""

    def __init__(self, known: Mapping[str, int], facts: Knowledge, agreed: dict[str, int]) -> None:
        super().__init__()
        self._known = {name.lower(): value for name, value in known.items()}
        self._facts = facts
        self._agreed = agreed

    def __missing__(self, word: str) -> int:
        if word in self._agreed:
            return self._agreed[word]
        lower = word.lower()
        if lower in self._known and len(lower) > 1:
            return self._known[lower]
        stem = lower.rstrip("0123456789_").removeprefix("num_").removeprefix("n_")
        usual = self._facts.dimensions.get(lower) or self._facts.dimensions.get(stem, "unknown")
        size = self._facts.sizes[usual]
        if lower not in self._facts.dimensions and word[-1:].isdigit():
            size += int(word[-1])
        self._agreed[word] = size
        return size


def number_of(node: ast.expr | None, names: Mapping[str, int]) -> int | None:
    """A whole number that an expression comes to, under what names stand for; None where nothing says so."""
    match node:
        case ast.Constant(value=int(value)):
            return int(value)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            try:
                return names[name]
            except KeyError:
                return None
        case ast.BinOp(left=left, op=op, right=right):
            one, other = number_of(left, names), number_of(right, names)
            if one is None or other is None:
                return None
            match op:
                case ast.Add():
                    return one + other
                case ast.Sub():
                    return one - other
                case ast.Mult():
                    return one * other
                case ast.FloorDiv() | ast.Div() if other:
                    return one // other
                case ast.Pow() if 0 <= other < 8:
                    return int(one**other)
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return number_of(inner, names)
    return None
