"""clone_instead_of_deepcopy."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from control_flow import context_of, load, rewritten, with_imports

from ddelint.nouns.diagnostics import TypeFact

TENSOR = TypeFact("tensor", "float32", ("4",))
SPELLINGS = {
    "y = copy.deepcopy(x)": ("copy.deepcopy(x)", TENSOR),
    "y = deepcopy(x) * 1": ("deepcopy(x)", TENSOR),
    "y = copy.deepcopy({'a': x, 'n': 2})['a']": ("copy.deepcopy({'a': x, 'n': 2})", TypeFact("dict")),
    "y = deepcopy([x, None])[0]": ("deepcopy([x, None])", TypeFact("list")),
    "y = (z := copy.deepcopy((x, 'a')))[0]": ("copy.deepcopy((x, 'a'))", TypeFact("tuple")),
}


@pytest.mark.parametrize("statement", SPELLINGS)
def test_tensors_are_cloned_while_compiling(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, fact = SPELLINGS[statement]
    head = "import copy\nfrom copy import deepcopy\n\nimport torch\n\n\ndef fn(x):\n"
    text = f"{head}    {statement}\n    y.add_(1)\n    return x, y\n"
    copied = call.partition("(")[2][:-1]
    (found,) = rewritten("clone_instead_of_deepcopy", context_of(text, call, {copied: fact}, "DDE005"))
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)

    class Program(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return load(found)(x)

    given = torch.arange(4.0)
    torch.testing.assert_close(Program()(given), (torch.arange(4.0), torch.arange(4.0) + 1))
    torch.export.export(Program(), (given,))


@pytest.mark.parametrize(
    ("imported", "call"), [("import copy", "copy.deepcopy(batch)"), ("from copy import deepcopy", "deepcopy(batch)")]
)
def test_of_an_object_itself_is_copied(imported: str, call: str) -> None:
    text = f"{imported}\n\nimport torch\n\n\ndef fn(batch):\n    return {call}\n"
    context = context_of(text, call, {"batch": TypeFact("other")}, "DDE005")
    (found,) = with_imports("clone_instead_of_deepcopy", context)
    assert f"return copy.copy(batch) if torch.compiler.is_compiling() else {call}" in found
    assert "import copy\n" in found


@pytest.mark.parametrize("call", ["copy.copy(x)", "copy.deepcopy(x, {})", "x.clone()"])
def test_what_is_no_deep_copy_stays(call: str) -> None:
    text = f"import copy\n\n\ndef fn(x):\n    return {call}\n"
    assert rewritten("clone_instead_of_deepcopy", context_of(text, call, {"x": TENSOR}, "DDE005")) == []
