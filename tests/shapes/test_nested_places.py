"""Where tensors stand among arguments."""

from __future__ import annotations

import ast

import pytest

from ddelint.nouns.size_specs import ITEMS
from ddelint.shapes.facts import dimension_of, read, variable_for
from ddelint.shapes.places import grown, identifier, in_order, reads_as_place, root_of


@pytest.mark.parametrize(
    ("place", "root", "name"),
    [
        ("tokens", "tokens", "tokens"),
        ("batch['the tokens']", "batch", "batch_the_tokens"),
        ("pair[0]['x']", "pair", "pair_0_x"),
        ("state.cache[1]", "state", "state_cache_1"),
    ],
)
def test_a_place_has_a_parameter_and_a_name(place: str, root: str, name: str) -> None:
    assert reads_as_place(place)
    assert (root_of(place), identifier(place)) == (root, name)
    size = f"{place}.shape[1]"
    assert (dimension_of(size), variable_for(size)) == ((place, 1), f"{name}_1")
    assert read(f"{size} >= 2").names == {size}


@pytest.mark.parametrize("text", ["f(x)", "x[i]", "x +", "<flat index 0>", "x[0:1]"])
def test_other_expressions_are_no_places(text: str) -> None:
    assert not reads_as_place(text)


def test_what_is_inside_grows_together() -> None:
    flat = {"x": 1, "pair[0]": 2, "batch['a']": 3, "batch['b'][1]": 4, "pair[2].y": 5}

    def make(kind: str, parts: dict[str | int, object], place: str) -> object:
        assert ast.parse(place)
        return in_order(parts, None) if kind == ITEMS else {f"{kind} of {place}": parts}

    assert grown(flat, make) == {
        "x": 1,
        "pair": [2, None, {"attributes of pair[2]": {"y": 5}}],
        "batch": {"keys of batch": {"a": 3, "b": [None, 4]}},
    }
