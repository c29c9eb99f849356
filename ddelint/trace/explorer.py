"""All sides of every question of one program, in few runs.

The unit of coverage is a pair (site, answer), not a path: a loop that asks one question 256 times is covered by two
answers. A run follows a plan (the answers that lead to an uncovered pair) and then answers with whatever is new.
"""

from __future__ import annotations

import ast
import functools
import re
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from time import monotonic
from typing import Any

import sympy
import torch

from ddelint.nouns.diagnostics import Frame, Question, Span
from ddelint.nouns.protocol import UNFINISHED, EntryFailure, SessionOptions, TraceResult
from ddelint.sources.sites import is_said_only
from ddelint.trace import (
    asking_context,
    endings,
    failures,
    fake_kernels,
    joint,
    provenance,
    torch_internals,
    triton_launches,
)
from ddelint.trace.describing import Birth, Describer, shortened
from ddelint.trace.entry import Entry
from ddelint.trace.fake_run import Program, call
from ddelint.trace.limits import TooMuch, limited
from ddelint.trace.observer import Answer, Inquiry, Observer, Stopped
from ddelint.trace.provenance import Blame, Expression, Paths, Sources
from ddelint.trace.stand_ins import StandIns
from ddelint.trace.type_tests import PLAIN

_NATURES = frozenset(("specialized", "guarded", "text", "type", fake_kernels.KIND, "other"))
"""Kinds of questions that stand beside others at one place."""
_INTEGERS = (2, 0, 1, 3)
"""Small numbers to go on with where an integer is demanded: a general one first, then none at all."""
_INDICES = (1, 0, 2)
_MOST_INTEGERS = 5
"""Answers that are tried at one place."""
_LEAST_SECONDS = 0.1
_MOST_OF_A_REQUEST = 0.9
"""What a trace may take of its request's time, so that what is known by then is told."""
_NUMBER = re.compile(r"(?<![\w.])\d++(?![\w.]*\w)")


@dataclass(frozen=True, slots=True)
class Budget:
    """How much exploring is enough."""

    runs: int = 24
    seconds: float = 120.0
    asks_of_a_site: int = 400
    """In one run; from then on each ask gets the other answer."""
    asks_in_while: int = 4
    """The same for a site in a `while` loop, which may never end by itself."""
    asks: int = 20_000
    """In one run, all sites together."""
    most_seconds: float = 3600.0
    """After which a run is cut short: `seconds` only keeps further ones from being begun."""


class _BudgetSpent(Stopped):
    """The run, or all of them together, has asked enough."""


Key = tuple[Any, ...]


@dataclass
class _Site:
    """One place that asks in one way."""

    key: Key
    kind: str
    answers: list[Answer]
    """The answers to cover, the preferred one first."""
    question: int
    """Index of its question."""
    limit: int
    """Asks in one run after which the answer flips."""
    way: list[tuple[Key, Answer]]
    """The answers of the run that first met it..."""
    way_length: int
    """... of which this many came before."""
    joint: bool
    """Whether the joint graph asks."""
    ends: bool = False
    """Whether an answer may end the run: then it is only given to see that end."""
    covered: set[Answer] = field(default_factory=set)
    tried: dict[Answer, int] = field(default_factory=dict)


@dataclass
class _Run:
    """What one run met."""

    plan: list[tuple[Key, Answer]]
    asked: list[tuple[Key, Answer]] = field(default_factory=list)
    counts: dict[Key, int] = field(default_factory=dict)
    births: dict[sympy.Symbol, Birth] = field(default_factory=dict)
    on_plan: bool = True


