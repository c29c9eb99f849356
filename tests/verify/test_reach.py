"""State beside the module's own, and that no run sees what another left there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import rich.table
import torch

from ddelint.nouns.protocol import Comparison, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify.eager import compare
from ddelint.verify.frozen import Container, Freezer, Opaque
from ddelint.verify.reach import Watch

Program = Callable[..., Entry]

STATES = {
    "a module global": ('STATS = {"full": 0}', 'STATS["full"] += 1', "global STATS"),
    "a global number": ("SEEN = 0", "global SEEN; SEEN += 1", "global SEEN"),
    "a class attribute": ("class Counts:\n    seen = 0", "Counts.seen += 1", "class Counts.seen"),
    "a table that loads what it is asked for": (
        "import collections\n\nclass Lazy(collections.OrderedDict):\n    def __init__(self, names):\n"
        "        self.names = names\n\n    def __iter__(self):\n        return iter(self.names)\n\n"
        "    def __getitem__(self, name):\n        raise ImportError(name)\n\n    def values(self):\n"
        "        raise ImportError\n\n    def clear(self):\n        raise TypeError\n\nLAZY = Lazy(['a'])",
        "LAZY['full'] = 1",
        "global LAZY",
    ),
    "a meter": (
        "class Meter:\n    def __init__(self):\n        self.count = 0\n\n    def update(self, n):\n"
        "        self.count += n\n\nMETER = Meter()",
        "METER.update(1)",
        "global METER",
    ),
    "a dataclass of fields alone": (
        "import dataclasses\n\n@dataclasses.dataclass\nclass Seen:\n    count: int = 0\n\nSEEN = Seen()",
        "SEEN.count += 1",
        "global SEEN",
    ),
    "a meter whose methods a library decorates": (
        "class Meter:\n    @torch.no_grad()\n    def update(self):\n"
        "        self.count = 1 + getattr(self, 'count', 0)\n\nMETER = Meter()",
        "METER.update()",
        "global METER",
    ),
    "a meter with slots": (
        "class Meter:\n    __slots__ = ('count',)\n    def __init__(self):\n        self.count = 0\n\n"
        "    def update(self):\n        self.count += 1\n\nMETER = Meter()",
        "METER.update()",
        "global METER",
    ),
    "modules in a list": ("NORMS = [torch.nn.BatchNorm1d(3)]", "NORMS[0](x)", "global NORMS"),
    "a tensor in a tuple": ("TOTALS = (torch.zeros(3),)", "TOTALS[0].add_(1)", "global TOTALS"),
    "a helper's global": ("LOG = []\n\ndef note():\n    LOG.append(1)", "note()", "global LOG"),
    "a queue": ("import collections\nLAST = collections.deque([0], 2)", "LAST.append(3)", "global LAST"),
    "a counter": ("import itertools\nIDS = itertools.count()", "next(IDS)", "global IDS"),
    "a default argument": ("def note(seen=[]):\n    seen.append(1)", "note()", "the default 0 of note"),
    "a closure": (
        "def make():\n    seen = []\n    def note():\n        seen.append(1)\n    return note\n\nnote = make()",
        "note()",
        "seen in make.<locals>.note",
    ),
    "a cache": (
        "import functools\n\n@functools.lru_cache\ndef table(n):\n    return n * 2",
        "table(x.shape[0])",
        "the cache of table",
    ),
    "an object on the module": (
        "class Meter:\n    count = 0\n\n    def go(self):\n        self.count += 1",
        "self.m.go()",
        "self.m",
    ),
    "a context variable": (
        "import contextvars\nEVENTS = contextvars.ContextVar('events', default=[])",
        "EVENTS.get().append(1)",
        "global EVENTS",
    ),
    "a context variable that is set": (
        "import contextvars\nDEPTH = contextvars.ContextVar('depth', default=0)",
        "DEPTH.set(DEPTH.get() + 1)",
        "global DEPTH",
    ),
    "what a thread has for itself": (
        "import threading\nOWN = threading.local()\nOWN.count = 0",
        "OWN.count += 1",
        "global OWN",
    ),
    "a namespace": ("import types\nSEEN = types.SimpleNamespace(count=0)", "SEEN.count += 1", "global SEEN"),
    "an attribute of a function": (
        "def note():\n    note.count += 1\n\nnote.count = 0",
        "note()",
        "the attributes of note",
    ),
    "an object that is called": (
        "class Counted:\n    def __init__(self):\n        self.count = 0\n\n"
        "    def __call__(self):\n        self.count += 1\n\nNOTE = Counted()",
        "NOTE()",
        "global NOTE",
    ),
    "a decorator that counts": (
        "class counted:\n    def __init__(self, function):\n        self.function, self.count = function, 0\n\n"
        "    def __call__(self, x):\n        self.count += 1\n        return self.function(x)\n\n"
        "@counted\ndef same(x):\n    return x",
        "same(x)",
        "global same",
    ),
    "a dataclass with more than its fields": (
        "import dataclasses\n\n@dataclasses.dataclass\nclass Log:\n    limit: int = 0\n\n"
        "    def __post_init__(self):\n        self.rows = []\n\nLOG = Log()",
        "LOG.rows.append(1)",
        "global LOG",
    ),
    "a list with attributes": (
        "class History(list):\n    best = 0\n\nSEEN = History()",
        "SEEN.best = 5",
        "global SEEN",
    ),
    "a dictionary with attributes": (
        "class Table(dict):\n    pass\n\nSEEN = Table()\nSEEN.hits = 0",
        "SEEN.hits += 1",
        "global SEEN",
    ),
    "an array": ("import array\nTOTALS = array.array('d', [0.0])", "TOTALS[0] += 1", "global TOTALS"),
    "an array of numpy's": ("import numpy\nTOTALS = numpy.zeros(2)", "TOTALS[0] += 1", "global TOTALS"),
    "bytes": ("FLAGS = bytearray(2)", "FLAGS[0] = 1", "global FLAGS"),
    "a text that is written to": ("import io\nLOG = io.StringIO()", "LOG.write('x')", "global LOG"),
    "a generator": (
        "def numbers():\n    n = 0\n    while True:\n        n += 1\n        yield n\n\nIDS = numbers()",
        "next(IDS)",
        "global IDS",
    ),
    "turns": ("import itertools\nTURNS = itertools.cycle([1, 2, 3])", "next(TURNS)", "global TURNS"),
    "what waits for others": ("import queue\nWAITING = queue.Queue()", "WAITING.put(1)", "global WAITING"),
    "what is held weakly": (
        "import weakref\n\nclass Key:\n    pass\n\nKEY = Key()\nSEEN = weakref.WeakKeyDictionary()",
        "SEEN[KEY] = 1",
        "global SEEN",
    ),
    "a bound method": (
        "class Meter:\n    count = 0\n\n    def go(self):\n        self.count += 1\n\nNOTE = Meter().go",
        "NOTE()",
        "global NOTE",
    ),
    "a bound method of a list": ("NOTE = [].append", "NOTE(1)", "global NOTE"),
    "arguments that are given already": (
        "import functools\n\ndef note(log):\n    log.append(1)\n\nNOTE = functools.partial(note, [])",
        "NOTE()",
        "global NOTE",
    ),
    "keywords that are given already": (
        "import functools\n\nNOTE = functools.partial(dict, count=1)",
        "NOTE.keywords['count'] += 1",
        "global NOTE",
    ),
    "an attribute of what arguments are given to already": (
        "import functools\n\nNOTE = functools.partial(dict)\nNOTE.count = 1",
        "NOTE.count += 1",
        "global NOTE",
    ),
    "a private number of a module in a list": (
        "class Own(torch.nn.Module):\n    _seen = 0\n\n    def forward(self, x):\n        self._seen += 1\n"
        "        return x\n\nNORMS = [Own()]",
        "NORMS[0](x)",
        "global NORMS",
    ),
}


def text(before: str, block: str, otherwise: str = "pass") -> str:
    return f"""
{before}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.m = Meter() if "Meter" in globals() else None

    def forward(self, x, mask):
        if mask.any():
            {block}
            x = x * 2
        else:
            {otherwise}
        return x


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(4, 3, generator=g), torch.rand(3, generator=g) > 0.6
"""


def compared(program: Program, options: SessionOptions, original: str, rewritten: str) -> Comparison:
    first = program(original)
    return compare(first, lambda: program(rewritten), (), options, 8, True)


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_an_arm_that_stores_elsewhere_is_seen(
    program: Program, options: SessionOptions, state: tuple[str, str, str]
) -> None:
    before, block, name = state

    found = compared(program, options, text(before, block), text(before, "pass"))

    assert not found.equal
    assert {m.aspect for m in found.mismatches} == {"mutation"}
    assert any(name in f"{m.expected} {m.got}" for m in found.mismatches), found.mismatches


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_what_is_stored_alike_is_the_same(
    program: Program, options: SessionOptions, state: tuple[str, str, str]
) -> None:
    before, block, _ = state

    found = compared(
        program,
        options,
        text(before, block),
        text(before, f"_ = x.sum(); {block}".replace("; global", "\n            global")),
    )

    assert found.equal, found.mismatches
    assert found.mismatches == ()


def test_what_the_rewritten_program_alone_keeps_is_no_effect(program: Program, options: SessionOptions) -> None:
    number = "import itertools\n_number = itertools.count()"

    found = compared(program, options, text("", "pass"), text(number, "next(_number)"))

    assert found.equal, found.mismatches
    assert found.mismatches == ()


def test_a_run_does_not_see_what_another_left(program: Program, options: SessionOptions) -> None:
    before = "SEEN = []"
    block = "SEEN.append(1); x = x + len(SEEN)"

    found = compared(program, options, text(before, block), text(before, block + "; x = x + 0.0"))

    assert found.failure is None
    assert found.equal, found.mismatches


def test_what_compiled_code_leaves_out_is_told(program: Program, options: SessionOptions) -> None:
    before, block = 'STATS = {"full": 0}', 'STATS["full"] += 1'
    eager_only = "if not torch.compiler.is_compiling(): " + block

    found: Any = compared(program, options, text(before, block), text(before, eager_only))

    assert found.equal
    assert {(m.where, m.aspect) for m in found.mismatches} == {("traced path", "side effect")}


class Asked(type):
    """Raises what it likes for a name that it hasn't, as containers of injected dependencies do."""

    def __getattr__(cls, name: str) -> None:
        raise RuntimeError(name)


