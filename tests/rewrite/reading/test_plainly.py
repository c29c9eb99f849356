"""What the text plainly says of what is put under a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from ddelint.rewrite.reading import plainly
from ddelint.sources.source import SourceFile

COUNT = 20
TEXT = "class Net:\n    def __init__(self, n):\n" + "".join(
    f"        self.a{i}, (self.b{i}, c{i}) = n, ([], {i})\n        d{i}: int = self.a{i}\n" for i in range(COUNT)
)


def test_what_is_put_under_a_name() -> None:
    source = SourceFile("net.py", TEXT)
    names = {n.id: n for n in ast.walk(source.tree) if isinstance(n, ast.Name)}

    def kept(name: str) -> list[str]:
        return [ast.unparse(value) for value in plainly.kept_under(source, names["self"], name)]

    def put(name: str) -> list[str]:
        return [ast.unparse(value) for value in plainly.values_of(source, names[name], name)]

    assert (kept("a3"), kept("b3"), kept("c3")) == (["n"], ["[]"], [])
    assert (put("d7"), put("n"), put("c7")) == (["self.a7"], ["n"], [])


def test_many_names_of_one_function_take_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SourceFile("net.py", TEXT)
    names = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name)]
    walked: list[str] = []
    walk = ast.walk

    def noted(node: ast.AST) -> Iterator[ast.AST]:
        walked.append(type(node).__name__)
        return walk(node)

    monkeypatch.setattr(plainly.ast, "walk", noted)
    for node in names:
        list(plainly.values_of(source, node, node.id))
        list(plainly.kept_under(source, node, "a1"))
    assert (walked.count("FunctionDef"), walked.count("ClassDef")) == (1, 1)


def given_number(text: str) -> bool:
    """Whether what the one call of `g` in the text is given is plainly a number."""
    source = SourceFile("net.py", text)
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    return plainly.is_number(source, next(call.args[0] for call in calls if ast.unparse(call.func) == "g"))


NUMBERS = {
    "keys": "def f(x):\n    rates = {1: x, 2: -x}\n    for k in rates:\n        g(k)\n",
    "values": "rates = {'a': 0.1}\ndef f():\n    for k in rates.values():\n        g(k)\n",
    "items": "rates = {'a': 0.1}\ndef f():\n    for k, rate in rates.items():\n        g(rate)\n",
    "subscript": "rates = {'a': 0.1}\ndef f(k):\n    g(rates[k])\n",
    "two names": "def f():\n    sizes = [1, 2]\n    others = sizes\n    g(others[0])\n",
    "a cycle that begins with numbers": "def f():\n    a = [1, 2]\n    b = a\n    a = b\n    g(b[0])\n",
    "an attribute": "class A:\n    rates = [0.1]\n    def f(self, i):\n        g(self.rates[i])\n",
    "looked into": "def f(x):\n    rates = [0.0, 1]\n    n = rates.index(x)\n    g(rates[n])\n",
    "changed elsewhere": "def f(x):\n    rates = [1]\n    g(rates[0])\ndef h(rates, x):\n    rates.append(x)\n",
    "math": "def f(x):\n    g(math.prod(2) + math.sqrt(x))\n",
}
NONE = {
    "keys": "rates = {'a': 0.1}\ndef f():\n    for k in rates:\n        g(k)\n",
    "values": "def f(x):\n    rates = {1: x}\n    for k in rates.values():\n        g(k)\n",
    "another dictionary inside": "def f(rest):\n    rates = {1: 2, **rest}\n    for k in rates:\n        g(k)\n",
    "a piece": "def f():\n    rates = [0.0, 1]\n    g(rates[1:])\n",
    "appended": "def f(x):\n    rates = [0.0]\n    rates.append(x.mean())\n    g(rates[-1])\n",
    "added": "def f(x):\n    rates = {0.0}\n    rates.add(x.mean())\n    for rate in rates:\n        g(rate)\n",
    "put in": "def f(x):\n    rates = [0.0]\n    rates[0] = x.mean()\n    g(rates[0])\n",
    "made longer": "def f(x):\n    rates = [0.0]\n    rates += [x.mean()]\n    g(rates[0])\n",
    "of the file": "rates = [0.0]\ndef f(x):\n    g(rates[-1])\ndef h(x):\n    rates.append(x)\n",
    "of the object": (
        "class A:\n    rates = [0.0]\n    def f(self):\n        g(self.rates[0])\n"
        "    def h(self, x):\n        self.rates.insert(0, x)\n"
    ),
    "a cycle": "def f(a, b):\n    a = b\n    b = a\n    g(a[0])\n",
    "math": "def f(x):\n    g(math.prod(x))\n",
}


@pytest.mark.parametrize("text", NUMBERS.values(), ids=NUMBERS)
def test_plainly_a_number(text: str) -> None:
    assert given_number(text)


@pytest.mark.parametrize("text", NONE.values(), ids=NONE)
def test_not_plainly_a_number(text: str) -> None:
    assert not given_number(text)


def test_each_name_of_a_circle_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(a, b):\n" + "    a = b\n    b = a\n" * 20 + "    g(a[0])\n"
    asked: list[str] = []
    values_of = plainly.values_of

    def noted(source: SourceFile, node: ast.Name, name: str) -> Iterator[ast.AST]:
        asked.append(name)
        assert len(asked) < 100
        return values_of(source, node, name)

    monkeypatch.setattr(plainly, "values_of", noted)
    assert not given_number(text)
    assert asked
