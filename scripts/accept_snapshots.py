"""Take over every `.actual` file that a failed snapshot test has left: `python scripts/accept_snapshots.py`."""

from __future__ import annotations

from pathlib import Path


def main() -> None:
    """Rename each `NAME.actual` under tests/ to `NAME.txt`, and say so."""
    for actual in sorted((Path(__file__).parent.parent / "tests").rglob("*.actual")):
        actual.replace(actual.with_suffix(".txt"))
        print(f"accepted {actual.with_suffix('.txt')}")


if __name__ == "__main__":
    main()
