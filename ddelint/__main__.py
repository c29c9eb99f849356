"""`python -m ddelint`, and the `ddelint` command: the calls that editors and scripts make often start at once."""

from __future__ import annotations

import gc
import os
import sys
import warnings

from ddelint.system import streams

__all__ = ["main"]


def main() -> None:
    """Run the command line; exits with its code. What needs neither options nor files is answered without click."""
    gc.set_threshold(100_000, 20, 20)  # importing makes many objects and no garbage; looking for it is a tenth of that
    streams.settle()
    warnings.simplefilter("ignore", SyntaxWarning)  # what Python thinks of the files that are checked is not asked
    if not _answered(sys.argv[1:]):
        try:
            from ddelint import cli
        except KeyboardInterrupt:  # what comes later, the command line itself answers
            sys.stderr.write("ddelint: error: interrupted\n")
            sys.exit(2)
        cli.main(prog_name="ddelint")


def _answered(words: list[str]) -> bool:
    """Whether the call is one of the simple ones, and was answered."""
    if words in (["--version"], ["-V"]):
        from ddelint.version import VERSION

        text = f"ddelint {VERSION}\n"
    elif len(words) == 2 and words[0] == "rule" and not words[1].startswith("-"):
        page = _page(words[1])
        if page is None:
            return False
        text = page
    elif words[:2] == ["check", "--static"]:
        from ddelint.commands import plain
        from ddelint.commands.endings import ended_by_signals

        try:
            with ended_by_signals():
                passed = plain.passed(words)
        except KeyboardInterrupt:
            sys.stderr.write("ddelint: error: interrupted\n")
            sys.exit(2)
        if passed is None:
            return False
        text = passed
    else:
        return False
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        sys.exit(1)
    except streams.StreamError as error:
        sys.stderr.write(f"ddelint: error: {error}\n")
        sys.exit(2)
    return True


def _page(code: str) -> str | None:
    """The page of one of our rules as a pipe or file gets it; None for anything else, which takes the whole way."""
    if sys.stdout.isatty() or os.environ.get("FORCE_COLOR") or sys.stdout.encoding.lower() != "utf-8":
        return None
    package = os.path.dirname(os.path.realpath(__file__))
    for folder in (package, os.path.dirname(package)):
        path = os.path.join(folder, "rules", f"{code.upper()}.toml")
        if code.isalnum() and code.upper().startswith("DDE") and os.path.isfile(path):
            return _page_of(path)
    return None


def _page_of(path: str) -> str | None:
    import tomllib

    from ddelint.report.rule_page import page

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
        doc = table["doc"]
        sections = [doc[name].strip() for name in ("what", "why", "bad", "good", "fix_safety")]
        head = (table["code"], table["name"], table["severity"], table["found_by"], table["since"])
        return page(*head, sections, doc["references"])
    except (OSError, tomllib.TOMLDecodeError, KeyError, AttributeError):
        return None


if __name__ == "__main__":
    main()
