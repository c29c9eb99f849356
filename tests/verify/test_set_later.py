"""What is not saved, and set by somebody later, is another one among other weights; constants stay."""

from __future__ import annotations

import ast
import linecache

import pytest
import torch

from ddelint.verify import set_later
from ddelint.verify.modes import other_modes
from ddelint.verify.samples import Sample

SAMPLE = Sample("seed 0", True, lambda: ((), {}))


class Statistics:
    def __init__(self) -> None:
        self.mean, self.width, self.limit = torch.zeros(2), torch.ones(2), torch.ones(2)

    def fit(self, mean: torch.Tensor, width: torch.Tensor) -> None:
        self.mean = mean
        self.width[0] = width[0]


class Model(torch.nn.Module):
    def __init__(self, statistics: Statistics) -> None:
        super().__init__()
        self.register_buffer("prior", torch.zeros(2), persistent=False)
        self.register_buffer("constant", torch.ones(2), persistent=False)
        self.register_buffer("ramp", torch.arange(2.0), persistent=False)
        self.shift, self.fixed, self.count = torch.zeros(2), torch.zeros(2), torch.zeros(2, dtype=torch.long)
        self.statistics = statistics

    def begin(self, prior: torch.Tensor) -> None:
        self.prior.copy_(prior)
        self.ramp.copy_(prior)
        self.count += 1


def moved(model: Model) -> None:
    model.shift = torch.ones(2)


def test_what_is_set_later_is_another_one() -> None:
    statistics = Statistics()
    model = Model(statistics)
    (change,) = [mode for mode in other_modes(model) if mode(SAMPLE).label.endswith("other weights")]
    before = {**dict(model.named_buffers()), **vars(model), **vars(statistics)}
    before = {name: value.clone() for name, value in before.items() if isinstance(value, torch.Tensor)}
    changed = change(SAMPLE).prepare(model)
    after = {**dict(changed.named_buffers()), **vars(changed), **vars(changed.statistics)}
    different = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert different == {"prior", "shift", "mean", "width"}
    assert torch.equal(statistics.mean, torch.zeros(2)), "others hold the object, too"


def test_what_nobody_sets_gives_no_mode() -> None:
    model = torch.nn.ReLU()
    model.register_buffer("constant", torch.ones(2), persistent=False)
    assert not any("other weights" in mode(SAMPLE).label for mode in other_modes(model))


def test_a_file_is_parsed_once_whatever_classes_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    set_later._set_in.cache_clear()
    parsed: list[str] = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text, *args, **kwargs: parsed.append(text) or parse(text, *args, **kwargs))
    models = [Model(Statistics()) for _ in range(3)]
    assert [len(list(set_later.kept_to_be_set(model))) for model in models] == [4, 4, 4]
    assert len(parsed) == 1


def test_a_module_whose_text_is_another_one_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(Statistics())
    assert len(list(set_later.kept_to_be_set(model))) == 4
    text = "def moved(model):\n    model.other = 2\n"
    monkeypatch.setitem(linecache.cache, __file__, (len(text), None, text.splitlines(keepends=True), __file__))
    assert [kept.tensor is model.constant for kept in set_later.kept_to_be_set(model)] == []
    text = "def moved(model):\n    model.constant = 2\n"
    monkeypatch.setitem(linecache.cache, __file__, (len(text), None, text.splitlines(keepends=True), __file__))
    assert [kept.tensor is model.constant for kept in set_later.kept_to_be_set(model)] == [True]
