"""What else settings, arguments and what these hold may be, alone and by twos."""

from __future__ import annotations

import ast
import copy
import math
import textwrap
from collections.abc import Callable
from dataclasses import replace
from enum import Enum, IntEnum, StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ddelint.sources.source import SourceFile
from ddelint.verify.around_decisions import texts_of
from ddelint.verify.flags import instead_of_nothing, other_flags
from ddelint.verify.members import fields_of, other_fields, with_field
from ddelint.verify.modes import other_modes
from ddelint.verify.other_settings import other_buffers, other_values, pairs, zero_settings
from ddelint.verify.samples import Sample

SAMPLE = Sample("seed 0", True, lambda: ((), {}))


class Config:
    def __init__(self) -> None:
        self.least, self.width = 2, 8


class Kind(Enum):
    SUM, MEAN, MAX = "sum", "mean", "max"


class Level(IntEnum):
    LOW, HIGH = 0, 7


class Word(StrEnum):
    SHORT, LONG = "short", "long"


@pytest.mark.parametrize(
    ("program", "given", "expected"),
    [
        (lambda x, kind=Kind.MEAN: x, (), [Kind.SUM, Kind.MAX]),
        (lambda x, kind=None: x, (Kind.MAX,), [None, Kind.SUM, Kind.MEAN]),
        (lambda x, kind=Level.LOW: x if kind else -x, (), [Level.HIGH]),
        (lambda x, kind=Word.LONG: x, (), [Word.SHORT]),
    ],
)
def test_an_argument_that_is_a_member_becomes_each_other_one(
    program: Callable[..., object], given: tuple[object, ...], expected: list[object]
) -> None:
    sample = Sample("seed 0", True, lambda: ((0, *given), {}))
    changed = [change(sample).make() for change in other_flags(program, sample, {"kind": ["short"]})]
    assert [args[1] for args, _ in changed] == expected


def test_none_becomes_a_member_of_the_enumeration_that_is_annotated() -> None:
    def program(x: int, kind: Kind | None = None, words: tuple[str, ...] = ()) -> int:
        return x if kind is None else -x

    sample = Sample("seed 0", True, lambda: ((0,), {}))
    assert [change(sample).make()[0][1] for change in other_flags(program, sample)] == list(Kind)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.0, 3.0], [[0.5, 3.0], [0.0, 1.5]]),
        ((True, 0.0, "a", 4), [(False, 0.0, "a", 4), (True, 0.5, "a", 4)]),
        ({"a": {"b": 1.0}, "c": None}, [{"a": {"b": 0.5}, "c": None}]),
        (0.0, [0.5]),
        ([[-2.0], (False,)], [[[-1.0], (False,)], [[-2.0], (True,)]]),
        ([1, 2, 0], [[1, 2, 1]]),
        ([float("nan"), float("inf")], []),
        (["a"], []),
        (3, []),
    ],
)
def test_numbers_in_lists_and_floats_that_no_test_names_become_others(given: object, expected: list[object]) -> None:
    sample = Sample("seed 0", True, lambda: ((copy.deepcopy(given),), {}))
    changed = [change(sample) for change in other_flags(lambda value: value, sample)]
    changed = [each for each in changed if " with one " not in each.label]
    assert [each.make() for each in changed] == [((value,), {}) for value in expected]
    assert sample.make() == ((given,), {})


def test_tensors_in_a_list_stay_those_of_the_input_set() -> None:
    values = [torch.ones(2), 1.0]
    sample = Sample("seed 0", True, lambda: ((values,), {}))
    (change,) = other_flags(lambda value: value, sample)
    (tensor, number), *_ = change(sample).make()[0]
    assert tensor is values[0]
    assert number == 0.5


TEXT = textwrap.dedent(
    """
    def few(n, least):
        if n <= least:
            return True
        return False


    class Model:
        def __init__(self):
            self.least, self.config = 0, Config()

        def has_few(self, n):
            return n <= self.least

        def forward(self, x):
            x = x.reshape(self.config.width, -1)
    """
)


