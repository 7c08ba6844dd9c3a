"""A session's life on the screen: shown, opened, left for another, closed."""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.timer import Timer

from co_tui.events import Event, PromptReturned, QueueChanged
from co_tui.inert import one_line
from co_tui.session.questions import Questions
from co_tui.session.state.session_state import SessionState
from co_tui.store.errors import StoreError
from co_tui.ui.backend import Backend
from co_tui.ui.bridge import Bridge
from co_tui.ui.launch import Launch
from co_tui.ui.live_settings import LiveSettings
from co_tui.ui.prompt_sender import PromptSender
from co_tui.ui.screens.chat import ChatScreen
from co_tui.ui.widgets.blocks import BlockBuilder

if TYPE_CHECKING:
    from co_tui.agent.mcp.servers import ServerReport
    from co_tui.session.session import Session
    from co_tui.ui.stored_session import StoredSession

DRAFT_SAVE_S = 1.0


class SessionController:
    """One session at a time. The host runs what takes time; the chat shows what comes of it."""

    def __init__(self, host: App[Any], chat: ChatScreen, launch: Launch, questions: Questions) -> None:
        self._host = host
        self.chat = chat
        self.backend = Backend(launch, questions)
        self.session: Session | None = None
        self.bridge = Bridge(self._heard)
        self.sender = PromptSender(host, chat, self)
        self.settings = LiveSettings(self.backend, chat, lambda: self.session)
        self.drafts = launch.store.prompt_drafts
        self.opening = False
        self.parting_words = ""
        """What has to be said after the screen is gone."""
        self.way_back = ""
        """How to go on with the session that was left at the end."""
        self._stored: StoredSession | None = None
        self._loading_back = False
        """Whether older events are being read beside the screen."""
        self._session_id = launch.session_id
        self._draft_timer: Timer | None = None
        self._leaving = False

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

    def show_stored(self, session_id: str) -> None:
        """The end of a stored session, read without the engine; an empty chat without one."""
        trouble, state = "", SessionState()
        self._stored = None
        try:
            if session_id:
                from co_tui.ui.stored_session import StoredSession

                self._stored = StoredSession(self.launch.store, session_id)
                state = self._stored.glimpse()
        except StoreError as error:
            self._stored, self._session_id, trouble = None, "", str(error)
        self.bridge.begin(state)
        self.chat.show_session(self._stored.newest() if self._stored else BlockBuilder(), self.bridge.state)
        draft = self.drafts.read(self._session_id)
        if draft and not self.chat.prompt.text:  # what is typed already, before the first paint, stays
            self.chat.prompt.set_text(draft)
        self.sender.show_waiting()
        if trouble:
            self.chat.feed.note(trouble, "error")

    def load_engine(self) -> None:
        self._host.run_worker(self._load(), group="engine", exclusive=True, exit_on_error=False)

    async def _load(self) -> None:
        model = self.launch.model or self.bridge.state.model or self.launch.choice.model
        try:
            await asyncio.to_thread(self.backend.load, model)
        except Exception as error:
            self.sender.refuse(str(error) if isinstance(error, StoreError) else f"The engine did not load: {error!r}")
            return
        if self.backend.trouble:
            self.chat.feed.note(self.backend.trouble, "error")
        self.backend.start_servers(model)
        self.settings.show()
        await self._remember_prompts()
        if self._session_id:
            await self._open(self._session_id, self.launch.model)
        else:
            self.backend.warm_up(model)
        self.sender.send_unsent()

    async def _remember_prompts(self) -> None:
        with contextlib.suppress(StoreError):  # a comfort, not a need
            self.chat.prompt.remember(await asyncio.to_thread(self._latest_prompts))

    def _latest_prompts(self) -> list[str]:
        with self.launch.store.reading() as reading:
            return reading.prompts(limit=100)

    # The session

    async def _open(self, session_id: str, model: str = "") -> bool:
        """Resume a session, or with an empty id start one. What goes wrong is said in the chat."""
        from co_tui.agent.errors import ModelUnusable
        from co_tui.session.recorder import Listener

        self.opening = True
        listener = Listener()
        try:
            if session_id:
                session = await self.backend.resume(session_id, model, listener)
                self._show_replayed(session.resumed_from)
            else:
                session = await self.backend.start(listener)
                self.drafts.write("", "")
        except (StoreError, ModelUnusable) as error:
            self.chat.feed.note(str(error), "error")
            return False
        except Exception as error:  # whatever it is, the person at the keyboard must hear of it
            self.chat.feed.note(f"The session could not be opened: {type(error).__name__}: {error}", "error")
            return False
        finally:
            self.opening = False
        if self._leaving:  # the user quit while it was being opened
            await session.close("left")
            return False
        self.session, self._session_id = session, session.id
        self._host.run_worker(self.bridge.follow(listener), group="bridge", exclusive=True)
        if session.state.pending:
            self.sender.go_on(session)
        return True

    def _show_replayed(self, state: SessionState) -> None:
        """The engine has read the whole log: what was a glimpse becomes the truth."""
        if state.seq != self.bridge.state.seq:  # a reply that a crash cut short was brought into the log
            self.show_stored(state.session_id)
        self.bridge.begin(state)
        self.chat.show_replayed(state)

    def _heard(self, event: Event, state: SessionState) -> None:
        if isinstance(event.fact, PromptReturned):
            self.sender.give_back(event.fact.prompt)
        self.chat.hear(event, state)
        if isinstance(event.fact, QueueChanged):
            self.sender.show_waiting()

    async def open_for_prompt(self) -> bool:
        """Open the session that is shown, or start one. What goes wrong is said in the chat."""
        return await self._open(self._session_id, self.launch.model)

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
    def idle(self) -> bool:
        """Whether a session is open in which nothing runs."""
        return self.session is not None and not self.session.busy

    async def choose_model(self, name: str) -> None:
        """Let this model answer in the session the first prompt will start, or in one that did not open.

        Raises `ModelUnusable`.
        """
        if self._session_id:
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

    async def switch_session(self, session_id: str) -> None:
        """Leave this session for another; an empty id begins a new one."""
        await self.leave()
        self._forget_draft()
        self.drafts.write(self._session_id, self.chat.prompt.whole)
        self.chat.prompt.text = ""
        self._session_id = session_id
        self.show_stored(session_id)
        if self._session_id and self.backend.ready:
            await self._open(self._session_id)
        self.chat.prompt.focus()

    async def leave(self) -> None:
        """Close the session; what was not said yet goes back into the prompt, and from there into the draft."""
        session, self.session = self.session, None
        self.sender.give_back_unsent()
        if session is not None:
            try:
                self.bridge.begin(self.bridge.state)  # its last words are no news to the screen
                for prompt in await session.close("left"):
                    self.sender.give_back(prompt)
            except StoreError as error:
                self.chat.feed.note(str(error), "error")
                self.parting_words = str(error)
        self.chat.set_busy(False)

    def load_older(self) -> None:
        """More of a long session, when the reader comes near its loaded beginning."""
        stored = self._stored
        if stored is None or self._loading_back:
            return
        try:
            blocks = stored.older()
        except StoreError as error:
            self._cannot_load(error)
            return
        if blocks:
            self.chat.show_older(blocks)

    async def load_back_to(self, seq: int) -> None:
        """All of a long session from an event on, read beside the screen."""
        stored = self._stored
        if stored is None or self._loading_back:
            return
        self._loading_back = True
        try:
            blocks = await asyncio.to_thread(stored.back_to, seq)
        except StoreError as error:
            self._cannot_load(error)
            return
        finally:
            self._loading_back = False
        if blocks and stored is self._stored:
            self.chat.show_older(blocks)

    def _cannot_load(self, error: StoreError) -> None:
        self._stored = None
        self._host.notify(str(error), severity="error", markup=False)

    def draft_changed(self, text: str) -> None:
        self._forget_draft()
        self._draft_timer = self._host.set_timer(DRAFT_SAVE_S, lambda: self.drafts.write(self._session_id, text))

    def _forget_draft(self) -> None:
        """What was to be saved is saved otherwise, or no longer wanted."""
        if self._draft_timer is not None:
            self._draft_timer.stop()

    async def rename_session(self, session_id: str, title: str) -> None:
        self._require_engine()
        if self.session is not None and self.session.id == session_id:
            await self.session.rename(title)
        else:
            await self.backend.rename(session_id, title)

    async def delete_session(self, session_id: str) -> None:
        """For good. The open session is left first, and a new one begins."""
        self._require_engine()
        if session_id == self._session_id:
            await self.switch_session("")
        await self.backend.delete(session_id)

    def heeds_effort(self, model: str) -> bool:
        """Known once the engine is loaded."""
        if not self.backend.ready:
            return False
        from co_tui.agent.reasoning import ignores_effort

        return not ignores_effort(model)

    def _require_engine(self) -> None:
        if not self.backend.ready:
            raise StoreError("The engine is still loading; try again in a moment.")

    def find_session(self, name: str) -> str:
        """The id of a stored session, by a part of it. Raises `StoreError`."""
        with self.launch.store.reading() as reading:
            return reading.session(name).id

    async def close(self) -> bool:
        """Leave the session and the engine for good; False when that is under way already."""
        if self._leaving:
            return False
        self._leaving = True
        self.way_back = self.way_back_now
        await self.leave()
        self.drafts.write(self._session_id, self.chat.prompt.whole)
        await self.backend.close()
        return True

    @property
    def way_back_now(self) -> str:
        """How to go on with the session that is open."""
        if not self._session_id or not self.bridge.state.turn:
            return ""
        title = one_line(self.bridge.state.title, 60)
        return f"co-tui --resume {self._session_id}   goes on with “{title}”"
