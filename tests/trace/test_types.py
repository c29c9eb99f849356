"""Types of names, as eager runs saw them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ddelint.nouns.diagnostics import TypeFact
from ddelint.trace.session import Session

Write = Callable[..., Path]
Open = Callable[..., Session]

PROGRAM = """
class Config:
    width = 4

    def __init__(self):
        self.rate = 0.5

    @property
    def costly(self):
        raise AssertionError("a property was run")

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)
        self.register_buffer("table", torch.zeros(3, dtype=torch.int64))
        self.config = Config()
        self.layers = torch.nn.ModuleList([torch.nn.Identity()])

    def forward(self, x, names):
        n = (x > 0).sum().item()
        kept = x[x[:, 0] > 0]
        bias = self.linear.bias
        rate = self.config.rate + self.config.width + self.table[0]
        sizes = [row.shape[0] for row in kept]
        value = 1
        value = "text"
        flag = n > 2
        for layer in self.layers:
            kept = layer(kept)
        def inner(y):
            z = y + 1
            return z
        return inner(self.linear(kept)), flag

def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(seed + 2, 4, generator=g), ["a", "b"]
"""


def record(write: Write, opened: Open, text: str = PROGRAM, **given: object) -> dict[str, TypeFact]:
    path = write(text)
    return dict(opened(path, **given).types().functions[f"{path}::Model.forward"])


def test_locals(write: Write, opened: Open) -> None:
    seen = record(write, opened)
    assert (seen["x"].kind, seen["x"].dtype, seen["x"].shape) == ("tensor", "float32", ("?", "4"))
    assert seen["n"].kind == "int"
    assert seen["kept"].shape == ("?", "4")
    assert seen["sizes"].kind == "list"
    element = seen["sizes"].element
    assert element is not None
    assert element.kind == "int"
    assert seen["flag"].kind == "bool"
    assert seen["value"].kind == "other"
    assert seen["names"].length == 2
    assert seen["layer"].kind == "module"
    assert seen["self"].kind == "module"


def test_a_name_of_several_kinds_is_told_by_row(write: Write, opened: Open) -> None:
    found = record(write, opened)
    assert found["value"].kind == "other"
    assert sorted(fact.kind for name, fact in found.items() if name.startswith("value@")) == ["int", "str"]
    assert not any(name.startswith("kept@") for name in found)


def test_attribute_chains(write: Write, opened: Open) -> None:
    seen = record(write, opened)
    assert (seen["self.linear.bias"].role, seen["self.linear.bias"].shape) == ("parameter", ("2",))
    assert (seen["self.table"].role, seen["self.table"].dtype) == ("buffer", "int64")
    assert seen["self.config.rate"].value == "0.5"
    assert seen["self.config.width"].value == "4"
    assert seen["self.layers"].kind == "module"


def test_names_of_comprehensions_count_for_the_function_around(write: Write, opened: Open) -> None:
    assert record(write, opened)["row"].shape == ("4",)


def test_inner_functions_have_their_own_names(write: Write, opened: Open) -> None:
    path = write(PROGRAM)
    seen = opened(path).types().functions
    assert set(seen[f"{path}::Model.forward.<locals>.inner"]) >= {"y", "z"}
    assert not any("__init__" in key for key in seen)


def test_properties_are_not_run(write: Write, opened: Open) -> None:
    text = PROGRAM.replace("n = (x > 0)", "if x is None: self.config.costly\n        n = (x > 0)")
    assert "self.config.costly" not in record(write, opened, text)


def test_only_the_functions_that_were_asked_for(write: Write, opened: Open) -> None:
    path = write(PROGRAM)
    key = f"{path}::Model.forward"
    assert set(opened(path).types([key]).functions) == {key}


def test_of_files_outside_paths_it_is_only_said_which_functions_ran(write: Write, opened: Open) -> None:
    helper = write("def helper(x):\n    y = x\n    return y\n", "helper.py")
    path = write("import helper\ndef fn(x):\n    return helper.helper(x)\ndef make_inputs(seed):\n    return (seed,)\n")
    seen = opened(path).types()
    assert list(seen.functions) == [f"{path}::fn", f"{helper}::helper"]
    assert seen.functions[f"{helper}::helper"] == {}
    assert list(seen.rows) == [str(path)]
    other = opened(path, paths=(helper,)).types().functions
    assert set(other[f"{helper}::helper"]) >= {"x", "y"}
    assert other[f"{path}::fn"] == {}


def test_rows_that_ran(write: Write, opened: Open) -> None:
    path = write(
        "def fn(x):\n    if x < 0:\n        return 0\n    return 1\ndef make_inputs(seed):\n    return (seed,)\n"
    )
    assert opened(path).types().rows == {str(path): (3, 5)}


def test_a_run_that_raises_counts_up_to_there(write: Write, opened: Open) -> None:
    text = (
        "def fn(x):\n    doubled = x * 2\n    if x:\n        raise ValueError\n    return 1\n"
        "def make_inputs(seed):\n    return (seed,)\n"
    )
    path = write(text)
    types = opened(path).types()
    assert types.failure is None
    assert types.functions[f"{path}::fn"]["doubled"].kind == "int"


def test_long_loops_are_sampled(write: Write, opened: Open) -> None:
    text = (
        "def step(i):\n    j = i\n    return j\n"
        "def fn(x):\n    total = 0\n    for i in range(20000):\n        total = step(i)\n    return total\n"
        "def make_inputs(seed):\n    return (seed,)\n"
    )
    path = write(text)
    types = opened(path).types()
    assert types.functions[f"{path}::step"]["j"].kind == "int"
    assert types.functions[f"{path}::fn"]["total"].value is None
