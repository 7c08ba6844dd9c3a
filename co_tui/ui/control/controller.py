"""A session's life on the screen: show, use, switch and close it."""

from collections.abc import AsyncIterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from textual.app import App

from co_tui.events import Event, MemoryReleased, PromptReturned, QueueChanged
from co_tui.events.model_names import EXAMPLE_MODEL
from co_tui.events.wording import counted
from co_tui.inert import one_line
from co_tui.session.launch import Launch
from co_tui.session.state.session_state import SessionState
from co_tui.store.prompt_drafts import draft_of, texts_of
from co_tui.store.store_errors import UNSAVED, StoreError
from co_tui.ui.approvals.modes import SandboxCheck
from co_tui.ui.background import report, run_in_background
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.backend import Backend
from co_tui.ui.control.bridge import Bridge
from co_tui.ui.control.dialog_questions import DialogQuestions
from co_tui.ui.control.hints import Hints
from co_tui.ui.control.live_settings import LiveSettings
from co_tui.ui.control.prompt_sender import PromptSender
from co_tui.ui.control.resume_questions import FolderChoice, ResumeQuestions
from co_tui.ui.control.session_mode import Modes
from co_tui.ui.control.session_opening import OpenedSession, SessionOpening
from co_tui.ui.control.stored_transcript import OlderMessages
from co_tui.ui.prompt.draft_saver import DraftSaver
from co_tui.ui.textual_internals import driver_of
from co_tui.ui.transcript.blocks import BlockBuilder

if TYPE_CHECKING:
    from co_tui.session.session import Session
    from co_tui.ui.control.stored_sessions import StoredSessions
    from co_tui.ui.work.session_work import SessionWork, WorkRow

NOT_FOLLOWING = "This view lost its session. Reopen it with /sessions; nothing is lost."


