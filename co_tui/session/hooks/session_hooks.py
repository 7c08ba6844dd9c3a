"""The hooks of one session: run at their events, logged, and what they add passed on to the model."""

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.agent.redact import keys_in, redact_values
from co_tui.events import HookRun
from co_tui.events.facts.base import NOTHING
from co_tui.events.storable import storable
from co_tui.session.hooks.hook_answers import HookAnswer, combined, failed, read_answer
from co_tui.session.hooks.hook_process import COMMAND_CHARS, HookCommand, HookPlace, run_hook, shown_line, unconfined
from co_tui.session.hooks.transcript import Transcript
from co_tui.session.pending_notes import PendingNotes
from co_tui.session.recorder import Recorder
from co_tui.settings import Settings
from co_tui.settings.hook_entries import (
    NOTIFICATION,
    POST_TOOL_USE,
    PRE_TOOL_USE,
    SESSION_END,
    SESSION_START,
    STOP,
    SUBAGENT_STOP,
    USER_PROMPT_SUBMIT,
    HookEntry,
    capitalised,
    permission_mode,
)
from co_tui.store.store_errors import StoreError

MOST_AT_END_S: Final = 3.0
"""Longest time for a hook while the session closes."""
ENDS_TURN: Final = frozenset({USER_PROMPT_SUBMIT, PRE_TOOL_USE, POST_TOOL_USE, SUBAGENT_STOP})
"""Events whose hooks can end the turn; at its end there is nothing left to stop."""
MOST_STOPS_REFUSED: Final = 5
"""How often hooks may keep one turn or agent from ending."""
IGNORED: Final = f"Refused to stop {MOST_STOPS_REFUSED} times in a row; ignored from then on."


class PromptRefused(Exception):
    """A hook refused the prompt, or it was stopped before it was sent; the text is a sentence."""


class StoppedByHook(Exception):
    """A hook ended the turn; what was done is logged. The text is a sentence."""


class HookEvent(NamedTuple):
    """What happened, for the hooks of an event."""

    name: str
    payload: Mapping[str, object] = {}
    """What hooks get in addition to what all get."""
    matched: Sequence[str] = ()
    """The names that matchers are compared with; without any they are ignored."""
    agent: str = ""
    call_id: str = ""


