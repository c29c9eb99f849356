"""Retired functions are replaced without a run."""

from __future__ import annotations

from dataclasses import replace

from control_flow import context_of

from ddelint.diagnostics import Applicability, Diagnostic
from ddelint.rewrite.static_fixes import with_static_fixes
from ddelint.source import SourceFile
from ddelint.static.checks import check_source

TEXT = (
    "import torch\n\n\ndef fn(x, n):\n    torch._check_is_size(n, max=8)\n"
    "    torch._constrain_as_value(n, 2, 8)\n    return x[:n]\n"
)


def finding(text: str, asking: str, code: str) -> tuple[Diagnostic, dict[str, object]]:
    context = context_of(text, asking, code=code)
    return context.diagnostic, {"model.py": context.site.source}


def test_a_retired_call_gets_a_safe_fix() -> None:
    diagnostic, sources = finding(TEXT, "torch._check_is_size(n, max=8)", "DDE601")
    fixed = with_static_fixes([diagnostic], sources)[0]  # type: ignore[arg-type]
    assert fixed.fix is not None
    assert fixed.fix.applicability is Applicability.SAFE
    assert "torch._check(n >= 0)\n    torch._check(n <= 8)" in fixed.fix.edits[0].content


def test_other_findings_pass_through() -> None:
    diagnostic, sources = finding(TEXT, "x[:n]", "DDE301")
    assert with_static_fixes([diagnostic], sources) == [diagnostic]  # type: ignore[arg-type]


def test_what_cannot_be_said_in_other_words_has_no_fix() -> None:
    text = TEXT.replace("torch._check_is_size(n, max=8)", "y = torch._check_is_size(n)")
    diagnostic, sources = finding(text, "torch._check_is_size(n)", "DDE601")
    assert with_static_fixes([diagnostic], sources)[0].fix is None  # type: ignore[arg-type]


def test_a_successor_that_not_every_release_has_is_only_shown() -> None:
    text = "from torch.fx.experimental.symbolic_shapes import hint_int\n\n\n"
    text += "def fn(n):\n    return hint_int(n, fallback=64)\n"
    diagnostic, sources = finding(text, "hint_int(n, fallback=64)", "DDE604")
    fixed = with_static_fixes([diagnostic], sources)[0]  # type: ignore[arg-type]
    assert fixed.fix is not None
    assert fixed.fix.applicability is Applicability.DISPLAY
    source = context_of(text, "hint_int(n, fallback=64)").site.source
    assert source.apply(fixed.fix.edits) == text.replace("hint_int", "optimization_hint")


READING = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, sizes: torch.Tensor):
        for height, width in sizes.tolist():
            x = x * int(height)
        rows = sizes[0]
        x = x + int(rows.max())
        if x.sum() > 3:
            raise ValueError(f"{x.sum()}")
        if width > 3:
            raise ValueError(f"{width}")
        return x
"""


def test_numbers_that_were_read_are_not_read_again() -> None:
    source = SourceFile("model.py", READING)
    fixed = {d.span.row: d.fix for d in with_static_fixes(check_source(source), {"model.py": source})}
    texts = {row: fix.edits[0].content for row, fix in fixed.items() if fix is not None}
    assert texts[7] == "torch.sym_int(height)"
    assert texts[9] == "torch.sym_int(rows.max().item())"
    assert "torch._check(torch.sym_not((x.sum() > 3).item()))" in texts[10]
    assert "torch._check(width <= 3)" in texts[12]


def test_what_nothing_is_known_of_is_left_to_the_tracer() -> None:
    source = SourceFile("model.py", READING)
    unknown = [replace(d, kinds=()) for d in check_source(source)]
    fixed = with_static_fixes(unknown, {"model.py": source})
    assert [d.span.row for d in fixed if d.fix is not None and d.code in ("DDE103", "DDE104", "DDE201")] == []
