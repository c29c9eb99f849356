"""Lists that grow by `+=` and by `extend`, said by `append`, and what moves make of them then."""

from __future__ import annotations

import ast

import pytest
from control_flow import SCALAR, TENSOR, candidates, context_of, failures

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.parts.growing import appended_one_by_one
from ddelint.rewrite.parts.respelling import respelled

LIST = TypeFact("list", element=TENSOR, length=2)
TYPES = {"x": TENSOR, "given": LIST, "array": TypeFact("other", python_type="numpy.ndarray"), "total": SCALAR}


def said(lines: str, asking: str = "total > 3") -> list[str]:
    """The lines of the function in other words."""
    text = "def fn(x, given, array, total):\n    " + lines.replace("\n", "\n    ") + "\n"
    found = [each.context.site.source.text for each in respelled(context_of(text, asking, TYPES))]
    return ["\n".join(line[4:] for line in one.splitlines()[1:]) for one in found]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "rows = []\nif total > 3:\n    rows += [x]\nelse:\n    rows += [-x]\nreturn rows",
            "rows = []\nif total > 3:\n    rows.append(x)\nelse:\n    rows.append(-x)\nreturn rows",
        ),
        (
            "rows = [x]\nfor row in x:\n    rows.extend((row, -row))\n    if total > 3:\n        break\nreturn rows",
            "rows = [x]\nfor row in x:\n    rows.append(row)\n    rows.append(-row)\n    if total > 3:\n        break\n"
            "return rows",
        ),
        (
            "rows = x\nrows = []\nfor row in x:\n    if total > 3:\n        rows += [row]\nrows = sum(rows)\n"
            "return rows",
            "rows = x\nrows = []\nfor row in x:\n    if total > 3:\n        rows.append(row)\nrows = sum(rows)\n"
            "return rows",
        ),
        (
            "if total > 3:\n    given += [x]\nreturn given",
            "if total > 3:\n    given.append(x)\nreturn given",
        ),
        (
            "rows: list = list(given)\nif total > 3:\n    rows.extend([x])\nreturn rows",
            "rows: list = list(given)\nif total > 3:\n    rows.append(x)\nreturn rows",
        ),
    ],
)
def test_what_is_added_is_appended_one_by_one(lines: str, expected: str) -> None:
    assert said(lines) == [expected]


@pytest.mark.parametrize(
    "lines",
    [
        "if total > 3:\n    array += [1]\nreturn array",  # NumPy adds to each element
        "rows = given if total > 9 else array\nif total > 3:\n    rows += [x]\nreturn rows",
        "rows = []\nrows = array\nif total > 3:\n    rows += [x]\nreturn rows",
        "rows = []\nfor row in x:\n    if total > 3:\n        rows += [row]\n    rows = array\nreturn rows",
        "if total > 3:\n    rows += [x]\nrows = []\nreturn rows",
        "rows = ()\nif total > 3:\n    rows += (x,)\nreturn rows",
        "rows = []\nif total > 3:\n    rows += [*given]\nreturn rows",
        "rows = [x]\nif total > 3:\n    rows += [x, rows[-1]]\nreturn rows",
        "rows = []\nif total > 3:\n    rows += given\nreturn rows",
        "rows = []\nif total > 3:\n    rows = rows + [x]\nreturn rows",
        "if given:\n    rows = array\nelse:\n    rows = []\nif total > 3:\n    rows += [x]\nreturn rows",
        "try:\n    rows = array\n    rows = f([])\n    rows = []\nexcept E:\n    pass\nif total > 3:\n    rows += [x]",
        "rows = array\nfor _ in given:\n    rows = []\nif total > 3:\n    rows += [x]\nreturn rows",
        "rows = array\nif given and (rows := []):\n    pass\nif total > 3:\n    rows += [x]\nreturn rows",
        "for rows in given:\n    pass\nif total > 3:\n    rows += [x]\nreturn rows",
        "rows = []\nother = rows\nif total > 3:\n    rows += [x, other[-1]]\nreturn rows",
        "rows = []\nother = rows\nif total > 3:\n    rows += [x, not other]\nreturn rows",
        "rows = []\nother = rows\nif total > 3:\n    rows.extend([x, len(other)])\nreturn rows",
    ],
)
def test_what_may_be_something_else_is_left(lines: str) -> None:
    text = "def fn(x, given, array, total):\n    " + lines.replace("\n", "\n    ") + "\n"
    assert not list(appended_one_by_one(context_of(text, "total > 3", TYPES)))


PROGRAMS = [
    "if row.sum() > 3:\n            rows += [row]\n        else:\n            rows += [-row]",
    "if row.sum() > 3:\n            rows.extend([row])\n        else:\n            rows.extend((-row,))",
    "if row.sum() > 3:\n            rows += [row]\n        elif row.max() > 1:\n            rows += [row * 2]\n"
    "        else:\n            rows += [-row]",
    "if row.sum() > 3:\n            rows.append(row)\n        elif row.max() > 1:\n            rows.append(row * 2)\n"
    "        else:\n            rows.append(-row)",
    "if row.sum() > 3:\n            if row.min() > 0:\n                rows.append(row)\n            else:\n"
    "                rows.append(row + 1)\n        else:\n            rows += [-row]",
]


@pytest.mark.parametrize("branch", PROGRAMS)
def test_one_of_the_values_is_chosen_and_appended(branch: str) -> None:
    import torch

    loop = f"    rows = []\n    for row in x:\n        {branch}\n"
    text = f"import torch\n\n\ndef fn(x):\n{loop}    return torch.stack(rows)\n"
    types = {"x": TypeFact("tensor", "float32", ("2", "3")), "row": TypeFact("tensor", "float32", ("3",))}
    context = context_of(text, "row.sum() > 3", types)
    offered = [*candidates("where_merge", context)]
    for respelling in respelled(context):
        offered += [respelling.said(candidate) for candidate in candidates("where_merge", respelling.context)]
    found = next(candidate for candidate in offered if candidate is not None)
    new = context.site.source.apply(found.edits)
    assert ast.unparse(ast.parse(new)).count("rows.append(") == 1
    samples = [(torch.tensor(rows),) for rows in ([[1.0, 2, 3], [0, 0, 1]], [[0.0, 1, 1.5], [-2, 2, 2]])]
    assert failures(text, new, samples, ("export", "compile")) == []
