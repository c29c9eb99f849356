"""Silent where nothing asks: controls, the standard library, packages without torch, torch outside compiled regions."""

from __future__ import annotations

import importlib.util
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddelint.sources.source import SourceError, SourceFile
from ddelint.static.checks import check_source, might_matter

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CONTROLS = sorted(p for p in (FIXTURES / "programs").glob("*.py") if "no-error-control" in p.read_text("utf-8"))
TENSOR_LIKE = ("statistics.py", "fractions.py", "random.py", "heapq.py", "argparse.py", "dataclasses.py", "textwrap.py")
"""Modules of the standard library that are looked at whole, as if they could matter: numbers, loops, comparisons."""
OF_TORCH = ("optim", "distributions", "utils/data", "autograd", "fx")
RETIRED = re.compile("DDE6")


def findings(paths: Iterator[Path], scanned: bool = True) -> list[str]:
    """What the static pass says of files, those that the byte scan drops left out where it is `scanned`."""
    found = []
    for path in paths:
        data = path.read_bytes()
        if scanned and not might_matter(data):
            continue
        try:
            source = SourceFile.from_bytes(str(path), data)
            found += [f"{path}:{d.span.row}: {d.code} {d.expression}" for d in check_source(source)]
        except SourceError:
            continue
    return found


@pytest.mark.parametrize("path", CONTROLS, ids=lambda path: path.stem)
def test_controls(path: Path) -> None:
    assert findings(iter([path])) == []


def test_there_are_controls() -> None:
    assert len(CONTROLS) >= 4


def test_the_standard_library() -> None:
    folder = Path(sysconfig.get_paths()["stdlib"])
    own = (p for p in folder.rglob("*.py") if "site-packages" not in p.parts and "test" not in p.parts)
    assert findings(own) == []


@pytest.mark.parametrize("name", TENSOR_LIKE)
def test_the_standard_library_as_if_it_mattered(name: str) -> None:
    assert findings(iter([Path(sysconfig.get_paths()["stdlib"]) / name]), scanned=False) == []


@pytest.mark.parametrize("package", ["click", "rich", "pathspec", "pytest", "_pytest", "libcst"])
def test_packages_without_torch(package: str) -> None:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    assert findings(Path(spec.origin).parent.rglob("*.py")) == []


@pytest.mark.parametrize("folder", OF_TORCH)
def test_torch_outside_of_compiled_regions(folder: str) -> None:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("torch is not installed")
    found = findings((Path(spec.origin).parent / folder).rglob("*.py"))
    assert [line for line in found if not RETIRED.search(line)] == []
