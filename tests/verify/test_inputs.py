"""Which inputs are drawn, and in which order."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import torch

from ddelint.trace.entry import Entry
from ddelint.verify.inputs import variations
from ddelint.verify.samples import Sample

MASKED = """
def fn(x, keep, level):
    return x[keep] * level


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(6, 2, generator=g), torch.rand(6, generator=g) > 0.5, torch.tensor(seed % 5 + 2)
"""


def by_label(entry: Entry, count: int = 200) -> dict[str, Sample]:
    return {sample.label: sample for sample in variations(entry, count, 0)}


def test_declared_inputs_come_first_and_are_half_of_them(program: Callable[..., Entry]) -> None:
    samples = list(variations(program(MASKED), 20, 0))

    assert [sample.declared for sample in samples] == [True] * 10 + [False] * 10
    assert [sample.label for sample in samples[:3]] == ["seed 0", "seed 1", "seed 2"]


def test_the_order_is_the_same_each_time_and_samples_can_be_made_again(program: Callable[..., Entry]) -> None:
    entry = program(MASKED)
    first, second = list(variations(entry, 60, 0)), list(variations(entry, 60, 0))

    assert [s.label for s in first] == [s.label for s in second]
    for sample, twin in zip(first, second):
        one, other = sample.make()[0], twin.make()[0]
        assert all(torch.equal(a, b) for a, b in zip(one, other) if not a.isnan().any()), sample.label
        again = sample.make()[0]
        assert all(a is not b for a, b in zip(one, again))


def test_masks_are_emptied_filled_and_halved_early(program: Callable[..., Entry]) -> None:
    samples = by_label(program(MASKED))

    assert not samples["keep all false"].make()[0][1].any()
    assert samples["keep all true"].make()[0][1].all()
    assert samples["keep one true"].make()[0][1].sum() == 1
    assert samples["keep exactly half true"].make()[0][1].sum() == 3
    early = [sample.label for sample in variations(program(MASKED), 12, 0)]
    assert "keep all false" in early
    assert "keep all true" in early


def test_single_integers_take_small_values_and_one_beyond_the_largest_seen(program: Callable[..., Entry]) -> None:
    samples = by_label(program(MASKED))
    values = {int(s.make()[0][2]) for label, s in samples.items() if label.startswith("level ")}

    assert {0, 1, 6, 7} <= values
    assert max(values) == 7


def test_only_the_named_argument_is_varied(program: Callable[..., Entry]) -> None:
    entry = program(MASKED)
    samples = by_label(entry)
    x, _, level = entry.inputs(0)[0]

    changed = samples["keep all false"].make()[0]

    assert torch.equal(changed[0], x)
    assert torch.equal(changed[2], level)


def test_inputs_that_do_not_depend_on_the_seed_count_once(program: Callable[..., Entry]) -> None:
    samples = list(
        variations(
            program("def fn(x):\n    return x\n\n\ndef make_inputs(seed):\n    return (torch.ones(3),)\n"), 20, 0
        )
    )

    assert [sample.label for sample in samples if sample.declared] == ["seed 0"]
    assert len(samples) == 20


def test_offsets_stay_sorted_and_keep_their_ends(program: Callable[..., Entry]) -> None:
    samples = by_label(
        program(
            """
            def fn(offsets):
                return offsets.diff()


            def make_inputs(seed):
                return (torch.tensor([0, 2, 5 + seed % 3, 9]),)
            """
        )
    )

    assert samples["offsets everything in the last step"].make()[0][0].tolist() == [0, 0, 0, 9]
    assert samples["offsets everything in the first step"].make()[0][0].tolist() == [0, 9, 9, 9]
    assert samples["offsets one over the limit"].make()[0][0].max() == 10


def test_lengths_keep_their_sum(program: Callable[..., Entry]) -> None:
    samples = by_label(
        program(
            """
            def fn(x, lengths):
                return x.split(lengths.tolist())


            def make_inputs(seed):
                return torch.ones(12), torch.tensor([3, 4, 2, 3])
            """
        )
    )

    assert samples["lengths everything in the first"].make()[0][1].tolist() == [12, 0, 0, 0]
    assert samples["lengths evenly spread"].make()[0][1].tolist() == [3, 3, 3, 3]


def test_sizes_of_marked_dimensions_change_together(program: Callable[..., Entry]) -> None:
    entry = program(
        """
        def fn(x, keep):
            return x[keep]


        def make_inputs(seed):
            n = seed % 4 + 4
            return torch.randn(n, 3), torch.ones(n, dtype=torch.bool)
        """,
        unbacked={"x": (0,)},
        dynamic={"keep": (0,)},
    )
    samples = by_label(entry)

    for size in (0, 1, 2, 8):
        x, keep = samples[f"x.shape[0], keep.shape[0] = {size}"].make()[0]
        assert x.shape == (size, 3)
        assert keep.shape == (size,)


def test_a_tensor_that_always_follows_a_marked_one_is_resized_with_it(program: Callable[..., Entry]) -> None:
    entry = program(
        """
        def fn(x, keep):
            return x[keep]


        def make_inputs(seed):
            n = seed % 4 + 4
            return torch.randn(n, 3), torch.ones(n, dtype=torch.bool)
        """,
        unbacked={"x": (0,)},
    )

    assert "x.shape[0], keep.shape[0] = 1" in by_label(entry)


def test_tensors_in_lists_and_keywords_are_varied(program: Callable[..., Entry]) -> None:
    entry = program(
        """
        def fn(parts, *, batch):
            return parts[0] * batch["keep"]


        def make_inputs(seed):
            return ([torch.ones(3), torch.zeros(2)],), {"batch": {"keep": torch.tensor([True, False, True])}}
        """
    )
    samples = by_label(entry)

    args, kwargs = samples["batch['keep'] all false"].make()
    assert not kwargs["batch"]["keep"].any()
    assert torch.equal(args[0][0], torch.ones(3))
    assert "parts[0] all zero" in samples


def test_integers_stay_within_what_was_seen_but_for_one_more_and_two_negative_ones(
    program: Callable[..., Entry],
) -> None:
    entry = program(
        """
        def fn(ids):
            return ids


        def make_inputs(seed):
            g = torch.Generator().manual_seed(seed)
            return (torch.randint(2, 9, (5, 4), generator=g),)
        """
    )

    drawn = torch.cat([sample.make()[0][0].reshape(-1) for sample in variations(entry, 80, 0)])

    assert int(drawn.max()) <= 9
    assert {int(number) for number in drawn if number < 1} == {-1, -100, 0}


def test_gradients_are_let_into_floats(program: Callable[..., Entry]) -> None:
    samples = by_label(program(MASKED))

    assert samples["inputs that require grad"].make()[0][0].requires_grad
    assert not samples["seed 0"].make()[0][0].requires_grad


def test_what_is_empty_for_one_seed_is_varied_all_the_same(program: Callable[..., Entry]) -> None:
    text = """
    def fn(x, keep, steps):
        return x[keep], steps

    def make_inputs(seed):
        n = seed % 3
        return torch.ones(n), torch.ones(n, dtype=torch.bool), torch.arange(n)
    """
    samples = list(variations(program(textwrap.dedent(text)), 200, 0))
    assert any(not sample.declared for sample in samples)
    for sample in samples:
        x, keep, _ = sample.make()[0]
        assert x.shape == keep.shape, sample.label