def trace_entry(
    entry: Entry,
    paths: tuple[str, ...],
    options: SessionOptions,
    *,
    first: bool = False,
    forward_first: bool = False,
    until: tuple[Span, ...] = (),
) -> TraceResult:
    """Trace every side of every data-dependent question of `entry`; blame code under `paths` (absolute).

    Returns one question for each asking expression, in the order of first meeting; `open_pairs` counts what the budget
    left. Exceptions of the program are findings or nothing, never raised; TorchInternalsMissing becomes a failure.
    With `first`, the first question ends it, and the first of the forward that lies within a span of `until`;
    `forward_first`: the joint graph counts once the forward asks nothing.
    """
    started, held = monotonic(), _peak_memory()
    longest = _MOST_OF_A_REQUEST * options.timeout
    budget = Budget(seconds=max(1.0, min(Budget().seconds, options.timeout * 0.6)), most_seconds=longest)
    try:
        gradients = "compile" in options.targets
        explorer = Explorer(entry, paths, budget, options.seed, backed=options.backed, gradients=gradients)
        explorer.forward_first = forward_first
        explorer.exports, explorer.describer.cpp = "export" in options.targets, options.cpp
        explorer.first_only, explorer.until = first, until
        explorer.explore()
        if explorer.calls_custom and not explorer.is_cut and not (first and explorer.has_asked):
            explorer.note(fake_kernels.disagreements(entry, Paths(paths), (options.seed, options.seed + 1)))
    except TooMuch as error:  # nothing was asked by then
        late = failures.from_exception(error, paths, entry.filename)
        message = f"{UNFINISHED} within {longest:.0f} seconds"
        return TraceResult((), 1, failure=replace(late, kind="timeout", message=message))
    except torch_internals.TorchInternalsMissing as error:
        return TraceResult((), 0, failure=EntryFailure("no-torch", str(error)))
    return replace(explorer.result(), seconds=monotonic() - started, memory=_peak_memory() - held)


