"""What to write instead: a candidate of the rule's moves where the source is at hand, else the rule's own example."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ddelint.knowledge.catalog import Rule, rule
from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Evidence, Fix
from ddelint.sources.sites import Site
from ddelint.sources.source import SourceError, SourceFile

NOT_RUN = "nothing was run: `ddelint check` tries rewrites and verifies them"
_FENCE = re.compile(r"^```\w*\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE)


def rewrite(diagnostic: Diagnostic, site: Site, kind: str, operator: str = "") -> Fix | None:
    """The best candidate that the rule's moves offer for `site`, for eyes only; None where no move applies.

    Nothing is run, so nothing is claimed. Loads the moves.
    """
    from ddelint.rewrite.candidate import MOVES, Candidate, Context
    from ddelint.rewrite.moves import load_moves
    from ddelint.rewrite.writing.imports import EngineError, import_edits

    load_moves()
    context = Context(site, diagnostic, kind, detail=diagnostic.detail, operator=operator)

    def offered() -> Iterator[Candidate]:
        for name in rule(diagnostic.code).moves:
            if name in MOVES:
                yield from MOVES[name](context)

    def doubt(candidate: Candidate) -> tuple[bool, bool]:
        """What needs a run most comes last: a promise, and a general path where both values can be computed."""
        general = candidate.claim is Claim.GENERAL_PATH and Claim.RESTRUCTURED in rule(diagnostic.code).claims
        return candidate.claim is Claim.PROMISE, general

    for candidate in sorted(offered(), key=doubt):
        source = site.source
        if any(edit.span.filename != source.filename for edit in candidate.edits):
            continue
        try:
            edits: list[Edit] = [*candidate.edits, *import_edits(source, candidate.imports)]
            _ = SourceFile(source.filename, source.apply(edits)).tree
        except (EngineError, SourceError, ValueError):
            continue
        message = "; ".join((candidate.message, *candidate.notes))
        return Fix(Applicability.DISPLAY, message, tuple(edits), candidate.move, candidate.claim)
    return None


def example(code: str) -> Fix | None:
    """The rule's good example as advice; None for a rule without one."""
    found: Rule = rule(code)
    match = _FENCE.search(found.documentation.good)
    if match is None:
        return None
    message = f"for example (`ddelint rule {code}` says more):\n{match['code'].rstrip()}"
    move = found.moves[0] if found.moves else ""
    return Fix(Applicability.DISPLAY, message, (), move, found.claims[0] if found.claims else Claim.RESTRUCTURED)


def capture(flag: str) -> Fix:
    """Have Dynamo put into the graph what broke it; the value is a symbol then."""
    message = (
        "let Dynamo capture it, before it compiles: what is read is a symbol in the graph then, which code may compute "
        "with, but not decide on. With `fullgraph=True`, torch 2.13 does so by itself\n"
        f"torch._dynamo.config.{flag} = True"
    )
    return Fix(Applicability.DISPLAY, message, (), "capture_flag", Claim.EQUIVALENT)


def unverified() -> Evidence:
    """Evidence that says that there is none."""
    return Evidence(notes=(NOT_RUN,))
