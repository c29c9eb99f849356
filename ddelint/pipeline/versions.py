"""Another version of the files: what `--against` names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ddelint.pipeline.gathering import PipelineError
from ddelint.sources.source import SourceError, SourceFile


def other_version(against: str, files: Sequence[SourceFile]) -> dict[str, str]:
    """Filename → its text in the version `against`, for each of `files` that has another text there.

    `against` is a file (then there must be one file only), or a git revision. Raises PipelineError.
    """
    if os.path.isfile(against):
        if len(files) != 1:
            raise PipelineError(f"--against {against}: a file stands for one file, and PATH holds {len(files)}")
        try:
            texts = {files[0].filename: SourceFile.read(Path(against)).text}
        except (OSError, SourceError) as error:
            raise PipelineError(f"--against {against}: {error}") from error
    else:
        texts = {source.filename: text for source in files if (text := at_revision(against, source)) is not None}
    return {source.filename: texts[source.filename] for source in files if _differs(source, texts)}


def _differs(source: SourceFile, texts: dict[str, str]) -> bool:
    return source.filename in texts and texts[source.filename] != source.text


def at_revision(revision: str, source: SourceFile, option: str = "--against") -> str | None:
    """The file's text at a git revision; None where it did not exist there. Raises PipelineError naming `option`.

    `origin/main...` is where HEAD left it, as git's own diff reads that.
    """
    folder, name = os.path.split(source.filename)
    if revision.endswith(_SINCE):
        start = _git(option, folder, "merge-base", "--end-of-options", revision.removesuffix(_SINCE) or "HEAD", "HEAD")
        if start is None:
            raise PipelineError(f"{option} {revision}: no commit in {folder} that both that and HEAD go back to")
        revision = start.decode().strip()
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if _git(option, folder, *arguments) is None:
        neither = "neither a file nor" if option == "--against" else "not"
        raise PipelineError(f"{option} {revision}: {neither} a git revision of {folder}")
    data = _git(option, folder, "cat-file", "blob", f"{revision}:./{name}")
    if data is None:
        return None
    try:
        return SourceFile.from_bytes(source.filename, data).text
    except SourceError as error:
        raise PipelineError(f"{option} {revision}: {source.filename} does not parse there: {error}") from error


_SINCE = "..."
_CAREFUL = ("-c", "protocol.allow=never", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
"""The repository's own configuration, which came with an archive, is to start no program, nor fetch what is missing."""


def _git(option: str, folder: str, *arguments: str) -> bytes | None:
    """What git prints; None where it fails. Raises PipelineError where there is no git."""
    try:
        command = ["git", *_CAREFUL, "-C", folder, *arguments]
        done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "GIT_NO_LAZY_FETCH": "1"})
    except OSError as error:
        raise PipelineError(f"{option} needs git to find a revision: {error.strerror}") from error
    return done.stdout if done.returncode == 0 else None
