"""What a session is doing: one turn, one of the user's commands, or one board update at a time."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from pydantic_ai.messages import ModelRequest

from co_tui.agent.models.model_families import model_named, unknown_family
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.events import CompactionComplete, PromptReturned, Ref, SessionError
from co_tui.events.facts.agents import MAIN_AGENT
from co_tui.session.approvals.asking import Approvals
from co_tui.session.board.board_update import BoardUpdate, UpdatedBoard
from co_tui.session.board.session_board import SessionBoard
from co_tui.session.environment import Environment
from co_tui.session.hooks.session_hooks import PromptRefused
from co_tui.session.memory_relief import MemoryRelief
from co_tui.session.processes.user_command import CommandRefused, UserCommand
from co_tui.session.queue import Work, WorkQueue
from co_tui.session.recorder import Recorder
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.runtime.runtime_factory import RuntimeFactory
from co_tui.session.runtime.runtime_switcher import RuntimeSwitcher, WindowTooSmall
from co_tui.session.runtime.surroundings import change_note, with_note
from co_tui.session.session_title import SessionTitle
from co_tui.session.slash.find_command import FoundCommand
from co_tui.session.slash.write_prompt import SlashPrompt
from co_tui.session.state.session_state import is_unanswered
from co_tui.session.turns.attempts import Transferred
from co_tui.session.turns.turn import Outcome, Turn, WritePrompt

T = TypeVar("T")


class _Opening:
    """A model being opened for a slash command."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self.task = task
        self.is_stopped = False

    def interrupt(self, *, leaving: bool = False) -> None:
        self.is_stopped = True
        self.task.cancel()


