"""Where names that are imported come from: whether the project's files are meant, or a library."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.static.program.project import Project

MODEL = "from torch import nn\n\nclass Model(nn.Module):\n    pass\n"


def project(root: Path, *names: str) -> Project:
    """A project of files, all of them with the same class."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("" if name.endswith("__init__.py") else MODEL)
    return Project([str(root / name) for name in names])


@pytest.mark.parametrize(
    "others",
    [
        ("kit/checks/rules.py", "kit/checks/torch/__init__.py"),
        ("kit/checks/path.py", "kit/checks/torch/__init__.py", "kit/checks/torch/image.py"),
        ("kit/a/__init__.py", "kit/a/b/rules.py", "kit/a/b/torch/__init__.py"),
        ("kit/checks/rules.py", "kit/checks/more/rules.py", "kit/checks/more/torch/__init__.py"),
        ("kit/torch/__init__.py", "kit/torch/nn.py"),
    ],
)
def test_a_folder_deep_in_a_package_does_not_hide_a_library(tmp_path: Path, others: tuple[str, ...]) -> None:
    found = project(tmp_path, "kit/__init__.py", "kit/model.py", *others)
    assert found.is_module(str(tmp_path / "kit/model.py"), "Model") is True


@pytest.mark.parametrize(
    "before", [(), ("__init__.py",), ("src/kit/parts/__init__.py",), ("setup.py",), ("__init__.py", "setup.py")]
)
def test_a_package_in_a_folder_of_sources_is_imported_by_its_name(tmp_path: Path, before: tuple[str, ...]) -> None:
    names = (*before, "src/kit/__init__.py", "src/kit/model.py", "src/kit/user.py")
    found = project(tmp_path, *names)
    (tmp_path / "src/kit/user.py").write_text("from kit.model import Model\n")
    assert found.resolve(str(tmp_path / "src/kit/user.py"), "Model") == (str(tmp_path / "src/kit/model.py"), "Model")
