"""Tests are called for what they ask."""

from __future__ import annotations

import ast

import pytest

from ddelint.rewrite.parts.outlining.operator import what_it_gives
from ddelint.rewrite.parts.outlining.region import Region
from ddelint.rewrite.reading.naming import UNNAMED, condition_name, part_names, value_name


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("hit.shape[0] == 0", "hit_is_empty"),
        ("len(hit) == 0", "hit_is_empty"),
        ("self._hits.numel() > 0", "has_hits"),
        ("x.size(1) != 0", "has_x"),
        ("mask.any()", "any_mask"),
        ("torch.all(self.ready)", "all_ready"),
        ("(~mask).any()", "any_not_mask"),
        ("~mask.any()", "no_mask"),
        ("not mask.all().item()", "not_all_mask"),
        ("x.isnan().any()", "any_nan"),
        ("torch.isinf(x).any()", "any_inf"),
        ("n > 4", "n_exceeds_4"),
        ("torch.full((), n > 4, dtype=torch.bool, device=x.device)", "n_exceeds_4"),
        ("best >= self.limit", "best_is_at_least_limit"),
        ("x.shape[0] <= y.shape[0]", "x_is_at_most_y"),
        ("gain < 0", "gain_is_negative"),
        ("count.item() == 0", "count_is_zero"),
        ("hit.shape[0] == flag", "hit_equals_flag"),
    ],
)
def test_what_says_itself_in_few_words(test: str, name: str) -> None:
    assert condition_name(test) == name


@pytest.mark.parametrize(
    "test",
    [
        "x.sum() > 0.5",
        "a < b < c",
        "flag",
        "n > -1",
        "(x > 0).any()",
        "key in table",
        "n == True",
        "mask.any() & (n > 4)",
        "a_rather_long_name > another_long_name",
        "table['key'] == 1",
    ],
)
def test_what_does_not_is_a_condition(test: str) -> None:
    assert condition_name(test) == UNNAMED


@pytest.mark.parametrize(
    ("whole", "names"),
    [
        ("(loss, hits)", ["early_loss", "early_hits"]),
        ("[self._loss, n.item()]", ["early_loss", "early_n"]),
        ('{"loss": a + b, "hits": c}', ["early_loss", "early_hits"]),
        ("(loss, loss)", ["early_result0", "early_result1"]),
        ("(loss, a + b)", ["early_loss", "early_result1"]),
        ("(loss, (hits, n))", ["early_loss", "early_result1"]),
        ("(result1, a + b)", ["early_result0", "early_result1"]),
        ("pair", ["early_result0", "early_result1"]),
        ('{"a loss": a, 1: b}', ["early_result0", "early_1"]),
    ],
)
def test_the_values_of_a_result_are_called_as_the_result_calls_them(whole: str, names: list[str]) -> None:
    assert part_names("early", ast.parse(whole, mode="eval").body, 2) == names


@pytest.mark.parametrize(("whole", "name"), [("loss", "early_loss"), ("a + b", "early_result"), ("", "early_result")])
def test_the_one_value_of_a_result(whole: str, name: str) -> None:
    assert part_names("early", ast.parse(whole, mode="eval").body if whole else None, 1) == [name]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("hazard", "hazard"),
        ("self._offset", "offset"),
        ("{'loss': total / 2, 'skipped': len(skipped)}", "loss"),
        ("(mean, spread)", "mean"),
        ("torch.cumsum(steps, 0)", "cumsum"),
        ("float(total)", "total"),
        ("len(found)", "found"),
        ("sum(losses)", ""),
        ("x.norm().item()", "norm"),
        ("x.sum().item()", ""),
        ("float(x.norm())", "norm"),
        ("int((x * 2).item())", ""),
        ("mask.to(y)", "mask"),
        ("F.cross_entropy(x, y).cpu().detach()", "cross_entropy"),
        ("torch.clone(kept)", "kept"),
        ("torch.clone(input=kept)", "clone"),
        ("mask.long()", "mask"),
        ("self.forward(x)", ""),
        ("self.encoder.forward(x).float()", ""),
        ("self.encoder(x)", "encoder"),
        ("x * 2", ""),
    ],
)
def test_what_a_value_is_called(value: str, name: str) -> None:
    assert value_name(ast.parse(value, mode="eval").body) == name


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("self.step(x.sum().item())", "step"),
        ("float(x.sum().item())", "sum"),
        ("return (x * 2).to(y).norm()", "norm"),
        ("return super().forward(x.cumsum(0))", "cumsum"),
        ("self.forward(x)", "region"),
    ],
)
def test_what_a_region_is_called(line: str, word: str) -> None:
    body = ast.parse(f"def fn(self, x, y):\n    {line}\n").body[0]
    assert isinstance(body, ast.FunctionDef)
    statement = body.body[0]
    expression = statement.value if isinstance(statement, ast.Expr) else None
    assert what_it_gives(Region([statement], expression)) == word
