"""Frames of another machine, found in files of this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.explain.asking import narrowed, worded
from ddelint.explain.frames import RawFrame
from ddelint.explain.places import Places

SOURCE = """import torch


def forward(x):
    n = x.sum().item()
    if n > 4:
        return x
    return x + 1
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "model.py").write_text(SOURCE)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["/other/machine/pkg/model.py", "C:\\ana\\pkg\\model.py", "~/pkg/model.py", "pkg/model.py"]
)
def test_a_file_is_found_by_the_end_of_its_name(project: Path, name: str) -> None:
    spot = Places((str(project),)).spot(RawFrame(name, 6, "forward", "if n > 4:", (3, 8)))
    assert spot is not None
    assert spot.at_hand
    assert spot.source.segment(spot.span) == "n > 4"
    assert (spot.span.row, spot.span.column) == (6, 8)


def test_a_line_that_moved_is_found(project: Path) -> None:
    spot = Places((str(project),)).spot(RawFrame("pkg/model.py", 2, "forward", "if n > 4:"))
    assert spot is not None
    assert spot.span.row == 6


def test_a_file_that_changed_is_not_the_frames(project: Path) -> None:
    spot = Places((str(project),)).spot(RawFrame("pkg/model.py", 6, "forward", "if n > 9:"))
    assert spot is not None
    assert not spot.at_hand
    assert spot.source.segment(spot.span).startswith("if n > 9:")


def test_underlining_beyond_the_expression_is_cut(project: Path) -> None:
    spot = Places((str(project),)).spot(RawFrame("pkg/model.py", 6, "forward", "if n > 4:", (3, 9)))
    assert spot is not None
    assert spot.source.segment(spot.span) == "n > 4"


def test_nothing_is_known_of_a_frame_without_source() -> None:
    assert Places(()).spot(RawFrame("/nowhere/a.py", 3, "f")) is None


@pytest.mark.parametrize(
    ("code", "kind", "expected"),
    [
        ("if n > 4:", "truth", "n > 4"),
        ("elif n > 4:", "truth", "n > 4"),
        ("while t.sum() > 3:", "truth", "t.sum() > 3"),
        ("assert n > 3, 'more'", "truth", "n > 3"),
        ("y = a if n > 4 else b", "truth", "n > 4"),
        ("return [a for a in xs if a > n]", "truth", "a > n"),
        ("torch._check(n > 4 and m > 4)", "truth", "n > 4 and m > 4"),
        ("for i in range(n):", "integer", "range(n)"),
        ("size = int(t) + 1", "integer", "int(t)"),
        ("y = xs[n]", "integer", "n"),
        ("y = xs[: n]", "integer", "n"),
        ("parts = torch.chunk(x, n)", "integer", "torch.chunk(x, n)"),
        ("if torch.equal(x, y):", "operator", "torch.equal(x, y)"),
        ("y = torch.where(", "truth", "torch.where()"),
    ],
)
def test_what_asks_in_a_quoted_line(code: str, kind: str, expected: str) -> None:
    spot = Places(()).spot(RawFrame("/nowhere/a.py", 41, "f", code))
    assert spot is not None
    assert spot.span.row == 41
    node = narrowed(spot, kind)
    assert node is not None
    assert spot.source.segment(node) == expected


@pytest.mark.parametrize("code", ["else:", "x = (((", "???", "    ", "except ValueError:"])
def test_a_quoted_line_that_says_nothing(code: str) -> None:
    spot = Places(()).spot(RawFrame("/nowhere/a.py", 1, "f", code))
    assert spot is None or spot.span.row == 1


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Eq(u0, 0)", "n == 0"),
        ("u0 > 4", "n > 4"),
        ("Ne(Mod(u0, 8), 0)", "n % 8 != 0"),
        ("And(u0 > 1, Ne(u1, 2))", "n > 1 and u1 != 2"),
        ("Not(Eq(u0, 1))", "not n == 1"),
        ("Eq(1, u0) | Eq(96*u0, 0)", "1 == n or 96 * n == 0"),
        ("~(u0 > 4)", "not n > 4"),
        ("4 <= L['x'].size()[0] and L['x'].size()[0] <= IntInfinity()", "4 <= x.shape[0]"),
        ("Eq(TruncToInt(IntTrueDiv(s77, 2)), 3)", "int(s77 / 2) == 3"),
        ("Max(1, u0) <= u0 //", "Max(1, n) <= n //"),
    ],
)
def test_the_compilers_words(raw: str, expected: str) -> None:
    assert worded(raw, {"u0": "n"}) == expected
