"""Sizes called on what torch.export makes with the Dims that are declared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ddelint.shapes.declared import declarations
from ddelint.shapes.exported_trying import try_exported, why_not
from ddelint.trace.entry import Entry

FUNCTION = """
    from torch.export import Dim

    def fn(x, scale: float, *, mask):
        if x.shape[0] > 6:
            raise ValueError("too many")
        return (x * mask).sum(0) * scale

    def make_inputs(seed):
        torch.manual_seed(seed)
        return (torch.rand(3, 8), 0.5), {{"mask": torch.rand(3, 8)}}

    rows = Dim("rows", {max})
    DIMS = {{"x": {{0: rows}}, "scale": None, "mask": {{0: rows}}}}
"""


@pytest.mark.parametrize(("most", "taken"), [("max=6", True), ("max=7", False)])
def test_the_dims_of_a_function_go_by_its_parameters(entry_of: Callable[[str], Entry], most: str, taken: bool) -> None:
    entry = entry_of(FUNCTION.format(max=most))
    (spec,) = declarations(entry, 0).specs
    assert (spec.exported, spec.place) == (True, f"{entry.filename}:DIMS")
    sizes = [{"x.shape[0]": n, "mask.shape[0]": n} for n in (4, 7)]
    trial = try_exported(entry, 0, spec.place, sizes[0], sizes)
    assert trial.compiled is taken
    if taken:
        assert [one.ended for one in trial.outcomes] == ["same", "refused"]
    else:
        assert "torch suggests rows = Dim('rows', max=6)" in trial.error


def test_what_torch_export_says_is_one_line() -> None:
    advice = 'For more information, run with TORCH_LOGS="+dynamic".'
    error = ValueError(f"Bad (b)! {advice}\n  - b is a\n  - c\nSuggested fixes:\n  b = a\n\nMore")
    assert why_not(error) == "ValueError: Bad (b)! b is a; torch suggests b = a"
    assert why_not(ValueError()) == "ValueError: "
