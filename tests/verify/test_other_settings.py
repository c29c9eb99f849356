"""What a module was made with is changed, alone and by twos, where it is the user's and named by what decides."""

from __future__ import annotations

import ast
import copy
import math
import operator
import textwrap
import unittest.mock
from collections.abc import Callable
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from ddelint.sources.source import SourceFile
from ddelint.trace.entry import Entry
from ddelint.verify.flags import instead_of_nothing, other_flags
from ddelint.verify.members import fields_of, other_fields, with_field
from ddelint.verify.modes import other_modes
from ddelint.verify.other_settings import other_globals, other_settings, other_texts, pairs
from ddelint.verify.reach import Rewinding
from ddelint.verify.samples import Sample
from ddelint.verify.settings import defaults_of, globals_of, settings_beside, settings_of, texts_of

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


SLACK = 0.0
LEVEL = Level.LOW
KIND = Kind.SUM


class Head(torch.nn.Module):
    least_rows, least_columns = 0, 0

    def __init__(self) -> None:
        super().__init__()
        self.fill, self.scale, self.far, self.sharp, self.steps, self.none = 0.0, 3.0, math.inf, True, 4, 0
        self.config = Config()
        self.kind, self.level, self.config.word = Kind.SUM, Level.HIGH, Word.LONG
        self.drop = torch.nn.Dropout(0.25)
        self.register_buffer("prior", torch.zeros(2))
        self.register_buffer("ramp", torch.arange(3.0))
        self.register_buffer("bar", torch.ones(2), persistent=False)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = Head()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + SLACK


class Levelled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + LEVEL.value if KIND is Kind.SUM else x


def changed(*names: str, tested: bool = False) -> dict[str, object]:
    """Setting → its value after the change."""
    found = {}
    for change in other_settings(Model(), dict.fromkeys(names, tested)):
        sample = change(SAMPLE)
        head = sample.prepare(Model()).head
        name = sample.label.removeprefix("seed 0, self.head.").partition("=")[0].removesuffix(" in reverse")
        found[name] = operator.attrgetter(name)(head)
        assert not sample.declared
    return found


def test_flags_are_inverted_and_floats_halved() -> None:
    assert changed("fill", "scale", "sharp") == {"fill": 0.5, "scale": 1.5, "sharp": False}


def test_sizes_infinities_and_what_is_torchs_own_stay() -> None:
    assert changed("steps", "far", "training", "p", "drop", "nothing") == {}


def test_there_are_no_more_than_a_few() -> None:
    settings = [f"factor_{number}" for number in range(9)]
    model = Model()
    for name in settings:
        setattr(model, name, 1.0)
    assert len(list(other_settings(model, dict.fromkeys(settings, True)))) == 4
    assert list(other_settings(lambda x: x, dict.fromkeys(settings, True))) == []


def test_integers_grow_where_a_test_rests_on_them_or_they_are_zero() -> None:
    assert changed("steps", "config.least", tested=True) == {"steps": 10, "config.least": 6}
    assert changed("steps", "config.least", "none") == {"none": 2}
    assert Model().head.config.least == 2


def test_what_is_read_by_a_name_made_at_run_time_is_changed_by_its_pattern() -> None:
    assert changed("s*p", "config.le*", tested=True) == {"sharp": False, "config.least": 6}
    assert changed("least_rows") == {"least_rows": 2}


def members_of(*names: str) -> dict[str, list[object]]:
    """Setting → the members that it becomes."""
    found: dict[str, list[object]] = {}
    for change in other_settings(Model(), dict.fromkeys(names, False)):
        name = change.args[1]
        found.setdefault(name, []).append(operator.attrgetter(name)(change(SAMPLE).prepare(Model()).head))
    return found


