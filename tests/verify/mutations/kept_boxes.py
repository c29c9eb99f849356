"""Intervals of which none that overlaps an earlier one is kept; beside it, operators whose fake kernels guess how many.

The inputs lie far apart, so that nearly always all of them are kept.
"""

import torch


def apart(starts: torch.Tensor, scores: torch.Tensor, most: int) -> torch.Tensor:
    kept = []
    for place in range(starts.shape[0]):
        if all(abs(float(starts[place] - starts[other])) > 1.0 for other in kept):
            kept.append(place)
    return torch.tensor(kept, dtype=torch.int64)


def guessed(name, fake):
    """An operator that does the same, and says with `fake` how many there are."""
    operator = torch.library.custom_op(f"planted_boxes::{name}", apart, mutates_args=())
    operator.register_fake(fake)
    return operator


as_many_as_starts = guessed("starts", lambda starts, scores, most: scores.new_empty(starts.shape[0], dtype=torch.int64))
as_many_as_scores = guessed("scores", lambda starts, scores, most: scores.new_empty(len(scores), dtype=torch.int64))
as_many_as_allowed = guessed("allowed", lambda starts, scores, most: scores.new_empty(most, dtype=torch.int64))
always_six = guessed("six", lambda starts, scores, most: scores.new_empty((6,), dtype=torch.int64))
like_the_scores = guessed("alike", lambda starts, scores, most: torch.empty_like(scores, dtype=torch.int64))


def unknown(starts, scores, most):
    return scores.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)


def bounded(starts, scores, most):
    return scores.new_empty(torch.library.get_ctx().new_dynamic_size(max=6), dtype=torch.int64)


of_a_new_size = guessed("new", unknown)
of_six_at_most = guessed("bounded", bounded)


def fn(starts, scores):
    # decided from here
    kept = []
    for place in range(starts.shape[0]):
        if all(abs(float(starts[place] - starts[other])) > 1.0 for other in kept):
            kept.append(place)
    kept = torch.tensor(kept, dtype=torch.int64)
    # to here
    return scores[kept], torch.arange(kept.shape[0]) + 1


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.arange(6) * 5.0 + torch.rand(6, generator=g), torch.rand(6, generator=g)
