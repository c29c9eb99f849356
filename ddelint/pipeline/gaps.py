"""Where unbacked falls behind backed, and what closes it: measured in time, or read off the code for a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ddelint.nouns.diagnostics import Evidence
from ddelint.nouns.measurements import GAP, Divergence, GpuParity, Parity, Remedy
from ddelint.report.measurements import divergence_words, gpu_parity_words, remedy_words

Again = Callable[[bool], Parity]
"""Compares the program once more, with its fixes; given whether to take the time, too."""


class Gap(Protocol):
    """One way in which unbacked is worse."""

    @property
    def remedy(self) -> Remedy | None:
        """What closes it, where something does."""

    @property
    def words(self) -> str:
        """What was found: `1.28x the time of backed on the cpu (fusion: ...)`."""

    @property
    def detail(self) -> str:
        """The same as a sentence."""

    @property
    def with_remedy(self) -> str:
        """What the remedy made of it."""

    @property
    def evidence(self) -> Evidence:
        """What was run to know that."""

    def closed(self, again: Again) -> tuple[Evidence | None, str]:
        """The evidence that the fixed program is better; or None, and why it is not."""


def gap_of(parity: Parity) -> Gap | None:
    """The gap that was found, a measured one first; None where there is none."""
    if parity.failure is not None:
        return None
    if parity.slower:
        return TimeGap(parity)
    on_gpu = parity.on_gpu
    if on_gpu is not None and not on_gpu.notes and _expensive(on_gpu.divergences):
        return CodeGap(on_gpu, parity)
    return None


@dataclass(frozen=True)
class TimeGap:
    """Unbacked was measured to be slower."""

    parity: Parity

    @property
    def remedy(self) -> Remedy | None:
        """The one that made up most of it."""
        return self.parity.best

    @property
    def words(self) -> str:
        """The ratio of the times, and the decisions that may explain it."""
        decisions = "; ".join(divergence_words(divergence) for divergence in _expensive(self.parity.divergences))
        return f"{_times(self.parity)} on the {self.parity.device}" + (f" ({decisions})" if decisions else "")

    @property
    def detail(self) -> str:
        """The same, and what a GPU's code says."""
        on_gpu = self.parity.on_gpu
        return f"unbacked takes {self.words}" + (f"; {gpu_parity_words(on_gpu)}" if on_gpu is not None else "")

    @property
    def with_remedy(self) -> str:
        """The measured remedy."""
        return f"measured with {remedy_words(self.remedy, self.parity)}" if self.remedy is not None else ""

    @property
    def evidence(self) -> Evidence:
        """The measured ratio."""
        return Evidence(parity=self.parity.ratio, devices=(self.parity.device,))

    def closed(self, again: Again) -> tuple[Evidence | None, str]:
        """Measured again; where the code is the one that was measured as a remedy, so is the time."""
        before, after = self.parity, again(False)
        best = before.best
        if best is not None and (after.changed, after.divergences) == (best.changed, best.divergences):
            after = replace(
                after, backed_milliseconds=before.backed_milliseconds, unbacked_milliseconds=best.milliseconds
            )
        else:
            after = again(True)
        better = not after.changed or (
            after.ratio is not None and before.ratio is not None and after.ratio * GAP <= before.ratio
        )
        if after.failure is not None or not better:
            return None, f"no gain: {'not measured' if after.ratio is None else _times(after)}"
        note = f"before: {_times(before)}; now {_left(after.changed, after.divergences)}"
        return Evidence(parity=after.ratio, devices=(after.device,), notes=(note,)), ""


@dataclass(frozen=True)
class CodeGap:
    """In the code for a GPU, decisions went against unbacked; nothing was run."""

    on_gpu: GpuParity
    parity: Parity

    @property
    def remedy(self) -> Remedy | None:
        """The one that settles most decisions, of equals the first, which promises least."""
        settling = [one for one in self.on_gpu.remedies if _settles(one.divergences, self.on_gpu.divergences)]
        return min(settling, key=lambda one: len(_expensive(one.divergences)), default=None)

    @property
    def words(self) -> str:
        """Which decisions differ."""
        return gpu_parity_words(self.on_gpu)

    @property
    def detail(self) -> str:
        """The same, decision by decision; where nothing settles one, what the remedy leaves that comes closest."""
        said = f"{self.words}: {'; '.join(divergence_words(one) for one in _expensive(self.on_gpu.divergences))}"
        closest = min(
            self.on_gpu.remedies, key=lambda one: (len(_expensive(one.divergences)), one.changed), default=None
        )
        if self.remedy is not None or closest is None:
            return said
        return f"{said}; with {remedy_words(closest, self.parity)}"

    @property
    def with_remedy(self) -> str:
        """What is left of it."""
        return f"compared with {remedy_words(self.remedy, self.parity)}" if self.remedy is not None else ""

    @property
    def evidence(self) -> Evidence:
        """Nothing was run."""
        return Evidence(notes=(f"{self.words}: the code was compared, no time was taken",))

    def closed(self, again: Again) -> tuple[Evidence | None, str]:
        """Compared again."""
        after = again(False).on_gpu
        if after is None or after.notes:
            return None, f"not compared: {'; '.join(after.notes) if after is not None else 'nothing came back'}"
        now = _left(after.changed, after.divergences)
        if not _settles(after.divergences, self.on_gpu.divergences):
            return None, f"no gain: {now}"
        return Evidence(notes=(f"before: {self.words}; now {now}, not run",)), ""


def _expensive(divergences: Sequence[Divergence]) -> list[Divergence]:
    """Those that may cost something."""
    return [divergence for divergence in divergences if divergence.closes]


def _settles(now: Sequence[Divergence], before: Sequence[Divergence]) -> bool:
    """Whether fewer decisions differ, and no other ones."""
    left, all_of_them = ({one.decision for one in _expensive(some)} for some in (now, before))
    return left < all_of_them


def _times(parity: Parity) -> str:
    return f"{parity.ratio:.2f}x the time of backed"


def _left(changed: int, divergences: Sequence[Divergence]) -> str:
    """The same code, or why it is not."""
    decisions = ", ".join(divergence.decision for divergence in divergences)
    return f"{changed} lines of code differ ({decisions or 'only moved'})" if changed else "the code is the same"
