"""Whose code a frame is, by its path alone, and which frame is blamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.explain.frames import RawFrame
from ddelint.explain.ownership import blamed, is_framework, is_installed, is_ours, is_standard

TORCH = "/opt/venv/lib/python3.11/site-packages/torch/"


@pytest.mark.parametrize(
    "path",
    [
        TORCH + "fx/experimental/symbolic_shapes.py",
        "C:\\Python311\\Lib\\site-packages\\torch\\_dynamo\\utils.py",
        "/usr/local/lib/python3.10/dist-packages/sympy/core/relational.py",
        "/data/users/me/pytorch/torch/_subclasses/fake_tensor.py",
        "/mnt/xar/torch/_dynamo/utils.py",
        "/home/ben/pytorch/torch/cuda/graphs.py",
        "/data/gen/test#link-tree/torch/optim/adam.py",
        "torch/fx/experimental/sym_node.py",
        "_subclasses/fake_impls.py",
        "<eval_with_key>.0 from <string>:1",
        "/tmp/torchinductor_ana/mm/cmmp.py",
    ],
)
def test_the_machinery(path: str) -> None:
    assert is_framework(path)


@pytest.mark.parametrize(
    "path",
    [
        "/home/ana/torch/models/net.py",
        "/home/ana/project/export/model.py",
        "models/torch_model.py",
        "/opt/venv/lib/python3.11/site-packages/torchvision/ops/boxes.py",
        "/opt/venv/lib/python3.11/site-packages/transformers/models/moe.py",
        "/tmp/ipykernel_7/12.py",
        "<cell 3>",
    ],
)
def test_not_the_machinery(path: str) -> None:
    assert not is_framework(path)


def test_installed_and_standard() -> None:
    assert is_installed("/x/site-packages/transformers/a.py")
    assert not is_installed("/home/ana/a.py")
    assert is_standard("/usr/lib/python3.11/threading.py")
    assert is_standard("/opt/conda/bin/torchrun")
    assert not is_standard("/x/lib/python3.11/site-packages/transformers/a.py")
    assert not is_standard("/home/ana/lib/model.py")


def test_names_without_a_folder_are_not_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").touch()
    assert is_ours("model.py", (".",))
    assert is_ours(str(tmp_path / "model.py"), (".",))
    for name in ("<string>", "_ops.py", "other.py", "torch/_ops.py"):
        assert not is_ours(name, (".",)), name


def test_paths_of_another_machine_count_by_their_parts() -> None:
    installed = "/opt/venv/lib/python3.11/site-packages/transformers/models/moe.py"
    assert is_ours(installed, ("transformers",))
    assert is_ours(installed, ("transformers/models/moe.py",))
    assert not is_ours(installed, ("former",))
    assert not is_ours(installed, ())


def frames(*names: str) -> list[RawFrame]:
    return [RawFrame(name, 1) for name in names]


LAUNCH, ENTRANCE, OWN = "/home/ana/run.py", TORCH + "export/_trace.py", "/home/ana/model.py"
PACKAGE, INSIDE = "/v/site-packages/transformers/moe.py", TORCH + "fx/experimental/sym_node.py"


@pytest.mark.parametrize(
    ("stack", "paths", "expected"),
    [
        ((LAUNCH, ENTRANCE, OWN, INSIDE), (), (2, True)),
        ((LAUNCH, ENTRANCE, OWN, PACKAGE, INSIDE), (), (2, True)),
        ((LAUNCH, ENTRANCE, OWN, PACKAGE, INSIDE), ("transformers",), (3, True)),
        ((LAUNCH, ENTRANCE, PACKAGE, INSIDE), (), (2, True)),
        ((LAUNCH, ENTRANCE, INSIDE), (), (0, False)),
        ((ENTRANCE, INSIDE), (), None),
    ],
)
def test_the_blamed_frame(stack: tuple[str, ...], paths: tuple[str, ...], expected: tuple[int, bool] | None) -> None:
    assert blamed(frames(*stack), paths, traced=False) == expected
