"""What is installed: the wheel's contents, the command in an empty environment, the pins."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from email import message_from_string
from importlib.util import find_spec
from pathlib import Path

import pytest

from ddelint.knowledge import catalog
from ddelint.version import VERSION

CHECKOUT = Path(__file__).parent.parent
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]

pytestmark = pytest.mark.skipif(not (CHECKOUT / "ddelint").is_dir(), reason="needs the checkout")

ROUTER = """\
import torch


class Router(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x[x > 0]
        if kept.numel() == 0:
            return x
        return x - kept.mean()
"""
INPUTS = """

def make_inputs(seed):
    return (torch.randn(8, generator=torch.Generator().manual_seed(seed)),)
"""


def run(*command: object, folder: Path | None = None, **environment: str) -> str:
    words = [str(part) for part in command]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=folder, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("build", "hatchling"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, CHECKOUT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with nothing in it but ddelint."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel)
    return folder


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next(n for n in names if n.endswith(".dist-info/METADATA"))
        described = message_from_string(archive.read(metadata).decode())
    information = f"ddelint-{VERSION}.dist-info"
    assert {name.split("/")[0] for name in names} == {"ddelint", information}
    rules = {Path(name).name for name in names if name.startswith("ddelint/rules/")}
    assert rules == {path.name for path in (CHECKOUT / "rules").glob("*.toml")}
    sources = {path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / "ddelint").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources
    assert "ddelint/py.typed" in names
    assert {f"ddelint/report/templates/report.{kind}" for kind in ("html.jinja", "css", "js")} <= names
    assert described["Version"] == VERSION
    required = [text for text in described.get_all("Requires-Dist") or [] if "extra ==" not in text]
    assert sorted(re.split(r"[<>=]", text)[0] for text in required) == [
        "click", "jinja2", "libcst", "pathspec", "pygments", "rich",
    ]  # fmt: skip


def test_rules_are_listed_with_click_alone(environment: Path, tmp_path: Path) -> None:
    """Neither torch nor any other dependency is there: what `rule` needs is in the wheel, or it fails here."""
    click = find_spec("click")
    assert click is not None
    assert click.submodule_search_locations
    (tmp_path / "click").symlink_to(click.submodule_search_locations[0], target_is_directory=True)
    listed = run(environment / "bin" / "ddelint", "rule", "--all", folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert [line.split()[0] for line in listed.splitlines()] == list(catalog.rules())
    python = environment / "bin" / "python"
    where = run(python, "-c", "import ddelint; print(ddelint.__file__)", folder=tmp_path, PYTHONPATH="")
    assert Path(where.strip()).is_relative_to(environment)
    version = run(python, "-m", "ddelint", "--version", folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert version == f"ddelint {VERSION}\n"


def test_the_first_minutes_in_an_empty_environment(
    environment: Path, tmp_path: Path, expect: Callable[[str, str], None]
) -> None:
    """Installed, with its dependencies, and without torch: help, a file without an entry, one with an entry."""
    packages, work = tmp_path / "packages", tmp_path / "work"
    packages.mkdir()
    work.mkdir()
    for name in ("click", "rich", "pathspec", "libcst", "pygments", "markdown_it", "mdurl"):
        found = find_spec(name)
        assert found is not None
        assert found.submodule_search_locations
        (packages / name).symlink_to(found.submodule_search_locations[0], target_is_directory=True)
    (work / "router.py").write_text(ROUTER)
    (work / "model.py").write_text(f"{ROUTER.replace('Router', 'Model')}{INPUTS}")
    said = []
    for words in (["--help"], *([name, "--output-format", "concise"] for name in ("router.py", "model.py"))):
        done = subprocess.run(
            [environment / "bin" / "ddelint", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=work,
            env={**os.environ, "PYTHONPATH": str(packages), "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"},
            check=False,
        )
        shown = re.sub(rf"{re.escape(str(environment))}/bin/python[0-9.]*", "/env/bin/python", done.stdout)
        said.append(f"$ {' '.join(['ddelint', *words])}\n{shown}[exit code {done.returncode}]\n")
    expect("empty_environment", "\n".join(said))


def test_the_pins_are_plain_and_cover_what_we_ask_for() -> None:
    lines = (CHECKOUT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", pin) for pin in pins)
    pinned = {pin.split("==")[0] for pin in pins}
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["trace"], *extras["test"], *extras["docs"], *extras["dev"]]
    names = {re.split(r"[\[<>=]", text)[0] for text in wanted} - {"ddelint"}
    assert names <= pinned
    assert "torch==2.13.0" in pins


def test_the_real_world_packages_are_pinned_like_ours() -> None:
    text = (CHECKOUT / "tests" / "end_to_end" / "requirements.txt").read_text()
    other = dict(line.split("==") for line in text.splitlines() if line and not line.startswith("#"))
    ours = dict(
        line.split("==")
        for line in (CHECKOUT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    )
    assert {name: ours[name] for name in ours.keys() & other.keys()} == {
        name: other[name] for name in ours.keys() & other.keys()
    }


def test_ci_runs_what_the_readme_says() -> None:
    readme, script = (CHECKOUT / "README.md").read_text(), (CHECKOUT / ".ci" / "run").read_text()
    assert os.access(CHECKOUT / ".ci" / "run", os.X_OK)
    install = "python -m pip install -c constraints.txt -e '.[dev]'"
    assert f"{install} && python -m pytest" in readme
    assert install in script
    assert f"{install} && python -m pytest -m ''" not in readme  # the small size is for who is new here
    calls = [line for line in script.splitlines() if "-m pytest" in line]
    assert len(calls) == 2
    assert all("python -m pytest -m ''" in call for call in calls)  # and a change passes all of it
    assert "python -m pip install -c constraints.txt '.[trace]' && ddelint fixtures/quickstart/model.py" in readme