class SessionController:
    """One session at a time. The host runs background work; the chat shows the results."""

    def __init__(self, host: App[Any], chat: ChatScreen, launch: Launch) -> None:
        sandbox = SandboxCheck(lambda: (self.launch.cwd, *self.launch.workplace.folders.named))
        questions = DialogQuestions(host, chat, sandbox)
        self._host = host
        self.chat = chat
        self.backend = Backend(launch, questions)
        self.session: Session | None = None
        self.session_id: str = launch.session_id
        """Of the session that is shown, open or not; empty before the first prompt."""
        self.bridge = Bridge(self._on_event)
        self.sender = PromptSender(host, chat, self)
        self.settings = LiveSettings(self.backend, chat, lambda: self.session)
        self.modes = Modes(chat, sandbox, lambda: self.session, lambda: self.launch)
        self.resume_questions = ResumeQuestions(questions.choose, chat.shortcut_for)
        folder_choice = FolderChoice(chat, self.resume_questions, self.settings, self, lambda: self.sender.has_unsent)
        self._opening = SessionOpening(chat, self.backend, self.resume_questions, folder_choice, self)
        self.hints = Hints(chat, launch.paths.hints, lambda: self.launch.settings.keys)
        self._drafts = DraftSaver(
            host, launch.store.prompt_drafts, lambda: self.session_id, lambda: self.launch.cwd, self._unsent_text
        )
        self.exit_message = ""
        """Printed after the screen is gone."""
        self.resume_hint = ""
        """The command that resumes the session left last, of those with a turn."""
        self.older = OlderMessages(host, chat)
        self._leaving = False
        self._is_loading = False
        """The engine is being loaded; then the shown session is opened."""

    @cached_property
    def stored(self) -> "StoredSessions":
        from co_tui.ui.control.stored_sessions import StoredSessions

        return StoredSessions(self.backend, self)

    @cached_property
    def work(self) -> "SessionWork":
        """The background commands and delegations under way."""
        from co_tui.ui.work.session_work import SessionWork

        return SessionWork(lambda: self.session)

    def running_commands(self) -> "list[WorkRow]":
        return self.work.command_rows() if self.session is not None else []

    @property
    def can_move(self) -> bool:
        return self.session is not None and bool(self.session.commands.movable)

    def stop_work(self, key: str) -> None:
        run_in_background(self._host, "Stopping it", partial(self.work.stop, key), group="work")

    @property
    def launch(self) -> Launch:
        return self.settings.launch

    async def list_resources(self) -> Mapping[str, str]:
        return await self.backend.list_resources()

    def restart_mcp_servers(self) -> None:
        self.backend.restart_servers(self.bridge.state.model or self.launch.choice.model)

    def show_stored(self, session_id: str, *, under_own_policy: bool = False) -> None:
        """Show the end of a stored session, read without the engine, and its draft; an empty chat without an id."""
        self._show_end(session_id, under_own_policy=under_own_policy)
        self._restore_draft(self._drafts.open())

    def _show_end(self, session_id: str, *, under_own_policy: bool = False) -> None:
        state, trouble = self.older.open(self.launch.store, session_id)
        if trouble:
            self.session_id = ""
        if under_own_policy and (gone := self.settings.adopt_policy(state.policy)):
            trouble = gone
        self.bridge.begin(state)
        stored = self.older.stored
        self.chat.show_session(stored.newest() if stored else BlockBuilder(self.chat.shortcut_for), self.bridge.state)
        self.sender.show_waiting()
        self._report_shown()
        if trouble:
            self.chat.feed.note(trouble, "error")
        if under_own_policy and not self.backend.ready:
            self._opening.look_ahead()

    def _report_shown(self) -> None:
        """Report the shown session to the page of a served app; a terminal has no use for it."""
        getattr(driver_of(self._host), "report_session", lambda _: None)(self.session_id)

    def load_engine(self) -> None:
        run_in_background(
            self._host, "Starting", self._load, group="engine", latest=True, failed=self.sender.stop_waiting
        )

    async def _load(self) -> None:
        model = self.launch.model or self.bridge.state.model or self.launch.choice.model
        self._is_loading = True
        try:
            with self._opening:
                if self.session_id:
                    self._opening.settle_folder()
                if not await self._start_engine(model):
                    return
        finally:
            self._is_loading = False
        if self.session_id:
            await self._open_shown(self.launch.model)
        else:
            self.backend.warm_up(model)
            self.sender.send_unsent()

    async def _start_engine(self, model: str) -> bool:
        """False if it cannot be used, which the chat then says."""
        from co_tui.ui.control.engine_start import EngineStart

        engine = EngineStart(self._host, self.chat, self.backend, lambda: not self.busy)
        if trouble := await engine.load(model):
            self.sender.refuse(trouble)
            return False
        self.settings.show()
        await engine.follow_up()
        return True

    # The session

    async def _open_shown(self, model: str = "") -> None:
        """Open the shown session; send the prompts that wait for it, or return them to the prompt."""
        if await self._open(self.session_id, self._named(model)):
            self.sender.send_unsent()
        else:
            self.sender.give_back_unsent()
            self.chat.set_busy(False)

    async def _open(self, session_id: str, model: str = "") -> bool:
        """Resume a session, or start one if the id is empty. Failures are shown in the chat."""
        self._drafts.await_fetched()
        with self._opening:
            opened = await self._opening.open(session_id, model)
            if opened is not None:
                await self._use(opened, is_new=not session_id)
            return opened is not None

    async def _use(self, opened: OpenedSession, *, is_new: bool) -> None:
        session = opened.session
        if is_new:
            self._drafts.forget_next()
        else:
            self.show_replayed(session.resumed_from)
            if (draft := self._drafts.fetched()) is not None:
                self.chat.prompt.forget_unsent()
                self._restore_draft(draft)
        self.session, self.session_id = session, session.id
        self._report_shown()
        self._opening.begin(came_from=None)
        await self.modes.begin(session)
        if is_new:
            self._drafts.save_soon()  # what was typed until now is now this session's draft
        self.follow(opened.listener.with_states())
        if session.state.pending:
            self.sender.ask_pending(session)

    def show_replayed(self, state: SessionState) -> None:
        """Replace the preview with the state the engine replayed from the whole log."""
        stored = self.older.stored
        # Recovery may have appended a reply that a crash had cut short, and a server may have had newer events.
        if state.seq != self.bridge.state.seq or (stored is not None and stored.is_replaced()):
            self.chat.feed.show_again(partial(self._show_end, state.session_id))
        self.bridge.begin(state)
        self.chat.show_replayed(state)

    def follow(self, events: AsyncIterator[tuple[Event, SessionState]]) -> None:
        follow, lost = partial(self.bridge.follow, events), partial(self.chat.feed.note, NOT_FOLLOWING, "error")
        run_in_background(self._host, "Following the session", follow, group="bridge", latest=True, failed=lost)

    def _on_event(self, event: Event, state: SessionState) -> None:
        """Show an event; one that cannot be shown must not block the next."""
        try:
            self._show_event(event, state)
        except Exception as error:
            report(self._host, "Showing the conversation", error, once=True)

    def _show_event(self, event: Event, state: SessionState) -> None:
        if isinstance(event.fact, PromptReturned):
            self.sender.give_back(event.fact.prompt)
        self.chat.apply_event(event, state)
        self.sender.show_said(event.fact)
        self.hints.on_event(event)
        if isinstance(event.fact, MemoryReleased):
            self.older.unload(self.launch.store, self.session_id)
        if isinstance(event.fact, QueueChanged):
            self.sender.show_waiting()
            self._drafts.save_in_background()  # in the log only once it is said

    def _unsent_text(self) -> str:
        """The draft and the queued prompts, each apart."""
        prompt = self.chat.prompt
        draft, *aside = prompt.unsent
        queued, is_being_written = self.sender.unsent_prompts, prompt.is_being_written
        texts = (draft, *queued, *aside) if is_being_written else (*queued, draft, *aside)
        return draft_of([*filter(str.strip, texts)], is_being_written=is_being_written)

    def _restore_draft(self, draft: str) -> None:
        """A text that was being written is continued, unless another was typed before the first paint; whole ones that
        were not sent are joined to no other."""
        texts, is_being_written = texts_of(draft)
        if is_being_written and texts and not self.chat.prompt.text:
            self.chat.prompt.set_text(texts.pop(0))
        aside = [text for text in texts if not self.chat.prompt.give_back(text)]
        if aside:
            which = "it" if len(aside) == 1 else "them"
            sentence = f"{counted(len(aside), 'more prompt')} not sent: ↑ recalls {which}."
            self._host.call_after_refresh(partial(self._host.notify, sentence, timeout=6))

    async def open_for_prompt(self) -> bool:
        """Open the shown session, or start one. Failures are shown in the chat."""
        return await self._open(self.session_id, self._named(self.launch.model))

    def _named(self, model: str) -> str:
        """The model that replaces the shown session's own; the example keeps its own until a prompt is sent."""
        return "" if self.bridge.state.model == EXAMPLE_MODEL else model

    def is_shown(self, session_id: str) -> bool:
        """False once the user left it."""
        return not self._leaving and self.session_id == session_id

    @property
    def opening(self) -> bool:
        """Whether a session is being opened, or a question about that is open."""
        return self._opening.is_under_way

    @property
    def is_read_only(self) -> bool:
        """Whether another process has the shown session open, and it is only read here."""
        return self._opening.is_read_only

    @property
    def state(self) -> SessionState:
        """The shown state: all events received so far."""
        return self.bridge.state

    @property
    def busy(self) -> bool:
        return self.session is not None and self.session.queue.busy

    @property
    def has_unsaved(self) -> bool:
        """Whether leaving would lose the latest messages."""
        return self.session is not None and self.session.has_unsaved

    def require_saved(self) -> None:
        """Raises `StoreError` while leaving would lose the latest messages."""
        if self.has_unsaved:
            raise StoreError(f"{UNSAVED} Stay until there is disk space; {self.chat.shortcut_for('quit')} twice quits.")

    @property
    def idle(self) -> bool:
        """Whether a session is open and no turn runs."""
        return self.session is not None and not self.session.queue.busy

    async def choose_model(self, name: str) -> None:
        """Use this model for the session the first prompt starts, or for the shown one that did not open.

        Raises `ModelUnusable`.
        """
        if self.session_id:
            self.resume_questions.withdraw()
            self.backend.launch = self.launch.but(model=name)
            await self._open(self.session_id, name)
            return
        await self.backend.choose(name)
        self.settings.show()

    def cancel_compaction(self) -> None:
        """Stop the compaction a turn waits for; the turn, if any, continues."""
        if self.session is not None:
            self.session.interrupt()

    def next_mode(self) -> None:
        self.hints.used("mode")
        run_in_background(self._host, "Switching the mode", self.modes.next, group="mode")

    def interrupt(self) -> None:
        if self.session is not None and self.session.interrupt():
            self.chat.show_stopping()

    async def begin_session(self) -> None:
        """Start a new session with the model and policy of the present one, if that is open: others' logs choose no
        model."""
        if self.session is not None and self.bridge.state.model != EXAMPLE_MODEL:
            self.settings.prefer(self.bridge.state.model)
        await self.switch_session("")

    async def switch_session(self, session_id: str, *, takes_waiting: bool = False) -> None:
        """Leave this session for another; an empty id starts a new one. Raises `StoreError` as `require_saved`.

        `takes_waiting` moves the waiting prompts and commands along.
        """
        self.require_saved()
        self.resume_hint = self.current_resume_hint or self.resume_hint
        stopped = self.work.summary()
        await self.leave(takes_waiting=takes_waiting)
        if stopped:
            self._host.notify(f"Stopped with the session you left: {stopped}.", timeout=6)
        if trouble := self._drafts.save():
            self._host.notify(trouble, severity="error", timeout=6, markup=False)
        self.chat.prompt.forget_unsent()
        self._opening.begin(came_from=self.session_id if self.session_id != session_id else None)
        self.session_id = session_id
        self.show_stored(session_id, under_own_policy=True)
        self.chat.prompt.focus()
        if self.session_id and self.backend.ready and not self._is_loading:
            await self._open_shown(self.launch.loaded.overriding_model)

    async def leave(self, *, takes_waiting: bool = False) -> None:
        """Close the session; unsent prompts return to the prompt, and from there to the draft."""
        session, self.session = self.session, None
        self.modes.forget()
        self.sender.forget_under_way()
        self.resume_questions.withdraw()
        if not takes_waiting:
            self.sender.give_back_unsent()
        if session is not None:
            waiting = [prompt.text for prompt in session.queue.prompts]
            try:
                self.bridge.begin(self.bridge.state)  # ignore the events of its closing
                await session.close("left")
            except StoreError as error:
                lost = f" {UNSAVED}" if session.has_unsaved else ""
                self.exit_message = f"{error}{lost}"
                self.chat.feed.note(self.exit_message, "error")
            for prompt in waiting:
                self.sender.give_back(prompt)
        self.chat.set_busy(False)

    def draft_changed(self) -> None:
        self._drafts.save_soon()

    def supports_effort(self, model: str) -> bool:
        return self.backend.supports_effort(model)

    async def close(self) -> bool:
        """Close the session and the engine; False if that is under way already."""
        if self._leaving:
            return False
        self._leaving = True
        self.resume_hint = self.current_resume_hint or self.resume_hint
        await self.leave()
        if trouble := self._drafts.save():
            self.exit_message = f"{self.exit_message}\n{trouble}".strip()
        self._drafts.leave()
        await self.backend.close()
        return True

    @property
    def current_resume_hint(self) -> str:
        """The command that resumes the present session; empty if there is nothing to resume."""
        if not self.session_id or not self.bridge.state.turn or self.launch.private:
            return ""
        title = one_line(self.bridge.state.title, 60)
        return f"{self.launch.program} --resume {self.session_id}   continues “{title}”"
