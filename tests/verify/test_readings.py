"""What a text reads goes through `Readings`: it is noted, or it is something else, and all else is as it was."""

from __future__ import annotations

import ast
import gc
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from ddelint.trace.entry import Entry
from ddelint.verify.reading_code import arguments_of, with_readings
from ddelint.verify.reads import Read, Readings, in_effect, settled
from ddelint.verify.recording import Recorder, position_of
from ddelint.verify.samples import Sample
from ddelint.verify.settings import Settings


def loaded(text: str, readings: Readings, tested: str = "") -> dict[str, Any]:
    """The names of a text whose functions read by `readings`; where `tested` stands is a test."""
    tree = ast.parse(textwrap.dedent(text))
    places = {
        position_of(node) for node in ast.walk(tree) if isinstance(node, ast.expr) and ast.unparse(node) == tested
    }
    names: dict[str, Any] = {}
    exec(compile(with_readings(tree, arguments_of(tree), places), "read.py", "exec"), names)
    return names


def read_once(text: str, call: Callable[[dict[str, Any]], object], tested: str = "") -> dict[str, tuple[object, int]]:
    """What is read in one call: its key → its value and rank."""
    readings = Readings(calls=[{}])
    with in_effect(readings):
        names = loaded(text, readings, tested)
        call(names)
    return {str(read): (seen.value, seen.rank) for (read, _), (seen, *_) in readings.calls[-1].items()}


HOLDERS = {
    "an attribute": ("class A:\n    def f(self): return self.fill\na = A(); a.fill = 0.5", "A.fill"),
    "a hidden one": ("class _A:\n    def f(self): return self.__fill\na = _A(); a._A__fill = 0.5", "_A._A__fill"),
    "a property": (
        "class A:\n    @property\n    def fill(self): return 0.5\n    def f(self): return self.fill\na = A()",
        "A.fill",
    ),
    "an attribute of a class": ("class A:\n    fill = 0.5\n    def f(self): return type(self).fill\na = A()", "A.fill"),
    "one that is asked for": ("class A:\n    def f(self): return getattr(self, 'fill', 0.5)\na = A()", "A.fill"),
    "an item": (
        "class A:\n    def f(self): return self.options['fill']\na = A(); a.options = {'fill': 0.5}",
        "dict.fill",
    ),
    "a default": (
        "class A:\n    def f(self): return self.options.get('fill', 0.5)\na = A(); a.options = {}",
        "dict.fill",
    ),
    "an element": (
        "class A:\n    def f(self): return self.options[0]\na = A(); a.options = (0.5, 1.0)",
        "self.options.0",
    ),
    "a global": ("FILL = 0.5\nclass A:\n    def f(self): return FILL\na = A()", "global FILL"),
    "what is enclosed": (
        "def made(fill):\n    class A:\n        def f(self): return fill\n    return A()\na = made(0.5)",
        "made(fill)",
    ),
    "an argument": ("class A:\n    def f(self): return g(0.5)\ndef g(fill): return fill\na = A()", "g(fill)"),
    "what a partial binds by its place": (
        "import functools\nclass A:\n    def f(self): return self.pool()\ndef g(fill): return fill\n"
        "a = A(); a.pool = functools.partial(g, 0.5)",
        "g(fill)",
    ),
    "an argument of a lambda": ("class A:\n    def f(self): return (lambda fill: fill)(0.5)\na = A()", "A.f(fill)"),
    "a constant": ("class A:\n    def f(self): return 0.5\na = A()", "A.f()"),
    "a getter": (
        "from operator import attrgetter\nof = attrgetter('fill')\n"
        "class A:\n    def f(self): return of(self)\na = A(); a.fill = 0.5",
        "attrgetter(operator.attrgetter('fill'))",
    ),
    "a getter of items": (
        "import operator\nclass A:\n    def f(self): return operator.getitem(self.options, 'fill')\n"
        "a = A(); a.options = {'fill': 0.5}",
        "getitem(fill)",
    ),
    "a parser": (
        "import configparser\nclass A:\n    def f(self): return self.options.getfloat('pool', 'fill')\n"
        "a = A(); a.options = configparser.ConfigParser(); a.options.read_string('[pool]\\nfill=0.5')",
        "RawConfigParser.getfloat(pool, fill)",
    ),
    "a text": (
        "class A:\n    def f(self):\n        _, _, fill = self.how.partition(':')\n        return float(fill)\n"
        "a = A(); a.how = 'sum:0.5'",
        "float(0.5)",
    ),
    "what is cached": (
        "import functools\nclass A:\n    def f(self): return fill()\n"
        "@functools.cache\ndef fill(): return float('0.5')\nfill()\na = A()",
        "fill()",
    ),
    "the first of a table": (
        "TABLE = ((int, 1.0), (list, 0.5))\nclass A:\n"
        "    def f(self): return next(fill for kind, fill in TABLE if isinstance(self.held, kind))\n"
        "a = A(); a.held = []",
        "next()",
    ),
}


