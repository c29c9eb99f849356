"""Dropout in a program that was made without: modules, and fields of modules, whose chance is zero get another one.

A program is often built with `dropout=0.0` to be looked at and with more to be trained. With none, nothing shows that
an arm which is computed and thrown away draws random numbers, or that a gradient draws them once more. What such fields
are called is data: rules/varying.toml.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from ddelint.knowledge.folder import rules_folder
from ddelint.verify.samples import Sample

WITH_DROPOUT = "in train() with dropout"
_CHANCE = 0.5


def with_dropout(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input in train(), where chances of zero are one half; nothing for a program that has none."""
    if isinstance(program, torch.nn.Module) and any(True for _ in _zero_chances(program)):
        yield _dropping


def _dropping(sample: Sample) -> Sample:
    before = sample.prepare

    def prepare(program: Any) -> Any:
        program = before(program).train()
        for module, name in list(_zero_chances(program)):
            setattr(module, name, _CHANCE)
        return program

    label = f"{sample.label}, {WITH_DROPOUT}"
    return replace(sample, label=label, declared=False, prepare=prepare, mode=WITH_DROPOUT)


def _zero_chances(program: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str]]:
    for module in program.modules():
        for name, value in vars(module).items():
            if name in _names() and type(value) in (float, int) and value == 0:
                yield module, name


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(tomllib.loads((rules_folder() / "varying.toml").read_text("utf-8"))["chances"])
