"""What a function of another file returns is what it makes of the arguments of the call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from across import Tree

from ddelint.static.domain.values import Function
from ddelint.static.program.project import Project
from ddelint.static.reading import read
from ddelint.static.walk.interpreter import Interpreter

HELPERS = """
import torch
import torch.nn.functional as F
from .deeper import find


def found(mask):
    return torch.where(mask)


def count(x):
    return (x > 0).sum().item()


def both(x):
    return found(x), count(x)


def named(x):
    return {"rows": x.nonzero(), "whole": x}


def through(mask):
    return find(mask)


def scaled(x, factor=2):
    return x * factor


def limit(lengths, most=None):
    if most is None:
        most = lengths.max().item()
    return most


def itself(x):
    return itself(x) if x.dim() else count(x)


class Kept:
    pass


def made(x):
    return Kept()
"""

NET = """
import torch
from torch import nn
from . import helpers
from .helpers import both, count, found, itself, limit, made, named, scaled, through


class Net(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor, lengths: torch.Tensor):
        {body}
        return x
"""
ROW = 10


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path)
    made.write("pkg/helpers.py", HELPERS)
    made.write("pkg/deeper.py", "import torch\n\n\ndef find(mask):\n    return mask.nonzero()\n")
    return made


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("rows = found(mask)[0]\n        if rows.shape[0] == 0: x = -x", ["11 DDE102"]),
        ("(rows,) = helpers.found(mask)\n        x = x if rows.numel() else -x", ["11 DDE102"]),
        ("if count(x) > 3: x = -x", ["10 DDE101"]),
        (
            "(a,), n = both(x)\n        if n == 3: x = -x\n        if a.shape[0] > 2: x = x + 1",
            ["11 DDE101", "12 DDE101"],
        ),
        ("rows = named(mask)['rows']\n        for row in rows: x = x + row", ["11 DDE203"]),
        ("if through(mask).shape[0] > 2: x = -x", ["10 DDE101"]),
        ("if scaled(x.nonzero()).shape[0] > 2: x = -x", ["10 DDE101"]),
        ("for _ in range(limit(lengths)): x = x + 1", ["10 DDE203"]),
        ("if both(x)[0][0].shape[0] > 2 and both(x)[1] > 2: x = -x", ["10 DDE101", "10 DDE101"]),
        ("for _ in range(limit(lengths, 4)): x = x + 1", []),
        ("for _ in range(limit(lengths, most=x.shape[0])): x = x + 1", []),
        ("if scaled(x).shape[0] > 2: x = -x", []),
        ("if named(x)['whole'].shape[0] > 2: x = -x", []),
        ("if itself(x): x = -x", ["10 DDE101"]),
        ("if made(x): x = -x", []),
    ],
)
def test_a_call(tree: Tree, body: str, found: list[str]) -> None:
    tree.write("pkg/net.py", NET.format(body=body))
    assert [place for place in tree.check() if place.startswith("net.py")] == [f"net.py:{place}" for place in found]


def test_the_cache_knows_what_was_returned(tree: Tree) -> None:
    tree.write("pkg/net.py", NET.format(body="if through(mask).shape[0] > 2: x = -x"))
    assert tree.check(cache=True) == tree.check(cache=True) == ["net.py:10 DDE101"]
    tree.write("pkg/deeper.py", "import torch\n\n\ndef find(mask):\n    return mask * 2\n")
    assert tree.check(cache=True) == tree.check(cache=True) == []
    tree.write("pkg/deeper.py", "import torch\n\n\ndef find(mask):\n    return mask.unique()\n")
    assert tree.check(cache=True) == tree.check(cache=True) == ["net.py:10 DDE101"]


def test_what_is_returned_is_as_it_is_in_one_file(tree: Tree) -> None:
    """The same functions beside the module give the same answers."""
    body = "rows = found(mask)[0]\n        if rows.shape[0] == 0 or count(x) > 3: x = -x"
    tree.write("pkg/net.py", NET.format(body=body))
    apart = tree.check("pkg")
    whole = HELPERS.replace("from .deeper import find\n", "def find(x):\n    return x\n")
    alone = NET.format(body=body).replace("from . import helpers\n", "").replace("from .helpers import", "# ")
    shift = whole.count("\n") - 1
    tree.write("alone.py", whole + alone)
    together = [
        f"net.py:{int(place.split()[0].split(':')[1]) - shift} {place.split()[1]}" for place in tree.check("alone.py")
    ]
    assert apart == together


class Package:
    """Files that are read again and again with other texts, as fixes are tried; `asked`: what was interpreted."""

    def __init__(self, root: Path, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._root = root
        self.asked: list[str] = []
        for name, text in texts.items():
            (root / name).write_text(text)
        self.project = Project([str(root / name) for name in texts])
        for way in ("returned", "usually_returned"):
            monkeypatch.setattr(Interpreter, way, self._noting(getattr(Interpreter, way)))

    def _noting(self, way: Callable[..., Any]) -> Callable[..., Any]:
        def noting(interpreter: Interpreter, function: Function, *rest: Any) -> Any:
            self.asked.append(getattr(function.node, "name", ""))
            return way(interpreter, function, *rest)

        return noting

    def found(self, name: str, text: str = "") -> tuple[list[str], list[str]]:
        """Row and code of each finding in a file, as it is or as it is now to be; and what was interpreted for them."""
        self.asked.clear()
        data = text.encode() or (self._root / name).read_bytes()
        found = read(str(self._root / name), data, project=self.project).findings
        return [f"{finding.span.row} {finding.code}" for finding in found], sorted(self.asked)


DEEPER = "import torch\n\n\ndef find(mask):\n    return mask.nonzero()\n"
MIDDLE = """
import torch
from deeper import find