class Injected(metaclass=Asked):
    def __getattr__(self, name: str) -> None:
        raise KeyError(name)


class Proxy:
    """Has an answer to every name, which is no function: what a call of it raises is not the program's."""

    def __getattr__(self, name: str) -> Proxy:
        return Proxy()


def test_what_raises_or_answers_whatever_it_is_asked_for_is_held_like_the_rest() -> None:
    for value in (Injected, Injected(), [Injected()], Proxy(), [Proxy()]):
        assert Freezer().freeze(value) == Freezer().freeze(value)
        Watch(value, torch.nn.Linear(1, 1))


_UNASKED = """
import collections


class Unasked:
    def __len__(self):
        raise NotImplementedError

    def __iter__(self):
        raise NotImplementedError

    def values(self):
        raise NotImplementedError


class Refusing(Unasked, {kind}):
    pass


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = Refusing([(1, {value})])
        self.deep = [self.parts]

    def forward(self, x):
        return x + 1, self.parts


def make_inputs(seed):
    return (torch.ones(2),)
"""


@pytest.mark.parametrize("kind", ["tuple", "list", "set", "dict", "collections.deque"])
def test_a_container_that_refuses_to_be_read_is_read_all_the_same(
    kind: str, program: Program, options: SessionOptions
) -> None:
    one, other = (_UNASKED.format(kind=kind, value=value) for value in (1, 2))

    assert compared(program, options, one, one).equal
    assert not compared(program, options, one, other).equal


