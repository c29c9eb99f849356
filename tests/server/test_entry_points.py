"""Where an editor shows "Trace this entry", and which edits it shows before they are made."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("lsprotocol", reason="the extra `server` is not installed")

from lsprotocol import types

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Fix, Span
from ddelint.server.checks import Checked
from ddelint.server.entry_points import actions, entry_points, lenses
from ddelint.server.messages import Document
from ddelint.settings.options import EntryOption

MODEL = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x


def helper(x):
    return x


def make_inputs(seed):
    return (torch.ones(3),)
"""


def names(text: str, *configured: str) -> list[tuple[str, int]]:
    entries = [EntryOption(entry=f"/project/{name}") for name in configured]
    return [(point.name, point.row) for point in entry_points(Path("/project/model.py"), text, entries)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (MODEL, [("Model", 4)]),
        (MODEL.replace("make_inputs", "get_inputs"), [("Model", 4)]),
        (MODEL.replace("make_inputs", "other"), []),
        ("def fn(x):\n    return x\n\n\ndef make_inputs(seed):\n    return (1,)\n", [("fn", 1)]),
        ("model = make()\nargs = (1,)\n", [("model", 1)]),
        ("if True:\n    model = make()\nargs = (1,)\n", [("model", 2)]),
        ("def ddelint_entries():\n    return []\n", [("ddelint_entries", 1)]),
        (MODEL + "def broken(:\n", []),
        ("", []),
    ],
)
def test_what_a_file_offers_can_be_traced(text: str, found: list[tuple[str, int]]) -> None:
    assert names(text) == found


def test_what_the_configuration_names_comes_first() -> None:
    assert names(MODEL, "model.py:helper") == [("helper", 9)]
    assert names(MODEL, "other.py:helper") == [("Model", 4)]


def test_the_entry_around_the_cursor_is_offered_as_an_action() -> None:
    points = entry_points(Path("/project/model.py"), MODEL, ())

    def offered(row: int) -> list[str]:
        at = types.Position(row, 0)
        return [action.title for action in actions("file:///project/model.py", points, types.Range(at, at))]

    assert offered(4) == ["Trace this entry: Model"]
    assert offered(9) == []
    (lens,) = lenses("file:///project/model.py", points)
    assert lens.command is not None
    assert lens.command.arguments == ["file:///project/model.py", 3]


@pytest.mark.parametrize("applicability", [Applicability.SAFE, Applicability.UNSAFE])
def test_an_unsafe_fix_is_shown_before_it_is_made_where_the_editor_can(applicability: Applicability) -> None:
    place = Span("/project/model.py", 6, 16, 6, 17)
    fix = Fix(applicability, "do it", (Edit(place, "y"),), "none", Claim.PROMISE, ("a promise",))
    checked = Checked(MODEL, (Diagnostic("DDE101", "m", place, fix=fix),))
    where = types.Range(types.Position(5, 15), types.Position(5, 15))

    def edit(confirms: bool) -> types.WorkspaceEdit:
        document = Document("file:///project/model.py", checked, "utf-16", confirms=confirms)
        made = document.actions(where, ["quickfix"])[0].edit
        assert made is not None
        return made

    assert edit(False).changes is not None
    shown = edit(True)
    if applicability is Applicability.SAFE:
        assert shown.changes is not None
        return
    (note,) = (shown.change_annotations or {}).values()
    assert (note.needs_confirmation, note.description) == (True, "a promise")
    (change,) = shown.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert [
        (one.new_text, isinstance(one, types.AnnotatedTextEdit)) for one in change.edits if hasattr(one, "new_text")
    ] == [("y", True)]


def test_a_file_of_an_unusual_name_has_its_entry() -> None:
    (point,) = entry_points(Path("/project/a:b, c.py"), MODEL, ())
    assert (point.name, point.row) == ("Model", 4)
