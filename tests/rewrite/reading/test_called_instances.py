"""Who else calls a method of an instance, by its name or as it stands, with a text, or with what nobody knows."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ddelint.rewrite.reading.callers import other_callers
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceFile

BANK = """
import torch
from torch import nn

class Bank(nn.Module):
    def METHOD(self, x, row, mode="sum"):
        return x + self.table[ASKED]

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bank = Bank()

    def forward(self, x):
        return self.bank(x, x.sum(0).argmax())
"""
CHAIN = """
class Chain(nn.Module):
    def __init__(self, spec="1,4,7", bank=None, rows=()):
        super().__init__()
        MADE
        self.norm = nn.LayerNorm(4)

    def forward(self, x, names: list[str], picks):
        LOOP
        return x
"""


def called(folder: Path, text: str, asked: str = "int(row)", method: str = "forward") -> str:
    path = folder / "helpers.py"
    path.write_text(text)
    source = SourceFile.read(path)
    node = next(n for n in ast.walk(source.tree) if isinstance(n, ast.expr) and ast.unparse(n) == asked)
    site = locate(source, source.span(node))
    assert site is not None
    return other_callers(site, [f"{path}::Bank.{method}", f"{path}::Model.forward"])


def text_of(made: str, loop: str, asked: str = "int(row)", method: str = "forward") -> str:
    bank = BANK.replace("METHOD", method).replace("ASKED", asked).replace("self.bank(x,", "self.bank.METHOD(x,")
    bank = bank.replace("METHOD", method) if method != "forward" else bank.replace(".METHOD", "")
    return bank + CHAIN.replace("MADE", made).replace("LOOP", loop)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


KEPT = "self.bank, self.rows = Bank(), spec.split(',')"
EACH = "for row in self.rows: x = self.bank(x, row)"


@pytest.mark.parametrize(
    ("made", "loop", "counts"),
    [
        (KEPT, EACH, True),
        (KEPT, "for row in self.rows: x = self.bank(row=row, x=x)", True),
        (KEPT, "for row in self.rows: x = self.bank.forward(x, row)", True),
        (KEPT, "for row in self.rows: x = self.bank.__call__(x, row)", True),
        (KEPT, "x = self.bank(x, self.rows[0])", True),
        (KEPT, "for i, row in enumerate(sorted(self.rows)): x = self.bank(x, row)", True),
        (KEPT, "x = sum(map(self.bank, [x, x], self.rows))", True),
        (KEPT, "x = functools.partial(self.bank, row=self.rows[0])(x)", True),
        (KEPT, "for name in names: x = self.bank(x, name)", True),
        (KEPT, "for name in names: x = self.bank(x, name.strip())", True),
        (KEPT, "x = self.bank(*[x, '4'])", True),
        (KEPT, "x = self.bank(x, 4)", True),
        (KEPT, "x = self.bank(x, f'{len(x)}')", True),
        (KEPT, "x = self.bank(x, os.environ['ROW'])", True),
        (KEPT, "for key, value in self.table.items(): x = self.bank(x, key)", True),
        (KEPT, "pick = self.bank\n        for row in self.rows: x = pick(x, row)", True),
        ("self.banks = nn.ModuleList([Bank(), Bank()])", "for b, n in zip(self.banks, names): x = b(x, n)", True),
        ("self.banks = nn.ModuleDict({'a': Bank()})", "x = self.banks['a'](x, '4')", True),
        ("self.bank = bank", EACH.replace("self.rows", "names"), True),
        ("self.bank = bank or Bank()", EACH.replace("self.rows", "names"), True),
        ("self.model = Model()", "x = self.model.bank(x, '4')", True),
        ("self.bank = torch.compile(Bank())", "x = self.bank(x, '4')", True),
        (KEPT, "for value in self.table.values(): x = self.bank(x, value)", True),
        (KEPT, "for pick in picks: x = self.bank(x, pick)", True),
        (KEPT, "x = self.bank(x, x.sum(0).argmax())", False),
        (KEPT, "for pick in x.split(1): x = self.bank(x, pick)", True),
        (KEPT, "for pick in torch.arange(3): x = self.bank(x, pick)", False),
        (KEPT, "for pick in torch.split(x, 1): x = self.bank(x, pick)", False),
        (KEPT, "pick = x.abs() if self.norm else torch.ones(())\n        x = self.bank(x, pick)", False),
        (KEPT, "for name, pick in self.named_buffers(): x = self.bank(x, pick)", False),
        (KEPT, "x = self.bank(x, picks[0], 'mean')", True),
        (KEPT, "def inner(pick: torch.Tensor): return self.bank(x, pick)", False),
        ("self.bank = bank", "for pick in picks: x = self.bank(x, pick)", False),
        (KEPT, "x = self.bank(x, self.encode(x))", True),
        (KEPT, "picks = picks.split(',')\n        for row in picks: x = self.bank(x, row)", True),
        ("self.bank = bank", "picks = picks.replace(picks, picks)\n        x = self.bank(x, picks)", False),
        (KEPT, "for row in self.rows: x = self.norm(x, row)", False),
        ("self.pool = nn.Identity()", "x = self.pool(x, '4')", False),
        ("self.bank = bank", "x = self.bank('4')", False),
    ],
)
def test_an_instance_may_be_given_what_is_no_tensor(project: Path, made: str, loop: str, counts: bool) -> None:
    text = text_of(made, loop)
    assert called(project, text).endswith("perhaps with what is no tensor") is counts


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        ("float(row) > 3", True),
        ("row in (1, 2)", True),
        ("row > 3", False),
        ("row + 1", False),
        ("mode == 'sum'", False),
    ],
)
def test_what_a_text_cannot_be_asked_was_given_none(project: Path, asked: str, counts: bool) -> None:
    loop = "for row in self.rows: x = self.bank(x, row, row)"
    assert bool(called(project, text_of(KEPT, loop, asked), asked)) is counts


@pytest.mark.parametrize(
    ("code", "counts"),
    [
        ("def show(x, bank):\n    return bank.pick(x, input())", True),
        ("def show(x):\n    return Bank().pick(x, '4')", True),
        ("def show(x):\n    bank = Bank()\n    return [bank.pick(x, n) for n in open('rows')]", True),
        ("def show(x, config):\n    return config.pick('4')", False),
        ("def show(x, bank):\n    return bank.pick(x, torch.tensor(4))", False),
        ("import math\ndef show(x):\n    return math.pick(x, '4')", False),
    ],
)
def test_so_may_a_method_in_its_file_and_elsewhere(project: Path, code: str, counts: bool) -> None:
    text = text_of(KEPT, "pass", method="pick")
    assert bool(called(project, f"{text}\n{code}\n", method="pick")) is counts
    (project / "shown.py").write_text(f"import torch\nfrom helpers import Bank\n{code}\n")
    assert called(project, text, method="pick").endswith("of shown.py, perhaps with what is no tensor") is counts
