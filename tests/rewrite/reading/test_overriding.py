"""Methods that subclasses have of their own, where a rewritten function calls them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from control_flow import context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.reading.overriding import overridden

BASE = """\
import torch


class Base(torch.nn.Module):
    def forward(self, x):
        x = self.before(x)
        for row in x:
            row = self.each(row)
            if row.sum() > 0:
                x = self.after(x)
        return x


"""
HEIR = "class Heir(Base):\n    def {}(self, x):\n        return x\n"


def found(text: str, run: Collection[str] = (), filename: str = "model.py") -> str:
    return overridden(context_of(text, "row.sum() > 0", code="DDE105", filename=filename).site, run)


@pytest.mark.parametrize(("method", "is_named"), [("after", True), ("each", True), ("before", False), ("other", False)])
def test_a_method_that_is_called_from_the_statement_on(method: str, is_named: bool) -> None:
    assert (f"`Heir` has a `{method}` of its own" in found(BASE + HEIR.format(method))) is is_named


def test_one_that_was_run_says_what_it_does() -> None:
    assert found(BASE + HEIR.format("after"), run=("model.py::Heir.after",)) == ""


def test_so_does_one_that_a_method_calls() -> None:
    method = "    def after(self, x):\n        return self.inner(x)\n\n\n"
    assert found(BASE.rstrip() + "\n\n" + method + HEIR.format("inner")).startswith("`Heir` has a `inner` of its own")


def test_classes_made_of_the_heir_count() -> None:
    text = BASE + HEIR.format("other") + "\n\n" + HEIR.format("after").replace("Heir(Base)", "Last(Heir)")
    assert found(text).startswith("`Last` has a `after` of its own")


def test_so_do_those_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "heirs.py").write_text(f"from model import Base\n\n\n{HEIR.format('after')}")
    (tmp_path / "model.py").write_text(BASE)
    assert "(line 5 of heirs.py), which was not run" in found(BASE, filename=str(tmp_path / "model.py"))


READ = BASE.replace("x = self.after(x)", "x = x + {}")
PROPERTY = "class Heir(Base):\n    @property\n    def fill(self):\n        return 1.0\n"


@pytest.mark.parametrize("read", ["self.fill", "list(map(self.fill, x))[0]", "torch.full((3,), self.fill)"])
def test_a_property_that_is_read_and_a_method_that_is_handed_on_count(read: str) -> None:
    assert found(READ.format(read) + PROPERTY).startswith("`Heir` has a `fill` of its own")
    assert found(READ.format("row") + PROPERTY) == ""
    both = context_of(READ.format(read) + PROPERTY, "row.sum() > 0", code="DDE105", filename="model.py").site
    assert overridden(both, (), calls_alone=True) == "", "where both sides are computed it is read as it was"
    assert found(READ.format(read) + PROPERTY, run=("model.py::Heir.fill",)) == ""


# ---------------------------------------------------------------------- what is put in the place of a method

REPLACED = "something else is put in the place of `after`"


@pytest.mark.parametrize(
    "text",
    [
        "def install():\n    Base.after = _other\n",
        "def install(model):\n    model.after = _other.__get__(model)\n",
        "def install():\n    Base.after, count = _other, 3\n",
        "def install():\n    Base.after: object = _other\n",
        "def install():\n    for Base.after in (_other,):\n        pass\n",
        'setattr(Base, "after", _other)\n',
        'class Strict:\n    def __enter__(self):\n        self.patch = mock.patch.object(Base, "after", _other)\n',
        'Strict = type("Strict", (Base,), {"after": _other})\n',
        "def test_it():\n    with mock.patch.multiple(Base, after=_other):\n        pass\n",
        'def test_it(monkeypatch):\n    monkeypatch.setattr("model.Base.after", _other)\n',
    ],
)
def test_something_else_in_the_place_of_a_method(tmp_path: Path, text: str) -> None:
    method = "    def after(self, x):\n        return x\n\n\n"
    base, other = BASE.rstrip() + "\n\n" + method, "def _other(self, x):\n    raise ValueError\n\n\n"
    assert found(base + other + text).startswith(REPLACED)
    assert found(base + other + text.replace("after", "before")) == "", "what ran before the statement ran anyway"
    (tmp_path / "model.py").write_text(base)
    (tmp_path / "strict.py").write_text(f"from unittest import mock\nfrom model import Base\n\n\n{other}{text}")
    assert "of strict.py)" in found(base, filename=str(tmp_path / "model.py"))


def test_what_the_class_itself_puts_there_counts_and_another_one_does_not() -> None:
    method = (
        "    def after(self, x):\n        return x\n\n    def strict(self):\n        self.after = self.refuse\n\n\n"
    )
    base = BASE.rstrip() + "\n\n" + method
    assert found(base).startswith(REPLACED)
    other = "class Other:\n    def __init__(self):\n        self.after = 3\n"
    assert found(base.replace("self.after = self.refuse", "return self.refuse") + other) == ""
    assert found(base.replace("self.refuse", "refuse"), run=("model.py::refuse",)) == "", "it was run"


@pytest.mark.parametrize(
    "heir",
    [
        "class Heir(Base):\n    after = staticmethod(other)\n",
        "class Heir(Base):\n    after = lambda self, x: x\n",
        "class Mixin:\n    def after(self, x):\n        return x\n\n\nclass Heir(Mixin, Base):\n    pass\n",
    ],
)
def test_an_heir_has_it_of_its_own_in_other_ways(heir: str) -> None:
    base = BASE.rstrip() + "\n\n    def after(self, x):\n        return x\n\n\n"
    assert " has a `after` of its own" in found(base + heir)
    assert found(base + heir.replace("(Mixin, Base)", "(Base, Mixin)").replace("after =", "other =")) == ""


def test_heirs_of_heirs_in_a_third_file_and_mixins_of_a_fourth(tmp_path: Path) -> None:
    (tmp_path / "middle.py").write_text("from model import Base\n\n\nclass Middle(Base):\n    pass\n")
    (tmp_path / "mixins.py").write_text("class Mixin:\n    def after(self, x):\n        return x\n")
    last = "from middle import Middle\nfrom mixins import Mixin\n\n\nclass Last(Mixin, Middle):\n    pass\n"
    (tmp_path / "last.py").write_text(last)
    (tmp_path / "model.py").write_text(BASE)
    assert found(BASE, filename=str(tmp_path / "model.py")).startswith(
        "`Mixin` has a `after` of its own (line 2 of mixins"
    )
    (tmp_path / "last.py").write_text(last.replace("Mixin, ", ""))
    assert found(BASE, filename=str(tmp_path / "model.py")) == ""


POLICY = "class Policy:\n    def fill(self, x):\n        return x\n\n\n"


@pytest.mark.parametrize(
    ("heir", "counts"),
    [
        ("class Strict(Policy):\n    def fill(self, x):\n        raise ValueError\n", True),
        ("class Mild(Policy):\n    pass\n\n\nclass Strict(Mild):\n    fill = refuse\n", True),
        ("class Strict(Policy):\n    def empty(self, x):\n        raise ValueError\n", False),
        ("class Other:\n    def fill(self, x):\n        raise ValueError\n", False),
    ],
)
@pytest.mark.parametrize("said", ["POLICY.get().fill(x)", "self.policy.fill(x)", "policy.fill(x)"])
def test_an_heir_of_what_another_object_is(tmp_path: Path, heir: str, counts: bool, said: str) -> None:
    base = BASE.replace("self.after(x)", said)
    assert found(POLICY + base + heir, ("model.py::Policy.fill",)).startswith("`Strict` has a `fill`") is counts
    ran = ("model.py::Policy.fill", "model.py::Strict.fill", "model.py::refuse")
    assert found(POLICY + base + heir, ran) == ""
    (tmp_path / "policies.py").write_text(POLICY + heir)
    (tmp_path / "model.py").write_text(base)
    run = (f"{tmp_path / 'policies.py'}::Policy.fill",)
    assert ("of policies.py), which was not run" in found(base, run, str(tmp_path / "model.py"))) is counts
    assert found(BASE + POLICY + heir, ("model.py::Policy.fill",)) == "", "it is not called"


@pytest.mark.parametrize("bases", ["Protocol", "typing.Protocol", "Protocol[Row]", "Sized, Protocol", "abc.ABC", ""])
def test_what_stands_for_a_protocol_needs_no_base(tmp_path: Path, bases: str) -> None:
    body = "\n    def fill(self, x):\n        return x\n\n\n"
    (tmp_path / "protocols.py").write_text(f"from typing import Protocol\n\n\nclass Filling({bases}):{body}")
    (tmp_path / "policies.py").write_text(
        f"class Zeros:{body}class Strict:{body}class Other:{body.replace('fill', 'cut')}"
    )
    base = BASE.replace("self.after(x)", "POLICY.get().fill(x)")
    filename = str(tmp_path / "model.py")
    (tmp_path / "model.py").write_text(base)
    (tmp_path / "pyproject.toml").write_text("")
    run = [f"{tmp_path / 'policies.py'}::Zeros.fill"]
    where = "`Strict` has a `fill` of its own (line 7 of policies.py), which was not run"
    assert found(base, run, filename) == (where if "Protocol" in bases else "")
    assert found(base, [*run, f"{tmp_path / 'policies.py'}::Strict.fill"], filename) == ""
    assert found(base.replace("fill", "count"), run, filename) == "", "no protocol declares it"


def test_an_heir_of_what_another_object_is_that_a_method_or_a_function_calls() -> None:
    heir = "class Strict(Policy):\n    def fill(self, x):\n        raise ValueError\n\n\n"
    method = BASE.rstrip() + "\n\n    def after(self, x):\n        return self.policy.fill(x)\n"
    function = BASE.replace("self.after(x)", "filled(x)") + "def filled(x):\n    return POLICY.fill(x)\n"
    for text in (method, function):
        assert found(POLICY + heir + text, ("model.py::Policy.fill",)).startswith("`Strict` has a `fill`")
    inherited = BASE.replace("self.after(x)", "super().fill(x)").replace("torch.nn.Module", "Policy")
    assert found(POLICY + heir + inherited, ("model.py::Policy.fill",)) == "", "an heir's is another object's"
    many = BASE.replace("self.after(x)", "policy.fill(x.abs().any().ceil().clone().cos().cpu().div(2).exp())")
    assert found(POLICY + heir + many, ("model.py::Policy.fill",)).startswith("`Strict` has a `fill`")


@pytest.mark.parametrize(
    ("given", "counts"),
    [("policy", True), ("policy or Policy()", True), ("built(policy)", True), ("Policy()", False)],
)
def test_an_heir_of_a_module_that_is_handed_in_and_called(given: str, counts: bool) -> None:
    policy = POLICY.replace("fill", "forward")
    heir = "class Strict(Policy):\n    def forward(self, x):\n        raise ValueError\n\n\n"
    made = f"    def __init__(self, policy=None):\n        self.policy = {given}\n\n    def forward"
    base = BASE.replace("    def forward", made).replace("self.after(x)", "self.policy(x)")
    fact = TypeFact("module", python_type="model.Policy")
    ran = {"model.py::Policy.forward": {}, "model.py::Base.forward": {"self.policy": fact}}
    assert found(policy + heir + base, ran).startswith("`Strict` has a `forward`") is counts
    parameter = BASE.replace("self, x", "self, x, policy").replace("self.after(x)", "policy(x)")
    seen = {**ran, "model.py::Base.forward": {"policy": fact}}
    assert found(policy + heir + parameter, seen).startswith("`Strict` has a `forward`")
    assert found(policy + heir + base, {**ran, "model.py::Strict.forward": {}}) == ""
    elsewhere = base.replace(made, "    def forward")
    assert found(policy + heir + elsewhere, ran).startswith("`Strict` has a `forward`"), "nothing says who makes it"


def test_a_sibling_of_what_another_object_is() -> None:
    abstract = "class Policy:\n    @abstractmethod\n    def fill(self, x): ...\n\n\n"
    heirs = "".join(
        f"class {name}(Policy):\n    def fill(self, x):\n        return x\n\n\n" for name in ("Zeros", "Strict")
    )
    text = abstract + heirs + BASE.replace("self.after(x)", "policy.fill(x)")
    assert found(text, ("model.py::Zeros.fill",)).startswith("`Strict` has a `fill` of its own")
    assert found(text.replace("Strict(Policy)", "Strict(Other)"), ("model.py::Zeros.fill",)) == ""
    assert found(text, ("model.py::Zeros.fill", "model.py::Strict.fill")) == ""


MADE = BASE.replace("    def forward", "    def __init__(self):\n        self.after = Sum()\n\n    def forward", 1)
POOLS = "class Sum:\n    def forward(self, x):\n        return x\n\n\nclass Largest(Sum):\n    pass\n\n\n"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("def build():\n    model = Base()\n    model.after = Largest()\n    return model\n", True),
        ("def build(kind):\n    model = Base()\n    model.add_module('after', kind())\n    return model\n", True),
        ("def build(model):\n    model._modules['after'] = Largest()\n", True),
        ("def build(model):\n    setattr(model, 'after', Largest())\n", True),
        ("class Heir(Base):\n    def __init__(self):\n        self.after = Largest()\n", True),
        ("class Heir(Base):\n    def __init__(self):\n        self.add_module('after', Largest())\n", True),
        ("def build():\n    model = Base()\n    model.after = Sum()\n    return model\n", False),
        ("def build(model):\n    model.before = Largest()\n", False),
        ("def build(args):\n    args.after = 3\n", False),
        ("class Other:\n    def __init__(self):\n        self.after = Largest()\n", False),
        ("def fit(model):\n    model.after = Largest()\n", False),
    ],
)
def test_a_module_that_somebody_exchanges(tmp_path: Path, text: str, counts: bool) -> None:
    run = ("model.py::Sum.forward", "model.py::fit")
    assert found(POOLS + MADE + text, run).startswith(REPLACED) is counts
    (tmp_path / "model.py").write_text(POOLS + MADE)
    (tmp_path / "tune.py").write_text("from model import Base, Largest, Sum\n\n\n" + text)
    inside = (f"{tmp_path / 'model.py'}::Sum.forward", f"{tmp_path / 'tune.py'}::fit")
    assert ("of tune.py" in found(POOLS + MADE, inside, str(tmp_path / "model.py"))) is counts


CALLING = BASE.replace("self.after(x)", "after(x)") + "def after(x):\n    return x\n\n\n"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("import model\n\nmodel.after = len\n", True),
        ("import model as m\n\nsetattr(m, 'after', len)\n", True),
        ("from model import after\n\n\ndef test(monkeypatch):\n    monkeypatch.setattr('model.after', len)\n", True),
        ("from model import after\n\n\ndef run(args):\n    args.after = 3\n    return after(args)\n", False),
        ("import model\n\nmodel.before = len\nafter = 3\n", False),
        ("import model\n\nvars(model)['after'] = len\n", True),
        ("import model\n\nmodel.__dict__['after'] = len\n", True),
        ("import model\n\nvars(model).update(after=len)\n", True),
        ("import model\n\nfor name in ('after',):\n    setattr(model, name, len)\n", True),
        ("import model\n\nfor name in ('after',):\n    vars(model)[name] = len\n", True),
        ("import model\n\nvars(model).update({n: len for n in ('after',)})\n", True),
        ("import model\n\nvars(model)['before'] = len\nafter = 3\n", False),
        ("import model\n\nglobals()['after'] = model.after\n", False),
        (
            "from model import after\n\n\ndef run(a, name):\n    setattr(a, name, 3)\n    return after(a)\n",
            False,
        ),
    ],
)
def test_a_function_of_the_module_that_is_replaced(tmp_path: Path, text: str, counts: bool) -> None:
    (tmp_path / "model.py").write_text(CALLING)
    (tmp_path / "strict.py").write_text(text)
    assert found(CALLING, filename=str(tmp_path / "model.py")).startswith(REPLACED) is counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ('def use(other):\n    globals()["after"] = other\n', True),
        ("def use(name):\n    globals()[name] = globals()[f'strict_{name}']\n", True),
        ("def use(**others):\n    globals().update(others)\n", True),
        ("def use(name, other):\n    setattr(sys.modules[__name__], name, other)\n", True),
        ('def use(other):\n    globals()["before"] = other\n', False),
        ('def use():\n    globals()["after"]()\n    options.__dict__["x"] = 3\n', False),
    ],
)
def test_so_may_one_be_that_its_own_file_replaces(text: str, counts: bool) -> None:
    assert found(CALLING + text).startswith(REPLACED) is counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ('for name in ("after", "before"):\n    setattr(Base, name, logged(getattr(Base, name)))\n', True),
        ("def watch(model, name):\n    patch.object(Base, name, logged(name))\n", True),
        ("def made(name, body):\n    return type(name, (Base,), body)\n", False),
        ("def put(options, name):\n    setattr(options, name, 3)\n", False),
    ],
)
def test_a_method_under_a_name_that_is_made_at_run_time(text: str, counts: bool) -> None:
    method = "    def after(self, x):\n        return x\n\n\n"
    assert found(BASE.rstrip() + "\n\n" + method + text).startswith(REPLACED) is counts


@pytest.mark.parametrize("text", ["import model\n\nmodel.after = len\n", "patch('model.after', len)\nimport model\n"])
def test_so_does_one_of_the_module_that_a_package_is(tmp_path: Path, text: str) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "model" / "__init__.py").write_text(CALLING)
    (tmp_path / "strict.py").write_text(text)
    assert found(CALLING, filename=str(tmp_path / "model" / "__init__.py")).startswith(REPLACED)