@pytest.mark.parametrize(("text", "key"), HOLDERS.values(), ids=HOLDERS)
def test_whatever_holds_a_number_is_read(text: str, key: str) -> None:
    assert read_once(text, lambda names: names["a"].f())[key] == (0.5, 2)


@pytest.mark.parametrize(("text", "key"), HOLDERS.values(), ids=HOLDERS)
def test_what_is_read_may_be_something_else(text: str, key: str) -> None:
    readings = Readings(calls=[{}])
    with in_effect(readings):
        names = loaded(text, readings)
        assert names["a"].f() == 0.5
        read = next(read for read, _ in readings.calls[-1] if str(read) == key)
        readings.changes = {read: (0.5, 0.25)}
        assert names["a"].f() == 0.25


FLAGS = {
    "in a set": ("def f(): return 'ones' in OPTIONS\nOPTIONS = {'sum'}", "set.ones", False),
    "not in a set": ("def f(): return 'ones' not in OPTIONS\nOPTIONS = {'sum'}", "set.ones", False),
    "in a text": ("def f(): return 'mean' in HOW\nHOW = 'mean,sum'", "str.mean", True),
    "at the beginning of a text": (
        "def f(): return HOW.startswith('mean')\nHOW = 'mean2'",
        "str.startswith(mean2, mean)",
        True,
    ),
}


@pytest.mark.parametrize(("text", "key", "value"), FLAGS.values(), ids=FLAGS)
def test_what_a_text_or_a_set_says_is_a_flag(text: str, key: str, value: bool) -> None:
    readings = Readings(calls=[{}])
    with in_effect(readings):
        names = loaded(text, readings)
        before = names["f"]()
        read = next(read for read, _ in readings.calls[-1] if str(read) == key)
        readings.changes = {read: (value, not value)}
        assert names["f"]() is not before


def test_what_a_call_computes_of_data_is_data() -> None:
    text = """
        import operator
        def f(x, batch):
            rows = [len(x), len(x.shape), x.size(0), x.dim(), int(x.shape[0]), operator.index(x.shape[0])]
            held = operator.getitem(batch, "n"), operator.itemgetter(0)(x.shape), max(*x.shape, 1)
            return rows, held, isinstance(x, list), hasattr(batch, "n"), str(x.dtype), "n" in batch
    """
    found = read_once(text, lambda names: names["f"](torch.ones(2), {"n": 3, "x": torch.ones(2)}))
    assert found == {}


def test_what_is_tested_comes_first() -> None:
    text = "class A:\n    def f(self):\n        if self.least > 1: return self.fill\n    def g(self): return self.far\n"
    found = read_once(
        text + "a = A(); a.least, a.fill, a.far = 2, 0.5, 3.0",
        lambda names: (names["a"].f(), names["a"].g()),
        "self.least > 1",
    )
    assert {key: rank for key, (_, rank) in found.items()} == {"A.least": 0, "A.fill": 1, "A.far": 2}


