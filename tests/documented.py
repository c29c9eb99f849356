"""The commands that README and docs show: found, and run in a scratch copy of a small project.

A command stands in a fenced or an indented block, alone on its line or behind a `$`; then what follows, up to the next
`$`, is what it prints (a line `…` stands for any lines). A comment before a block says more about it:

    <!-- long: REASON -->       takes minutes: run with DDELINT_LONG=1 only
    <!-- not run: REASON -->    needs what a test does not have (a GPU, a network, packages)

`python tests/documented.py --accept` puts what commands print now into the pages (with DDELINT_LONG=1 what is traced,
too); output with a line `…` is left to a person.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from click.testing import CliRunner

from ddelint.cli import main

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = [
    CHECKOUT / "README.md",
    *sorted((CHECKOUT / "docs").glob("*.md")),
    *sorted((CHECKOUT / "docs").glob("how-to/*.md")),
]
PROJECTS = ("tutorial", "how-to")
"""Folders of fixtures/ whose files lie in the scratch project."""
MARK = re.compile(r"^<!-- (long|not run): (.+) -->$")
ANY = "…"
PLACEHOLDER = re.compile(r"\b(?:FILE|PATH|SCRIPT|MODULE|DIR|CODE|NAME|REV|SHELL)\b|…|\[")
TRACING = {"check", "run", "verify"}
QUICK = ("--samples", "2", "--target", "export")
"""What a tracing command gets on top in an ordinary run of the tests: seconds instead of a minute."""
UNFIXED = ("--ignore", "ALL")
"""And where it says nothing of fixes: the program is traced, and no rewrites are tried."""


@dataclass(frozen=True)
class Shown:
    """One command as it stands on a page."""

    page: Path
    row: int
    line: str
    output: tuple[str, ...] | None
    """What the page says that it prints; None where it doesn't say."""
    mark: str
    reason: str

    @property
    def words(self) -> list[str]:
        """The command without what a shell would take care of."""
        return shlex.split(re.split(r"\s[|<>]\s", self.line)[0])

    @property
    def stdin(self) -> str | None:
        """The file after `<`."""
        match = re.search(r"\s<\s*(\S+)", self.line)
        return match[1] if match else None

    @property
    def is_synopsis(self) -> bool:
        """Whether it has placeholders in place of words."""
        return PLACEHOLDER.search(self.line) is not None

    @property
    def traces(self) -> bool:
        """Whether it runs a program, if there is one to run."""
        name = self.words[1]
        command = name if name in main.commands else "check"
        return command in TRACING and not {"--static", "--help", "--version"} & {*self.words}

    def __str__(self) -> str:
        return f"{self.page.relative_to(CHECKOUT)}:{self.row}: {self.line}"


def blocks(page: Path) -> Iterator[tuple[list[tuple[int, str]], str, str]]:
    """Each block of code with the numbers of its lines, and the mark before it with its reason."""
    lines = page.read_text("utf-8").splitlines()
    mark, reason, block, fenced = "", "", list[tuple[int, str]](), ""
    for row, line in enumerate([*lines, ""], 1):
        fence = re.match(r"\s*```", line)
        if fenced:
            if fence:
                yield block, mark, reason
                mark, reason, block, fenced = "", "", [], ""
            else:
                block.append((row, line.removeprefix(fenced.rstrip("`"))))
        elif fence:
            if block:
                yield block, mark, reason
                mark, reason, block = "", "", []
            fenced = fence[0]
        elif line.startswith("    "):
            block.append((row, line[4:]))
        elif line.strip() or row > len(lines):
            if block:
                yield block, mark, reason
                mark, reason, block = "", "", []
            if match := MARK.match(line):
                mark, reason = match[1], match[2]
            elif line.strip():
                mark, reason = "", ""
        elif block:
            block.append((row, ""))


def shown_on(page: Path) -> list[Shown]:
    """Every command of a page, from top to bottom."""
    found = []
    for block, mark, reason in blocks(page):
        prompted = any(line.startswith("$ ") for _, line in block)
        for at, (row, line) in enumerate(block):
            if prompted and not line.startswith("$ "):
                continue
            output = None
            if prompted:
                rest = [text for _, text in block[at + 1 :]]
                until = next((n for n, text in enumerate(rest) if text.startswith("$ ")), len(rest))
                output = tuple("\n".join(rest[:until]).rstrip().splitlines()) or None
            for part in line.removeprefix("$ ").split(" && "):
                if part.startswith("ddelint "):
                    found.append(Shown(page, row, part.partition("  #")[0].strip(), output, mark, reason))
    return found


def prose(page: Path) -> str:
    """The page without its blocks of code, line by line."""
    return re.sub(r"(?ms)^\s*```.*?^\s*```|^    .*?$", lambda m: "\n" * m[0].count("\n"), page.read_text("utf-8"))


