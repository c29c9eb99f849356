"""Distributions ask whether the tensors they are made of fit, where they are not told whether to."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

MODULE = """
import torch
import torch.distributions as td
from torch import distributions
from torch.distributions import Categorical as Choice
from torch.distributions import Independent, Normal
from torch.nn import Linear

class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, **more):
        {body}
"""
USED = "\n        return p.log_prob(x)"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"p = Normal(x, 1.0){USED}", 1),
        (f"p = Normal(0.0, scale=x.exp()){USED}", 1),
        (f"p = Choice(logits=x){USED}", 1),
        (f"p = td.Uniform(x, x + 1){USED}", 1),
        (f"p = torch.distributions.Beta(x, 1.0){USED}", 1),
        (f"p = distributions.Gamma(torch.ones(3), 1.0){USED}", 1),
        (f"p = Independent(Normal(x, 1.0), 1){USED}", 1),
        ("return td.kl_divergence(Normal(x, 1.0), Normal(x, 1.0, validate_args=False))", 1),
        ("return Normal(x, 1.0).rsample()", 1),
        (f"p = Normal(x, 1.0, validate_args=False){USED}", 0),
        (f"p = Normal(x, 1.0, **more){USED}", 0),
        ("p = Normal(0.0, 1.0)\n        return x + p.rsample()", 0),
        ("p = Normal(torch.tensor(0.0), 1.0)\n        return x + p.rsample()", 0),
        (f"p = td.TransformedDistribution(x, []){USED}", 0),
        (f"p = Linear(x, 1.0){USED}", 0),
        ("return Normal(x, 1.0)", 0),
        ("p = Normal(x, 1.0)\n        return p", 0),
        ("p = Normal(x, 1.0)\n        return p.rsample(), p", 0),
        ("p = Normal(x, 1.0)\n        q = Independent(p, 1)\n        out = {'q': q}\n        return out", 0),
        ("p = Normal(x, 1.0)\n        z = p.rsample()\n        return z", 1),
    ],
)
def test_what_distributions_ask(tmp_path: Path, body: str, found: int) -> None:
    assert [row for _, row in rows(tmp_path, {"a.py": MODULE.format(body=body)})] == [11] * found


def test_a_distribution_that_is_used_where_it_is_asked_for(tmp_path: Path) -> None:
    made = "return self.made(x).rsample()\n\n    def made(self, x):\n        return Normal(x, 1.0)"
    assert [row for _, row in rows(tmp_path, {"a.py": MODULE.format(body=made)})] == [14]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("p = Normal(0.0, 1.0)\n        return p.log_prob(x)", 1),
        ("p = Normal(torch.tensor(0.0), 1.0)\n        return p.log_prob(x)", 1),
        ("p = Normal(0, scale=1)\n        return p.cdf(value=x) + p.cdf(x)", 1),
        ("return\\\n            td.Laplace(0.0, 1.0).cdf(x)", 1),
        ("p = Normal(0.0, 1.0)\n        return p.icdf(x)", 0),
        ("p = Normal(0.0, 1.0)\n        return p.log_prob(0.5) * x", 0),
        ("p = Normal(0.0, 1.0, validate_args=False)\n        return p.log_prob(x)", 0),
        ("p = Normal(0.0, 1.0)\n        p = more['p']\n        return p.log_prob(x)", 0),
        ("p = more['p']\n        return p.log_prob(x)", 0),
    ],
)
def test_what_distributions_of_numbers_ask_of_a_tensor(tmp_path: Path, body: str, found: int) -> None:
    assert [row for _, row in rows(tmp_path, {"a.py": MODULE.format(body=body)})] == [12] * found
