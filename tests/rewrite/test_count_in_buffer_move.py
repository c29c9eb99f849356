"""count_in_buffer: a number that a module counts in Python becomes a buffer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import context_of, load, rewritten

HEAD = "import torch\n\n\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
COUNTS = "    def forward(self, x):\n        self.steps += 1\n        return x * self.steps\n"
BUFFER = 'self.register_buffer("steps", torch.tensor({first}), persistent=False)'


def counted(text: str, asking: str = "self.steps") -> list[str]:
    context = context_of(text, asking, code="DDE413", occurrence=text[: text.index("def forward")].count(asking))
    return rewritten("count_in_buffer", replace(context, kind="counted"))


@pytest.mark.parametrize("first", ["0", "7", "-1"])
@pytest.mark.parametrize("how", ["self.steps = {first}", "self.steps: int = {first}"])
@pytest.mark.parametrize("counting", ["self.steps += 1", "self.steps = self.steps + 1"])
def test_the_constructor_makes_a_buffer(first: str, how: str, counting: str) -> None:
    body = COUNTS.replace("self.steps += 1", counting)
    (new,) = counted(f"{HEAD}        {how.format(first=first)}\n\n{body}")
    assert new == f"{HEAD}        {BUFFER.format(first=first)}\n\n{body}"
    module = load(new, "Model")()
    assert module.steps.item() == int(first)
    assert module(1).item() == int(first) + 1
    assert module.state_dict() == {}


def test_another_method_that_begins_anew_fills_the_buffer() -> None:
    reset = "    def reset(self):\n        self.steps = 0\n\n"
    (new,) = counted(f"{HEAD}        self.steps = 0\n\n{reset}{COUNTS}")
    assert "        self.steps.fill_(0)\n" in new
    module = load(new, "Model")()
    module(1)
    module.reset()
    assert module(1).item() == 1


@pytest.mark.parametrize(
    ("begins", "further"),
    [
        ("self.steps = start()", ""),
        ("self.steps = None", ""),
        ("self.steps = 0.0", ""),
        ("self.steps = True", ""),
        ("self.other = 0", ""),
        ("self.steps = self.other = 0", ""),
        ("self.steps, self.other = 0, 1", ""),
        ("pass", ""),
        ("self.steps = 0", "    def reset(self):\n        self.steps = self.other = 0\n\n"),
        ("self.steps = 0", "    def reset(self):\n        self.steps, self.other = 0, 1\n\n"),
        ("self.steps = 0", "    def reset(self):\n        del self.steps\n\n"),
        ("self.steps = 0", "    def copied(self, other):\n        other.steps = 0\n\n"),
        ("self.steps = 0", "    def wrapped(self):\n        self.steps = self.steps + 1 if self.steps < 99 else 0\n\n"),
    ],
)
def test_what_is_stored_otherwise_stays(begins: str, further: str) -> None:
    assert counted(f"{HEAD}        {begins}\n\n{further}{COUNTS}") == []


def test_only_the_class_that_counts_changes() -> None:
    other = f"{HEAD.replace('Model', 'Other')}        self.steps = 0\n\n\n".replace("import torch\n\n\n", "")
    text = HEAD.replace("class Model", f"{other}class Model") + f"        self.steps = 0\n\n{COUNTS}"
    (new,) = counted(text)
    assert other in new
    assert new.count("register_buffer") == 1


def test_an_heir_that_begins_anew_is_asked_for_too() -> None:
    heir = "\n\nclass Heir(Model):\n    def reset(self):\n        self.steps = 0\n"
    assert counted(f"{HEAD}        self.steps = 0\n\n{COUNTS}{heir}") == []


@pytest.mark.parametrize("begins", ["steps = 0", "steps: int = 3"])
def test_a_count_that_begins_in_the_class_becomes_a_buffer_of_each_object(begins: str) -> None:
    head = HEAD.replace("    def __init__", f"    {begins}\n\n    def __init__")
    (new,) = counted(f"{head}        self.k = 2\n\n{COUNTS}")
    first = begins[-1]
    assert f"        super().__init__()\n        {BUFFER.format(first=first)}\n" in new
    module, other = load(new, "Model")(), load(new, "Model")()
    module(1)
    assert module(1).item() == int(first) + 2
    assert other(1).item() == int(first) + 1


@pytest.mark.parametrize(
    ("head", "further"),
    [
        (HEAD.replace("    def __init__", "    steps = 0\n\n    def __init__"), "\n\nprint(Model.steps)\n"),
        (HEAD.replace("    def __init__", "    steps = []\n\n    def __init__"), ""),
        (HEAD.replace("    def __init__", "    steps = 0\n\n    def start"), ""),
        (HEAD.replace("(torch.nn.Module)", "") + "        self.steps = 0\n\n", ""),
    ],
)
def test_a_count_of_no_module_or_that_others_read_in_the_class_stays(head: str, further: str) -> None:
    assert counted(f"{head}        self.k = 2\n\n{COUNTS}{further}") == []