def inline_on(page: Path) -> list[Shown]:
    """Every command that stands within a sentence."""
    text = prose(page)
    return [
        Shown(page, text.count("\n", 0, match.start()) + 1, " ".join(match[1].split()), None, "", "")
        for match in re.finditer(r"`(ddelint\s[^`]+)`", text)
    ]


def links_of(page: Path) -> list[str]:
    """Where the page's links lead to within the repository."""
    return re.findall(r"\]\((?!https?:)([^)#\s]+)", re.sub(r"`[^`\n]*`", "", prose(page)))


def scratch(folder: Path) -> None:
    """A small project under version control, with what the commands speak of."""
    for name in PROJECTS:
        shutil.copytree(CHECKOUT / "fixtures" / name, folder, dirs_exist_ok=True)
    for name in ("quickstart", "tutorial"):
        shutil.copytree(CHECKOUT / "fixtures" / name, folder / "fixtures" / name)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "start"],
        ["update-ref", "refs/remotes/origin/main", "HEAD"],
    ):
        subprocess.run([*git, *command], cwd=folder, check=True, capture_output=True)


def run(shown: Shown, folder: Path, exact: bool) -> tuple[int, str]:
    """Its exit code and all that it prints. Without `exact`, a command that traces does less of the same."""
    words = [_substituted(word, folder) for word in shown.words]
    if shown.traces and not exact:
        at = 2 if words[1] in main.commands else 1
        more = () if "--fix" in words or words[1] == "verify" else UNFIXED
        words = [*words[:at], *QUICK, *more, *words[at:]]
    stdin = (folder / shown.stdin).read_text("utf-8") if shown.stdin else None
    with contextlib.chdir(folder):
        argv, sys.argv = sys.argv, words
        try:
            result = CliRunner().invoke(main, words[1:], prog_name="ddelint", input=stdin)
        finally:
            sys.argv = argv
    return result.exit_code, result.output.replace(f"{folder}/", "")


def _substituted(word: str, folder: Path) -> str:
    """A word with what `$(…)` in it prints."""
    return re.sub(
        r"\$\((.*?)\)",
        lambda match: subprocess.run(
            ["bash", "-c", match[1]], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip(),
        word,
    )


def difference(shown: Shown, printed: str) -> str:
    """How what was printed differs from what the page says; empty where it doesn't."""
    wanted = list(shown.output or ())
    actual = [line.rstrip() for line in printed.rstrip().splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line == ANY else re.escape(line.rstrip()) + r"\n" for line in wanted)
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in actual)):
        return ""
    return "\n".join(difflib.unified_diff(wanted, actual, "the page", "printed", lineterm=""))


def mistake(shown: Shown) -> str:
    """Why the words would not be taken as a call, without making it; empty where they would."""
    words = re.sub(r"[\[\]…]", "FILE", re.split(r"\s[|<>]\s", shown.line)[0]).split()
    if "--help" in words or "--version" in words:
        return ""
    try:
        context = main.make_context("ddelint", words[1:])
        name, command, rest = main.resolve_command(context, [*context._protected_args, *context.args])
        assert command is not None
        command.make_context(name, rest, parent=context)
    except (click.NoSuchOption, click.exceptions.BadOptionUsage) as error:
        return error.format_message()
    except (click.ClickException, click.exceptions.Exit):
        pass  # a placeholder is no file, and a file of the text need not be there
    return ""


def accept(page: Path, long: bool) -> list[Shown]:
    """Put what the page's commands print into it; gives the commands whose output was another."""
    lines = page.read_text("utf-8").splitlines(keepends=True)
    changed = []
    printed: dict[Shown, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        scratch(Path(folder).resolve())
        for shown in shown_on(page):
            if not shown.is_synopsis and not shown.mark and (long or not shown.traces):
                printed[shown] = run(shown, Path(folder).resolve(), exact=True)[1]
    for shown, text in reversed(printed.items()):
        if shown.output is None or ANY in shown.output or not difference(shown, text):
            continue
        indent = re.match(r"\s*", lines[shown.row - 1])
        margin = indent[0] if indent else ""
        new = [f"{margin}{line}".rstrip() + "\n" for line in text.rstrip().splitlines()]
        lines[shown.row : shown.row + len(shown.output)] = new
        changed.append(shown)
    if changed:
        page.write_text("".join(lines), "utf-8")
    return changed


if __name__ == "__main__":
    if sys.argv[1:] != ["--accept"]:
        raise SystemExit(__doc__)
    os.environ["COLUMNS"] = "120"
    for each in PAGES:
        for one in accept(each, bool(os.environ.get("DDELINT_LONG"))):
            print(f"accepted {one}")
