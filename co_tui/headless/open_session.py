"""A session without a screen: opened, worked with, printed, stopped by signals, closed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.mcp.servers import McpServers
from co_tui.agent.models.catalogue import choose
from co_tui.agent.models.open_model import ModelHandle, config_for, open_model
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, CommandContext, say
from co_tui.headless.printing import Output, Show, print_events
from co_tui.headless.stopping import on_stop
from co_tui.session.approvals.questions import Questions, Unattended
from co_tui.session.compaction import telemetry
from co_tui.session.environment import Environment
from co_tui.session.launch import Launch
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.settings import ABOVE_RESUMED, is_policy_path
from co_tui.store.housekeeping import delete_forever
from co_tui.store.store_errors import StoreError

GRACE_S = 1.0
"""After a stop request, how long the model may still take to open and the reader to read the output."""


class SessionOpening(NamedTuple):
    """Where a command's session comes from."""

    context: CommandContext
    environ: Mapping[str, str]
    cwd: Path
    session_id: str
    """The session to continue; empty starts a new one."""
    model: str
    questions: Questions = Unattended()
    """Who answers what the session asks."""
    works_in_folder: bool = False
    """Whether the model gets the tools of the working directory."""
    read_only: bool = False
    take_over: bool = False
    """Whether to take a session from another machine that did not close it."""
    more_instructions: str = ""
    """Added to the instructions of the model."""
    own_instructions: str = ""
    """In place of co-tui's instructions of the model."""


def launch_of(opening: SessionOpening) -> Launch:
    """What slash commands know of how a session is opened."""
    context = opening.context
    policy = context.loaded.settings.policy
    return Launch(
        paths=context.paths,
        store=context.store,
        loaded=context.loaded,
        environ=opening.environ,
        workplace=context.workplace.in_folder(opening.cwd),
        session_id=opening.session_id,
        model=opening.model,
        private=context.private,
        policy_path=policy if is_policy_path(policy) else "",
    )


Work = Callable[[Session, Output], Awaitable[int]]
"""What a command does with its session, and prints besides its events; returns the exit code."""


def in_session(
    opening: SessionOpening, work: Work, show: Show, reason: str, stop_waiting: Callable[[], None] = lambda: None
) -> int:
    """Open a session, do the work while its events are printed, and close it. Returns the exit code.

    `stop_waiting` is called when the session is stopped, for work that waits for more than the session.
    A signal stops it in order whenever it comes: what came is kept, the end is in the log, the code says interrupted.
    """
    try:
        return asyncio.run(_in_session(opening, work, show, reason, stop_waiting))
    except (StoreError, ModelUnusable) as error:
        say(str(error))
        return FAILED


async def _in_session(
    opening: SessionOpening, work: Work, show: Show, reason: str, stop_waiting: Callable[[], None]
) -> int:
    stop = _Stop(opening, stop_waiting)
    with on_stop(stop.signalled):
        try:
            async with _opened(opening, stop) as (session, listener):
                return await _run_work(session, listener, work, show, reason, stop)
        except asyncio.CancelledError:
            if not stop.asked:
                raise
            say("Interrupted.")
            return INTERRUPTED
        except StoreError as error:
            if not stop.asked:
                raise
            say(f"Interrupted; not everything was saved. {error}")
            return INTERRUPTED


async def _run_work(session: Session, listener: Listener, work: Work, show: Show, reason: str, stop: "_Stop") -> int:
    stop.session = session
    output = Output()
    printing = asyncio.create_task(print_events(listener, show, output, stop.stop_work))
    code = DONE
    try:
        if not stop.asked:
            code = await work(session, output)
    finally:
        await session.close("interrupted" if stop.asked else reason)
        read = await stop.wait_with_grace(printing)
    if stop.asked:
        given_up = "" if read else " Output was closed; the rest was dropped."
        say(f"Interrupted{await asyncio.to_thread(_what_is_kept, session, stop.opening)}.{given_up}")
        return INTERRUPTED
    if (lost := printing.result()) is not None:
        raise lost
    return code


