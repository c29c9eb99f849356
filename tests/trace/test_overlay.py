"""Candidate text takes effect in place where only functions differ, and by importing anew otherwise."""

from __future__ import annotations

import gc
import importlib
import inspect
import sys
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ddelint.trace import overlay

pytestmark = pytest.mark.usefixtures("clean_imports")

SOURCE = """\
import math
LIMIT = 3

def area(r):
    return math.pi * r

def counter():
    seen = []
    def count(x):
        seen.append(x)
        return len(seen)
    return count

class Base:
    def forward(self, x):
        return "base"

class Layer(Base):
    scale = 2

    def __init__(self):
        self.extra = 10

    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        self.extra = value

    def forward(self, x, add=1):
        return x * self.scale + add

    @staticmethod
    def half(x):
        return x / 2
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Any]:
    """`load(text)` imports it as module `overlaid`."""

    def load_module(text: str = SOURCE, name: str = "overlaid") -> Any:
        path = tmp_path / (name.replace(".", "/") + ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        if str(tmp_path) not in sys.path:
            sys.path.insert(0, str(tmp_path))
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return load_module


def changed(module: Any, old: str, new: str, text: str = SOURCE) -> dict[str, str]:
    assert old in text
    return {module.__file__: text.replace(old, new)}


def test_nothing_to_do(load: Callable[..., Any]) -> None:
    module = load()
    assert overlay.install({}) == "none"
    assert overlay.install({module.__file__: SOURCE}) == "none"


def test_live_objects_get_the_new_code(load: Callable[..., Any]) -> None:
    module = load()
    layer, area, bound = module.Layer(), module.area, module.Layer().forward
    texts = changed(module, "return x * self.scale + add", "y = x\n        return y - add")
    texts = {module.__file__: texts[module.__file__].replace("math.pi * r", "-r")}
    assert overlay.install(texts) == "swap"
    assert layer.forward(5) == 4
    assert bound(5) == 4
    assert area(2) == -2


def test_closures_get_the_new_code_and_keep_their_cells(load: Callable[..., Any]) -> None:
    module = load()
    count = module.counter()
    count(1)
    assert overlay.install(changed(module, "return len(seen)", "return -len(seen)")) == "swap"
    assert count(1) == -2
    assert module.counter()(1) == -1


def test_functions_that_only_moved_know_their_new_lines(load: Callable[..., Any]) -> None:
    module = load()
    assert overlay.install(changed(module, "LIMIT = 3\n", "LIMIT = 3\n\n\n\n")) == "swap"
    assert module.area.__code__.co_firstlineno == 7
    assert inspect.getsource(module.area) == "def area(r):\n    return math.pi * r\n"


def test_the_modules_loader_gives_the_new_text(load: Callable[..., Any]) -> None:
    module = load()
    texts = changed(module, "math.pi * r", "-r")
    assert overlay.install(texts) == "swap"
    assert module.__spec__.loader.get_source(module.__name__) == texts[module.__file__]


def test_tracebacks_show_the_new_text(load: Callable[..., Any]) -> None:
    module = load()
    overlay.install(changed(module, "return math.pi * r", "raise ValueError  # new"))
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        module.area(1)
    assert "raise ValueError  # new" in "".join(traceback.format_exception(caught.value))


def test_additions(load: Callable[..., Any]) -> None:
    module = load()
    text = SOURCE.replace("import math\n", "import math\nimport cmath as c\nfrom os import sep\n")
    text = text.replace(
        "def area(r):\n    return math.pi * r",
        "_TABLE = (7, 8)\n\ndef _helper(r):\n    return r, sep\n\ndef area(r):\n    return _helper(r), c.pi, _TABLE",
    )
    assert overlay.install({module.__file__: text}) == "swap"
    assert module.area(1)[2] == (7, 8)
    assert module._helper.__code__.co_firstlineno == text[: text.index("def _helper")].count("\n") + 1


def test_an_option_of_another_module_is_set_without_importing_anew(load: Callable[..., Any]) -> None:
    module = load(SOURCE)
    config = SimpleNamespace(allowed=False)
    module.torch = SimpleNamespace(part=SimpleNamespace(config=config))
    text = SOURCE.replace("LIMIT = 3", "LIMIT = 3\ntorch.part.config.allowed = True")
    assert overlay.install({module.__file__: text}) == "swap"
    assert config.allowed


def test_what_else_is_set_may_be_read_by_what_follows(load: Callable[..., Any]) -> None:
    module = load(SOURCE)
    text = SOURCE.replace("LIMIT = 3", "math.inner.pi = 3\nLIMIT = 3")
    assert overlay.install({module.__file__: text}) == "fresh"


def test_an_added_class_and_what_completes_an_added_operator(load: Callable[..., Any]) -> None:
    module = load()
    added = """
