"""Start-up: `ddelint --version` and friends against bare Python.

python tests/benchmarks/start_up.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from measuring import commands, python, table


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        clean = Path(folder) / "clean.py"
        clean.write_text(
            "import torch\n\n\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
        )
        _measure(str(clean))


def _measure(clean: str) -> None:
    check = ("-m", "ddelint", "check", clean, "--static", "--isolated", "-q")
    rows = commands(
        {
            "python -c pass": python("-c", "pass"),
            "python -c 'import click'": python("-c", "import click"),
            "ddelint --version": python("-m", "ddelint", "--version"),
            "ddelint --help": python("-m", "ddelint", "--help"),
            "ddelint rule DDE101": python("-m", "ddelint", "rule", "DDE101"),
            "ddelint check of one clean file, no cache": python(*check, "--no-cache"),
            "ddelint check of one clean file": python(*check),
            "python -c 'import libcst'": python("-c", "import libcst"),
            "python -c 'import torch'": python("-c", "import torch"),
        },
        turns=5,
        cwd=Path(clean).parent,
    )
    print(table(rows, "python -c pass"))


if __name__ == "__main__":
    main()
