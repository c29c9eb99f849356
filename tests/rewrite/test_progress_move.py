"""without_progress_bar: what a bar goes over, while compiling."""

from __future__ import annotations

import textwrap

import pytest
from control_flow import context_of, rewritten

COMPILING = "if torch.compiler.is_compiling() else"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("for t in tqdm(times, desc='steps'): x = x * t", f"for t in times {COMPILING} tqdm(times, desc='steps'): x"),
        ("for t in tqdm.auto.trange(1, 3): x = x * t", f"in range(1, 3) {COMPILING} tqdm.auto.trange(1, 3): x"),
        (
            "for i, t in enumerate(tqdm.tqdm(times[1:])): x = x * t",
            f"enumerate(times[1:] {COMPILING} tqdm.tqdm(times[1:])): x",
        ),
        ("x = sum([x * t for t in track(times)])", f"for t in (times {COMPILING} track(times))])"),
        ("for t, s in zip(tqdm(times), times): x = x * t", f"zip(times {COMPILING} tqdm(times), times): x"),
    ],
)
@pytest.mark.parametrize("at_the_loop", [True, False])
def test_the_loop_goes_over_the_values(line: str, said: str, at_the_loop: bool) -> None:
    bars = (
        "tqdm.auto.trange(1, 3)",
        "tqdm.tqdm(times[1:])",
        "track(times)",
        "tqdm(times)",
        "tqdm(times, desc='steps')",
    )
    asking = line if at_the_loop else next(bar for bar in bars if bar in line)
    text = f"import torch\n\n\ndef fn(x, times):\n    {line}\n    return x\n"
    found = rewritten("without_progress_bar", context_of(text, asking, {}, "DDE005"))
    assert any(said in one for one in found)


@pytest.mark.parametrize("line", ["x = fn(tqdm(times))", "for t in tqdm(total=3): x = x * t"])
def test_a_bar_that_is_asked_for_more_stays(line: str) -> None:
    text = f"import torch\n\n\ndef fn(x, times):\n    {line}\n    return x\n"
    assert rewritten("without_progress_bar", context_of(text, line, {}, "DDE005")) == []


NEVER = "if not torch.compiler.is_compiling():"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "for t in (bar := tqdm(times)):\n    bar.set_description(f'{t.item():.1f}')\n    x = x * t",
            f"for t in (times {COMPILING} (bar := tqdm(times))):\n    {NEVER}\n"
            "        bar.set_description(f'{t.item():.1f}')\n    x = x * t",
        ),
        (
            "bar = tqdm(times, leave=False)\nfor i, t in enumerate(bar):\n    x = x * t\n"
            "    bar.set_postfix(mean=f'{x.mean().item():.1f}')",
            f"bar = times {COMPILING} tqdm(times, leave=False)\nfor i, t in enumerate(bar):\n    x = x * t\n"
            f"    {NEVER}\n        bar.set_postfix(mean=f'{{x.mean().item():.1f}}')",
        ),
        (
            "bar = tqdm(total=3)\nfor t in times:\n    x = x * t\n    bar.update(1)\nbar.close()",
            f"bar = None {COMPILING} tqdm(total=3)\nfor t in times:\n    x = x * t\n    {NEVER}\n"
            "        bar.update(1)\n"
            f"{NEVER}\n    bar.close()",
        ),
    ],
)
@pytest.mark.parametrize("at_the_bar", [True, False])
def test_a_bar_with_a_name_is_told_in_eager_alone(body: str, said: str, at_the_bar: bool) -> None:
    asking = body.splitlines()[0] if at_the_bar else next(line for line in body.splitlines() if "    bar." in line)
    context = context_of(
        f"import torch\n\n\ndef fn(x, times):\n{indented(body)}\n    return x\n", asking.strip(), {}, "DDE208"
    )
    assert any(indented(said) in one for one in rewritten("without_progress_bar", context))


@pytest.mark.parametrize(
    "body",
    [
        "bar = tqdm(times)\nfor t in bar:\n    x = x * t * bar.n",
        "bar = tqdm(times)\nx = fn(x, bar)",
        "bar = tqdm(times)\nbar = sorted(bar)\nfor t in bar: x = x * t",
        "for t in (bar := tqdm(total=3)): bar.update(1)",
        "bar = x.copy_(times)\nbar.update(1)",
        "bar = tqdm(times)\nfor t in bar:\n    x = x * t if bar.update(1) else x",
    ],
)
def test_a_bar_that_is_read_stays(body: str) -> None:
    line = body.splitlines()[0]
    context = context_of(f"import torch\n\n\ndef fn(x, times):\n{indented(body)}\n    return x\n", line, {}, "DDE208")
    assert rewritten("without_progress_bar", context) == []


def indented(body: str) -> str:
    """Lines as they stand in a function."""
    return textwrap.indent(body, "    ")
