"""The static pass over an installed package, against `ast.parse` of the same files.

python tests/benchmarks/static_pass.py [PACKAGE]        default: transformers
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from measuring import ENVIRONMENT, commands, python, table

PARSE = """
import ast, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    try:
        ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        pass
"""
READ = """
import pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    path.read_bytes()
"""


def main() -> None:
    """Print what was checked, what was found, and the table."""
    package = sys.argv[1] if len(sys.argv) > 1 else "transformers"
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed")
    folder = str(Path(spec.origin).parent)
    files = sorted(Path(folder).rglob("*.py"))
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    check = python("-m", "ddelint", "check", folder, "--static", "--no-cache", "--exit-zero", "-q")
    done = subprocess.run(
        python("-m", "ddelint", "check", folder, "--static", "--no-cache", "--output-format", "json"),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, int] = {}
    for finding in json.loads(done.stdout):
        found[finding["code"]] = found.get(finding["code"], 0) + 1
    print(f"{package}: {len(files)} files, {lines} lines; {sum(found.values())} findings")
    print(", ".join(f"{code} {count}" for code, count in sorted(found.items())))
    rows = commands(
        {
            "read the files": python("-c", READ, folder),
            "ast.parse of the files": python("-c", PARSE, folder),
            "ddelint check --static, one process": [*check, "-j", "1"],
            "ddelint check --static, as many as there are cores": check,
        }
    )
    print(table(rows, "ast.parse of the files"))


if __name__ == "__main__":
    main()
