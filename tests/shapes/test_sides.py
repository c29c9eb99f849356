"""Specs for one side of a branch, and what Dims can and cannot say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ddelint.nouns.contracts import Contract
from ddelint.nouns.size_specs import SizeSpec
from ddelint.shapes.comparing import compare
from ddelint.shapes.names import names_of
from ddelint.shapes.requirements import contract_within, side_taken
from ddelint.shapes.specs import spec_of, with_unsaid
from ddelint.shapes.writing import symbolic, written

Derive = Callable[..., Contract]

SCORED = """
def fn(query, documents, weights):
    if documents.shape[0] < query.shape[0]:
        documents = documents.repeat(2, 1)[: query.shape[0]]
    return ((query.sum() + documents.sum(1)) * weights).topk(3).values

def make_inputs(seed):
    return {inputs}
"""
MORE_DOCUMENTS = "torch.rand(2, 6), torch.rand(5, 7), torch.rand(5)"
FEWER_DOCUMENTS = "torch.rand(6, 6), torch.rand(4, 7), torch.rand(6)"


def of_the_example(contract: Contract) -> tuple[Contract, SizeSpec]:
    sides = [side_taken(branch, contract.example) for branch in contract.branches]
    return contract_within(contract, sides), spec_of(contract, names_of(contract), sides)


def test_what_one_side_needs_is_said_and_nothing_of_the_other(derive: Derive) -> None:
    contract, spec = of_the_example(derive(SCORED.format(inputs=MORE_DOCUMENTS)))
    assert spec.dimensions["weights.shape[0]"] == spec.dimensions["documents.shape[0]"] == "documents_0"
    assert spec.variables["documents_0"] == (3, None)
    assert spec.assumptions == ("documents_0 >= query_0",)
    assert not any(one.when for one in contract.requirements)


def test_the_other_side_is_written_in_torch_s_words(derive: Derive) -> None:
    contract, spec = of_the_example(derive(SCORED.format(inputs=FEWER_DOCUMENTS)))
    text = written(contract, spec)
    assert "torch.sym_min(query_0, 2 * documents_0) == weights_0," in text
    assert "\nimport torch\n" in text
    assert "so the example sets query_0, documents_0, weights_0" in text


@pytest.mark.parametrize(
    ("text", "written_as"),
    [
        ("min(a, 2 * b) == c", "torch.sym_min(a, 2 * b) == c"),
        ("a < 1 or max(a, b, 4) == c", "(a < 1) | (torch.sym_max(torch.sym_max(a, b), 4) == c)"),
        ("a * (b + 1) == c", "a * (b + 1) == c"),
    ],
)
def test_conditions_over_symbols(text: str, written_as: str) -> None:
    assert symbolic(text) == written_as


@pytest.mark.parametrize(
    ("body", "left_out"),
    [
        ("x.reshape(x.shape[0], 32) + 1", {"x.shape[1]", "x.shape[2]"}),
        ("x[:, 0, :-1:4].reshape(x.shape[0], -1, 2)", {"x.shape[2]"}),
    ],
)
def test_an_equation_that_no_dim_says_leaves_its_sizes_to_the_example(
    derive: Derive, body: str, left_out: set[str]
) -> None:
    contract = derive(f"""
        def fn(x):
            return {body}

        def make_inputs(seed):
            return (torch.rand(3, 4, 8),)
    """)
    _, spec = of_the_example(contract)
    dims = {name: text for name, text in spec.dimensions.items() if name not in left_out}
    assert left_out < spec.dimensions.keys()
    exported = with_unsaid(replace(spec, dimensions=dims, assumptions=(), exported=True), contract)
    assert compare(contract, exported).findings == []
