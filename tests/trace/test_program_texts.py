"""What a definition looks like as text: as in its file, or made of its signature."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field
from typing import Any

import pytest

from ddelint.trace.program_texts import _head, _text, _unindented


@dataclass
class Settings:
    """A constructor that stands in no file."""

    width: int
    names: tuple[str, ...] = ()
    kind: object = len
    parts: list[int] = field(default_factory=list, kw_only=True)


def test_a_comment_at_the_margin_keeps_a_method_readable() -> None:
    text = "    def forward(self, x):\n#        print(x)\n        return '''\nend'''\n"
    assert _unindented(text) == "def forward(self, x):\n#        print(x)\n    return '''\nend'''\n"


def test_a_constructor_that_nobody_wrote_has_its_annotations_and_defaults() -> None:
    (head,) = ast.parse(_text(Settings.__init__)).body
    assert isinstance(head, ast.FunctionDef)
    assert [argument.arg for argument in head.args.args] == ["self", "width", "names", "kind"]
    assert [ast.unparse(default) for default in head.args.defaults] == ["...", "..."]
    assert [argument.arg for argument in head.args.kwonlyargs] == ["parts"]
    assert "width: 'int'" in ast.unparse(head.args)


def plain(x: int, /, *rest: Any, flag: bool = True, **more: Any) -> None: ...


@pytest.mark.parametrize("annotation", [int, object()])
def test_a_head_is_python(annotation: Any) -> None:
    signature = inspect.signature(plain)
    x, *others = signature.parameters.values()
    head = _head("plain", signature.replace(parameters=[x.replace(annotation=annotation), *others]))
    (definition,) = ast.parse(head).body
    assert isinstance(definition, ast.FunctionDef)
    assert definition.args.vararg is not None
    assert definition.args.kwarg is not None
    assert ast.unparse(definition.args.kw_defaults[0] or definition) == "True"
