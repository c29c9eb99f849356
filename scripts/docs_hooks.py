"""What mkdocs does on top of mkdocs.yml: the rule pages stand in the navigation under their codes and names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ddelint.knowledge.catalog import rules  # noqa: E402


def on_config(config: Any) -> Any:
    """Put one entry a rule behind the rules' index."""
    for section in config["nav"]:
        if "Rules" in section:
            section["Rules"] += [{f"{code} {rule.name}": f"rules/{code}.md"} for code, rule in rules().items()]
    return config
