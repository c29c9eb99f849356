"""constant_result: numbers read from tensors that are made of Python's values alone."""

from __future__ import annotations

import pytest
from control_flow import COUNT, TENSOR, context_of, failures, rewritten, with_imports

from ddelint.nouns.diagnostics import TypeFact

NUMBER, LIST = TypeFact("int"), TypeFact("other", python_type="list", element=TypeFact("symint"), length=3)
TYPES = {
    "x": TENSOR,
    "n": NUMBER,
    "m": NUMBER,
    "rows": COUNT,
    "self": TypeFact("module"),
    "self.steps": NUMBER,
    "ramp": TENSOR,
    "curve": TENSOR,
}


def text_of(*lines: str) -> str:
    return "\n    ".join(["import torch\n\n\ndef fn(self, x, n, rows):", *lines, "return times", ""])


@pytest.mark.parametrize(
    ("lines", "asking", "inside", "behind"),
    [
        (
            ("times = torch.linspace(0, n, self.steps)", "times = list(reversed(times.int().tolist()))"),
            "times.int().tolist()",
            "times = torch.linspace(0, n, steps)\n        return times.int().tolist()",
            "rows):\n    times = list(reversed(_fn_times(n, self.steps)))\n",
        ),
        (
            ("times = [float(step) for step in torch.arange(n) / n]",),
            "float(step)",
            "return [float(step) for step in torch.arange(n) / n]",
            "times = _fn_times(n)",
        ),
        (
            ("ramp = torch.arange(n)", "curve = ramp**2", "x = x + ramp", "times = int(curve.sum())"),
            "int(curve.sum())",
            "ramp = torch.arange(n)\n        curve = ramp**2\n        return int(curve.sum())",
            "ramp = torch.arange(n)\n    x = x + ramp\n    times = _fn_times(n)",
        ),
        (
            (
                "ramp = torch.arange(n)",
                "curve = ramp > 2",
                "times = ramp[curve]",
                "if times[-1] != n:",
                "    times = times + 1",
            ),
            "times[-1] != n",
            "curve = ramp > 2\n        times = ramp[curve]\n        return bool(times[-1] != n)",
            "ramp = torch.arange(n)\n    curve = ramp > 2\n    times = ramp[curve]\n    if _fn_constant(n):",
        ),
        (
            ("times = x", "for step in torch.arange(3, -1, -1).tolist():", "    times = times + step"),
            "torch.arange(3, -1, -1).tolist()",
            "def _fn_constant():",
            "for step in _fn_constant():",
        ),
        (
            ("ramp = self.schedule(n)", "times = list(map(lambda t: t.item(), ramp))"),
            "t.item()",
            "ramp = self.schedule(n)\n        return list(map(lambda t: t.item(), ramp))",
            "times = _fn_times(self, n)",
        ),
    ],
)
def test_it_is_computed_by_a_function_that_runs_while_compiling(
    lines: tuple[str, ...], asking: str, inside: str, behind: str
) -> None:
    (found,) = rewritten("constant_result", context_of(text_of(*lines), asking, TYPES))
    definition, function = found.split("\n\n\ndef fn(")
    assert "assume_constant_result" in definition
    assert inside in definition
    assert behind in function


@pytest.mark.parametrize(
    ("lines", "asking"),
    [
        (("times = x.int().tolist()",), "x.int().tolist()"),
        (("ramp = x * 2", "times = ramp.tolist()"), "ramp.tolist()"),
        (("times = torch.arange(rows).tolist()",), "torch.arange(rows).tolist()"),
        (("times = torch.rand(n).tolist()",), "torch.rand(n).tolist()"),
        (("ramp = torch.zeros(n)", "ramp += x", "times = ramp.tolist()"), "ramp.tolist()"),
        (("ramp = torch.zeros(n)", "ramp.copy_(x)", "times = ramp.tolist()"), "ramp.tolist()"),
        (("ramp = torch.zeros(n)", "for m in range(n):", "    times = ramp.tolist()", "    ramp = x"), "ramp.tolist()"),
        (("self.ramp = torch.arange(n)", "times = self.ramp.tolist()"), "self.ramp.tolist()"),
        (("times = map(lambda t: t.item(), torch.arange(n))",), "t.item()"),
    ],
)
def test_what_depends_on_a_tensor_that_is_given_is_left(lines: tuple[str, ...], asking: str) -> None:
    facts = {**TYPES, "self.ramp": TENSOR}
    assert rewritten("constant_result", context_of(text_of(*lines), asking, facts)) == []


def test_it_goes_through_every_front_end_and_gives_the_same() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x):\n    times = torch.linspace(-1, 9, 4)\n    times = times.int().tolist()\n"
        "    for time in times:\n        x = x * time if time > 0 else x + 1\n    return x\n"
    )
    (program,) = with_imports("constant_result", context_of(text, "times.int().tolist()", TYPES))
    assert failures(text, program, [(torch.randn(4),), (torch.zeros(4),)], ("export", "strict", "compile")) == []


