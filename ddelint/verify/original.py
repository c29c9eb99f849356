"""The original in eager on one input set after the other: varied, moved towards sides that it never took, with
gradients, in other modes; and what its decisions' sides leave where they meet.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any

import torch

from ddelint.nouns.protocol import INTEGERS, NOT_FINITE, OTHER_SETTINGS, Decision, Mismatch, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify import edges, guided, traced_path
from ddelint.verify.calls import Outcome
from ddelint.verify.flags import FLAG, extreme_arguments, instead_of_nothing, other_flags
from ddelint.verify.frozen import Container, Frozen, FrozenTensor, is_finite
from ddelint.verify.inputs import TIES, variations
from ddelint.verify.jointly import changes_of_several
from ddelint.verify.kinds import ALONE, IN_ANOTHER_SHAPE, OF_ANOTHER_DTYPE, SPARSE, beyond_the_narrow, other_kinds
from ddelint.verify.making import other_makings
from ddelint.verify.meeting import difference, is_untouched
from ddelint.verify.mismatches import parts_in_form
from ddelint.verify.modes import (
    OTHER_SIZES,
    called_twice,
    changes_of,
    in_double_precision,
    near,
    other_modes,
    parts_in_other_mode,
    poisoned,
    pruned,
    redrawn,
    requiring_grad,
    sharing,
)
from ddelint.verify.named_numbers import at_named
from ddelint.verify.other_settings import Change, other_buffers, pairs
from ddelint.verify.partings import Parting, met, void
from ddelint.verify.recording import Recorder
from ddelint.verify.references import Reference, is_informative, patience_of
from ddelint.verify.rewritten_meetings import meetings_of_rewritten
from ddelint.verify.running import Overruns, run_sample
from ddelint.verify.sameness import differences
from ddelint.verify.samples import BEHIND, CALLS_IN_A_ROW, REQUIRING_GRAD, Sample
from ddelint.verify.settings import Settings
from ddelint.verify.sparsity import may_be_sparse
from ddelint.verify.stopwatch import Stopwatch
from ddelint.verify.trained import drifted_between, trained_between

_GUIDED = 96
"""Runs for finding an input that takes a side which no variation took."""
ALWAYS_TWICE = 4
"""Inputs on which a program is called twice even though the first call changed nothing that can be seen."""
_NOT_FINITE, _MODES = 6, 4
"""Inputs with infinities and NaN through which gradients flow; and inputs that are run in other modes."""
_HELD, _HELD_EACH = 4, 6
"""Input sets whose decisions are held while the other arguments change; and changes of each."""
_POISONED = 5
"""Arguments that a NaN is put into, one after the other."""
_TIES = 4
"""Input sets with equal values through which gradients flow."""
_DRAWS, _MET = 200, 4
"""How often other random numbers are drawn for a side that was not taken; how many inputs that take it are enough."""
_NEAR = 12
"""Inputs near one that took a side which few did, at most."""
_SELDOM = 4
"""So many different inputs that take a side are few."""
_FURTHER = 4
"""Input sets for each side of a decision that are run in double precision."""
_MEETINGS = 12
"""Inputs for each side that is skipped on which is looked at what the block leaves."""


_TORN_APART = (*OTHER_SIZES, FLAG, INTEGERS, IN_ANOTHER_SHAPE, OF_ANOTHER_DTYPE, SPARSE)
"""Modes of which nothing is said where the original raises: sizes, or arguments, that go together."""

Left = Mapping[str, list[Mapping[str, Frozen]]]
"""Decision key → what was left at its meeting place, in the order of time."""


def count_sides(decisions: Sequence[Decision], references: Sequence[Reference]) -> dict[str, tuple[int, int]]:
    """Decision key → how many input sets took its true and its false side."""
    informative = [r for r in references if r.is_informative]
    taken = {
        decision.key: [
            reference.sides.get(decision.key, set())
            for reference in informative
            if decision.optional or not reference.twin or reference.sequel
        ]
        for decision in decisions
    }
    return {key: (sum(True in s for s in sides), sum(False in s for s in sides)) for key, sides in taken.items()}


def _are_few(references: Sequence[Reference]) -> bool:
    """Whether these are few, those with the same arguments counted once."""
    found: list[Frozen] = []
    for reference in references:
        arguments = reference.first.arguments
        if all(any(differences(known, arguments)) for known in found):
            found.append(arguments)
        if len(found) > _SELDOM:
            return False
    return bool(found)


def _unreached(decisions: Sequence[Decision], references: Sequence[Reference]) -> bool:
    return any(not (true and false) for true, false in count_sides(decisions, references).values())


class Runs:
    """The original on one input set after the other, and which sides it took."""

    def __init__(
        self,
        original: Entry,
        decisions: Sequence[Decision],
        options: SessionOptions,
        recorder: Recorder,
        consultation: traced_path.Consultation,
        watch: Stopwatch,
        until: float,
        latest: float,
    ) -> None:
        """`until`: from how many seconds on no more is begun; `latest`: up to when one run of each kind is begun all
        the same."""
        self.references: list[Reference] = []
        self.left_out: list[str] = []
        """What nothing was run of, as time ran out: how a program was not run ("in train()")."""
        self.left_unpaired: list[str] = []
        """Settings that were not changed at once, as time ran out: "self.fill=0.5, self.sharp=False"."""
        self.left_untried: list[str] = []
        """Arguments and settings that were not of another kind, as time ran out: "w alone in double precision"."""
        self._original = original
        self._decisions = decisions
        self._options = options
        self._recorder = recorder
        self._consultation = consultation
        self._watch, self._until, self._latest = watch, until, latest
        self._overruns = Overruns()
        self.exactly = ""
        """Where it is set, nothing is run any more but what is labelled so, and what that is made from."""
        self._has_gradients = True
        """Whether a backward pass goes through on all sides that were tried."""
        self._settings: Settings | None = None
        self._unforced: dict[int, Left | None] = {}
        """What a run of a reference (by `id`) leaves with nothing forced."""

    def vary(self, count: int, extra: int, until: float, only: Collection[str] = ()) -> None:
        """Declared inputs and variations: `count`, and `extra` more as long as some side was not taken.

        `only`: no others than these of them. None is begun after `until`, for there is more to run than these.
        """
        before: Sample | None = None
        for number, sample in enumerate(variations(self._original, count, self._options.seed, extra=extra)):
            if only and {reference.base for reference in self.references} >= set(only):
                return
            if number >= count and not _unreached(self._decisions, self.references):
                return
            if self.references and self._watch.seconds() > until:
                return
            if not only or sample.label in only:
                self._add(sample, before=before)
            before = sample

    def have_run(self, label: str) -> bool:
        """Whether a run that is labelled so was made."""
        return any(label in map(r.label_of, range(len(r.calls))) for r in self.references)

    def guide(self) -> None:
        """For each side that was not taken, inputs that come nearer and nearer to it."""
        for key, sides in count_sides(self._decisions, self.references).items():
            for side, times in zip((True, False), sides):
                if times or self._is_over():
                    continue
                near = [r for r in self.references if r.is_informative and guided.is_far(r.distances.get((key, side)))]
                if not near:
                    continue
                nearest = min(near, key=lambda r: r.distances[key, side])
                self._climb(nearest, key, side)

    def approach(self) -> None:
        """For each side of a decision, what is nearer to its other side than any input, if something is."""
        informative = [r for r in self.references if r.is_informative]
        nearest = {
            (key, side): min(informative, key=lambda r: _far_from(r, key, side))
            for key, side in itertools.product((decision.key for decision in self._decisions), (True, False))
            if informative
        }
        for (key, side), reference in nearest.items():
            far = _far_from(reference, key, side)
            if self._is_over() or not guided.is_far(far) or reference.sample.label.endswith(NOT_FINITE):
                continue
            left = {True: far if side else math.inf, False: math.inf if side else far}
            best: dict[bool, guided.Moved] = {}
            for moved in edges.towards_the_edge(reference.sample, self._original.parameters, far):
                found = (None if self._is_over() else self._distances(moved(reference.sample))) or {}
                for other in (True, False):
                    if 0 < found.get((key, other), math.inf) < left[other] and self._is_exact(reference, moved, found):
                        left[other], best[other] = found[key, other], moved
            for moved in best.values():
                self._add(reference.sample, moved, of=reference)

    def _is_exact(self, reference: Reference, moved: guided.Moved, found: Mapping[tuple[str, bool], float]) -> bool:
        """Whether no other float has a part in how far the decision is."""
        doubled = edges.others_doubled(moved)
        return not edges.is_of_floats(moved) or self._distances(doubled(reference.sample)) == found

    def _distances(self, sample: Sample) -> Mapping[tuple[str, bool], float] | None:
        """How far each decision's sides are in a run of the original; None where that says nothing."""
        self._recorder.take()
        patience = patience_of(self.references, self._options)
        calls = run_sample(self._original, sample, twice=False, patience=patience, overruns=self._overruns)
        return self._recorder.nearest() if calls is not None and is_informative(calls[0]) else None

    def _climb(self, nearest: Reference, key: str, side: bool) -> None:
        sample = nearest.sample

        def evaluate(moved: guided.Moved) -> float | None:
            if self._is_over():
                return None
            found = self._distances(moved(sample))
            return found.get((key, side)) if found is not None else None

        ways = guided.ways(sample, self._original.parameters)
        moved = guided.Climb(nearest.distances[key, side], evaluate, _GUIDED).run(ways)
        if moved is not None:
            self._add(sample, moved, of=nearest)

    def redraw(self) -> None:
        """For each side that was not taken, the same input with other random numbers: they may decide."""
        drawing = [r for r in self.references if r.first.drew and r.is_informative and r.sample.declared]
        for key, sides in count_sides(self._decisions, self.references).items() if drawing else ():
            for side in (True, False):
                if not sides[not side]:
                    self._draw(drawing[0], key, side)

    def _draw(self, reference: Reference, key: str, side: bool) -> None:
        met = 0
        patience = patience_of(self.references, self._options)
        for number in range(_DRAWS):
            if self._is_over() or met == _MET:
                return
            change = partial(redrawn, number)
            self._recorder.take()
            sample = change(reference.sample)
            run_sample(self._original, sample, twice=False, patience=patience, once=True, overruns=self._overruns)
            if side in self._recorder.take().get(key, ()):
                self._add(reference.sample, change, of=reference)
                met += 1

    def thicken(self) -> None:
        """For each side that few inputs took, or only such as are alike, more of them, near one that did."""
        for key, sides in count_sides(self._decisions, self.references).items():
            for side, times in zip((True, False), sides):
                taking = [r for r in self.references if self._takes(r, key, side)] if times else []
                if _are_few(taking):
                    self._stay(taking[:1], key, side)

    def _stay(self, witnesses: Sequence[Reference], key: str, side: bool) -> None:
        found = 0
        for witness, number in itertools.product(witnesses, range(_NEAR)):
            if self._is_over() or found == _MET:
                return
            known = len(self.references)
            self._add(witness.sample, partial(near, number), of=witness)
            if not all(self._takes(added, key, side) for added in self.references[known:]):
                del self.references[known:]
            found += len(self.references) - known

    def differentiate(self) -> None:
        """One input set for each way that a decision went, and the one nearest to the other way, run again with
        gradients flowing into them.

        Gradients differ on one side only, more often than not: a root of zero, a division of nothing. And on a side
        they differ at its edge: the spread of one row has none, that of no rows is never asked for.
        """
        ways = [*self._one_for_each_way(), *self._nearest_for_each_way()]
        chosen = [r for r in {id(r): r for r in ways}.values() if _has_plain_floats(r.first.arguments)]
        chosen += [r for r in self.references if r.sample.label.endswith(NOT_FINITE) and r.first.returned][:_NOT_FINITE]
        chosen += [r for r in self.references if r.sample.label.endswith(TIES) and r.first.returned][:_TIES]
        for number, reference in enumerate(chosen):
            if self._is_left_out("with gradients", first=not number):
                break
            if reference.sample.label == REQUIRING_GRAD:
                continue
            known = len(self.references)
            self._add(reference.sample, requiring_grad, of=reference, twin=True)
            if not is_finite(reference.first.arguments):
                _set_behind(self.references[known:])
                self.references[known:] = self._telling(self.references[known:])
        self._poison()
        if any(r.twin and any(call.gradient_error is not None for call in r.calls) for r in self.references):
            # nobody takes gradients of a program that has none on one of its sides (an operator without a backward), or
            # none of a second call (it keeps a graph in its state)
            self._has_gradients = False
            plain = [r for r in self.references if not r.twin and r.sample.label != REQUIRING_GRAD]
            self.references[:] = plain or self.references

    def _poison(self) -> None:
        """One input set for each way that a decision went, its decisions held, with a NaN in each argument in turn:
        what is not chosen has no gradient, and must not have one of NaN."""
        for reference in self._one_for_each_way()[:_HELD]:
            for change in itertools.islice(poisoned(reference.sample, self._original.parameters), _POISONED):
                if self._is_over():
                    return
                known = len(self.references)
                self._add(reference.sample, change, of=reference, twin=True)
                if any(r.sides != reference.sides or not r.first.returned for r in self.references[known:]):
                    del self.references[known:]
                self.references[known:] = self._telling(self.references[known:])

    def _telling(self, added: Sequence[Reference]) -> list[Reference]:
        """Those of which gradients are known; where a program has some on other inputs, none at all is known, too."""
        flows = any(r.first.gradients for r in self.references)
        return [r for r in added if r.first.gradients or (flows and r.first.gradient_error is None)]

    def change_modes(self) -> None:
        """One input set for each way that a decision went, in the modes that nobody declared."""
        chosen = self._returning_one_for_each_way()
        if not chosen:
            return
        program = self._original.build()
        self._settings = self._noted(chosen, program)
        flags: list[Change]
        makings = other_makings(program, self._original.build, self._recorder.classes, self._recorder.texts)
        flags = [
            *itertools.islice(sharing(chosen[0].sample), 1),
            *self._flags(program, chosen[0].sample),
            *makings,
        ]
        modes = [*other_modes(program)]
        changing = any(r.first.state_changed for r in self.references)
        if self._has_gradients and changing:
            modes += called_twice(program)
        moving = [*trained_between(program), *drifted_between(program)] if changing else []
        rows = [(row, chosen[:1]) for row in moving]
        given: list[Change]
        given = [*instead_of_nothing(program, chosen[0].sample, self._recorder.texts)]
        few = [(flag, chosen[:2]) for flag in (*pruned(program), *flags, *given)]
        doubled = [*chosen, *self._further(chosen)]  # 0.5 of single precision is 0.5, and 0.7 another number
        wide = ((mode, doubled if mode is in_double_precision else chosen) for mode in modes)
        for mode, at in [*rows, *wide, *few]:
            known = len(self.references)
            made: list[tuple[Reference, Reference]] = []
            for number, reference in enumerate(at):
                name = mode(reference.sample).label.removeprefix(f"{reference.sample.label}, ")
                if not self._is_left_out(name, first=not number):
                    before = len(self.references)
                    self._add(reference.sample, mode, of=reference, twin=True)
                    made += [(reference, added) for added in self.references[before:]]
            self._forget_if_torn_apart(known)
            if mode in given:
                self._forget_if_of_another_form(known, made)

    def change_kinds(self) -> None:
        """One argument of another kind than declared, numbers at their extremes, as long as time lasts."""
        chosen = self._returning_one_for_each_way()
        if not chosen:
            return
        program, sample = self._original.build(), chosen[0].sample
        files = (self._original.filename, *(decision.span.filename for decision in self._decisions))
        parameters = self._original.parameters
        kinds = other_kinds(sample, parameters, may_be_sparse(sample, parameters, files))
        for change in [*parts_in_other_mode(program), *itertools.islice(sharing(sample), 1, None), *kinds]:
            mode = change(sample).mode
            if mode != ALONE or self._has_gradients:  # of what has several dtypes, each is to be seen
                self._change_while_time_lasts(
                    [change], chosen[: None if mode == OF_ANOTHER_DTYPE else 2], self.left_untried
                )
        named = at_named(sample, parameters, self._recorder.numbers)
        self._change_while_time_lasts(map(self._as_differentiable, named), chosen[:2], self.left_untried)
        beyond = beyond_the_narrow(sample)
        extremes = [
            *extreme_arguments(program, sample, beyond),
            *(self._settings.extremes(beyond) if self._settings is not None else ()),
        ]
        self._change_while_time_lasts(extremes, chosen[:2], self.left_untried)

    def change_pairs(self) -> None:
        """Two arguments, settings or globals changed at once, as long as time lasts."""
        chosen = self._returning_one_for_each_way()[:2]
        if not chosen:
            return
        flags = self._flags(self._original.build(), chosen[0].sample)
        ways = [reference.sample for reference in self._one_for_each_way()[:_MODES]]
        both = itertools.chain(self._behind(flags, ways), pairs(flags))
        self._change_while_time_lasts(both, chosen, self.left_unpaired)

    def _change_while_time_lasts(
        self, changes: Iterable[Callable[[Sample], Sample]], chosen: Sequence[Reference], left: list[str]
    ) -> None:
        """`left`: gets what time was too short for."""
        for change in changes:
            if self._is_over():
                left.append(change(chosen[0].sample).label.removeprefix(f"{chosen[0].sample.label}, "))
                continue
            known = len(self.references)
            for reference in chosen:
                if not self._is_over():
                    self._add(reference.sample, change, of=reference, twin=True)
            self._forget_if_torn_apart(known)

    def _returning_one_for_each_way(self) -> list[Reference]:
        """And one with equal values: what a loop over distinct ones leaves out is no side of a decision."""
        chosen = self._one_for_each_way()[:_MODES] or self.references[:1]
        alike = (r for r in self.references if not r.twin and r.first.returned and r.sample.label.endswith(TIES))
        chosen += itertools.islice((r for r in alike if all(r is not one for one in chosen)), 1)
        return [reference for reference in chosen if reference.first.returned]

    def _flags(self, program: Any, sample: Sample) -> list[partial[Sample]]:
        """Other arguments; something else that is read; buffers in another order."""
        flags = list(other_flags(program, sample, self._recorder.texts))
        if self._settings is not None:
            flags += [*self._settings.others(), *other_buffers(program, self._settings.names())]
        return flags

    def _noted(self, chosen: Sequence[Reference], program: Any) -> Settings:
        """What the text reads that is one and the same on these inputs, and on others."""
        others = (r for r in self.references if r.first.returned and not r.twin)
        samples = [r.sample for r in {id(r): r for r in (*chosen, *others)}.values()]
        patience = patience_of(self.references, self._options)
        settings = Settings(self._original, program, self._recorder, patience, self._is_over)
        settings.note(samples)
        if not settings.are_known:
            self.left_out.append(OTHER_SETTINGS)
        return settings

    def _behind(self, flags: Sequence[partial[Sample]], samples: Sequence[Sample]) -> Iterator[Change]:
        """What is read only under another flag, text or member, changed with it."""
        for flag in flags:
            if self._settings is not None and isinstance(flag.args[-1], (bool, str, Enum)) and not self._is_over():
                yield from self._settings.behind(flag, samples)

    def _forget_if_torn_apart(self, known: int) -> None:
        """Runs from `known` on say nothing where the original raises: sizes, or arguments, that go together. Nor where
        something sparse comes out: what multiplies matrices takes one, what changes elements hands it on."""
        added = self.references[known:]
        if any(r.sample.mode == SPARSE and _is_sparse(r.first.result) for r in added):
            del self.references[known:]
        if any(r.sample.mode in _TORN_APART and not r.first.returned for r in added):
            del self.references[known:]

    def _forget_if_of_another_form(self, known: int, made: Sequence[tuple[Reference, Reference]]) -> None:
        """Runs from `known` on say nothing where results have another shape than those that they are `made` of: a
        tensor that nobody declared is tried as a guess, and what does not fit is mostly no argument of that kind."""
        if any(parts_in_form(before.first, after.first) for before, after in made):
            del self.references[known:]

    def call_in_a_row(self) -> None:
        """Where a call changes state: one instance, called on one declared input set after the other."""
        changing = any(r.first.state_changed for r in self.references)
        if not changing or self._is_left_out("in a row of calls", first=True):
            return
        declared = [r.sample for r in self.references if r.sample.declared and not r.twin and r.first.returned]
        if declared := declared[:CALLS_IN_A_ROW]:
            # the last one first: whoever runs the rewritten program has all of them when this one comes
            first, *others = itertools.islice(itertools.cycle([declared[-1], *declared[:-1]]), CALLS_IN_A_ROW)
            self._add(first, twin=True, sequel=others)

    def hold(self) -> None:
        """One input set for each way that a decision went, with the other arguments changed and the decisions held.

        An arm that is computed and thrown away may raise or spoil what is kept.
        """
        for nth, reference in enumerate(self._one_for_each_way()[:_HELD]):
            kept = 0
            changes = itertools.islice(changes_of(reference.sample, self._original.parameters), _HELD_EACH * 2)
            for number, change in enumerate(changes):
                if kept >= _HELD_EACH or self._is_left_out("with its decisions held", first=not (nth or number)):
                    break
                kept += self._add_held(reference, self._as_differentiable(change))
            for change in changes_of_several(reference.sample):
                if self._is_over():
                    break
                self._add_held(reference, self._as_differentiable(change))

    def _add_held(self, reference: Reference, change: Callable[[Sample], Sample]) -> bool:
        """Run on a changed input, and keep what took the same sides; whether anything did."""
        known = len(self.references)
        self._add(reference.sample, change, of=reference, twin=True)
        if any(r.sides != reference.sides or not r.first.returned for r in self.references[known:]):
            del self.references[known:]
        return len(self.references) > known

    def _as_differentiable(self, change: Callable[[Sample], Sample]) -> Callable[[Sample], Sample]:
        """The change, with gradients where the program has any."""
        return change if self._has_gradients else lambda sample: replace(change(sample), differentiable=False)

    def _further(self, known: Sequence[Reference]) -> list[Reference]:
        """More input sets for each set of sides that a decision took."""
        several = [r for r in self._one_for_each_way(_FURTHER) if all(r is not one for one in known)]
        return several[: _FURTHER * len(known)]

    def _one_for_each_way(self, most: int = 1) -> list[Reference]:
        """An input set for each set of sides that a decision took, or up to `most`."""
        found: dict[tuple[str, frozenset[bool], int], Reference] = {}
        for reference in self.references:
            usable = reference.first.returned and not reference.twin and is_finite(reference.first.arguments)
            for decision in self._decisions if usable and reference.sample.differentiable else ():
                sides = frozenset(reference.sides.get(decision.key, ()))
                number = next((n for n in range(most) if (decision.key, sides, n) not in found), most)
                if sides and number < most:
                    found[decision.key, sides, number] = reference
        return list({reference.sample.label: reference for reference in found.values()}.values())

    def _nearest_for_each_way(self) -> list[Reference]:
        """For each side of a decision, the input set that took it and came nearest to the other side."""
        found: dict[tuple[str, bool], tuple[float, Reference]] = {}
        for reference in self.references:
            usable = reference.first.returned and not reference.twin and is_finite(reference.first.arguments)
            if not usable or not reference.sample.differentiable:
                continue
            for (key, other), far in reference.distances.items():
                if (not other) in reference.sides.get(key, ()) and 0 < far < found.get((key, other), (math.inf,))[0]:
                    found[key, other] = far, reference
        return [reference for _, reference in found.values()]

    def meet(self) -> Iterator[tuple[Decision, Mismatch | Parting]]:
        """What the sides leave where they meet, on inputs that take the side which the compiled program skips."""
        for decision in self._decisions:
            yield from ((decision, found) for found in self._meet(decision))
        self._unforced.clear()

    def _meet(self, decision: Decision) -> Iterator[Mismatch | Parting]:
        block = self._recorder.blocks.get(decision.key)
        if block is None or decision.compiled is None:
            return
        taking = [r for r in self.references if self._takes_other(r, decision)][:_MEETINGS]
        untouched = []
        for number, reference in enumerate(taking):
            if self._is_left_out("up to where its sides meet", first=not number):
                break
            as_it_is = self._left_as_it_is(reference, decision.key)
            forced = self._left_forced(reference, decision.key, decision.compiled)
            if as_it_is is None or forced is None:
                continue
            found = difference(as_it_is, forced)
            if found is not None:
                yield Parting(reference, decision, as_it_is, met(reference, *found))
            untouched.append(is_untouched(as_it_is, forced))
        if decision.compiled in block.skips and untouched and all(untouched):
            yield void(taking[0], "what is skipped", len(untouched))
        if block.skips and decision.compiled not in block.skips:
            yield from self._idle(decision)

    def _idle(self, decision: Decision) -> Iterator[Mismatch]:
        """A block that is compiled for all inputs, and does nothing even where it is meant to: weights are zero before
        they are trained."""
        doing = [r for r in self.references if self._takes(r, decision.key, True)][:_MEETINGS]
        for reference in doing:
            if self._is_over():
                return
            as_it_is = self._left_as_it_is(reference, decision.key)
            without = self._left_forced(reference, decision.key, False)
            if as_it_is is None or without is None or not is_untouched(as_it_is, without):
                return
        if doing:
            yield void(doing[0], "what is done", len(doing))

    def _takes_other(self, reference: Reference, decision: Decision) -> bool:
        return self._takes(reference, decision.key, not decision.compiled)

    def _takes(self, reference: Reference, key: str, side: bool) -> bool:
        return reference.first.returned and not reference.twin and side in reference.sides.get(key, set())

    def _left_as_it_is(self, reference: Reference, key: str) -> list[Mapping[str, Frozen]] | None:
        """What the original leaves at a decision's meeting places, its decisions as they come; one run for all."""
        if id(reference) not in self._unforced:
            self._unforced[id(reference)] = self._left(reference)
        left = self._unforced[id(reference)]
        return None if left is None else left.get(key, [])

    def _left_forced(self, reference: Reference, key: str, side: bool) -> list[Mapping[str, Frozen]] | None:
        """The same with one decision forced to a side."""
        with self._recorder.forced(key, side):
            left = self._left(reference)
        return None if left is None else left.get(key, [])

    def _left(self, reference: Reference, program: Entry | None = None) -> Left | None:
        """What one run (of the original) leaves at the meeting places; None where it does not return."""
        patience = patience_of(self.references, self._options)
        with self._recorder.meetings.kept() as left:
            calls = run_sample(program or self._original, reference.sample, twice=False, patience=patience, once=True)
        self._recorder.take()
        return left if calls is not None and calls[0].returned else None

    def still_part(self, partings: Sequence[Parting], program: Entry) -> Iterator[Mismatch]:
        """The partings at which what is compiled of the rewritten program leaves something else, too.

        The other side, forced, is what the original has there; a rewrite may have changed it to hold for all inputs
        (it divides by at least 1).
        """
        decisions = tuple({parting.decision.key: parting.decision for parting in partings}.values())
        with meetings_of_rewritten(decisions, self._recorder) as kept, traced_path.assumed(self._options.targets):
            for parting in partings:
                left = (self._left(parting.reference, program) or {}).get(parting.decision.key)
                if parting.decision.key not in kept or not left:
                    yield parting.mismatch
                elif (found := difference(parting.as_it_is, left)) is not None:
                    yield met(parting.reference, *found)

    def _is_over(self) -> bool:
        return self._watch.seconds() > self._until

    def _is_left_out(self, what: str, *, first: bool) -> bool:
        """Whether a run is not begun any more; `first`: nothing was run yet of what it is there for, which is noted."""
        if not self._is_over() or (first and self._watch.seconds() <= self._latest):
            return False
        if first and what not in self.left_out:
            self.left_out.append(what)
        return True

    def _add(
        self,
        given: Sample,
        derive: Callable[[Sample], Sample] = lambda sample: sample,
        *,
        before: Sample | None = None,
        of: Reference | None = None,
        twin: bool = False,
        sequel: Sequence[Sample] = (),
    ) -> None:
        """Run on what `derive` makes of an input set (of the one that is itself derived from another, `of`)."""
        sample = derive(given)
        if self.exactly and not self.exactly.startswith(sample.label):
            return
        self._recorder.take()
        self._consultation.take()
        patience = patience_of(self.references, self._options)
        twice = len(self.references) < ALWAYS_TWICE and not sequel
        seen: list[tuple[Mapping[tuple[str, bool], float], Mapping[str, set[bool]]]] = []

        def note() -> None:
            seen.append((self._recorder.nearest(), self._recorder.take()))

        calls = run_sample(
            self._original,
            sample,
            twice=twice,
            patience=patience,
            before=before,
            between=note,
            sequel=sequel,
            overruns=self._overruns,
        )
        if calls is None:
            return
        note()
        reference = Reference(sample, calls, before=before.label if before is not None else "", twin=twin)
        reference.sequel = tuple(following.label for following in sequel)
        reference.rerun = lambda entry, moved: run_sample(
            entry, moved, twice=twice or calls[0].state_changed, patience=patience, before=before, sequel=sequel
        )
        reference.base = of.base if of is not None else given.label
        reference.derive = derive if of is None else lambda base: derive(of.derive(base))
        reference.distances, reference.sides = seen[0]
        if self._consultation.take() and reference.first.returned:
            with traced_path.assumed(self._options.targets):
                reference.traced = run_sample(
                    self._original, sample, twice=twice, patience=patience, before=before, sequel=sequel
                )
            self._recorder.take()
        self.references.append(reference)