@pytest.mark.parametrize(
    "statement",
    [
        "if self.kind == 'mean':\n            pass",
        "if x.sum() > 0 and 'mean' != 'm' and self.kind in ('mean', 'max'):\n            pass",
        "match self.kind:\n            case 'mean':\n                pass",
        "y = x.mean() if self.kind != 'mean' else x",
        "while self.kind in {'mean'}:\n            break",
        "y = {'mean': 1, 'sum': 2}[self.kind]",
        "table = {'mean': 1, 'sum': 2}\n        y = table.get(self.kind)",
    ],
)
def test_texts_that_a_setting_is_compared_with_are_tried(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "model.py"
    path.write_text(TEXT + f"        {statement}\n        return x if x.sum() > self.least else -x\n")
    source = SourceFile.read(path)
    test = [node.test for node in ast.walk(source.tree) if isinstance(node, ast.IfExp)][-1]
    assert ("kind", "mean") in list(texts_of(source, [test]))


@pytest.mark.parametrize(
    "statement",
    [
        "if agg == 'prod':\n            pass",
        "if 'prod' == agg.lower():\n            pass",
        "if agg in ('max', 'prod'):\n            pass",
        "match agg:\n            case 'prod':\n                pass",
        "y = REDUCERS[agg](x)",
        "y = REDUCERS[agg or 'sum'](x)",
        "y = REDUCERS.get(agg, torch.sum)(x)",
    ],
)
def test_texts_that_an_argument_is_compared_with_are_tried(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        "REDUCERS = {'sum': torch.sum, 'prod': torch.prod}\n" + TEXT + f"        {statement}\n"
        "        return x if x.sum() > self.least else -x\n"
    )
    source = SourceFile.read(path)
    test = [node.test for node in ast.walk(source.tree) if isinstance(node, ast.IfExp)][-1]
    found = [text for name, text in texts_of(source, [test]) if name == "agg"]
    assert "prod" in found

    for called in (lambda agg="sum": agg, lambda agg=None: agg, lambda *, agg="sum": agg):
        changed = [change(SAMPLE) for change in other_flags(called, SAMPLE, {"agg": found})]
        assert "seed 0, agg='prod'" in [sample.label for sample in changed]
        assert "prod" in [value for sample in changed for value in (*sample.make()[0], *sample.make()[1].values())]
    first, *others = other_flags(lambda how="sum": how, SAMPLE, {"agg": ["prod", "sum"]})
    assert first(SAMPLE).make() == (("prod",), {})
    assert others, "what stands beside it among torch's functions"


def test_other_weights_are_also_those_of_saved_buffers_that_are_alike_all_over() -> None:
    samples = [mode(SAMPLE) for mode in other_modes(Head())]
    (sample,) = [sample for sample in samples if sample.label.endswith("with other weights")]
    head = sample.prepare(Head())
    assert bool((head.prior > 0).all())
    assert torch.equal(head.ramp, torch.arange(3.0))
    assert torch.equal(head.bar, torch.arange(2.0))


class Options:
    def __init__(self) -> None:
        self.offset, self.scale, self.keep, self.rows, self.how, self.kind = 0.0, 2.0, True, 4, "sum", Kind.SUM
        self.weights = [1.0, 8]


def with_options(x: torch.Tensor, options: Options) -> torch.Tensor:
    return x * options.scale + options.offset


def test_fields_of_an_object_that_is_an_argument_are_others_in_a_copy() -> None:
    options = Options()
    sample = Sample("seed 0", True, lambda: ((torch.ones(2), options), {}))
    changes = [change(sample) for change in other_flags(with_options, sample, {"how": ("sum", "mean")})]
    given = [change.make()[0][1] for change in changes]
    assert {
        (change.label, *((k, v) for k, v in vars(o).items() if v != vars(options)[k]))
        for change, o in zip(changes, given)
    } == {
        ("seed 0, options with offset=0.5", ("offset", 0.5)),
        ("seed 0, options with scale=1.0", ("scale", 1.0)),
        ("seed 0, options with keep=False", ("keep", False)),
        ("seed 0, options with how='mean'", ("how", "mean")),
        ("seed 0, options with kind=Kind.MEAN", ("kind", Kind.MEAN)),
        ("seed 0, options with kind=Kind.MAX", ("kind", Kind.MAX)),
    }
    assert vars(options)["offset"] == 0.0
    assert list(other_flags(with_options, Sample("s", True, lambda: ((torch.ones(2), torch.device("cpu")), {})))) == []


def stacked(levels: list[torch.Tensor], pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    return torch.stack(levels)


def test_lists_of_tensors_have_one_more_and_one_less() -> None:
    sample = Sample("seed 0", True, lambda: (([torch.ones(2)], (torch.ones(1), torch.zeros(1))), {}))
    lengths = [tuple(map(len, change(sample).make()[0])) for change in other_flags(stacked, sample)]
    assert lengths == [(2, 2), (1, 2), (1, 3), (1, 1)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1.0, 2.0], [[1.0, 2.0, 2.0], [1.0]]),
        ([3], [[3, 3], [3]]),
        ((3, 4), []),
        ([], []),
        (["a"], []),
        ([1, None], []),
    ],
)
def test_lists_of_numbers_have_as_well(given: object, expected: list[object]) -> None:
    sample = Sample("seed 0", True, lambda: ((given,), {}))
    changed = [change(sample) for change in other_flags(lambda value: value, sample)]
    assert [each.make()[0][0] for each in changed if " with one " in each.label] == expected


