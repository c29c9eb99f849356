"""`--guards`: the lines that guard on input sizes, and the numbers that are specialized."""

from __future__ import annotations

from pathlib import Path

import pytest
from issues_table import check

pytestmark = pytest.mark.slow

PROGRAM = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x, y, k):
        if x.shape[1] > 6:
            x = x[:, :6]
        half = int(x.shape[1] / 2)
        z = torch.cat([x, y], dim=1)
        return z * k.item() + half


def make_inputs(seed):
    rows = 3 + seed % 3
    return torch.ones(rows, 5), torch.ones(rows, 2), torch.tensor(seed % 2)
"""


def test_each_guard_has_its_line(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "guarded.py"
    program.write_text(PROGRAM)
    assert check(program).findings == []
    found = check(program, "--guards")
    assert found.codes == ["DDE401:6", "DDE404:8", "DDE405:9", "DDE404:10"]
    assert {finding["severity"] for finding in found.findings} == {"warning"}
    assert {tuple(finding["asks"]) for finding in found.findings} == {("compile",)}
    assert [finding["expression"] for finding in found.findings][:2] == ["x.shape[1] > 6", "int(x.shape[1] / 2)"]


def test_an_unbacked_size_is_an_error_of_the_same_rule(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "unbacked.py"
    program.write_text(PROGRAM)
    found = check(program, "--unbacked", "x.1,y.1", "--ignore", "DDE2")
    (finding,) = [finding for finding in found.findings if finding["location"]["row"] == 6]
    assert (finding["code"], finding["severity"]) == ("DDE401", "error")


NESTED = """\
import torch


class Model(torch.nn.Module):
    def forward(self, batch):
        tokens, mask = batch["tokens"], batch["mask"]
        if tokens.shape[0] > 6:
            mask = mask * 0.5
        return tokens * mask


def make_inputs(seed):
    rows = 3 + seed % 6
    return ({"tokens": torch.ones(rows, 4), "mask": torch.ones(rows, 1)},)
"""


def test_sizes_inside_of_a_dictionary(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "nested.py"
    program.write_text(NESTED)
    (finding,) = check(program, "--unbacked", "all").findings
    assert (finding["code"], finding["symbols"][0]["expression"]) == ("DDE401", "batch['tokens'].shape[0]")
    assert finding["evidence"]["export"]
    assert finding["evidence"]["compile"]
