"""README and docs: every command runs and prints what the page says; the navigation holds every page."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from documented import CHECKOUT, PAGES, Shown, accept, difference, inline_on, links_of, mistake, run, scratch, shown_on

from ddelint.pipeline import scripts, sessions, verifying
from ddelint.trace.worker_process import Worker

LONG = bool(os.environ.get("DDELINT_LONG"))
WITH_COMMANDS = [page for page in PAGES if any(not shown.is_synopsis for shown in shown_on(page))]


@pytest.fixture(scope="module")
def started() -> Iterator[list[Worker]]:
    """The worker of this file's commands, once there is one: it is started where a page's files lie, as in a shell."""
    workers: list[Worker] = []
    yield workers
    for worker in workers:
        worker.close()


@pytest.fixture
def shared_worker(started: list[Worker], monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands of this file use one worker: torch is imported once, and only where something is traced."""

    def start_worker(options: object, **_: object) -> contextlib.nullcontext[Worker]:
        if not started:
            started.append(Worker())
        return contextlib.nullcontext(started[0])

    for module in (sessions, scripts, verifying):
        monkeypatch.setattr(module, "start_worker", start_worker)


def name(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name)
def test_every_command_runs(page: Path, tmp_path: Path, shared_worker: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NO_COLOR", "FORCE_COLOR", "DDELINT_DEBUG", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    scratch(tmp_path)
    wrong = []
    for shown in shown_on(page):
        if shown.is_synopsis or shown.mark == "not run" or (shown.mark == "long" and not LONG):
            continue
        if shown.traces and find_spec("torch") is None:
            continue
        exact = LONG or not shown.traces
        code, printed = run(shown, tmp_path, exact)
        failed = code == 2 or "Traceback" in printed
        if failed and not (shown.output and "ddelint: error:" in "\n".join(shown.output)):
            wrong.append(f"{shown}\nexit code {code}\n{printed}")
        elif exact and shown.output is not None and (differs := difference(shown, printed)):
            wrong.append(f"{shown}\n{differs}")
    assert not wrong, "\n\n".join(wrong)


def test_every_command_in_a_sentence_would_be_taken() -> None:
    found = [shown for page in PAGES for shown in (*inline_on(page), *shown_on(page))]
    assert len(found) > 30
    assert [f"{shown}: {error}" for shown in found if (error := mistake(shown))] == []


def test_what_is_not_run_says_why() -> None:
    marked = [shown for page in PAGES for shown in shown_on(page) if shown.mark]
    assert all(len(shown.reason.split()) > 2 for shown in marked)
    assert len(marked) < sum(not shown.is_synopsis for page in PAGES for shown in shown_on(page)) / 2


def test_the_checks_can_fail(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Say `ddelint check --fxi model.py`:\n\n    $ ddelint --version\n    ddelint 9.9\n\n"
        "```sh\nddelint rule DDE102\n```\n"
    )
    version, rule = shown_on(page)
    assert (version.output, rule.output) == (("ddelint 9.9",), None)
    code, printed = run(version, tmp_path, exact=True)
    assert code == 0
    assert "-ddelint 9.9" in difference(version, printed)
    assert "--fxi" in mistake(inline_on(page)[0])
    elided = Shown(page, 1, "ddelint x", ("a", "…", "d"), "", "")
    assert difference(elided, "a\nb\nc\nd\n") == ""
    assert difference(elided, "a\nb\n") != ""


def test_what_a_command_prints_is_taken_over(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    fenced = "```console\n$ ddelint --version\nold\nlines\n$ ddelint clean\n…\n```\n"
    page.write_text(f"{fenced}\n    $ ddelint rule NOPE\n    no\n\nEnd.\n")
    assert [shown.words[1] for shown in accept(page, long=False)] == ["rule", "--version"]
    first, second, third = shown_on(page)
    assert first.output is not None
    assert len(first.output) == 1
    assert first.output[0].startswith("ddelint ")
    assert second.output == ("…",)
    assert third.output == ("ddelint: error: there is no rule `NOPE`",)
    assert page.read_text().endswith("\n\nEnd.\n")
    assert accept(page, long=False) == []


def test_no_link_leads_nowhere() -> None:
    """mkdocs looks at the links of its pages; this looks at README's, too."""
    pages = (*PAGES, *sorted((CHECKOUT / "docs" / "rules").glob("*.md")))
    found = [(page, link) for page in pages for link in links_of(page)]
    assert len(found) > 50
    missing = [f"{name(page)}: {link}" for page, link in found if not page.parent.joinpath(link).exists()]
    assert missing == []


def test_the_navigation_holds_every_page() -> None:
    told = (CHECKOUT / "mkdocs.yml").read_text("utf-8")
    pages = [path.relative_to(CHECKOUT / "docs").as_posix() for path in (CHECKOUT / "docs").rglob("*.md")]
    assert [page for page in pages if not page.startswith("rules/DDE") and page not in told] == []


def test_pictures_read_the_same_in_light_and_dark() -> None:
    """They bring a background of their own, a title and a description, and fetch nothing."""
    pictures = sorted((CHECKOUT / "docs" / "images").glob("*.svg"))
    drawn = [path for path in pictures if path.name != "terminal.svg"]
    assert len(drawn) >= 3
    for path in drawn:
        text = path.read_text("utf-8")
        assert re.search(r'<rect width="\d+" height="\d+"[^>]* fill="#', text), path
        assert "<title" in text
        assert "<desc" in text
        assert "href" not in text


def test_the_gallery_shows_what_the_fixtures_are() -> None:
    script = CHECKOUT / "scripts" / "generate_gallery.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}: run scripts/generate_gallery.py"
