"""Names that need no value before a region, and such that have another kind of value in eager than while compiling."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest
from control_flow import INTEGERS, SCALAR, TENSOR, context_of, load, outcome, rewritten

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import Context, NotOffered

TYPES = {"x": TENSOR, "t": INTEGERS, "y": TENSOR, "mood": SCALAR, "k": TypeFact("int"), "out": TENSOR}

IN_ARMS = {
    "match": "match t.tolist():\n    case [1, *_]:\n        mood = x.sum()\n"
    "    case [2, *_]:\n        mood = x.mean()\n",
    "mapping": "match {'a': t.tolist()[0]}:\n    case {'a': 1, **mood}:\n        mood = x.sum()\n"
    "    case {'a': 2}:\n        mood = x.mean()\n",
    "elif": "if t.tolist()[0] == 1:\n    mood = x.sum()\nelif t.tolist()[0] == 2:\n    mood = x.mean()\n",
    "nested": "if t.tolist()[0] < 3:\n    if t[0] == 1:\n        mood = x.sum()\n"
    "    elif t[0] == 2:\n        mood = x.mean()\n",
    "for": "for k in t.tolist():\n    mood = x.sum() if k == 1 else x.mean()\n",
    "while": "k = 0\nwhile k < t.tolist()[0]:\n    mood = x.sum() if t[0] == 1 else x.mean()\n    k = k + 1\n",
    "try": "try:\n    mood = x.sum() if t.tolist()[0] == 1 else x.mean()\nexcept IndexError:\n    k = 0\n",
}
NOT_ALONE = {
    "a block around": "if x.shape[0] > 3:\n    {}out = x + mood\n",
    "a turn before": "for k in range(3):\n    {}    out = mood * 2\n",
    "an import": "import math as mood\n{}out = mood * 2\n",
    "an exception": "try:\n    y = x + 1\nexcept ValueError as mood:\n    raise RuntimeError from mood\n"
    "{}out = mood * 2\n",
    "a pattern": "match x.shape:\n    case [mood]:\n        y = x + 1\n{}out = mood * 2\n",
    "a rest": "match x.__dict__:\n    case {{**mood}}:\n        y = x + 1\n{}out = mood * 2\n",
    "a definition": "def mood():\n    return 1\n\n{}out = mood * 2\n",
    "another's": "global mood\n{}out = mood * 2\n",
}


def of(body: str) -> Context:
    text = f"import torch\n\n\ndef fn(x, t):\n{textwrap.indent(body, '    ')}    return out\n"
    return context_of(text, "t.tolist()", TYPES)


@pytest.mark.parametrize("form", IN_ARMS)
def test_what_arms_of_the_region_alone_bind_needs_no_operand(form: str) -> None:
    import torch

    found = of(f"{IN_ARMS[form]}out = x + mood\n")
    source = found.site.source.text
    x = torch.arange(4.0)
    programs = [load(new) for new in rewritten("outline", found)]
    assert programs
    for program in programs:
        for first in (1, 2):
            given = x, torch.tensor([first, 5])
            assert program(*given).tolist() == load(source)(*given).tolist()
        nothing = x, torch.tensor([], dtype=torch.long)
        assert outcome(program, nothing) == outcome(load(source), nothing)


def test_what_has_a_value_before_the_region_goes_in() -> None:
    found = rewritten("outline", of(f"mood = x.max()\n{IN_ARMS['elif']}out = x + mood\n"))
    assert "mood: torch.Tensor" in found[0].partition("@torch.library")[0]


@pytest.mark.parametrize("before", NOT_ALONE)
def test_what_may_give_a_value_before_belongs_to_the_region_too(before: str) -> None:
    """Or there is none."""
    indented = "    {}" in NOT_ALONE[before]
    body = NOT_ALONE[before].format(textwrap.indent(IN_ARMS["elif"], "    " * indented).lstrip())
    giving = body.partition("\n")[0]
    found = of(body)
    try:
        functions = [new.partition("@torch.library")[0] for new in rewritten("outline", found)]
    except NotOffered:
        functions = []
    assert [function for function in functions if giving not in function] == []
    assert bool(functions) is (before not in ("a definition", "another's"))


@pytest.mark.parametrize(
    ("kind", "drawn", "dtype"),
    [
        ("int", [0, 1, 2], ""),
        ("float", [0.1, 1.7], ", dtype=torch.float64"),
        ("bool", [True, False], ""),
    ],
)
def test_a_number_that_the_compiler_has_as_a_tensor_goes_in_as_one(kind: str, drawn: list[float], dtype: str) -> None:
    """And is the number inside that it is in eager."""
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t, gap):\n    y = x * 2\n"
        "    if gap > t.tolist()[0]:\n        y = y + len(f'{gap}') * gap\n    return y + 1\n"
    )
    seen = {"gap": TypeFact("tensor", "int64", (), python_type="torch.Tensor"), "x": TENSOR, "t": INTEGERS, "y": TENSOR}
    found = context_of(text, "gap > t.tolist()[0]", seen)
    in_eager = {"gap": TypeFact(kind, python_type=kind)}
    for new in rewritten("outline", replace(found, types_in=lambda function: in_eager)):
        assert f"torch.as_tensor(gap{dtype})" in new
        assert f"gap: {kind}" in new.partition("@torch.library")[0]
        given = torch.arange(4.0), torch.tensor([-1, 5])
        for value in drawn:
            expected = load(text)(*given, value)
            assert load(new)(*given, value).tolist() == expected.tolist()
            traced = load(new, "_fn_y_traced")
            seen_compiled = torch.tensor(value, dtype=torch.float64 if kind == "float" else None)
            assert traced(seen_compiled, given[1], given[0] * 2).tolist() == pytest.approx((expected - 1).tolist())
    same = rewritten("outline", replace(found, types_in=lambda function: seen))
    assert all("as_tensor" not in new for new in same)


def test_an_operator_is_not_called_after_an_error() -> None:
    body = "k = t.tolist()\nif k[0] == 1:\n    return x.sum()\nelse:\n    return x.mean()\nraise ValueError(k)\n"
    text = f"import torch\n\n\ndef fn(x, t):\n{textwrap.indent(body, '    ')}"
    written = rewritten("outline", context_of(text, "t.tolist()", TYPES))
    assert written
    assert [new for new in written if "def _fn_ValueError" in new] == []
