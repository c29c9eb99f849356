"""However much is only noted, the first difference of each kind is told."""

from __future__ import annotations

from ddelint.nouns.protocol import Mismatch
from ddelint.verify.shortening import few_of_each_kind


def test_the_first_of_each_kind_stays_and_second_ones_fill_up() -> None:
    noted = [
        Mismatch(f"seed {seed}", True, where, aspect, "a", "b")
        for where in ("eager", "traced path", "export")
        for aspect in ("memory", "gradient of zeros")
        for seed in range(3)
    ]
    counts = Mismatch("seed 0, bias=float32[3]", False, "traced path", "value", "1.0", "2.0", narrower=True)
    found = few_of_each_kind([*noted, counts], 8)
    assert counts in found
    assert found == [each for number, each in enumerate(noted) if number % 3 == 0 or number == 1] + [counts]
    assert few_of_each_kind([*noted, counts], 2) == [*noted[::3], counts]
    assert len(few_of_each_kind([*noted, counts], 99)) == 13


def test_the_second_one_is_of_another_change() -> None:
    found = [
        Mismatch(sample, False, "eager", "dtype", "a", "b", base=base)
        for base, sample in (
            ("seed 0", "seed 0, strided"),
            ("seed 1", "seed 1, strided"),
            ("seed 0", "seed 0, in train()"),
        )
    ]
    assert few_of_each_kind(found, 4) == [found[0], found[2]]
    assert few_of_each_kind(found[:2], 4) == found[:2]
