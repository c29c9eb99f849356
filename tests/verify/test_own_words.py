"""Settings that a class says in words of its own are others, too: properties, methods, and what `__getattr__` finds."""

from __future__ import annotations

import abc
import ast
import functools
import textwrap
from collections.abc import Callable
from enum import Enum, IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from ddelint.sources.source import SourceFile
from ddelint.verify.members import other_number
from ddelint.verify.other_settings import extreme_globals, extreme_settings, other_globals, other_settings, other_texts
from ddelint.verify.samples import Sample
from ddelint.verify.settings import globals_of, settings_of, texts_of

SAMPLE = Sample("seed 0", True, lambda: ((), {}))


class Pool(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.options = SimpleNamespace(fill=0.0, inner=SimpleNamespace(least=2.0))
        self.mode = 1

    @property
    def empty(self) -> float:
        return 0.0

    @property
    def twice(self) -> float:
        return self.options.fill * 2

    @property
    def broken(self) -> float:
        raise ValueError

    def bonus(self) -> float:
        return 1.0

    def scaled(self, x: float) -> float:
        return 1.0

    def __getattr__(self, name: str) -> object:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["options"], name)


class Deeper(Pool):
    pass


@pytest.mark.parametrize(
    ("name", "label", "value"),
    [
        ("empty", "self.empty=0.5", lambda pool: pool.empty),
        ("bonus", "self.bonus=0.5", lambda pool: pool.bonus()),
        ("fill", "self.fill=0.5", lambda pool: pool.fill),
        ("options.fill", "self.options.fill=0.5", lambda pool: pool.options.fill),
        ("options.inner.least", "self.options.inner.least=1.0", lambda pool: pool.options.inner.least),
    ],
)
@pytest.mark.parametrize("kind", [Pool, Deeper])
def test_what_a_class_says_is_another_value(
    kind: type[Pool], name: str, label: str, value: Callable[[Pool], object]
) -> None:
    before = value(kind())
    (change,) = other_settings(kind(), {name: False})
    sample = change(SAMPLE)
    changed = sample.prepare(kind())
    held = [dict(vars(each)) for each in kind.__mro__]
    assert sample.label == f"seed 0, {label}"
    with sample.around():
        assert str(value(changed)) == label.partition("=")[2]
    assert type(changed) is kind
    assert [dict(vars(each)) for each in kind.__mro__] == held
    assert value(kind()) == before, "it says again what it said"


REGISTERED: dict[str, type] = {}


class Registered(torch.nn.Module):
    def __init_subclass__(cls, *, key: str) -> None:
        super().__init_subclass__()
        assert key not in REGISTERED
        REGISTERED[key] = cls


class Member(Registered, key="member"):
    @property
    def limit(self) -> float:
        return 2.0

    def least(self) -> float:
        return 1.0


class Inherits(Member, key="inherits"):
    pass


class Abstract(torch.nn.Module, abc.ABC):
    @property
    def limit(self) -> float:
        return 2.0

    def least(self) -> float:
        return 1.0


@pytest.mark.parametrize("kind", [Member, Inherits, Abstract])
def test_what_a_class_says_changes_without_a_subclass(kind: type[Any]) -> None:
    registered, held = dict(REGISTERED), [dict(vars(each)) for each in kind.__mro__]
    changes = list(other_settings(kind(), {"limit": True, "least": False}))
    assert [change(SAMPLE).label for change in changes] == ["seed 0, self.limit=1.0", "seed 0, self.least=0.5"]
    both = changes[1](changes[0](SAMPLE))
    changed = both.prepare(kind())
    with both.around():
        assert (changed.limit, changed.least()) == (1.0, 0.5)
    with pytest.raises(ZeroDivisionError), both.around():
        raise ZeroDivisionError
    assert (changed.limit, changed.least()) == (2.0, 1.0)
    assert registered == REGISTERED
    assert [dict(vars(each)) for each in kind.__mro__] == held


class Acting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = lambda x: 0.5
        self.bonus = self._say
        self.held = SimpleNamespace(act=lambda x: 0.5)

    @staticmethod
    def _say(x: object) -> float:
        return 1.0

    def own(self) -> float:
        return 1.0


def test_functions_that_a_module_was_given_are_no_words_of_its_class() -> None:
    names = dict.fromkeys(("act", "bonus", "held.act", "own"), False)
    assert [change(SAMPLE).label for change in other_settings(Acting(), names)] == ["seed 0, self.own=0.5"]
    acting = Acting()
    acting.own = lambda x: 2.0  # type: ignore[assignment,method-assign,misc]
    assert list(other_settings(acting, {"own": False})) == []
    assert [change(SAMPLE).label for change in extreme_settings(acting, dict.fromkeys(names, True))] == []


