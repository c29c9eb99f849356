"""What nothing fixes leaves the graph, for whoever allows that (`--graph-breaks`)."""

from __future__ import annotations

from dataclasses import replace

from ddelint.nouns.diagnostics import Applicability, Diagnostic, Question, Refusal
from ddelint.rewrite.search import last_resort, verdict
from ddelint.rewrite.search.asking import QUICK_SAMPLES, Asking
from ddelint.rewrite.search.comparisons import Wanted
from ddelint.rewrite.search.steps import Key, State, Step, key_of
from ddelint.rewrite.search.trying import Trying
from ddelint.rewrite.writing.imports import EngineError
from ddelint.sources.source import SourceError


def with_graph_breaks(state: State, asking: Asking, trying: Trying) -> State:
    """The state in which what nothing fixes leaves the graph; `state` itself where that does not help, either."""
    broken = replace(state, steps=list(state.steps), given_up=dict(state.given_up))
    for key, home in state.given_up.items():
        for question in asking.asked(broken.history):
            if key_of(broken.history, question) == key:
                _break_graph(broken, question, key, home, asking, trying)
    compilation = asking.compile(broken.history)
    passed = compilation.failure is None and all(r.ok and not r.mismatches for r in compilation.results)
    return broken if passed and not broken.given_up else state


def _break_graph(state: State, question: Question, key: Key, home: Diagnostic, asking: Asking, trying: Trying) -> None:
    """Take the region of one question out of the graph, where what is left agrees with the original in eager."""
    diagnostic = asking.diagnosed(state.history, question)
    context = asking.context(state.history, question, diagnostic)
    refused: list[Refusal] = list(home.refused)
    for candidate in last_resort.graph_breaks(context, refused) if context is not None else ():
        number = trying.next_number()
        try:
            history = trying.applied(state.history, candidate, number)
        except (EngineError, SourceError, ValueError) as error:
            refused.append(Refusal(candidate.move, candidate.message, f"cannot be applied: {error}"))
            continue
        comparison = asking.comparisons.of(Wanted(history, (), QUICK_SAMPLES, quick=True))
        reason = verdict.refutation(comparison, candidate.claim)
        if reason or comparison.failure is not None:
            refused.append(Refusal(candidate.move, candidate.message, reason or "could not be run"))
            continue
        reported = replace(home, refused=tuple(refused))
        reasons = ("torch.compile breaks the graph here",)
        unsafe = Applicability.UNSAFE
        state.steps.append(Step(number, key, reported, candidate, (), unsafe, reasons, None))
        state.history = history
        del state.given_up[key]
        return
