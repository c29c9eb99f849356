"""What a repository may hold to hurt those who check it: nothing outside of it is written, and every call ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes and links")

MODULE = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x
"""
FIXABLE = "x = 1  # ddelint: ignore[DDE101]\n"
CACHE = ".ddelint_cache"
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# made by ddelint\n"
Trap = Callable[[Path, Path], None]
TRAPS: dict[str, tuple[Trap, int, str]] = {}
"""Name → what sets it, in a repository, for a home; the exit code, and what is said."""


def trap(code: int, says: str = "") -> Callable[[Trap], Trap]:
    def known(function: Trap) -> Trap:
        TRAPS[function.__name__] = function, code, says
        return function

    return known


def linked(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@trap(1)
def link_for_the_caches_ignore_file(repository: Path, home: Path) -> None:
    linked(repository / CACHE / ".gitignore", home / ".bashrc")


@trap(1)
def link_for_the_caches_tag(repository: Path, home: Path) -> None:
    linked(repository / CACHE / "CACHEDIR.TAG", home / ".bashrc")


@trap(1)
def link_for_the_cache(repository: Path, home: Path) -> None:
    linked(repository / CACHE, home)


@trap(1)
def link_for_the_cache_that_leads_nowhere(repository: Path, home: Path) -> None:
    linked(repository / CACHE, home / "new")


@trap(1)
def link_in_a_tagged_cache(repository: Path, home: Path) -> None:
    linked(repository / CACHE / "0.1.0", home)
    (repository / CACHE / "CACHEDIR.TAG").write_text(TAG)


@trap(1)
def file_for_the_cache(repository: Path, home: Path) -> None:
    (repository / CACHE).write_text("")


@trap(1)
def pipe_for_the_caches_tag(repository: Path, home: Path) -> None:
    (repository / CACHE).mkdir()
    os.mkfifo(repository / CACHE / "CACHEDIR.TAG")


@trap(1)
def pipe_for_a_source(repository: Path, home: Path) -> None:
    os.mkfifo(repository / "pipe.py")


@trap(1)
def device_for_a_source(repository: Path, home: Path) -> None:
    linked(repository / "zero.py", Path("/dev/zero"))


@trap(1, "is not obeyed")
def device_for_an_ignore_file(repository: Path, home: Path) -> None:
    linked(repository / ".gitignore", Path("/dev/zero"))


@trap(1, "is not obeyed")
def pipe_for_an_ignore_file(repository: Path, home: Path) -> None:
    os.mkfifo(repository / ".gitignore")


@trap(1, "leads out of")
def ignore_file_of_somebody_else(repository: Path, home: Path) -> None:
    linked(repository / ".gitignore", home / ".bashrc")


@trap(1)
def pattern_of_many_stars(repository: Path, home: Path) -> None:
    (repository / ".gitignore").write_text("*a" * 40 + "*b\n")
    (repository / f"{'a' * 200}.py").write_text("")


@trap(1)
def exclusion_of_many_stars(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").write_text(
        f'exclude = ["{"*a" * 40}*b"]\n[per-file-ignores]\n"{"*a" * 40}*b" = ["DDE2"]\n'
    )
    (repository / f"{'a' * 200}.py").write_text(MODULE)


@trap(2, "no regular file")
def pipe_for_a_configuration(repository: Path, home: Path) -> None:
    os.mkfifo(repository / "ddelint.toml")


@trap(2, "no regular file")
def device_for_a_shared_configuration(repository: Path, home: Path) -> None:
    linked(repository / "pyproject.toml", Path("/dev/zero"))


@trap(2, "more than 1 MB")
def configuration_without_end(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").touch()
    os.truncate(repository / "ddelint.toml", 2**40)


@trap(2, "leads out of")
def configuration_of_somebody_else(repository: Path, home: Path) -> None:
    linked(repository / "ddelint.toml", home / "own.toml")


@trap(2, "nest too deep")
def configuration_that_nests(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").write_text(f"select = {'[' * 100_000}{']' * 100_000}\n")


@trap(2, "dots")
def key_of_many_parts(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").write_text("a." * 300_000 + "a = 1\n")


@trap(2, "is outside of")
def device_for_a_baseline(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").write_text('baseline = "/dev/zero"\n')


@trap(2, "no regular file")
def pipe_for_a_baseline(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").write_text('baseline = "known.json"\n')
    os.mkfifo(repository / "known.json")


@trap(2, "is outside of")
def rules_of_the_whole_disk(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").write_text('extend-rules = ["/**/*.toml"]\n')


@trap(2, "is outside of")
def rules_of_the_folders_above(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").write_text('extend-rules = ["../../**/*.toml"]\n')


@trap(2, "is outside of")
def rules_behind_a_link(repository: Path, home: Path) -> None:
    linked(repository / "rules", home)
    (repository / "ddelint.toml").write_text('extend-rules = ["rules/*.toml"]\n')


@trap(2, "is outside of")
def configuration_that_extends_another(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").write_text('extend = "~/own.toml"\n')


@trap(1)
def import_that_never_ends(repository: Path, home: Path) -> None:
    (repository / "other.py").write_text("# from x import (\n" + "# nothing\n" * 40 + MODULE)


@trap(2, "a link leads there")
def link_to_a_file_that_can_be_fixed(repository: Path, home: Path) -> None:
    linked(repository / "linked.py", home / "fixable.py")


@trap(1)
def folders_without_end(repository: Path, home: Path) -> None:
    folder = repository
    for _ in range(1200):
        folder = folder / "d"
        folder.mkdir()
    (folder / "deep.py").write_text("")


@trap(1, "what follows the first 1000")
def ignore_file_of_many_patterns(repository: Path, home: Path) -> None:
    (repository / ".gitignore").write_text("".join(f"*a{number}*b\n" for number in range(60_000)))


@trap(2, "more than 1000 patterns")
def many_exclusions(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").write_text(f"exclude = {[f'*a{number}*b' for number in range(60_000)]}\n")


@trap(2, "more than 1000 patterns")
def many_ignored_rules(repository: Path, home: Path) -> None:
    lines = (f'"*a{number}*b" = ["DDE2"]\n' for number in range(30_000))
    (repository / "ddelint.toml").write_text("[per-file-ignores]\n" + "".join(lines))


@trap(2, "extend each other")
def configurations_without_end(repository: Path, home: Path) -> None:
    (repository / "ddelint.toml").write_text('extend = "c0.toml"\n')
    for number in range(1500):
        (repository / f"c{number}.toml").write_text(f'extend = "c{number + 1}.toml"\n')


@trap(1)
def comment_of_many_codes(repository: Path, home: Path) -> None:
    codes = ", ".join(["DDE102"] * 100_000)
    (repository / "comment.py").write_text(f"import torch  # ddelint: ignore[{codes}]\n")


@trap(1)
def encoding_that_takes_long(repository: Path, home: Path) -> None:
    (repository / "encoded.py").write_text(f"# coding: punycode\n# torch -{'aaaa' * 2**20}\n")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def deep_folders_go(tmp_path: Path) -> Iterator[None]:
    """Python's own `rmtree` goes no deeper than it can call itself."""
    yield
    folder = deepest = tmp_path / "repository"
    while (folder := folder / "d").is_dir():
        deepest = folder
    while deepest.name == "d":
        for path in deepest.glob("*.py"):
            path.unlink()
        deepest.rmdir()
        deepest = deepest.parent


@pytest.mark.slow
@pytest.mark.usefixtures("deep_folders_go")
@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_hurts_nobody(tmp_path: Path, name: str) -> None:
    set_up, code, says = TRAPS[name]
    repository, home = tmp_path / "repository", tmp_path / "home"
    (repository / ".git").mkdir(parents=True)
    home.mkdir()
    (home / ".bashrc").write_text("# mine\n")
    (home / "own.toml").write_text('select = ["DDE101"]\n')
    (home / "fixable.py").write_text(FIXABLE)
    (repository / "model.py").write_text(MODULE)
    set_up(repository, home)
    before = contents(home)
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])}
    call = f"ulimit -t 60; exec {sys.executable} -P -m ddelint check . --static --fix --unsafe-fixes"
    for _ in range(2):
        done = subprocess.run(
            ["/bin/sh", "-c", call], cwd=repository, env=environment, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr
        assert done.returncode == code, done.stderr
        assert says in done.stderr
        assert ("DDE105" in done.stdout) is (code == 1 or "a link" in says)
        assert contents(home) == before
    clean = [sys.executable, "-P", "-m", "ddelint", "clean", "--isolated"]
    subprocess.run(clean, cwd=repository, env=environment, capture_output=True, check=False)
    assert contents(home) == before


def test_a_repositorys_own_git_configuration_starts_nothing(tmp_path: Path) -> None:
    """A `.git` folder that came with an archive."""
    (tmp_path / "model.py").write_text(MODULE)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / ".gitattributes").write_text("*.py diff=evil filter=evil\n")
    run = f"touch {tmp_path}/owned; cat"
    with (tmp_path / ".git" / "config").open("a") as file:
        file.write(f'[core]\nfsmonitor = "{run}"\npager = "{run}"\nsshCommand = "{run}"\n')
        file.write(f'[diff "evil"]\ntextconv = "{run}"\ncommand = "{run}"\n[diff]\nexternal = "{run}"\n')
        file.write(f'[filter "evil"]\nsmudge = "{run}"\nclean = "{run}"\n')
        file.write(
            f'[remote "origin"]\nurl = "ext::sh -c {run}"\npromisor = true\n[extensions]\npartialClone = origin\n'
        )
    (tmp_path / "model.py").write_text(MODULE.replace("> 0", "> 1"))
    for revision in ("HEAD", "0" * 40, "refs/heads/none"):
        call = [sys.executable, "-P", "-m", "ddelint", "check", ".", "--static", "--no-cache", "--diff-base", revision]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == (1 if revision == "HEAD" else 2), done.stderr
        assert not (tmp_path / "owned").exists()
