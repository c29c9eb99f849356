"""Modules are made with another argument, with the weights that they had; what may be given instead is data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from ddelint.verify.families import others_of_its_family, texts_beside
from ddelint.verify.making import other_makings
from ddelint.verify.samples import Sample

SAMPLE = Sample("seed 0", True, lambda: ((), {}))
ACTIVATIONS = {"relu": F.relu, "sigmoid": torch.sigmoid}


@dataclass
class Options:
    hidden_act: str = "relu"
    width: int = 3


class Head(torch.nn.Module):
    def __init__(
        self,
        width: int = 3,
        bias: bool = False,
        activation: str = "relu",
        pool: Callable[..., object] = torch.sum,
        layer: type[torch.nn.Module] = torch.nn.ReLU,
        kept_in: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.proj = torch.nn.Linear(width, width, bias=bias)
        self.activation, self.pool, self.layer, self.kept_in = ACTIVATIONS[activation], pool, layer(), kept_in


class Wide(Head):
    def __init__(self) -> None:
        super().__init__(width=5)


class Configured(torch.nn.Module):
    def __init__(self, options: Options) -> None:
        super().__init__()
        self.activation = getattr(F, options.hidden_act)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = torch.nn.ModuleList([Head(), Head(bias=True), Wide()])
        self.configured = Configured(Options())


def changed(*classes: str, texts: Mapping[str, Sequence[str]] = {}) -> dict[str, Model]:
    """What a program is labelled as → the program."""
    found = {}
    for change in makings(Model, classes, texts):
        sample = change(SAMPLE)
        with suppress(AttributeError, KeyError):  # no function of that name: then the original says nothing
            found[sample.label.removeprefix("seed 0, ")] = sample.prepare(Model().eval())
    return found


def makings(build: Callable[[], Any], *asked: Any) -> Iterator[Callable[[Sample], Sample]]:
    """Those of a program that `build` has made once."""
    return other_makings(build(), build, *asked)


class Refusing:
    def __deepcopy__(self, known: object) -> object:
        raise RuntimeError("one of a kind")


class Holding(torch.nn.Module):
    def __init__(self, held: object, bias: bool = False) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2, bias=bias)


@pytest.mark.parametrize("held", [Refusing(), torch.ones(2, requires_grad=True) * 2])
def test_arguments_that_refuse_to_be_copied_are_left_as_they_are(held: object) -> None:
    assert list(makings(lambda: Holding(held), ["Holding"])) == []


def test_a_program_in_half_precision_stays_in_it() -> None:
    def build() -> Holding:
        return Holding(3).half()

    change = next(change for change in makings(build, ["Holding"]) if "bias" in change(SAMPLE).label)
    assert {parameter.dtype for parameter in change(SAMPLE).prepare(build()).parameters()} == {torch.float16}


def test_each_module_of_a_class_is_made_with_another_argument() -> None:
    found = changed("Head", texts={"activation": ["relu", "sigmoid"]})
    assert {"Head(bias=True)", "Head(activation='sigmoid')", "Head(pool=prod)", "Head(layer=Sigmoid)"} <= set(found)
    biased = found["Head(bias=True)"].heads
    assert [head.proj.bias is not None for head in biased] == [True, True, False]
    assert found["Head(activation='sigmoid')"].heads[1].activation is torch.sigmoid
    assert found["Head(pool=prod)"].heads[0].pool is torch.prod
    assert isinstance(found["Head(layer=Sigmoid)"].heads[0].layer, torch.nn.Sigmoid)


def test_it_keeps_its_weights_and_its_mode() -> None:
    torch.manual_seed(5)
    before = Model().eval()
    change = next(iter(makings(Model, ["Head"])))
    drawn = torch.get_rng_state()
    after = change(SAMPLE).prepare(before)
    assert torch.equal(torch.get_rng_state(), drawn)
    torch.manual_seed(5)
    assert torch.equal(after.heads[0].proj.weight, Model().heads[0].proj.weight)
    assert not any(module.training for module in after.modules())


def test_what_a_subclass_hands_on_is_not_what_it_is_made_with() -> None:
    assert changed("Wide") == {}
    assert all(model.heads[2].proj.in_features == 5 for model in changed("Head").values())


def test_a_field_of_its_options_is_another_one() -> None:
    found = changed("Configured")
    assert found["Configured(options with hidden_act='sigmoid')"].configured.activation is F.sigmoid


def test_the_program_itself_may_be_made_anew() -> None:
    change = next(change for change in makings(Head, ["Head"]) if "bias" in change(SAMPLE).label)
    assert change(SAMPLE).prepare(Head()).proj.bias is not None


def test_what_is_no_module_or_is_not_made_has_none() -> None:
    made = Model()
    assert list(makings(lambda: made, ["Head"])) == []
    assert list(makings(lambda: torch.relu, ["Head"])) == []
    assert list(makings(Model, ["Other"])) == []


def test_classes_are_as_they_were_afterwards() -> None:
    before = Head.__init__
    assert list(makings(Model, ["Head", "Wide"]))
    assert Head.__init__ is before


@pytest.mark.parametrize(
    ("value", "others"),
    [
        (torch.sum, [torch.prod, torch.amax]),
        (torch.prod, [torch.sum, torch.amax]),
        (F.gelu, [torch.sigmoid, torch.exp]),
        (torch.nn.SiLU, [torch.nn.Sigmoid, torch.nn.Softplus]),
        (torch.float32, [torch.float64, torch.float16]),
        (len, []),
        (3, []),
        (None, []),
        (torch.nn.Linear(2, 2), []),
    ],
)
def test_what_takes_the_same_stands_in(value: object, others: list[object]) -> None:
    assert list(others_of_its_family(value)) == others


def test_a_layer_is_another_layer_and_a_name_another_name() -> None:
    assert [type(layer) for layer in others_of_its_family(torch.nn.ReLU())] == [torch.nn.Sigmoid, torch.nn.Softplus]
    assert list(texts_beside("sum")) == ["prod", "amax", "mean"]
    assert list(texts_beside("nothing")) == []
