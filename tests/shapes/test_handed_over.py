"""Programs whose tensors reach what torch compiles in `*args` and `**kwargs`: specs go by what is compiled itself."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ddelint.nouns.protocol import SessionOptions
from ddelint.shapes.contract import contract_of
from ddelint.shapes.declared import declarations, spec_in
from ddelint.shapes.names import names_of
from ddelint.shapes.specs import spec_of
from ddelint.shapes.trying import handed_over, try_spec
from ddelint.shapes.writing import written
from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry

WRAPPED = """
    import functools

    def logged(function):
        @functools.wraps(function)
        def inner(self, *args, **kwargs):
            return function(self, *args, **kwargs)
        return inner

    class Model(torch.nn.Module):
        @logged
        def forward(self, tokens, flag, mask, *, bias=None):
            return torch.cat([tokens * mask.unsqueeze(-1), bias])

    def make_inputs(seed):
        torch.manual_seed(seed)
        return (torch.rand(3, 6), True, torch.ones(3)), {"bias": torch.rand(5, 6)}
"""


def test_a_wrapped_program_is_compiled_under_its_spec(
    entry_of: Callable[[str], Entry], options: SessionOptions
) -> None:
    entry = entry_of(WRAPPED)
    contract = contract_of(entry, options)
    assert contract.handed == {"tokens": "*0", "mask": "*2", "bias": "**"}
    assert contract.others == ("flag",)
    spec = spec_of(contract, names_of(contract))
    first = contract.example
    other = {**first, "tokens.shape[0]": 7, "mask.shape[0]": 7, "bias.shape[0]": 1}
    wrong = {**first, "tokens.shape[0]": 7}
    trial = try_spec(entry, 0, spec, first, [other, wrong])
    assert trial.compiled, trial.error
    assert [one.ended for one in trial.outcomes] == ["same", "refused"]

    text = written(contract, spec)
    assert '"*args": [TensorSpec([tokens_0, tokens_1]), None, TensorSpec([tokens_0])],' in text
    assert '"**kwargs": {"bias": TensorSpec([bias_0, tokens_1])},' in text
    space: dict[str, object] = {}
    exec(text, space)
    read = spec_in(space["SHAPES"], "SHAPES", entry.parameters, contract.handed)
    assert read is not None
    assert read.dimensions == spec.dimensions
    assert isinstance(space["DYNAMIC_SHAPES"], dict)
    assert list(space["DYNAMIC_SHAPES"]) == ["tokens", "mask", "bias", "flag"]


def test_a_spec_by_names_says_nothing_of_a_wrapped_program(entry_of: Callable[[str], Entry]) -> None:
    entry = entry_of(WRAPPED)
    handed = handed_over(entry, 0, entry.build())
    kinds = torch_internals.spec_kinds()
    by_name = kinds.ShapesSpec({"tokens": kinds.TensorSpec([kinds.ShapeVar("rows"), None])})
    found = spec_in(by_name, "BY_NAME", entry.parameters, handed)
    assert found is not None
    assert found.dimensions == {}
    taken = spec_in(by_name, "BY_NAME", entry.parameters)
    assert taken is not None
    assert taken.dimensions == {"tokens.shape[0]": "rows"}


def test_a_spec_that_is_attached_is_declared(entry_of: Callable[[str], Entry]) -> None:
    entry = entry_of("""
        from torch.fx.experimental.dynamic_spec import ShapesSpec, ShapeVar, TensorSpec

        class Model(torch.nn.Module):
            def forward(self, x):
                return x * 2

        Model.forward._dynamic_spec = ShapesSpec({"x": TensorSpec([ShapeVar("rows", min=2), 3])})  # @dynamic_spec

        def make_inputs(seed):
            return (torch.rand(4, 3),)
    """)
    (spec,) = declarations(entry, 0).specs
    assert (spec.origin, spec.variables) == ("@dynamic_spec", {"rows": (2, None)})
    assert spec.dimensions == {"x.shape[0]": "rows", "x.shape[1]": "3"}


def test_export_takes_the_dims_that_are_written(entry_of: Callable[[str], Entry], options: SessionOptions) -> None:
    entry = entry_of("""
        class Model(torch.nn.Module):
            def forward(self, image, flag, extra):
                n, c, h, w = image.shape
                rows = image.reshape(n, c, h // 4, 4, w // 2, 2).permute(0, 2, 4, 1, 3, 5).flatten(1, 2).flatten(2)
                return torch.cat([rows, extra], dim=1)

        def make_inputs(seed):
            return torch.rand(2, 3, 16, 6), True, torch.rand(2, 5, 24)
    """)
    contract = contract_of(entry, options)
    space: dict[str, object] = {}
    exec(written(contract, spec_of(contract, names_of(contract))), space)
    dims = space["DYNAMIC_SHAPES"]
    args, _ = entry.inputs(0)
    exported = torch.export.export(entry.build(), args, dynamic_shapes=dims).module()  # type: ignore[arg-type]
    for n, c, h, w, more in ((3, 2, 12, 4, 2), (2, 5, 20, 8, 9)):
        image, extra = torch.rand(n, c, h, w), torch.rand(n, more, 8 * c)
        assert exported(image, True, extra).shape == (n, h // 4 * (w // 2) + more, 8 * c)
