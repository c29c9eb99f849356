"""Where every move was refused: what takes the region out of the program, and what is said where that fails, too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from ddelint.knowledge.catalog import rule
from ddelint.nouns.diagnostics import DOES_NOT_APPLY, IS_ASKED_FIRST, TIME_IS_OVER, Diagnostic, Question, Refusal
from ddelint.rewrite.candidate import MOVES, Candidate, Context, NotOffered
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.search.offering import offered
from ddelint.rewrite.search.steps import Key, State

CODE = "DDE901"
OUTLINE, GRAPH_BREAK = "outline", "graph_break"
GAINS_NOTHING = "the program can neither be exported nor compiled with it, either"
_GROUPS = ("DDE1", "DDE2", "DDE3")
"""Rules whose findings may end here: control flow, demanded integers, missing facts."""
_UNSUPPORTED = "DDE005"
_KINDS = frozenset(("truth", "integer", "operator", "failure", "text", "type"))


def wanted(question: Question, diagnostic: Diagnostic) -> bool:
    """Whether a finding is one that code may be taken out of the program for."""
    asks = diagnostic.code.startswith(_GROUPS) and question.kind in _KINDS
    return (asks or (diagnostic.code == _UNSUPPORTED and question.kind == "other")) and not question.joint


def unsupported(others: Mapping[Key, Diagnostic]) -> dict[Key, Diagnostic]:
    """Of what is no question, what stops a front end all the same: it may be taken out of the program, too."""
    return {key: diagnostic for key, diagnostic in others.items() if diagnostic.code == _UNSUPPORTED}


def failure_of(diagnostic: Diagnostic) -> str:
    """What stops a front end, in its own words."""
    return diagnostic.message.partition(": ")[2]


def candidates(context: Context, refused: list[Refusal]) -> Iterator[Candidate]:
    """Regions as operators; why there is none is noted in `refused`."""
    yield from _offered(OUTLINE, context, refused)


def graph_breaks(context: Context, refused: list[Refusal]) -> Iterator[Candidate]:
    """Regions that leave the graph, for whoever allows that."""
    yield from _offered(GRAPH_BREAK, context, refused)


def _offered(name: str, context: Context, refused: list[Refusal]) -> Iterator[Candidate]:
    try:
        yield from offered(name, context)
    except NotOffered as error:
        refused.append(Refusal(name, first_line(name), str(error)))


def with_refused_regions(state: State, outlined: State) -> State:
    """A state, and why the regions that `outlined` takes out of its program are not written."""
    tried = {step.key: step for step in outlined.steps if step.candidate.last_resort}
    for known, later in ((state.given_up, outlined.given_up), (state.others, outlined.others)):
        for key, home in known.items():
            refused = later.get(key, home).refused
            if (step := tried.get(key)) is not None:
                vain = Refusal(step.candidate.move, step.candidate.message, GAINS_NOTHING)
                refused = (*step.diagnostic.refused, vain)
            known[key] = replace(home, refused=refused)
    return state


def with_untried_regions(state: State, is_wanted: Callable[[Diagnostic], bool]) -> State:
    """Says in a state, and gives it back, that no time was left to take out of its program what nothing clears."""
    late = Refusal(OUTLINE, _sentence(OUTLINE), TIME_IS_OVER)
    for key, home in state.given_up.items():
        if home.code.startswith(_GROUPS) and is_wanted(home) and not ran_out_of_time(home):
            state.given_up[key] = replace(home, refused=(*home.refused, late))
    return state


def told(diagnostic: Diagnostic) -> Diagnostic:
    """How a finding is told that nothing fixes: control flow as DDE901, with every move of its rule, and why each was
    refused; what is no control flow as it is.

    As it is, too, where not everything was tried (no unsafe fixes were looked for, the time was over).
    """
    moves = rule(CODE).moves
    tried = {refusal.move for refusal in diagnostic.refused}
    if ran_out_of_time(diagnostic) or diagnostic.code not in knowledge().beyond.meant or not tried & set(moves):
        return diagnostic
    silent = [
        Refusal(name, first_line(name), DOES_NOT_APPLY)
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
        detail=f"no move fixes {diagnostic.code}; torch.compile alone could break the graph here (--graph-breaks)",
        breadcrumbs=(),
        stands_for=diagnostic.code,
    )


def untried(diagnostic: Diagnostic) -> Iterator[Refusal]:
    """What is said of a finding that nothing was worked out for any more: its rule's first move was not tried."""
    for name in rule(diagnostic.code).moves[:1]:
        yield Refusal(name, _sentence(name), TIME_IS_OVER)


def behind(diagnostic: Diagnostic, left: Collection[Diagnostic]) -> Diagnostic:
    """A finding for which nothing was tried, with the reason where it is that one of `left` was not cleared."""
    if diagnostic.refused or not left:
        return diagnostic
    reason = f"{asked_at(min(left, key=lambda finding: finding.span))} {IS_ASKED_FIRST}"
    return replace(diagnostic, refused=tuple(replace(refusal, reason=reason) for refusal in untried(diagnostic)))


def asked_at(finding: Diagnostic) -> str:
    """What is open at a finding: its question, which stays the same whatever rule it is reported under in the end."""
    asked = f"`{finding.expression}`" if finding.expression else finding.code
    return f"{asked} at line {finding.span.row}"


def ran_out_of_time(diagnostic: Diagnostic) -> bool:
    """Whether not everything was tried for a finding, since its entry's time was over."""
    return any(refusal.reason.endswith(TIME_IS_OVER) for refusal in diagnostic.refused)


def _sentence(name: str) -> str:
    """What a move does; its name where it is not loaded."""
    return first_line(name) if name in MOVES else name


def first_line(name: str) -> str:
    """What a move does, in a sentence."""
    return (MOVES[name].__doc__ or name).strip().splitlines()[0].rstrip(".")
