"""The VS Code extension: its manifest, what it asks of the editor, and the server that it starts.

VS Code itself is a download that a test has no network for: a stand-in for its API runs the extension under node.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
STAND_IN = Path(__file__).with_name("vscode_stand_in.js")
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(not EXTENSION.is_dir(), reason="needs the checkout")
needs_node = pytest.mark.skipif(NODE is None, reason="no node here (Debian: apt-get install nodejs)")


def manifest() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
    return read


def defaults() -> dict[str, Any]:
    properties = manifest()["contributes"]["configuration"]["properties"]
    return {name: setting["default"] for name, setting in properties.items()}


def activate(*run: str, fixed: str | None = "new\n", **settings: Any) -> list[dict[str, Any]]:
    """What the extension does when it is activated with these settings over the defaults, and its commands run."""
    given = {**defaults(), **settings, "run": run}
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(STAND_IN), *map(json.dumps, ("/project place", given, fixed))],
        cwd=EXTENSION,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_manifest_names_what_is_there() -> None:
    read = manifest()
    source = (EXTENSION / read["main"]).read_text()
    assert set(re.findall(r'registerCommand\("([\w.]+)"', source)) == {
        command["command"] for command in read["contributes"]["commands"]
    }
    asked = {f"ddelint.{name}" for name in re.findall(r'\.get\("(\w+)"\)', source)}
    assert asked == set(defaults())
    required = set(re.findall(r'require\("([\w-]+)', source)) - {"vscode"}
    assert required == set(read["dependencies"])
    commands = {command["command"] for command in read["contributes"]["commands"]}
    assert all(entry["command"] in commands for menu in read["contributes"]["menus"].values() for entry in menu)


@needs_node
def test_the_server_is_started_as_the_settings_say() -> None:
    client, registered, ended = activate()
    assert client["server"] == {"command": "ddelint", "args": ["server"]}
    assert client["initializationOptions"] == {"onType": True}
    assert {choice["language"] for choice in client["documentSelector"]} == {"python"}
    assert set(registered["registered"]) == {command["command"] for command in manifest()["contributes"]["commands"]}
    assert ended == {"stopped": True}
    words = {"ddelint.command": ["${workspaceFolder}/.venv/bin/ddelint", "server"], "ddelint.onType": False}
    client, *_ = activate(**words)
    assert client["server"]["command"] == "/project place/.venv/bin/ddelint"
    assert client["initializationOptions"] == {"onType": False}


@needs_node
def test_a_server_that_does_not_start_says_what_to_install() -> None:
    said = activate(broken=True)
    (error,) = [event["error"] for event in said if "error" in event]
    assert error.startswith(
        "ddelint: \"ddelint\" does not start (pip install 'ddelint[server]', or set ddelint.command)"
    )


@needs_node
def test_the_entry_around_the_cursor_is_traced_once_it_is_saved() -> None:
    said = activate("ddelint.traceHere")
    request = {
        "method": "workspace/executeCommand",
        "command": "ddelint.trace",
        "given": ["file:///project place/model.py", 7],
    }
    assert said.index({"saved": True}) < said.index(request)
    assert {"status": "ddelint: traced, 2 findings"} in said


@needs_node
def test_all_fixes_are_shown_before_they_are_made() -> None:
    said = activate("ddelint.previewFixes")
    (shown,) = [event for event in said if event.get("ran") == "vscode.diff"]
    assert (shown["before"], shown["after"]) == ("file:///project place/model.py", "new\n")
    assert said.index(shown) < said.index({"applied": "new\n"})
    for nothing in (None, "old\n"):
        assert not [event for event in activate("ddelint.previewFixes", fixed=nothing) if "applied" in event]


def test_the_server_that_the_manifest_names_does_what_the_extension_asks(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="the extra `server` is not installed")
    import asyncio

    from lsprotocol import types
    from test_language_server import CALLING, MODEL, RULE, SECONDS, Editor

    program, *arguments = defaults()["ddelint.command"]
    assert program == "ddelint"
    path = tmp_path / "model.py"
    (tmp_path / "acme.toml").write_text(RULE)
    (tmp_path / "ddelint.toml").write_text('extend-rules = ["acme.toml"]\n')
    calling = CALLING[CALLING.index("@") :]
    path.write_text(f"import acme\n{MODEL}\n\n{calling}\n\ndef make_inputs(seed):\n    return (torch.ones(3),)\n")
    uri = path.as_uri()

    async def work() -> None:
        client = Editor()
        await client.start_io(sys.executable, "-m", program, *arguments, cwd=tmp_path)
        options = {"onType": defaults()["ddelint.onType"]}
        answer = await client.initialize_async(
            types.InitializeParams(
                types.ClientCapabilities(), root_uri=tmp_path.as_uri(), initialization_options=options
            )
        )
        offered = answer.capabilities.execute_command_provider
        source = (EXTENSION / manifest()["main"]).read_text()
        assert offered is not None
        assert set(re.findall(r'ask\("([\w.]+)"', source)) == set(offered.commands)
        client.initialized(types.InitializedParams())
        client.open(uri, path.read_text())
        assert (await client.found()).diagnostics
        document = types.TextDocumentIdentifier(uri)
        (lens,) = await client.text_document_code_lens_async(types.CodeLensParams(document)) or []
        assert lens.command is not None
        assert (lens.command.title, lens.command.command) == ("Trace this entry", "ddelint.trace")
        row = path.read_text().splitlines().index("class Model(torch.nn.Module):")
        assert (lens.range.start.line, *(lens.command.arguments or ())) == (row, uri, row)
        fixed = await client.workspace_execute_command_async(types.ExecuteCommandParams("ddelint.fixed", [uri]))
        assert "acme.later(x)" in fixed
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()

    asyncio.run(asyncio.wait_for(work(), SECONDS))