def test_a_member_of_an_enumeration_becomes_each_other_one() -> None:
    assert members_of("kind") == {"kind": [Kind.MEAN, Kind.MAX]}
    assert members_of("kind.value", "kind.name.lower") == {"kind": [Kind.MEAN, Kind.MAX]}
    assert members_of("level", "config.word") == {"level": [Level.LOW], "config.word": [Word.SHORT]}
    assert members_of("config.word.value") == {"config.word": [Word.SHORT]}
    change = next(iter(other_settings(Model(), {"kind": False})))
    assert change(SAMPLE).label == "seed 0, self.head.kind=Kind.MEAN"
    assert list(other_texts(Model(), {"config.word": ["short", "else"]})) == []


def test_a_member_is_one_of_the_class_that_the_program_has() -> None:
    """A rewritten program may have been imported anew, its enumerations with it."""
    again = Enum("Kind", {"SUM": 1, "MEAN": 2})
    program = Model()
    program.head.kind = again.SUM  # type: ignore[assignment]
    change = next(iter(other_settings(Model(), {"kind": False})))
    assert change(SAMPLE).prepare(program).head.kind is again.MEAN  # type: ignore[attr-defined]


def test_a_member_among_the_globals_is_changed_for_the_run_that_follows() -> None:
    assert [change.args for change in other_globals(Levelled(), {"KIND": False})] == [
        ("KIND", Kind.MEAN),
        ("KIND", Kind.MAX),
    ]
    (change,) = other_globals(Levelled(), {"LEVEL": False})
    with unittest.mock.patch.dict(globals(), LEVEL=Level.LOW):
        assert change(SAMPLE).prepare(Levelled())(torch.zeros(())) == 7


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


@pytest.mark.parametrize(
    ("value", "others"),
    [
        ([0.0, 2.0], [[0.5, 2.0], [0.0, 1.0]]),
        ({"near": 1.0, "far": 0}, [{"near": 0.5, "far": 0}, {"near": 1.0, "far": 1}]),
        ((True, "a", None), [(False, "a", None)]),
        ([torch.ones(1), 1.0], []),
        ([2, 3], []),
    ],
)
def test_numbers_in_lists_that_a_module_keeps_become_others_in_a_copy(value: object, others: list[object]) -> None:
    module = torch.nn.Identity()
    module.__class__ = type("Mine", (torch.nn.Identity,), {"__module__": "mine"})
    module.table = value  # type: ignore[assignment]
    found = [change(SAMPLE) for change in other_settings(module, {"table": False})]
    made = [sample.prepare(copy.deepcopy(module)).table for sample in found]
    assert made == others
    again = [sample.prepare(copy.deepcopy(module)).table for sample in found]
    assert not any(one is other for one, other in zip(made, again, strict=True) if isinstance(one, (dict, list)))
    assert module.table is value


def test_rows_of_saved_buffers_stand_in_reverse() -> None:
    (ramp,) = changed("prior", "ramp", "bar").values()
    assert torch.equal(torch.as_tensor(ramp), torch.tensor([2.0, 1.0, 0.0]))


def test_numbers_among_the_globals_are_changed_for_the_run_that_follows() -> None:
    (change,) = other_globals(Model(), {"SLACK": True, "torch": False, "SAMPLE": False})
    with unittest.mock.patch.dict(globals(), SLACK=0.0):
        assert change(SAMPLE).label == "seed 0, global SLACK=0.5"
        assert change(SAMPLE).prepare(Model())(torch.zeros(())) == 0.5
    assert SLACK == 0


def test_two_are_changed_at_once_a_flag_with_a_number_first() -> None:
    changes = list(other_settings(Model(), dict.fromkeys(("fill", "scale", "sharp"), False)))
    both = [change(SAMPLE) for change in pairs(changes)]
    assert [sample.label.removeprefix("seed 0, ").replace("self.head.", "") for sample in both] == [
        "fill=0.5, sharp=False",
        "scale=1.5, sharp=False",
        "fill=0.5, scale=1.5",
    ]
    head = both[0].prepare(Model()).head
    assert (head.fill, head.sharp, head.scale) == (0.5, False, 3.0)