def _peak_memory() -> int:
    """The most bytes that this process has held so far; a fork begins with what its parent holds."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class Explorer:
    """The oracle of all runs of one entry, and the keeper of what they met."""

    def __init__(
        self,
        entry: Entry,
        paths: tuple[str, ...],
        budget: Budget | None = None,
        seed: int = 0,
        *,
        backed: bool = False,
        gradients: bool = False,
    ) -> None:
        self.backed = backed
        self._gradients = gradients
        """Whether the joint graph counts, too."""
        self.forward_first = False
        """Whether the joint graph counts only where the forward asks nothing: it takes as long as the forward."""
        self._differentiating = False
        self.remembers_calls = False
        """Whether each call of the forward is noted on what it makes, for the sake of its gradient."""
        self.exports = False
        """Whether what export alone refuses counts."""
        self.first_only = False
        """Whether it is enough to know that something is asked."""
        self.until: tuple[Span, ...] = ()
        """Where it is enough to know that the forward asks."""
        self.is_cut = False
        """Whether it has asked there."""
        self._launched: set[str] = set()
        """Triton kernels whose launch was reported."""
        self.calls_custom = False
        """Whether a custom operator was called."""
        self._numbers: dict[int, str] = {}
        """Identity of a 0-d argument in the running trace → its name."""
        self._entry = entry
        self._paths = Paths(paths)
        self._budget = budget or Budget()
        self._seed = seed
        self._sources = Sources()
        self.describer = Describer(self._paths, self._sources)
        self._sites: dict[Key, _Site] = {}
        self._questions: list[Question] = []
        self._by_span: dict[tuple[Span, str], int] = {}
        self._run = _Run([])
        self._runs = 0
        self._began = monotonic()
        self._deadline = self._began + self._budget.seconds
        self._ends: list[tuple[tuple[Any, ...] | None, Question | None]] = []
        self._lost: list[Question] = []
        """Uses of what was read through `.data`."""
        self._any_completed = False
        self._any_unbacked = False
        self._stand_ins = StandIns(entry, seed)

    # --- the loop -----------------------------------------------------------------------------------------------

    def explore(self) -> None:
        """Run until every pair is covered or given up, or the budget is spent."""
        program = Program(self._entry, self._seed)
        plan: list[tuple[Key, Answer]] | None = []
        while plan is not None and self._runs < self._budget.runs and monotonic() < self._deadline:
            self._runs += 1
            self._run = _Run(plan)
            try:
                with limited(max(_LEAST_SECONDS, self._began + self._budget.most_seconds - monotonic()), None):
                    ending = program.run(self)
            except TooMuch:
                if not self.has_asked:
                    raise
                self._cut_short()
                return
            if isinstance(ending.error, joint.OriginsWanted):
                self.remembers_calls = True
                continue
            self._any_completed |= ending.completed
            if self.is_cut or (self.first_only and self.has_asked):
                return
            if ending.error is not None and not self._stand_ins.known_to_be_missing:
                self._note_end(ending.error)
            plan = self._again() if self._stand_ins.learn(ending.error) else self._next_plan()

    def _cut_short(self) -> None:
        """What the run would have met behind its last answer is not known."""
        for key, answer in self._run.asked[-1:]:
            self._sites[key].covered.discard(answer)

    def _again(self) -> list[tuple[Key, Answer]]:
        """The plan that leads where the last run was stopped, by an operator that has a stand-in now."""
        for index, question in enumerate(self._questions):
            if question.kind == "operator" and not question.fake and question.operator:
                self._questions[index] = replace(question, fake=self._stand_ins.body(question.operator))
        return list(self._run.asked)

    @property
    def has_asked(self) -> bool:
        """Whether any site has asked so far."""
        return bool(self._sites)

    def note(self, questions: Sequence[Question]) -> None:
        """Take over what was found elsewhere."""
        for question in questions:
            self._add(question)

    def result(self) -> TraceResult:
        """What was found."""
        self._judge_ends()
        if self._lost and torch_internals.export_loses_data():
            self.note(self._lost)
        open_pairs = [(site, answer) for site in self._sites.values() for answer in self._open_answers(site)]
        spans = dict.fromkeys(self._questions[site.question].span for site, _ in open_pairs)
        return TraceResult(
            tuple(self._questions),
            self._runs,
            len(open_pairs),
            tuple(spans),
            unbacked=self._any_unbacked,
            cut=self.is_cut,
        )

    def _open_answers(self, site: _Site) -> list[Answer]:
        if site.kind == "integer":  # one number is enough to go on; others are tried while there is budget
            return [] if site.covered else site.answers[:1]
        return [a for a in site.answers if a not in site.covered and site.tried.get(a, 0) < 2]

    def _next_plan(self) -> list[tuple[Key, Answer]] | None:
        """The answers that lead to an uncovered pair; both sides of truth questions before other integers."""
        for kinds in (("truth", "operator"), ("integer",)):
            for site in self._sites.values():
                if site.kind not in kinds:
                    continue
                enough = 2 if self._any_completed else len(site.answers)  # more are for runs that would not end well
                for answer in site.answers[:enough]:
                    if answer not in site.covered and site.tried.get(answer, 0) < 2:
                        site.tried[answer] = site.tried.get(answer, 0) + 1
                        return [*site.way[: site.way_length], (site.key, answer)]
        return None

    # --- the oracle -----------------------------------------------------------------------------------------------

    def answer(self, observer: Observer, inquiry: Inquiry) -> Answer | None:
        """Answer by plan, then by what is new, then by preference. None where torch itself handles not knowing."""
        who = self._blame()
        if who is None and self._differentiating and not self.remembers_calls:
            raise joint.OriginsWanted
        if who is None or any(torch_internals.tolerates_undecidable(p.code) for p in who.stack[who.last_user + 1 :]):
            return None
        site = self._site(observer, inquiry, who)
        span = self._questions[site.question].span
        self.is_cut |= not self._differentiating and any(place.contains(span) for place in self.until)
        if self.is_cut or self.first_only:
            raise _BudgetSpent
        answer = self._choose(site, observer, inquiry)
        self._run.asked.append((site.key, answer))
        site.covered.add(answer)
        self._covered(site, answer)
        return answer

    def born(self, observer: Observer, symbol: sympy.Symbol) -> None:
        """Remember the expression that made `symbol`."""
        self._any_unbacked = True
        who = self._blame()
        if who is None:
            return
        operator = ""
        for place in who.stack[who.last_user + 1 :]:
            operator = operator or torch_internals.operator_in(place.frame.f_locals, place.code.co_name)
        expression = provenance.expression_at(who.place, self._sources)
        inner = None
        if who.last_user != who.blamed:
            inner = provenance.expression_at(who.stack[who.last_user], self._sources)
        self._run.births[symbol] = Birth(expression, operator, inner=inner)

    def specialized(self, observer: Observer, symbol: sympy.Symbol, expression: sympy.Basic, value: Any) -> None:
        """A finding of its own."""
        who = self._blame()
        if who is None:
            return
        inquiry = Inquiry("specialized", expression, f"{symbol} was specialized: {expression} became {value}")
        self._add(self._question(observer, inquiry, who))

    def decided(self, observer: Observer, expression: sympy.Basic, answer: Answer) -> None:
        """The same question at another place of the user's: undecidable as well, once the first place is fixed."""
        who = self._blame()
        if who is None or not who.inside or not who.direct:
            return
        kind = "truth" if isinstance(answer, bool) else "integer"
        inquiry = Inquiry(kind, expression, torch_internals.undecidable_text(observer, expression, expression))
        key = self._key(kind, who, expression)
        if key in self._sites:
            return
        span = provenance.expression_at(who.place, self._sources).span
        if (span, "implied") not in self._by_span and any(q.span == span for q in self._questions):
            return
        text = str(answer).lower()
        index = self._add(self._question(observer, inquiry, who))
        self._by_span[span, "implied"] = index
        self._questions[index] = _with_answers(self._questions[index], [text])

    def guarded(self, observer: Observer, expression: sympy.Basic) -> None:
        """A finding of its own."""
        who = self._blame()
        if who is not None:
            inquiry = Inquiry("guarded", expression, f"the example's sizes make {expression} true or false")
            self._add(self._question(observer, inquiry, who))

    def written(self, observer: Observer, expression: sympy.Basic) -> None:
        """A symbol became text. In talk and in messages that is only odd; anywhere else the result may hang on it."""
        who = self._blame()
        if who is None or not who.inside or not who.direct:
            return
        asking = provenance.expression_at(who.place, self._sources)
        if asking.source is None or asking.node is None or is_said_only(asking.source, asking.node):
            return
        if not asking_context.writes(asking.node, provenance.instruction_name(who.place)):
            return  # torch's own C++ wrote the symbol, for a log or an error
        self._add(self._question(observer, Inquiry("text", expression, "the symbol's own name is written"), who))

    def is_ours(self, filename: str) -> bool:
        """Whether a file is under the paths."""
        return filename in self._paths

    def type_tested(self, observer: Observer, number: Any) -> None:
        """A finding of its own, unless the function knows of symbolic numbers."""
        who = self._blame()
        kind = type(number).__name__
        if who is None or not who.direct or kind in who.place.code.co_names:
            return
        detail = f"export has a torch.{kind} here, which is no {type(PLAIN[type(number)]).__name__}"
        inquiry = Inquiry("type", torch_internals.expression_of(number), detail)
        self._add(self._question(observer, inquiry, who))

    def differentiate(self, results: Any) -> None:
        """The forward has returned `results`: what does its gradient ask?"""
        if not self._gradients or (self.forward_first and any(not site.joint for site in self._sites.values())):
            return
        self._differentiating = True
        try:
            joint.differentiate(results)
        except joint.NoDerivative as error:
            self._note_missing_derivative(error.made)
        except Exception:  # a gradient that fails asks nothing; verification takes real ones
            return
        finally:
            self._differentiating = False

    def _note_missing_derivative(self, made: joint.Call | None) -> None:
        """What comes out of a call has no derivative: eager may never ask for it, the joint graph does."""
        who = None if made is None else provenance.blame(made.stack, self._paths)
        if who is not None:
            inquiry = Inquiry("other", None, "the joint graph needs a derivative, and torch has none of this call")
            self._add(replace(self._question(self._observer, inquiry, who), cpp_frames=()))

    def _blame(self) -> Blame | None:
        stack = joint.asking_stack() if self._differentiating else provenance.live_stack(call.__code__)
        return provenance.blame(stack, self._paths)

    def _key(self, kind: str, who: Blame, expression: sympy.Basic | None) -> Key:
        """What distinguishes ways of asking: C++ asks several things at one place of the Python stack."""
        constant = triton_launches.constant_asked(who.stack)
        return (kind, self._differentiating, constant, _functions_in(expression), *who.key)

    def _site(self, observer: Observer, inquiry: Inquiry, who: Blame) -> _Site:
        key = self._key(inquiry.kind, who, inquiry.expression)
        site = self._sites.get(key)
        if site is None:
            expression = provenance.expression_at(who.place, self._sources)
            last = provenance.expression_at(who.stack[who.last_user], self._sources)
            answers = self._answers(observer, inquiry, last, who)
            question = self._add(self._question(observer, inquiry, who))
            in_while = asking_context.in_while(expression) or (last is not expression and asking_context.in_while(last))
            limit = self._budget.asks_in_while if in_while else self._budget.asks_of_a_site
            asked = self._run.asked
            ends = inquiry.kind != "integer" and (who.torch_frame is not None or asking_context.may_end(last))
            site = _Site(key, inquiry.kind, answers, question, limit, asked, len(asked), self._differentiating, ends)
            self._sites[key] = site
        return site

    def _answers(self, observer: Observer, inquiry: Inquiry, asking: Expression, who: Blame) -> list[Answer]:
        if inquiry.kind != "integer" or inquiry.expression is None:
            # torch itself asks for special cases: no rows, one row, equal sizes; the general one leads on
            general = not isinstance(inquiry.expression, sympy.Eq)
            first = asking_context.preferred(asking) if who.torch_frame is None else general
            return [first, not first]
        if not inquiry.expression.is_integer:
            return [1.5, 0.5]
        indexing = provenance.instruction_name(who.stack[who.last_user]) in ("BINARY_SUBSCR", "BINARY_OP")
        wanted: tuple[int, ...] = _INDICES if indexing else _INTEGERS
        return [*islice(_possible(observer, inquiry.expression, wanted), 2)]

    def _choose(self, site: _Site, observer: Observer, inquiry: Inquiry) -> Answer:
        run = self._run
        at = len(run.asked)
        if at >= self._budget.asks or monotonic() > self._deadline:
            raise _BudgetSpent
        count = run.counts[site.key] = run.counts.get(site.key, 0) + 1
        if run.on_plan and at < len(run.plan):
            key, answer = run.plan[at]
            if key == site.key:
                return self._valid(answer, observer, inquiry)
            run.on_plan = False
        wanted = site.answers[:1] if site.ends else site.answers
        new = next((answer for answer in wanted if answer not in site.covered), None)
        if new is not None:
            return self._valid(new, observer, inquiry)
        default = site.answers[0]
        if count > site.limit and len(site.answers) > 1:
            default = site.answers[(count - site.limit) % 2]
        return self._valid(default, observer, inquiry)

    def _valid(self, answer: Answer, observer: Observer, inquiry: Inquiry) -> Answer:
        """An integer must fit what is known of this very symbol."""
        if inquiry.kind != "integer" or inquiry.expression is None or not inquiry.expression.is_integer:
            return answer
        return next(iter(_possible(observer, inquiry.expression, (int(answer), *_INTEGERS))))

    def _covered(self, site: _Site, answer: Answer) -> None:
        text = str(answer).lower() if isinstance(answer, bool) else str(answer)
        question = self._questions[site.question]
        if isinstance(answer, bool) == (question.kind != "integer"):
            self._questions[site.question] = _with_answers(question, [text])

    # --- questions --------------------------------------------------------------------------------------------------

    def _add(self, question: Question) -> int:
        """One question for each expression and nature; returns its index.

        What asks whether a count is zero and then demands the count (`for row in rows`) is a demand for the count.
        """
        nature = question.kind if question.kind in _NATURES else "asks"
        if question.joint and (question.span, nature) not in self._by_span:
            nature = "joint"
        index = self._by_span.setdefault((question.span, nature), len(self._questions))
        if index == len(self._questions):
            self._questions.append(question)
        known = self._questions[index]
        if known.kind == "truth" and question.kind == "integer" and known.operator:
            self._questions[index] = replace(question, detail=known.detail)
        return index

    def _question(self, observer: Observer, inquiry: Inquiry, who: Blame) -> Question:
        births, differentiating = self._run.births, self._differentiating
        described: Question = observer.silently(
            lambda: self.describer.question(observer, inquiry, who, births, of_gradient=differentiating)
        )
        return described

    # --- how runs end -----------------------------------------------------------------------------------------------

    def _note_end(self, error: BaseException) -> None:
        """A run that ended in an exception: a finding now, perhaps one later, or none."""
        if isinstance(error, _BudgetSpent):
            return
        chain = endings.chain(error)
        for root in reversed(chain):
            if self._note_symbolic_end(root):
                return
            who = self._raised(error, root)
            kind, operator = endings.nature(root)
            if kind == "failure" and not isinstance(root, torch_internals.Undecidable):
                by_user = who is not None and endings.raised_by_user(who)
                named_only = endings.DATA_DEPENDENT.search(str(root)) is None
                kind = "" if by_user or (named_only and self._run.asked) else kind
            if who is not None and kind:
                self._add(self._end_question(root, who, kind, operator))
                return
        who = self._raised(error, error)
        if who is None:
            return
        by_user = endings.raised_by_user(who)
        question = self._end_question(error, who, "other", "")
        if not self._run.asked:
            self._add(question)
        elif not by_user:
            self._ends.append(((type(error), question.span), question))
        else:
            self._ends.append((None, None))
        self._widen(error)

    def _note_symbolic_end(self, error: BaseException) -> bool:
        """A question inside a function that Dynamo traces (an arm of `cond`): its own frames are no Python frames."""
        inside = [s for s in torch_internals.symbolic_stack(error) if s.filename in self._paths]
        if not inside:
            return False
        kind = "truth" if "branching" in str(error) else endings.nature(error)[0] or "other"
        places = [(provenance.expression_named(summary, self._sources), summary.name) for summary in inside]
        asking = places[-1][0]
        frames = tuple(Frame(expression.span, name, True) for expression, name in places)
        text = shortened(asking.text)
        detail = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        self._add(Question(asking.span, kind, text, "", frames=frames, asks=("export",), detail=detail))
        return True

    def _widen(self, error: BaseException) -> None:
        """An error names the number that would do: `expected 3, got 2`, `a dimension of length 6`. Try it next."""
        if self._any_completed:
            return
        numbers = [int(text) for text in _NUMBER.findall(str(error).partition("\n")[0])]
        for key, answer in reversed(self._run.asked):
            site = self._sites[key]
            if site.kind == "integer":
                new = [n for n in dict.fromkeys(numbers) if n not in site.answers and n != answer and n < 2**31]
                site.answers += new[: max(0, _MOST_INTEGERS - len(site.answers))]
                return

    def _judge_ends(self) -> None:
        """A failure that ended every run, whatever the answers, does not come from the answers."""
        failures = {end for end, _ in self._ends if end is not None}
        guessed = any(site.kind == "integer" for site in self._sites.values())
        if self._any_completed or guessed or len(self._ends) < 2 or None in dict(self._ends):
            return
        if len(failures) == 1:
            question = self._ends[0][1]
            if question is not None:
                self._add(question)

    def _raised(self, error: BaseException, root: BaseException) -> Blame | None:
        return provenance.blame(provenance.raised_stack(error, root, call.__code__), self._paths)

    def _end_question(self, error: BaseException, who: Blame, kind: str, operator: str) -> Question:
        expression = getattr(error, "cond", None)
        if isinstance(error, torch_internals.Undecidable) and isinstance(expression, sympy.Basic):
            kind = "truth" if expression.is_Relational or expression.is_Boolean else "integer"
        else:
            expression = None
        detail = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        if kind == "failure" and not operator:
            operator = self.describer.operator(who)
        inquiry = Inquiry(kind, expression, detail, operator)
        # the stack that is left is that of whoever caught the error
        return replace(self._question(self._observer, inquiry, who), cpp_frames=())

    def operator_called(self, function: Any) -> None:
        """An operator is run on fake tensors."""
        self.calls_custom = self.calls_custom or torch_internals.is_custom(function)

    def stand_in(self, mode: Any, operator: Any, args: Any, kwargs: Any) -> Any:
        """What an operator without a fake kernel returns; NotImplemented where that is not known."""
        return self._stand_ins.result(mode, operator, args, kwargs)

    def symbol_unbound(self, operator: Any, text: str) -> None:
        """The fake kernel of a custom operator made a symbol that none of its results holds."""
        who = self._blame()
        if who is not None:
            inquiry = Inquiry("failure", None, f"PendingUnbackedSymbolNotFound: {text}", str(operator))
            self._add(self._question(self._observer, inquiry, who))

    def kernel_launched(self, kernel: str) -> None:
        """A Triton kernel is launched on fake tensors: only Dynamo takes that apart, unless it is wrapped."""
        who = self._blame() if self.exports and kernel not in self._launched else None
        if who is not None:
            self._launched.add(kernel)
            detail = f"export cannot see the launch of `{kernel}`: use torch.library.wrap_triton({kernel})"
            self._add(self._question(self._observer, Inquiry("other", None, detail), who))

    def data_attribute(self, observer: Observer, is_set: bool) -> Question | None:
        """What to say where `.data` of a tensor is read or set now; None where nothing is."""
        who = self._blame() if self.exports else None
        if who is None or not who.direct:
            return None
        inquiry = Inquiry("other", None, "export takes `.data` for a constant: use .detach()")
        question = self._question(observer, inquiry, who)
        asking = provenance.expression_at(who.place, self._sources)
        if is_set and asking.source is not None and asking.node is not None:
            whole = next((n for n in asking.source.ancestors(asking.node) if isinstance(n, ast.stmt)), asking.node)
            question = replace(question, span=asking.source.span(whole))
        return question

    def data_lost(self, question: Question) -> None:
        """What was read or set through `.data` is used."""
        self._lost = [known for known in self._lost if not question.span.contains(known.span)]
        self._lost.append(question)

    def number_read(self, observer: Observer, tensor: Any) -> None:
        """A number was read from a tensor: a finding of its own where the tensor is a 0-d argument (if `backed`)."""
        name = self._numbers.get(id(tensor)) if self.backed else None
        who = self._blame() if name is not None else None
        if who is not None:
            detail = f"torch.compile makes a constant of the argument `{name}`, and a guard on its value"
            self._add(self._question(observer, Inquiry("specialized", None, detail), who))

    def started(
        self, observer: Observer, input_names: Mapping[sympy.Symbol, str], arguments: Mapping[str, Any]
    ) -> None:
        """A run begins on `observer`; its input sizes have these names."""
        self._observer = observer
        self._numbers = {
            id(value): name
            for name, value in arguments.items()
            if isinstance(value, torch.Tensor) and value.dim() == 0 and value.device.type == "cpu"
        }
        self._run.births.update({symbol: Birth(None, "", name) for symbol, name in input_names.items()})
        self._any_unbacked |= any(torch_internals.is_unbacked(symbol) for symbol in input_names)


@functools.lru_cache(maxsize=4096)
def _functions_in(expression: sympy.Basic | None) -> frozenset[str]:
    """What an expression is made of, but for its symbols and numbers: they differ from ask to ask in a loop."""
    parts = () if expression is None else sympy.preorder_traversal(expression)
    return frozenset(type(part).__name__ for part in parts if part.args)


def _with_answers(question: Question, answers: list[str]) -> Question:
    return replace(question, answers=tuple(dict.fromkeys((*question.answers, *answers))))


def _possible(observer: Observer, expression: sympy.Basic, wanted: tuple[int, ...]) -> Iterator[int]:
    """Those of `wanted` that lie within what is known of `expression`, else its nearest bound."""
    lower, upper = torch_internals.bounds(observer, expression)
    seen = set()
    for number in wanted:
        if (lower is None or number >= lower) and (upper is None or number <= upper) and number not in seen:
            seen.add(number)
            yield number
    if not seen:
        yield int(lower if lower is not None else upper if upper is not None else 2)
