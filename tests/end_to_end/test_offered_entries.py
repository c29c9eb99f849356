"""What the command runs: every entry that a file offers, with the dimensions that it or the command line marks."""

from __future__ import annotations

from pathlib import Path

import pytest
from issues_table import check

pytestmark = pytest.mark.slow

SEVERAL = """\
import torch

import ddelint


def upper(x):
    if x.max() > 1:
        return x + 1
    return x


def lower(x):
    if x.min() < 0:
        return x - 1
    return x


def inputs(seed):
    return (torch.randn(3, generator=torch.Generator().manual_seed(seed)) * (1 + seed % 3),)


def ddelint_entries():
    return [ddelint.Entry(upper, inputs), ddelint.Entry(lower, inputs)]
"""
MARKED = """\
import torch

UNBACKED = {"x": [0]}


def fn(x):
    if x.shape[0] == 3:
        return x + 1
    return x - 1


def make_inputs(seed):
    return (torch.ones(2 + seed % 4),)
"""


def test_all_entries_of_a_file_are_run_and_fixed(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "several.py"
    program.write_text(SEVERAL)
    found = check(program)
    assert found.codes == ["DDE105:7", "DDE105:13"]
    assert [finding["origin"] for finding in found.findings] == [["trace"], ["trace"]]
    assert check(program, "--fix").findings == []
    assert program.read_text().count("torch.where(") == 2


@pytest.mark.parametrize(("option", "codes"), [((), ["DDE401:7"]), (("--unbacked", "none"), [])])
def test_the_command_line_overrides_the_marks_of_a_file(
    tmp_path: Path, option: tuple[str, ...], codes: list[str]
) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "marked.py"
    program.write_text(MARKED)
    assert check(program, *option).codes == codes
