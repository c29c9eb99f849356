"""How far rounding may move a result, from a few moved runs: no element is judged by an unlucky draw."""

from __future__ import annotations

from dataclasses import replace

import torch

from ddelint.verify.frozen import Freezer, Frozen
from ddelint.verify.noise import Noise
from ddelint.verify.sameness import COMPILED, close

EPS = float(torch.finfo(torch.float32).eps)
AMOUNTS = (EPS * 256, EPS * 256, EPS * 32)


def noise_of(program: object, *inputs: torch.Tensor) -> Noise:
    generator = torch.Generator().manual_seed(0)

    def frozen(amount: float) -> Frozen:
        moved = (x * (1 + amount * (torch.randint(0, 2, x.shape, generator=generator) * 2 - 1)) for x in inputs)
        return Freezer().freeze(program(*moved))  # type: ignore[operator]

    return Noise(tuple((amount, frozen(amount)) for amount in AMOUNTS))


def test_another_order_of_many_sums_is_close() -> None:
    generator = torch.Generator().manual_seed(1)
    rows, weights = torch.randn(200_000, 64, generator=generator), torch.randn(64, generator=generator)
    noise = noise_of(lambda x, w: (x * w).sum(1), rows, weights)
    expected, got = (rows * weights).sum(1), (rows * weights).flip(1).cumsum(1)[:, -1]
    assert bool((expected != got).any())
    assert int((~close(expected, got, COMPILED, noise)).sum()) == 0


def test_a_small_number_beside_large_ones_is_judged_by_its_own_size() -> None:
    values = torch.full((64,), -1e9)
    values[::16] = torch.tensor([0.5, 0.25, 0.125, 1.0])
    noise = noise_of(lambda x: x * 1.0, values)
    wrong = values.clone()
    wrong[16] += 1e-3
    assert (~close(values, wrong, COMPILED, noise)).nonzero().flatten().tolist() == [16]


def test_what_jumps_says_nothing_about_rounding() -> None:
    values = torch.linspace(-1, 1, 65)  # 0 in the middle, where the sign jumps
    noise = noise_of(lambda x: torch.where(x + 1e-9 * torch.sign(x.sum()) > 0, 1.0, 0.0) + x * 0, values)
    expected = torch.where(values > 0, 1.0, 0.0)
    assert int((~close(expected, 1 - expected, COMPILED, noise)).sum()) == 65


def test_what_cancellation_leaves_does_not_jump_where_two_draws_left_it_in_place() -> None:
    expected = torch.tensor([-0.19, 0.098, 2e-3])

    def noise(*moves: float) -> Noise:
        away = torch.tensor([0.0, 0.0, 1.0])
        return Noise(tuple((a, Freezer().freeze(expected + away * move)) for a, move in zip(AMOUNTS, moves)))

    got = expected + torch.tensor([0.0, 0.0, 2e-8])
    steep = 4 * AMOUNTS[2]
    assert bool(close(expected, got, COMPILED, noise(AMOUNTS[0] / 6, AMOUNTS[1] / 100, steep)).all())
    assert not bool(close(expected, got, COMPILED, noise(AMOUNTS[0] / 6, AMOUNTS[1] / 100, 1e-3)).all())
    assert not bool(close(expected, got + 1e-5, COMPILED, noise(AMOUNTS[0] / 6, AMOUNTS[1] / 100, steep)).any())


def test_a_gradient_of_rounding_errors_may_be_others_but_not_anything() -> None:
    generator = torch.Generator().manual_seed(2)

    def errors(_: torch.Tensor) -> torch.Tensor:
        return torch.randn(32, generator=generator) * 1e-9

    noise = replace(noise_of(errors, torch.ones(1)), kinks=True)
    expected = torch.randn(32, generator=generator) * 1e-9
    assert bool(close(expected, torch.randn(32, generator=generator) * 1e-9, COMPILED, noise).all())
    assert not bool(close(expected, torch.full((32,), 1e-3), COMPILED, noise).any())
