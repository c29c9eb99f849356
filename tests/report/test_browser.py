"""The HTML report in a real browser: Chromium, without a window, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from handmade import MODEL

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.report.html import render_report
from ddelint.report.model import Report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Chromium for all tests here, with an empty profile."""
    api: Any = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=CHROMIUM,
            headless=True,
            color_scheme="light",
            viewport={"width": 1280, "height": 900},
            args=list(FLAGS),
        )
        yield context
        context.close()


@pytest.fixture
def page(
    browser: Any, emptiness: Diagnostic, refused: Diagnostic, crumbs: Diagnostic, crash: Diagnostic, tmp_path: Path
) -> Iterator[Any]:
    """A tab that shows a report on two files; what goes wrong in it, or leaves it, fails the test."""
    other = replace(crumbs, span=replace(crumbs.span, filename="other.py"), fix=None)
    report = Report(
        (emptiness, refused, crumbs, crash, other),
        texts={"model.py": MODEL + "pass\n" * 60, "other.py": MODEL},
        diffs={"model.py": "--- model.py\n+++ model.py\n@@ -1 +1 @@\n-a\n+b\n"},
        files_checked=2,
    )
    (tmp_path / "report.html").write_text(render_report(report, "ddelint check .", False), "utf-8")
    trouble: list[str] = []
    tab = browser.new_page()
    tab.on("console", lambda message: trouble.append(message.text))
    tab.on("pageerror", lambda error: trouble.append(str(error)))
    tab.on(
        "request", lambda request: trouble.append(request.url) if request.url[:5] not in ("file:", "about") else None
    )
    tab.goto((tmp_path / "report.html").as_uri())
    yield tab
    tab.close()
    assert trouble == []


def test_a_reader_clicks_through_the_report(page: Any) -> None:
    shown, cards = page.locator("#shown"), page.locator(".card:visible")
    assert shown.inner_text() == "5 of 5 shown"
    assert cards.count() == 5

    # the first card is open: the flow as a drawing, the diff, the evidence
    first = page.locator(".card[data-number='0']")
    assert first.get_attribute("open") is not None
    assert first.locator("svg .box").count() == 2
    assert first.locator("svg .arrow").count() == 1
    assert "guard_or_false" in first.locator(".diff .added").last.inner_text()
    assert first.locator(".evidence .good").count() >= 5
    assert first.locator(".evidence .open").inner_text() == "cuda not run: no device"
    drawing = first.locator("svg").bounding_box()
    assert drawing["width"] > 100
    assert drawing["height"] > 80

    # the others open by a click on their heading, or on the code that they are about
    last = page.locator(".card", has_text="rewrites were tried and refused")
    assert last.get_attribute("open") is None
    last.locator("summary").first.click()
    last.get_by_text("refused rewrites (2)").click()
    assert last.get_by_text("the body raises", exact=True).is_visible()
    page.locator("#p0L20 .asks").first.click()
    assert page.locator(".card[data-rule=DDE201][data-file='0']").get_attribute("open") is not None

    # a box of the drawing leads to its line
    first.locator("svg a").first.click()
    assert page.url.endswith("#p0L13")
    assert page.evaluate("getComputedStyle(document.getElementById('p0L13')).backgroundColor") != "rgba(0, 0, 0, 0)"


def test_filters_by_rule_file_and_fix(page: Any) -> None:
    shown, cards = page.locator("#shown"), page.locator(".card:visible")
    page.locator("nav input[value=DDE201]").uncheck()
    assert shown.inner_text() == "3 of 5 shown"
    assert cards.count() == 3
    assert page.locator("section[data-file='1']").is_hidden()
    page.locator("nav input[value=DDE101]").uncheck()  # whose number is born there
    assert "dimmed" in page.locator("#p0L20 .asks").first.get_attribute("class")

    page.locator("#all").click()
    page.locator("nav input[name=file][value='0']").uncheck()
    assert shown.inner_text() == "1 of 5 shown"
    assert page.locator("section[data-file='0']").is_hidden()

    page.locator("#none").click()
    assert cards.count() == 0
    page.locator("#all").click()
    for box in page.locator("nav input[name=state]").all():
        if box.get_attribute("value") != "safe":
            box.uncheck()
    assert [card.get_attribute("data-rule") for card in cards.all()] == ["DDE102"]


