"""The commands: options, exit codes, what goes to which stream. The checking itself is a stand-in here."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ddelint.cli import main
from ddelint.commands.mistakes import no_such_path
from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Fix, Span
from ddelint.report.model import Progress, Report
from ddelint.report.verified import VerifyReport
from ddelint.settings.options import CheckOptions, EntryOption, Mode

FINDING = Diagnostic("DDE101", "the compiler must answer `n > 4` while tracing", Span("model.py", 2, 4, 2, 9))
FIXABLE = replace(
    FINDING,
    fix=Fix(Applicability.SAFE, "m", (Edit(FINDING.span, "True"),), "move", Claim.GENERAL_PATH),
)
TEXT = "n = t.item()\nif n > 4:\n    pass\n"


class Stage:
    """Stands in for the pipeline: keeps what it was asked, returns what it was told."""

    def __init__(self) -> None:
        self.report = Report(files_checked=1)
        self.verified = VerifyReport()
        self.paths: Sequence[str] = ()
        self.options = CheckOptions()
        self.raises: BaseException | None = None

    def run_check(self, paths: Sequence[str], options: CheckOptions, progress: Progress) -> Report:
        self.paths, self.options = paths, options
        if self.raises is not None:
            raise self.raises
        progress.note("running an entry")
        return self.report

    def run_verify(
        self, paths: Sequence[str], options: CheckOptions, progress: Progress, **asked: object
    ) -> VerifyReport:
        self.paths, self.options, self.asked = paths, options, asked
        return self.verified


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stage:
    stage = Stage()
    module: Any = types.ModuleType("ddelint.pipeline")
    module.run_check, module.run_verify = stage.run_check, stage.run_verify
    monkeypatch.setitem(sys.modules, "ddelint.pipeline", module)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "DDELINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "model.py").write_text(TEXT)
    return stage


Run = Callable[..., Result]


@pytest.fixture
def run(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Run:
    def invoke(*arguments: str, stdin: bytes | None = None) -> Result:
        monkeypatch.setattr(sys, "argv", ["ddelint", *arguments])
        return CliRunner().invoke(main, arguments, input=stdin, prog_name="ddelint")

    return invoke


def one_line_error(result: Result) -> str:
    assert result.exit_code == 2
    assert result.stderr.startswith("ddelint: error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("ddelint: error: ").rstrip("\n")


def test_a_path_alone_is_checked(run: Run, stage: Stage) -> None:
    for arguments in (["model.py"], ["check", "model.py"]):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (0, "All checks passed!\n")
        assert stage.paths == ("model.py",)
    assert run("--static", "model.py").exit_code == 0
    assert stage.options.mode is Mode.STATIC


@pytest.mark.parametrize(
    "other", [["--check"], ["--write"], ["--dispatch"], ["--stream", "sizes.jsonl"], ["--ranges", "x.0: 1.."]]
)
def test_readiness_is_asked_for_alone(run: Run, other: list[str]) -> None:
    assert "--readiness" in one_line_error(run("shapes", "model.py", "--readiness", *other))


def test_what_graphs_are_is_said_of_a_dispatcher_alone(run: Run) -> None:
    assert "--as" in one_line_error(run("shapes", "model.py", "--as", "packaged"))
    assert "--as" in one_line_error(run("shapes", "model.py", "--dispatch", "--as", "exported", "--measure"))


def test_exit_codes(run: Run, stage: Stage) -> None:
    stage.report = Report((FINDING,))
    assert run("model.py").exit_code == 1
    assert run("model.py", "--exit-zero").exit_code == 0
    stage.report = Report((replace(FIXABLE, fixed=True),))
    assert run("model.py", "--fix").exit_code == 0
    stage.report = Report((FINDING, replace(FIXABLE, fixed=True)))
    assert run("model.py", "--fix").exit_code == 1
    stage.report = Report((), errors=("the worker died",))
    result = run("model.py", "--exit-zero")
    assert result.exit_code == 2
    assert "ddelint: error: the worker died\n" in result.stderr


def test_diff_prints_the_diff_and_says_so_by_its_code(run: Run, stage: Stage) -> None:
    stage.report = Report((FIXABLE,), diffs={"model.py": "--- model.py\n+++ model.py\n@@ -1 +1 @@\n-a\n+b\n"})
    result = run("model.py", "--diff")
    assert result.exit_code == 1
    explained, _, rest = result.stdout.partition("--- ")
    assert explained.startswith(f"# {FIXABLE.code} model.py:")
    assert f"--- {rest}" == stage.report.diffs["model.py"]
    assert "Would fix 1 of 1 finding in 1 file.\n" in result.stderr
    assert run("model.py", "--diff", "--exit-zero").exit_code == 0
    assert "\x1b[32m+b\x1b[0m\n" in run("model.py", "--diff", "--color", "always").stdout
    stage.report = Report((FINDING,))
    result = run("model.py", "--diff")
    assert (result.exit_code, result.stdout) == (0, "")


def test_data_goes_to_stdout_and_chatter_to_stderr(run: Run, stage: Stage) -> None:
    stage.report = Report((FINDING,), notes=("a note",), warnings=("careful",), texts={"model.py": TEXT})
    result = run("model.py", "--output-format", "json")
    assert json.loads(result.stdout)[0]["code"] == "DDE101"
    assert result.stderr == "ddelint: running an entry\na note\nddelint: warning: careful\n"
    quiet = run("model.py", "-q")
    assert quiet.stderr == "ddelint: warning: careful\n"
    assert "1 error" not in quiet.stdout
    assert "model.py:2:4 DDE101" in quiet.stdout


@pytest.mark.parametrize("output_format", ["full", "concise", "json", "github"])
def test_every_format_ends_its_last_line(run: Run, stage: Stage, output_format: str) -> None:
    stage.report = Report((FIXABLE,), texts={"model.py": TEXT})
    result = run("model.py", "--output-format", output_format)
    assert result.exit_code == 1
    assert result.stdout.endswith("\n")
    assert not result.stdout.endswith("\n\n")
    assert "DDE101" in result.stdout


def test_the_closing_line_names_a_command_that_fixes(run: Run, stage: Stage) -> None:
    stage.report = Report((FIXABLE,))
    last = run("model.py", "--target", "export", "--exit-zero", "--color", "never", "--no-cache").stdout.splitlines()[
        -1
    ]
    assert last == "1 error in 1 file, 1 fixable: `ddelint check model.py --target export --fix`"
    last = run("check", "model.py", "--unsafe-fixes").stdout.splitlines()[-1]
    assert last.endswith("`ddelint check model.py --fix --unsafe-fixes`")


def test_statistics_and_output_file(run: Run, stage: Stage, tmp_path: Path) -> None:
    stage.report = Report((FIXABLE,))
    assert run("model.py", "--statistics").stdout == "1  DDE101  [*]  branch-on-value\n"
    result = run("model.py", "--output-format", "concise", "-q", "-o", "report.txt")
    assert result.stdout == ""
    assert result.exit_code == 1
    assert (tmp_path / "report.txt").read_text().startswith("model.py:2:4: DDE101 [*] ")
    assert "cannot write gone/report.txt" in one_line_error(run("model.py", "-o", "gone/report.txt"))


def test_every_option_arrives(run: Run, stage: Stage, tmp_path: Path) -> None:
    result = run(
        "model.py", "--fix", "--unsafe-fixes", "--diff", "--trace", "--entry", "model.py:Model", "--inputs", "make",
        "--target", "compile,strict", "--unbacked", "x.0,y.1", "--samples", "5", "--seed", "7", "--device", "cpu",
        "--python", "/bin/sh", "--timeout", "1.5", "--memory", "500M", "--select", "DDE1,DDE2", "--ignore",
        "DDE103", "--extend-select", "DDE601", "--assume-compiled", "--exclude", "a", "--extend-exclude", "b",
        "--force-exclude", "--no-respect-gitignore", "--no-cache", "-j", "3", "-vv", "-q", "--cpp",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    options = stage.options
    assert (options.fix, options.unsafe_fixes, options.diff, options.mode) == (True, True, True, Mode.TRACE)
    assert options.entry == EntryOption("", f"{tmp_path}/model.py:Model", "make", None)
    assert (options.targets, options.unbacked) == (("strict", "compile"), "x.0,y.1")
    assert options.cpp
    assert (options.samples, options.seed, options.device, options.python) == (5, 7, "cpu", "/bin/sh")
    assert (options.timeout, options.memory) == (1.5, 500 * 2**20)
    assert (options.select, options.ignore, options.extend_select) == (("DDE1", "DDE2"), ("DDE103",), ("DDE601",))
    assert options.assume_compiled
    assert (options.exclude, options.force_exclude, options.respect_gitignore) == (("a", "b"), True, False)
    assert (options.cache, options.jobs, options.verbose, options.quiet) == (False, 3, 2, True)


def test_nothing_given_means_the_defaults(run: Run, stage: Stage, tmp_path: Path) -> None:
    run("model.py")
    assert replace(stage.options, jobs=1) == CheckOptions(
        root=str(tmp_path), cache_folder=str(tmp_path / ".ddelint_cache")
    )


def test_the_configuration_of_the_checked_folder_holds(
    run: Run, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.py").write_text("")
    (tmp_path / "sub/ddelint.toml").write_text("samples = 3\nignore = ['DDE1']\n")
    run("sub/a.py")
    assert (stage.options.samples, stage.options.ignore) == (3, ("DDE1",))
    run("sub", "model.py")
    assert stage.options.samples == 64
    run("model.py", "--config", "sub/ddelint.toml", "--samples", "4")
    assert stage.options.samples == 4
    run("sub", "--isolated")
    assert stage.options.samples == 64
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    (tmp_path / "other/ddelint.toml").write_text("samples = 5\n")
    run("../sub/a.py")
    assert stage.options.samples == 3
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub/ddelint.toml").write_text("sampels = 3\n")
    assert "unknown key `sampels` (did you mean `samples`?)" in one_line_error(run("sub"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.py"], "no such file or folder: gone.py"),
        (["chekc", "model.py"], "no such file or folder: chekc"),
        (["check"], "no path given"),
        (["model.py", "--fxi"], "--fxi"),
        (["model.py", "--select", "DDE999"], "--select: no rule matches `DDE999`"),
        (["model.py", "--ignore", "branch-on-valeu"], "did you mean `branch-on-value`?"),
        (["model.py", "--target", "exprot"], "did you mean `export`?"),
        (["model.py", "--static", "--trace"], "exclude each other"),
        (["model.py", "--no-suggest", "--fix"], "works out no fixes"),
        (["model.py", "--no-suggest", "--diff"], "works out no fixes"),
        (["model.py", "--static", "--entry", "Model"], "--static executes nothing"),
        (["model.py", "--entry", "gone.py:Model"], "--entry: no such file: gone.py"),
        (["model.py", "--inputs", "a b"], "--inputs: `a b` is neither"),
        (["model.py", "--unbacked", "x"], "--unbacked: `x` is neither"),
        (["model.py", "--samples", "0"], "0"),
        (["model.py", "--timeout", "0"], "0"),
        (["model.py", "--memory", "lots"], "`lots` is not a size"),
        (["model.py", "--output-format", "xml"], "xml"),
        (["model.py", "--config", "gone.toml"], "gone.toml"),
        (["model.py", "--stdin-filename", "a.py"], "--stdin-filename needs the PATH `-`"),
        (["-", "model.py"], "the only PATH"),
        (["rule"], "give a rule's code or --all"),
        (["rule", "DDE101", "--all"], "give a rule's code or --all"),
        (["rule", "branch-on-valu"], "did you mean `branch-on-value`?"),
        (["verify"], "no path given"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(run: Run, arguments: list[str], message: str) -> None:
    assert message in one_line_error(run(*arguments))


def test_what_lies_in_a_folder_that_cannot_be_entered_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patch:  # whoever runs the tests as root may enter every folder
        patch.setattr("ddelint.commands.mistakes.os.stat", refuse)
        said = no_such_path("closed/model.py")
    assert said == "cannot read closed/model.py: Permission denied"


def test_our_own_mistakes_are_one_line_too(run: Run, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.raises = ZeroDivisionError("division\nby zero")
    assert "ZeroDivisionError: division by zero (a bug in ddelint" in one_line_error(run("model.py"))
    verbose = run("model.py", "-v")
    assert verbose.exit_code == 2
    assert verbose.stderr.startswith("Traceback")
    monkeypatch.setenv("DDELINT_DEBUG", "1")
    assert run("model.py").stderr.startswith("Traceback")


def test_an_interrupted_call_exits_with_2(run: Run, stage: Stage) -> None:
    stage.raises = KeyboardInterrupt()
    result = run("model.py")
    assert result.exit_code == 2
    assert "interrupted" in result.stderr


def test_standard_input_has_a_name(run: Run, stage: Stage) -> None:
    run("-", "--stdin-filename", "sub/named.py", stdin=TEXT.encode())
    assert (stage.options.stdin, stage.options.stdin_filename) == (TEXT.encode(), "sub/named.py")
    assert stage.paths == ("-",)
    run("-", stdin=b"")
    assert (stage.options.stdin, stage.options.stdin_filename) == (b"", "-")


def test_fixing_standard_input_prints_the_source(run: Run, stage: Stage) -> None:
    stage.report = Report((replace(FIXABLE, fixed=True),), rewritten={"named.py": "n = 1\r\n"})
    result = run("-", "--stdin-filename", "named.py", "--fix", stdin=TEXT.encode())
    assert result.stdout_bytes == b"n = 1\r\n"
    assert "Fixed 1 error" in result.stderr
    latin = "# coding: latin-1\nn = 'é'\n".encode("latin-1")
    stage.report = Report((), rewritten={"named.py": "# coding: latin-1\nn = 'ü'\n"})
    assert run("-", "--fix", stdin=latin).stdout_bytes == "# coding: latin-1\nn = 'ü'\n".encode("latin-1")
    stage.report = Report((FINDING,))
    result = run("-", "--stdin-filename", "named.py", "--fix", stdin=b"n = 0\r\n")
    assert result.stdout_bytes == b"n = 0\r\n"
    assert result.exit_code == 1


def test_verify_needs_what_it_compares(run: Run, stage: Stage) -> None:
    result = run("verify", "model.py", "--entry", "Model", "--output-format", "json")
    assert json.loads(result.stdout) == []
    assert stage.options.mode is Mode.TRACE
    assert stage.asked == {"bench": False, "against": None}
    run("verify", "model.py", "--bench", "--against", "HEAD")
    assert stage.asked == {"bench": True, "against": "HEAD"}
    stage.verified = VerifyReport(errors=("no entry",))
    assert one_line_error(run("verify", "model.py")) == "no entry"


def test_rules_are_listed_and_shown(run: Run) -> None:
    listed = run("rule", "--all").stdout.splitlines()
    everything = json.loads(run("rule", "--all", "--output-format", "json").stdout)
    assert [line.split()[:2] for line in listed] == [[rule["code"], rule["name"]] for rule in everything]
    page = run("rule", "branch-on-value").stdout
    assert page.startswith("# DDE101 branch-on-value\n")
    assert "## Fix safety" in page
    assert json.loads(run("rule", "dde101", "--output-format", "json").stdout)["name"] == "branch-on-value"
    assert "\x1b[" in run("rule", "DDE101", "--color", "always").stdout


def test_config_prints_what_holds(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ddelint.toml").write_text("samples = 3\n")
    printed = run("config").stdout
    assert printed.startswith(f"# from {tmp_path / 'ddelint.toml'}\n")
    assert "samples = 3\n" in printed
    assert "samples = 64\n" in run("config", "--isolated").stdout


def test_clean_drops_the_cache(run: Run, tmp_path: Path) -> None:
    from ddelint.knowledge.cache import Cache, content_of

    assert "no cache at" in run("clean").stderr
    cache = Cache(tmp_path / ".ddelint_cache")
    cache.put(str(tmp_path / "a.py"), content_of(b"", None), {})
    cache.save()
    assert "removed" in run("clean").stderr
    assert not (tmp_path / ".ddelint_cache").exists()


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout == "ddelint 0.1.0\n"
    assert "Commands:" in run("--help").stdout
    nothing = run()
    assert nothing.exit_code == 2
    assert "Commands:" in nothing.stderr