class RunningWork:
    """Queues work, and can stop it from its first moment on."""

    def __init__(
        self,
        environment: Environment,
        recorder: Recorder,
        factory: RuntimeFactory,
        switcher: RuntimeSwitcher,
        queue: WorkQueue,
    ) -> None:
        self._environment = environment
        self._recorder = recorder
        self._factory = factory
        self._compactor = factory.compaction.compactor
        self._switcher = switcher
        self._queue = queue
        self._relief = MemoryRelief(self._compactor)
        self.board = SessionBoard(environment, recorder)
        self.title = SessionTitle(environment, recorder, factory.compaction.summary_models)
        self.turn: Turn | None = None
        self._other: UserCommand | BoardUpdate | _Opening | None = None
        """Work that the user asked for, other than a turn."""
        self._stop_next = False
        self._leaving = False

    @property
    def _runtime(self) -> Runtime:
        return self._switcher.runtime

    async def in_order(self, work: Work, prompt: str = "", steering: ModelRequest | WritePrompt | None = None) -> Any:
        """Run it after everything queued before it. Raises `PromptRefused` for a prompt to a closed session."""
        if prompt and self._leaving:
            raise PromptRefused("Not sent: the session was closed.")

        async def whole() -> Any:
            try:
                return await work()
            finally:
                self._stop_next = False  # the request to stop was meant for this one
                if not self._leaving:
                    await self._switcher.report_missed()

        return await self._queue.do(whole, prompt, steering)

    def stop(self, *, leaving: bool = False) -> bool:
        """Stop what runs, keeping what arrived; prompts behind it are held. False if nothing runs."""
        self._leaving |= leaving
        if (running := self.turn or self._other) is not None:
            running.interrupt(leaving=leaving)
            self._queue.hold()
        elif self._queue.has_next:
            self._stop_next = True
        return self._queue.busy

    async def answer_command(self, found: FoundCommand) -> Outcome:
        """Run the turn of a slash command, with its own model if it names one. Raises `PromptRefused`."""
        before, speaker = self._runtime, self._recorder.state.speaker
        model = await self._model_of(found, before.model_handle.name)
        if model in ("", before.model_handle.name):
            return await self._answer_command(found)
        try:
            if await self._opened(model, speaker or MAIN_AGENT):
                return await self._answer_command(found)
            self._recorder.announce(PromptReturned(prompt=found.typed))
            return Outcome.INTERRUPTED
        finally:
            # An agent that the conversation was handed to in between has its own, or brings back the main agent's.
            if self._runtime.model_handle.name == model and self._recorder.state.speaker == speaker:
                own = before.model_handle.name
                for_agent = "" if self._recorder.state.main_model == own else speaker
                if self._leaving:
                    await self._switcher.record_model_back(before, for_agent)
                else:
                    await self._switch_back(own, for_agent)

    async def _model_of(self, found: FoundCommand, present: str) -> str:
        """The model for a command's turn; empty for the present one, also if its own is not known, which is logged."""
        model = model_named(found.model, present)
        if found.model and not model:
            what, instead = unknown_family(found.model, present), f"{present} answers"
            await self._recorder.record(SessionError(what=what, kind="unusable", outcome=instead))
        return model

    async def _opened(self, model: str, for_agent: str) -> bool:
        """Switch to a model; False if the user stops that. Raises `PromptRefused`."""
        opening = _Opening(asyncio.create_task(self._switcher.switch_model(model, for_agent=for_agent)))
        await self._stoppable(opening, asyncio.wait([opening.task]))
        try:
            await opening.task
        except asyncio.CancelledError:
            if not opening.is_stopped:
                raise
        except (ModelUnusable, WindowTooSmall) as unusable:
            raise PromptRefused(f"Not sent: {unusable}") from None
        return not opening.is_stopped

    async def _answer_command(self, found: FoundCommand) -> Outcome:
        runtime, environment, tools = self._runtime, self._environment, self._factory.tools
        window = runtime.history.governor.estimated_window_tokens
        slash = SlashPrompt(
            found,
            runtime,
            environment.workplace,
            tools=tools.working(runtime.settings, window, runtime.permissions),
            hooks=tools.call_hooks,
            servers=environment.mcp_servers,
            around=tools.files.around_prepared,
        )
        with runtime.permissions.allowing(found.allowed):
            return await self.answer(slash.write)

    async def _switch_back(self, model: str, for_agent: str) -> None:
        try:
            await self._switcher.switch_model(model, for_agent=for_agent)
        except (ModelUnusable, WindowTooSmall) as unusable:
            await self._recorder.record(
                SessionError(what=str(unusable), kind="unusable", outcome="model not changed back")
            )

    async def answer(self, prompt: ModelRequest | WritePrompt | None = None, *, again: bool = False) -> Outcome:
        """Run a turn from its prompt; without one, from the open questions at which it was left, or (`again`) from
        its last request."""
        try:
            await self._switcher.leave_recording()
        except ModelUnusable as unusable:
            raise PromptRefused(f"Not sent: {unusable}") from None
        number = self._recorder.state.turn + (prompt is not None)
        outcome: Outcome | None = None
        while outcome is None:
            await self._follow_speaker()
            runtime = self._runtime
            try:
                outcome = await self._answered(runtime, number, prompt, again=again)
            except Transferred:  # the next agent continues from the log
                prompt, again = None, True
        await self._after_turn(runtime)
        if not self._leaving:  # otherwise the interruption is the last event
            await self._runtime.history.report_if_changed()
        return outcome

    async def _follow_speaker(self) -> None:
        """Let the agent answer that has the conversation. A stop meant for the turn stops it once it can."""
        if not (self._recorder.state.speaker or self._runtime.speaker):
            return
        opening = _Opening(asyncio.create_task(self._switcher.follow_speaker()))
        await self._stoppable(opening, asyncio.wait([opening.task]))
        with suppress(asyncio.CancelledError):
            await opening.task
        self._stop_next |= opening.is_stopped

    async def _answered(
        self, runtime: Runtime, number: int, prompt: ModelRequest | WritePrompt | None, *, again: bool
    ) -> Outcome:
        """Raises `Transferred`."""
        # Created before the prompt is logged, so that it can be stopped from its first moment on.
        self.turn = Turn(
            runtime,
            self._compactor,
            lambda: self._factory.compaction.recovery(runtime.compactable),
            number,
            self._factory.delegated_runs,
            self._queue,
        )
        self._stop_if_asked(self.turn)
        runtime.history.in_turn = True
        try:
            if isinstance(prompt, ModelRequest):
                prompt = await self._with_changes(prompt, runtime)
            elif prompt is not None:
                prompt = partial(self._written, prompt, runtime)
            return await self.turn.run(prompt, again=again)
        finally:
            self.turn = None
            runtime.history.in_turn = False

    async def _written(self, write: WritePrompt, runtime: Runtime, approvals: Approvals) -> ModelRequest:
        return await self._with_changes(await write(approvals), runtime)

    async def _with_changes(self, prompt: ModelRequest, runtime: Runtime) -> ModelRequest:
        """The prompt, with a note if date, branch or folder changed since the latest note."""
        if not runtime.works:
            return prompt
        now = await self._environment.workplace.surroundings(self._environment.environ)
        note = change_note(self._recorder.state.surroundings, now)
        if not note:
            return prompt
        await self._recorder.record(now)
        return with_note(prompt, note)

    async def _after_turn(self, runtime: Runtime) -> None:
        if runtime is not self._runtime:
            await self._hand_over(runtime)
            return
        # Smaller windows tried in this turn end with it; what was learned stays.
        history = runtime.history
        if (window := self._environment.window_now(history.asked, runtime.settings)) is not None:
            history.governor.window = window
        if not self._leaving:
            if not await self._switcher.fit_tools():  # then the next request measures first
                await self._compactor.after_turn(runtime.compactable)
            await self._relief.after_turn(runtime)
            self.title.after_turn(runtime)

    async def _hand_over(self, before: Runtime) -> None:
        """A turn ended under a replaced runtime: discard its background compaction, and pass its scaffold on to the
        current runtime."""
        await self._compactor.discard("the model or policy changed")
        history = before.history
        self._switcher.continue_with(self._runtime, history.scaffold, history.governor.estimated_window_tokens)
        if not self._leaving:
            await self._switcher.report_missed()

    async def compact(self, focus: str, upto: Ref | None, deep: bool) -> CompactionComplete:
        return await self._compactor.compact(self._runtime.compactable, focus=focus, upto=upto, deep=deep)

    async def ask_pending(self) -> Outcome | None:
        # A waiting prompt takes the place of the answers.
        return await self.answer() if self._recorder.state.pending and not self._queue.prompts else None

    async def retry(self) -> Outcome | None:
        return await self.answer(again=True) if is_unanswered(self._recorder.state) else None

    async def command(self, command: str) -> Outcome:
        if self._recorder.state.pending:
            raise CommandRefused("Answer the pending question first; then run the command.")
        tools = self._factory.tools
        start, around = tools.workplace.start_command, tools.files.around
        run = UserCommand(self._runtime, command, self._environment.workplace.text, start, around)
        outcome = await self._stoppable(run, run.run())
        await self._runtime.history.report_if_changed()
        return outcome

    async def update_board(self) -> UpdatedBoard | None:
        update = self.board.new_update(self._runtime)
        return await self._stoppable(update, self.board.run(update))

    async def _stoppable(self, work: UserCommand | BoardUpdate | _Opening, done: Awaitable[T]) -> T:
        self._other = work
        self._stop_if_asked(work)
        try:
            return await done
        finally:
            self._other = None

    def _stop_if_asked(self, work: Turn | UserCommand | BoardUpdate | _Opening) -> None:
        if self._stop_next:
            work.interrupt(leaving=self._leaving)
        self._stop_next = False
