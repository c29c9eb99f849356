"""Programs as contracts: written to a file, loaded in this process, followed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from loaded_programs import Program, options, program

from ddelint.nouns.contracts import Contract
from ddelint.nouns.protocol import SessionOptions
from ddelint.shapes.contract import contract_of
from ddelint.shapes.trying import tensors_of
from ddelint.trace.entry import Entry

__all__ = ["options", "program"]
Derive = Callable[..., Contract]


@pytest.fixture
def entry_of(program: Program) -> Callable[[str], Entry]:
    """Write `fn` or `Model` and `make_inputs(seed)` to a file; the entry with each input dimension unbacked."""

    def make(text: str) -> Entry:
        entry = program(text)
        unbacked = {name: tuple(range(tensor.dim())) for name, tensor in tensors_of(entry, 0).items()}
        return replace(entry, unbacked=unbacked)

    return make


@pytest.fixture
def derive(entry_of: Callable[[str], Entry], options: SessionOptions) -> Derive:
    """The contract of a program."""
    return lambda text: contract_of(entry_of(text), options)
