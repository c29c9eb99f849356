"""Sizes rounded up to a multiple, as windows and patches have them: what cancels out, and what is left for a reader."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from ddelint.nouns.contracts import Contract, Requirement
from ddelint.shapes.facts import Sizes, read
from ddelint.shapes.linear_forms import follows
from ddelint.shapes.plain import ALWAYS, plain
from ddelint.shapes.probing import probe
from ddelint.shapes.products import cancelled
from ddelint.shapes.requirements import sharpened
from ddelint.shapes.specs import spec_of
from ddelint.shapes.widening import widened
from ddelint.shapes.writing import written

Derive = Callable[..., Contract]

N, H, W = "n.shape[0]", "h.shape[0]", "w.shape[0]"
HIGH, WIDE = f"({H} + (4 - {H} % 4) % 4)", f"({W} + (4 - {W} % 4) % 4)"
"""The sizes that both are padded to."""
WINDOWS = f"{N} * ({HIGH} // 4) * ({WIDE} // 4)"


def agree(text: str, other: str, given: Sequence[str] = ()) -> None:
    """Assert that two conditions are the same for all small sizes that have an answer."""
    for values in itertools.product((0, 1, 2, 3, 4, 5, 7, 8, 12), repeat=3):
        sizes = dict(zip((N, H, W), values))
        truth = read(text).holds(sizes)
        if truth is not None and all(read(one).holds(sizes) for one in given):
            assert read(other).holds(sizes) is truth, sizes


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"16 * {N} * {HIGH} * {WIDE} == 256 * {WINDOWS}", ALWAYS),
        (f"{WINDOWS} // ({HIGH} * {WIDE} // 16) == {N}", ALWAYS),
        (f"{WINDOWS} // ({HIGH} * {WIDE} // 16) != 3", f"{N} != 3"),
        (f"{WINDOWS} // ({WINDOWS} // ({HIGH} * {WIDE} // 16)) >= 7", f"(({H} + 3) // 4) * (({W} + 3) // 4) >= 7"),
        (f"({H} + 7) // 4 * 4 > {H}", f"4 * (({H} + 3) // 4) + 4 > {H}"),
        (f"(-{H}) // 4 + {H} == 9", f"{H} == ({H} + 3) // 4 + 9"),
        (f"{HIGH} % 4 == 1", "False"),
        (f"{N} * {H} // {H} >= 2 and {HIGH} % 2 == 0", f"{N} >= 2 and True"),
    ],
)  # fmt: skip
def test_what_cancels_out_is_gone(text: str, wanted: str) -> None:
    found = cancelled(text)
    assert len(found) <= len(wanted)
    agree(text, found)


@pytest.mark.parametrize(
    ("text", "multiples"),
    [
        (f"16 * {N} * ({H} // 4) * ({W} // 4) == {N} * {HIGH} * {WIDE}", [(H, 4), (W, 4)]),
        (f"16 * ({H} // 4) * ({W} // 4) < {H} * {W}", [(H, 4), (W, 4)]),
        (f"({H} + 1) // 4 == {H} // 4", [(H, 4)]),
        (f"{H} // 2 == 2 * ({H} // 4)", [(H, 2), (H, 4)]),
    ],
)
def test_of_a_known_multiple_nothing_is_lost(text: str, multiples: list[tuple[str, int]]) -> None:
    found = cancelled(text, multiples)
    assert not read(found).names
    agree(text, found, [f"{name} % {number} == 0" for name, number in multiples])


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        (f"(4 - {H} % 4) % 4 != 0", f"{H} % 4 != 0"),
        (f"16 * (({H} + 3) // 4) * {N} != 0", f"{H} >= 1 and {N} >= 1"),
        (f"16 * (({H} + 3) // 4) * {N} >= 2", f"{H} >= 1 and {N} >= 1"),
        (f"16 * ({H} // 4) * {N} < 5", f"{H} <= 3 or {N} == 0"),
        (f"2 * {H} * {N} > 3", f"2 * {H} * {N} > 3"),
        (f"16 * (({H} + 3) // 4) * {N} >= 0", ALWAYS),
        (f"8 * {H} * {N} == 0 or (4 * {H} * {N} > 0 and True)", ALWAYS),
        (f"max(0, {H} + {N} - max(0, {H} + {N} - 6)) == 6", f"{H} + {N} >= 6"),
        (f"max({H}, {W}) == {H}", f"{H} >= {W}"),
        (f"min({H}, {W}) + 2 >= {H}", f"{H} <= {W} + 2"),
        ("2 * 3 == 6", ALWAYS),
    ],
)
def test_it_is_said_plainly(text: str, simple: str) -> None:
    assert plain(text) == simple
    agree(text, simple)


def test_what_holds_beside_others_is_sharper() -> None:
    given = [
        f"{N} >= 1",
        f"{N} != 1",
        f"{H} % 4 == 0",
        f"{W} % 4 == 0",
        f"{H} >= 1",
        f"{W} >= 1",
        f"{W} <= 3 or {W} >= 8",
    ]
    found = sharpened([*given, f"16 * ({W} // 4) < {H} * {W}", f"16 * ({W} // 4) < {N} * {H} * {W}"])
    assert {f"{N} >= 2", f"{W} >= 8", f"{H} % 4 == 0"} <= set(found)
    assert follows(f"{H} >= 8", found)
    assert not any("//" in one or "*" in one for one in found)


def test_a_product_is_larger_than_its_factors() -> None:
    assert follows(f"{H} * {W} != 1", [f"{H} >= 2", f"{W} >= 1"])
    assert follows(f"{N} * ({H} // 4) > 1", [f"{H} >= 8", f"{N} >= 1"])
    assert not follows(f"{H} * {W} != 1", [f"{H} >= 1", f"{W} >= 1"])


def dividing(sizes: Sizes) -> str:
    return "ZeroDivisionError: division by zero" if not sizes[H] * sizes[W] else ""


def of_length(sizes: Sizes) -> str:
    return "RuntimeError: the mask is too short" if sizes[W] < 5 else ""


@pytest.mark.parametrize(("runs", "wanted"), [(dividing, {f"{H} >= 1", f"{W} >= 1"}), (of_length, {f"{W} >= 5"})])
def test_a_bound_that_running_shows_excludes_nothing_that_runs(runs: Callable[[Sizes], str], wanted: set[str]) -> None:
    assert set(probe([], {N: 3, H: 8, W: 12}, runs).facts) == wanted


def test_what_all_sides_need_hangs_on_none() -> None:
    side, other = f"{H} % 4 == 0", f"{H} % 4 != 0"
    everywhere, here = f"{N} >= 1", f"{W} >= 2"
    needed = [Requirement(text, "torch", None, "", (side,)) for text in (everywhere, here)]

    def eager(sizes: Sizes) -> str:
        broken = not sizes[N] or (sizes[H] % 4 == 0 and sizes[W] < 2)
        return "RuntimeError: no elements" if broken else ""

    found = widened(needed, {N: 2, H: 8, W: 3}, eager)
    assert [(one.text, one.when) for one in found] == [(everywhere, ()), (here, (side,))]
    assert other not in found[1].when


WINDOWED = """
def fn(image):
    rows, width = image.shape
    extra = (4 - rows % 4) % 4
    if extra:
        image = torch.nn.functional.pad(image, (0, 0, 0, extra))
    windows = image.reshape((rows + extra) // 4, 4, width)
    return windows.sum(1)

def make_inputs(seed):
    return (torch.rand({rows}, 3),)
"""


@pytest.mark.parametrize("rows", [8, 6])
def test_windows_leave_one_branch_and_nothing_that_no_reader_follows(derive: Derive, rows: int) -> None:
    contract = derive(WINDOWED.format(rows=rows))
    assert next(branch.text for branch in contract.branches if "//" not in branch.text) == "image.shape[0] % 4 != 0"
    texts = [
        *(one.text for one in contract.requirements),
        *(one.text for one in contract.branches),
        *contract.undecided,
    ]
    assert max(map(len, texts)) < 60
    assert not any("(4 - image.shape[0] % 4)" in text for text in texts)


def test_levels_of_a_pyramid_are_one_dim(derive: Derive) -> None:
    contract = derive("""
        def fn(fine, middle, coarse):
            middle = middle + coarse.repeat_interleave(2, 1)
            return fine + middle.repeat_interleave(2, 1)

        def make_inputs(seed):
            return torch.rand(2, 12), torch.rand(2, 6), torch.rand(2, 3)
    """)
    text = written(contract, spec_of(contract, {}))
    assert '"fine": {0: fine_0_dim, 1: 4 * coarse_1_dim},' in text
    assert '"middle": {0: fine_0_dim, 1: 2 * coarse_1_dim},' in text
    assert "so the example sets" not in text


@pytest.mark.parametrize(
    ("assumptions", "dims", "static"),
    [
        (("fine == 4 * coarse", "fine % 12 == 0"), ("4 * (3 * coarse_dim)", "middle_dim", "3 * coarse_dim"), ""),
        (("middle == 2 * coarse", "fine == 2 * middle"), ("4 * coarse_dim", "2 * coarse_dim", "coarse_dim"), ""),
        (("fine == 4 * coarse", "fine * middle == 32"), ("", "", ""), "fine, middle, coarse"),
        (("fine == 2 * coarse + 1", "fine % 3 == 0"), ("", "middle_dim", ""), "fine, coarse"),
    ],
)
def test_what_rests_on_one_size_is_said_by_its_dim_or_stays_with_it(
    derive: Derive, assumptions: tuple[str, ...], dims: tuple[str, ...], static: str
) -> None:
    contract = derive("""
        def fn(fine, middle, coarse):
            return fine.sum(), middle.sum(), coarse.sum()

        def make_inputs(seed):
            return torch.rand(12), torch.rand(6), torch.rand(3)
    """)
    spec = spec_of(contract, {f"{name}.shape[0]": name for name in ("fine", "middle", "coarse")})
    text = written(contract, replace(spec, assumptions=assumptions))
    for name, dim in zip(("fine", "middle", "coarse"), dims):
        assert f'"{name}": {{{f"0: {dim}" if dim else ""}}},' in text
    assert (f"so the example sets {static}: " in text) is bool(static)
