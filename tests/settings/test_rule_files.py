"""Rules and operator facts of others: from a configuration, from installed packages, and `ddelint test-rules`."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

import ddelint
from ddelint.cli import main
from ddelint.knowledge import extensions

RULE = """
code = "ACME001"
name = "host-copy"
message = "`{expression}` copies to the host"
severity = "error"
url = "https://example.org/ACME001"

[flags]
calls = ["acme.ops.to_host", "*.to_numpy_now"]
says = "the host waits for the copy"

[replacement]
calls = { "acme.ops.to_host" = "acme.ops.to_host_later", "*.to_numpy_now" = "*.to_numpy_later" }

[doc]
why = "The copy stalls the device."
"""
FACTS = """
[returns]
selection = ["acme.ops.pick_active"]

[static_positions]
"acme.ops.pool" = { position = 0, keyword = "size" }
"""
MODEL = """import torch
from acme import ops
from acme.ops import to_host


def helper(x):
    return ops.to_host(x)  # error: ACME001


def outside(x):
    return ops.to_host(x)  # ok: nothing compiles this


class Model(torch.nn.Module):
    def forward(self, x, mask):
        y = to_host(x)  # error: ACME001
        z = x.to_numpy_now()  # error: ACME001
        other = self.to_host(x)  # ok: another function of that name
        picked = ops.pick_active(x, mask)
        if picked.shape[0] == 0:  # error: DDE102
            return x
        return ops.pool(x, mask.sum().item()) + helper(y) + z + other  # error: DDE206
