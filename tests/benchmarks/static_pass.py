"""The static pass over installed packages, against `ast.parse` and `ruff` of the same files, in one run.

python tests/benchmarks/static_pass.py [--turns N] [PACKAGE…]     default: transformers torch_geometric kornia

Ratios are of CPU seconds (user and system, children included), except where wall seconds are named: two workers
against ruff, which has as many threads as the machine has cores. On a machine that does other things, too, only the
CPU ratios mean something.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from measuring import ENVIRONMENT, Measured, commands, python, table

WALK = "import pathlib, sys; FILES = [p for root in sys.argv[1:] for p in sorted(pathlib.Path(root).rglob('*.py'))]\n"
READ = WALK + "for path in FILES: path.read_bytes()"
SCAN = WALK + (
    "from ddelint.static.program.scan import might_matter\n"
    "kept = [d for p in FILES if might_matter(d := p.read_bytes())]\n"
)
PARSE = (
    "import ast, gc; gc.disable()\n"
    "for data in {}:\n    try: ast.parse(data)\n    except (SyntaxError, ValueError): pass\n"
)
WALKED = SCAN + PARSE.format("kept").replace("ast.parse(data)", "[None for _ in ast.walk(ast.parse(data))]")
TWO_PROCESSES = SCAN + (
    "import ast, gc, os; gc.disable(); other = os.fork()\n"
    "for data in kept[0 if other else 1 :: 2]:\n    try: ast.parse(data)\n    except (SyntaxError, ValueError): pass\n"
    "if other: os.wait()\n"
    "else: os._exit(0)\n"
)
UNINTERPRETED = (
    "from ddelint.static import checks; checks.check_index = lambda index, assume_compiled: []\n"
    "from ddelint.cli import main; main()"
)
KEPT, ALL = SCAN + PARSE.format("kept"), WALK + PARSE.format("(p.read_bytes() for p in FILES)")


def main() -> None:
    """Print what was checked, what was found, and the tables."""
    words = sys.argv[1:]
    turns = int(words.pop(words.index("--turns") + 1)) if "--turns" in words else 3
    packages = [word for word in words if word != "--turns"] or ["transformers", "torch_geometric", "kornia"]
    folders = [_folder(package) for package in packages]
    files = [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    with tempfile.TemporaryDirectory() as working:
        _measure(folders, turns, Path(working), f"{', '.join(packages)}: {len(files)} files, {lines} lines")


def _measure(folders: list[str], turns: int, working: Path, title: str) -> None:
    words = ["check", *folders, "--static", "--isolated", "--exit-zero"]
    call = python("-m", "ddelint", *words)
    shown = ["-q", "--output-format", "concise"]
    quiet = [*call, *shown]
    first = subprocess.Popen(
        [*call, "-j", "1", "--output-format", "json"],
        env=ENVIRONMENT, cwd=working, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert first.stdout is not None
    found = Counter(finding["code"] for finding in json.load(first.stdout))
    _, _, usage = os.wait4(first.pid, 0)
    print(f"{title}; {sum(found.values())} findings; at most {usage.ru_maxrss // 1024} MiB of memory\n")
    print(", ".join(f"{code} {count}" for code, count in sorted(found.items())), end="\n\n")
    named = {
        "read the files": python("-c", READ, *folders),
        "read, and scan the bytes": python("-c", SCAN, *folders),
        "the same, and ast.parse what the scan keeps": python("-c", KEPT, *folders),
        "the same, and ast.walk over each tree": python("-c", WALKED, *folders),
        "read, scan, and ast.parse what is kept in two processes": python("-c", TWO_PROCESSES, *folders),
        "ast.parse of all files": python("-c", ALL, *folders),
        "ddelint, its interpreter left out, -j 1": python("-c", UNINTERPRETED, *words, *shown, "--no-cache", "-j", "1"),
        "ddelint, no cache, -j 1": [*quiet, "--no-cache", "-j", "1"],
        "ddelint, no cache, -j 2": [*quiet, "--no-cache", "-j", "2"],
        "ddelint, nothing changed since the last call": [*quiet, "-j", "1"],
    }
    ruff = shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is not None:
        named["ruff check --no-cache"] = [ruff, "check", "--no-cache", "--isolated", "--quiet", "--exit-zero", *folders]
    rows = commands(named, turns=turns, cwd=working)
    print(table(rows, "ast.parse of all files"))
    print(_verdicts({row.name: row for row in rows}))


def _verdicts(rows: dict[str, Measured]) -> str:
    """The ratios that the project promises itself, each with its limit."""
    scan, kept = rows["read, and scan the bytes"], rows["the same, and ast.parse what the scan keeps"]
    cold, warm = rows["ddelint, no cache, -j 1"], rows["ddelint, nothing changed since the last call"]
    told = [
        ("cold / ast.parse of what the scan keeps", cold.median_cpu / (kept.median_cpu - scan.median_cpu), 1.5),
        ("cold / ast.parse of all files", cold.median_cpu / rows["ast.parse of all files"].median_cpu, 1.0),
        ("warm / cold", warm.median_cpu / cold.median_cpu, 0.1),
    ]
    ruff = rows.get("ruff check --no-cache")
    if ruff is not None:
        ratio = rows["ddelint, no cache, -j 2"].median_wall / ruff.median_wall
        told.append(("two workers / ruff, wall", ratio, 1.2))
    lines = ["", "| what | ratio | goal, at most |", "|---|---:|---:|"]
    return "\n".join([*lines, *(f"| {what} | {ratio:.2f} | {limit} |" for what, ratio, limit in told)])


def _folder(package: str) -> str:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed")
    return str(Path(spec.origin).parent)


if __name__ == "__main__":
    main()
