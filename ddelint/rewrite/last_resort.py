"""Where every move was refused: what takes the region out of the program, and what is said where that fails, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ddelint.catalog import rule
from ddelint.diagnostics import Diagnostic, Question, Refusal
from ddelint.rewrite.candidate import MOVES, Candidate, Context, NotOffered

CODE = "DDE901"
OUTLINE, GRAPH_BREAK = "outline", "graph_break"
TIME_IS_OVER = "the entry's time is over (--timeout)"
_GROUPS = ("DDE1", "DDE2", "DDE3")
"""Rules whose findings may end here: control flow, demanded integers, missing facts."""
_KINDS = frozenset(("truth", "integer", "operator", "failure", "text"))


def wanted(question: Question, diagnostic: Diagnostic) -> bool:
    """Whether a finding is one that code may be taken out of the program for."""
    return diagnostic.code.startswith(_GROUPS) and question.kind in _KINDS and not question.joint


def candidates(context: Context, refused: list[Refusal]) -> Iterator[Candidate]:
    """Regions as operators; why there is none is noted in `refused`."""
    yield from _offered(OUTLINE, context, refused)


def graph_breaks(context: Context, refused: list[Refusal]) -> Iterator[Candidate]:
    """Regions that leave the graph, for whoever allows that."""
    yield from _offered(GRAPH_BREAK, context, refused)


def _offered(name: str, context: Context, refused: list[Refusal]) -> Iterator[Candidate]:
    if name in MOVES:
        try:
            yield from MOVES[name](context)
        except NotOffered as error:
            refused.append(Refusal(name, first_line(name), str(error)))


def untraceable(diagnostic: Diagnostic) -> Diagnostic | None:
    """DDE901 for a finding that nothing mends: with every move of its rule, and why each was refused.

    None where not everything was tried (no unsafe fixes were looked for, the time was over).
    """
    moves = rule(CODE).moves
    tried = {refusal.move for refusal in diagnostic.refused}
    late = any(refusal.reason == TIME_IS_OVER for refusal in diagnostic.refused)
    if late or not diagnostic.code.startswith(_GROUPS) or not tried & set(moves):
        return None
    silent = [
        Refusal(name, first_line(name), "does not apply here")
        for name in rule(diagnostic.code).moves
        if name not in tried and name in MOVES
    ]
    own = [refusal for refusal in diagnostic.refused if refusal.move not in moves]
    last = [refusal for refusal in diagnostic.refused if refusal.move in moves]
    found = rule(CODE)
    return replace(
        diagnostic,
        code=CODE,
        message=found.message.format(expression=diagnostic.expression),
        severity=found.severity,
        refused=(*own, *silent, *last),
        detail=f"no move mends {diagnostic.code}; torch.compile alone could break the graph here (--graph-breaks)",
        breadcrumbs=(),
    )


def first_line(name: str) -> str:
    """What a move does, in a sentence."""
    return (MOVES[name].__doc__ or name).strip().splitlines()[0].rstrip(".")
