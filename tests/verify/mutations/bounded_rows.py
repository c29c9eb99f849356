"""The mean of the rows that are kept; beside it, operators whose fake kernels bound how many there are."""

import torch


def kept_sizes(name, **bounds):
    """An operator that gives the places that are kept, and a fake kernel with these bounds on how many."""

    @torch.library.custom_op(f"planted_bounds::{name}", mutates_args=())
    def places(keep: torch.Tensor) -> torch.Tensor:
        return keep.nonzero().squeeze(1)

    @places.register_fake
    def _(keep):
        return keep.new_empty(torch.library.get_ctx().new_dynamic_size(**bounds), dtype=torch.int64)

    return places


at_least_one = kept_sizes("at_least_one", min=1)
at_most_three = kept_sizes("at_most_three", max=3)
any_number = kept_sizes("any_number")


def limited(n):
    torch._check(n < 4)
    return n


def fn(x, keep):
    # decided from here
    if keep.any():
        y = x[keep].sum(0) / int(keep.sum())
    else:
        y = x.new_zeros(3)
    # to here
    return y


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(5, 3, generator=g), torch.rand(5, generator=g) < [0.3, 0.6][seed % 2]