class SessionHooks:
    """One for a session; `use` tells the settings in force."""

    def __init__(
        self,
        cwd: Path,
        environ: Mapping[str, str],
        settings: Settings,
        recorder: Recorder,
        notes: PendingNotes,
        transcript: Transcript,
    ) -> None:
        self._cwd = cwd
        self._environ = environ
        self._settings = settings
        self._recorder = recorder
        self._secrets: Sequence[str] = ()
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting: asyncio.Task[None] | None = None
        self._transcript = transcript
        self._stopped = ""
        self.notes = notes
        self.command: HookCommand = unconfined
        """Starts them; those that run files of the folder in the sandbox."""

    def use(self, settings: Settings, secrets: Sequence[str]) -> None:
        """Use the hooks of these settings; the secrets are hidden in what hooks say."""
        self._settings = settings
        self._secrets = tuple(dict.fromkeys((*self._secrets, *secrets, *keys_in(self._environ))))

    def has(self, event: str) -> bool:
        return bool(self._settings.hooks.get(event))

    async def run(self, event: HookEvent, timeout_s: float | None = None) -> HookAnswer:
        """Run the hooks of an event in order until one refuses, and log each; the strictest decision counts."""
        entries = [each for each in self._settings.hooks.get(event.name, ()) if each.matches(event.matched)]
        if not entries:
            return HookAnswer()
        payload = {**await self._common(event.name), **event.payload}
        answers: list[HookAnswer] = []
        for entry in entries:
            own_s = entry.timeout_s or self._settings.hook_timeout_s
            limit_s = min(own_s, timeout_s) if timeout_s is not None else own_s
            place = HookPlace(
                self._cwd,
                limit_s,
                self._secrets,
                self._environ,
                self._settings.env,
                self.command,
                self._settings.command_sandbox,
            )
            ended = await run_hook(entry.command, payload, place)
            answer = failed(ended) if isinstance(ended, str) else read_answer(event.name, ended, self._secrets)
            answers.append(answer)
            await self._log(event, entry, answer)
            if answer.refuses:
                break
        answer = combined(answers)
        if answer.stops and event.name in ENDS_TURN:
            self._stopped = f"Stopped by a {event.name} hook: {answer.reason}"
        return answer

    async def _common(self, event: str) -> dict[str, object]:
        """What every hook gets."""
        return {
            "hook_event_name": capitalised(event),
            "session_id": self._recorder.session_id,
            "transcript_path": await self._transcript.path(),
            "cwd": str(self._cwd),
            "permission_mode": permission_mode(self._recorder.state.mode),
        }

    async def _log(self, event: HookEvent, entry: HookEntry, answer: HookAnswer) -> None:
        run = HookRun(
            what=f"{event.name} hook",
            where=shown_line(entry.command, self._secrets, COMMAND_CHARS),
            outcome=answer.outcome,
            hook=event.name,
            decision=answer.decision,
            failed=answer.failed,
            reason=answer.reason,
            context=answer.context,
            input=self.without_secrets(answer.updated_input) if answer.updated_input is not None else NOTHING,
            notice=answer.notice or (answer.reason if answer.stops and event.name not in ENDS_TURN else ""),
            call_id=event.call_id,
            agent=event.agent,
        )
        await self._recorder.record(run)

    def without_secrets(self, given: Mapping[str, object]) -> Any:
        """An input for the log and the note: a hook may put a key into it."""
        return redact_values(storable(given), self._secrets)

    def add_context(self, answer: HookAnswer, event: str, agent: str = "", about: str = "") -> None:
        """Pass on what hooks added, with the agent's next request."""
        if answer.context:
            self.notes.add(f"a {event} hook{about}", answer.context, agent)

    # The end of a turn by a hook

    def begin_turn(self) -> None:
        """A turn begins, or continues: what ended the one before is over."""
        self._stopped = ""

    @property
    def has_stopped(self) -> bool:
        """Whether a hook ended the turn: no further call runs."""
        return bool(self._stopped)

    def check_stopped(self) -> None:
        """Raises `StoppedByHook`; call it before each request, when what was done is logged."""
        if self._stopped:
            raise StoppedByHook(self._stopped)

    # The events of a session

    def begin(self, source: str) -> None:
        """The session was started or resumed; its hooks run in the background, and the first turn waits for them."""
        if self.has(SESSION_START):
            self._starting = self._in_background(self._session_start(source))

    async def _session_start(self, source: str) -> None:
        self.add_context(await self.run(HookEvent(SESSION_START, {"source": source}, (source,))), SESSION_START)

    async def check_prompt(self, prompt: str) -> None:
        """Raises `PromptRefused`."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
        if not self.has(USER_PROMPT_SUBMIT):
            return
        answer = await self.run(HookEvent(USER_PROMPT_SUBMIT, {"prompt": prompt}))
        if answer.refuses:
            raise PromptRefused(f"A {USER_PROMPT_SUBMIT} hook refused the prompt: {answer.reason}")
        self.add_context(answer, USER_PROMPT_SUBMIT)

    async def may_stop(self, times_refused: int, agent: str = "") -> bool:
        """Whether a turn, or a delegated agent, may end; otherwise the reason is among the notes.

        `times_refused`: how often hooks refused that in a row; at some point they are ignored.
        """
        event = SUBAGENT_STOP if agent else STOP
        await self._keep_transcript()
        if not self.has(event):
            return True
        payload: dict[str, object] = {"stop_hook_active": times_refused > 0}
        named = {"agent_id": agent, "agent_type": agent.rpartition(" ")[0]} if agent else {}
        matched = (named["agent_type"],) if agent else ()
        answer = await self.run(HookEvent(event, {**payload, **named}, matched, agent))
        self.add_context(answer, event, agent)
        if answer.stops or not answer.refuses:
            return True
        if times_refused >= MOST_STOPS_REFUSED:
            await self._recorder.record(HookRun(what=f"{event} hook", outcome=IGNORED, hook=event, agent=agent))
            return True
        self.notes.add(f"a {event} hook", f"You are not done: {answer.reason}", agent)
        return False

    def notify(self, kind: str, message: str) -> None:
        """The user is needed; hooks run in the background and decide nothing."""
        if self.has(NOTIFICATION):
            event = HookEvent(NOTIFICATION, {"message": message, "notification_type": kind}, (kind,))
            self._in_background(self.run(event))

    async def end(self, reason: str) -> None:
        """The session closes: run its last hooks, and stop all that still run."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._keep_transcript()
        if self.has(SESSION_END):
            with contextlib.suppress(StoreError):  # the rest of the session still has to be closed
                await self.run(HookEvent(SESSION_END, {"reason": reason}, (reason,)), MOST_AT_END_S)

    async def _keep_transcript(self) -> None:
        """Bring it up to date for hooks, and for what they started."""
        if self._settings.hooks:
            await self._transcript.path()

    def _in_background(self, work: Coroutine[Any, Any, object]) -> "asyncio.Task[None]":
        async def unless_unsaved() -> None:
            with contextlib.suppress(StoreError):  # what cannot be logged now is reported by what is logged next
                await work

        task = asyncio.create_task(unless_unsaved())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
