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
from torch.distributions import Independent, Normal, kl_divergence
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
        (f"p = Normal(x, 1.0, False){USED}", 0),
        (f"p = Normal(x, 1.0, validate_args=more['careful']){USED}", 0),
        (f"p = Normal(x, 1.0, validate_args=True){USED}", 1),
        (f"p = Normal(x, 1.0, validate_args=None){USED}", 1),
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
        ("p: Normal = Normal(x, 1.0)\n        return p", 0),
        ("return td.Independent(Normal(x, 1.0), 1)", 0),
        ("return [Normal(y, 1.0) for y in x]", 0),
        ("found = []\n        p = Normal(x, 1.0)\n        found.append(p)\n        return found", 0),
        ("found = {}\n        found['p'] = p = Normal(x, 1.0)\n        return found", 0),
        ("return kl_divergence(Normal(x, 1.0), Normal(0.0, 1.0))", 1),
        ("p = Normal(x, 1.0)\n        return loss(p, x)", 1),
    ],
)
def test_what_distributions_ask(tmp_path: Path, body: str, found: int) -> None:
    assert [row for _, row in rows(tmp_path, {"a.py": MODULE.format(body=body)})] == [11] * found


@pytest.mark.parametrize(("body", "found"), [("Normal(x.exp(), 1.0)", 0), ("Normal(x.exp(), 1.0).mean", 1)])
def test_what_a_lambda_gives(tmp_path: Path, body: str, found: int) -> None:
    head = "import torch\nfrom torch.distributions import Normal\n"
    text = f"{head}\nmade = torch.compile(lambda x: {body}, fullgraph=True)\n"
    assert len(rows(tmp_path, {"a.py": text})) == found


@pytest.mark.parametrize(
    ("place", "line", "found"),
    [
        ("a.py", "td.Distribution.set_default_validate_args(False)", 0),
        ("__init__.py", "Distribution.set_default_validate_args(False)", 0),
        ("other.py", "Distribution.set_default_validate_args(False)", 1),
        ("__init__.py", "Distribution.set_default_validate_args(True)", 1),
        ("__init__.py", "# Distribution.set_default_validate_args(False)", 1),
    ],
)
def test_what_switches_that_off(tmp_path: Path, place: str, line: str, found: int) -> None:
    files = {"a.py": MODULE.format(body=f"p = Normal(x, 1.0){USED}")}
    files[place] = f"{files.get(place, '')}\n{line}\n"
    assert len(rows(tmp_path, files)) == found
    files["a.py"] = files["a.py"].replace("1.0)", "1.0, validate_args=True)")
    assert len(rows(tmp_path, files)) == 1


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
        ("p = Normal(0.0, 1.0)\n        for p in more['p']: x = p.log_prob(x)\n        return x", 0),
        ("p = Normal(0.0, 1.0)\n        return (lambda p: p.log_prob(x))(other)", 0),
    ],
)
def test_what_distributions_of_numbers_ask_of_a_tensor(tmp_path: Path, body: str, found: int) -> None:
    assert [row for _, row in rows(tmp_path, {"a.py": MODULE.format(body=body)})] == [12] * found
