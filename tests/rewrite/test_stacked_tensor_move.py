"""stack_instead_of_tensor: what is written, what is left alone, and the texts run by torch."""

from __future__ import annotations

import pytest
from control_flow import TENSOR, candidates, context_of, failures, rewritten

from ddelint.nouns.diagnostics import TypeFact

SCALARS = TypeFact("list", element=TypeFact("tensor", "float32", ()), length=2)
TYPES = {
    "x": TENSOR,
    "scalars": SCALARS,
    "halves": TypeFact("list", element=TypeFact("tensor", "float64", ()), length=2),
    "rows": TypeFact("list", element=TENSOR, length=2),
    "numbers": TypeFact("list", element=TypeFact("float"), length=2),
}
MOVE = "stack_instead_of_tensor"


@pytest.mark.parametrize(
    ("call", "stacked"),
    [
        ("torch.tensor(scalars)", "torch.stack(scalars).detach()"),
        ("torch.as_tensor([x.sum(), x.max()])", "torch.stack([x.sum(), x.max()]).detach()"),
        ("torch.tensor([x.sum(), x.std(), x.norm()])", "torch.stack([x.sum(), x.std(), x.norm()]).detach()"),
        ("torch.tensor([x.mean(), torch.var(x)])", "torch.stack([x.mean(), torch.var(x)]).detach()"),
        (
            "torch.tensor([(x > k).any() for k in range(3)])",
            "torch.stack([(x > k).any() for k in range(3)]).detach()",
        ),
        ("torch.tensor(scalars, requires_grad=False)", "torch.stack(scalars).detach()"),
        (
            "torch.tensor(scalars, requires_grad=len(x) > 9 and not torch.compiler.is_compiling())",
            "torch.stack(scalars).detach()",
        ),
        ("torch.tensor(halves, dtype=x.dtype)", "torch.stack(halves).detach().to(dtype=x.dtype)"),
        (
            "torch.tensor((x.sum(), x.amin()), device=x.device, dtype=torch.float64)",
            "torch.stack((x.sum(), x.amin())).detach().to(device=x.device, dtype=torch.float64)",
        ),
    ],
)
def test_tensors_of_no_dimension_are_stacked(call: str, stacked: str) -> None:
    import torch

    head = "import torch\n\n\ndef fn(x):\n    scalars = [x.sum(), x.max()]\n"
    head += "    halves = [one.double() for one in scalars]\n"
    text = f"{head}    y = {call}\n    return y + 0, len(halves)\n"
    (found,) = rewritten(MOVE, context_of(text, call, TYPES, "DDE005"))
    assert " ".join(found.split()).replace("( ", "(").replace(" )", ")").count(stacked) == 1
    samples = [(torch.tensor(row),) for row in ([1.0, 2, 3, 4], [-1.0, 0.5, -2, 7])]
    assert failures(text, found, samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    "call",
    [
        "torch.tensor(rows)",
        "torch.tensor(numbers)",
        "torch.tensor(halves)",
        "torch.tensor([x.sum(), 1.0])",
        "torch.tensor(scalars, requires_grad=True)",
        "torch.tensor(x)",
        "make.tensor(scalars)",
    ],
)
def test_other_lists_are_left_alone(call: str) -> None:
    text = f"import torch\n\n\ndef fn(x, scalars, halves, rows, numbers, make):\n    return {call}\n"
    assert candidates(MOVE, context_of(text, call, TYPES, "DDE005")) == []


GROWN = """import torch


def fn(x):
    flags = []
    for row in x:
        {append}
    {behind}
    return x * flags{end}
"""