@pytest.mark.parametrize(
    "body",
    [
        "return x.sum() if n <= self.least else x",
        "least = self.least\n        if n <= least:\n            return x\n        return x.sum()",
        "if n <= max(self.least, 1):\n            return x\n        return x.sum()",
        "if self.has_few(n):\n            return x\n        return x.sum()",
        "if (bar := self.least) >= n:\n            return x\n        return x.sum()",
        "if few(n, least=self.least):\n            return x\n        return x.sum()",
        "if n <= getattr(self, 'least', 0):\n            return x\n        return x.sum()",
    ],
)
def test_what_a_test_rests_on_is_read_off_the_text(tmp_path: Path, body: str) -> None:
    path = tmp_path / "model.py"
    path.write_text(TEXT + f"        n = x.sum()\n        {body}\n")
    source = SourceFile.read(path)
    tests = [node.test for node in ast.walk(source.tree) if isinstance(node, (ast.If, ast.IfExp))]
    test = tests[0] if "few" in body else tests[-1]
    if "has_few" in body:
        test = next(
            node for node in ast.walk(source.tree) if isinstance(node, ast.Compare) and "self" in ast.unparse(node)
        )
    found: dict[str, bool] = {}
    for name, is_tested in settings_of(source, test):
        found[name] = is_tested or found.get(name, False)
    assert found["least"]
    assert not found.get("config.width", False)


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
    model = Model()
    model.head.kind = "sum"
    (change,) = other_texts(model, {"kind": ["mean", "sum", "mean"], "least_rows": ["few"]})
    assert change(SAMPLE).label == "seed 0, self.head.kind='mean'"
    assert change(SAMPLE).prepare(model).head.kind == "mean"


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


def test_names_made_at_run_time_and_globals_are_read_off_the_text(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        TEXT + "        bar = getattr(self.config, f'bar_{self.kind}')\n"
        "        if x.sum() > bar + SLACK:\n            return x * getattr(self, x.name) + SCALE\n        return x\n"
    )
    source = SourceFile.read(path)
    test = [node.test for node in ast.walk(source.tree) if isinstance(node, ast.If)][-1]
    found = dict(globals_of(source, test))
    assert (found["SLACK"], found["SCALE"]) == (True, False)
    assert not found.keys() & {"x", "bar"}
    settings = list(settings_of(source, test))
    assert ("config.bar_*", True) in settings
    assert ("*", False) in settings


def test_other_weights_are_also_those_of_saved_buffers_that_are_alike_all_over() -> None:
    samples = [mode(SAMPLE) for mode in other_modes(Model())]
    (sample,) = [sample for sample in samples if sample.label.endswith("with other weights")]
    head = sample.prepare(Model()).head
    assert bool((head.prior > 0).all())
    assert torch.equal(head.ramp, torch.arange(3.0))
    assert torch.equal(head.bar, torch.ones(2))


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


class Pool(NamedTuple):
    fill: float = 0.0
    width: int = 8


class Slotted:
    __slots__ = ("empty", "shift")

    def __init__(self) -> None:
        self.shift = 3.0


class Attributes(dict[str, object]):
    __getattr__ = dict.__getitem__


