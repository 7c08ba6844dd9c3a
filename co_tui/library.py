"""co-tui in a script: a session without a screen and without the command line.

`open_session` gives a `Session`. Of it, these stay as they are: `id`, `submit`, `events`, `compact`, `interrupt`.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from co_tui.agent.mcp.servers import McpServers
from co_tui.headless.open_session import SessionOpening, environment_of
from co_tui.headless.output import CommandContext
from co_tui.open_store import open_store
from co_tui.paths import locate
from co_tui.session.approvals.questions import Questions, Unattended
from co_tui.session.session import Session
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.settings import SettingsError, load


@asynccontextmanager
async def open_session(
    folder: str | Path = ".",
    *,
    session_id: str = "",
    works_in_folder: bool = True,
    questions: Questions | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: Any,
) -> AsyncIterator[Session]:
    """Start a session in a folder, or resume the one with that id, and close it at the end.

    `settings` are those of the settings file, such as `model="anthropic:claude-sonnet-5"`. `questions` answers what
    the session asks; without it, calls that need approval are denied. The session is stored with all others.
    Raises `SettingsError`, `ModelUnusable` and `StoreError`, each with a sentence.
    """
    given = os.environ if environ is None else environ
    opening = _opening(folder, given, settings)._replace(
        session_id=session_id, questions=questions or Unattended(), works_in_folder=works_in_folder
    )
    with opening.context.store:
        servers = McpServers(waits_for_start=True)
        environment = environment_of(opening, servers)
        try:
            if session_id:
                session = await Session.resume(environment, session_id, opening.model)
            else:
                session = await Session.start(environment, opening.model)
            try:
                yield session
            finally:
                await asyncio.shield(session.close())
        finally:
            await servers.close()


def _opening(folder: str | Path, environ: Mapping[str, str], settings: Mapping[str, Any]) -> SessionOpening:
    cwd, paths = Path(folder).absolute(), locate(environ)
    loaded = load(paths=paths, cwd=cwd, environ=environ, command_line=settings)
    if loaded.problems:
        raise SettingsError(" ".join(loaded.problems))
    return SessionOpening(
        CommandContext(paths, loaded, open_store(paths, loaded.settings.database, environ), LocalWorkplace(cwd)),
        environ,
        cwd,
        "",
        loaded.overriding_model,
    )
