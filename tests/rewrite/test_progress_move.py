"""without_progress_bar: what a bar goes over, while compiling."""

from __future__ import annotations

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


@pytest.mark.parametrize("line", ["bar = tqdm(times)", "x = fn(tqdm(times))", "for t in tqdm(total=3): x = x * t"])
def test_a_bar_that_is_asked_for_more_stays(line: str) -> None:
    text = f"import torch\n\n\ndef fn(x, times):\n    {line}\n    return x\n"
    assert rewritten("without_progress_bar", context_of(text, line, {}, "DDE005")) == []