class Mode(Enum):
    SUM = 1
    MEAN = 2


class Level(IntEnum):
    LOW = 0
    HIGH = 1


class Metered(type):
    pass


class Options(metaclass=Metered):
    fill = 0.0


class Listed:
    fill = 0.0

    def __init_subclass__(cls) -> None:
        raise TypeError("one is enough")


class WithClasses(torch.nn.Module):
    modes, levels, options, listed = Mode, Level, Options, Listed

    def __init__(self) -> None:
        super().__init__()
        self.kinds, self.own = Mode, SimpleNamespace(modes=Mode, options=Options, listed=Listed)


def test_enumerations_and_classes_with_a_metaclass_are_left_alone() -> None:
    within = ("modes.SUM", "levels.LOW", "kinds.SUM", "own.modes.SUM", "options.fill", "own.options.fill")
    names = dict.fromkeys((*within, "listed.fill", "own.listed.fill", "modes.SUM.value", "levels.*"), True)
    program = WithClasses()
    assert [*other_settings(program, names), *extreme_settings(program, names)] == []


def test_what_is_worked_out_stays() -> None:
    names = ("twice", "broken", "scaled", "forward", "missing")
    assert list(other_settings(Pool(), dict.fromkeys(names, False))) == []


HANDED = """
class Pool:
    def forward(self, x):
        if x.sum() > 0:
            return x
        {}


def nothing(x, wanted):
    return x + wanted.fill * wanted.inner["least"]
"""


@pytest.mark.parametrize(
    "statement",
    [
        "return nothing(x, self.options)",
        "return nothing(x, wanted=self.options)",
        "options = self.options; return nothing(x, options)",
        "options: object = self.options; return nothing(x, options)",
        "options, least = self.options, 2; return nothing(x, options)",
        "return nothing(x, options) if (options := self.options) else x",
    ],
)
def test_what_is_read_of_options_that_are_handed_on_are_settings(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(HANDED.format(statement))
    source = SourceFile.read(path)
    test = next(node.test for node in ast.walk(source.tree) if isinstance(node, ast.If))
    assert {"options.fill", "options.inner.least"} <= dict(settings_of(source, test)).keys()
    path.write_text(HANDED.format("return x + self.options.fill"))
    source = SourceFile.read(path)
    test = next(node.test for node in ast.walk(source.tree) if isinstance(node, ast.If))
    assert "options.inner.least" not in dict(settings_of(source, test))


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
    labels = [change(SAMPLE).label for change in other_texts(Pool(), {"mode": found})]
    assert labels == [f"seed 0, self.mode={code}" for code in found]


class Ranged:
    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, owner: object, kind: type | None = None) -> object:
        return self if owner is None else owner.__dict__[self.name]

    def __set__(self, owner: object, value: float) -> None:
        owner.__dict__[self.name] = value


class Checked(torch.nn.Module):
    fill = Ranged()

    def __init__(self) -> None:
        super().__init__()
        self.fill = 2.0


def test_what_a_descriptor_keeps_is_another_value() -> None:
    (change,) = other_settings(Checked(), {"fill": False})
    assert change(SAMPLE).label == "seed 0, self.fill=1.0"
    assert change(SAMPLE).prepare(Checked()).fill == 1.0
    assert Checked().fill == 2.0


CALLED = """
LEVEL = 0.0


class Pool:
    floor = 0.0

    @classmethod
    def least(cls):
        return cls.floor + deeper()

    def forward(self, x):
        if x.sum() > 0:
            return x
        return x + self.least()


def deeper(share=0.0):
    return LEVEL * share


def never(gain=0.0):
    return OTHER * gain
"""


