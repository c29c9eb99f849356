"""`ddelint server` where the language server's library is not installed."""

from __future__ import annotations

import importlib.util

import pytest

from ddelint.cli import main


def test_it_says_which_extra_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as end:
        main(["server"], prog_name="ddelint")
    assert end.value.code == 2
    assert capsys.readouterr().err == (
        "ddelint: error: the language server needs pygls: pip install 'ddelint[server]'\n"
    )
