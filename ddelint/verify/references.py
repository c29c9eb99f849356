"""The original program on one input set, which other programs are held against."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

from ddelint.nouns.protocol import Mismatch, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.trace.forkable import forks_before_gradients
from ddelint.verify.calls import Outcome
from ddelint.verify.kinds import ALONE, EXPANDED
from ddelint.verify.remembered import Remembered
from ddelint.verify.running import Patience
from ddelint.verify.samples import Sample
from ddelint.verify.witness import Key, Witness

Made = TypeVar("Made")


@dataclass
class Reference:
    """The original on one input."""

    sample: Sample
    calls: list[Outcome]
    sides: Mapping[str, set[bool]] = field(default_factory=dict)
    traced: list[Outcome] | None = None
    """Along the path that tracing picks, where the original itself asks how it is run."""
    before: str = ""
    """The label of the input set that came before this one; the last call is made with it."""
    distances: Mapping[tuple[str, bool], float] = field(default_factory=dict)
    """(decision key, side) → how far the decision was from it, at the nearest."""
    base: str = ""
    """The label of the input set that this one was made from."""
    derive: Callable[[Sample], Sample] = lambda sample: sample
    """How."""
    twin: bool = False
    """Whether it is another one with gradients, and no input of its own."""
    witness: Witness | None = None
    """Reports how far rounding may move it, by its `key`."""
    number: int = 0
    """Among the references."""
    rerun: Callable[[Entry, Sample], list[Outcome] | None] = lambda entry, sample: None
    """Runs an entry as the original was run."""
    is_unsteady: bool = False
    """Whether it was found that the original gives other numbers when it is run on it again."""
    sequel: tuple[str, ...] = ()
    """The labels of the input sets of the further calls, where the original was called on a row of them."""

    def label_of(self, call: int) -> str:
        """What a call goes by."""
        if self.sequel:
            return f"call {call + 1} in a row, {(self.sample.label, *self.sequel)[call]}"
        return self.sample.label + ("", ", second call", f", then {self.before}")[call]

    def seed_of(self, call: int) -> int:
        """What the random generators are seeded with before a call."""
        return self.sample.seed + call

    @property
    def key(self) -> Key:
        """What tells it apart from the others."""
        return self.number, self.label_of(0), self.sample.mode, self.sample.seed, self.twin

    @property
    def first(self) -> Outcome:
        """The first call."""
        return self.calls[0]

    @property
    def is_informative(self) -> bool:
        """Whether there is something to compare: where torch itself raised, or it is unsteady, there isn't."""
        return is_informative(self.first) and not self.is_unsteady


def is_informative(outcome: Outcome) -> bool:
    """Whether a call says something of the program: where torch itself raised, it doesn't."""
    return outcome.error is None or outcome.error.deliberate


def refusals(references: Sequence[Reference]) -> Mapping[str, frozenset[str]]:
    """Mode that nobody declared → what torch raised there in the original, on one input set or another.

    The program is not written for such a mode: what it raises on one of its sides, a rewrite may raise on all. But for
    arguments that nobody can write to: many callers have such, and come to no side that does.
    """
    found: dict[str, set[str]] = {}
    for reference in references:
        error = reference.first.error
        is_foreign = reference.sample.mode not in ("", EXPANDED, ALONE)
        if is_foreign and error is not None and not error.deliberate:
            found.setdefault(reference.sample.mode, set()).add(_without_numbers(str(error)))
    return {mode: frozenset(texts) for mode, texts in found.items()}


def is_refusal(reference: Reference, mismatch: Mismatch, known: Mapping[str, frozenset[str]]) -> bool:
    """Whether a program raises what the original raises in the same mode; `known` are its `refusals`."""
    texts = known.get(reference.sample.mode, frozenset())
    return mismatch.aspect == "exception" and _without_numbers(mismatch.got) in texts


def _without_numbers(text: str) -> str:
    return re.sub(r"[0-9]+", "#", text)


@contextlib.contextmanager
def witnessed(
    original: Entry,
    make: Callable[[], Made],
    of: Callable[[Made], Sequence[Reference]],
    remembered: Remembered | None = None,
) -> Iterator[Made]:
    """Make the references `of(make())`; within, they know how far rounding may move them, whatever is loaded in the
    original's place.

    What makes them may run backward passes. Where forks can compute no gradients after the first of these, the witness
    is forked before; it makes them again, should it be asked. `remembered`: the references are some of those, numbered
    by then, that earlier witnesses were asked about.
    """
    known: list[Reference] = []

    def rerun(key: Key, change: Callable[[Entry, Sample], tuple[Entry, Sample]]) -> list[Outcome] | None:
        references = known or of(make())
        known[:] = references
        number, *rest = key  # where they were made again, it may be another one
        nearest = (*(r for r in references if r.key == key), *references[number : number + 1], *references)
        found = next((reference for reference in nearest if [*reference.key[1:]] == rest), None)
        return None if found is None else found.rerun(*change(original, found.sample))

    witness = Witness(rerun, remembered)
    started = perf_counter()
    with contextlib.ExitStack() as stack:
        early = forks_before_gradients()
        if early:
            stack.enter_context(witness.ready())
        made = make()
        known[:] = of(made)
        witness.allow(perf_counter() - started if early else 0.0)
        if not early:
            stack.enter_context(witness.ready())
        for number, reference in enumerate(known):
            reference.witness = witness
            reference.number = number if remembered is None else reference.number
        yield made


OF_ORIGINAL, OF_REWRITTEN = 0.5, 2.0
"""CPU seconds that a call may take in any case: what takes the original too long is left out, and what takes only the
rewritten program too long speaks against it."""
_TIMES_ITS_OWN = 4.0
"""How often the original's own time a rewritten program may take in any case."""


def patience_of(
    references: Sequence[Reference],
    options: SessionOptions,
    least: float = OF_ORIGINAL,
    original: Reference | None = None,
) -> Patience:
    """For a call on an input of our own making, as measured by the calls on declared ones, and by what the `original`
    took for it: of slow calls on inputs of ours each would allow the next twenty times as much.
    """
    longest = max((call.seconds for one in references if one.sample.declared for call in one.calls), default=0.0)
    own = max((call.seconds for call in original.calls), default=0.0) if original is not None else 0.0
    return Patience(seconds=max(least + 20.0 * longest, _TIMES_ITS_OWN * own), memory=options.memory // 4)
