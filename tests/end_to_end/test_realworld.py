"""Real modules of published packages: what is blamed first, and what a fix of the package's own files comes to.

The scripts in realworld_cases/ build a module from a tiny configuration with random weights. Packages that are absent,
or of another version than the one the line numbers were taken from, are skipped.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest
from issues_table import check
from judge import Judge

from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.trace.worker_process import Worker

pytestmark = [pytest.mark.slow, pytest.mark.realworld]

CASES = Path(__file__).resolve().parent / "realworld_cases"
DISTRIBUTIONS = {
    "egnn_pytorch": ("egnn-pytorch", "0.2.8"),
    "entmax": ("entmax", "1.3"),
    "kornia": ("kornia", "0.9.0"),
    "mixture_of_experts": ("mixture-of-experts", "0.2.3"),
    "st_moe_pytorch": ("st-moe-pytorch", "0.1.8"),
    "torch_geometric": ("torch-geometric", "2.8.1"),
    "torchcrf": ("pytorch-crf", "0.7.2"),
    "transformers": ("transformers", "5.23.0"),
    "x_transformers": ("x-transformers", "2.31.10"),
}
"""Package → its distribution and the version that BLAMED's line numbers are of."""
MODELS = "transformers/models"
BLAMED: dict[str, str | None] = {
    "egnn_adj": "egnn_pytorch/egnn_pytorch.py:249",
    "entmax_loss": "entmax/activations.py:136",
    "kornia_crop_by_boxes": "kornia/geometry/transform/crop2d.py:308",
    "kornia_nms": "kornia/geometry/bbox.py:747",
    "kornia_ransac": "kornia/geometry/ransac.py:1407",
    "moe_top2_lucidrains": "mixture_of_experts/mixture_of_experts.py:40",
    "pyg_coalesce": "torch_geometric/utils/num_nodes.py:32",
    "pyg_gcnconv": None,
    "pyg_global_mean_pool": "torch_geometric/utils/_scatter.py:48",
    "pyg_set2set": "torch_geometric/nn/aggr/base.py:128",
    "pyg_subgraph": "torch_geometric/utils/num_nodes.py:32",
    "pyg_to_dense_batch": "torch_geometric/utils/_to_dense_batch.py:106",
    "pyg_topkpooling": "torch_geometric/utils/_scatter.py:48",
    "pyg_unbatch": "torch_geometric/utils/num_nodes.py:32",
    "st_moe": "st_moe_pytorch/st_moe_pytorch.py:94",
    "tf_fastspeech2_conformer": f"{MODELS}/fastspeech2_conformer/modeling_fastspeech2_conformer.py:108",
    "tf_generate_greedy": "transformers/generation/utils.py:2864",
    "tf_idefics3_image_features": None,
    "tf_llava_next": "transformers/image_processing_utils.py:665",
    "tf_longformer": f"{MODELS}/longformer/modeling_longformer.py:549",
    "tf_mixtral_eagerexp": f"{MODELS}/mixtral/modeling_mixtral.py:80",
    "tf_nllb_moe": f"{MODELS}/nllb_moe/modeling_nllb_moe.py:357",
    "tf_qwen2_vl_vision": f"{MODELS}/qwen2_vl/modeling_qwen2_vl.py:403",
    "tf_superpoint": f"{MODELS}/superpoint/modeling_superpoint.py:49",
    "tf_switch": f"{MODELS}/switch_transformers/modeling_switch_transformers.py:174",
    "tf_t5_cls": None,
    "tf_vilt": f"{MODELS}/vilt/modeling_vilt.py:107",
    "tf_wav2vec2_train": f"{MODELS}/wav2vec2/modeling_wav2vec2.py:145",
    "tf_whisper_specaug_train": f"{MODELS}/whisper/modeling_whisper.py:126",
    "tf_xlm": None,
    "torchcrf_loss": "torchcrf/__init__.py:166",
    "xt_generate": "x_transformers/autoregressive_wrapper.py:527",
}
"""Case → the line that is blamed first, None where export and compile take it as it is (torch 2.13)."""
CLEARED: dict[str, str] = {
    "egnn_adj": "egnn_pytorch.py",
    "entmax_loss": ".",
    "kornia_crop_by_boxes": "geometry/transform geometry/conversions.py geometry/bbox.py",
    "kornia_nms": "geometry/bbox.py",
    "moe_top2_lucidrains": ".",
    "pyg_coalesce": "utils",
    "pyg_global_mean_pool": "utils",
    "pyg_subgraph": "utils",
    "pyg_to_dense_batch": "utils",
    "pyg_topkpooling": "utils",
    "st_moe": ".",
    "tf_fastspeech2_conformer": "models/fastspeech2_conformer/modeling_fastspeech2_conformer.py",
    "tf_longformer": "models/longformer/modeling_longformer.py",
    "tf_mixtral_eagerexp": "models/mixtral/modeling_mixtral.py",
    "tf_nllb_moe": "models/nllb_moe/modeling_nllb_moe.py",
    "tf_qwen2_vl_vision": "models/qwen2_vl/modeling_qwen2_vl.py",
    "tf_superpoint": "models/superpoint/modeling_superpoint.py",
    "tf_switch": "models/switch_transformers/modeling_switch_transformers.py",
    "tf_vilt": "models/vilt/modeling_vilt.py",
    "tf_whisper_specaug_train": "models/whisper/modeling_whisper.py",
    "torchcrf_loss": ".",
    "xt_generate": ".",
}
"""Case → the parts of its package that are given as PATHs. Rewritten, the package exports and compiles like eager."""
LONG = frozenset(
    (
        "egnn_adj",
        "kornia_crop_by_boxes",
        "st_moe",
        "tf_fastspeech2_conformer",
        "tf_longformer",
        "tf_mixtral_eagerexp",
        "tf_nllb_moe",
        "tf_qwen2_vl_vision",
        "tf_superpoint",
        "tf_switch",
        "tf_vilt",
        "tf_whisper_specaug_train",
        "xt_generate",
    )
)
"""Those of them whose search takes minutes, by hand with DDELINT_LONG=1."""
SEEDS = 4


