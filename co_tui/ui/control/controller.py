"""A session's life on the screen: shown, opened, left for another, closed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from textual.app import App

from co_tui.events import Event, PromptReturned, QueueChanged
from co_tui.inert import one_line
from co_tui.session.state.session_state import SessionState
from co_tui.store.store_errors import SessionBusy, StoreError
from co_tui.ui.approvals.modes import SandboxCheck
from co_tui.ui.background import report, run_in_background
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.backend import Backend
from co_tui.ui.control.bridge import Bridge
from co_tui.ui.control.dialog_questions import DialogQuestions
from co_tui.ui.control.folder_choice import FolderChoice
from co_tui.ui.control.hints import Hints
from co_tui.ui.control.live_settings import LiveSettings
from co_tui.ui.control.older_messages import OlderMessages
from co_tui.ui.control.prompt_sender import PromptSender
from co_tui.ui.control.resume_questions import ResumeQuestions
from co_tui.ui.control.session_mode import Modes, ModeUnavailable
from co_tui.ui.launch import Launch
from co_tui.ui.prompt.draft_saver import DraftSaver
from co_tui.ui.transcript.blocks import BlockBuilder

if TYPE_CHECKING:
    from co_tui.agent.mcp.servers import ServerReport
    from co_tui.session.session import Session
    from co_tui.ui.control.stored_sessions import StoredSessions

FOLLOWS_NO_MORE = "The screen no longer follows this session. Open it again from /sessions; what was said is kept."
UNSAVED = "What was said last in this session is not saved."


class SessionController:
    """One session at a time. The host runs what takes time; the chat shows what comes of it."""

    def __init__(
        self, host: App[Any], chat: ChatScreen, launch: Launch, questions: DialogQuestions, sandbox: SandboxCheck
    ) -> None:
        self._host = host
        self.chat = chat
        self.backend = Backend(launch, questions)
        self.session: Session | None = None
        self.bridge = Bridge(self._heard)
        self.sender = PromptSender(host, chat, self)
        self.settings = LiveSettings(self.backend, chat, lambda: self.session)
        self.modes = Modes(chat, sandbox, lambda: self.session, lambda: self.launch.settings.mode)
        self.resume_questions = ResumeQuestions(questions.choose, chat.way_to)
        self._folder_choice = FolderChoice(chat, self.resume_questions, self.settings, self)
        self.hints = Hints(chat, launch.paths.hints, lambda: self.launch.settings.keys)
        self._drafts = DraftSaver(
            host, launch.store.prompt_drafts, lambda: self._session_id, lambda: self.launch.cwd, self._unsaid
        )
        self._openings = 0
        self.parting_words = ""
        """What has to be said after the screen is gone."""
        self.way_back = ""
        """How to go on with the session that was left last, of those in which something was said."""
        self.older = OlderMessages(host, chat)
        self._read_only_id = ""
        """The session that another process writes, and that is only read here."""
        self._session_id = launch.session_id
        self._leaving = False

    @cached_property
    def stored(self) -> "StoredSessions":
        from co_tui.ui.control.stored_sessions import StoredSessions

        return StoredSessions(self.backend, self)

    @property
    def launch(self) -> Launch:
        return self.settings.launch

    @property
    def engine_is_loaded(self) -> bool:
        return self.backend.ready

    @property
    def mcp_servers(self) -> "list[ServerReport]":
        return self.backend.server_reports()

    def restart_mcp_servers(self) -> None:
        self.backend.restart_servers(self.bridge.state.model or self.launch.choice.model)

    def show_stored(self, session_id: str, *, under_own_policy: bool = False) -> None:
        """The end of a stored session, read without the engine; an empty chat without one."""
        trouble, state = "", SessionState()
        self.older.stored = None
        try:
            if session_id:
                from co_tui.ui.control.stored_session import StoredSession

                self.older.stored = StoredSession(self.launch.store, session_id, self.chat.way_to)
                state = self.older.stored.glimpse()
        except StoreError as error:
            self.older.stored, self._session_id, trouble = None, "", str(error)
        if under_own_policy:
            self.settings.adopt_policy(state.policy)
        self.bridge.begin(state)
        stored = self.older.stored
        self.chat.show_session(stored.newest() if stored else BlockBuilder(self.chat.way_to), self.bridge.state)
        draft = self._drafts.read()
        if draft and not self.chat.prompt.text:  # what is typed already, before the first paint, stays
            self.chat.prompt.set_text(draft)
        self.sender.show_waiting()
        if trouble:
            self.chat.feed.note(trouble, "error")

    def load_engine(self) -> None:
        run_in_background(
            self._host, "Starting", self._load, group="engine", latest=True, failed=self.sender.stop_waiting
        )

    async def _load(self) -> None:
        model = self.launch.model or self.bridge.state.model or self.launch.choice.model
        if self._session_id:
            self._folder_choice.settle()
        self._openings += 1  # until the session can be opened, prompts and commands wait
        try:
            if not await self._engine_loaded(model):
                return
        finally:
            self._openings -= 1
        if self._session_id:
            await self._open_shown(self.launch.model)
        else:
            self.backend.warm_up(model)
            self.sender.send_unsent()

    async def _engine_loaded(self, model: str) -> bool:
        """Load the engine and what belongs to it; False when it cannot be used."""
        try:
            await asyncio.to_thread(self.backend.load, model)
        except Exception as error:
            self.sender.refuse(str(error) if isinstance(error, StoreError) else f"The engine did not load: {error!r}")
            return False
        if self.backend.trouble:
            self.chat.feed.note(self.backend.trouble, "error")
        try:
            self.backend.start_servers(model)
        except Exception as error:  # sessions work without them
            report(self._host, "Starting MCP servers", error)
        self.settings.show()
        await self._remember_prompts()
        await self._tell_dropped_approvals()
        from co_tui.ui.control.idle_care import care

        caring = partial(care, self.launch, lambda: not self.busy, self.chat.feed.note)
        run_in_background(self._host, "Cleaning up", caring, group="care", latest=True)
        return True

    async def _remember_prompts(self) -> None:
        with contextlib.suppress(StoreError):  # a comfort, not a need
            self.chat.prompt.remember(await asyncio.to_thread(self._latest_prompts))

    async def _tell_dropped_approvals(self) -> None:
        """Approvals of an older version that would allow too much are gone: say so once."""
        from co_tui.session.approvals.kept_approvals import kept_for

        launch = self.launch
        kept = kept_for(launch.paths, launch.cwd, keeps_more=not launch.private)
        if dropped := await asyncio.to_thread(kept.drop_too_broad):
            many = (
                f"{len(dropped)} kept approvals were too broad and are"
                if len(dropped) > 1
                else "A kept approval was too broad and is"
            )
            self.chat.feed.note(f"{many} asked about again: {one_line(', '.join(dropped), 300)}")

    def _latest_prompts(self) -> list[str]:
        with self.launch.store.reading() as reading:
            return reading.prompts(limit=100)

    # The session

    async def _open_shown(self, model: str = "") -> None:
        """Open the session that is shown; prompts that wait for it are said, or go back to their writer."""
        if await self._open(self._session_id, model):
            self.sender.send_unsent()
        else:
            self.sender.give_back_unsent()
            self.chat.set_busy(False)

    async def _open(self, session_id: str, model: str = "") -> bool:
        """Resume a session, or with an empty id start one. What goes wrong is said in the chat."""
        self._openings += 1
        try:
            if session_id:
                await self._folder_choice.settle()
            return self._session_id == session_id and await self._opened(session_id, model)
        finally:
            self._openings -= 1

    async def _opened(self, session_id: str, model: str) -> bool:
        from co_tui.agent.wire.model_errors import ModelUnusable
        from co_tui.session.recorder import Listener

        listener = Listener()
        try:
            if session_id:
                session = await self.backend.resume(session_id, model, listener)
            else:
                session = await self.backend.start(listener)
                self._drafts.forget_next()
        except SessionBusy as busy:
            return await self._open_elsewhere(session_id, model, busy)
        except ModelUnusable as unusable:
            return await self._open_with_another_model(session_id, model, str(unusable))
        except StoreError as error:
            self.chat.feed.note(str(error), "error")
            return False
        except Exception as error:  # whatever it is, the person at the keyboard must hear of it
            self.chat.feed.note(f"The session could not be opened: {type(error).__name__}: {error}", "error")
            return False
        if self._leaving or self._session_id != session_id:  # the user left while it was being opened
            await session.close("left")
            return False
        if session_id:
            self._show_replayed(session.resumed_from)
        self.session, self._session_id = session, session.id
        await self._begin_mode(session)
        if not session_id:
            self._drafts.save_soon()  # what was written meanwhile is this session's draft now
        self._follow(listener)
        if session.state.pending:
            self.sender.go_on(session)
        return True

    async def _begin_mode(self, session: "Session") -> None:
        trouble = session.mode_refused
        try:
            await self.modes.begin(session)
        except ModeUnavailable as unavailable:
            trouble = str(unavailable)
        if trouble:
            self.chat.feed.note(trouble, "error")
        self.modes.show()

    async def _open_elsewhere(self, session_id: str, model: str, busy: SessionBusy) -> bool:
        """A session has one writer: it is read, or a copy goes on."""
        answer = await self.resume_questions.elsewhere(busy.owner)
        if self._leaving or self._session_id != session_id:
            return False
        if answer == "fork":
            self._session_id = await self.backend.fork(session_id)
            self.show_stored(self._session_id)
            self.chat.feed.note("This is a copy now; the session it came from stays as it was.")
            return await self._opened(self._session_id, model)
        if answer == "read":
            self._read_along()
        else:
            self._session_id = ""
            self.show_stored("")
        return False

    def _read_along(self) -> None:
        """Show what the other process says in the session that is shown."""
        stored = self.older.stored
        if stored is not None:
            self._read_only_id = self._session_id
            self.chat.feed.note("Read only: what is said in the other co-tui appears here. A prompt asks again.")
            coming = stored.to_come(lambda: self.older.stored is stored and self.session is None)
            self._follow(coming)

    async def _open_with_another_model(self, session_id: str, model: str, why: str) -> bool:
        """The session's own model cannot be used: the usual one may go on, when that is another."""
        usual, own = self.launch.choice.model, self.bridge.state.model
        if session_id and not model and usual != own:
            if other := await self.resume_questions.another_model(own, why, usual):
                return self._session_id == session_id and await self._opened(session_id, other)
        else:
            self.chat.feed.note(why, "error")
        return False

    def _show_replayed(self, state: SessionState) -> None:
        """The engine has read the whole log: what was a glimpse becomes the truth."""
        if state.seq != self.bridge.state.seq:  # a reply that a crash cut short was brought into the log
            self.show_stored(state.session_id)
        self.bridge.begin(state)
        self.chat.show_replayed(state)

    def _follow(self, events: AsyncIterator[Event]) -> None:
        follow, lost = partial(self.bridge.follow, events), partial(self.chat.feed.note, FOLLOWS_NO_MORE, "error")
        run_in_background(self._host, "Following the session", follow, group="bridge", latest=True, failed=lost)

    def _heard(self, event: Event, state: SessionState) -> None:
        """What cannot be shown must not keep the rest from being shown."""
        try:
            self._show_event(event, state)
        except Exception as error:
            report(self._host, "Showing the conversation", error, once=True)

    def _show_event(self, event: Event, state: SessionState) -> None:
        if isinstance(event.fact, PromptReturned):
            self.sender.give_back(event.fact.prompt)
        self.chat.hear(event, state)
        self.hints.hear(event)
        if isinstance(event.fact, QueueChanged):
            self.sender.show_waiting()
            self._drafts.save_beside()  # in the log only once it is said

    def _unsaid(self) -> str:
        """The prompts that wait, and the one that is being written."""
        return "\n\n".join(filter(str.strip, (*self.sender.unsaid, self.chat.prompt.whole)))

    async def open_for_prompt(self) -> bool:
        """Open the session that is shown, or start one. What goes wrong is said in the chat."""
        return await self._open(self._session_id, self.launch.model)

    @property
    def opening(self) -> bool:
        """Whether a session is just being opened, or it is asked how."""
        return self._openings > 0

    @property
    def reads_along(self) -> bool:
        return self.session is None and bool(self._session_id) and self._read_only_id == self._session_id

    @property
    def has_unsent(self) -> bool:
        return self.sender.has_unsent

    @property
    def has_waiting(self) -> bool:
        return self.sender.has_waiting

    def go_on_here(self) -> None:
        self.resume_questions.go_on_here()

    @property
    def session_id(self) -> str:
        return self._session_id

    @property
    def state(self) -> SessionState:
        """What is shown: all events heard so far."""
        return self.bridge.state

    @property
    def busy(self) -> bool:
        return self.session is not None and self.session.busy

    @property
    def has_unsaved(self) -> bool:
        """Whether leaving would lose what was said last."""
        return self.session is not None and self.session.has_unsaved

    def require_saved(self) -> None:
        """Raises `StoreError` while leaving would lose what was said last."""
        if self.has_unsaved:
            raise StoreError(f"{UNSAVED} Stay until there is room; {self.chat.way_to('quit')} twice quits.")

    @property
    def idle(self) -> bool:
        """Whether a session is open in which nothing runs."""
        return self.session is not None and not self.session.busy

    async def choose_model(self, name: str) -> None:
        """Let this model answer in the session the first prompt will start, or in one that did not open.

        Raises `ModelUnusable`.
        """
        if self._session_id:
            self.resume_questions.withdraw()
            self.backend.launch = self.launch.but(model=name)
            await self._open(self._session_id, name)
            return
        await self.backend.choose(name)
        self.settings.show()

    def cancel_compaction(self) -> None:
        """Stop the compaction that is waited for; the turn behind it, if any, goes on."""
        if self.session is not None:
            self.session.interrupt()

    def interrupt(self) -> None:
        if self.session is not None and self.session.interrupt():
            self.chat.show_stopping()

    async def begin_session(self) -> None:
        """A new one, with the model and the policy of the session that is left."""
        self.settings.prefer(self.bridge.state.model)
        await self.switch_session("")

    async def switch_session(self, session_id: str, *, takes_waiting: bool = False) -> None:
        """Leave this session for another; an empty id begins a new one. Raises `StoreError` as `require_saved`.

        With `takes_waiting`, what waits to be carried out goes along.
        """
        self.require_saved()
        self.way_back = self.way_back_now or self.way_back
        await self.leave(takes_waiting=takes_waiting)
        self._drafts.save()
        self.chat.prompt.text = ""
        self._session_id = session_id
        self.show_stored(session_id, under_own_policy=True)
        self.chat.prompt.focus()
        if self._session_id and self.backend.ready:
            await self._open_shown(self.launch.loaded.imposed_model)

    async def leave(self, *, takes_waiting: bool = False) -> None:
        """Close the session; what was not said yet goes back into the prompt, and from there into the draft."""
        session, self.session = self.session, None
        self.modes.forget()
        self.resume_questions.withdraw()
        if not takes_waiting:
            self.sender.give_back_unsent()
        if session is not None:
            waiting = [prompt.text for prompt in session.waiting]
            try:
                self.bridge.begin(self.bridge.state)  # its last words are no news to the screen
                await session.close("left")
            except StoreError as error:
                lost = f" {UNSAVED}" if session.has_unsaved else ""
                self.parting_words = f"{error}{lost}"
                self.chat.feed.note(self.parting_words, "error")
            for prompt in waiting:
                self.sender.give_back(prompt)
        self.chat.set_busy(False)

    def draft_changed(self) -> None:
        self._drafts.save_soon()

    def heeds_effort(self, model: str) -> bool:
        """Known once the engine is loaded."""
        if not self.backend.ready:
            return False
        from co_tui.agent.models.reasoning import ignores_effort

        return not ignores_effort(model)

    async def close(self) -> bool:
        """Leave the session and the engine for good; False when that is under way already."""
        if self._leaving:
            return False
        self._leaving = True
        self.way_back = self.way_back_now or self.way_back
        await self.leave()
        self._drafts.save()
        await self.backend.close()
        return True

    @property
    def way_back_now(self) -> str:
        """How to go on with the session that is open."""
        if not self._session_id or not self.bridge.state.turn or self.launch.private:
            return ""
        title = one_line(self.bridge.state.title, 60)
        return f"co-tui --resume {self._session_id}   goes on with “{title}”"