def test_numbers_of_tensors_and_of_torch_are_data() -> None:
    text = """
        import math
        import torch
        def f(x, model):
            width = torch.nn.Linear(2, 3).out_features
            return x.shape[0], x.ndim, x.shape, torch.finfo(x.dtype).eps, math.pi, model.training, width
    """
    found = read_once(text, lambda names: names["f"](torch.ones(2, 3), torch.nn.Identity()))
    assert found == {}


def test_what_a_caller_computes_is_data() -> None:
    text = """
        def rows(x, n, m, k, least=1):
            return n + m + k + least
        def f(x):
            n = len(x)
            for k in range(2):
                found = rows(x, n, int(x.sum()), k)
            return found
    """
    assert read_once(text, lambda names: names["f"](torch.ones(2))).keys() == {"rows(least)"}


MEANINGS = {
    "comprehensions": ("def f(x): return [v * k for v in x for k in (1, 2) if v]", [1, 2, 2, 4]),
    "a generator": ("def f(x):\n    def each():\n        for v in x: yield v\n    return list(each())", [1, 2]),
    "a match": (
        "def f(x):\n    match x:\n        case [a, *rest]: return a, rest\n        case _: return None",
        (1, [2]),
    ),
    "a name that is given": ("def f(x): return [y for v in x if (y := v - 1)] + [y]", [1, 1]),
    "a text": ("def f(x): return f'{x[0]:>{x[1]}}'", " 1"),
    "super": (
        "class A:\n    k = 3\n    def g(self, n): return n\nclass B(A):\n"
        "    def g(self, n): return super().g(n) + super().k\ndef f(x): return B().g(x[0])",
        4,
    ),
    "a slice and an item": ("def f(x): return x[:1] + [x[1], x[-1]]", [1, 2, 2]),
    "what is changed in place": ("def f(x):\n    x[0] += x[1]\n    x[1] = x[0]\n    return x", [3, 3]),
    "an attribute that is counted": ("class C: n = 1\ndef f(x):\n    C.n += 1\n    return C.n", 2),
    "a star and keywords": (
        "def g(*a, k=1, **o): return a, k, o\ndef f(x): return g(*x, **{'k': x[0], 'o': 2})",
        ((1, 2), 1, {"o": 2}),
    ),
    "an exception": (
        "def f(x):\n    try: return x[9]\n    except IndexError as error: return type(error).__name__",
        "IndexError",
    ),
    "a get of its own": (
        "class C:\n    def get(self, a, *, b): return a + b\nc = C()\ndef f(x): return c.get(x[0], b=x[1])",
        3,
    ),
    "a getattr of its own": ("def f(x):\n    getattr = lambda a, b: (a, b)\n    return getattr(x, 'y')", ([1, 2], "y")),
    "a nonlocal": (
        "def f(x):\n    n = 0\n    def g():\n        nonlocal n\n        n += x[0]\n    g(); g()\n    return n",
        2,
    ),
    "an effect": ("def f(x):\n    x.append(3)\n    x.pop()\n    return x.pop() in x, 'a' not in 'b'", (False, True)),
    "a callee that is computed first": (
        "def f(x):\n    said = []\n    def g(n):\n        said.append(n)\n        return lambda *a, **o: said\n"
        "    return g(0)(*map(g, x), function=g(3))[:1]",
        [0],
    ),
    "super that is called": (
        "class A:\n    def __init__(self, n=0): self.n = n\nclass B(A):\n"
        "    def __init__(self, n): super().__init__(n=n)\ndef f(x): return B(x[1]).n",
        2,
    ),
    "a pattern of a value": (
        "import enum\nclass K(enum.Enum):\n    A = 1\n    B = 2\ndef f(x):\n    match K.A:\n"
        "        case K.B: return 0\n        case K.A if x[0] == 1: return x[1]",
        2,
    ),
    "a pattern of a class and a mapping": (
        "def f(x):\n    match {'n': x}:\n        case {'n': int()}: return 0\n"
        "        case {'n': list() as y}: return y[1]",
        2,
    ),
    "keywords that are named as ours": (
        "class C:\n    def get(self, a, owner=0, rank=0): return a + owner + rank\nc = C()\n"
        "def f(x): return c.get(x[0], owner=2, rank=3)",
        6,
    ),
    "a getattr of the file": ("def getattr(a, b): return 'mine'\ndef f(x): return getattr(x, 'y')", "mine"),
    "an annotation": ("def f(x):\n    y: Unknown = x[0]\n    return y", 1),
}


