"""`co-tui run`: one prompt, answered without a screen."""

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from co_tui.agent.catalogue import EMBEDDED, EMBEDDED_LABEL, choose
from co_tui.agent.errors import ModelUnusable
from co_tui.agent.models import Answerer, config_for, open_model
from co_tui.events import Event, Message, SessionError, SessionInterrupted, StreamDelta, StreamReset, ToolActivity
from co_tui.events.event import to_json
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, Ground, say, silence_stdout
from co_tui.inert import inert
from co_tui.session.recorder import Listener
from co_tui.session.session import Desk, Session
from co_tui.session.turn import Outcome
from co_tui.store.errors import StoreError
from co_tui.store.writer import Writer

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
    config = config_for(settings, environ, ground.paths.models)

    async def open_(name: str) -> Answerer:
        return await open_model(name, config)

    writer = Writer(ground.paths.database)
    try:
        desk = Desk(paths=ground.paths, settings=settings, writer=writer, open_model=open_, cwd=cwd)
        listener = Listener()
        if options.session_id:
            session = await Session.resume(desk, options.session_id, options.model, listener)
        else:
            choice = choose(settings.model, ground.loaded.origins["model"].source, environ, settings.base_url)
            if choice.model == EMBEDDED and not settings.model and sys.stderr.isatty():
                say(f"Embedded model {EMBEDDED_LABEL} (offline, small). --model chooses another.")
            session = await Session.start(desk, choice.model, listener)
        return await _converse(session, listener, options)
    finally:
        await asyncio.to_thread(writer.close)


async def _converse(session: Session, listener: Listener, options: RunOptions) -> int:
    _on_signals(session)
    show = _show_json if options.as_json else _Prose().show
    printing = asyncio.create_task(_print(session, listener, show))
    try:
        outcome = await session.submit(options.prompt)
    finally:
        await session.close("run")
        reader_left = await printing
    return DONE if reader_left else _EXIT_CODES[outcome]


def _on_signals(session: Session) -> None:
    """Ctrl+C, and being asked to end, stop the turn and keep what came."""
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if (number := getattr(signal, name, None)) is not None:
            try:
                loop.add_signal_handler(number, session.interrupt)
            except NotImplementedError:  # Windows has no handlers on the loop
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(session.interrupt))


async def _print(session: Session, listener: Listener, show: Callable[[Event], None]) -> bool:
    """Print until the session closes. True when the reader of our output went away."""
    reader_left = False
    async for event in listener:
        if reader_left:
            continue
        try:
            show(event)
        except OSError as error:  # a reader that left, or a disk that is full
            if not isinstance(error, BrokenPipeError):
                say(f"The output cannot be written: {error.strerror or error}.")
            silence_stdout()
            reader_left = True
            session.interrupt()
    return reader_left


def _show_json(event: Event) -> None:
    if event.seq is not None:
        print(to_json(event), flush=True)


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
            case StreamReset() | Message() | SessionInterrupted():
                self._end_line()
            case _:
                pass

    def _end_line(self) -> None:
        if self._line_open:
            print(flush=True)
            self._line_open = False
