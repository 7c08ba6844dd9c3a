"""Edits the prompt, or a file, in the user's own editor, while turns keep running."""

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from co_tui.agent.redact import without_secrets
from co_tui.inert import one_line
from co_tui.ui.signals import left_to_another_program

MAX_BYTES = 5_000_000
_NONE_NAMED = "No editor set. Set $VISUAL or $EDITOR, for example `export EDITOR=nano`."


class EditorError(Exception):
    """Why nothing was edited, as a sentence for the user."""


class EditorFailed(EditorError):
    """The editor ran, and its exit code says that it failed."""


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """The command in $VISUAL, else $EDITOR. Raises `EditorError`."""
    name = next((key for key in ("VISUAL", "EDITOR") if environ.get(key, "").strip()), "")
    if not name:
        raise EditorError(_NONE_NAMED)
    try:
        words = shlex.split(environ[name])
    except ValueError:
        raise EditorError(f"Cannot read ${name}: {one_line(environ[name], 80)!r} has an open quote.") from None
    found = shutil.which(words[0], path=environ.get("PATH")) if words else None
    if found is None:
        raise EditorError(f"${name} is {one_line(environ[name], 80)!r}, which was not found or cannot run.")
    return [found, *words[1:]]


async def edit_externally(app: App[Any], text: str, environ: Mapping[str, str], cwd: Path) -> str:
    """The edited text; the editor has the terminal until then. Raises `EditorError`."""
    editor_command(environ)
    handle, name = tempfile.mkstemp(prefix="co-tui-", suffix=".md")  # readable by its owner only
    file = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        try:
            await edit_file(app, file, environ, cwd)
        except EditorFailed as error:
            raise EditorError(f"{error} The prompt is unchanged.") from None
        return _read(file)
    except OSError as error:
        raise EditorError(f"Cannot open the editor: {error.strerror or error}.") from None
    finally:
        _remove(file)


async def edit_file(app: App[Any], file: Path, environ: Mapping[str, str], cwd: Path) -> None:
    """Open a file in the editor. Raises `EditorError`, also if the editor says that it failed."""
    command = editor_command(environ)
    try:
        with left_to_another_program(), app.suspend():
            code = await _run([*command, str(file)], without_secrets(environ), cwd)
    except SuspendNotSupported:
        raise EditorError("Cannot open an editor here.") from None
    if isinstance(code, OSError):
        raise EditorError(f"Cannot open the editor: {code.strerror or code}.")
    if code:
        raise EditorFailed(f"The editor exited with code {code}.")


async def _run(command: Sequence[str], environ: Mapping[str, str], cwd: Path) -> int | OSError:
    """Its exit code, or the error that kept it from starting: raising inside `suspend` would not restore the screen."""
    try:
        child = await asyncio.create_subprocess_exec(*command, env=dict(environ), cwd=cwd)
    except OSError as error:
        return error
    return await child.wait()


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)


def _read(file: Path) -> str:
    if file.stat().st_size > MAX_BYTES:
        raise EditorError("The edited text is too long for a prompt. The prompt is unchanged.")
    text = file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    return text.removesuffix("\n")  # editors add a final newline