"""
FIXED = (
    MODEL.replace("import to_host\n", "import to_host, to_host_later\n")
    .replace("return ops.to_host(x)  # error", "return ops.to_host_later(x)  # error")
    .replace("y = to_host(x)", "y = to_host_later(x)")
    .replace("to_numpy_now", "to_numpy_later")
)


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Rule files of one test mean nothing to the next."""

    def forget() -> None:
        extensions._named.clear()
        extensions._installed.cache_clear()
        for empty in extensions._emptied:
            empty()

    forget()
    yield
    monkeypatch.undo()
    forget()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose configuration names rule files."""
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "host_copy.toml").write_text(RULE)
    (rules / "facts.toml").write_text(FACTS)
    (tmp_path / "ddelint.toml").write_text("extend-rules = ['rules/*.toml']\n")
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def called(*words: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words], prog_name="ddelint")
    assert isinstance(end.value.code, int)
    return end.value.code


def codes(path: Path, **arguments: object) -> list[str]:
    report = ddelint.check(path, static=True, cache=False, **arguments)  # type: ignore[arg-type]
    return [f"{found.span.row}: {found.code}" for found in report.remaining]


def test_what_a_rule_file_names_is_found(project: Path) -> None:
    assert codes(project / "model.py") == ["7: ACME001", "16: ACME001", "17: ACME001", "20: DDE102", "22: DDE206"]
    report = ddelint.check(project / "model.py", static=True, cache=False, select="ACME")
    (first, *_) = report.remaining
    assert (first.severity, first.message) == ("error", "`ops.to_host(x)` copies to the host")
    assert first.breadcrumbs[0][1] == "the host waits for the copy"
    assert report.as_json()[0]["url"] == "https://example.org/ACME001"


def test_without_the_configuration_nothing_of_it_is_reported(project: Path) -> None:
    assert codes(project / "model.py", isolated=True) == []


def test_a_replacement_is_written_with_unsafe_fixes(project: Path) -> None:
    ddelint.fix(project / "model.py", static=True, cache=False)
    assert (project / "model.py").read_text() == MODEL
    ddelint.fix(project / "model.py", static=True, cache=False, unsafe_fixes=True)
    assert (project / "model.py").read_text() == FIXED


def test_findings_are_silenced_like_ours(project: Path) -> None:
    text = MODEL.replace("# error: ACME001", "# ddelint: ignore[ACME001]", 1).replace(
        "# error: ACME001", "# noqa: ACME001, E501", 1
    )
    (project / "model.py").write_text(text.replace("# ok:", "# noqa: E501"))
    assert codes(project / "model.py", select="ACME,DDE003") == ["17: ACME001"]
    (project / "model.py").write_text(text.replace("# ok:", "# ddelint: ignore[ACME001]"))
    assert codes(project / "model.py", select="ACME,DDE003") == ["11: DDE003", "17: ACME001", "18: DDE003"]


def test_a_rule_for_everywhere_finds_calls_in_files_without_torch(project: Path) -> None:
    (project / "rules" / "host_copy.toml").write_text(RULE.replace("[flags]", '[flags]\nwhere = "everywhere"'))
    (project / "model.py").write_text("from acme.ops import to_host\n\nprint(to_host(1))\n")
    assert codes(project / "model.py") == ["3: ACME001"]


def test_installed_packages_bring_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    (site / "acme_rules" / "data").mkdir(parents=True)
    (site / "acme_rules" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (site / "acme_rules" / "data" / "host_copy.toml").write_text(RULE)
    (site / "acme_rules-1.dist-info").mkdir()
    (site / "acme_rules-1.dist-info" / "entry_points.txt").write_text(
        "[console_scripts]\nx = y:z\n\n[ddelint.rules]\nacme = acme_rules.data\n"
    )
    monkeypatch.syspath_prepend(site)
    (tmp_path / "model.py").write_text(MODEL)
    assert codes(tmp_path / "model.py") == ["7: ACME001", "16: ACME001", "17: ACME001"]
    assert "acme_rules" not in sys.modules


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("code = ", "Invalid value"),
        (RULE.replace("ACME001", "DDE999"), "DDE is ddelint's own"),
        (RULE.replace("host-copy", "Host Copy"), "lower-case words"),
        (RULE.replace("{expression}", "{name}"), "may hold {expression}"),
        (RULE.replace('"error"', '"fatal"'), "`severity` must be one of error, warning, info"),
        (RULE.replace('"*.to_numpy_now"]', '"to_numpy_now"]'), "neither a full dotted name nor"),
        (RULE.replace("says =", "says = 1 #"), "`says` must be a string"),
        (RULE.replace("[doc]", "[docs]"), "unknown key `docs`"),
        (RULE.replace("[replacement]", '[replacement]\napplicability = "maybe"'), "`applicability` must be one of"),
        ("[retuns]\nselection = ['pick']", "no table [retuns]"),
        ("[returns]\nselections = ['pick']", "[returns] has no list `selections`"),
    ],
    ids=lambda value: value[:24] if " " in value else "",
)
def test_a_bad_rule_file_is_told_in_a_line(
    project: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "rules" / "bad.toml").write_text(text)
    (project / "rules" / "host_copy.toml").unlink()
    assert called("check", "--static", "--no-cache", project / "model.py") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "bad.toml" in said
    assert words in said


def test_a_pattern_without_files_and_a_code_given_twice_are_mistakes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "rules" / "again.toml").write_text(RULE.replace("host-copy", "host-copies"))
    assert called("check", "--static", project / "model.py") == 2
    assert "ACME001 is the rule of" in capsys.readouterr().err
    (project / "ddelint.toml").write_text("extend-rules = ['nowhere/*.toml']\n")
    assert called("check", "--static", project / "model.py") == 2
    assert "no rule file matches `nowhere/*.toml`" in capsys.readouterr().err


def test_the_rule_is_shown_like_ours(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert called("rule", "host-copy") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# ACME001 host-copy")
    assert "The copy stalls the device." in shown
    assert "## Example" not in shown


# ---------------------------------------------------------------------------- test-rules


def test_fixtures_that_hold_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "model.fixed.py").write_text(FIXED)
    assert called("test-rules", project) == 0
    assert capsys.readouterr().out == "1 rule, 1 file: all as expected\n"


def test_what_differs_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    (project / "model.py").write_text(MODEL.replace("# error: DDE102", "").replace("# ok: nothing", "# error: ACME001"))
    (project / "model.fixed.py").write_text(FIXED)
    (project / "rules" / "more.toml").write_text(RULE.replace("ACME001", "ACME002").replace("to_", "into_"))
    assert called("test-rules", ".") == 1
    said = capsys.readouterr().out
    assert "model.py:11: ACME001 was expected and not found\n" in said
    assert "model.py:20: DDE102 was found and not expected\n" in said
    assert "model.fixed.py: the fixes make something else\n--- model.fixed.py" in said
    assert "ACME002: no fixture has a line that it must flag" in said
    assert said.endswith("2 rules, 1 file: 4 problems\n")


def test_accept_writes_what_the_fixes_make(project: Path) -> None:
    assert called("test-rules", project, "--accept") == 0
    assert (project / "model.fixed.py").read_text() == FIXED


def test_a_folder_without_fixtures_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("test-rules", tmp_path) == 2
    assert "there is no fixture (*.py)" in capsys.readouterr().err


def test_a_rule_file_may_be_renamed_or_deleted_while_the_process_lives(project: Path) -> None:
    before = codes(project / "model.py")
    (project / "rules" / "host_copy.toml").rename(project / "rules" / "host.toml")
    assert codes(project / "model.py") == before
    (project / "rules" / "host.toml").unlink()
    assert "ACME001" not in " ".join(codes(project / "model.py"))


def test_two_projects_may_have_a_copy_of_the_same_rule(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "rules").mkdir(parents=True)
    for name in ("rules/host_copy.toml", "ddelint.toml", "model.py"):
        (other / name).write_bytes((project / name).read_bytes())
    assert [code for code in codes(project / "model.py") if "ACME001" in code]
    assert [code for code in codes(other / "model.py") if "ACME001" in code]


def test_a_pattern_takes_rule_files_only(project: Path) -> None:
    (project / "rules" / "README.md").write_text("# Rules\n")
    (project / "ddelint.toml").write_text("extend-rules = ['rules/*']\n")
    assert [code for code in codes(project / "model.py") if "ACME001" in code]


def test_a_package_that_only_a_finder_knows_brings_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable installation maps the package's name to a folder by a finder of its own."""
    (tmp_path / "elsewhere").mkdir()

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(
            self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
        ) -> importlib.machinery.ModuleSpec | None:
            if fullname != "acme_of_a_test":
                return None
            found = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            found.submodule_search_locations = [str(tmp_path / "elsewhere")]
            return found

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert extensions._folder("acme_of_a_test") == tmp_path / "elsewhere"
    with pytest.raises(extensions.ExtensionError, match="no package nowhere_of_a_test"):
        extensions._folder("nowhere_of_a_test")