def through(mask):
    return find(mask), mask.sum().item()


def twice(mask):
    return through(mask)[0]


def count(x):
    return (x > 0).sum().item()
"""
USER = """
import torch
from torch import nn
from middle import count, through, twice
from beside import limit


class Net(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        {body}
        return x
"""
BESIDE = "import torch\n\n\ndef limit(x):\n    return x.max().item()\n"
TEXTS = {
    "deeper.py": DEEPER,
    "middle.py": MIDDLE,
    "beside.py": BESIDE,
    "net.py": USER.format(body="if through(mask)[0].shape[0] > count(x): x = -x\n        if limit(x) > 3: x = -x"),
    "second.py": USER.format(body="if twice(mask).shape[0] > 2: x = -x"),
}


def test_a_change_has_only_what_rests_on_it_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Package(tmp_path, TEXTS, monkeypatch)
    as_it_is, first = package.found("net.py")
    assert as_it_is == ["10 DDE101", "11 DDE101"]
    assert {"count", "find", "limit", "through"} <= set(first)
    assert package.found("net.py", TEXTS["net.py"] + "\n# changed\n") == (as_it_is, [])
    assert package.found("beside.py", BESIDE + "# changed\n")[1] == []
    again, asked = package.found("net.py")
    assert again == as_it_is
    assert set(asked) == {"limit"}
    package.found("deeper.py", DEEPER.replace("nonzero", "unique"))
    again, asked = package.found("net.py")
    assert again == as_it_is
    assert {"find", "through"} <= set(asked)
    assert "limit" not in asked


def test_what_is_known_from_an_earlier_call_rests_on_what_that_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`twice` calls `through`, which was read before, and is not looked into again."""
    package = Package(tmp_path, TEXTS, monkeypatch)
    package.found("net.py")
    consulted = read(str(tmp_path / "second.py"), TEXTS["second.py"].encode(), project=package.project).consulted
    assert str(tmp_path / "deeper.py") in consulted
    assert package.found("second.py") == (["10 DDE101"], [])
    package.found("deeper.py", DEEPER.replace(".nonzero()", " * 2"))
    assert package.found("second.py")[0] == []
    package.found("deeper.py", DEEPER)
    assert package.found("second.py")[0] == ["10 DDE101"]


def test_what_is_given_a_number_that_was_read_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls with numbers or sizes that depend on data, of which over there nothing else is known, are of one kind."""
    calls = "\n        ".join(f"n{i} = x.sum().item() + {i}\n        if limit(n{i}) > 3: x = -x" for i in range(5))
    rows = "\n        ".join(f"if rows(x[x > {i}].nonzero()) > 3: x = -x" for i in range(5))
    other = "if limit(x[x > 1].shape[0]) > 3: x = -x"
    body = f"{calls}\n        {rows}\n        {other}"
    user = USER.replace("import limit", "import limit, rows").format(body=body)
    beside = "def limit(n):\n    return n * 2\n\n\ndef rows(x):\n    return x.shape[0] + 1\n"
    package = Package(
        tmp_path, {"deeper.py": DEEPER, "middle.py": MIDDLE, "beside.py": beside, "net.py": user}, monkeypatch
    )
    found, asked = package.found("net.py")
    assert found == [f"{row} DDE101" for row in (*range(11, 20, 2), *range(20, 26))]
    assert asked.count("limit") == 2  # once for numbers, once for sizes
    assert asked.count("rows") == 1