class Held(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool, self.slots, self.sizes, self.names = Pool(), Slotted(), [0.0, "four"], {"kind": "sum"}
        self.settings = Attributes(loss=Attributes(prior=0.0), act=torch.relu)


@pytest.mark.parametrize(
    ("name", "label", "value"),
    [
        ("pool.fill", "self.pool.fill=0.5", lambda held: held.pool.fill),
        ("slots.shift", "self.slots.shift=1.5", lambda held: held.slots.shift),
        ("settings.loss.prior", "self.settings.loss.prior=0.5", lambda held: held.settings.loss.prior),
        ("sizes.index", "self.sizes=[0.5, 'four']", lambda held: held.sizes),
        ("names.least", "self.names.least=1.0", lambda held: held.names.get("least")),
        ("slots.empty", "self.slots.empty=1.0", lambda held: held.slots.empty),
    ],
)
def test_settings_stand_in_whatever_holds_them(name: str, label: str, value: Callable[[Held], object]) -> None:
    held = Held()
    before = copy.deepcopy((held.pool, held.sizes, held.names, held.slots.shift))
    defaults = {"names.least": 2.0, "slots.empty": 2.0}
    (change,) = other_settings(held, {name: False}, defaults)
    changed = change(SAMPLE)
    assert changed.label == f"seed 0, {label}"
    other = value(changed.prepare(Held()))
    assert f"{other!r}" == label.partition("=")[2]
    assert (held.pool, held.sizes, held.names, held.slots.shift) == before
    assert held.settings.loss.prior == 0.0


def test_what_is_not_there_and_has_no_default_stays() -> None:
    assert list(other_settings(Held(), {"names.least": False, "slots.empty": False})) == []


def test_what_has_a_property_in_its_place_stays() -> None:
    class Reading(Head):
        @property
        def least(self) -> float | None:
            return None

    assert list(other_settings(Reading(), {"least": False}, {"least": 0.25})) == []
    assert list(other_settings(Head(), {"fewest": False}, {"fewest": 0.25})) != []


def test_settings_in_dictionaries_and_their_defaults_are_read_off_the_text(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        textwrap.dedent(
            """
            class Model:
                def forward(self, x):
                    if x.sum() > self.config["pool"]["least"]:
                        x = x + self.options.get("shift", 0.5) + getattr(self.config, "scale", 2)
                    return x * self.table[0].gain + Model.share

            class Tail:
                def forward(self, x):
                    return x + self.shift if self.config.width > 3 else x
            """
        )
    )
    source = SourceFile.read(path)
    test = next(node.test for node in ast.walk(source.tree) if isinstance(node, ast.If))
    names = dict(settings_of(source, test))
    assert {"config.pool.least", "options.shift", "config.scale", "table"} <= names.keys()
    assert dict(defaults_of(source, test)) == {"options.shift": 0.5, "config.scale": 2}
    assert ".share" in dict(globals_of(source, test))
    assert dict(settings_beside(source, test)) == {"shift": False, "config.width": False}


def enclosing(share: float) -> Callable[[torch.Tensor], torch.Tensor]:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x + share + Shared.level

    return forward


class Shared:
    level = 0.0


def test_what_a_function_encloses_and_a_class_has_is_changed_for_the_run_that_follows() -> None:
    forward = enclosing(2.0)
    changed = {c(SAMPLE).label: c(SAMPLE) for c in other_globals(forward, {"share": False, ".level": False})}
    assert changed.keys() == {"seed 0, global share=1.0", "seed 0, class attribute level=0.5"}
    rewinding = Rewinding(Entry("m", "m.py", lambda: forward, lambda seed: ((), {}), False, ("x",)))
    for label, value in (("seed 0, global share=1.0", 1.0), ("seed 0, class attribute level=0.5", 2.5)):
        assert changed[label].prepare(rewinding.entry.build())(torch.zeros(())).item() == value
        assert rewinding.entry.build()(torch.zeros(())).item() == 2.0


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


def test_defaults_leave_globals_their_places() -> None:
    def pooled(x: torch.Tensor, a: float = 0.1, b: float = 0.2, c: float = 0.3, d: float = 0.4) -> torch.Tensor:
        return x * a * b * c * d + SLACK

    names = {**{f"pooled.{name}": False for name in "abcd"}, "SLACK": True}
    labels = [change(SAMPLE).label for change in other_globals(pooled, names)]
    assert [("SLACK" in label, "default" in label) for label in labels].count((True, False)) == 1


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


def test_defaults_of_functions_are_others_for_the_run_that_follows() -> None:
    names = {"with_defaults.fill": False, "with_defaults.shift": False}
    changed = {c(SAMPLE).label: c(SAMPLE) for c in other_globals(with_defaults, names)}
    labels = ["seed 0, default with_defaults.fill=0.5", "seed 0, default with_defaults.shift=0.5"]
    assert list(changed) == labels
    rewinding = Rewinding(Entry("m", "m.py", lambda: with_defaults, lambda seed: ((), {}), False, ("x",)))
    for label, value in zip(labels, (0.5, 5.0), strict=True):
        assert changed[label].prepare(rewinding.entry.build())(torch.zeros(())).item() == value
        assert rewinding.entry.build()(torch.zeros(())).item() == 0.0
