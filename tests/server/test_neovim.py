"""The documented Neovim configuration, in Neovim itself, without a window."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
DOCS = CHECKOUT / "docs" / "editors.md"
NVIM = shutil.which("nvim")
MODEL = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        if x.min() < 0:
            raise ValueError("negative")
        return x


def make_inputs(seed):
    return (torch.ones(3),)
"""
DRIVER = """
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 50)
for _, found in ipairs(vim.diagnostic.get(0)) do
  print(string.format("%s:%d:%d", found.code, found.lnum + 1, found.col + 1))
end
local here = { line = 5, character = 11 }
local document = { uri = vim.uri_from_bufnr(0) }
local function ask(method, more, show)
  local answers = vim.lsp.buf_request_sync(0, method, vim.tbl_extend("error", { textDocument = document }, more), 60000)
  for _, answer in pairs(answers) do
    for _, one in ipairs(answer.result or {}) do print(show(one)) end
  end
end
ask("textDocument/codeLens", {}, function(lens) return "lens:" .. lens.command.title end)
local range = { range = { start = here, ["end"] = here }, context = { diagnostics = {} } }
ask("textDocument/codeAction", range, function(action) return "action:" .. action.title end)
vim.cmd("qa!")
"""

pytestmark = pytest.mark.skipif(not DOCS.is_file(), reason="needs the checkout")


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCS.read_text(), re.DOTALL)


@pytest.mark.slow
@pytest.mark.skipif(NVIM is None, reason="no Neovim here (Debian: apt-get install neovim)")
def test_neovim_shows_findings_lenses_and_fixes(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="the extra `server` is not installed")
    assert NVIM is not None
    version = subprocess.run([NVIM, "--version"], capture_output=True, text=True, check=True).stdout
    number = tuple(map(int, re.findall(r"\d+", version)[:2]))
    new, old = snippets("lua")
    (tmp_path / "init.lua").write_text(new if number >= (0, 11) else old)
    (tmp_path / "drive.lua").write_text(DRIVER)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "ddelint.toml").write_text("")
    command = tmp_path / "bin" / "ddelint"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{CHECKOUT}" exec "{sys.executable}" -m ddelint "$@"\n')
    command.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NVIM", "VIM"))}
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [NVIM, "--headless", "-n", "-i", "NONE", "-u", "init.lua", "model.py", "-c", "luafile drive.lua"],
        cwd=tmp_path,
        env={**kept, "PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    assert said[:2] == ["DDE103:6:12", "lens:Trace this entry"]
    assert said[2].startswith("action:DDE103: replace with `torch._check_value(")
    assert said[3:] == [
        "action:DDE103: ignore it on this line",
        "action:ddelint: apply all safe fixes",
        "action:Trace this entry: Model",
    ]


def test_the_configuration_of_helix_can_be_read() -> None:
    (text,) = snippets("toml")
    read = tomllib.loads(text)
    assert read["language-server"]["ddelint"] == {"command": "ddelint", "args": ["server"]}
