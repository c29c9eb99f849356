"""The ways through a program as its input sizes choose them, each followed with sizes that take it.

Every input dimension is unbacked, so torch asks about each; the answers are those of concrete sizes, which are then
changed so that one answer comes out the other way. Runs in the worker.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any

import sympy

from ddelint.nouns.diagnostics import Question, Span
from ddelint.shapes.facts import Sizes, as_true, is_readable, read
from ddelint.shapes.linear_forms import multiple_said
from ddelint.shapes.plain import plain
from ddelint.shapes.products import cancelled
from ddelint.shapes.witnesses import find
from ddelint.trace import asking_context, endings, naming, provenance, torch_internals
from ddelint.trace.entry import Entry
from ddelint.trace.fake_run import Program, call
from ddelint.trace.observer import Answer, Inquiry, Observer, Stopped
from ddelint.trace.provenance import Blame, Paths, Sources
from ddelint.trace.stand_ins import StandIns

MOST_RUNS = 64
_SYMBOL = re.compile(r"\b[us]\d+\b")
_LONGEST_CODE = 100


@dataclass(frozen=True, slots=True)
class Step:
    """One condition on input sizes that a run came across, and how it came out."""

    kind: str
    """`asked`, `asserted`, `specialized`."""
    text: str
    truth: bool
    span: Span | None
    code: str
    torch: bool
    """Whether torch asked, inside what the program called."""

    @property
    def fact(self) -> str:
        """What holds on this run."""
        return as_true(self.text, self.truth)


@dataclass(slots=True)
class Path:
    """One run: the sizes that it was taken for, what it came across, how it ended."""

    sizes: Sizes
    steps: list[Step] = field(default_factory=list)
    ending: str = ""
    """`completed`, `refused` (an assertion does not hold), `raised`, `cut`."""
    error: str = ""
    span: Span | None = None
    by_user: bool = False
    """Whether a `raise` or `assert` of the program ended it."""
    asks_data: int = 0
    """Questions about data on the way."""

    @property
    def completed(self) -> bool:
        """Whether it ended well."""
        return self.ending == "completed"


@dataclass(slots=True)
class Explored:
    """All runs of one program."""

    paths: list[Path]
    sizes: Sizes
    """The example's."""
    undecided: list[str]
    ended: bool
    """Whether the budget ended it."""


class _Refused(Stopped):
    """An assertion that the run's sizes do not satisfy."""


def explore(
    entry: Entry, paths: Sequence[str], seed: int, sizes: Sizes, seconds: float, most_runs: int = MOST_RUNS
) -> Explored:
    """Follow each condition both ways, as far as the budget goes."""
    return _Explorer(entry, Paths(tuple(paths)), seed, sizes, monotonic() + seconds, most_runs).explore()


class _Explorer:
    def __init__(self, entry: Entry, paths: Paths, seed: int, sizes: Sizes, deadline: float, most_runs: int) -> None:
        self._program = Program(entry, seed)
        self._watcher = _Watcher(entry, paths, seed)
        self._example = dict(sizes)
        self._deadline = deadline
        self._most_runs = most_runs
        self._done: list[Path] = []
        self._undecided: dict[str, None] = {}
        self._planned: set[tuple[str, ...]] = set()
        self._covered: dict[tuple[Any, ...], int] = {}
        self._waiting: list[tuple[int, int, Sizes, int]] = []
        self._order = count()

    def explore(self) -> Explored:
        """All runs, those that show a new side of a condition first."""
        heapq.heappush(self._waiting, (0, next(self._order), self._example, 0))
        runs = 0
        while self._waiting and runs < self._most_runs and monotonic() < self._deadline:
            _, _, sizes, known = heapq.heappop(self._waiting)
            runs += 1
            path = self._watcher.follow(self._program, sizes)
            self._done.append(path)
            for step in path.steps:
                if step.kind == "asked":
                    key = (step.span, step.text, step.truth)
                    self._covered[key] = self._covered.get(key, 0) + 1
            self._plan(path, known)
        return Explored(self._done, self._example, list(self._undecided), bool(self._waiting))

    def _plan(self, path: Path, known: int) -> None:
        """The runs that differ from this one in one answer, or hold to an assertion that it broke."""
        for index in range(len(path.steps)):
            step = path.steps[index]
            broken = step.kind == "asserted" and not step.truth
            if not broken and (step.kind != "asked" or index < known):
                continue
            other = as_true(step.text, not step.truth)
            wanted = tuple(dict.fromkeys((*(before.fact for before in path.steps[:index]), other)))
            if wanted in self._planned:
                continue
            self._planned.add(wanted)
            found = find(wanted, path.sizes)
            if found.sizes is not None:
                shown = self._covered.get((step.span, step.text, not step.truth), 0)
                heapq.heappush(
                    self._waiting, (2 * shown + (0 if not broken else 1), next(self._order), found.sizes, index)
                )
            elif not found.proved and step.kind == "asked":
                self._undecided[other] = None


