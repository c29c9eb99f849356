"""The GPUs for which code is made where there is none: their properties, read from rules/measuring.toml and checked."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from ddelint.knowledge.catalog import rules_folder

DEFAULT = "sm_90"
_TARGET = re.compile(r"sm_[1-9]\d{1,2}")


class UnknownGpu(Exception):
    """No such GPU is described, or its description cannot be used."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """What a compiler, and a bound on time, must know of a GPU. Memory in bytes, rates per second."""

    name: str
    target: str
    """`sm_90`."""
    multiprocessors: int
    memory: int
    l2: int
    registers: int
    """Of one multiprocessor."""
    threads_per_multiprocessor: int
    shared_per_block: int
    """What a block may have at most, asked for explicitly."""
    shared_per_multiprocessor: int
    memory_rate: float
    float32_rate: float
    tensor_rate: float
    source: str

    @property
    def capability(self) -> tuple[int, int]:
        """`(9, 0)` of `sm_90`."""
        number = int(self.target.removeprefix("sm_"))
        return number // 10, number % 10


@cache
def gpus() -> tuple[Gpu, ...]:
    """All that are described. Raises UnknownGpu for a description that cannot be."""
    text = (rules_folder() / "measuring.toml").read_text("utf-8")
    return read(tomllib.loads(text).get("gpu", []))


def read(tables: list[dict[str, Any]]) -> tuple[Gpu, ...]:
    """The descriptions in tables of a TOML file. Raises UnknownGpu, which names the table, for one that cannot be."""
    found = []
    wanted = {field.name: field.type for field in fields(Gpu)}
    for table in tables:
        name = table.get("name", "?")
        if set(table) != set(wanted):
            wrong = ", ".join(sorted(set(table) ^ set(wanted)))
            raise UnknownGpu(f"gpu {name}: {wrong} is missing, or not known")
        for key, kind in wanted.items():
            value = table[key]
            if kind == "str":
                good = isinstance(value, str) and bool(value.strip())
            else:
                good = isinstance(value, int if kind == "int" else (int, float)) and value > 0
            if not good or isinstance(value, bool):
                raise UnknownGpu(f"gpu {name}: {key} = {value!r} is no {kind} above zero")
        gpu = Gpu(**table)
        if not _TARGET.fullmatch(gpu.target):
            raise UnknownGpu(f"gpu {name}: target {gpu.target!r} does not read sm_NN")
        if gpu.shared_per_block > gpu.shared_per_multiprocessor or gpu.float32_rate > gpu.tensor_rate:
            raise UnknownGpu(f"gpu {name}: a part is larger than the whole")
        found.append(gpu)
    return tuple(found)


def gpu_of(name: str) -> Gpu:
    """The GPU of a target (`sm_90`, the first that has it) or of a name (`h100`). Raises UnknownGpu, with all names."""
    wanted = _plain(name)
    for gpu in gpus():
        if wanted in (_plain(gpu.target), _plain(gpu.name)):
            return gpu
    raise UnknownGpu(f"no GPU {name}: known are {', '.join(names())}")


def names() -> tuple[str, ...]:
    """Everything that `--gpu` takes."""
    return (*dict.fromkeys(gpu.target for gpu in gpus()), *(gpu.name for gpu in gpus()))


def _plain(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "").replace("_", "")
