"""Tests about the rules and their fixtures, so that neither can drift from the code or the docs."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import string
import subprocess
import sys
from pathlib import Path

import pytest

from ddelint.knowledge.catalog import CatalogError, Rule, _read, rules
from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.reading.knowledge import knowledge

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures" / "rules"
ALL = list(rules().values())
WITHOUT_EXAMPLE: set[str] = set()
"""Static rules whose finding needs more than a file: a device."""
EXPECTATION = re.compile(r"#\s*(error: (?P<codes>DDE\d{3}(?:, DDE\d{3})*)|ok)\b")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def codes(rule: Rule) -> str:
    return rule.code


def moves() -> set[str]:
    """All registered moves, every module of the folder imported."""
    import ddelint.rewrite.moves as package
    from ddelint.rewrite.candidate import MOVES

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return set(MOVES)


def expectations(path: Path) -> dict[int, tuple[str, ...]]:
    """Row → the codes expected there; an empty tuple for `# ok`."""
    found = {}
    for row, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        for match in EXPECTATION.finditer(line):
            found[row] = (*found.get(row, ()), *(match["codes"].split(", ") if match["codes"] else ()))
    return found


def test_the_catalogue_is_whole() -> None:
    assert len(ALL) >= 55
    assert [rule.code for rule in ALL] == sorted(rule.code for rule in ALL)


def test_names_are_unique_and_say_what_is_wrong() -> None:
    names = [rule.name for rule in ALL]
    assert len(set(names)) == len(names)
    remedies = re.compile(r"^(use|prefer|avoid|add|remove|replace|no)-")
    assert [name for name in names if remedies.match(name)] == []


@pytest.mark.parametrize("rule", ALL, ids=codes)
def test_sections_are_written(rule: Rule) -> None:
    doc = rule.documentation
    for section in (doc.what, doc.why, doc.bad, doc.good, doc.fix_safety):
        assert len(section) >= 16
        assert not re.search(r"\b(TODO|FIXME|TBD)\b", section)
    assert doc.references
    assert doc.bad != doc.good
    assert doc.what.split()[0] in {"Finds", "Reports", "Says", "Names"}


@pytest.mark.parametrize("rule", ALL, ids=codes)
def test_examples_parse(rule: Rule) -> None:
    for section in (rule.documentation.bad, rule.documentation.good):
        (match,) = BLOCK.finditer(section)
        if match[1] == "python":
            body = match[2]
            wrapped = "async def f():\n for _ in ():\n" + "".join(f"  {line}\n" for line in body.splitlines())
            try:
                ast.parse(body)
            except SyntaxError:
                ast.parse(wrapped)  # `continue`, `return` and `yield` want their surroundings
        else:
            assert rule.code == "DDE001"


@pytest.mark.parametrize("rule", ALL, ids=codes)
def test_message_takes_the_expression_only(rule: Rule) -> None:
    fields = {name for _, name, _, _ in string.Formatter().parse(rule.message) if name is not None}
    assert fields <= {"expression"}
    assert rule.message[:1].islower() or rule.message.startswith(("Python", "`", "{", "torch"))


@pytest.mark.parametrize("rule", ALL, ids=codes)
def test_every_listed_move_exists(rule: Rule) -> None:
    assert [move for move in rule.moves if move not in moves()] == []
    assert len(set(rule.moves)) == len(rule.moves)


def test_every_move_serves_a_rule() -> None:
    listed = {move for rule in ALL for move in rule.moves} | {*knowledge().beyond.first}
    assert moves() - listed == set()


@pytest.mark.parametrize("rule", ALL, ids=codes)
def test_rules_with_moves_have_claims(rule: Rule) -> None:
    if rule.moves:
        assert rule.claims
    if "promise" in rule.moves:
        assert rule.moves[-1] == "promise"


def test_a_promise_is_never_the_first_claim_of_a_rule_with_others() -> None:
    first = {rule.code for rule in ALL if len(rule.claims) > 1 and rule.claims[0] is Claim.PROMISE}
    assert first <= {"DDE304", "DDE305"}  # facts about the origin: promises that hold


def test_graph_breaks_are_known_to_torch() -> None:
    torch = pytest.importorskip("torch")
    registry = Path(torch.__file__).parent / "_dynamo" / "graph_break_registry.json"
    if not registry.is_file():
        pytest.skip("this torch has no registry of graph breaks")
    text = registry.read_text("utf-8")
    assert [(r.code, gb) for r in ALL for gb in r.graph_breaks if f'"{gb}"' not in text] == []


def test_docs_are_what_the_rules_say() -> None:
    script = ROOT / "scripts" / "generate_rule_docs.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_check_of_the_docs_can_fail(tmp_path: Path) -> None:
    for name in ("scripts", "rules", "ddelint"):
        (tmp_path / name).symlink_to(ROOT / name)
    script = tmp_path / "generate.py"
    text = (ROOT / "scripts" / "generate_rule_docs.py").read_text("utf-8")
    script.write_text(text.replace("resolve().parent.parent", "parent"), "utf-8")
    (tmp_path / "docs" / "rules").mkdir(parents=True)
    (tmp_path / "docs" / "rules" / "DDE999.md").write_text("stale")
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "DDE999.md" in done.stderr
    assert "DDE101.md" in done.stderr


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('code = "DDE207"', 'code = "DDE208"'), "`code` must be the file's name"),
        (('name = "len-of-tensor"', 'name = "Len of tensor"'), "`name` must be"),
        (('found_by = ["static", "trace"]', "found_by = []"), "`found_by` must list"),
        (("references = [", "referenced = ["), "`references` must be a list"),
    ],
)
def test_malformed_rules_are_refused(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    text = (ROOT / "rules" / "DDE207.toml").read_text("utf-8")
    assert change[0] in text
    path = tmp_path / "DDE207.toml"
    path.write_text(text.replace(*change), "utf-8")
    with pytest.raises(CatalogError, match=re.escape(complaint)):
        _read(path)


# ------------------------------------------------------------------------------------------------------------ fixtures


def static_fixtures() -> list[Path]:
    return sorted(
        path for path in FIXTURES.glob("*/*.py") if not path.name.startswith("entry") and ".fixed" not in path.name
    )


@pytest.mark.parametrize("rule", [r for r in ALL if "static" in r.found_by], ids=codes)
def test_every_static_rule_has_errors_and_look_alikes(rule: Rule) -> None:
    if rule.code in WITHOUT_EXAMPLE:
        pytest.skip("needs more than a file")
    expected = [rows for path in (FIXTURES / rule.code).glob("*.py") for rows in expectations(path).values()]
    assert any(rule.code in row for row in expected), "no error"
    assert () in expected, "no look-alike"


@pytest.mark.parametrize("path", static_fixtures(), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_fixtures_are_flagged_where_they_say(path: Path) -> None:
    from ddelint.pipeline import run_check
    from ddelint.report.model import Silence
    from ddelint.settings.options import CheckOptions, Mode

    options = CheckOptions(mode=Mode.STATIC, cache=False, extend_select=(path.parent.name,))
    report = run_check([str(path)], options, Silence())
    found: dict[int, list[str]] = {}
    for diagnostic in report.diagnostics:
        found.setdefault(diagnostic.span.row, []).append(diagnostic.code)
    wanted = {row: sorted(row_codes) for row, row_codes in expectations(path).items() if row_codes}
    assert {row: sorted(row_codes) for row, row_codes in found.items()} == wanted
