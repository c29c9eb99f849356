"""What programs need of their inputs' sizes, and which lines say so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ddelint.nouns.contracts import Contract, Dimension, Requirement
from ddelint.shapes.facts import read
from ddelint.shapes.readiness import readiness_of
from ddelint.shapes.specs import spec_of

Derive = Callable[..., Contract]


def needs(contract: Contract) -> set[str]:
    return {f"{one.text} where {' and '.join(one.when)}" if one.when else one.text for one in contract.requirements}


def dimension(contract: Contract, name: str) -> Dimension:
    return next(one for one in contract.dimensions if one.name == name)


def test_sizes_that_may_be_anything(derive: Derive) -> None:
    contract = derive("""
        def fn(x):
            return torch.relu(x).sum(-1)

        def make_inputs(seed):
            return (torch.rand(3, 5),)
    """)
    assert [(one.name, one.size, one.kind) for one in contract.dimensions] == [
        ("x.shape[0]", 3, "free"),
        ("x.shape[1]", 5, "free"),
    ]
    assert contract.complete


EQUAL_SIZES = [
    "x + y",
    "torch.where(x > 0, x, y)",
    "torch.stack([x, y])",
    "x * y.to(x.dtype)",
    "torch.cat([x.unsqueeze(1), y.unsqueeze(1)], 1)",
]


@pytest.mark.parametrize("expression", EQUAL_SIZES)
def test_sizes_that_must_be_equal(derive: Derive, expression: str) -> None:
    contract = derive(f"""
        def fn(x, y):
            return {expression}

        def make_inputs(seed):
            return torch.rand(4), torch.rand(4)
    """)
    assert needs(contract) == {"x.shape[0] == y.shape[0]"}
    (one,) = contract.requirements
    assert one.span is not None
    assert one.span.row == 5
    assert dimension(contract, "y.shape[0]").kind == "equal"


def test_what_weights_fix(derive: Derive) -> None:
    contract = derive("""
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(6, 2)

            def forward(self, x):
                return self.linear(x)

        def make_inputs(seed):
            return (torch.rand(4, 6),)
    """)
    assert needs(contract) == {"x.shape[1] == 6"}
    assert dimension(contract, "x.shape[0]").kind == "free"
    assert dimension(contract, "x.shape[1]").kind == "fixed"


@pytest.mark.parametrize("expression", ["x.view(-1, 8)", "x.reshape(-1, 4, 2)", "x.unflatten(0, (-1, 8))"])
def test_what_must_divide(derive: Derive, expression: str) -> None:
    contract = derive(f"""
        def fn(x):
            return {expression}

        def make_inputs(seed):
            return (torch.rand(16),)
    """)
    assert needs(contract) == {"x.shape[0] % 8 == 0"}
    assert dimension(contract, "x.shape[0]").kind == "divisible"
    assert contract.complete


REFUSALS = [
    "if x.shape[0] > 12:\n                raise ValueError('too long')",
    "assert x.shape[0] <= 12",
    "torch._check(x.shape[0] <= 12)",
    "if not x.shape[0] < 13:\n                raise RuntimeError",
    "length = x.size(0)\n            if 12 < length:\n                raise ValueError(length)",
]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_bounds_that_the_program_sets(derive: Derive, refusal: str) -> None:
    contract = derive(f"""
        def fn(x):
            {refusal}
            return x * 2

        def make_inputs(seed):
            return (torch.rand(4),)
    """)
    assert needs(contract) == {"x.shape[0] <= 12"}
    assert dimension(contract, "x.shape[0]").kind == "bounded"


def test_a_branch_has_a_range_on_each_side(derive: Derive) -> None:
    contract = derive("""
        def fn(x):
            if x.shape[0] > 6:
                return x * 2
            return x + 1

        def make_inputs(seed):
            return (torch.rand(4),)
    """)
    assert needs(contract) == set()
    (branch,) = contract.branches
    assert (branch.code, branch.true_ranges, branch.false_ranges) == ("x.shape[0] > 6", ("7..",), ("0..6",))
    assert branch.true_sizes["x.shape[0]"] > 6 >= branch.false_sizes["x.shape[0]"]
    assert dimension(contract, "x.shape[0]").kind == "branched"


def test_what_only_one_side_of_a_branch_needs(derive: Derive) -> None:
    contract = derive("""
        def fn(x):
            if x.shape[0] > 6:
                return x.view(-1, 4).sum()
            return x.sum()

        def make_inputs(seed):
            return (torch.rand(4),)
    """)
    assert needs(contract) == {"x.shape[0] % 4 == 0 where x.shape[0] >= 7"}


def test_a_size_that_becomes_a_number(derive: Derive) -> None:
    contract = derive("""
        def fn(x):
            return [x[i] * i for i in range(x.shape[0])]

        def make_inputs(seed):
            return (torch.rand(4, 2),)
    """)
    (one,) = contract.requirements
    assert (one.text, one.source) == ("x.shape[0] == 4", "specialized")
    assert dimension(contract, "x.shape[0]").kind == "specialized"


def test_three_sizes_that_are_equal_go_by_the_first(derive: Derive) -> None:
    contract = derive("""
        def fn(x, y, z):
            if z.shape[0] > 9:
                raise ValueError
            return x + y + z

        def make_inputs(seed):
            return torch.rand(4), torch.rand(4), torch.rand(4)
    """)
    assert needs(contract) == {"x.shape[0] == y.shape[0]", "x.shape[0] == z.shape[0]", "x.shape[0] <= 9"}


def test_a_sum_of_sizes(derive: Derive) -> None:
    contract = derive("""
        def fn(x, y, z):
            return torch.cat([x, y]) * z

        def make_inputs(seed):
            return torch.rand(4), torch.rand(3), torch.rand(7)
    """)
    (one,) = contract.requirements
    assert one.text.replace(" ", "") in (
        "x.shape[0]+y.shape[0]==z.shape[0]",
        "z.shape[0]==x.shape[0]+y.shape[0]",
    )


@pytest.mark.parametrize(
    "expression",
    ["x.reshape(-1, 3) * y", "x.flatten().view(-1, 3) + y", "torch.where(y > 0, x.reshape(-1, 3), y)"],
)
def test_a_factor_that_both_sides_share_is_dropped(derive: Derive, expression: str) -> None:
    contract = derive(f"""
        def fn(x, y):
            if x.shape[0] == 0:
                raise ValueError
            rows = {expression}
            return rows

        def make_inputs(seed):
            return torch.rand(4, 3), torch.rand(4, 3)
    """)
    assert "x.shape[0] >= 1" in needs(contract)
    assert contract.complete


def test_what_only_running_it_shows(derive: Derive) -> None:
    contract = derive("""
        @torch.library.custom_op("ddelint_shapes::paired", mutates_args=())
        def paired(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            if x.shape[0] != y.shape[0]:
                raise ValueError("rows differ")
            return x + y

        @paired.register_fake
        def _(x, y):
            return torch.empty_like(x)

        def fn(x, y):
            return paired(x, y)

        def make_inputs(seed):
            return torch.rand(4), torch.rand(4)
    """)
    (one,) = contract.requirements
    assert (one.text, one.source) == ("x.shape[0] == y.shape[0]", "eager")
    assert one.witness is not None
    assert one.witness["x.shape[0]"] != one.witness["y.shape[0]"]
    assert "rows differ" in one.detail


def test_a_size_that_is_made_a_number_has_the_example_s(derive: Derive) -> None:
    contract = derive(
        """import torch


def fn(rows, more):
    total = rows * 1
    for _ in range(rows.shape[0]):
        total = total + 1
    return total.sum() + more.view(rows.shape[0], -1).sum()


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.rand(3, 4), torch.rand(6)
"""
    )
    numbers = [one.text for one in contract.requirements if one.source == "specialized"]
    assert numbers == ["rows.shape[0] == 3"]
    assert all(read(one.text).holds(contract.example) for one in contract.requirements)


def test_what_the_example_s_values_need_is_a_bound_and_no_number(derive: Derive) -> None:
    contract = derive("""
        @torch.library.custom_op("ddelint_shapes::within", mutates_args=())
        def within(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            if lengths.max() > x.shape[1]:
                raise ValueError("longer than the rows")
            return x * lengths[:, None]

        @within.register_fake
        def _(x, lengths):
            return x * lengths[:, None]

        def fn(x, lengths):
            return within(x, lengths)

        def make_inputs(seed):
            return torch.rand(3, 6), torch.tensor([6, 4, 6])
    """)
    assert "x.shape[1] >= 6" in needs(contract)
    assert "x.shape[1] == 6" not in needs(contract)


@pytest.mark.parametrize("fact", ["x.shape[0] == y.shape[0]", "y.shape[0] == x.shape[0]"])
@pytest.mark.parametrize("number", ["x.shape[0] == 2", "y.shape[0] == 2"])
def test_a_spec_has_one_number_for_sizes_that_are_equal(fact: str, number: str) -> None:
    sizes = tuple(Dimension(name, 2, "equal") for name in ("x.shape[0]", "y.shape[0]", "z.shape[0]"))
    needs = (*(Requirement(text, "torch") for text in (fact, number)), Requirement("y.shape[0] == z.shape[0]", "eager"))
    contract = Contract("m", "m.py", dimensions=sizes, requirements=needs, ranks={"x": 1, "y": 1, "z": 1})
    spec = spec_of(contract, {})
    assert spec.dimensions == {name.name: "2" for name in sizes}
    assert (spec.variables, spec.assumptions) == ({}, ())


def test_what_no_run_has_followed_is_not_known(derive: Derive) -> None:
    contract = derive("""
        def fn(x):
            return x.view(*divmod(x.shape[0], 4))  # a symbol has no divmod

        def make_inputs(seed):
            return (torch.rand(8),)
    """)
    assert [one.kind for one in contract.dimensions] == ["unknown"]
    assert contract.paths == 0
    assert not contract.complete
    assert readiness_of(contract).failure


def test_what_is_needed_on_one_side_only_stands_with_its_condition(derive: Derive) -> None:
    contract = derive("""
        def fn(x):
            blocks = x.shape[0] // 4
            if x.shape[0] % 4:
                return torch.nn.functional.pad(x, (0, 0, 0, 4 - x.shape[0] % 4)).view(blocks + 1, 4, 8)
            return x * 2

        def make_inputs(seed):
            return (torch.rand(10, 8),)
    """)
    assert needs(contract) == {"x.shape[1] == 8 where x.shape[0] % 4 != 0"}
    assert dimension(contract, "x.shape[1]").kind == "fixed"
    assert dimension(contract, "x.shape[1]").facts == ("x.shape[1] == 8 where x.shape[0] % 4 != 0",)
    assert dimension(contract, "x.shape[0]").kind == "branched"


def test_what_is_needed_on_both_sides_of_a_branch_is_needed(derive: Derive) -> None:
    contract = derive("""
        def fn(x):
            if x.shape[0] > 4:
                if x.shape[1] > 64:
                    raise ValueError("too wide")
                return x.sum()
            if x.shape[1] > 64:
                raise ValueError("too wide, and flat")
            return x.mean(1).sum()

        def make_inputs(seed):
            return (torch.rand(3, 8),)
    """)
    needed = [(one.text, one.when) for one in contract.requirements]
    assert needed.count(("x.shape[1] <= 64", ())) == 1
    assert not any(text == "x.shape[1] <= 64" and when for text, when in needed)


FOLLOWING = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(4, 2)

    def forward(self, rows, bias, wide):
        total = 0
        for _ in {counted}:
            total = total + 1
        return {added}, self.out(wide) + total

def make_inputs(seed):
    return torch.rand(4, 3), torch.rand(4), torch.rand(5, 4)
"""


@pytest.mark.parametrize(
    ("counted", "added"),
    [
        ("range(rows.shape[0])", "rows[:, 0] + bias"),
        ("(1,) * rows.shape[0]", "torch.stack([rows.sum(1), bias])"),
        ("[0] * len(rows)", "rows.mul(bias[:, None])"),
        ("range(int(rows.size(0)))", "bias @ rows"),
    ],
)
def test_what_equals_a_size_that_is_made_a_number_is_one_for_each_graph_too(
    derive: Derive, counted: str, added: str
) -> None:
    contract = derive(FOLLOWING.format(counted=counted, added=added))
    sources = {one.text: one.source for one in contract.requirements}
    assert sources["rows.shape[0] == 4"] == "specialized"
    assert sources["bias.shape[0] == 4"] == "specialized"
    assert sources["wide.shape[1] == 4"] == "torch"  # a weight's width, by chance as many


@pytest.mark.parametrize(
    "added",
    ["x * mask", "torch.add(x, mask.mul(2))", "torch.where(mask > 0.5, x, 0.0)", "x.masked_fill(mask < 0.5, 0)"],
)
def test_a_size_of_one_that_the_example_broadcasts_stays_one(derive: Derive, added: str) -> None:
    contract = derive(f"""
import torch

def fn(x, mask):
    return {added}

def make_inputs(seed):
    return torch.rand(3, 4), torch.rand(3, 1)
""")
    texts = {one.text for one in contract.requirements}
    assert texts == {"mask.shape[1] == 1", "mask.shape[0] == x.shape[0]"} or texts == {
        "mask.shape[1] == 1",
        "x.shape[0] == mask.shape[0]",
    }
    assert all(read(text).holds(contract.example) for text in texts)
