"""A conversation: prompts in, events out. Knows nothing of any screen."""

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from co_tui.agent.catalogue import EMBEDDED
from co_tui.agent.instructions import EMBEDDED_INSTRUCTIONS, INSTRUCTIONS
from co_tui.agent.models import Answerer
from co_tui.context.count import FALLBACK_WINDOW_TOKENS, Scaffold, Window
from co_tui.context.meter import Meter
from co_tui.context.pipeline import Governor
from co_tui.events import (
    Clear,
    Message,
    ModelChange,
    PolicyChange,
    PromptQueued,
    PromptReturned,
    SessionEnd,
    SessionRename,
    SessionResume,
    SessionStart,
)
from co_tui.paths import Paths
from co_tui.session.archive import Archive
from co_tui.session.history import ParsedHistory, to_json
from co_tui.session.place import repository_of
from co_tui.session.ratios import Ratios
from co_tui.session.recorder import Listener, Recorder
from co_tui.session.replay import replay
from co_tui.session.state import SessionState
from co_tui.session.turn import FIRST_BACKOFF_S, Outcome, Turn, TurnContext
from co_tui.settings import Settings
from co_tui.store.lock import SessionLock
from co_tui.store.reader import Reader
from co_tui.store.writer import Writer

OpenModel = Callable[[str], Awaitable[Answerer]]


