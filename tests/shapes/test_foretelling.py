"""Recompilations foretold from a contract, held against what torch does with the same stream of sizes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ddelint.nouns.contracts import Contract
from ddelint.nouns.protocol import SessionOptions
from ddelint.nouns.size_streams import Remedy, Sizes
from ddelint.pipeline.foretelling import marks_of
from ddelint.shapes.contract import contract_of
from ddelint.shapes.foretelling import BRANCH, STATIC, ZERO_ONE, dividing, foretell, outside, spec_for, varying
from ddelint.shapes.stream_findings import assumed, recompilations
from ddelint.shapes.stream_trying import count_graphs
from ddelint.shapes.streams import UnreadableStream, read_stream, written_stream
from ddelint.shapes.trying import try_spec
from ddelint.trace.entry import Entry

EntryOf = Callable[[str], Entry]
X, Y = "x.shape[0]", "y.shape[0]"


def written(signature: str, body: str, shapes: Sequence[str], marks: str = "") -> str:
    inputs = ", ".join(f"torch.rand({shape})" for shape in shapes)
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    making = f"    torch.manual_seed(seed)\n    inputs = ({inputs},)\n{marks}    return inputs\n"
    return f"import torch\n\n\ndef fn({signature}):\n{lines}\n\ndef make_inputs(seed):\n{making}"


PROGRAMS = {
    "one size": written("x", "return x.sin()", ["4"]),
    "a branch": written("x", "if x.shape[0] > 6:\n    return x - 1\nreturn x + 1", ["4"]),
    "a product": written("x", "return x.sum(0) * x.shape[0]", ["4, 3"]),
    "two sizes": written("x, y", "return x.sum() + y.sum()", ["4", "5"]),
    "tied": written("x, y", "return x * 2 + y", ["4", "4"]),
    "a cat": written("x, y", "return torch.cat([x, y]).cumsum(0)", ["4", "5"]),
    "a comparison": written("x, y", "if x.shape[0] > y.shape[0]:\n    return x.sum()\nreturn y.sum()", ["4", "5"]),
    "a divisor": written("x", "if x.shape[0] % 8 == 0:\n    return x.view(-1, 8).sum(1)\nreturn x.sum()", ["4"]),
    "marked": written("x", "return x.cos()", ["4"], "    torch._dynamo.mark_dynamic(inputs[0], 0)\n"),
}  # fmt: skip


def stream_of(contract: Contract, length: int, seed: int) -> list[Sizes]:
    """Sizes that the program takes, drawn, the same ones time and again."""
    random_ = random.Random(seed)
    drawn = [{name: random_.choice((0, 1, 2, 3, 4, 5, 7, 8, 16, 24)) for name in contract.example} for _ in range(200)]
    refused = outside(contract, drawn)
    return [sizes for sizes in drawn if sizes not in refused][:length]


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_foretold_is_what_torch_does(entry_of: EntryOf, options: SessionOptions, name: str) -> None:
    entry = entry_of(PROGRAMS[name])
    contract = contract_of(entry, options)
    for seed in range(3):
        stream = stream_of(contract, 12, seed)
        counted = count_graphs(entry, 0, stream)
        assert counted.error == ""
        foretold = foretell(contract, stream, counted.dynamic, counted.unbacked)
        assert [one.call for one in foretold] == list(counted.calls)


def causes(contract: Contract, *sizes: int) -> list[tuple[int, list[str]]]:
    found = foretell(contract, [{X: size} for size in sizes])
    return [(one.call, [cause.code for cause in one.causes]) for one in found]


def test_each_compilation_has_its_cause(entry_of: EntryOf, options: SessionOptions) -> None:
    contract = contract_of(entry_of(PROGRAMS["a branch"]), options)
    assert causes(contract, 4, 4, 5, 6, 1, 9, 5, 12) == [(1, []), (3, [STATIC]), (5, [ZERO_ONE]), (6, [BRANCH])]
    found = foretell(contract, [{X: 4}, {X: 5}, {X: 9}])
    assert found[-1].causes[0].guard == f"{X} < 7"
    assert found[-1].causes[0].span is not None


def test_causes_are_findings_where_torch_compiled_too(entry_of: EntryOf, options: SessionOptions) -> None:
    body = "if x.shape[0] == 1:\n    return x.sum()\nif x.stride(0) == y.shape[0]:\n    return x - 1\nreturn x + 1"
    contract = contract_of(entry_of(written("x, y", body, ["4", "5"])), options)
    stream = [{X: 4, Y: 5}, {X: 6, Y: 5}, {X: 1, Y: 5}, {X: 9, Y: 1}]
    foretold = foretell(contract, stream)
    found = list(recompilations(contract, foretold, [one.call for one in foretold]))
    assert {(one.code, *one.calls) for one in found} >= {(STATIC, 2), (ZERO_ONE, 3), ("DDE403", 4)}
    lines = Path(contract.filename).read_text("utf-8").splitlines()
    assert all("if" in lines[one.row - 1] or "def fn" in lines[one.row - 1] for one in found)
    asking = {lines[one.row - 1].strip() for one in found if "==" in one.message}
    assert asking == {"if x.shape[0] == 1:", "if x.stride(0) == y.shape[0]:"}
    assert list(recompilations(contract, foretold, [1])) == []


def test_what_one_graph_gives_otherwise_than_eager_is_a_finding() -> None:
    remedy = Remedy(("mark_unbacked(x, 0)",), different=({X: 1},))
    (found,) = assumed(Contract("m.py:fn"), remedy, [{X: 4}, {X: 1}, {X: 1}])
    assert (found.code, found.calls) == ("DDE406", (2, 3))
    assert list(assumed(Contract("m.py:fn"), Remedy(("mark_unbacked(x, 0)",), 1), [{X: 4}])) == []


def test_two_sizes_that_vary_are_two_symbols(entry_of: EntryOf, options: SessionOptions) -> None:
    contract = contract_of(entry_of(PROGRAMS["two sizes"]), options)
    found = foretell(contract, [{X: 4, Y: 5}, {X: 6, Y: 6}, {X: 7, Y: 8}])
    assert [(one.call, [cause.code for cause in one.causes]) for one in found] == [(1, []), (2, [STATIC, STATIC])]


def test_the_fewest_marks_bring_it_to_one_graph(entry_of: EntryOf, options: SessionOptions) -> None:
    source = written("x, y", "return x @ y", ["4, 6", "6, 3"])
    entry = entry_of(source)
    contract = contract_of(entry, options)
    stream = [{**contract.example, X: size} for size in (4, 0, 1, 9, 32)]
    assert varying(stream) == [X]
    assert dividing(contract, stream) == []
    spec = spec_for(contract, stream, {})
    assert marks_of(spec) == ("mark_unbacked(x, 0)",)
    trial = try_spec(entry, 0, spec, stream[0], stream)
    assert [one.ended for one in trial.outcomes] == ["same"] * 5


def test_a_branch_that_goes_both_ways_is_told(entry_of: EntryOf, options: SessionOptions) -> None:
    contract = contract_of(entry_of(PROGRAMS["a branch"]), options)
    assert [branch.text for branch in dividing(contract, [{X: 2}, {X: 9}])] == [f"{X} >= 7"]
    assert dividing(contract, [{X: 2}, {X: 5}]) == []


def test_marks_name_bounds_and_groups(entry_of: EntryOf, options: SessionOptions) -> None:
    contract = contract_of(entry_of(PROGRAMS["tied"]), options)
    spec = spec_for(contract, [{X: 4, Y: 4}, {X: 5, Y: 5}], {X: "rows"})
    assert marks_of(spec) == ('mark_unbacked(x, 0, shape_id="rows")', 'mark_unbacked(y, 0, shape_id="rows")')


def test_a_stream_is_read_as_it_was_written() -> None:
    text = written_stream([("m.py:fn", {"x": (3, 2)}), ("m.py:other", {"z": (1,)}), ("m.py:fn", {"x": (4, 2)})])
    names = [X, "x.shape[1]"]
    assert read_stream(text, names) == [{X: 3, "x.shape[1]": 2}, {X: 4, "x.shape[1]": 2}]
    assert read_stream('[{"x": [3, 2]}]', names) == [{X: 3, "x.shape[1]": 2}]
    assert read_stream('{"x": [3, 2], "y": [1]}\n\n', names) == [{X: 3, "x.shape[1]": 2}]


@pytest.mark.parametrize("text", ["", "x", '{"x": 3}', '{"x": [-1, 2]}', '{"y": [1]}', "[1]", "[", '{"x": [3]}'])
def test_what_is_no_stream(text: str) -> None:
    with pytest.raises(UnreadableStream):
        read_stream(text, [X, "x.shape[1]"])
