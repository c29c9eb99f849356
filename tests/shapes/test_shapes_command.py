"""`ddelint shapes --dispatch` and `--stream`, `ddelint run --shapes`: the whole way, on the model of the how-to."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ddelint.cli import main

pytestmark = pytest.mark.slow
HOW_TO = Path(__file__).resolve().parents[2] / "fixtures" / "how-to"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("serving.py", "sizes.jsonl"):
        shutil.copy(HOW_TO / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ddelint(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_a_dispatcher_within_a_budget(project: Path) -> None:
    ranges = "tokens.0: 0, 1..6, 7..64, 65.."
    done = ddelint(
        "shapes", "serving.py", "--dispatch", "--ranges", ranges, "--most-graphs", "2", "--output-format", "json"
    )
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)
    graphs = [plan["part"]["conditions"] for plan in found["dispatch"]["graphs"]]
    assert graphs == [["tokens.shape[0] <= 6"], ["tokens.shape[0] >= 7"]]
    assert any("the same code" in line for line in found["dispatch"]["said"])
    costs = {one["name"]: one for one in found["dispatch"]["costs"]}
    assert costs["one graph for all"]["error"]  # a branch divides the sizes
    assert all(one["milliseconds"] for name, one in costs.items() if name != "one graph for all")
    sys.path.insert(0, str(project))
    try:
        import torch
        from serving import Model, make_inputs  # type: ignore[import-not-found]
        from serving_dispatch import dispatcher  # type: ignore[import-not-found]

        model = Model()
        assert torch.equal(dispatcher(model, backend="eager")(*make_inputs(0)), model(*make_inputs(0)))
    finally:
        sys.path.remove(str(project))
        for name in ("serving", "serving_dispatch"):
            sys.modules.pop(name, None)


def test_no_dispatcher_where_a_branch_lies_within_a_range(project: Path) -> None:
    done = ddelint("shapes", "serving.py", "--dispatch", "--ranges", "tokens.0: 0..9, 10..")
    assert done.exit_code == 1
    assert "both sides of `tokens.shape[0] >= 7` (line 16) lie within" in done.stdout
    assert not (project / "serving_dispatch.py").exists()


def test_a_stream_is_captured_and_foretold(project: Path) -> None:
    (project / "serve.py").write_text(
        "import torch\n"
        "from serving import Model\n\n"
        "model = torch.compile(Model())\n"
        "for batch, length in [(3, 5), (3, 5), (4, 5), (5, 9), (1, 9), (8, 7)]:\n"
        "    model(torch.randint(0, 10, (batch, length)), torch.rand(batch, length))\n"
    )
    ran = ddelint("run", "--no-suggest", "--exit-zero", "--shapes", "calls.jsonl", "serve.py")
    assert ran.exit_code == 0, ran.output
    assert len((project / "calls.jsonl").read_text().splitlines()) == 6
    done = ddelint("shapes", "serving.py", "--stream", "calls.jsonl")
    assert "6 calls of 5 sizes: 5 graphs foretold, 5 graphs compiled" in done.stdout
    assert "DDE401 shape-branch" in done.stdout
    assert done.exit_code == 1
    assert "goes both ways: no marks make one graph of it" in done.stdout
    assert ddelint("shapes", "serving.py", "--stream", "none.jsonl").exit_code == 2


def test_what_is_written_for_one_entry_is_not_written_over_by_another(project: Path) -> None:
    (project / "pair.py").write_text(
        "import torch\n"
        "import ddelint\n\n\n"
        "def ddelint_entries():\n"
        "    one = ddelint.Entry(lambda x: x[:-1] - x[1:], (torch.rand(4),), name='steps')\n"
        "    other = ddelint.Entry(lambda y: y.view(-1, 2), (torch.rand(6),), name='pairs')\n"
        "    return [one, other]\n"
    )
    done = ddelint("shapes", "pair.py", "--write")
    assert done.exit_code == 2
    assert "nothing written for pair.py:pairs, " in done.stderr
    assert "x.shape" not in (project / "pair_shapes.py").read_text()
    assert '"x": TensorSpec(' in (project / "pair_shapes.py").read_text()