def test_the_list_on_top_leads_to_each_finding(page: Any) -> None:
    rows = page.locator("#list tbody tr:visible")
    assert rows.count() == 5
    row = rows.filter(has_text="other.py")
    assert row.inner_text().split() == [
        "warning",
        "DDE201",
        "integer-cast",
        "other.py:20",
        "int(router.max())",
        "no",
        "fix",
    ]
    row.locator("a").click()
    assert page.url.endswith("#DDE201-other.py-20")
    assert page.locator("[id='DDE201-other.py-20']").get_attribute("open") is not None
    page.locator("nav input[name=severity][value=error]").uncheck()
    assert [row.inner_text().split()[0] for row in rows.all()] == ["warning", "warning"]


def test_search_finds_what_any_finding_says(page: Any) -> None:
    shown = page.locator("#shown")
    page.keyboard.press("/")
    page.keyboard.type("guard_or_false")
    assert shown.inner_text() == "1 of 5 shown"
    page.locator("#search").fill("integer-cast OTHER")
    assert [card.get_attribute("id") for card in page.locator(".card:visible").all()] == ["DDE201-other.py-20"]
    page.locator("#search").fill("no such thing")
    assert shown.inner_text() == "0 of 5 shown"
    page.locator("#all").click()
    assert (shown.inner_text(), page.locator("#search").input_value()) == ("5 of 5 shown", "")


def test_one_finding_alone_and_a_link_to_it(page: Any) -> None:
    shown = page.locator("#shown")
    page.locator("[id='DDE102-model.py-16']").get_by_text("only this").click()
    assert shown.inner_text() == "1 of 5 shown"
    link = page.url
    assert link.endswith("#only=DDE102-model.py-16")
    page.locator("[id='DDE102-model.py-16'] svg a").first.click()  # its lines are still there to be looked at
    assert (shown.inner_text(), page.url.endswith("#p0L13")) == ("1 of 5 shown", True)
    page.locator("#all").click()
    assert shown.inner_text() == "5 of 5 shown"
    page.goto("about:blank")
    page.goto(link)
    assert shown.inner_text() == "1 of 5 shown"
    page.locator("nav input[name=rule]").first.uncheck()
    assert shown.inner_text() == "4 of 5 shown"
    assert "only" not in page.url


def test_keys_and_buttons_open_cards(page: Any) -> None:
    opened = page.locator(".card[open]")
    page.locator("#close").click()
    assert opened.count() == 0
    page.keyboard.press("n")
    page.keyboard.press("n")
    assert [card.get_attribute("data-number") for card in opened.all()] == ["0", "1"]
    page.keyboard.press("p")
    assert page.evaluate("document.activeElement.closest('.card').dataset.number") == "0"
    page.locator("#open").click()
    assert opened.count() == 5
    folded = page.locator(".fold").last
    folded.locator("summary").click()
    assert page.locator("#p1L1 code").is_visible()


def test_light_and_dark(page: Any) -> None:
    def background() -> float:
        """How bright the page is, from 0 to 255."""
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in color.strip("rgb()").split(",")) / 3

    button = page.locator("#theme")
    assert button.inner_text() == "theme: system"
    assert background() > 200
    page.emulate_media(color_scheme="dark")
    assert background() < 60
    button.click()
    assert (button.inner_text(), background() > 200) == ("theme: light", True)
    page.emulate_media(color_scheme="light")
    button.click()
    assert (button.inner_text(), background() < 60) == ("theme: dark", True)
    page.reload()
    assert (button.inner_text(), background() < 60) == ("theme: dark", True)
    ratio = page.evaluate(
        """() => {
          const light = (text) => {
            const [r, g, b] = text.match(/[\\d.]+/g).map((part) => {
              const value = part / 255;
              return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const quiet = light(getComputedStyle(document.querySelector(".row")).color);
          const page = light(getComputedStyle(document.querySelector(".file")).backgroundColor);
          return (Math.max(quiet, page) + 0.05) / (Math.min(quiet, page) + 0.05);
        }"""
    )
    assert ratio > 4.5
