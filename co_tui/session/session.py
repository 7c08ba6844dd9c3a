"""A conversation: prompts in, events out. Knows nothing of any screen."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from co_tui.events import (
    CompactionComplete,
    PromptReturned,
    QueueChanged,
    Ref,
    SessionEnd,
    SessionPinned,
    SessionRename,
    SessionResume,
    TurnEnded,
)
from co_tui.events.storable import storable_text
from co_tui.events.stored_messages import Span
from co_tui.inert import shell_text
from co_tui.session.approvals.modes import begin_in_mode, tighter_mode
from co_tui.session.approvals.standing_approvals import StandingApprovals
from co_tui.session.board.board_process import update_in_background
from co_tui.session.board.board_update import UpdatedBoard
from co_tui.session.claiming import release
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.compaction.forecast import Forecast
from co_tui.session.environment import Environment
from co_tui.session.file_references import NamedFile
from co_tui.session.forking import fork_session
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.history_editor import HistoryEditor
from co_tui.session.named_resources import written
from co_tui.session.opening import Opening, begun, reopened
from co_tui.session.queue import WorkQueue
from co_tui.session.recorder import Listener
from co_tui.session.review import Review, review_of
from co_tui.session.running_work import RunningWork
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.runtime.runtime_factory import RuntimeFactory
from co_tui.session.runtime.runtime_switcher import RuntimeSwitcher
from co_tui.session.slash.find_command import FoundCommand, find_command
from co_tui.session.snapshots.file_restores import FileRestores
from co_tui.session.state.session_state import SessionState
from co_tui.session.turns.turn import Outcome
from co_tui.session.turns.unfinished import recovered
from co_tui.session.workplace.added_folders import AddedFolders
from co_tui.settings import Settings


class Session:
    """One conversation that this process writes; see `start` and `resume`."""

    def __init__(self, environment: Environment, opening: Opening) -> None:
        self._environment = environment
        self._lock = opening.lock
        self._recorder = recorder = opening.recorder
        self._factory = factory = RuntimeFactory(environment, recorder)
        self._compactor = factory.compaction.compactor
        self._rewriting = asyncio.Lock()
        """Held while the user rewrites the history, or the runtime is replaced."""
        self.switcher = RuntimeSwitcher(
            environment,
            recorder,
            factory,
            self._rewriting,
            is_busy=lambda: self.queue.busy,
            in_order=lambda work: self._work.in_order(work),
        )
        """Changes the model, the policy, the mode and other settings."""
        self.switcher.begin(opening.model_handle, opening.window)
        name = f"turns of {recorder.session_id}"
        self.queue: WorkQueue = WorkQueue(name, self._announce_queue, self.switcher.close_retired, Outcome.INTERRUPTED)
        """What runs, and the prompts that wait for it."""
        self._work: RunningWork = RunningWork(environment, recorder, factory, self.switcher, self.queue)
        state_at = partial(environment.stored_state, recorder.session_id)
        parts = (factory.compaction.files, self._settled_history, state_at, FileRestores(factory.tools.files))
        self.edits = HistoryEditor(lambda: self.history, *parts)
        """The user's changes to the history."""
        self.compaction_files = factory.compaction.files
        """The checkpoints of compactions."""
        self.commands = factory.tools.commands
        """The model's running commands."""
        self.board = self._work.board
        """The notes that later sessions in this repository and branch start with."""
        self.resumed_from = recorder.state
        """The state before this process logged anything."""
        self.mode_refused = self.restore_note = ""
        """Why it did not start in the mode of the settings, and what became of a restore that was cut off."""
        self.folders = AddedFolders(factory.tools.workplace.folders, recorder, environment.paths)
        """What the user added to the folder it works in."""
        self.asked_again = opening.asked_again
        """Rules of earlier answers that do not count on this machine."""

    @classmethod
    async def start(cls, environment: Environment, model: str, listener: Listener | None = None) -> "Session":
        """A new session. Raises `ModelUnusable` before anything is written.

        `listener` gets all events, from the first on.
        """
        async with begun(environment, model, listener) as opening:
            session = cls(environment, opening)
            await session._begin(environment.settings.mode, environment.settings.add_dirs)
            session._factory.hooks.begin("startup")
            return session

    @classmethod
    async def resume(
        cls,
        environment: Environment,
        session_id: str,
        model: str = "",
        listener: Listener | None = None,
        *,
        take_over: bool = False,
    ) -> "Session":
        """Continue a stored session, with its own model unless another is named. `take_over`: see `Store.claim`."""
        async with reopened(environment, session_id, model, listener, take_over=take_over) as opening:
            session = cls(environment, opening)
            await session._continue(session.state, opening.window.tokens)
            return session

    async def _continue(self, state: SessionState, window_tokens: int) -> None:
        """Log that the session is resumed, and restore what belongs to it."""
        # Parsing a long history takes a while.
        await asyncio.to_thread(self._factory.parsed.messages, state.history)
        before = state.usage.token_limit if state.usage else None
        await self._restore_scaffold(state.model, before or window_tokens)
        await self._recorder.record(self._resumed(state), *recovered(state))
        await self.switcher.record_model_change(state.model, before)
        await self.switcher.record_policy_change(state.policy, before)
        mode = self._environment.settings.mode
        await self._begin(tighter_mode(state, mode) if self._environment.keeps_mode else mode)
        await self.edits.restore()
        await self.switcher.follow_speaker()
        if self._was_measured_differently(state):
            await self._runtime.history.report_now()
        await self._factory.tools.reports.report_left(state)
        self._factory.hooks.begin("resume")

    def _resumed(self, state: SessionState) -> SessionResume:
        own = {key: value for key, value in (("model", state.model), ("policy", state.policy)) if value}
        return SessionResume(**(self._origin() | own))

    async def _restore_scaffold(self, model: str, window_before: int) -> None:
        """Continue with what was sent with the messages before, as far as it suits the present model."""
        scaffold = await asyncio.to_thread(self._factory.scaffold_file.read)
        if scaffold is not None and self._runtime.model_handle.name == model:
            self.history.scaffold = scaffold
        elif scaffold is not None:
            self.switcher.continue_with(self._runtime, scaffold, window_before)

    async def _begin(self, mode: str, add_dirs: Sequence[str] = ()) -> None:
        """Begin in a mode, with further folders, and complete restores of files in this folder that were killed, of any
        session."""
        await self.folders.restore((*self._environment.workplace.add_dirs, *add_dirs))
        self.mode_refused = await begin_in_mode(self._recorder, mode, at_home=self.at_home)
        if self.edits.restores.are_kept:
            own = await self.edits.restores.recover()
            others = await self._factory.tools.workplace.complete_restores()
            self.restore_note = " ".join(filter(None, (own, others)))

    def _was_measured_differently(self, before: SessionState) -> bool:
        """Whether the context has changed since it was last measured, or was measured for another model, policy or
        window."""
        if before.usage is None:
            return False
        if not before.usage_holds and before.history:
            return True
        now = (self.state.model, self.state.policy, self.history.governor.window.tokens)
        return now != (before.model, before.policy, before.usage.token_limit)

    async def fork(self, upto: int | None = None) -> str:
        """Create a session that starts in this one's state, or in its state at a seq; returns its id. This one
        continues."""
        await self._recorder.record()  # saves what could not be saved before
        return await fork_session(self._environment, self.state, self._origin(), upto)

    @property
    def id(self) -> str:
        return self._recorder.session_id

    @property
    def folder(self) -> Path:
        """Where it works; on another host, an empty folder of this machine takes its place."""
        return self._environment.cwd

    @property
    def at_home(self) -> bool:
        """Whether it works in the home folder or above it."""
        return self._environment.workplace.at_home

    @property
    def is_kept(self) -> bool:
        """False for a private session, which ends with its process."""
        return not self._environment.private

    @property
    def state(self) -> SessionState:
        """The state after all events so far."""
        return self._recorder.state

    @property
    def _runtime(self) -> Runtime:
        return self.switcher.runtime

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._runtime.settings

    @property
    def works(self) -> tuple[str, ...]:
        """The kinds of tools for the folder that the model has."""
        return self._runtime.works

    @property
    def history(self) -> GovernedHistory:
        """The conversation as the model gets it."""
        return self._runtime.history

    @property
    def approvals(self) -> StandingApprovals:
        """The rules that allow calls without asking."""
        environment = self._environment
        return StandingApprovals(
            self._recorder, environment.kept_approvals, lambda: self.settings.permissions, environment.paths
        )

    @property
    def has_unsaved(self) -> bool:
        """Whether something could not be logged yet; it is retried."""
        return self._recorder.has_unsaved

    def events(self) -> Listener:
        """All events from now on, logged and announced, until the session is closed."""
        return self._recorder.listen()

    def leave(self, events: Listener) -> None:
        """Give these events no longer."""
        self._recorder.leave(events)

    async def submit(
        self, prompt: str, *, files: Sequence[NamedFile] = (), steer: bool = False, pasted: Sequence[Span] = ()
    ) -> Outcome:
        """Send a prompt and wait for the end of its turn. While a turn or a compaction runs, prompts wait in order.

        The files are attached. Raises `AttachmentRefused` or `PromptRefused` before anything is sent.
        `/name …` runs the slash command of that name from a file or an MCP server, if there is one.
        With `steer` it joins the running turn before its next request; if none runs, it is the next prompt.
        `pasted` are the parts of the prompt that the user pasted, so that what was typed can be told from them.
        Open approval questions count as not answered: the turn that asked them ends.
        """
        if not prompt.strip():
            raise ValueError("The prompt is empty.")
        prompt = storable_text(shell_text(prompt))
        found = await self._command_in(prompt)
        message = await written(
            prompt, files if found is None else (), self._environment, lambda: self._runtime, pasted
        )
        if (turn := self._work.turn) is not None:
            turn.skip_questions()
        if found is not None:
            return self.end_turn(await self._work.in_order(partial(self._work.answer_command, found), prompt))
        steering = message if steer and turn is not None else None
        return self.end_turn(await self._work.in_order(partial(self._work.answer, message), prompt, steering))

    def end_turn(self, outcome: Outcome, text: str = "") -> Outcome:
        """Announce that what was asked for has ended, and how."""
        self._recorder.announce(TurnEnded(turn=self.state.turn, outcome=outcome.value, text=text))
        return outcome

    async def _command_in(self, prompt: str) -> FoundCommand | None:
        return await find_command(prompt, self._environment, self.settings) if prompt.startswith("/") else None

    async def run_command(self, command: str) -> Outcome:
        """Run the user's own command, in order with the prompts; the next request includes it. Raises
        `CommandRefused`."""
        command = storable_text(shell_text(command))
        ran: Outcome = await self._work.in_order(partial(self._work.command, command), f"!{command}")
        return ran

    async def ask_pending(self) -> Outcome | None:
        """Ask the questions that were open when the session was left, and continue its turn; None if there are none."""
        outcome: Outcome | None = await self._work.in_order(self._work.ask_pending)
        return outcome

    async def retry(self) -> Outcome | None:
        """Send the last request again and wait for the end of the turn; None if it has a reply by then."""
        outcome: Outcome | None = await self._work.in_order(self._work.retry)
        return outcome if outcome is None else self.end_turn(outcome)

    async def review(self, focus: str = "") -> Review:
        """What a review of this session's changes sends, or of the branch's if it has none. Raises `ReviewRefused`."""
        await self._recorder.record()  # saves what could not be saved before
        return await review_of(self._environment, self.id, self.settings, focus)

    async def hand_to(self, agent: str) -> None:
        """Let an agent of the files answer from the next request on, or `main` again. Raises `TransferRefused`."""
        await self._factory.transfers.hand_to(agent, "user")
        if not self.queue.busy:
            async with self._rewriting:
                await self.switcher.follow_speaker()

    def _announce_queue(self) -> None:
        waiting = self.queue.prompts
        self._recorder.announce(
            QueueChanged(prompts=tuple(prompt.text for prompt in waiting), held=sum(prompt.held for prompt in waiting))
        )

    @property
    def is_compacting(self) -> bool:
        """Whether a compaction runs, or is applied."""
        return self._compactor.running

    async def compact(self, focus: str = "", upto: Ref | None = None, *, deep: bool = False) -> CompactionComplete:
        """Compact the conversation now, or when the running turn ends. Raises `CompactionRefused`."""
        if self.is_compacting:
            raise CompactionRefused("A compaction is already running. Esc stops it.")
        done: CompactionComplete = await self._work.in_order(partial(self._work.compact, focus, upto, deep))
        return done

    async def forecast(self, *, deep: bool = False) -> Forecast:
        """What compacting now would free. Raises `CompactionRefused` if that is nothing."""
        return await self._compactor.forecast(self._runtime.compactable, deep=deep)

    async def update_board(self) -> UpdatedBoard | None:
        """Let an agent update the board from this conversation, now or when the running turn ends; None if that was
        stopped. Raises `BoardRefused`."""
        updated: UpdatedBoard | None = await self._work.in_order(self._work.update_board)
        return updated

    def interrupt(self) -> bool:
        """Stop a blocking compaction, else the running turn, keeping what arrived. False if nothing runs.

        Prompts behind a stopped turn are held until they are released.
        """
        return self._compactor.cancel() or self._work.stop()

    @property
    def running_delegations(self) -> Collection[str]:
        """The names of the running turn's delegations."""
        return self._work.turn.delegations.running if self._work.turn is not None else ()

    def stop_delegation(self, agent: str) -> None:
        """Stop one delegation of the running turn, which continues with what it did so far."""
        if self._work.turn is not None:
            self._work.turn.delegations.stop(agent)

    def stop(self) -> None:
        """Stop all compactions and the turn, keeping what arrived."""
        self._compactor.stop()
        self._work.stop()

    @asynccontextmanager
    async def _settled_history(self, reason: str) -> AsyncIterator[None]:
        """While the history is rewritten: without a reason, keep out other rewrites; with one, also stop all work, and
        start none."""
        async with self._rewriting:
            if not reason:
                async with self._compactor.rewriting:
                    yield
                return
            with self.queue.paused():
                await self._stop_turns()
                await self._recorder.record()  # saves what could not be saved before
                await self._compactor.discard(reason)
                yield
                await self.switcher.follow_speaker()  # a rewind takes a transfer back

    async def pin_to_top(self, pinned: bool = True) -> None:
        """List the session first, or no longer."""
        await self._recorder.record(SessionPinned(pinned=pinned))

    async def rename(self, title: str) -> None:
        await self._work.title.cancel()
        await self._recorder.record(SessionRename(title=title, **self._origin()))

    async def settle(self, timeout_s: float) -> None:
        """Wait for a background compaction, and discard it after the timeout."""
        await self._compactor.settle(self._runtime.history, timeout_s)

    async def close(self, reason: str = "closed") -> list[str]:
        """Close the session in this process: stop its turns, log the end, release everything.

        Open approval questions stay pending, to be asked again.
        Returns the waiting prompts that were never sent.
        """
        unsent = await self._stop_turns(leaving=True)
        self.switcher.learn()
        try:
            await self._work.title.cancel()
            await self._factory.hooks.end(reason)
            await self._factory.close()
            await self._recorder.record(SessionEnd(reason=reason, **self._origin()))
        finally:
            self._recorder.close()
            await self._runtime.model_handle.close()
            await release(self._lock)
        update_in_background(self._environment, self.state, self.resumed_from)
        return unsent

    async def _stop_turns(self, *, leaving: bool = False) -> list[str]:
        """Interrupt the running turn; returns the prompts waiting behind it."""
        given_up = CompactionRefused("Compaction cancelled by a newer action.")
        unsent = self.queue.clear(given_up)
        for prompt in unsent:
            self._recorder.announce(PromptReturned(prompt=prompt))
        self._compactor.cancel()
        self._work.stop(leaving=leaving)
        await self.queue.wait()
        return unsent

    def _origin(self) -> dict[str, Any]:
        model = self.state.model or self._runtime.model_handle.name
        return self._environment.origin(model, self._runtime.settings.policy)