def test_so_are_fields_of_what_an_object_holds() -> None:
    options = Options()
    options.inner = Config()  # type: ignore[attr-defined]
    options.inner.slack = 0.0  # type: ignore[attr-defined]
    changed = with_field("inner.slack", 0.5, options)
    assert ("inner.slack", 0.5) in {
        (name, other) for name, other in other_fields(options, {}) if not isinstance(other, list)
    }
    assert changed.inner.slack == 0.5  # type: ignore[attr-defined]
    assert options.inner.slack == 0.0  # type: ignore[attr-defined]


def with_keywords(x: torch.Tensor, mask: torch.Tensor | None = None, scale: float | None = None, **options: Any) -> Any:
    return x, mask, scale, options.get("floor", 0.0), options.pop("sharp", False), options.get("name")


def test_options_that_are_read_of_keywords_are_given() -> None:
    sample = Sample("seed 0", True, lambda: ((torch.zeros(2, 3),), {}))
    labels = [change(sample).label for change in other_flags(with_keywords, sample)]
    assert labels == ["seed 0, options with floor=0.5", "seed 0, options with sharp=True"]
    args, kwargs = next(iter(other_flags(with_keywords, sample)))(sample).make()
    assert with_keywords(*args, **kwargs)[3] == 0.5


def test_what_is_none_is_given_as_its_annotation_says() -> None:
    sample = Sample("seed 0", True, lambda: ((torch.zeros(2, 3),), {}))
    changes = [change(sample) for change in instead_of_nothing(with_keywords, sample)]
    assert [change.label.partition(", ")[2] for change in changes] == [
        "mask=float32[2, 3]",
        "mask=float32[3]",
        "mask=bool[2]",
        "scale=0.5",
    ]
    (_, mask), kwargs = changes[0].make()
    mask.zero_()
    assert changes[0].make()[0][1].any()
    assert kwargs == {}


def test_a_mask_is_made_of_rows_that_hold_nothing() -> None:
    sample = Sample("seed 0", True, lambda: ((torch.zeros(4, 0),), {}))
    labels = [change(sample).label.partition(", ")[2] for change in instead_of_nothing(with_keywords, sample)]
    assert "mask=bool[4]" in labels


class InSlots:
    __slots__ = ("least",)

    def __init__(self) -> None:
        self.least = 0.5


class Refusing(InSlots):
    @property
    def least(self) -> float:  # type: ignore[override]
        raise RuntimeError("not yet")


class OfItself(dict[str, float]):
    """A dictionary whose items are its attributes."""

    def __init__(self, **items: float) -> None:
        super().__init__(items)
        self.__dict__ = self


class Titled(dict[str, float]):
    """A dictionary with an attribute beside."""

    def __init__(self) -> None:
        super().__init__()
        self.least = 1.0


def test_slots_are_read_where_a_property_hides_them() -> None:
    held = InSlots.__new__(Refusing)
    InSlots.least.__set__(held, 0.5)  # type: ignore[attr-defined]
    assert dict(fields_of(held)) == {"least": 0.5}


def test_what_a_dictionary_has_under_a_name_is_changed_wherever_it_stands() -> None:
    changed = with_field("least", 0.25, OfItself(least=1.0))
    assert isinstance(changed, OfItself)
    assert (changed["least"], changed.__dict__["least"]) == (0.25, 0.25)
    titled = with_field("least", 0.25, Titled())
    assert isinstance(titled, Titled)
    assert (titled.least, dict(titled)) == (0.25, {})


def test_other_weights_stay_in_the_other_mode() -> None:
    model = torch.nn.Linear(2, 1, bias=False)
    (pair,) = (m(SAMPLE) for m in other_modes(model) if m(SAMPLE).label.endswith("other weights, in eval()"))
    (alone,) = (m(SAMPLE) for m in other_modes(model) if m(SAMPLE).label.endswith("other weights"))
    prepared, known = pair.prepare(copy.deepcopy(model)), alone.prepare(copy.deepcopy(model))
    assert not prepared.training
    assert torch.equal(prepared.weight, known.weight)
    assert not torch.equal(prepared.weight, model.weight)


def with_defaults(x: torch.Tensor, fill: float = 0.0, *, shift: float = 0.0) -> torch.Tensor:
    return x + fill + 10 * shift


