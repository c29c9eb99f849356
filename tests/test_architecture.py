"""Who may import whom, read off the syntax trees; and what a start of the program loads, measured in a fresh one."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ddelint

PACKAGE = Path(ddelint.__file__).parent
ROOMS = ("static", "trace", "rewrite", "verify", "shapes", "report", "explain", "guessing")
FRONT = {
    "cli", "commands", "__main__", "pipeline", "api", "capturing", "traceability", "pytest_plugin", "server",
    "settings.config", "settings.layers", "settings.discovery",
}  # fmt: skip
"""What stands before the rooms: no room may know of it."""
SHARED = ("nouns", "system", "sources", "knowledge", "settings")
"""What all rooms may import, each of these those before it only."""
LOOSE = ("errors", "version")
MAY_IMPORT = {
    "static": set(),
    "trace": set(),
    "rewrite": {"trace"},
    "verify": {"trace"},
    "shapes": {"trace", "verify", "rewrite"},
    "report": set(),
    "explain": {"trace", "rewrite", "report"},
    "guessing": set(),
}
"""Which other rooms a room may import; the nouns are everybody's."""
WORKER_ENDS = {"ddelint.trace.requests"}
"""The process that answers requests: it serves both tracing and verification, so it loads both when asked."""
ARCHITECTURE = PACKAGE.parent / "docs/architecture.md"
ARROWS = re.compile(r"^    (\w+) +──► (.+)$", re.MULTILINE)
HEAVY = ("torch", "sympy", "numpy", "libcst", "rich", "jinja2", "pygments")


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(name: str, path: Path, known: set[str], at_start_only: bool = False) -> Iterator[tuple[str, int]]:
    """Every module that `path` imports, with its line; with `at_start_only`, those that its own import loads."""
    for node in _statements(ast.parse(path.read_text("utf-8")), at_start_only):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                private = node.module == "torch" and alias.name.startswith("_")
                yield (full if full in known or private else str(node.module)), node.lineno


def _statements(tree: ast.AST, at_start_only: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if at_start_only and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if at_start_only and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _statements(node, at_start_only)


def room_of(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def in_front(name: str) -> bool:
    return room_of(name) in FRONT or name.removeprefix("ddelint.") in FRONT


def test_rooms_know_only_what_comes_before_them() -> None:
    known = modules()
    wrong = []
    for name, path in known.items():
        room = room_of(name)
        if in_front(name) or name == "ddelint" or name in WORKER_ENDS:
            continue
        for imported, line in imports_of(name, path, set(known)):
            if not imported.startswith("ddelint"):
                continue
            other = room_of(imported)
            allowed = {room, *MAY_IMPORT.get(room, set())} if room in ROOMS else set()
            if in_front(imported) or (other in ROOMS and other not in allowed):
                wrong.append(f"{path.relative_to(PACKAGE)}:{line} imports {imported}")
    assert not wrong, "\n".join(wrong)


def test_what_all_rooms_share_points_down_as_its_picture_shows() -> None:
    section = ARCHITECTURE.read_text("utf-8").partition("## The rooms")[2].partition("\n## ")[0]
    drawn = {(room, other) for room, to in ARROWS.findall(section) for other in to.split(", ")}
    known = modules()
    imported = {
        (room_of(name), room_of(other))
        for name, path in known.items()
        for other, _ in imports_of(name, path, set(known))
        if room_of(name) in SHARED and other.startswith("ddelint.") and room_of(other) not in {room_of(name), *LOOSE}
    }
    assert imported == drawn
    assert all(SHARED.index(room) > SHARED.index(other) for room, other in drawn)


def test_there_are_no_cycles() -> None:
    known = modules()
    cycle = cycle_in(
        {
            name: {i for i, _ in imports_of(name, path, set(known), at_start_only=True) if i in known and i != name}
            for name, path in known.items()
        }
    )
    assert cycle == []


def static_imports() -> dict[str, set[str]]:
    """Who imports whom in the static pass, for the types alone included."""
    known = {name: path for name, path in modules().items() if name.startswith("ddelint.static")}
    return {
        name: {imported for imported, _ in imports_of(name, path, set(known)) if imported in known}
        for name, path in known.items()
    }


def static_room(name: str) -> str:
    """The room of one of the static pass's modules; those that lie in none are its front."""
    return name.split(".")[2] if name.count(".") > 2 else "front"


def test_the_static_pass_points_down_as_its_picture_shows() -> None:
    section = ARCHITECTURE.read_text("utf-8").partition("## How the static pass is built")[2].partition("\n## ")[0]
    drawn = {(room, other) for room, to in ARROWS.findall(section) for other in to.split(", ")}
    imported = {
        (static_room(name), static_room(other))
        for name, others in static_imports().items()
        for other in others
        if other.count(".") > 1 and static_room(name) != static_room(other)
    }
    assert imported == drawn
    order = ["domain", "transfer", "program", "report", "walk", "front"]
    assert all(order.index(room) > order.index(other) for room, other in drawn)


def test_nothing_in_the_static_pass_knows_what_knows_it() -> None:
    front = {"ddelint.static.reading", "ddelint.static.elsewhere", "ddelint.static.checks"}
    assert cycle_in({name: others for name, others in static_imports().items() if name not in front}) == []


def test_files_of_the_static_pass_are_short() -> None:
    lines = {str(path): path.read_text("utf-8").count("\n") for path in (PACKAGE / "static").rglob("*.py")}
    assert {path: count for path, count in lines.items() if count > 400} == {}


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """The names of one cycle, where there is any."""
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> list[str]:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        found: list[str] = []
        if name not in done:
            found = next(filter(None, (visit(other, (*trail, name)) for other in sorted(graph.get(name, ())))), [])
            done.add(name)
        return found

    return next(filter(None, (visit(name, ()) for name in graph)), [])


def test_a_cycle_is_found() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle_in({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_private_torch_is_touched_in_one_module_only() -> None:
    known = modules()
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {imported}"
        for name, path in known.items()
        if name != "ddelint.trace.torch_internals"
        for imported, line in imports_of(name, path, set(known))
        if imported.startswith(("torch._", "torch.fx.experimental"))
    ]
    assert not wrong, "\n".join(wrong)


def loaded_by(code: str) -> set[str]:
    """Which heavy packages a fresh interpreter has loaded after `code`."""
    program = f"{code}\nimport sys\nprint(*(n for n in {HEAVY!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()) if done.stdout.strip() else set()


HELP = "from ddelint.cli import main\ntry:\n    main(['--help'], prog_name='ddelint')\nexcept SystemExit:\n    pass"


def test_help_loads_nothing_heavy() -> None:
    assert loaded_by(HELP) == set()


@pytest.mark.parametrize("package", ["sympy", "libcst"])
def test_the_check_above_can_fail(package: str) -> None:
    assert package in loaded_by(f"import {package}\n{HELP}")


def test_the_parents_modules_never_import_torch() -> None:
    assert loaded_by("import ddelint.cli, ddelint.pipeline").isdisjoint({"torch", "sympy", "numpy"})


def test_the_python_api_loads_nothing_heavy_before_it_is_used() -> None:
    assert loaded_by("import ddelint\nddelint.check, ddelint.fix, ddelint.capture, ddelint.Report") == set()


def test_checking_a_clean_file_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import torch\n\n\ndef double(x):\n    return x * 2\n")
    code = (
        "from ddelint.cli import main\ntry:\n"
        f"    main(['check', '--static', '--no-cache', {str(tmp_path / 'plain.py')!r}], prog_name='ddelint')\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code"
    )
    assert loaded_by(code) == set()