def test_modules_that_an_object_holds_are_not_gone_through() -> None:
    class Backend:
        def __init__(self) -> None:
            self.torch = torch
            self.name = "torch"

    frozen = Freezer(modules=True).freeze({"backend": Backend()})

    assert isinstance(frozen, Container)
    backend = frozen.parts[0]
    assert isinstance(backend, Container)
    assert backend.keys == ("torch", "name")
    assert isinstance(backend.parts[0], Opaque)


def test_what_torch_keeps_beside_an_exported_graph_is_no_state() -> None:
    exported = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(3, 2),)).module()
    module = torch.nn.Sequential(exported)
    assert isinstance(exported, torch.fx.GraphModule)
    module.seen = [[module]]  # what is no plain data is looked at here

    names = Watch(module, module).names
    assert "self.seen" in names
    assert [name for name in names if name.startswith("self.0.") and "_guards_fn" not in name] == []


def test_packages_of_another_environment_are_libraries(tmp_path: Path) -> None:
    """A virtual environment may see the packages of another one (`--system-site-packages`, a `.pth` file)."""
    other = tmp_path / "other" / "site-packages"
    for file in (other / "lib.py", tmp_path / "src" / "own.py"):
        file.parent.mkdir(parents=True)
        file.write_text("def f():\n    pass\n")
    code = (
        "from ddelint.verify.reach import is_users; "
        f"print(is_users({str(other / 'lib.py')!r}), is_users({str(tmp_path / 'src' / 'own.py')!r}))"
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(other), str(tmp_path / "src"), *sys.path]))

    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    assert found.stdout.split() == ["False", "True"]


