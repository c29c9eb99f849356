"""What the search asks of a worker session and of the moves; each answer is had once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from ddelint.nouns.diagnostics import STILL_ASKS, TIME_IS_OVER, Diagnostic, Question, Refusal, Span, TypeFact
from ddelint.nouns.protocol import LOWERING, Compilation, TraceResult
from ddelint.rewrite.candidate import Candidate, Context
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.reading.bindings import moved_row
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import qualified_name
from ddelint.rewrite.reading.neighbours import importers
from ddelint.rewrite.reading.returned import returned_types
from ddelint.rewrite.search import last_resort
from ddelint.rewrite.search.comparisons import Comparisons
from ddelint.rewrite.search.elsewhere import others_not_run
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.offering import in_order, own_moves, takes_more
from ddelint.rewrite.search.prover import Ahead, Prover, passes
from ddelint.rewrite.search.steps import VALIDATION, Key, State, key_of, tests_of
from ddelint.rewrite.search.traces import Program, Traces, program_of
from ddelint.rewrite.search.verifications import Verifications
from ddelint.sources.sites import Site, locate, site_of
from ddelint.sources.source import SourceFile

QUICK_SAMPLES = 16
"""Inputs for deciding on a candidate; the final program is run on all samples."""
MARGIN, VERIFIED_SECONDS, VERIFIED_BY_TRACED, COMPARED_BY_LOOKED = 1.5, 5.0, 12.0, 6.0
"""What verifying may take: more than it took before, or several times what a run of a trace, and a first comparison,
took: what is verified asks nothing, so that it has one way."""
SLOW_SECONDS = 3.0
"""What a comparison or a trace may take before its program counts as one that takes long."""


class Asking:
    """The session of one entry, its answers remembered by text, and the moves' candidates for a question.

    `diagnose` turns a question on a current text into a diagnostic there. Where `width` requests are answered at
    a time, what is expected to be asked is begun by `ahead`. No answer depends on that. Once time `is_over`, no
    candidate is worked out any more.
    """

    def __init__(
        self,
        prover: Prover,
        originals: Mapping[str, SourceFile],
        targets: tuple[str, ...],
        *,
        samples: int,
        diagnose: Callable[[Question, SourceFile], Diagnostic],
        types: Mapping[str, Mapping[str, TypeFact]],
        ahead: Ahead | None = None,
        width: int = 1,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.prover = prover
        self.is_over = is_over
        self.width = width
        self._ahead = ahead if width > 1 else None
        self.originals = originals
        self.targets = targets
        self.samples = samples
        self._diagnose = diagnose
        self._types = types
        self.traces = Traces(prover, self._ahead)
        self._asks_anything: dict[Program, bool] = {}
        self._compiled: dict[tuple[Program, tuple[str, ...], str], Compilation] = {}
        self._lowered: dict[Program, Compilation] = {}
        self._differentiated: dict[Program, bool] = {}
        self._verifications = Verifications(prover, self._ahead, targets, samples)
        self.comparisons = Comparisons(prover, self._ahead)
        self._offers: dict[tuple[object, ...], tuple[list[Candidate], Iterator[Candidate]]] = {}
        self._first: dict[tuple[str, int, int, str], Diagnostic] = {}
        """What is asked of the originals, by place and rule."""
        # each reads the files of a project
        self._importers = functools.cache(lambda filename, name: tuple(importers(filename, name)))
        load_moves()

    def diagnosed(self, history: History, question: Question) -> Diagnostic:
        """The finding of a question on a current text, there."""
        return self._diagnose(question, history.current(question.span.filename))

    def at_home(self, history: History, diagnostic: Diagnostic) -> Diagnostic:
        """The finding on the original text; in the words that were there, where a fix has changed them on its way."""
        found = diagnostic.relocated(history.home)
        first = self._first.get((found.span.filename, found.span.row, found.span.column, found.code))
        if first is None:
            return found
        return replace(
            found, span=first.span, message=first.message, symbols=first.symbols, breadcrumbs=first.breadcrumbs
        )

    def found(self, history: History, question: Question) -> Diagnostic:
        """The finding of a question on a current text, on the original one."""
        return self.at_home(history, self.diagnosed(history, question))

    def asked(self, history: History) -> list[Question]:
        """The questions of a trace in the files that are ours."""
        questions = self._confirmed(history, self.trace(history))
        if not history.changes and not self._first:
            self.comparisons.tests = tests_of(history, questions)
            for one in (self.diagnosed(history, question) for question in questions):
                self._first.setdefault((one.span.filename, one.span.row, one.span.column, one.code), one)
        return questions

    def compile(self, history: History, backend: str = "eager", targets: tuple[str, ...] | None = None) -> Compilation:
        """The program through its targets, by a backend that generates no code, on few samples."""
        wanted = self.targets if targets is None else targets
        key = program_of(history), wanted, backend
        if key not in self._compiled:
            found = self.prover.compile(history.overlay, wanted, QUICK_SAMPLES, backend)
            if found.failure is not None:
                return found
            self._compiled[key] = found
        return self._compiled[key]

    def goes_through(self, state: State) -> bool:
        """Whether a program can be exported or compiled: by one target, at least.

        That a fix that is unsafe refuses inputs of ours, and what is guessed wrongly on those, is no fault of a region.
        Where time is over before that is known, what the trace said of it counts: that nothing asks.
        """
        if state.compilation is not None and any(map(passes, state.compilation.results)):
            return True
        compilation = self.compile(state.history)
        if compilation.failure is not None:
            traced = self.traces.known(state.history) if compilation.failure.message == TIME_IS_OVER else None
            return traced is not None and traced.failure is None and not traced.questions
        return any(map(passes, compilation.results))

    def trace(self, history: History) -> TraceResult:
        """Every path of a program, and what it asks."""
        return self.traces.of(history)

    def takes_long(self, history: History) -> bool:
        """Whether a program takes long to trace, and longer to compile."""
        return self.trace(history).seconds > SLOW_SECONDS

    def stops(self, history: History) -> bool:
        """Whether something that is no question ends a program's trace, so that nothing behind it is asked."""
        return any(question.kind == "other" for question in self.trace(history).questions)

    def is_sooner_compared(self, history: History) -> bool:
        """Whether a program like this one is sooner compared on a few inputs than traced, as far as is known.

        Of wrong candidates most give another result, and few ask.
        """
        compared = self.comparisons.seconds_of_quick()
        return compared is None or self.trace(history).seconds > compared

    def asks_anything(self, history: History) -> bool:
        """Whether a program asks, or cannot be traced; its first question is enough to know."""
        key = program_of(history)
        if key not in self._asks_anything:
            self._asks_anything[key] = self._finds_a_question(history, key)
        return self._asks_anything[key]

    def _finds_a_question(self, history: History, key: Program) -> bool:
        traced = self.traces.until_anything_asks(history)
        if not any(q.span.filename in self.originals for q in traced.questions):
            traced = self.trace(history)
        asking = (q for q in self._confirmed(history, traced) if q.kind != "other")
        return traced.failure is not None or any(asking)

    def _confirmed(self, history: History, traced: TraceResult) -> list[Question]:
        """The questions in the files that are ours; those of the joint graph alone where torch.compile has them, too.

        Dynamo knows some sizes that a trace of the program's own calls does not.
        """
        found = [q for q in traced.questions if q.span.filename in self.originals]
        asking = [q for q in found if q.kind != "other"]
        if asking and all(q.joint for q in asking) and self._is_differentiated(history):
            return [q for q in found if q.kind == "other"]
        return found

    def _is_differentiated(self, history: History) -> bool:
        """Whether torch.compile takes a program and its gradients."""
        key = program_of(history)
        if key not in self._differentiated:
            compilation = self.compile(history, targets=("compile",)) if "compile" in self.targets else None
            self._differentiated[key] = (
                compilation is not None
                and compilation.failure is None
                and compilation.backward is True
                and all(result.ok for result in compilation.results)
            )
        return self._differentiated[key]

    def verify(self, history: History, until: Callable[[Compilation], bool] = lambda one: False) -> Compilation:
        """The program through every target, by Inductor, on all samples; or `until` one of them says enough."""
        return self._verifications.of(history, until)

    def is_known_to_stop(self, history: History, key: Key) -> bool:
        """Whether a program was verified before and stopped at what is known by `key`."""
        return any(key_of(history, question) == key for question in self._verifications.questions(history))

    def expect_without_each(self, history: History, steps: Sequence[int]) -> None:
        """That it will be asked of each of the steps whether the program asks anything without it."""
        for step in steps:
            shorter = history.without(step)
            if shorter is not None:
                self.traces.expect(shorter, first=True)

    def expect_verified(self, history: History) -> None:
        """That a program will be verified."""
        self._verifications.expect(history)

    def forget(self) -> None:
        """Nothing is expected any more."""
        if self._ahead is not None:
            self._ahead.forget()

    def seconds_at_the_end(self, verified: float = 1.0) -> float:
        """What the last comparison and the verification of a program take, as far as is known by now.

        `verified`: how much of the verification is to be paid for.
        """
        known = self._verifications.seconds()
        compared = self.comparisons.longest()
        compared *= MARGIN if known or self.comparisons.has_whole() else COMPARED_BY_LOOKED
        if known:
            return MARGIN * verified * max(known) + compared
        # one candidate that takes long to trace says nothing of the program
        traced = self.traces.usual_seconds()
        return verified * (VERIFIED_SECONDS + VERIFIED_BY_TRACED * traced) + compared

    def lower(self, history: History) -> Compilation:
        """What Inductor asks where everything before it goes through; it can ask only about numbers of run time."""
        key = program_of(history)
        if key not in self._lowered:
            wanted = "compile" in self.targets and self.trace(history).unbacked
            self._lowered[key] = (
                self.prover.compile(history.overlay, ("compile",), 0, LOWERING) if wanted else Compilation(results=())
            )
        return self._lowered[key]

    def still_validates(self, history: History) -> bool:
        """Whether a check of the program's own is still asked about."""
        return any(self.diagnosed(history, question).code == VALIDATION for question in self.asked(history))

    def candidates(self, history: History, question: Question, diagnostic: Diagnostic) -> Iterator[Candidate]:
        """The candidates of the moves that the rule lists: by claim, then in the rule's order."""
        yield from self._remembered("own", history, question, diagnostic, self._candidates)

    def _candidates(self, history: History, question: Question, diagnostic: Diagnostic) -> Iterator[Candidate]:
        context = self.context(history, question, diagnostic)
        if context is not None:
            yield from in_order(own_moves(question, diagnostic), context, self.is_over)

    def _remembered(
        self,
        which: str,
        history: History,
        question: Question,
        diagnostic: Diagnostic,
        offer: Callable[[History, Question, Diagnostic], Iterator[Candidate]],
    ) -> Iterator[Candidate]:
        """Candidates of a question of a text, as they come; each is worked out once, however often it is asked for."""
        texts = program_of(history)
        key = (which, texts, question.span, question.kind, question.expression, question.detail, diagnostic.code)
        if key not in self._offers:
            self._offers[key] = [], offer(history, question, diagnostic)
        known, coming = self._offers[key]
        place = 0
        while True:
            if place == len(known):
                following = next(coming, None)
                if following is None:
                    return
                known.append(following)
            yield known[place]
            place += 1

    def further_candidates(self, history: History, question: Question, diagnostic: Diagnostic) -> Iterator[Candidate]:
        """The candidates of all other moves, here and where a caller decides by what this function gives."""
        yield from self._remembered("further", history, question, diagnostic, self._further_candidates)

    def _further_candidates(self, history: History, question: Question, diagnostic: Diagnostic) -> Iterator[Candidate]:
        own = own_moves(question, diagnostic)
        if not own or not takes_more(question):
            return
        context = self.context(history, question, diagnostic)
        if context is not None:
            yield from in_order([name for name in knowledge().beyond.moves if name not in own], context, self.is_over)
        for context in self._callers(history, question, diagnostic):
            if context.site.decision is not None:
                yield from in_order(knowledge().beyond.moves, context, self.is_over)

    def other_callers(self, history: History, question: Question, candidate: Candidate) -> str:
        """Who else takes the function that a candidate rewrites, or what it calls or raises, otherwise, without having
        been run; empty where nobody does."""
        site = locate(history.current(question.span.filename), question.span)
        if site is None:
            return ""
        return others_not_run(site, candidate, self._types, self._importers)

    def last_resort_candidates(
        self, history: History, question: Question, diagnostic: Diagnostic, refused: list[Refusal]
    ) -> Iterator[Candidate]:
        """What takes the region out of the program, once everything else was refused.

        Where nothing around the question can be (a helper on NumPy's arrays), what calls it may be.
        """
        context = self.context(history, question, diagnostic)
        if context is not None:
            yield from last_resort.candidates(context, refused)
        for context in self._callers(history, question, diagnostic):
            yield from last_resort.candidates(context, refused)

    def _callers(self, history: History, question: Question, diagnostic: Diagnostic) -> Iterator[Context]:
        """Where the functions that ask are called, the innermost first."""
        callers = [f.span for f in question.frames if f.inside and f.span.filename in self.originals]
        for span in reversed(callers):
            if not span.overlaps(question.span):
                context = self.context(history, replace(question, span=span, types={}), diagnostic)
                if context is not None:
                    yield context

    def context(self, history: History, question: Question, diagnostic: Diagnostic) -> Context | None:
        """What the moves may ask about a question; None where its place is not found."""
        source = history.current(question.span.filename)
        site = locate(source, question.span)
        if site is None:
            return None
        return Context(
            site=site,
            diagnostic=diagnostic,
            kind=question.kind,
            types={**self._eager_types(history, site), **question.types},
            types_in=lambda function: self._eager_types(history, site_of(source, function.body[0])),
            read=history.current,
            detail=question.detail,
            operator=question.operator,
            targets=self.targets,
            # a fake kernel rests on no other question, and to know them takes a whole trace
            asked=()
            if question.fake
            else tuple(q.span for q in self.asked(history) if q.span.filename == source.filename),
            fake=question.fake,
        )

    def _eager_types(self, history: History, site: Site) -> Mapping[str, TypeFact]:
        """What eager runs saw in the site's function, by its qualified name: many classes have a `forward`."""
        source, function = site.source, site.function
        if function is None:
            return {}
        types = self._types.get(f"{source.filename}::{qualified_name(source, function)}", {})
        moved = {moved_row(text, lambda row: history.row(source.filename, row)): fact for text, fact in types.items()}
        return {**returned_types(source, function, moved, self._types), **moved}

    def still_asks(self, state: State, history: History, question: Question, key: Key, number: int) -> str:
        """Why the candidate does not clear the question; empty where it does."""
        soon = self.traces.until_it_asks(history, number)
        if soon.cut:
            ours = [one for one in soon.questions if one.span.filename in self.originals]
            reason = self._asks_there(state, history, question, key, number, ours)
            if reason:
                return reason
        traced = self.trace(history)
        if traced.failure is not None:
            return f"could not be traced: {traced.failure.message}"
        asked = self.asked(history)
        reason = self._asks_there(state, history, question, key, number, asked)
        if reason:
            return reason
        reaches = question.kind != "other" or question.asks
        asks = any(one.kind != "other" for one in asked)
        if reaches and "export" not in question.asks and not question.joint and not asks:
            return self._front_ends_ask(history, question, key, number)
        return ""

    def _asks_there(
        self, state: State, history: History, question: Question, key: Key, number: int, asked: Sequence[Question]
    ) -> str:
        """Why a candidate's own text doesn't clear its question, as far as what a program asks says so.

        `asked` may be the beginning of that, without anything of the joint graph (see `Traces.until_it_asks`).
        """
        asking = [q for q in asked if q.kind != "other"]
        known = [key_of(state.history, q) for q in self.asked(state.history) if q.kind != "other"]
        now = [key_of(history, q) for q in asking]
        stopping = (q for q in asked if q.kind == "other")
        if question.kind == "other" and any(key_of(history, q) == key for q in stopping):
            return f"tracing still stops here: {question.detail}"
        if key in now:
            return f"{STILL_ASKS} `{question.expression}`"
        touched = history.touched(number)
        for new, new_key in zip(asking, now):
            if new_key not in known and new.kind == "fake":
                return f"the fake kernel disagrees with the real one: {new.detail}"
            inside = any(span.contains(new.span) for span in touched)
            if new_key not in known and (inside or _asks_around(state, history, question, new, touched)):
                # what stood there before asks for its gradient alone: a question of its own, now that it is reached
                moved_along = new.joint and new.expression in state.history.current(new.span.filename).text
                other = any(new_key.place == one.place != key.place for one in known)  # its turn comes, in new words
                if not (moved_along or other) or question.joint:
                    return f"the rewritten code asks `{new.expression}`"
        return ""

    def _front_ends_ask(self, history: History, question: Question, key: Key, number: int) -> str:
        """Why the candidate does not clear a question for the front ends that ask it; empty where it does."""
        if "inductor" in question.asks:
            compilation = self.lower(history)
        else:
            compilation = self.prover.compile(history.overlay, question.asks, 0, "eager")
        touched = history.touched(number)
        for result in compilation.results:
            for left in result.questions:
                if left.span.filename in self.originals and key_of(history, left) == key:
                    return f"{result.target} still asks `{question.expression}`"
                if any(span.contains(left.span) for span in touched) and not _has_an_option(left):
                    return f"{result.target} does not take the rewritten code: {left.detail or left.expression}"
        return ""


def _has_an_option(question: Question) -> bool:
    """Whether what stops a front end is what an option of its own allows: that is set when it is asked in turn."""
    return question.kind == "other" and any(said in question.detail for said in knowledge().compiler_options)


def _asks_around(state: State, history: History, question: Question, new: Question, touched: Sequence[Span]) -> bool:
    """Whether what was asked is asked of an expression around it in which something was written: `~` for `not`."""
    if new.kind != question.kind or not any(new.span.contains(span) for span in touched):
        return False
    now, before = history.home(new.span), state.history.home(question.span)
    return now != before and now.contains(before)
