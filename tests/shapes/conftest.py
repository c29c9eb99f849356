"""Programs as contracts: written to a file, loaded in this process, followed."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from ddelint.contracts import Contract
from ddelint.protocol import EntrySpec, SessionOptions
from ddelint.shapes.contract import contract_of, tensors_of
from ddelint.trace.entry import Arguments, Entry

Derive = Callable[..., Contract]


@pytest.fixture
def entry_of(tmp_path: Path) -> Iterator[Callable[[str], Entry]]:
    """Write `fn` or `Model` and `make_inputs(seed)` to a file; the entry with each input dimension unbacked."""
    numbers = itertools.count()
    name = "program_with_sizes"

    def make(text: str) -> Entry:
        path = tmp_path / f"program_{next(numbers)}.py"
        path.write_text("import torch\n\n" + textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module: Any = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)

        def build() -> Callable[..., Any]:
            torch.manual_seed(0)
            return module.Model() if hasattr(module, "Model") else module.fn

        def inputs(seed: int) -> Arguments:
            torch.manual_seed(seed)
            return module.make_inputs(seed), {}

        code = (module.Model.forward if hasattr(module, "Model") else module.fn).__code__
        parameters = tuple(name for name in code.co_varnames[: code.co_argcount] if name != "self")
        entry = Entry(str(path), str(path), build, inputs, True, parameters)
        unbacked = {name: tuple(range(tensor.dim())) for name, tensor in tensors_of(entry, 0).items()}
        return replace(entry, unbacked=unbacked)

    yield make
    sys.modules.pop(name, None)


@pytest.fixture
def derive(entry_of: Callable[[str], Entry], tmp_path: Path) -> Derive:
    """The contract of a program."""
    options = SessionOptions(EntrySpec(str(tmp_path / "none.py")), (str(tmp_path),), device="cpu")
    return lambda text: contract_of(entry_of(text), options)
