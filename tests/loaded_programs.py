"""Small programs as entries, built in this process: fixtures of several folders."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.trace.entry import Arguments, Entry

Program = Callable[..., Entry]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """Write a file with `Model` or `fn` and `make_inputs(seed)`, load it, and give its entry."""
    numbers = itertools.count()
    # one module name for all: what is compared is one module before and after
    name = "loaded_program"

    def make(text: str, **marks: Any) -> Entry:
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
            given = module.make_inputs(seed)
            return given if len(given) == 2 and isinstance(given[1], dict) else (tuple(given), {})

        function = module.Model.forward if hasattr(module, "Model") else module.fn
        code = inspect.unwrap(function).__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        parameters = tuple(name for name in names if name != "self")
        return Entry(str(path), str(path), build, inputs, True, parameters, **marks)

    yield make
    sys.modules.pop(name, None)


@pytest.fixture
def options(tmp_path: Path) -> SessionOptions:
    """Options whose PATHs hold the programs."""
    return SessionOptions(EntrySpec(str(tmp_path / "none.py")), (str(tmp_path),), device="cpu")