PAIRS = ("sigmas = torch.linspace(1, 0, n)", "pairs = list(zip(sigmas[:-1], sigmas[1:]))", "times = x")
EACH_TURN = [
    (
        (
            *PAIRS,
            "for i, (a, b) in enumerate(pairs):",
            "    a, b = map(lambda t: t.item(), (a, b))",
            "    times = a * b",
        ),
        "t.item()",
        "tuple(map(lambda t: t.item(), (a, b)))",
        "a, b = value",
    ),
    (
        (
            "for t, left in tqdm(zip(torch.linspace(0, 1, n), range(n)), total=m):",
            "    p = torch.cos(t * 2)",
            "    times = max(int((p * 5).item()), left)",
        ),
        "int((p * 5).item())",
        "in zip(torch.linspace(0, 1, n), range(n)):\n            p = torch.cos(t * 2)\n            values.append(",
        "in zip(tqdm(zip(torch.linspace(0, 1, n), range(n)), total=m), _fn_times_each_turn(n)):",
    ),
    (
        ("times = x", "for t in torch.arange(n):", "    if t > 2:", "        times = times + 1"),
        "t > 2",
        "bool(t > 2)",
        "if value:",
    ),
    (
        ("ramp = torch.arange(n)", "times = x", "for i in range(n):", "    times = times if not ramp[i].any() else x"),
        "ramp[i].any()",
        "bool(ramp[i].any())",
        "not value else",
    ),
    (
        ("times = x", "for t in enumerate(tqdm(torch.arange(n))):", "    times = times + float(t[1])"),
        "float(t[1])",
        "in enumerate(torch.arange(n)):",
        "in zip(enumerate(tqdm(torch.arange(n))), _fn_",
    ),
    (
        ("places = torch.arange(n)", "times = {names[i.item()]: x[i] for i in places}"),
        "i.item()",
        "for i in places:\n            values.append(i.item())",
        "times = {names[value]: x[i] for i, value in zip(places, _fn_times_each_turn(n))}",
    ),
    (
        ("times = [x * table[int(i)] for i in torch.arange(n).flip(0)]",),
        "int(i)",
        "values.append(int(i))",
        "[x * table[value] for i, value in zip(torch.arange(n).flip(0), _fn_times_each_turn(n))]",
    ),
    (
        ("times = sum(x * (t * 2).item() for _, t in enumerate(torch.linspace(0, 1, n)))",),
        "(t * 2).item()",
        "for _, t in enumerate(torch.linspace(0, 1, n)):",
        "x * value for (_, t), value in zip(enumerate(torch.linspace(0, 1, n)), _fn_",
    ),
    (
        ("times = [x if t > 2 else -x for t in torch.arange(n)]",),
        "t > 2",
        "bool(t > 2)",
        "x if value else -x for t, value in zip(",
    ),
]


@pytest.mark.parametrize(("lines", "asking", "inside", "behind"), EACH_TURN)
def test_what_is_read_in_each_turn_is_computed_for_all(
    lines: tuple[str, ...], asking: str, inside: str, behind: str
) -> None:
    (found,) = rewritten("constant_result", context_of(text_of(*lines), asking, TYPES))
    definition, function = found.split("\n\n\ndef fn(")
    assert inside in definition
    assert behind in function


@pytest.mark.parametrize(
    ("lines", "asking"),
    [
        (("for t in torch.arange(n):", "    times = float(t * m)", "    m = m + 1"), "float(t * m)"),
        (("for t in x:", "    times = float(t)"), "float(t)"),
        (("for t in torch.arange(n):", "    t = t + x", "    times = float(t)"), "float(t)"),
        (("for t in torch.arange(n):", "    for m in range(3):", "        times = float(t)"), "float(t)"),
        (("for t in torch.arange(n):", "    self.m = n", "    times = float(t * self.m)"), "float(t * self.m)"),
        (("times = [x * float(t) for t in x]",), "float(t)"),
        (("times = [x * float(t) for t in torch.arange(n) if t > 1]",), "float(t)"),
        (("times = [x * float(t) for m in range(3) for t in torch.arange(m)]",), "float(t)"),
    ],
)
def test_what_another_turn_may_change_is_left(lines: tuple[str, ...], asking: str) -> None:
    assert rewritten("constant_result", context_of(text_of(*lines), asking, {**TYPES, "x": TENSOR})) == []


def test_each_turn_gives_the_same_in_every_front_end() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x):\n    for t in torch.linspace(-1, 9, 4):\n        k = int(t.item())\n"
        "        x = x * k if t > 3 else x + 1\n    return x\n"
    )
    (program,) = with_imports("constant_result", context_of(text, "int(t.item())", TYPES))
    assert "zip(" in program
    (program,) = with_imports("constant_result", context_of(program, "t > 3", TYPES))
    assert failures(text, program, [(torch.randn(4),), (torch.zeros(4),)], ("export", "strict", "compile")) == []


def test_each_turn_of_a_comprehension_gives_the_same_in_every_front_end() -> None:
    import torch

    text = (
        "import torch\n\nNAMES = ['a', 'b', 'c']\n\n\ndef fn(x):\n    order = torch.tensor([2, 0, 1])\n"
        "    return {NAMES[i.item()]: x * i for i in order}\n"
    )
    *_, program = with_imports("constant_result", context_of(text, "i.item()", TYPES))
    assert failures(text, program, [(torch.randn(4),), (torch.zeros(4),)], ("export", "strict", "compile")) == []
