"""What a module has registered is read from its own tables, whatever its class makes of `parameters` and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ddelint.trace.registered import buffers_of, parameters_of, parts_of
from ddelint.trace.values import describe_value
from ddelint.verify.frozen import Container, Freezer


def refusing(*names: str) -> type[torch.nn.Module]:
    """A module whose class answers so to some of what torch defines."""

    def refused(self: Any, *_: Any, **__: Any) -> Any:
        raise AttributeError("interventions")

    return type("Refusing", (torch.nn.Module,), dict.fromkeys(names, refused))


def filled(module: torch.nn.Module) -> torch.nn.Module:
    module.inner = torch.nn.BatchNorm1d(2)
    module.again = module.inner
    module.weight = torch.nn.Parameter(torch.ones(2))
    module.tied = module.weight
    module.register_buffer("none", None)
    return module


MAKERS: list[Callable[[], torch.nn.Module]] = [
    torch.nn.Module,
    refusing("named_parameters"),
    refusing("named_modules", "modules", "children", "named_children"),
    refusing("parameters", "named_buffers", "buffers", "state_dict"),
]


@pytest.mark.parametrize("make", MAKERS)
def test_everything_once_and_by_its_path(make: Callable[[], torch.nn.Module]) -> None:
    module = filled(make())
    assert [path for path, _ in parts_of(module)] == ["", "inner"]
    assert [path for path, _ in parameters_of(module)] == ["weight", "inner.weight", "inner.bias"]
    assert [path.rpartition(".")[2] for path, _ in buffers_of(module)] == [
        "running_mean",
        "running_var",
        "num_batches_tracked",
    ]


@pytest.mark.parametrize("make", MAKERS)
def test_such_a_module_is_described_and_kept_as_any_other(make: Callable[[], torch.nn.Module]) -> None:
    fact = describe_value(filled(make()))
    assert (fact.kind, fact.role, fact.frozen) == ("module", "buffer", False)
    held, plain = (Freezer(modules=True).freeze(module) for module in (filled(make()), filled(torch.nn.Module())))
    assert isinstance(held, Container)
    assert isinstance(plain, Container)
    assert {"weight", "inner.weight", "inner.running_var"} <= set(held.keys)
    assert held.keys == plain.keys


def test_a_module_that_was_never_initialized_has_nothing() -> None:
    bare = torch.nn.Linear.__new__(torch.nn.Linear)
    assert [part for _, part in parts_of(bare)] == [bare]
    assert not list(parameters_of(bare))
    assert describe_value(bare).kind == "module"
