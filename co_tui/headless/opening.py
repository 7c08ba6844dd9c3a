"""A session without a screen: opened, printed, stopped by signals, closed."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from co_tui.agent.models import Answerer, config_for, open_model
from co_tui.events import Event
from co_tui.events.event import to_json
from co_tui.headless.output import Ground, say, silence_stdout
from co_tui.session import telemetry
from co_tui.session.desk import Desk
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.store.writer import Writer


@asynccontextmanager
async def opened(
    ground: Ground, environ: Mapping[str, str], cwd: Path, session_id: str, model: str
) -> AsyncIterator[tuple[Session, Listener]]:
    """Go on with a stored session, or with an empty id start one. Closing the session is the caller's."""
    settings = ground.loaded.settings
    config = config_for(settings, environ, ground.paths.models)
    if trouble := telemetry.configure(settings.telemetry):
        say(trouble)

    async def open_(name: str) -> Answerer:
        return await open_model(name, config)

    writer = Writer(ground.paths.database)
    try:
        desk = Desk(paths=ground.paths, settings=settings, writer=writer, open_model=open_, cwd=cwd)
        listener = Listener()
        if session_id:
            session = await Session.resume(desk, session_id, model, listener)
        else:
            session = await Session.start(desk, model, listener)
        yield session, listener
    finally:
        await asyncio.to_thread(writer.close)


def stop_on_signals(session: Session) -> None:
    """Ctrl+C, and being asked to end, stop what runs and keep what came."""
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if (number := getattr(signal, name, None)) is not None:
            try:
                loop.add_signal_handler(number, session.stop)
            except NotImplementedError:  # Windows has no handlers on the loop
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(session.stop))


async def print_events(session: Session, listener: Listener, show: Callable[[Event], None]) -> bool:
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
            session.stop()
    return reader_left


def show_json(event: Event) -> None:
    if event.seq is not None:
        print(to_json(event), flush=True)
