"""What is put behind a text into something unknown is found there again; `max` and `min` compare fractions."""

from __future__ import annotations

import pytest

from ddelint.sources.source import SourceFile
from ddelint.static.checks import check_source


def found(*lines: str, method: tuple[str, ...] = ()) -> list[tuple[int, str]]:
    """Rows of the body, from one on, with the rules of what is found there, and in the method that stands behind."""
    body = "\n".join(f"        {line}" for line in lines)
    head = "import torch\n\nclass M(torch.nn.Module):\n    def forward(self, x, store, rate: float):\n"
    text = f"{head}{body}\n" + "".join(f"\n    {line}" for line in method) + "\n"
    return [(one.span.row - 4, one.code) for one in check_source(SourceFile("model.py", text))]


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        (("store['n'] = x.norm()", "if store['n'] > 0:", "    x = x + 1", "return x"), [2]),
        (("state = store[x]", "state['n'] = x.sum().item()", "if state['n'] > 0:", "    x = x + 1", "return x"), [3]),
        (
            ("state = store.get(x)", "state['n'] = x.norm()", "n = state['n']", "if n > 0:", "    x = -x", "return x"),
            [4],
        ),
        (("store['n'] = x.norm()", "if store['m'] > 0:", "    x = x + 1", "return x"), []),
        (("store['n'] = x.norm()", "store['n'] = 1", "if store['n'] > 0:", "    x = x + 1", "return x"), []),
        (("store['n'] = x.norm()", "store = rate", "if store['n'] > 0:", "    x = x + 1", "return x"), []),
        (("store[0] = x.norm()", "if store['n'] > 0:", "    x = x + 1", "return x"), []),
        (("store['n'] = x.norm()", "store[rate] = 1", "if store['n'] > 0:", "    x = x + 1", "return x"), []),
        (("store['n'] = x.norm()", "store.update(n=1)", "if store['n'] > 0:", "    x = x + 1", "return x"), []),
        (("store['n'] = x.norm()", "rate.fill([store])", "if store['n'] > 0:", "    x = x + 1", "return x"), []),
        (("store['n'] = x.norm()", "rate(k=store)", "if store['n'] > 0:", "    x = x + 1", "return x"), []),
        (("store['n'] = x.norm()", "x = rate(store['n'])", "if store['n'] > 0:", "    x = x + 1", "return x"), [3]),
    ],
)
def test_entries_behind_a_text(lines: tuple[str, ...], rows: list[int]) -> None:
    assert [row for row, _ in found(*lines)] == rows


def test_what_a_method_calls_the_same_is_something_else() -> None:
    method = ("def step(self, store):", "    if store['n'] > 0: return 1")
    assert found("store['n'] = x.norm()", "self.step(fetch())", "return x", method=method) == []


def test_what_a_method_puts_into_its_own_is_not_in_what_is_called_the_same() -> None:
    method = ("def step(self, x):", "    store = x.make()", "    store['n'] = x.norm()")
    assert found("self.step(x)", "if store['n'] > 0: x = -x", "return x", method=method) == []


def test_what_a_method_puts_under_self_is_found_behind_it() -> None:
    method = ("def step(self, x):", "    self.seen = x.norm()")
    assert found("self.step(x)", "if self.seen > 0: x = -x", "return x", method=method) == [(2, "DDE105")]


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("n = max(rate, x.norm().item())", True),
        ("n = max(x.float().mean().item(), rate)", True),
        ("n = min(rate, x.sum().item() / rate)", True),
        ("n = max(rate, 2 * (x.sum().item() / rate))", True),
        ("n = max(rate, (x.sum() / x.max()).item())", True),
        ("n = max(3, x.argmax().item())", False),
        ("n = max(3, x[0].div(2).item())", True),
        ("n = max(3, x[0].div(2, rounding_mode='floor').item())", False),
        ("n = max(3, torch.div(x[0], 2, rounding_mode='trunc').item())", False),
        ("n = max(3, -x.mean().item())", True),
        ("n = max(3, -x.argmax().item())", False),
        ("n = max(3, abs(x.mean()).item())", True),
        ("n = max(3, x.mean().abs().item())", True),
        ("n = max(3, torch.neg(x.mean()).item())", True),
        ("n = max(3, x.argmax().abs().item())", False),
        ("n = max(3, x.sum().item() ** 0.5)", True),
        ("n = max(3, x.argmax().item() ** 2)", False),
        ("n = max(3, x.sum().item() * 0.5)", True),
        ("n = max(3, round(x.norm().item()))", False),
        ("n = max(3, int(x.norm().item() / 2))", False),
        ("n = max(rate, x.sum().item())", False),
        ("n = max(3, x.sum().item() // 2)", False),
    ],
)
def test_fractions_are_compared(line: str, asks: bool) -> None:
    assert ("DDE108" in [code for _, code in found(line, "return x * n")]) == asks


@pytest.mark.parametrize(
    ("made", "asks"),
    [
        ("x.norm().item()", True),
        ("x.sum().item() / rate", True),
        ("x.norm().item() * 2", True),
        ("x.argmax().item() * 2", False),
        ("int(x.norm().item())", False),
        ("int(rate * x.norm().item())", False),
        ("x.sum().item() // rate", False),
    ],
)
def test_a_fraction_that_has_a_name(made: str, asks: bool) -> None:
    assert ((2, "DDE108") in found(f"n = {made}", "n = max(rate, n)", "return x * n")) == asks
    assert ((2, "DDE108") in found(f"n = {made}", "n = max(3, n * 2)", "return x * n")) == asks
    assert ((3, "DDE108") in found(f"n = {made}", "n = -n * 2", "n = max(3, n)", "return x * n")) == asks


@pytest.mark.parametrize(("made", "asks"), [("x.norm().item()", True), ("x.argmax().item()", False)])
def test_a_fraction_that_a_loop_makes_of_itself(made: str, asks: bool) -> None:
    lines = (f"n = {made}", "for _ in range(9):", "    n = n * 2", "    n = max(3, n * 2)", "return x * n")
    assert ((4, "DDE108") in found(*lines)) == asks
