"""What a module was made with is changed one at a time, where it is the user's and named by what decides."""

from __future__ import annotations

import math

import torch

from ddelint.verify.flags import other_settings
from ddelint.verify.modes import other_modes
from ddelint.verify.samples import Sample

SAMPLE = Sample("seed 0", True, lambda: ((), {}))


class Head(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fill, self.scale, self.far, self.sharp, self.steps = 0.0, 3.0, math.inf, True, 4
        self.drop = torch.nn.Dropout(0.25)
        self.register_buffer("prior", torch.zeros(2))
        self.register_buffer("ramp", torch.arange(3.0))
        self.register_buffer("bar", torch.ones(2), persistent=False)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = Head()


def changed(*names: str) -> dict[str, object]:
    """Setting → its value after the change."""
    found = {}
    for change in other_settings(Model(), names):
        sample = change(SAMPLE)
        head = sample.prepare(Model()).head
        name = sample.label.removeprefix("seed 0, self.head.").partition("=")[0]
        found[name] = getattr(head, name)
        assert not sample.declared
    return found


def test_flags_are_inverted_and_floats_halved() -> None:
    assert changed("fill", "scale", "sharp") == {"fill": 0.5, "scale": 1.5, "sharp": False}


def test_sizes_infinities_and_what_is_torchs_own_stay() -> None:
    assert changed("steps", "far", "training", "p", "drop", "nothing") == {}


def test_there_are_no_more_than_a_few() -> None:
    settings = [f"factor_{number}" for number in range(9)]
    model = Model()
    for name in settings:
        setattr(model, name, 1.0)
    assert len(list(other_settings(model, settings))) == 4
    assert list(other_settings(lambda x: x, settings)) == []


def test_other_weights_are_also_those_of_saved_buffers_that_are_alike_all_over() -> None:
    samples = [mode(SAMPLE) for mode in other_modes(Model())]
    (sample,) = [sample for sample in samples if sample.label.endswith("with other weights")]
    head = sample.prepare(Model()).head
    assert bool((head.prior > 0).all())
    assert torch.equal(head.ramp, torch.arange(3.0))
    assert torch.equal(head.bar, torch.ones(2))