@pytest.mark.parametrize(
    ("append", "behind", "end"),
    [
        ("flags.append(torch.where((row == 2).any(), True, False))", "flags = torch.tensor(flags)", "[:, None]"),
        ("flags.append(torch.where(row.max() > 2, 1, -1))", "flags = torch.as_tensor(flags).float()", "[:, None]"),
        ("flags.append(torch.where(row.max() > 2, 1.0, row.min()))", "flags = torch.tensor(flags)", "[:, None]"),
        ("flags.append((row > 2).any())", "count = len(flags)\n    flags = torch.tensor(flags)", "[:, None] + count"),
    ],
)
def test_a_list_that_held_numbers_and_is_given_tensors_by_now(append: str, behind: str, end: str) -> None:
    import torch

    seen = {"x": TypeFact("tensor", "float32", ("2", "3")), "row": TypeFact("tensor", "float32", ("3",))}
    text = GROWN.format(append=append, behind=behind, end=end)
    call = behind[behind.index("torch.") :].removesuffix(".float()")
    (found,) = rewritten(MOVE, context_of(text, call, seen | {"flags": BOOLS}, "DDE005"))
    assert "torch.stack(flags).detach() if torch.compiler.is_compiling()" in found
    samples = [(torch.tensor(rows),) for rows in ([[1.0, 2, 3], [0, 0, 1]], [[0.0, 1, 1], [2, 2, 2]])]
    assert failures(text, found, samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    "head",
    [
        "if len(x) > 2:\n        flags = [0.5]\n    else:\n        flags = []",
        "flags = [0.5]\n    for _ in x:\n        flags = []",
        "flags = [0.5]\n    if len(x) > 2:\n        flags = []",
        "flags = []\n    def put():\n        flags.append(1)",
    ],
)
def test_a_list_that_may_have_begun_with_numbers_is_left(head: str) -> None:
    text = GROWN.format(append="flags.append((row > 2).any())", behind="flags = torch.tensor(flags)", end="")
    text = text.replace("    flags = []", f"    {head}", 1)
    seen = {"x": TypeFact("tensor", "float32", ("2", "3")), "row": TypeFact("tensor", "float32", ("3",))}
    assert rewritten(MOVE, context_of(text, "torch.tensor(flags)", seen | {"flags": BOOLS}, "DDE005")) == []


def test_a_list_begins_anew_in_each_turn() -> None:
    import torch

    loop = (
        "    for part in (x, -x):\n        flags = []\n        for row in part:\n            flags.append(row.sum())\n"
    )
    text = f"import torch\n\n\ndef fn(x):\n{loop}        flags = torch.tensor(flags)\n    return flags + 1\n"
    seen = {"x": TypeFact("tensor", "float32", ("2", "3")), "row": TypeFact("tensor", "float32", ("3",))}
    (found,) = rewritten(MOVE, context_of(text, "torch.tensor(flags)", seen | {"flags": BOOLS}, "DDE005"))
    samples = [(torch.tensor(rows),) for rows in ([[1.0, 2, 3], [0, 0, 1]], [[0.0, 1, 1], [2, 2, 2]])]
    assert failures(text, found, samples, ("export", "compile")) == []


BOOLS = TypeFact("list", element=TypeFact("bool"), length=2)


@pytest.mark.parametrize(
    ("append", "behind"),
    [
        ("flags.append(torch.where((row == 2).any(), True, 1))", "flags = torch.tensor(flags)"),
        ("flags.append(torch.where(row > 2, 1, 0))", "flags = torch.tensor(flags)"),
        ("flags.append(True)", "flags = torch.tensor(flags)"),
        ("flags.append((row > 2).any())", "fill(flags)\n    flags = torch.tensor(flags)"),
        ("flags.extend([(row > 2).any()])", "flags = torch.tensor(flags)"),
        ("flags.append((row > 2).any())", "flags += more\n    flags = torch.tensor(flags)"),
        ("flags.append(torch.where((row > 2).any(), -True, True))", "flags = torch.tensor(flags)"),
        ("flags.append((row > 2).any())\n        torch.tensor(flags)\n        flags.append(3)", "flags = 1"),
        ("torch.tensor(flags)\n        flags.append(3)", "flags = 1"),
        ("torch.tensor(flags)\n        flags.append((row > 2).any())\n        flags = keep(flags)", "flags = 1"),
        ("add = flags.append\n        add(1)\n        flags.append((row > 2).any())", "flags = torch.tensor(flags)"),
        ("flags.append((row > 2).any())", "other = flags\n    other.append(1)\n    flags = torch.tensor(flags)"),
        ("flags.append((row > 2).any())", "[flags[0] for k in x]\n    flags = torch.tensor(flags)"),
    ],
)
def test_what_may_be_no_tensor_without_dimensions_is_left(append: str, behind: str) -> None:
    seen = {"x": TypeFact("tensor", "float32", ("2", "3")), "row": TypeFact("tensor", "float32", ("3",))}
    text = GROWN.format(append=append, behind=behind, end="")
    assert rewritten(MOVE, context_of(text, "torch.tensor(flags)", seen | {"flags": BOOLS}, "DDE005")) == []