def new_session_id() -> str:
    """Sorts by time, reads as a date, and does not collide between processes."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


@dataclass(slots=True, kw_only=True)
class Desk:
    """Everything sessions share: files, settings, the writer, and how to reach models."""

    paths: Paths
    settings: Settings
    writer: Writer
    open_model: OpenModel
    cwd: Path
    toolsets: Sequence[AbstractToolset[Any]] = ()
    first_backoff_s: float = FIRST_BACKOFF_S


@dataclass(slots=True)
class _Waiting:
    prompt: str
    done: asyncio.Future[Outcome] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Session:
    """One conversation that this process writes; see `start` and `resume`."""

    def __init__(self, desk: Desk, lock: SessionLock, recorder: Recorder, answerer: Answerer, window: Window) -> None:
        self._desk = desk
        self._lock = lock
        self._recorder = recorder
        self._answerer = answerer
        self._window = window
        self._history = ParsedHistory()
        self._waiting: deque[_Waiting] = deque()
        self._turn: Turn | None = None
        self._stop_next = False
        self._retired: list[Answerer] = []
        """Models that were replaced while they may still be answering."""
        self._worker: asyncio.Task[None] | None = None
        self._archive = Archive(recorder, self._history)
        self._settings = desk.settings
        self._ratios = Ratios(desk.paths.state / "token-ratios.json")
        self._governor = self._new_governor()
        self.resumed_from = recorder.state
        """The state before this process said anything."""

    @classmethod
    async def start(cls, desk: Desk, model: str, listener: Listener | None = None) -> "Session":
        """A new session. Raises `ModelUnusable` before anything is written.

        `listener` hears the events from the very first on.
        """
        answerer = await desk.open_model(model)
        lock: SessionLock | None = None
        try:
            window = await _window(answerer, desk.settings)
            session_id = new_session_id()
            recorder = Recorder(session_id, desk.writer, SessionState())
            recorder.listen(listener)
            lock = _locked(desk, session_id)
            session = cls(desk, lock, recorder, answerer, window)
            await recorder.record(SessionStart(**session._place()))
        except BaseException:
            if lock is not None:
                lock.release()
            await answerer.close()
            raise
        return session

    @classmethod
    async def resume(cls, desk: Desk, session_id: str, model: str = "", listener: Listener | None = None) -> "Session":
        """Go on with a stored session, with its own model unless another is named."""
        lock = _locked(desk, session_id)
        answerer: Answerer | None = None
        try:
            await asyncio.shield(asyncio.wrap_future(desk.writer.recover(session_id)))
            state = await asyncio.to_thread(_replayed, desk.paths.database, session_id)
            answerer = await desk.open_model(model or state.model)
            window = await _window(answerer, desk.settings)
            recorder = Recorder(session_id, desk.writer, state)
            recorder.listen(listener)
            session = cls(desk, lock, recorder, answerer, window)
            await asyncio.to_thread(session._history.messages, state)  # a long one takes a while to parse
            before = state.usage.token_limit if state.usage else None
            place = {**session._place(), "model": state.model}
            await session._recorder.record(SessionResume(**place))
            await session._record_model_change(state.model, before)
        except BaseException:
            lock.release()
            if answerer is not None:
                await answerer.close()
            raise
        return session

    @property
    def id(self) -> str:
        return self._recorder.session_id

    @property
    def state(self) -> SessionState:
        """What all events so far add up to."""
        return self._recorder.state

    @property
    def busy(self) -> bool:
        return self._worker is not None

    def events(self) -> Listener:
        """All events from now on, logged and announced, until the session is closed."""
        return self._recorder.listen()

    async def submit(self, prompt: str) -> Outcome:
        """Say something and wait for the end of its turn. While a turn runs, prompts wait in order."""
        if not prompt.strip():
            raise ValueError("A prompt needs some text.")
        waiting = _Waiting(_storable(prompt))
        if self.busy:
            self._recorder.announce(PromptQueued(prompt=prompt, ahead=len(self._waiting) + (self._turn is not None)))
        self._waiting.append(waiting)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work(), name=f"turns of {self.id}")
        # Whoever waits may go away; the turn goes on.
        return await asyncio.shield(waiting.done)

    def interrupt(self) -> bool:
        """Stop the running turn, keeping what came. False when none runs."""
        if self._turn is not None:
            self._turn.interrupt()
        elif self._worker is not None:
            self._stop_next = True
        return self._worker is not None

    async def clear(self) -> None:
        """Empty what the model sees; the transcript keeps everything. Prompts that waited are given back."""
        await self._stop_turns()
        await self._recorder.record(Clear(messages_removed=len(self.state.history)))
        await self._report()

    async def rename(self, title: str) -> None:
        await self._recorder.record(SessionRename(title=title, **self._place()))

    async def switch_model(self, name: str) -> None:
        """Let another model answer from the next turn on. Raises `ModelUnusable`, changing nothing."""
        answerer = await self._desk.open_model(name)
        try:
            window = await _window(answerer, self._desk.settings)
        except BaseException:
            await answerer.close()
            raise
        before, previous = self._window, self._answerer
        self._answerer, self._window = answerer, window
        self._ratios.learn(previous.name, self._governor.meter.ratio)
        self._governor = self._new_governor()
        self._retired.append(previous)
        if not self.busy:
            await self._close_retired()
        await self._record_model_change(previous.name, before.tokens)
        await self._report()

    async def switch_policy(self, settings: Settings) -> None:
        """Let another policy govern the context from the next request on."""
        before, self._settings = self._settings.policy, settings
        self._governor = self._new_governor(self._governor.meter)
        tokens = self._window.tokens
        await self._recorder.record(
            PolicyChange(from_=before, to=settings.policy, window_before=tokens, window_after=tokens)
        )

    def _new_governor(self, meter: Meter | None = None) -> Governor:
        meter = meter or Meter(self._ratios.of(self._answerer.name))
        return Governor(self._settings, self._window, meter=meter, keep=self._archive.keep)

    @property
    def _toolsets(self) -> Sequence[AbstractToolset[Any]]:
        """The desk's tools, and the one that opens what the policy archives."""
        if not self._settings.archive_over_chars:
            return self._desk.toolsets
        return (*self._desk.toolsets, FunctionToolset([self._archive.read_artifact]))

    async def close(self, reason: str = "closed") -> list[str]:
        """End the session in this process: stop its turns, log the end, let go of everything.

        Returns the prompts that were waiting and never became part of the conversation.
        """
        unsaid = await self._stop_turns()
        self._ratios.learn(self._answerer.name, self._governor.meter.ratio)
        try:
            await self._recorder.record(SessionEnd(reason=reason, **self._place()))
        finally:
            self._recorder.close()
            await self._answerer.close()
            self._lock.release()
        return unsaid

    async def _work(self) -> None:
        try:
            while self._waiting:
                waiting = self._waiting.popleft()
                try:
                    outcome = await self._one_turn(waiting.prompt)
                except Exception as error:
                    if not waiting.done.cancelled():
                        waiting.done.set_exception(error)
                else:
                    if not waiting.done.cancelled():
                        waiting.done.set_result(outcome)
        finally:
            self._worker = None
            await self._close_retired()

    async def _close_retired(self) -> None:
        while self._retired:
            await self._retired.pop().close()

    async def _one_turn(self, prompt: str) -> Outcome:
        request = ModelRequest(parts=[UserPromptPart(prompt)], timestamp=datetime.now(UTC))
        number = self.state.turn + 1
        # Made before the prompt is logged, so that it can be stopped from the first moment on.
        self._turn = Turn(self._turn_context(), number)
        if self._stop_next:
            self._turn.interrupt()
        self._stop_next = False
        try:
            await self._recorder.record(Message(turn=number, message=to_json(request)))
            return await self._turn.run()
        finally:
            self._turn = None

    def _turn_context(self) -> TurnContext:
        return TurnContext(
            recorder=self._recorder,
            history=self._history,
            answerer=self._answerer,
            window=self._window,
            governor=self._governor,
            instructions=self._instructions,
            toolsets=self._toolsets,
            archive=self._archive,
            max_steps=self._settings.agent_max_steps,
            max_retries=self._settings.max_retries,
            first_backoff_s=self._desk.first_backoff_s,
        )

    @property
    def _instructions(self) -> str:
        return EMBEDDED_INSTRUCTIONS if self._answerer.name == EMBEDDED else INSTRUCTIONS

    async def _stop_turns(self) -> list[str]:
        """Interrupt the running turn; returns the prompts that waited behind it."""
        unsaid = [waiting.prompt for waiting in self._waiting]
        for waiting in self._waiting:
            if not waiting.done.done():
                waiting.done.set_result(Outcome.INTERRUPTED)
            self._recorder.announce(PromptReturned(prompt=waiting.prompt))
        self._waiting.clear()
        self.interrupt()
        if self._worker is not None:
            await asyncio.wait([self._worker])
        return unsaid

    async def _report(self) -> None:
        """Measure the context as it is now, outside of any request."""
        messages = self._history.messages(self.state)
        scaffold = Scaffold(instructions=self._instructions)
        await self._turn_context().report(self._governor.meter.read(messages, scaffold, self._window))

    async def _record_model_change(self, before: str, window_before: int | None) -> None:
        if before and before != self._answerer.name:
            await self._recorder.record(
                ModelChange(
                    from_=before,
                    to=self._answerer.name,
                    window_before=window_before,
                    window_after=self._window.tokens,
                )
            )

    def _place(self) -> dict[str, str]:
        repository, branch = repository_of(self._desk.cwd)
        return {
            "model": self._answerer.name,
            "policy": self._settings.policy,
            "cwd": str(self._desk.cwd),
            "repository": repository,
            "branch": branch,
        }


def _storable(prompt: str) -> str:
    """Bytes that are no text, as a shell can hand them in, would make the history unsendable for ever."""
    try:
        return prompt.encode(errors="surrogateescape").decode(errors="replace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return prompt.encode(errors="replace").decode()


def _locked(desk: Desk, session_id: str) -> SessionLock:
    lock = SessionLock(desk.paths.locks, session_id)
    lock.acquire()
    return lock


def _replayed(database: Path, session_id: str) -> SessionState:
    reader = Reader(database)
    try:
        return replay(reader.events(session_id))
    finally:
        reader.close()


async def _window(answerer: Answerer, settings: Settings) -> Window:
    """The setting, else what the model or its server tells, else an assumption marked as one."""
    if settings.context_window:
        return Window(tokens=settings.context_window, known=True)
    told = await answerer.window_tokens()
    return Window(tokens=told or FALLBACK_WINDOW_TOKENS, known=told is not None)
