"""Write docs/rules/ from rules/*.toml: one page a rule, and an index.

python scripts/generate_rule_docs.py            writes
python scripts/generate_rule_docs.py --check    writes nothing, exits 1 where a page is not what it would write
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ddelint.knowledge.catalog import Rule, rules  # noqa: E402
from ddelint.report.rules import markdown  # noqa: E402

FOLDER = ROOT / "docs" / "rules"
NOTICE = "<!-- Written by scripts/generate_rule_docs.py from rules/{source}: edit that. -->\n\n"
GRAPH_BREAKS = "https://meta-pytorch.github.io/compile-graph-break-site/gb/"
GROUPS = {
    "0": "The run itself",
    "1": "Control flow on a data-dependent value",
    "2": "A concrete integer is demanded",
    "3": "Facts the compiler cannot see",
    "4": "Unbacked inputs, and specialization nobody asked for",
    "5": "Unbacked must not be slower",
    "6": "Retired API",
    "7": "Autograd under torch.compile",
    "8": "Custom operators",
    "9": "No rewrite keeps it",
}
"""First digit of a code → its heading."""
HEAD = ("| code | name | severity | found by | finds |", "|---|---|---|---|---|")
MARKS = {("static", "trace"): "both", ("static",): "static pass", ("trace",): "tracer"}


def pages() -> dict[str, str]:
    """File name → text, for all pages."""
    return {"index.md": index(rules()), **{f"{code}.md": page(rule) for code, rule in rules().items()}}


def page(rule: Rule) -> str:
    """One rule's page: what `ddelint rule CODE` shows, and the links that only a browser wants."""
    text = NOTICE.format(source=f"{rule.code}.toml") + markdown(rule)
    extra = []
    if rule.moves:
        extra.append("Moves, in the order in which they are tried: " + ", ".join(f"`{move}`" for move in rule.moves))
    if rule.graph_breaks:
        links = ", ".join(f"[{gb}]({GRAPH_BREAKS}{gb.lower()}.html)" for gb in rule.graph_breaks)
        extra.append(f"PyTorch's own numbers for the graph breaks that this may show as: {links}")
    return text + ("\n" + "\n\n".join(extra) + "\n" if extra else "")


def index(table: Mapping[str, Rule]) -> str:
    """All rules, group by group."""
    parts = [
        NOTICE.format(source="*.toml") + "# Rules\n",
        "A code keeps its meaning once released. `found by`: the static pass reads the source only; the tracer runs an "
        "entry under fake tensors.\n",
    ]
    for digit, heading in GROUPS.items():
        group = [rule for code, rule in table.items() if code[3] == digit]
        if not group:
            continue
        parts.append(f"## DDE{digit}xx {heading}\n")
        rows = [
            f"| [{r.code}]({r.code}.md) | {r.name} | {r.severity.value} | {MARKS[r.found_by]} | {_summary(r)} |"
            for r in group
        ]
        parts.append(
            "\n".join(["| code | name | severity | found by | finds |", "|---|---|---|---|---|", *rows]) + "\n"
        )
    return "\n".join(parts)


def _summary(rule: Rule) -> str:
    """The first sentence of what the rule does, up to a colon outside of code; a bar would end the table's cell."""
    text = " ".join(rule.documentation.what.split())
    sentence = re.split(r"(?<=[.:])\s(?=[^`]*(?:`[^`]*`[^`]*)*$)", text, maxsplit=1)[0]
    return sentence.rstrip(".:").replace("|", "\\|")


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wanted = pages()
    FOLDER.mkdir(parents=True, exist_ok=True)
    there = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    if options.check:
        stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        for name in stale:
            print(f"docs/rules/{name} is not what rules/ says: run scripts/generate_rule_docs.py", file=sys.stderr)
        return 1 if stale else 0
    for name in there.keys() - wanted.keys():
        (FOLDER / name).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
