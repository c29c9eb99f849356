"""All that is asked of an entry is asked within its time: the search, and what comes after it."""

from __future__ import annotations

from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.pipeline import searching
from ddelint.pipeline.gathering import Run, Sources
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions
from ddelint.trace.session import Session


@pytest.mark.parametrize(("beside", "late"), [(0, False), (2, False), (2, True)])
def test_what_is_asked_beside_the_search_has_a_share_and_says_when_time_was_over(
    beside: int, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    session: Any = SimpleNamespace(began=1000.0, ends_at=None, is_over=late, info=SimpleNamespace(label="model.py:fn"))
    session.limited = MethodType(Session.limited, session)
    limits: list[float] = []

    def notes(*asked: object) -> list[Diagnostic]:
        limits.append(session.ends_at - session.began)
        return []

    monkeypatch.setattr(searching, "search", lambda *asked: notes() or {"model.py"})
    run = Run(CheckOptions(timeout=100.0), Silence(), Sources((), {}))
    assert searching.searched_in_time(session, run, [notes] * beside) == {"model.py"}
    assert limits[-1] == 100.0
    assert limits[0] < 100.0 or not beside
    assert session.ends_at is None
    assert any("the time was over" in text for text in run.warnings) is late


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, []),
        ({"extend_select": ("DDE503",)}, ["host reads"]),
        ({"select": ("DDE5",), "guards": True}, ["parity", "host reads", "guards"]),
    ],
)
def test_what_is_asked_beside_the_search_is_what_was_selected(
    settings: dict[str, Any], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def saying(what: str) -> Any:
        return lambda *asked: said.append(what) or []

    monkeypatch.setattr(searching.parity, "parity_findings", saying("parity"))
    monkeypatch.setattr(searching.host_reads, "host_read_findings", saying("host reads"))
    monkeypatch.setattr(searching, "guards_of", saying("guards"))
    session: Any = SimpleNamespace()
    run = Run(CheckOptions(**settings), Silence(), Sources((), {}))
    for findings in searching.beside(session, lambda: session, run):
        findings()
    assert said == asked
