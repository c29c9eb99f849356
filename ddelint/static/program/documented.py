"""What a docstring says of a function's parameters: `x (torch.Tensor): …`, `x : Tensor of shape (n, 3)`."""

from __future__ import annotations

import re

from ddelint.knowledge import extensions
from ddelint.knowledge.operators import operators

_MARKS = ('"""', "'''")
_LONGEST = 20_000
"""Characters of a docstring."""


def documented_tensors(docstring: str) -> frozenset[str]:
    """The parameters that a docstring says are tensors and nothing else, in the styles of Google, NumPy and Sphinx."""
    if "Tensor" not in docstring:
        return frozenset()
    return frozenset(match[1] or match[2] for match in _declaration().finditer(docstring[:_LONGEST]))


def docstring_of(body: str) -> str:
    """The docstring that a function's body begins with; empty where there is none."""
    text = body.lstrip().lstrip("rR")
    mark = text[:3]
    if mark not in _MARKS:
        return ""
    end = text.find(mark, 3, _LONGEST)
    return text[3:end] if end >= 0 else ""


@extensions.remembered
def _declaration() -> re.Pattern[str]:
    """A parameter and its type at the begin of a line; another type beside the tensor's says that it may be that."""
    known = operators().annotations
    names = "|".join(sorted(known["tensor"] | known["mask"] | known["integers"]))
    plain = known["number"] | known["sequence"] | known["mapping"] | known["arrays"]
    others = rf"\s{{0,9}}+(?:or\b(?! None)|\||/|,\s{{0,9}}+(?:{'|'.join(sorted(plain))})\b)"
    name = r"(?:[-*][ \t]++)?[`*]{0,2}+(\w++)[`*]{0,2}+[ \t]*+[(:][ \t]*+"
    return re.compile(
        rf"^[ \t]*+(?:{name}|:type[ \t]++(\w++):[ \t]*+)(?::\w{{1,9}}+:)?[`~]{{0,4}}+(?:torch\.)?(?:{names})\b"
        rf"[`\]]{{0,4}}+(?!{others})",
        re.MULTILINE,
    )
