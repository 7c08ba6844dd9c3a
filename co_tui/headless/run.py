"""`co-tui run`: one prompt, answered without a screen."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from co_tui.agent.catalogue import EMBEDDED, EMBEDDED_LABEL, choose
from co_tui.agent.errors import ModelUnusable
from co_tui.events import (
    CompactionComplete,
    Event,
    Message,
    SessionError,
    SessionInterrupted,
    StreamDelta,
    StreamReset,
    ToolActivity,
)
from co_tui.headless.opening import opened, print_events, show_json, stop_on_signals
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, Ground, say
from co_tui.inert import inert
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.session.telling import told_compaction
from co_tui.session.turn import Outcome
from co_tui.store.errors import StoreError

SETTLE_S = 30.0
"""How long a compaction that began beside the turn is waited for."""
_EXIT_CODES = {Outcome.DONE: DONE, Outcome.FAILED: FAILED, Outcome.INTERRUPTED: INTERRUPTED}


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What was asked for on the command line."""

    prompt: str
    session_id: str = ""
    """Go on with this one; empty starts a new session."""
    model: str = ""
    """Named on the command line; empty leaves the choice to the session, the settings or the environment."""
    as_json: bool = False


def run(options: RunOptions, ground: Ground, environ: Mapping[str, str], cwd: Path) -> int:
    """Returns the exit code; failures are told in a sentence on standard error."""
    try:
        return asyncio.run(_run(options, ground, environ, cwd))
    except (StoreError, ModelUnusable) as error:
        say(str(error))
        return FAILED


async def _run(options: RunOptions, ground: Ground, environ: Mapping[str, str], cwd: Path) -> int:
    settings = ground.loaded.settings
    model = options.model
    if not options.session_id:
        choice = choose(settings.model, ground.loaded.origins["model"].source, environ, settings.base_url)
        if choice.model == EMBEDDED and not settings.model and sys.stderr.isatty():
            say(f"Embedded model {EMBEDDED_LABEL} (offline, small). --model chooses another.")
        model = choice.model
    async with opened(ground, environ, cwd, options.session_id, model) as (session, listener):
        return await _converse(session, listener, options)


async def _converse(session: Session, listener: Listener, options: RunOptions) -> int:
    stop_on_signals(session)
    show = show_json if options.as_json else _Prose().show
    printing = asyncio.create_task(print_events(session, listener, show))
    try:
        outcome = await session.submit(options.prompt)
        await session.settle(SETTLE_S)
    finally:
        await session.close("run")
        reader_left = await printing
    return DONE if reader_left else _EXIT_CODES[outcome]


class _Prose:
    """The reply as text on standard output; what happens around it on standard error."""

    def __init__(self) -> None:
        self._line_open = False

    def show(self, event: Event) -> None:
        match event.fact:
            case StreamDelta(kind="text", text=text):
                print(inert(text), end="", flush=True)
                self._line_open = not text.endswith("\n")
            case ToolActivity(stage="started", tool_name=name, text=text):
                self._end_line()
                say(f"{name} {text[:200]}")
            case SessionError(what=what, outcome=outcome):
                self._end_line()
                say(f"{what} ({outcome})")
            case CompactionComplete() as done:
                self._end_line()
                say(told_compaction(done))
            case StreamReset() | Message() | SessionInterrupted():
                self._end_line()
            case _:
                pass

    def _end_line(self) -> None:
        if self._line_open:
            print(flush=True)
            self._line_open = False
