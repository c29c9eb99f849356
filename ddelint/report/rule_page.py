"""A rule's page in Markdown. Imports nothing: `ddelint rule CODE` is to be there at once."""

from __future__ import annotations

from collections.abc import Sequence


def page(
    code: str,
    name: str,
    severity: str,
    found_by: Sequence[str],
    since: str,
    sections: Sequence[str],
    references: Sequence[str],
) -> str:
    """The page; `sections` are what, why, bad, good and fix safety, those without text are left out."""
    what, why, bad, good, fix_safety = sections
    parts = [
        f"# {code} {name}",
        f"Severity: {severity}. Found by: {', '.join(found_by)}." + (f" Since {since}." if since else ""),
        "## What it does",
        what,
    ]
    for heading, section in (
        ("## Why it is bad", why),
        ("## Example", bad),
        ("Use instead:", good),
        ("## Fix safety", fix_safety),
    ):
        parts += [heading, section] if section else []
    if references:
        parts += ["## References", "\n".join(f"- {reference}" for reference in references)]
    return "\n\n".join(parts) + "\n"
