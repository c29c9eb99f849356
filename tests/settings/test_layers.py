"""In a repository of several projects the nearest configuration wins, file by file; and files extend others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.pipeline import run_check
from ddelint.report.model import Silence
from ddelint.settings import config
from ddelint.settings.config import ConfigError
from ddelint.settings.discovery import python_files
from ddelint.settings.layers import with_layers
from ddelint.settings.options import CheckOptions, EntryOption, Mode, PerFileIgnore


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_toml", ".toml").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def options_of(root: Path, pinned: bool = False, **overrides: object) -> CheckOptions:
    return with_layers(config.discover(root), overrides, (), pinned)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write(
        tmp_path,
        ddelint_toml='ignore = ["DDE1"]\nexclude = ["skipped"]\nsamples = 8\n[entries.top]\nentry = "a.py:M"\n',
        a_py="",
        skipped__b_py="",
        inner__ddelint_toml='ignore = ["DDE2"]\nsamples = 16\nexclude = ["own"]\n'
        '[per-file-ignores]\n"c.py" = ["DDE3"]\n[entries.inner]\nentry = "c.py:M"\n',
        inner__c_py="",
        inner__own__d_py="",
        inner__skipped__e_py="",
        plain__pyproject_toml="[tool.other]\nname = 1\n",
        plain__f_py="",
    )
    return tmp_path


def test_each_file_obeys_the_nearest(repository: Path) -> None:
    options = options_of(repository)
    outer, inner, plain = (options.at(str(repository / name)) for name in ("a.py", "inner/c.py", "plain/f.py"))
    assert not outer.selects("DDE101", str(repository / "a.py"))
    assert inner.selects("DDE101", str(repository / "inner/c.py"))
    assert not inner.selects("DDE201", str(repository / "inner/c.py"))
    assert not inner.selects("DDE301", str(repository / "inner/c.py"))
    assert inner.selects("DDE301", str(repository / "inner/own/d.py"))
    assert plain.ignore == outer.ignore
    assert inner.samples == outer.samples == 8  # what concerns the whole call


def test_the_command_line_goes_on_top_of_each(repository: Path) -> None:
    options = options_of(repository, select=("DDE2",))
    inside = str(repository / "inner/c.py")
    assert options.at(inside).selects("DDE201", inside)
    pinned = options_of(repository, pinned=True)
    assert pinned.at(inside) is pinned


def test_folders_are_walked_by_their_own_exclusions(repository: Path) -> None:
    files = python_files([str(repository)], options_of(repository)).files
    assert [f.relative_to(repository).as_posix() for f in files] == [
        "a.py", "inner/c.py", "inner/skipped/e.py", "plain/f.py"
    ]  # fmt: skip


@pytest.mark.parametrize(("inner", "left"), [("", ["own/d.py", "c.py"]), ("force-exclude = true\n", ["c.py"])])
def test_explicit_files_are_left_out_where_their_project_says_so(repository: Path, inner: str, left: list[str]) -> None:
    path = repository / "inner/ddelint.toml"
    path.write_text(inner + path.read_text())
    given = [str(repository / "inner/own/d.py"), str(repository / "inner/c.py")]
    files = python_files(given, options_of(repository)).files
    assert [f.relative_to(repository / "inner").as_posix() for f in files] == left


def test_entries_of_inner_projects_count(repository: Path) -> None:
    options = options_of(repository)
    python_files([str(repository)], options)
    assert options.layers is not None
    assert options.layers.entries == (EntryOption("inner", f"{repository}/inner/c.py:M"),)


def test_what_a_base_leaves_out_adds_up(tmp_path: Path) -> None:
    write(
        tmp_path,
        base_toml='exclude = ["theirs"]\nextend-exclude = ["gen"]\n',
        ddelint_toml='extend = "base.toml"\nexclude = ["ours"]\nextend-exclude = ["more"]\n',
    )
    assert config.resolve(config.discover(tmp_path), {}).exclude == ("ours", "gen", "more")


def test_a_file_extends_another(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(
        tmp_path,
        base_toml='ignore = ["DDE1"]\nextend-select = ["DDE5"]\nsamples = 8\nextend-exclude = ["gen"]\nseed = 3\n'
        'baseline = "known.json"\n[per-file-ignores]\n"a.py" = ["DDE2"]\n[entries.one]\nentry = "a.py:M"\n',
        inner__ddelint_toml='extend = "../base.toml"\nignore = ["DDE3"]\nextend-select = ["DDE6"]\nsamples = 16\n'
        'extend-exclude = ["more"]\n[per-file-ignores]\n"b.py" = ["DDE2"]\n[entries.two]\nentry = "b.py:M"\n',
    )
    found = config.discover(tmp_path / "inner")
    options = config.resolve(found, {})
    assert options.ignore == ("DDE3",)
    assert options.extend_select == ("DDE5", "DDE6")
    assert (options.samples, options.seed) == (16, 3)
    assert options.exclude[-2:] == ("gen", "more")
    assert options.baseline == str(tmp_path / "known.json")
    assert options.per_file_ignores == (PerFileIgnore("a.py", ("DDE2",)), PerFileIgnore("b.py", ("DDE2",)))
    assert [entry.entry for entry in options.entries] == [f"{tmp_path}/a.py:M", f"{tmp_path}/inner/b.py:M"]
    assert found.extends == (tmp_path / "base.toml",)
    shown = config.to_toml(options, found.path, found.extends)
    assert shown.startswith(f"# from {tmp_path}/inner/ddelint.toml, which extends {tmp_path}/base.toml\n")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("extend = 3\n", "must be the name of a file"),
        ('extend = "nowhere.toml"\n', "no such file"),
        ('extend = "ddelint.toml"\n', "ddelint.toml extends "),
        ('extend = "other.toml"\n', "other.toml extends "),
        ('extends = "other.toml"\n', "did you mean `extend`"),
    ],
)
def test_what_cannot_be_extended(tmp_path: Path, text: str, complaint: str) -> None:
    write(tmp_path, ddelint_toml=text, other_toml='extend = "ddelint.toml"\n')
    with pytest.raises(ConfigError, match=complaint):
        config.discover(tmp_path)


def test_findings_are_those_of_the_nearest_configuration(tmp_path: Path) -> None:
    helper = "import torch\n\n\ndef helper(x: torch.Tensor):\n    return int(x.sum())\n"
    write(
        tmp_path,
        ddelint_toml="",
        outer_py=helper,
        inner__ddelint_toml="assume-compiled = true\n",
        inner__inner_py=helper,
        quiet__ddelint_toml='assume-compiled = true\nignore = ["DDE2"]\n',
        quiet__quiet_py=helper,
    )
    options = options_of(tmp_path, mode=Mode.STATIC, cache=False)
    report = run_check([str(tmp_path)], options, Silence())
    assert [(Path(d.span.filename).name, d.code) for d in report.remaining] == [("inner.py", "DDE201")]
