"""Files of installed packages: read and written they are what they were, and fixes of them hold.

DDELINT_ROUND_TRIPS says of how many files, `all` of each; DDELINT_SEED which.
"""

from __future__ import annotations

import os
import random
import sysconfig
from pathlib import Path

import pytest
from mutants import wrong

from ddelint.sources.source import SourceError, SourceFile

pytestmark = pytest.mark.filterwarnings("ignore")

COUNT = os.environ.get("DDELINT_ROUND_TRIPS", "160")
SEED = int(os.environ.get("DDELINT_SEED", "0"))
LARGEST = 200_000 if COUNT != "all" else 2**26
"""Bytes of a file."""
PARTS = 4


def files() -> list[Path]:
    """Files that ask, for the most part: what no question is found in is soon done with."""
    packages = [Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib")]
    found = sorted({path for package in packages for path in package.rglob("*.py") if path.stat().st_size <= LARGEST})
    if COUNT == "all":
        return found
    draw = random.Random(SEED)
    draw.shuffle(found)
    asking = [path for path in found[: int(COUNT) * 10] if b"torch" in path.read_bytes()]
    return [*asking[: int(COUNT) // 2], *found[: int(COUNT) // 2]]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_files_of_installed_packages_come_back_as_they_were(part: int) -> None:
    chosen = files()[part::PARTS]
    assert chosen
    for path in chosen:
        data = path.read_bytes()
        try:
            source = SourceFile.from_bytes(str(path), data)
        except SourceError:
            continue
        assert source.encode() == data, path
        assert source.is_text_of(data), path
        assert wrong(data) == "", path
