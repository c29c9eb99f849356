"""The GPUs that are described: found by target and name, and refused where a description cannot be."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from ddelint.knowledge.catalog import rules_folder
from ddelint.knowledge.gpus import UnknownGpu, gpu_of, gpus, names, read


def tables() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((rules_folder() / "measuring.toml").read_text("utf-8"))["gpu"]
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sm_80", "A100"), ("sm_90", "H100"), ("sm_89", "L4"), ("sm_75", "T4"), ("h200", "H200"),
        ("RTX 4090", "RTX 4090"), ("rtx-4090", "RTX 4090"), ("SM90", "H100"),
    ],
)  # fmt: skip
def test_a_gpu_is_found_by_its_target_and_by_its_name(name: str, expected: str) -> None:
    assert gpu_of(name).name == expected


def test_an_unknown_gpu_is_told_with_those_that_are_known() -> None:
    with pytest.raises(UnknownGpu, match=r"no GPU sm_1: known are sm_80, sm_90, .*RTX 4090"):
        gpu_of("sm_1")
    assert "sm_89" in names()


def test_each_description_names_its_source_and_capability() -> None:
    for gpu in gpus():
        assert gpu.source
        assert gpu.capability >= (7, 5)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"multiprocessors": 0}, "multiprocessors = 0"),
        ({"memory": "80 GB"}, "memory = '80 GB'"),
        ({"l2": True}, "l2 = True"),
        ({"source": " "}, "source"),
        ({"target": "gfx90a"}, "gfx90a"),
        ({"shared_per_block": 10**9}, "a part is larger than the whole"),
        ({"cores": 3}, "cores is missing, or not known"),
    ],
)
def test_a_description_that_cannot_be_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(UnknownGpu, match=told):
        read([tables()[0] | change])


def test_a_missing_property_is_named() -> None:
    table = tables()[0]
    del table["memory_rate"]
    with pytest.raises(UnknownGpu, match="memory_rate is missing"):
        read([table])