@pytest.mark.parametrize(("text", "expected"), MEANINGS.values(), ids=MEANINGS)
def test_a_text_means_what_it_meant(text: str, expected: object) -> None:
    readings = Readings()
    with in_effect(readings):
        assert loaded(text, readings)["f"]([1, 2]) == expected


def seen_in(*calls: dict[tuple[str, int], list[object]]) -> Readings:
    """One run, of these calls."""
    readings = Readings()
    for call in calls:
        readings.calls.append({})
        for (name, holder), values in call.items():
            owner = HELD.setdefault(holder, [holder])
            for value in values:
                readings._given(Read("A", name), owner, value, 1)
    return readings


HELD: dict[int, object] = {}


def test_what_is_the_same_in_all_calls_is_a_setting() -> None:
    run = {("fill", 1): [0.5]}
    assert [(read.name, seen.value) for read, seen in settled([seen_in(run, run)])] == [("fill", 0.5)]


@pytest.mark.parametrize(
    "calls",
    [
        ({("n", 1): [1]}, {("n", 1): [2]}),
        ({("n", 1): [1, 2]}, {("n", 1): [1, 2]}),
        ({("n", 1): [1]}, {("n", 2): [1]}),
        ({("n", 1): [1]}, {}),
        ({("n", 1): [1]},),
    ],
    ids=[
        "another on the next call",
        "two in one call",
        "of an object of each call",
        "on the first call alone",
        "one call",
    ],
)
def test_what_moves_or_is_made_by_a_call_is_none(calls: tuple[dict[tuple[str, int], list[object]], ...]) -> None:
    assert settled([seen_in(*calls)]) == []


def test_what_differs_from_input_to_input_is_none_and_what_one_side_reads_is_one() -> None:
    one, other = {("n", 1): [1], ("fill", 1): [0.5]}, {("n", 1): [2], ("far", 1): [3.0]}
    assert {read.name for read, _ in settled([seen_in(one, one), seen_in(other, other)])} == {"fill", "far"}