def package_of(case: Path) -> str:
    """The package whose files are to be blamed and fixed."""
    match = re.search(r'^PACKAGE = "(\w+)"$', case.read_text("utf-8"), re.MULTILINE)
    assert match is not None, case
    return match[1]


def installed(case: Path) -> Path:
    """The installed package's folder; skips where it is absent or of another version."""
    package = package_of(case)
    return folder_of(package, *DISTRIBUTIONS[package])


def folder_of(package: str, distribution: str, version: str) -> Path:
    """The installed package's folder; skips where its distribution is absent or of another version."""
    try:
        found = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed")
    if found != version:
        pytest.skip(f"{distribution} is {found}; the lines are of {version}")
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def cases() -> list[Path]:
    return sorted(CASES.glob("*.py"))


def test_every_case_has_a_line() -> None:
    assert {case.stem for case in cases()} == set(BLAMED)
    assert len(BLAMED) == 32
    assert set(BLAMED) >= set(CLEARED)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.stem)
def test_blame(case: Path, worker: Worker) -> None:
    folder = installed(case)
    session = worker.open(SessionOptions(EntrySpec(str(case), "model"), (str(folder),)))
    assert not isinstance(session, EntryFailure), session
    try:
        trace = session.trace({})
    finally:
        session.close()
    assert trace.failure is None
    asked = [q for q in trace.questions if q.kind != "other"]
    blamed = [f"{os.path.relpath(q.span.filename, folder.parent)}:{q.span.row}" for q in asked]
    expected = BLAMED[case.stem]
    assert blamed[:1] == ([] if expected is None else [expected])
    assert all(line.startswith(folder.name + os.sep) for line in blamed)


@pytest.mark.parametrize("name", sorted(CLEARED))
def test_fix(name: str, tmp_path: Path) -> None:
    if name in LONG and not os.environ.get("DDELINT_LONG"):
        pytest.skip("waits for DDELINT_LONG=1: takes minutes")
    case = CASES / f"{name}.py"
    folder = installed(case)
    copied = tmp_path / "site" / folder.name
    shutil.copytree(folder, copied, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    first, *others = (copied / part for part in CLEARED[name].split())
    # what comes out is asked here, not how fast: other tests run beside this one
    allowance = "900" if name in LONG else "600"
    options = ("--entry", f"{case}:model", "--fix", "--unsafe-fixes", "--timeout", allowance)
    checked = check(first, *map(str, others), *options, timeout=1200)
    assert checked.error == ""
    assert checked.exit_code in (0, 1)
    record = tmp_path / "outcomes.pt"
    with Judge() as judge:
        original = judge(case, targets=(), eager_seeds=SEEDS, record=record)
    assert original.failure == ""
    with Judge(path=[str(copied.parent)]) as judge:
        verdict = judge(case, against=record, targets=("export", "compile"), eager_seeds=SEEDS, seeds=SEEDS)
    assert verdict.failure == ""
    assert verdict.eager_differences == []
    assert {target: str(outcome) for target, outcome in verdict.targets.items()} == {"export": "ok", "compile": "ok"}
