"""validated_in_eager: checks that a library makes of data."""

from __future__ import annotations

import pytest
from control_flow import context_of, failures, rewritten

OFF = "validate_args=False if torch.compiler.is_compiling() else None)"


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from torch.distributions import Normal", "Normal(x, 1.0)"),
        ("import torch.distributions as D", "D.Normal(x, scale=x.exp())"),
        ("from torch import distributions", "distributions.Categorical(logits=x)"),
        ("from torch.distributions.beta import Beta as B", "B(x, x)"),
        ("", "torch.distributions.Bernoulli(logits=x)"),
    ],
)
def test_it_is_switched_off_while_compiling(imported: str, call: str) -> None:
    text = f"import torch\n{imported}\n\n\ndef fn(x):\n    made = {call}\n    return made.mean\n"
    (found,) = rewritten("validated_in_eager", context_of(text, call))
    assert f"made={call[:-1]},{OFF}".replace(" ", "") in "".join(found.split()).replace(",)", ")")


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from mine import Normal", "Normal(x, 1.0)"),
        ("from torch.distributions import Normal", "Normal(x, 1.0, validate_args=True)"),
        ("from torch.distributions import Normal", "Normal(**x)"),
        ("from torch.distributions import kl_divergence", "kl_divergence(x, x)"),
    ],
)
def test_what_is_no_such_class_or_says_what_it_wants_is_left(imported: str, call: str) -> None:
    text = f"import torch\n{imported}\n\n\ndef fn(x):\n    return {call}\n"
    assert rewritten("validated_in_eager", context_of(text, call)) == []


def test_it_goes_through_every_front_end_and_gives_the_same() -> None:
    import torch

    text = (
        "import torch\nfrom torch.distributions import Normal\n\n\ndef fn(x):\n    made = Normal(x, 2.0)\n"
        "    return made.log_prob(x + 1), made.entropy()\n"
    )
    (program,) = rewritten("validated_in_eager", context_of(text, "Normal(x, 2.0)"))
    assert failures(text, program, [(torch.randn(4),), (torch.zeros(4),)], ("export", "compile", "strict")) == []
