"""Small packages that the static pass is run over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ddelint.pipeline.checking import run_check
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions, Mode


def rows(root: Path, files: dict[str, str]) -> list[tuple[str, int]]:
    """Where the static pass finds something in a package of these files."""
    for name, text in files.items():
        path = root / "kit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in {root / "kit", path.parent}:
            (folder / "__init__.py").touch()
        path.write_text(text)
    return checked(root, root / "kit")


def checked(root: Path, path: Path, **options_given: bool) -> list[tuple[str, int]]:
    options = replace(CheckOptions(mode=Mode.STATIC, root=str(root), cache=False), **options_given)
    report = run_check([str(path)], options, Silence())
    return [(Path(found.span.filename).name, found.span.row) for found in report.diagnostics]
