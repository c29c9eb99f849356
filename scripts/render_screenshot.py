"""Render docs/images/terminal.svg from a real call on the quickstart: `python scripts/render_screenshot.py`."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

CHECKOUT = Path(__file__).parent.parent
PICTURE = CHECKOUT / "docs" / "images" / "terminal.svg"
PROGRAM = "fixtures/quickstart/model.py"
PICTURED = ("DDE103", "DDE102")
"""The rules whose first findings fit into the picture; the closing line counts them all."""
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def main() -> None:
    """Run ddelint on the quickstart and write its first findings and closing line as SVG."""
    call = [sys.executable, "-m", "ddelint", "check", PROGRAM, "--color", "always", "--exit-zero", "--no-cache"]
    done = subprocess.run(call, cwd=CHECKOUT, capture_output=True, text=True, env={**os.environ, "NO_COLOR": ""})
    if done.returncode != 0:
        sys.exit(done.stderr)
    *findings, closing = done.stdout.rstrip("\n").split("\n\n")
    shown = [next(f for f in findings if f" {code} " in _ANSI.sub("", f.split("\n", 1)[0])) for code in PICTURED]
    text = "\n\n".join([f"$ ddelint check {PROGRAM}", *shown, "…", closing])
    width = max(map(len, _ANSI.sub("", text).splitlines()))
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text))
    picture = console.export_svg(title="ddelint", unique_id="ddelint")
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # a picture loads nothing
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n", "utf-8")
    print(f"wrote {PICTURE.relative_to(CHECKOUT)}")


if __name__ == "__main__":
    main()
