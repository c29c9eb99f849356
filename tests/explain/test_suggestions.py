"""What is suggested without a run: the candidate that needs one least."""

from __future__ import annotations

import pytest

from ddelint.explain.suggestions import rewrite
from ddelint.nouns.diagnostics import Claim, Diagnostic, Span
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceFile


def suggested(text: str, asking: str, code: str) -> tuple[Claim, str] | None:
    source = SourceFile("model.py", text)
    start = text.index(asking)
    row, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    node = source.at(Span("model.py", row, column, row, column + len(asking)))
    assert node is not None
    site = locate(source, source.span(node))
    assert site is not None
    fix = rewrite(Diagnostic(code, "", site.span), site, "truth")
    return None if fix is None else (fix.claim, source.apply(fix.edits))


@pytest.mark.parametrize(
    ("body", "asking", "code", "claim", "words"),
    [
        ("    if x.sum() > 0:\n        x = x * 2\n", "x.sum() > 0", "DDE105", Claim.RESTRUCTURED, "torch.where("),
        (
            "    if x.shape[0] == 0:\n        return x\n",
            "x.shape[0] == 0",
            "DDE102",
            Claim.GENERAL_PATH,
            "is_compiling",
        ),
        ("    if x.max() > 3:\n        raise ValueError\n", "x.max() > 3", "DDE103", Claim.EQUIVALENT, "torch._check"),
    ],
)
def test_what_needs_a_run_least_comes_first(body: str, asking: str, code: str, claim: Claim, words: str) -> None:
    found = suggested(f"import torch\n\n\ndef fn(x):\n{body}    return x.exp()\n", asking, code)
    assert found is not None
    assert found[0] is claim
    assert words in found[1]
