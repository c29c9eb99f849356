"""Start-up: `ddelint --version` and friends against bare Python.

python tests/benchmarks/start_up.py
"""

from __future__ import annotations

from measuring import commands, python, table


def main() -> None:
    """Print the table."""
    rows = commands(
        {
            "python -c pass": python("-c", "pass"),
            "python -c 'import click'": python("-c", "import click"),
            "ddelint --version": python("-m", "ddelint", "--version"),
            "ddelint --help": python("-m", "ddelint", "--help"),
            "ddelint rule DDE101": python("-m", "ddelint", "rule", "DDE101"),
            "python -c 'import libcst'": python("-c", "import libcst"),
            "python -c 'import torch'": python("-c", "import torch"),
        },
        turns=5,
    )
    print(table(rows, "python -c pass"))


if __name__ == "__main__":
    main()
