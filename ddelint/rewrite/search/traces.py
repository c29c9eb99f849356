"""What programs ask when they are traced, each once; of a wrong candidate no more than is needed to refuse it."""

from __future__ import annotations

from statistics import median

from ddelint.nouns.diagnostics import Question
from ddelint.nouns.protocol import TraceResult
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.prover import Ahead, Prover

Program = tuple[tuple[str, str], ...]
"""Each file that differs from the original, and its text."""


class Traces:
    """The traces of one entry's programs, remembered by text; `ahead` begins what is expected to be asked."""

    def __init__(self, prover: Prover, ahead: Ahead | None) -> None:
        self._prover = prover
        self._ahead = ahead
        self.forward_first = False
        """Whether what the joint graph asks is left for when the forward asks nothing: it takes as long to trace."""
        self._whole: dict[Program, TraceResult] = {}
        self._cut: dict[Program, TraceResult] = {}
        """Those that ended where a candidate asks."""
        self._without_gradients: set[Program] = set()
        """Programs of which it is not known what their joint graphs ask."""

    def of(self, history: History) -> TraceResult:
        """Every path of a program, and what it asks."""
        program = program_of(history)
        if not self._is_traced(program):
            self._keep(program, self._prover.trace(history.overlay, forward_first=self.forward_first))
        return self._whole[program]

    def until_it_asks(self, history: History, step: int) -> TraceResult:
        """A trace that ends where the text of a step asks: a whole one where that doesn't, or it is known."""
        program = program_of(history)
        if self._is_traced(program):
            return self._whole[program]
        if program not in self._cut:
            until = history.touched(step)
            traced = self._prover.trace(history.overlay, forward_first=self.forward_first, until=until)
            if not traced.cut:
                self._keep(program, traced)
                return traced
            self._cut[program] = traced
        return self._cut[program]

    def until_anything_asks(self, history: History) -> TraceResult:
        """A trace that ends with a program's first question: a whole one where there is none, or it is known."""
        program = program_of(history)
        traced = self._whole.get(program) or self._prover.trace(history.overlay, first=True)
        if not traced.questions:
            self._whole[program] = traced
        return traced

    def known(self, history: History) -> TraceResult | None:
        """The trace of a program that was traced before."""
        return self._whole.get(program_of(history))

    def expect(self, history: History, *, first: bool = False, step: int | None = None) -> None:
        """That a program will be traced; `first`: until anything asks; `step`: until the text of that asks."""
        program = program_of(history)
        if self._ahead is None:
            return
        if first:
            if program not in self._whole:
                self._ahead.trace(history.overlay, first=True)
        elif not self._is_traced(program) and (step is None or program not in self._cut):
            until = history.touched(step) if step is not None else ()
            self._ahead.trace(history.overlay, forward_first=self.forward_first, until=until)

    def may_ask_jointly(self) -> bool:
        """Whether a joint graph of any of these programs has asked something."""
        return any(question.joint for traced in self._whole.values() for question in traced.questions)

    def usual_seconds(self) -> float:
        """What one run of a trace takes."""
        return median([traced.seconds / max(1, traced.runs) for traced in self._whole.values()] or [0.0])

    def _is_traced(self, program: Program) -> bool:
        return program in self._whole and (self.forward_first or program not in self._without_gradients)

    def _keep(self, program: Program, traced: TraceResult) -> None:
        self._whole[program] = traced
        self._without_gradients.discard(program)
        if self.forward_first and any(map(is_asked, traced.questions)):
            self._without_gradients.add(program)


def program_of(history: History) -> Program:
    """What tells a program apart from others of its entry."""
    return tuple(sorted(history.overlay.items()))


def is_asked(question: Question) -> bool:
    """Whether it is a question: one of kind `other` is what ends a trace."""
    return question.kind != "other"