class Settings:
    def __init__(self) -> None:
        self.rates, self.name = [0.5], "plain"


class Part(torch.nn.Module):
    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.settings.rates[0]


class Parts(Part):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.first, self.second = Part(settings), Part(Settings())


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is frozen from now on."""
    values: list[object] = []
    freeze = Freezer.freeze

    def noted(self: Freezer, value: object, depth: int = 0) -> object:
        values.append(value)
        return freeze(self, value, depth)

    monkeypatch.setattr(Freezer, "freeze", noted)
    return values


def test_what_several_parts_hold_is_looked_at_once_and_seen_in_each(frozen: list[object]) -> None:
    shared = Settings()
    model = Parts(shared)
    watch = Watch(model, model)
    assert sum(value is shared for value in frozen) == 1
    assert watch.changes() == {}
    shared.rates.append(2.0)
    assert set(watch.changes()) == {"self.settings", "self.first.settings"}
    model.second.settings.name = "other"
    assert set(watch.changes()) == {"self.settings", "self.first.settings", "self.second.settings"}


def test_another_object_in_the_place_of_one_that_is_gone_is_a_change() -> None:
    model = Part(Settings())
    watch = Watch(model, model)
    model.settings = Settings()
    assert watch.changes() == {}, "it holds the same"
    model.settings.rates = [0.25]
    assert set(watch.changes()) == {"self.settings"}


def test_a_tuple_is_as_changed_as_its_parts() -> None:
    model = Part(Settings())
    model.pair = (model.settings, [1, {"a": 2}])
    watch = Watch(model, model)
    assert watch.changes() == {}
    model.pair[1][1]["a"] = 3
    assert set(watch.changes()) == {"self.pair"}


def test_an_object_of_a_library_that_is_written_in_python_is_looked_at_anew_where_it_changed(
    frozen: list[object],
) -> None:
    """A configuration; of an object of another language, or one that leads to everything, only its contents say."""
    table = rich.table.Table(title="rates")
    model = Part(Settings())
    model.held, model.drawn = [table], [numpy.random.default_rng(0).bit_generator]
    watch = Watch(model, model)
    frozen.clear()
    assert watch.changes() == {}
    assert not any(value is table for value in frozen)
    assert any(value is model.drawn for value in frozen)
    table.columns.append(rich.table.Column())
    assert set(watch.changes()) == {"self.held"}
    table.columns.pop()
    table.title = "shares"
    assert set(watch.changes()) == {"self.held"}
