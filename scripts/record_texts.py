"""Record what a release of torch prints: `python scripts/record_texts.py [--python PATH]`, from the checkout's root.

Runs fixtures/explain/project/run.py under that interpreter (this one by default; its torch is the release) and writes
fixtures/explain/torch-X.Y. Nothing of this machine stays in a text: its folders become /home/ana and /opt/venv. The
tests of explain fail where a text is new: look at each outcome, then `python scripts/accept_snapshots.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "explain"
TEXTS = {
    "compile": "chunk loop nofake rows same truth validated while wrong",
    "draft": "asserted bigger cast gate half loop nofake pair rows wrong",
    "export": "bare cached cast gate half marked nofake pair pending sliced truth",
    "strict": "bigger chunk gate pending",
}
"""Tracebacks and reports: cases of each mode."""
FIRST_COUNTS = {"draft"}
"""Modes where the first call in a process prints more than the next: each case gets a process of its own."""
LOGS = {
    "log-dynamic": ("dynamic", ["run.py", "-", "export", "rows"]),
    "log-graph-breaks": (
        "graph_breaks", ["run.py", "-", "breaks", "gate", "nofake", "rows", "same", "sliced", "truth"],
    ),
    "log-plus-dynamic-compile": ("+dynamic", ["run.py", "-", "compile", "gate"]),
    "log-of-a-second-draft": ("", ["run.py", "-", "draft", "gate", "loop"]),
    "log-plus-dynamic-draft": ("+dynamic", ["run.py", "-", "draft", "validated"]),
    "log-recompiles": ("recompiles", ["again.py"]),
}  # fmt: skip
"""What TORCH_LOGS asks of a script: its value, and the script with its arguments."""
TRACES = {
    "dtrace-export": ("TORCH_DTRACE", ["run.py", "-", "export", "gate", "half"]),
    "trace-compile": ("TORCH_TRACE", ["run.py", "-", "compile", "gate"]),
    "trace-draft": ("TORCH_TRACE", ["run.py", "-", "draft", "half"]),
    "trace-export": ("TORCH_TRACE", ["run.py", "-", "export", "gate", "rows", "cast", "half", "truth"]),
}
"""The structured log of a script, and the variable that asks for it."""
BULKY = {
    "chromium_event", "create_symbol", "describe_source", "describe_storage", "describe_tensor", "dynamo_start",
    "export", "exported_program", "expression_created",
}  # fmt: skip
"""Records that say nothing of questions, and are most of a structured log."""
LONGEST = 400
"""Characters of a field of compilation_metrics that is kept (one of them is all of Dynamo's configuration)."""
FRAMES = 2
"""Frames kept of a record's own stack, from its end."""


def main() -> None:
    """Record the texts of one release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter whose torch is recorded")
    parser.add_argument("--only", default="", help="record only what begins so: export, log-, trace-draft, …")
    given = parser.parse_args()
    asked = "import sys, torch; print(torch.__version__); print(sys.prefix); print(sys.base_prefix)"
    version, prefix, base = subprocess.check_output([given.python, "-c", asked], text=True).split()
    target = FIXTURES / f"torch-{'.'.join(version.split('.')[:2])}"
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(given.python, Path(folder), {prefix: "/opt/venv", base: "/usr"})
        recorder.record(target, given.only)
    print(f"torch {version}: {sum(file.stat().st_size for file in target.rglob('*.*')) // 1000} kB in {target}")


class Recorder:
    """Runs the project in a folder of its own, whose name and the interpreter's are replaced in every text."""

    def __init__(self, python: str, folder: Path, replaced: Mapping[str, str]) -> None:
        self._python = python
        self._home = folder
        self._project = folder / "ana" / "project"
        shutil.copytree(FIXTURES / "project", self._project, ignore=shutil.ignore_patterns("__pycache__"))
        self._temporary = folder / "tmp"
        self._temporary.mkdir()
        self._replaced = {str(self._temporary): "/tmp", str(folder): "/home", f"{folder.name}/ana": "ana", **replaced}

    def record(self, target: Path, only: str) -> None:
        """Write every text whose name begins with `only`."""
        for mode, names in TEXTS.items():
            wanted = [name for name in names.split() if f"{mode}-{name}".startswith(only)]
            if not wanted:
                continue
            out = self._home / "out"
            out.mkdir(exist_ok=True)
            for names_of_process in [[name] for name in wanted] if mode in FIRST_COUNTS else [wanted]:
                self._run(["run.py", str(out), mode, *names_of_process])
            for name in wanted:
                self._write(target / f"{mode}-{name}.txt", (out / f"{mode}-{name}.txt").read_text("utf-8"))
        for name, (logs, script) in LOGS.items():
            if name.startswith(only):
                self._write(target / f"{name}.txt", self._run(script, TORCH_LOGS=logs))
        for name, (variable, script) in TRACES.items():
            if name.startswith(only):
                folder = self._home / name
                folder.mkdir()  # draft_export writes into the folder for temporary files instead
                self._run(script, **{variable: str(folder)}, TMPDIR=str(folder))
                (log,) = folder.rglob("*.log")
                self._write(target / name / "dedicated_log_torch_trace.log", shortened(log.read_text("utf-8")))

    def _run(self, script: Sequence[str], **settings: str) -> str:
        """What a script of the project prints on both streams."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TORCH")}
        environment |= {
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": "",
            "TMPDIR": str(self._temporary),
            "TORCHINDUCTOR_CACHE_DIR": str(self._temporary / "torchinductor_ana"),
            **{name: value for name, value in settings.items() if value},
        }
        ran = subprocess.run(
            [self._python, str(self._project / script[0]), *script[1:]],
            cwd=self._project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
        )  # fmt: skip
        return ran.stdout

    def _write(self, target: Path, text: str) -> None:
        for found, name in self._replaced.items():
            text = text.replace(found, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".txt":
            text = "\n".join(line.rstrip(" ") for line in text.split("\n"))
        target.write_text(text, "utf-8")


def shortened(log: str) -> str:
    """A structured log without bulky records, and with short stacks; the form of each record stays."""
    kept: list[str] = []
    keep = True
    for line in log.splitlines(keepends=True):
        if line.startswith("\t"):
            kept += [line] if keep else []
            continue
        at = line.find("] {") + 2
        record = json.loads(line[at:])
        keep = BULKY.isdisjoint(record) and record.get("artifact", {}).get("name") != "torch_version"
        for name, value in record.items():
            bulky = name != "guard_on_data_dependent_error"  # whose stack shows where tracing began
            if bulky and isinstance(value, dict) and isinstance(value.get("stack"), list):
                value["stack"] = value["stack"][-FRAMES:]
        record.pop("stack", None)
        metrics = record.get("compilation_metrics")
        if metrics is not None:
            record["compilation_metrics"] = {name: value for name, value in metrics.items() if _short(name, value)}
        kept += [f"{line[:at]}{json.dumps(record)}\n"] if keep else []
    return "".join(kept)


def _short(name: str, value: object) -> bool:
    return name.startswith("fail") or len(str(value)) <= LONGEST


if __name__ == "__main__":
    main()