class _Watcher:
    """Answers by the sizes of the run, and notes what was asked."""

    backed = False
    remembers_calls = False

    def __init__(self, entry: Entry, paths: Paths, seed: int) -> None:
        self._paths = paths
        self._sources = Sources()
        self._stand_ins = StandIns(entry, seed)
        self._path = Path({})
        self._names: dict[sympy.Symbol, str] = {}
        self._observer: Observer | None = None
        self._answered: set[sympy.Basic] = set()
        self._seen: set[tuple[str, bool, Span | None]] = set()
        self._multiples: set[tuple[str, int]] = set()
        """Sizes that are multiples of a number on this run, by what was asked so far."""

    def follow(self, program: Program, sizes: Sizes) -> Path:
        """One run with these sizes."""
        while True:
            self._path = Path(sizes)
            self._observer, self._names = None, {}
            self._answered, self._seen, self._multiples = set(), set(), set()
            with torch_internals.watched_assumptions(lambda condition, answer: None, self._asserted):
                ending = program.run(self)
            if not self._stand_ins.learn(ending.error):
                break
        path = self._path
        if ending.completed:
            path.ending = "completed"
        elif isinstance(ending.error, _Refused):
            path.ending = "refused"
        elif ending.error is None or isinstance(ending.error, Stopped):
            path.ending = "cut"
        else:
            self._note_error(path, ending.error)
            path.error = self._in_words(path.error)
        return path

    def _note_error(self, path: Path, error: BaseException) -> None:
        path.ending = "raised"
        path.error = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        who = provenance.blame(provenance.raised_stack(error, error, call.__code__), self._paths)
        if who is not None:
            path.span = provenance.expression_at(who.place, self._sources).span
            path.by_user = endings.raised_by_user(who)

    def _in_words(self, text: str) -> str:
        """A message with the sizes that torch's symbols stand for: `u1 queries for u4 keys`."""
        names = {str(symbol): name for symbol, name in self._names.items()}
        return _SYMBOL.sub(lambda found: names.get(found[0], found[0]), text)

    # ------------------------------------------------------------------------------------------ what the run tells

    def started(
        self, observer: Observer, input_names: Mapping[sympy.Symbol, str], arguments: Mapping[str, Any]
    ) -> None:
        """The symbols of this run and what they are called."""
        self._observer = observer
        self._names = {symbol: name for symbol, name in input_names.items() if torch_internals.is_unbacked(symbol)}

    def answer(self, observer: Observer, inquiry: Inquiry) -> Answer | None:
        """The answer that the run's sizes give; of data, the one that goes on."""
        who = self._blame()
        if who is None or any(torch_internals.tolerates_undecidable(p.code) for p in who.stack[who.last_user + 1 :]):
            return None
        text = self._text(inquiry.expression)
        if text is None:
            self._path.asks_data += 1
            return self._about_data(inquiry, who)
        if inquiry.kind == "truth":
            truth = bool(read(text).holds(self._path.sizes))
            assert inquiry.expression is not None
            self._answered |= {inquiry.expression, sympy.Not(inquiry.expression)}
            self._note("asked", text, truth, who)
            return truth
        value = int(read(text).evaluate(self._path.sizes))
        assert inquiry.expression is not None
        self._answered.add(sympy.Eq(inquiry.expression, value))
        self._note("specialized", f"{text} == {value}", True, who)
        return value

    def _about_data(self, inquiry: Inquiry, who: Blame) -> Answer:
        if inquiry.kind == "integer" and inquiry.expression is not None:
            lower, _ = torch_internals.bounds(self._observer, inquiry.expression)
            return max(2, int(lower or 0)) if inquiry.expression.is_integer else 1.5
        if who.torch_frame is not None:
            return not isinstance(inquiry.expression, sympy.Eq)
        return asking_context.preferred(provenance.expression_at(who.stack[who.last_user], self._sources))

    def _asserted(self, condition: Any) -> None:
        """Torch will check this at run time."""
        if self._observer is None or not isinstance(condition, sympy.Basic) or condition in self._answered:
            return
        text = self._text(condition)
        known = torch_internals.statically(self._observer, condition) if text is not None else True
        if text is None or known is True:
            return
        who = self._blame()
        if who is None:
            return
        truth = bool(read(text).holds(self._path.sizes))
        self._note("asserted", text, truth, who)
        if not truth:
            raise _Refused

    def _text(self, expression: sympy.Basic | None) -> str | None:
        """A condition over input sizes as text; None where something else is in it."""
        if expression is None or not expression.free_symbols or not expression.free_symbols <= self._names.keys():
            return None
        text = naming.written(expression, [], self._names)
        return cancelled(text, self._multiples) if is_readable(text) else None

    def _note(self, kind: str, text: str, truth: bool, who: Blame) -> None:
        asking = provenance.expression_at(who.place, self._sources)
        key = (text, truth, asking.span)
        if key in self._seen:
            return
        self._seen.add(key)
        if not read(text).names:
            return  # the sizes cancel out
        code = asking.text if len(asking.text) <= _LONGEST_CODE else asking.text[: _LONGEST_CODE - 1] + "…"
        step = Step(kind, text, truth, asking.span, code, not who.direct)
        self._path.steps.append(step)
        multiple = multiple_said(plain(step.fact))
        if multiple is not None:
            self._multiples.add(multiple)

    def _blame(self) -> Blame | None:
        return provenance.blame(provenance.live_stack(call.__code__), self._paths)

    # ------------------------------------------------------------------------------- what does not concern sizes

    def stand_in(self, mode: Any, operator: Any, args: Any, kwargs: Any) -> Any:
        """What an operator without a fake kernel returns."""
        return self._stand_ins.result(mode, operator, args, kwargs)

    def born(self, observer: Observer, symbol: sympy.Symbol) -> None: ...
    def specialized(self, observer: Observer, symbol: sympy.Symbol, expression: sympy.Basic, value: Any) -> None: ...
    def guarded(self, observer: Observer, expression: sympy.Basic) -> None: ...
    def decided(self, observer: Observer, expression: sympy.Basic, answer: Answer) -> None: ...
    def operator_called(self, function: Any) -> None: ...
    def symbol_unbound(self, operator: Any, text: str) -> None: ...
    def kernel_launched(self, kernel: str) -> None: ...
    def number_read(self, observer: Observer, tensor: Any) -> None: ...
    def written(self, observer: Observer, expression: sympy.Basic) -> None: ...
    def differentiate(self, results: Any) -> None: ...
    def type_tested(self, observer: Observer, number: Any) -> None: ...
    def data_attribute(self, observer: Observer, is_set: bool) -> None: ...
    def data_lost(self, question: Question) -> None: ...
    def is_ours(self, filename: str) -> bool:
        """Whether a file is under the paths."""
        return filename in self._paths
