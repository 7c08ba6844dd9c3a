"""Everything sessions share: files, settings, the writer, and how to reach models."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_ai.toolsets import AbstractToolset

from co_tui.agent.models import ModelHandle
from co_tui.context.count import FALLBACK_WINDOW_TOKENS, Window
from co_tui.paths import Paths
from co_tui.session.compaction.prepare import Asker
from co_tui.session.limits import Limits
from co_tui.session.ratios import Ratios
from co_tui.session.runtime import FIRST_BACKOFF_S
from co_tui.settings import Settings
from co_tui.store.lock import SessionLock
from co_tui.store.writer import Writer

OpenModel = Callable[[str], Awaitable[ModelHandle]]


def new_session_id() -> str:
    """Sorts by time, reads as a date, and does not collide between processes."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


@dataclass(slots=True, kw_only=True)
class Environment:
    """Everything sessions share: files, settings, the writer, and how to reach models."""

    paths: Paths
    settings: Settings
    writer: Writer
    open_model: OpenModel
    cwd: Path
    toolsets: Sequence[AbstractToolset[Any]] = ()
    first_backoff_s: float = FIRST_BACKOFF_S
    asker: Asker | None = None
    """Who can be asked about compactions; None asks nobody."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """What the user's own commands get, but for keys."""

    def lock(self, session_id: str) -> SessionLock:
        """The right to write a session. Raises `SessionBusy`."""
        lock = SessionLock(self.paths.locks, session_id)
        lock.acquire()
        return lock

    @property
    def ratios(self) -> Ratios:
        return Ratios(self.paths.state / "token-ratios.json")

    @property
    def limits(self) -> Limits:
        return Limits(self.paths.state / "learnt-limits.json")

    async def window(self, model_handle: ModelHandle, settings: Settings | None = None) -> Window:
        """The setting, else what the model or its server tells or a provider once insisted on, else an assumption."""
        set_tokens = (settings or self.settings).context_window
        if set_tokens:
            return Window(tokens=set_tokens, known=True)
        told = await model_handle.window_tokens()
        learnt = self.limits.of(model_handle.asked)
        known = min((tokens for tokens in (told, learnt) if tokens), default=None)
        return Window(tokens=known or FALLBACK_WINDOW_TOKENS, known=known is not None)
