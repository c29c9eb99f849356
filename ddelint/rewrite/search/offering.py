"""What moves offer for a site. One that trips over code of a kind that nobody thought of must not end the search."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from ddelint.knowledge.catalog import rule
from ddelint.nouns.diagnostics import Claim, Diagnostic, Question
from ddelint.rewrite.candidate import MOVES, Candidate, Context, NotOffered
from ddelint.rewrite.parts.respelling import Respelling, respelled
from ddelint.rewrite.reading.knowledge import knowledge

CLAIM_RANK = {claim: rank for rank, claim in enumerate(Claim)}


def offered(name: str, context: Context) -> Iterator[Candidate]:
    """The move's candidates. Raises NotOffered where the move says why there is none."""
    if name not in MOVES:
        return
    try:
        yield from MOVES[name](context)
    except NotOffered:
        raise
    except Exception as error:
        if os.environ.get("DDELINT_DEBUG"):
            raise
        warnings.warn(f"the move {name} failed: {type(error).__name__}: {error}", stacklevel=2)


def in_order(
    names: Sequence[str], context: Context, is_over: Callable[[], bool] = lambda: False
) -> Iterator[Candidate]:
    """What the moves offer: by claim, then in the order of `names`; once time `is_over`, no further move is asked.

    What they offer once the statement is said in words that more of them know comes before that or after.
    """

    def by_claim(context: Context) -> list[Candidate]:
        in_time = takewhile(lambda _: not is_over(), names)
        return sorted((candidate for name in in_time for candidate in offered(name, context)), key=_place)

    def in_other_words(respelling: Respelling) -> Iterator[Candidate]:
        for candidate in by_claim(respelling.context):
            said = respelling.said(candidate)
            if said is not None:
                yield said

    respellings = list(respelled(context))
    for respelling in respellings:
        if respelling.likelier:
            yield from in_other_words(respelling)
    yield from by_claim(context)
    for respelling in respellings:
        if not respelling.likelier:
            yield from in_other_words(respelling)


def _place(candidate: Candidate) -> tuple[int, bool, bool]:
    """When a candidate is tried: by its claim; the unlikely after all that keeps both sides."""
    claim = Claim.RESTRUCTURED if candidate.unlikely else candidate.claim
    return CLAIM_RANK[claim], candidate.unlikely, not candidate.preferred


def takes_more(question: Question) -> bool:
    """Whether moves that the rule does not list may clear it."""
    return not question.joint and question.kind in knowledge().beyond.questions


def own_moves(question: Question, diagnostic: Diagnostic) -> Sequence[str]:
    """The moves that the rule lists, behind those that come first whatever the rule is."""
    listed = rule(diagnostic.code).moves
    return (*knowledge().beyond.first, *listed) if listed and takes_more(question) else listed