def _what_is_kept(session: Session, opening: SessionOpening) -> str:
    """What an interrupted session has, as the end of a sentence; a new one in which nothing was said is deleted."""
    if not session.is_kept:
        return "; the session was private"
    now = session.state
    if opening.session_id and now.turn <= session.resumed_from.turn:
        return f"; nothing was added to session {session.id}"
    if not now.transcript and not now.title:
        delete_forever(opening.context.store, session.id)
        return " before anything was saved"
    what = "the partial reply is saved in" if _has_partial_reply(session) else "what was said is saved in"
    return f"; {what} session {session.id}"


def _has_partial_reply(session: Session) -> bool:
    """Whether the latest turn has a reply that was cut short."""
    state = session.state
    return any(entry.interrupted and entry.turn == state.turn for entry in state.transcript)


class _Stop:
    """Stop requests: the first ends the session in order, the second cancels what runs."""

    def __init__(self, opening: SessionOpening, stop_waiting: Callable[[], None]) -> None:
        self.session: Session | None = None
        self.opening = opening
        self._stop_waiting = stop_waiting
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._requested = asyncio.Event()
        self._times = 0

    @property
    def asked(self) -> bool:
        return self._requested.is_set()

    async def wait_with_grace(self, task: "asyncio.Task[Any]") -> bool:
        """Wait for a task; after a stop request it has `GRACE_S` to finish, else it is cancelled: False."""
        stopped = asyncio.create_task(self._requested.wait())
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait({task}, timeout=GRACE_S)
        finally:
            stopped.cancel()
            finished = task.done()
            task.cancel()
        return finished

    def signalled(self) -> None:
        self._times += 1
        if self._times > 2:
            raise KeyboardInterrupt
        self._loop.call_soon_threadsafe(self._end if self._times == 1 else self._cut_off)

    def _end(self) -> None:
        self._requested.set()
        self.opening.context.store.stop_waiting()
        self.stop_work()

    def stop_work(self) -> None:
        """Stop what the session does, and what the work waits for."""
        self._stop_waiting()
        if self.session is not None:
            self.session.stop()

    def _cut_off(self) -> None:
        if self._task is not None:
            self._task.cancel()


def _usual_model(opening: SessionOpening) -> str:
    """The model for a session that names none, such as an imported one."""
    loaded = opening.context.loaded
    settings = loaded.settings
    kept = KeptKeys(opening.context.paths).providers(opening.environ, settings.base_url)
    return choose(settings.model, loaded.origins["model"].source, opening.environ, settings.base_url, kept).model


def environment_of(opening: SessionOpening, servers: McpServers) -> Environment:
    """What the session works with; the caller closes the servers."""
    context = opening.context
    settings = context.loaded.settings
    config = config_for(settings, opening.environ, context.paths)

    async def open_(name: str) -> ModelHandle:
        return await open_model(name or _usual_model(opening), config)

    return Environment(
        paths=context.paths,
        settings=settings,
        store=context.store,
        open_model=open_,
        workplace=context.workplace.in_folder(opening.cwd),
        environ=opening.environ,
        private=context.private,
        questions=opening.questions,
        works_in_folder=opening.works_in_folder,
        read_only=opening.read_only,
        more_instructions=opening.more_instructions,
        own_instructions=opening.own_instructions,
        mcp_servers=servers,
        keeps_mode=context.loaded.origins["mode"].source not in ABOVE_RESUMED,
    )


@asynccontextmanager
async def _opened(opening: SessionOpening, stop: _Stop) -> AsyncIterator[tuple[Session, Listener]]:
    """The caller closes the session."""
    if trouble := telemetry.configure(opening.context.loaded.settings.telemetry):
        say(trouble)
    store, servers = opening.context.store, McpServers(waits_for_start=True)
    try:
        store.writing()  # what cannot be written is said before a model is opened
        environment = environment_of(opening, servers)
        listener = Listener()
        if opening.session_id:
            resume = partial(Session.resume, environment, opening.session_id, take_over=opening.take_over)
            begun = resume(opening.model, listener)
        else:
            begun = Session.start(environment, opening.model, listener)
        # One that is nearly there when we are asked to stop still opens, so that it can end in order.
        session = asyncio.create_task(begun)
        await stop.wait_with_grace(session)
        yield await session, listener
    finally:
        await servers.close()
        await asyncio.to_thread(store.close)