class Held(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.options = [{"fill": 0.0, "how": "mean", "level": np.float32(2), "flag": True}]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        (options,) = self.options
        y = x.sum(0) if options["how"] == "sum" else x.mean(0)
        return y * options["level"] + options["fill"] if options["flag"] else y


def test_each_is_read_otherwise_in_turn_and_is_as_it_was_afterwards() -> None:
    gc.unfreeze()  # another test may have hidden the functions of this file from whoever looks for live ones
    sample = Sample("seed 0", True, lambda: ((torch.ones(2, 3),), {}))
    entry = Entry("Held", __file__, Held, lambda seed: sample.make(), True, ("x",))
    recorder = Recorder()
    recorder.texts = {"self.how": ["sum"]}
    settings = Settings(entry, Held(), recorder, None, lambda: False)
    settings.note([sample, sample])
    changes = list(settings.others())
    model = Held()
    plain = float(model(*sample.make()[0])[0])
    given = {}
    for change in changes:
        changed = change(sample)
        with changed.around():
            given[changed.label.removeprefix("seed 0, ")] = float(model(*changed.make()[0])[0])
    assert given["dict.fill=0.5"] == plain + 0.5
    assert given["dict.how='sum'"] == 2 * plain
    assert given[f"dict.level={np.float32(1)!r}"] == plain / 2
    assert given["dict.flag=False"] == 1
    assert float(model(*sample.make()[0])[0]) == plain


def test_what_is_written_to_is_another_one_each_time() -> None:
    readings = Readings(changes={Read("global", "TABLE"): ([1.0], [0.5])})
    with in_effect(readings):
        names = loaded("TABLE = [1.0]\ndef f():\n    table = TABLE\n    table.append(2.0)\n    return table", readings)
        assert names["f"]() == [0.5, 2.0]
        assert names["f"]() == [0.5, 2.0]
    assert names["TABLE"] == [1.0]


def test_what_is_made_within_goes_on_to_read_afterwards() -> None:
    readings = Readings(changes={Read("A", "scale"): (2.0, 3.0)})
    with in_effect(readings):
        names = loaded("class A: scale = 2.0\na = A()\ndef f(x): return lambda g: g * a.scale", readings)
        hook = names["f"](1)
        assert hook(1.0) == 3.0
    assert hook(1.0) == 2.0


def test_state_that_is_changed_in_place_is_no_setting() -> None:
    readings = Readings()
    with in_effect(readings):
        names = loaded("class A: pass\na = A()\na.total = [0.0]\ndef f():\n    a.total[0] = a.total[0] + 1.0", readings)
        for _ in range(2):
            readings.calls.append({})
            names["f"]()
    assert settled([readings]) == []


def test_a_constant_beside_what_is_computed_is_none() -> None:
    text = "def f(n):\n    if n == 0:\n        return 0.5\n    return n * 2.0"
    assert read_once(text, lambda names: names["f"](0)) == {"f(n)": (0, 2)}


class Refusing:
    def __repr__(self) -> str:
        raise RuntimeError("not written")


def test_what_cannot_be_written_is_left_alone() -> None:
    text = "class A: pass\na = A()\ndef f():\n    return a.held, a.one"

    def call(names: dict[str, Any]) -> object:
        names["a"].held, names["a"].one = [Refusing()], Refusing()
        return names["f"]()

    assert read_once(text, call) == {}


def test_many_values_are_not_compared_with_each_other() -> None:
    readings = Readings(calls=[{}])
    text = "class A: pass\na = A()\ndef f():\n    for a.at in range(5000):\n        a.at"
    with in_effect(readings):
        loaded(text, readings)["f"]()
    (values,) = readings.calls[0].values()
    assert len(values) == 2


def test_an_argument_is_read_as_it_comes_whatever_a_rewrite_does_with_it() -> None:
    before = ast.parse("def pooled(x, fill):\n    return x + fill\ndef f(x):\n    return pooled(x, 0.5)")
    after = ast.parse(
        "def pooled(x, fill):\n    fill = fill + 0\n    return x + fill\ndef f(x):\n    return pooled(x, float(0.5))"
    )
    for tree in (before, after):
        names: dict[str, Any] = {}
        exec(compile(with_readings(tree, arguments_of(before)), "read.py", "exec"), names)
        with in_effect(Readings(changes={Read("argument of pooled", "fill"): (0.5, 0.25)})):
            assert names["f"](1.0) == 1.25
        before = ast.parse("def pooled(x, fill):\n    return x + fill\ndef f(x):\n    return pooled(x, 0.5)")


class Silent:
    """Called, and not to be written out."""

    def __call__(self) -> float:
        return 0.5

    def __repr__(self) -> str:
        raise RuntimeError("not written")


def test_what_is_called_is_not_written_out_by_the_user() -> None:
    readings = Readings(calls=[{}])
    assert readings.called(1, Silent()) == 0.5
    assert [str(read) for read, _ in readings.calls[0]] == ["Silent()"]