formulas = {}

def _doubled(x):
    return 2 * x

formulas.setdefault("backward", _doubled)

class _Outlined:
    scale = LIMIT

    def forward(self, x):
        return formulas["backward"](x) * self.scale

def area(r):"""
    assert overlay.install(changed(module, "\ndef area(r):", added)) == "swap"
    assert module._Outlined().forward(4) == 24
    assert module._Outlined.__module__ == "overlaid"


def test_a_new_method_may_use_super(load: Callable[..., Any]) -> None:
    module = load()
    layer = module.Layer()
    texts = changed(
        module,
        "    @staticmethod",
        "    def plain(self, x):\n        return super().forward(x)\n\n    @staticmethod",
    )
    assert overlay.install(texts) == "swap"
    assert layer.plain(1) == "base"


def test_changed_constant_defaults(load: Callable[..., Any]) -> None:
    module = load()
    layer = module.Layer()
    assert overlay.install(changed(module, "x, add=1)", "x, add=5, *, sign=-1)")) == "swap"
    assert layer.forward(1) == 7


def test_a_removed_import_may_stay(load: Callable[..., Any]) -> None:
    module = load("import math\nimport os\n\ndef f():\n    return 1\n")
    assert overlay.install({module.__file__: "import math\n\ndef f():\n    return 2\n"}) == "swap"
    assert module.f() == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("scale = 2", "scale = 3"),
        ("class Layer(Base)", "class Layer"),
        ("    @staticmethod\n    def half(x)", "    @classmethod\n    def half(cls, x)"),
        ("def forward(self, x, add=1)", "def forward(self, x, add=LIMIT)"),
        ("seen.append(x)\n        return len(seen)", "return x"),
        ("\n\nclass Base", "\n\nprint()\n\nclass Base"),
        ("\n\nclass Base", "\n\nmath.floor(2.5)\n\nclass Base"),
    ],
)
def test_what_cannot_be_swapped_is_imported_anew(load: Callable[..., Any], old: str, new: str) -> None:
    module = load()
    closure = module.counter()
    assert overlay.install(changed(module, old, new)) == "fresh"
    again = importlib.import_module("overlaid")
    assert again is not module
    assert new.strip() in inspect.getsource(again)
    assert closure(1) == 1


def test_code_that_a_decorator_has_captured_is_imported_anew(load: Callable[..., Any]) -> None:
    text = "def jit(f):\n    return f\n\n@jit\ndef kernel(x):\n    return 1\n\ndef plain(x):\n    return 1\n"
    module = load(text)
    assert (
        overlay.install(changed(module, "def plain(x):\n    return 1", "def plain(x):\n    return 2", text)) == "swap"
    )
    assert overlay.install(changed(module, "kernel(x):\n    return 1", "kernel(x):\n    return 2", text)) == "fresh"


def test_fresh_can_be_asked_for(load: Callable[..., Any]) -> None:
    module = load()
    assert overlay.install(changed(module, "math.pi * r", "-r"), fresh=True) == "fresh"
    assert importlib.import_module("overlaid").area(1) == -1
    assert module.area(1) > 3


def test_fresh_reaches_who_imported_it(load: Callable[..., Any]) -> None:
    load("", "pack.__init__")
    base = load("def f():\n    return 1\n", "pack.base")
    load("from pack.base import f\n", "pack.user")
    load("from pack.user import f\n", "outside")
    overlay.install({base.__file__: "def f():\n    return 2\n"}, fresh=True)
    assert importlib.import_module("outside").f() == 2
    assert importlib.import_module("pack.user").f() == 2
    assert importlib.import_module("pack").base.f() == 2


def test_a_module_that_is_not_loaded_yet(load: Callable[..., Any], tmp_path: Path) -> None:
    load()
    later = tmp_path / "later.py"
    later.write_text("value = 1\n")
    overlay.install({str(later): "value = 2\n"})
    assert importlib.import_module("later").value == 2
    assert later.read_text() == "value = 1\n"


def test_one_overlay_after_another_and_back(load: Callable[..., Any]) -> None:
    module = load()
    before = module.area(1)
    assert overlay.install(changed(module, "math.pi * r", "-r")) == "swap"
    assert overlay.install(changed(module, "math.pi * r", "-2 * r")) == "swap"
    assert module.area(1) == -2
    assert overlay.install({module.__file__: SOURCE}) == "swap"
    assert module.area(1) == before


def test_text_that_does_not_parse_changes_nothing(load: Callable[..., Any]) -> None:
    module = load()
    with pytest.raises(SyntaxError):
        overlay.install({module.__file__: "def area(:\n"})
    assert module.area(1) > 3
    assert inspect.getsource(module) == SOURCE


def test_future_imports_hold_for_additions(load: Callable[..., Any]) -> None:
    text = "from __future__ import annotations\n\ndef f():\n    return 1\n"
    module = load(text)
    assert overlay.install({module.__file__: text + "\ndef g(x: Nothing) -> Nothing:\n    return x\n"}) == "swap"
    assert module.g.__annotations__ == {"x": "Nothing", "return": "Nothing"}


def test_windows_newlines_and_encodings(load: Callable[..., Any], tmp_path: Path) -> None:
    load()
    path = tmp_path / "coded.py"
    path.write_bytes("# -*- coding: latin-1 -*-\r\ndef f():\r\n    return 'é'\r\n".encode("latin-1"))
    importlib.invalidate_caches()
    module = importlib.import_module("coded")
    text = "# -*- coding: latin-1 -*-\r\ndef f():\r\n    return 'èé'\r\n"
    assert overlay.install({str(path): text}) == "swap"
    assert module.f() == "èé"
    assert overlay.install({str(path): text.replace("èé", "ü")}, fresh=True) == "fresh"
    assert importlib.import_module("coded").f() == "ü"


@pytest.mark.parametrize("loaded_again", [None, "json"])
@pytest.mark.parametrize("gone", [None, "textwrap"])
def test_modules_that_came_later_are_noted(
    monkeypatch: pytest.MonkeyPatch, loaded_again: str | None, gone: str | None
) -> None:
    """Whatever has become of the last one that was there before."""
    known = {name: importlib.import_module(name) for name in ("sys", "textwrap", "json")}
    modules = dict(known)
    monkeypatch.setattr(overlay, "sys", SimpleNamespace(modules=modules))
    monkeypatch.setattr(overlay, "_known", {})
    monkeypatch.setattr(overlay, "_names", {})
    overlay.note_modules()
    for name in filter(None, (loaded_again, gone)):
        del modules[name]
    modules["user.model"] = inspect
    if loaded_again is not None:
        modules[loaded_again] = known[loaded_again]
    overlay.note_modules()
    assert list(overlay._known) == [*known, "user.model"]
    assert overlay._names[overlay._real(str(inspect.__file__))] == ["user.model"]


def test_functions_are_found_before_and_after_what_is_there_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filename = str(tmp_path / "made.py")
    made: dict[str, Any] = {}
    exec(compile("def make():\n    def inner(): pass\n    return inner\n", filename, "exec"), made)
    monkeypatch.setattr(overlay, "_MANY", 0)
    overlay.note_functions()
    try:
        early = made["make"]()
        found = overlay.live_functions({filename})
        late = made["make"]()
        again = overlay.live_functions({filename})
    finally:
        overlay.forget_functions()
    assert {id(made["make"]), id(early)} == set(map(id, found))
    assert {id(made["make"]), id(early), id(late)} == set(map(id, again))


def test_garbage_is_not_kept_with_what_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ring:
        def __init__(self) -> None:
            self.own = self

    monkeypatch.setattr(overlay, "_MANY", 0)
    overlay.note_functions()
    enabled = gc.isenabled()
    gc.disable()
    try:
        ring = weakref.ref(Ring())
        assert ring() is not None
        overlay.live_functions(set())
        assert ring() is None
    finally:
        overlay.forget_functions()
        if enabled:
            gc.enable()
