"""The code for a GPU of real programs, before and after their fixes: made, assembled, interpreted against eager.

Waits for Triton (pip install ddelint[gpu]); `.ci/run` installs it where it can be had.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from issues_table import check
from test_realworld import CASES, CLEARED, folder_of, installed, package_of

from tests.verify.triton_needed import needs_triton

pytestmark = [pytest.mark.slow, needs_triton]

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
PUZZLES = sorted(path for path in FIXTURES.glob("puzzles/*.py") if path.stem != "transposecontig")
"""In some of them nothing is found any more; of that one not all is fixed."""
FIXED = sorted(FIXTURES.glob("rules/*/entry.fixed.py"))
PROGRAMS = [
    *sorted(path for path in FIXTURES.glob("programs/*.py") if "unfixable: no" in path.read_text("utf-8")),
    *PUZZLES,
    FIXTURES / "quickstart" / "model.py",
]
MORE_CASES = Path(__file__).resolve().parent / "gpu_cases"
MORE = {
    "pml_ntxent": (("pytorch-metric-learning", "2.9.0"), "losses reducers"),
    "pml_triplet": (("pytorch-metric-learning", "2.9.0"), "losses reducers"),
    "pyg_avg_pool_x": (("torch-geometric", "2.8.1"), "utils"),
    "pyg_k_hop": (("torch-geometric", "2.8.1"), "utils"),
    "pyg_one_hot": (("torch-geometric", "2.8.1"), "utils"),
    "tf_nllb_moe_experts": (("transformers", "5.23.0"), "models/nllb_moe"),
    "tm_binary_acc": (("torchmetrics", "1.9.0"), "functional/classification utilities"),
    "tm_mutual_info": (("torchmetrics", "1.9.0"), "functional/clustering"),
    "vqp_residual_vq_eval": (("vector-quantize-pytorch", "1.32.0"), "."),
}
"""Further modules → their distribution and its version, and the parts of it that are given as PATHs."""
AS_IT_IS = ("pyg_gcnconv", "tf_idefics3_image_features", "tf_xlm")
"""Real modules in which nothing is to be fixed."""
QUICK = frozenset(
    (
        *(path.parent.name for path in FIXED[::4]),
        "check",
        "pyg_gcnconv",
        "pyg_global_mean_pool",
    )
)
"""What is looked at in every run: a fourth of the fixtures, a puzzle, two real modules."""
NO_KERNEL = "Inductor writes no kernel of its own for it"
KNOWN = {
    "egnn_adj": ("not assembled: ", "zuf0"),
    "pyg_topkpooling": ("interpreted: ",),
}
"""Real modules of which less can be said, and the words of the reason: Inductor's code for egnn uses a size that it
does not define; of equal scores a GPU's sort picks others than the CPU's."""


def wait_for_time(name: str) -> None:
    """Skip what takes an hour together."""
    if name not in QUICK and not os.environ.get("DDELINT_LONG"):
        pytest.skip("waits for DDELINT_LONG=1: all of them take an hour")


def gpu_of_check(path: Path, *options: str, must_find: bool = True) -> dict[str, Any]:
    """What the evidence of the last verified fix says of the code for a GPU, its notes among it.

    Without `must_find`, a program in which nothing is found is looked at as it is.
    """
    asked = ("--gpu", "sm_90", "--samples", "8", "--unsafe-fixes", "--target", "export,compile")
    checked = check(path, *asked, *options, timeout=1200)
    assert checked.error == ""
    if not must_find and not checked.findings:
        return gpu_of_verify(path)
    evidence = [finding["evidence"] for finding in checked.findings if finding["evidence"]]
    known = [{**one["gpu"], "notes": one["notes"]} for one in evidence if one.get("gpu")]
    assert known, [(finding["code"], finding["refused"]) for finding in checked.findings]
    return known[-1]


def gpu_of_verify(path: Path, *options: str) -> dict[str, Any]:
    """The same of a program as it is."""
    command = [sys.executable, "-P", "-m", "ddelint", "verify", str(path), "--gpu", "sm_90", "--samples", "8"]
    command += ["--target", "compile", "--output-format", "json", *options]
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(ROOT))
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1200, check=False)
    (found,) = json.loads(done.stdout)
    assert found["gpu"] is not None, found["failure"]
    return found["gpu"]


def gpu_of_module(case: Path, folder: Path, parts: str) -> dict[str, Any]:
    """The same of the module that a script builds, with what was fixed in these parts of its package."""
    first, *others = (str(folder / part) for part in parts.split())
    return gpu_of_check(Path(first), *others, "--entry", f"{case}:model")


def assert_equal_to_eager(gpu: dict[str, Any]) -> None:
    """Both levels, or no kernel at all; and nothing that was not run is called run."""
    if any(NO_KERNEL in note for note in gpu["notes"]):
        assert (gpu["assembled"], gpu["interpreted"], gpu["kernels"]) == (None, None, 0)
        return
    assert (gpu["assembled"], gpu["interpreted"], gpu["run"]) == (True, True, None), gpu
    assert gpu["inputs"] > 0
    assert gpu["kernels"] > 0


@pytest.mark.parametrize("path", FIXED, ids=lambda path: path.parent.name)
def test_fixed_fixtures(path: Path) -> None:
    wait_for_time(path.parent.name)
    assert_equal_to_eager(gpu_of_verify(path))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_programs(path: Path) -> None:
    wait_for_time(path.stem)
    assert_equal_to_eager(gpu_of_check(path, must_find=path not in PUZZLES))


def test_the_body_of_a_pull_request_carries_it_beside_the_fix(tmp_path: Path) -> None:
    body = tmp_path / "body.md"
    path = FIXTURES / "programs" / "small_batch_sum.py"
    asked = ("--gpu", "sm_90", "--samples", "12", "--unsafe-fixes", "--output-format", f"markdown:{body}")
    checked = check(path, *asked, timeout=1200)
    assert checked.error == ""
    told = body.read_text("utf-8")
    assert re.search(r"GPU code for sm_90: assembled, interpreted on \d+ inputs, equal, not run", told), told


@pytest.mark.realworld
@pytest.mark.parametrize("name", sorted(CLEARED))
def test_real_modules(name: str) -> None:
    wait_for_time(name)
    gpu = gpu_of_module(CASES / f"{name}.py", installed(CASES / f"{name}.py"), CLEARED[name])
    if name in KNOWN:
        assert any(all(word in note for word in KNOWN[name]) for note in gpu["notes"]), gpu
    else:
        assert_equal_to_eager(gpu)


@pytest.mark.realworld
@pytest.mark.parametrize("name", sorted(MORE))
def test_more_real_modules(name: str) -> None:
    wait_for_time(name)
    distribution, parts = MORE[name]
    case = MORE_CASES / f"{name}.py"
    assert_equal_to_eager(gpu_of_module(case, folder_of(package_of(case), *distribution), parts))


@pytest.mark.realworld
@pytest.mark.parametrize("name", AS_IT_IS)
def test_real_modules_that_need_nothing(name: str) -> None:
    wait_for_time(name)
    case = CASES / f"{name}.py"
    installed(case)
    assert_equal_to_eager(gpu_of_verify(case, "--entry", f"{case}:model"))
