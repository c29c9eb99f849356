"""registered_dataclass: what a program returns is registered where its class is defined."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import context_of, load, rewritten

TEXT = """import dataclasses
from dataclasses import dataclass

import torch


{decorator}
class Output:
    logits: torch.Tensor
    clipped: bool


class Model(torch.nn.Module):
    def forward(self, x):
        return Output(torch.where(x.sum() > 0, x, -x), x.sum() > 0)
"""
DETAIL = "RuntimeError: Found <class 'program.Output'> in output, which is not a known type. If this type holds tensors"


def registered(decorator: str, detail: str = DETAIL) -> list[str]:
    text = TEXT.format(decorator=decorator)
    context = context_of(text, "Output(torch", code="DDE005")
    return rewritten("registered_dataclass", replace(context, detail=detail))


@pytest.mark.parametrize("decorator", ["@dataclass", "@dataclass(frozen=True)", "@dataclasses.dataclass"])
def test_the_class_is_registered_behind_its_definition(decorator: str) -> None:
    (new,) = registered(decorator)
    assert "    clipped: bool\n\n\ntorch.export.register_dataclass(Output)\n\n\nclass Model" in new
    assert new.replace("torch.export.register_dataclass(Output)\n\n\n", "") == TEXT.format(decorator=decorator)


@pytest.mark.parametrize(
    ("decorator", "detail"),
    [
        ("@final", DETAIL),
        ("@dataclass", DETAIL.replace("program.Output", "elsewhere.Result")),
        ("@dataclass", "RuntimeError: another error"),
    ],
)
def test_other_classes_and_other_errors_stay(decorator: str, detail: str) -> None:
    assert registered(decorator, detail) == []


def test_torch_exports_what_is_registered() -> None:
    import torch

    (new,) = registered("@dataclass")
    exported = torch.export.export(load(new, "Model")(), (torch.ones(3),))
    assert exported.module()(-torch.ones(3)).logits.tolist() == [1, 1, 1]