CODES = """
class Pool:
    def forward(self, x):
        {}
        if x.sum() > 0:
            return x
        return -x
"""


@pytest.mark.parametrize(
    ("statement", "codes"),
    [
        ("y = x.prod() if self.mode == 3 else x.sum()", {3}),
        ("y = 3 != self.mode", {3}),
        ("y = self.mode in (0, 3)", {0, 3}),
        ("y = {0: x, 3: -x}[self.mode]", {0, 3}),
        ("match self.mode:\n            case 2 | 3:\n                x = -x", {2, 3}),
        ("y = self.mode > 3", set()),
        ("y = self.mode % 5 == 3", set()),
        ("y = x.shape[3] == self.mode", set()),
        ("y = self.mode == True", set()),
    ],
)
def test_integers_that_a_setting_may_equal_are_tried(statement: str, codes: set[int], tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(textwrap.dedent(CODES).format(statement))
    source = SourceFile.read(path)
    test = [node.test for node in ast.walk(source.tree) if isinstance(node, ast.If)][-1]
    found = [code for name, code in texts_of(source, [test]) if name == "mode"]
    assert set(found) == codes


@pytest.mark.parametrize(
    ("value", "is_tested", "others"),
    [
        (0.0, False, [0.5]),
        (3.0, False, [1.5]),
        (math.inf, False, []),
        (math.nan, False, []),
        (True, False, [False]),
        (4, False, []),
        (4, True, [10]),
        (0, False, [2]),
        (Kind.SUM, False, [Kind.MEAN, Kind.MAX]),
        (Level.HIGH, False, [Level.LOW]),
        (Word.LONG, False, [Word.SHORT]),
        ([0.0, 2.0], False, [[0.5, 2.0], [0.0, 1.0]]),
        ({"near": 1.0, "far": 0}, False, [{"near": 0.5, "far": 0}, {"near": 1.0, "far": 1}]),
        ((True, "a", None), False, [(False, "a", None)]),
        ([torch.ones(1), 1.0], False, []),
        ([2, 3], False, []),
        (np.uint8(200), True, [np.uint8(100)]),
        (np.int16(32000), True, [np.int16(16000)]),
        (np.int8(-100), True, [np.int8(-50)]),
        (np.uint8(3), True, [np.uint8(8)]),
        (np.int64(2**62), True, [np.int64(2**61)]),
        (np.bool_(True), True, [np.bool_(False)]),
        (np.float16(6e4), True, [np.float16(3e4)]),
        (np.datetime64("2020-01-01"), True, []),
    ],
)
def test_what_else_a_setting_may_be(value: object, is_tested: bool, others: list[object]) -> None:
    found = list(other_values(value, is_tested=is_tested))
    assert found == others
    assert list(map(type, found)) == list(map(type, others))


class Head(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale, self.steps, self.none = 3.0, 4, 0.0
        self.drop = torch.nn.Dropout(0.25)
        self.register_buffer("prior", torch.zeros(2))
        self.register_buffer("ramp", torch.arange(3.0))
        self.register_buffer("bar", torch.arange(2.0), persistent=False)


def test_rows_of_saved_buffers_that_are_named_stand_in_reverse() -> None:
    (change,) = other_buffers(torch.nn.Sequential(Head()), {"prior", "ramp", "bar", "scale"})
    assert change(SAMPLE).label == "seed 0, self.0.ramp in reverse"
    assert change(SAMPLE).prepare(torch.nn.Sequential(Head()))[0].ramp.tolist() == [2.0, 1.0, 0.0]
    assert list(other_buffers(Head(), {"prior"})) == []
    assert list(other_buffers(lambda x: x, {"ramp"})) == []


def test_floats_of_the_users_modules_are_zero_in_turn() -> None:
    (change,) = zero_settings(torch.nn.Sequential(Head()))
    assert change(SAMPLE).label == "seed 0, self.0.scale=0.0"
    head = change(SAMPLE).prepare(torch.nn.Sequential(Head()))[0]
    assert (head.scale, head.steps, head.drop.p) == (0.0, 4, 0.25)


def labelled(text: str, value: object, sample: Sample) -> Sample:
    return replace(sample, label=f"{sample.label}, {text}={value}")


def test_two_are_changed_at_once_a_flag_with_a_number_first() -> None:
    changes = [partial(labelled, *each) for each in (("fill", 0.5), ("scale", 1.5), ("sharp", False))]
    assert [change(SAMPLE).label.removeprefix("seed 0, ") for change in pairs(changes)] == [
        "fill=0.5, sharp=False",
        "scale=1.5, sharp=False",
        "fill=0.5, scale=1.5",
    ]