def test_globals_and_defaults_of_what_is_called_count(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(CALLED)
    source = SourceFile.read(path)
    test = next(node.test for node in ast.walk(source.tree) if isinstance(node, ast.If))
    found = dict(globals_of(source, test))
    assert {".floor", "LEVEL", "deeper.share"} <= found.keys()
    assert not {"OTHER", "never.gain"} & found.keys()


def settle(x: float, tolerance: float = 0.5) -> float:
    return x if x > tolerance else 0.0


def test_defaults_come_to_their_extremes() -> None:
    labels = [change(SAMPLE).label for change in extreme_globals(settle, {"settle.tolerance": True, "settle.x": True})]
    assert labels[:2] == ["seed 0, default settle.tolerance=inf", "seed 0, default settle.tolerance=0.0"]
    first = next(extreme_globals(settle, {"settle.tolerance": True}))(SAMPLE)
    before = settle.__defaults__
    try:
        first.prepare(settle)
        assert settle.__defaults__ == (float("inf"),)
    finally:
        settle.__defaults__ = before


class Config:
    empty, width = 0.0, 3


class Deepest:
    config = Config


def finish(total: float, floor: float, gain: float = 1.0) -> float:
    return total * gain + floor


class Bound(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.config, self.deeper = Config, Deepest()
        self.fill, self.stored = np.float32(0.0), {"level": np.float64(2.0), "count": np.int64(7)}
        self.finish = functools.partial(finish, floor=0.0)


@pytest.mark.parametrize(
    ("name", "label", "value"),
    [
        ("config.empty", "self.config.empty=0.5", lambda bound: bound.config.empty),
        ("deeper.config.empty", "self.deeper.config.empty=0.5", lambda bound: bound.deeper.config.empty),
        ("finish", "self.finish.floor=0.5", lambda bound: bound.finish(0.0)),
        ("fill", "self.fill=np.float32(0.5)", lambda bound: float(bound.fill)),
        ("stored", "self.stored={'level': np.float64(1.0), 'count': np.int64(7)}", lambda bound: bound.stored["level"]),
    ],
)
def test_settings_of_classes_numpy_and_bound_arguments_are_others(
    name: str, label: str, value: Callable[[Bound], float]
) -> None:
    (change,) = other_settings(Bound(), {name: False})
    sample = change(SAMPLE)
    assert sample.label == f"seed 0, {label}"
    changed = sample.prepare(Bound())
    assert value(changed) == (1.0 if name == "stored" else 0.5)
    assert (Config.empty, Deepest.config, value(Bound())) == (0.0, Config, 2.0 if name == "stored" else 0.0)


def test_what_is_asked_of_handed_options_by_a_text_counts(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        HANDED.format("return nothing(x, self.options)").replace("wanted.fill", 'getattr(wanted.pool, "gap", 0.0)')
    )
    source = SourceFile.read(path)
    test = next(node.test for node in ast.walk(source.tree) if isinstance(node, ast.If))
    assert "options.pool.gap" in dict(settings_of(source, test))


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (np.uint8(200), np.uint8(100)),
        (np.int16(32000), np.int16(16000)),
        (np.int8(-100), np.int8(-50)),
        (np.uint8(3), np.uint8(8)),
        (np.int64(2**62), np.int64(2**61)),
        (np.bool_(True), np.bool_(False)),
        (np.float16(6e4), np.float16(3e4)),
        (np.datetime64("2020-01-01"), None),
    ],
)
def test_numbers_of_numpy_become_others_that_their_types_hold(value: object, other: object) -> None:
    program = torch.nn.Module()
    program.__class__ = type("Held", (torch.nn.Module,), {})
    program.limit = value  # type: ignore[assignment]
    changes = list(other_settings(program, {"limit": True}))
    assert [change.args[-1] for change in changes] == ([] if other is None else [other])
    assert [type(change.args[-1]) for change in changes] == ([] if other is None else [type(value)])
    assert [change(SAMPLE).prepare(program).limit for change in changes] == ([] if other is None else [other])
    assert other_number(value) == (other if type(value) in (np.bool_, np.float16) else value)


NARROW = np.uint8(200)


def narrowed(x: float, least: np.uint8 = NARROW) -> float:
    return x if x > least else 0.0


def test_a_narrow_default_of_numpy_becomes_another() -> None:
    (change,) = other_globals(narrowed, {"narrowed.least": True})
    assert change(SAMPLE).label == "seed 0, default narrowed.least=np.uint8(100)"


MANY = """
class Pool:
    def forward(self, x):
        if x.sum() > 0:
            return x
        {}


def anything(other):
    return {}


class Reader:
    def read(self, x, wanted, *, more=None):
        return x + wanted.least + getattr(wanted.pool, "gap", 0.0) + (more.gain if more else 0)


def nothing(x, wanted, *, more=None):
    return x + wanted.least + getattr(wanted.pool, "gap", 0.0) + (more.gain if more else 0)
"""


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("nothing(x, self.options{0}, more=self.more{0})", "options59.least options59.pool.gap more59.gain more0.gain"),
        ("nothing(x, wanted=self.options{0})", "options0.least options59.least options59.pool.gap"),
        ("self.reader.read(x, self.options{0}, more=self.more{0})", "options59.least more59.gain"),
        ("(now := self.options{0}).rate", "options59.rate"),
    ],
)
def test_of_much_that_is_handed_on_what_the_called_read_comes_first(call: str, wanted: str, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    calls = [call.format(number) for number in range(60)]
    body = "; ".join(f"x = {each}" for each in calls) + "; return x + now.rate"
    path.write_text(MANY.format(body, " + ".join(f"other.field{number}" for number in range(150))))
    source = SourceFile.read(path)
    test = next(node.test for node in ast.walk(source.tree) if isinstance(node, ast.If))
    found = dict(settings_of(source, test)).keys()
    assert set(wanted.split()) <= found
    assert len(found) < 600