def _far_from(reference: Reference, key: str, side: bool) -> float:
    """How far a decision was from a side; infinite where nothing says."""
    return reference.distances.get((key, side)) or math.inf


def _has_plain_floats(value: Frozen) -> bool:
    """Whether there is a floating-point tensor that doesn't require grad."""
    match value:
        case FrozenTensor(dtype=dtype, requires_grad=requires_grad):
            return bool(dtype.is_floating_point) and not requires_grad
        case Container(parts=parts):
            return any(map(_has_plain_floats, parts))
    return False


def _is_sparse(value: Frozen | None) -> bool:
    """Whether a tensor among it has another layout than most."""
    match value:
        case FrozenTensor(layout=layout):
            return layout != str(torch.strided)
        case Container(parts=parts):
            return any(map(_is_sparse, parts))
    return False


def _is_all_finite(outcome: Outcome) -> bool:
    """Whether results and gradients are finite: what is not among the inputs was left unread."""
    parts = (outcome.result, *(outcome.gradients or {}).values())
    return outcome.gradients is not None and all(map(is_finite, parts))


def _set_behind(added: Sequence[Reference]) -> None:
    """Set the mode of those with gradients flowing into an infinity or NaN. Where it was left unread, they are like any
    other; where the program reads it, what is finite all the same must stay so: a fix that spreads it is not safe."""
    for reference in added:
        if not _is_all_finite(reference.first):
            reference.sample = replace(reference.sample, mode=BEHIND)
            derive = reference.derive
            reference.derive = lambda base, derive=derive: replace(derive(base), mode=BEHIND)  # type: ignore[misc]
