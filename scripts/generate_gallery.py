"""Write docs/gallery.md: what each rule's fix makes of its fixture, and what was run to trust it.

python scripts/generate_gallery.py            checks each program, and writes (takes minutes)
python scripts/generate_gallery.py --check    runs nothing, exits 1 where a diff on the page is not that of the fixtures
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ddelint.knowledge.catalog import rule  # noqa: E402

PAGE = ROOT / "docs" / "gallery.md"
FIXTURES = ROOT / "fixtures" / "rules"
HEAD = """<!-- Written by scripts/generate_gallery.py from fixtures/rules: edit those. -->

# Before and after

One program for each rule whose finding has a fix: the diff that `ddelint check FILE --fix --unsafe-fixes` writes,
and what was run to trust it (torch 2.13, CPU). The programs are tests: `tests/end_to_end/test_fixtures.py` checks that
each comes out so, and asks a judge that shares no code with ddelint whether eager is unchanged and export and compile
pass.
"""
EVIDENCE = re.compile(r"^\*\*(?:safe|unsafe)\*\*.*\n\n?", re.MULTILINE)


def pairs() -> Iterator[tuple[str, Path, Path]]:
    """A rule's code, its program, and what becomes of it."""
    for fixed in sorted(FIXTURES.glob("*/entry.fixed.py")):
        yield fixed.parent.name, fixed.with_name("entry.py"), fixed


def section(code: str, before: Path, after: Path, evidence: str) -> str:
    """One program: what it is, the lines that change, and what was run."""
    texts = [path.read_text("utf-8").splitlines(keepends=True) for path in (before, after)]
    said = ast.get_docstring(ast.parse("".join(texts[0]))) or ""
    diff = "".join(list(difflib.unified_diff(*texts, n=2))[2:])
    heading = f"## [{code}](rules/{code}.md): {rule(code).name}"
    return f"\n{heading}\n\n{said}\n\n```diff\n{diff}```\n\n{evidence}"


def evidence(path: Path) -> str:
    """The label of each fix of a copy of the program, and what was run."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"{path.parent.name}.py"
        shutil.copy(path, copy)
        command = [sys.executable, "-m", "ddelint", "check", str(copy), "--unsafe-fixes", "--output-format", "json"]
        environment = dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")
        done = subprocess.run(
            [*command, "--no-cache", "--isolated"], capture_output=True, text=True, env=environment, check=False
        )
    lines = dict.fromkeys(words(found) for found in json.loads(done.stdout) if found["fix"] and found["evidence"])
    return "".join(f"{line}\n\n" for line in lines).rstrip("\n") + "\n"


def words(finding: dict[str, Any]) -> str:
    """`**safe**, 64 inputs, both sides taken, export and compile pass`."""
    known = finding["evidence"]
    run = [f"{known['samples']} inputs compared in eager"] if known["samples"] else []
    run += [f"sides taken {known['sides'][0]} and {known['sides'][1]} times"] if known.get("sides") else []
    passed = [name for name in ("export", "compile", "backward") if known[name]]
    run += [f"{', '.join(passed)} ok"] if passed else []
    notes = [note for note in known["notes"] if not note.startswith("cuda not run")]
    reasons = "; ".join(notes) if finding["fix"]["applicability"] == "unsafe" else ""
    return f"**{finding['fix']['applicability']}** · {' · '.join(run)}" + (f" ({reasons})" if reasons else "")


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    checks = parser.parse_args().check
    made = [section(code, before, after, "" if checks else evidence(before)) for code, before, after in pairs()]
    text = HEAD + "".join(made)
    if not checks:
        PAGE.write_text(text, "utf-8")
        return 0
    known = EVIDENCE.sub("", PAGE.read_text("utf-8"))
    return 0 if _plain(known) == _plain(text) else 1


def _plain(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
