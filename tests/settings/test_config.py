"""Configuration files, and how the command line's options go on top."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path, PurePath

import pytest

from ddelint.settings import config
from ddelint.settings.config import ConfigError
from ddelint.settings.options import DEFAULT_EXCLUDES, CheckOptions, EntryOption, PerFileIgnore, Reference, matches

EVERYTHING = """
select = ["DDE1", "integer-cast"]
ignore = ["DDE103"]
extend-select = ["DDE601"]
exclude = ["generated"]
extend-exclude = ["third_party"]
force-exclude = true
respect-gitignore = false
target = ["compile", "strict"]
unbacked = "x.0, mask.1, batch['a b'].0"
samples = 8
seed = 3
device = "cpu"
timeout = 20
python = "bin/python"
assume-compiled = true
compiled = ["pkg.functional.*"]
public-functions = false
baseline = "known.json"

[per-file-ignores]
"tests/*" = ["ALL"]
"model.py" = ["DDE2"]

[entries.router]
entry = "cases/router.py:make"
inputs = "args"
init = "cases/init.py:values"
unbacked = "all"

[entries.plain]
entry = "plain.py:Model"
"""


def load(folder: Path, text: str, name: str = "ddelint.toml") -> config.Config:
    (folder / name).write_text(text)
    return config.load(folder / name)


def test_targets_may_be_joined_as_on_the_command_line(tmp_path: Path) -> None:
    assert config.resolve(load(tmp_path, 'target = "compile, export"'), {}).targets == ("export", "compile")


def test_every_key_is_read(tmp_path: Path) -> None:
    options = config.resolve(load(tmp_path, EVERYTHING), {})
    assert options.select == ("DDE1", "DDE201")
    assert options.ignore == ("DDE103",)
    assert options.extend_select == ("DDE601",)
    assert options.exclude == ("generated", "third_party")
    assert options.force_exclude
    assert not options.respect_gitignore
    assert options.targets == ("strict", "compile")
    assert options.unbacked == "x.0,mask.1,batch['a b'].0"
    assert (options.samples, options.seed, options.device, options.timeout) == (8, 3, "cpu", 20.0)
    assert options.python == str(tmp_path / "bin/python")
    assert options.assume_compiled
    assert options.compiled == ("pkg.functional.*",)
    assert not options.public_functions
    assert options.baseline == str(tmp_path / "known.json")
    assert options.per_file_ignores == (PerFileIgnore("tests/*", ("DDE",)), PerFileIgnore("model.py", ("DDE2",)))
    assert options.entries == (
        EntryOption("router", f"{tmp_path}/cases/router.py:make", "args", f"{tmp_path}/cases/init.py:values", "all"),
        EntryOption("plain", f"{tmp_path}/plain.py:Model"),
    )
    assert options.root == str(tmp_path)


def test_what_config_prints_reads_back_the_same(tmp_path: Path) -> None:
    first = config.resolve(load(tmp_path, EVERYTHING), {})
    (tmp_path / "ddelint.toml").write_text(config.to_toml(first, None))
    assert config.resolve(config.load(tmp_path / "ddelint.toml"), {}) == first


def test_awkward_strings_survive_printing(tmp_path: Path) -> None:
    options = CheckOptions(exclude=('a"b', "c\\d", "e\nf", "名"), root=str(tmp_path))
    again = config.resolve(load(tmp_path, config.to_toml(options, None)), {})
    assert again.exclude == options.exclude


def test_the_table_in_pyproject_counts_too(tmp_path: Path) -> None:
    found = load(tmp_path, '[project]\nname = "x"\n[tool.ddelint]\nsamples = 5\n', "pyproject.toml")
    assert config.resolve(found, {}).samples == 5


def test_the_nearest_file_holds(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "ddelint.toml").write_text("samples = 1\n")
    assert config.nearest(inner) == tmp_path / "ddelint.toml"
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.other]\nname = "ddelint"\n')
    assert config.nearest(inner) == tmp_path / "ddelint.toml"
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.ddelint]\nsamples = 2\n")
    assert config.nearest(inner) == tmp_path / "a" / "pyproject.toml"
    (tmp_path / "a" / "ddelint.toml").write_text("samples = 3\n")
    assert config.discover(inner).settings == {"samples": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sampels = 3", "unknown key `sampels` (did you mean `samples`?)"),
        ("xyzzy = 3", "unknown key `xyzzy`"),
        ("samples = 0", "`samples` must be an integer of at least 1"),
        ("samples = true", "`samples` must be an integer of at least 1"),
        ('samples = "3"', "`samples` must be an integer of at least 1"),
        ("timeout = 0", "`timeout` must be a number of seconds above 0"),
        ('select = "DDE1"', "`select` must be a list of strings"),
        ('select = ["DDE999"]', "no rule matches `DDE999`"),
        ('select = ["branch-on-valu"]', "no rule matches `branch-on-valu` (did you mean `branch-on-value`?)"),
        ('target = "export,compil"', "unknown target `compil` (did you mean `compile`?)"),
        ('target = ["exprot"]', "unknown target `exprot` (did you mean `export`?)"),
        ("target = []", "no target given"),
        ("unbacked = \"batch['a'\"", "`batch['a'` is neither `none`, `all` nor NAME.DIM,…"),
        ('unbacked = "x"', "`x` is neither `none`, `all` nor NAME.DIM,…"),
        ('device = "tpu"', "`device` must be one of auto, cpu, cuda"),
        ("assume-compiled = 1", "`assume-compiled` must be true or false"),
        ("python = 3", "`python` must be a string"),
        ("per-file-ignores = []", "`per-file-ignores` must be a table"),
        ("entries = 1", "`entries` must be a table"),
        ("[entries.a]\ninputs = 'b'", "needs `entry`"),
        ("[entries.a]\nentry = 'b'", "must say its file: FILE.py:NAME"),
        ("[entries.a]\nentry = 'b.py:c-d'", "is neither FILE.py:NAME nor NAME"),
        ("[entries.a]\nentry = 'b.py:c'\ninput = 'd'", "unknown key `input` (did you mean `inputs`?)"),
        ("samples = ", "ddelint.toml: Invalid value"),
        ("extend = '~nobody-of-that-name/base.toml'", "no such file"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)) as raised:
        load(tmp_path, text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [("[tool]\nddelint = 3", "tool.ddelint"), ("tool = 'ddelint'", "tool"), ("[[tool.ddelint]]", "tool.ddelint")],
)
def test_our_table_must_be_one(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError, match=rf"pyproject\.toml: `{what}` must be a table"):
        config.discover(tmp_path)


def test_a_select_on_the_command_line_starts_afresh(tmp_path: Path) -> None:
    found = load(tmp_path, 'select = ["DDE1"]\nignore = ["DDE103"]\nextend-select = ["DDE2"]\n')
    fresh = config.resolve(found, {"select": ("DDE103",), "ignore": None})
    assert (fresh.select, fresh.ignore, fresh.extend_select) == (("DDE103",), (), ())
    added = config.resolve(found, {"ignore": ("DDE104",), "extend_select": ("DDE3",)})
    assert (added.select, added.ignore, added.extend_select) == (("DDE1",), ("DDE103", "DDE104"), ("DDE2", "DDE3"))


def test_default_exclusions_hold_until_replaced(tmp_path: Path) -> None:
    nothing = load(tmp_path, "")
    assert config.resolve(nothing, {}).exclude == DEFAULT_EXCLUDES
    assert config.resolve(nothing, {}, ("mine",)).exclude == (*DEFAULT_EXCLUDES, "mine")
    assert config.resolve(nothing, {"exclude": ("only",)}, ("mine",)).exclude == ("only", "mine")


@pytest.mark.parametrize(
    ("select", "ignore", "code", "selected"),
    [
        (("DDE",), (), "DDE101", True),
        (("DDE1",), (), "DDE201", False),
        (("DDE",), ("DDE1",), "DDE101", False),
        (("DDE101",), ("DDE1",), "DDE101", True),
        (("DDE1",), ("DDE1",), "DDE101", False),
        (("DDE101",), ("DDE101",), "DDE101", False),
    ],
)
def test_the_longer_prefix_decides(select: tuple[str, ...], ignore: tuple[str, ...], code: str, selected: bool) -> None:
    assert CheckOptions(select=select, ignore=ignore).selects(code) is selected


def test_files_may_ignore_rules() -> None:
    options = CheckOptions(root="/repo", per_file_ignores=(PerFileIgnore("tests/**", ("DDE1",)),))
    assert not options.selects("DDE101", "/repo/tests/a/b.py")
    assert options.selects("DDE201", "/repo/tests/a/b.py")
    assert options.selects("DDE101", "/repo/src/a.py")
    assert not replace(options, per_file_ignores=(PerFileIgnore("b.py", ("DDE",)),)).selects("DDE1", "/repo/x/b.py")


@pytest.mark.parametrize(
    ("path", "pattern", "matching"),
    [
        ("tests/a.py", "tests/*", True),
        ("tests/a/b.py", "tests", True),
        ("tests/a/b.py", "tests/*.py", False),
        ("tests/a/b.py", "tests/**/*.py", True),
        ("tests/b.py", "tests/**/*.py", True),
        ("src/a/__init__.py", "__init__.py", True),
        ("src/a/init.py", "__init__.py", False),
        ("src/tests/a.py", "tests/*", False),
        ("src/tests/a.py", "**/tests/*", True),
        ("a.py", "?.py", True),
        ("ab.py", "?.py", False),
        ("a+b.py", "a+b.py", True),
    ],
)
def test_globs(path: str, pattern: str, matching: bool) -> None:
    assert matches(PurePath(path), pattern) is matching


@pytest.mark.parametrize(
    ("text", "filename", "name"),
    [
        ("model.py:Model", "model.py", "Model"),
        ("a/b c/model.py:make.inner", "a/b c/model.py", "make.inner"),
        ("model.py", "model.py", None),
        ("Model", None, "Model"),
    ],
)
def test_references(text: str, filename: str | None, name: str | None) -> None:
    assert Reference.parse(text) == Reference(filename, name)


@pytest.mark.parametrize("text", ["", "a b", "model.py:", "model.py:1x", "model.txt:Model", "a:b"])
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither FILE"):
        Reference.parse(text)


def test_rules_are_known_by_code_and_name() -> None:
    assert config.known_rule("dde101") == config.known_rule("branch-on-value")
    with pytest.raises(ConfigError, match="did you mean `DDE101`"):
        config.known_rule("DDE1011")
