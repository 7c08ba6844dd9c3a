"""The app: owns the engine and the session, and does what commands ask for."""

import asyncio
import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.theme import Theme

from co_tui.events import CompactionComplete, Event, PromptReturned, QueueChanged
from co_tui.inert import one_line
from co_tui.session.place import repository_of
from co_tui.session.state import SessionState
from co_tui.settings import Loaded
from co_tui.store.errors import StoreError
from co_tui.store.reader import Reader
from co_tui.ui import commands
from co_tui.ui.asking import ScreenAsker
from co_tui.ui.bridge import Bridge
from co_tui.ui.drafts import Drafts
from co_tui.ui.engine import Engine
from co_tui.ui.feed import HELD, LOADING, QUEUED, WaitingShown
from co_tui.ui.launch import Launch
from co_tui.ui.screens.chat import ChatScreen
from co_tui.ui.signals import EXIT_CODE, leave_on_signals
from co_tui.ui.stored import StoredSession
from co_tui.ui.themes import DARK, LIGHT, palette_of
from co_tui.ui.widgets.blocks import BlockBuilder
from co_tui.ui.widgets.rendering import Look

if TYPE_CHECKING:
    from co_tui.session.queue import WaitingPrompt
    from co_tui.session.session import Session
    from co_tui.ui.screens.compaction import Wish

DRAFT_SAVE_S = 1.0
FROM_NEXT_SESSION = frozenset({"model", "base_url", "request_timeout_s"})
FROM_NEXT_START = frozenset({"telemetry", "retention_days"})
"""Settings that are read when a model is opened, and when the app is; all others are read as they are needed."""


class CoTui(App[None]):
    """co-tui's full screen."""

    TITLE = "co-tui"
    # Textual loads no style sheet of a default screen.
    CSS_PATH = Path(__file__).with_name("screens") / "chat.tcss"
    COMMANDS = {commands.CommandProvider}
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "copy_or_hint", show=False, priority=True)]

    def __init__(self, launch: Launch, *, dark: bool = True, typed_ahead: str = "") -> None:
        """`typed_ahead` is what was typed while the terminal was being asked for its colours."""
        super().__init__()
        self.launch = launch
        self.animation_level = "none"
        self.branch = repository_of(launch.cwd)[1]
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self._terminal_is_dark = dark
        self.theme = self._theme_named(launch.settings.theme)
        self.look = self._make_look(rich=False)
        self.chat = ChatScreen()
        self.engine = Engine(launch, ScreenAsker(self))
        self.session: Session | None = None
        self.bridge = Bridge(self._heard)
        self.drafts = Drafts(launch.paths.state / "drafts")
        self._stored: StoredSession | None = None
        self._session_id = launch.session_id
        self._unsent: list[str] = []
        self.opening = False
        self._draft_timer: Any = None
        self._early: list[events.Event] | None = []
        """What was typed so far; None once the prompt takes keys itself."""
        if typed_ahead:
            from co_tui.ui.driver import events_of

            self._early = [each for each in events_of(typed_ahead) if isinstance(each, events.Key | events.Paste)]
        self.last_typed_at = 0.0
        self._trouble = ""
        """Why nothing can be sent at all."""
        self._parting_words = ""
        self._leaving = False

    # Starting

    async def on_event(self, event: events.Event) -> None:
        """Keys typed before the prompt is there are kept for it; whoever types is writing a prompt."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if isinstance(event, events.Paste) or event.is_printable:
                self.last_typed_at = time.monotonic()
            if self._early is not None:
                self._early.append(event)
                return
            if self.screen is self.chat and self.chat.took(event):
                return
        await super().on_event(event)

    def _give_early_keys(self) -> None:
        """In the order of typing, and before any key that comes from now on."""
        self.chat.set_focus(self.chat.prompt)
        early, self._early = self._early or [], None
        for event in early:
            if isinstance(event, events.Key) and commands.is_key(event.key):
                self.call_later(self.on_event, event)
            else:
                self.chat.prompt._forward_event(event)

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        if usual.__name__ != "LinuxDriver":
            return usual
        from co_tui.ui.driver import QuietDriver

        return QuietDriver

    def get_default_screen(self) -> ChatScreen:
        return self.chat

    def on_mount(self) -> None:
        if not self.is_headless:
            leave_on_signals(self._asked_to_leave, getattr(self._driver, "give_up", lambda: None))
        self.theme_changed_signal.subscribe(self, self._theme_changed, immediate=True)

    def chat_mounted(self) -> None:
        """The screen is there: show what is stored, paint, and only then bring the rest and load the engine."""
        self._show_stored(self._session_id)
        self._give_early_keys()
        self.call_after_refresh(self._painted)

    async def _painted(self) -> None:
        self._look_again()
        await self.chat.complete()
        if self.launch.browse:
            self.run_command("sessions", "")
        if self.launch.loaded.withheld is not None:
            from co_tui.ui.screens.trust import ask_for_trust

            ask_for_trust(self)
        self._load_engine()

    def _show_stored(self, session_id: str) -> None:
        """The end of a stored session, read with plain SQLite; an empty chat without one."""
        trouble, state = "", SessionState()
        try:
            self._stored = StoredSession(self.launch.paths.database, session_id) if session_id else None
            state = self._stored.glimpse() if self._stored else state
        except StoreError as error:
            self._stored, self._session_id, trouble = None, "", str(error)
        self.bridge.begin(state)
        self.chat.show_session(self._stored.newest() if self._stored else BlockBuilder(), self.bridge.state)
        draft = self.drafts.read(self._session_id)
        if draft and not self.chat.prompt.text:  # what is typed already, before the first paint, stays
            self.chat.prompt.set_text(draft)
        self._show_waiting()
        if trouble:
            self.chat.feed.note(trouble, "error")

    def _load_engine(self) -> None:
        self.run_worker(self._load(), group="engine", exclusive=True, exit_on_error=False)

    async def _load(self) -> None:
        model = self.launch.model or self.bridge.state.model or self.launch.choice.model
        try:
            await asyncio.to_thread(self.engine.load, model)
        except Exception as error:
            self._trouble = str(error) if isinstance(error, StoreError) else f"The engine did not load: {error!r}"
            self.chat.feed.note(self._trouble, "error")
            self.chat.set_busy(False, "nothing can be sent")
            self._give_back_unsent()
            return
        if self.engine.trouble:
            self.chat.feed.note(self.engine.trouble, "error")
        await self._remember_prompts()
        if self._session_id:
            await self._open(self._session_id, self.launch.model)
        else:
            self.engine.warm_up(model)
        self._send_waiting()

    async def _remember_prompts(self) -> None:
        with contextlib.suppress(StoreError):  # a comfort, not a need
            self.chat.prompt.remember(await asyncio.to_thread(lambda: self.reader().prompts(limit=100)))

    # The session

    async def _open(self, session_id: str, model: str = "") -> bool:
        """Resume a session, or with an empty id start one. What goes wrong is said in the chat."""
        from co_tui.agent.errors import ModelUnusable
        from co_tui.session.recorder import Listener

        self.opening = True
        listener = Listener()
        try:
            if session_id:
                session = await self.engine.resume(session_id, model, listener)
                self._show_replayed(session.resumed_from)
            else:
                session = await self.engine.start(listener)
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
        self.run_worker(self.bridge.follow(listener), group="bridge", exclusive=True)
        return True

    def _show_replayed(self, state: SessionState) -> None:
        """The engine has read the whole log: what was a glimpse becomes the truth."""
        if state.seq != self.bridge.state.seq:  # a reply that a crash cut short was brought into the log
            self._show_stored(state.session_id)
        self.bridge.begin(state)
        self.chat.show_timeline(state)
        self.chat.show_state(state)

    def _heard(self, event: Event, state: SessionState) -> None:
        if isinstance(event.fact, PromptReturned):
            self.give_back(event.fact.prompt)
        self.chat.hear(event, state)
        if isinstance(event.fact, QueueChanged):
            self._show_waiting()

    def send(self, prompt: str) -> None:
        """Say something; before the engine is there, it waits and says so."""
        if self._trouble:
            self.chat.feed.note(self._trouble, "error")
            self.give_back(prompt)
            return
        if self.engine.ready and self.session is not None and not self.opening:
            self.run_worker(self._turn(prompt), group="turns", exit_on_error=False)
            return
        self._unsent.append(prompt)
        self._show_waiting()
        self.chat.set_busy(False, "loading the engine…" if not self.engine.ready else "opening the model…")
        if self.engine.ready and not self.opening:
            self._send_waiting()

    def _send_waiting(self) -> None:
        if self._unsent:
            self.run_worker(self._start_and_send(), group="start", exclusive=True, exit_on_error=False)

    async def _start_and_send(self) -> None:
        # A session that could not be opened before is tried again: a prompt must not end up in another one.
        if self.session is None and not await self._open(self._session_id, self.launch.model):
            self._give_back_unsent()
            self.chat.set_busy(False)
            return
        waiting, self._unsent = self._unsent, []
        self._show_waiting()
        for prompt in waiting:
            self.run_worker(self._turn(prompt), group="turns", exit_on_error=False)

    async def _turn(self, prompt: str) -> None:
        session = self.session
        assert session is not None
        self.chat.set_busy(True)
        turns = session.state.turn
        try:
            await session.submit(prompt)
        except Exception as error:
            self.chat.feed.note(str(error) if isinstance(error, StoreError) else f"The turn failed: {error!r}", "error")
            if session.state.turn == turns:  # it never became part of the conversation
                self.give_back(prompt)
        finally:
            self.chat.set_busy(session is self.session and session.busy)

    def give_back(self, prompt: str) -> None:
        """Return a prompt that was not said to its writer."""
        self.chat.prompt.bring_back(prompt)

    def _give_back_unsent(self) -> None:
        unsent, self._unsent = self._unsent, []
        self._show_waiting()
        for prompt in unsent:
            self.give_back(prompt)

    # What waits

    @property
    def waiting(self) -> "tuple[WaitingPrompt, ...]":
        """The prompts that wait for their turn in the session."""
        return self.session.waiting if self.session is not None else ()

    def _show_waiting(self) -> None:
        queued = [WaitingShown(each.text, HELD if each.held else QUEUED) for each in self.waiting]
        self.chat.show_waiting([*queued, *(WaitingShown(prompt, LOADING) for prompt in self._unsent)])

    def say_held(self) -> None:
        """Go on with what an interruption left waiting."""
        if self.session is not None and any(prompt.held for prompt in self.waiting):
            self.session.release()
            self.chat.set_busy(self.session.busy)

    @property
    def session_id(self) -> str:
        return self._session_id

    async def choose_model(self, name: str) -> None:
        """Let this model answer in the session the first prompt will start, or in one that did not open.

        Raises `ModelUnusable`.
        """
        if self._session_id:
            self.launch = self.launch.but(model=name)
            await self._open(self._session_id, name)
            return
        await self.engine.choose(name)
        self.launch = self.engine.launch
        self.chat.show_state(self.bridge.state)

    def keep_model(self) -> None:
        """Let the model that answers now answer in the next new session, too."""
        model = self.bridge.state.model
        if model and model != self.launch.choice.model:
            self.launch = self.engine.prefer(model)

    async def choose_policy(self, loaded: Loaded) -> None:
        """Let another policy govern this session, and those started after it."""
        self.launch = self.engine.govern(loaded)
        if self.session is not None:
            await self.session.switch_policy(loaded.settings)
        self.chat.show_state(self.bridge.state)

    async def apply_settings(self, key: str, loaded: Loaded) -> str:
        """Let changed settings hold as soon as they can; returns from when on that is, for this key."""
        if key == "policy":
            await self.choose_policy(loaded)
            return "from now on"
        self.launch = self.engine.govern(loaded)
        self.chat.show_state(self.bridge.state)
        if key == "theme":
            self.theme = self._theme_named(loaded.settings.theme)
            return "from now on"
        if key in FROM_NEXT_START:
            return "from the next start"
        if key in FROM_NEXT_SESSION:
            return "for sessions that begin from now on"
        if self.session is None:
            return "from now on"
        await self.session.apply_settings(loaded.settings)
        return "from the next turn on" if self.session.busy else "from the next request on"

    def cancel_compaction(self) -> None:
        """Stop the compaction that is waited for; the turn behind it, if any, goes on."""
        if self.session is not None:
            self.session.interrupt()

    def interrupt(self) -> None:
        if self.session is not None and self.session.interrupt():
            self.chat.stopping()

    async def switch_session(self, session_id: str) -> None:
        """Leave this session for another; an empty id begins a new one."""
        await self._leave()
        self.drafts.write(self._session_id, self.chat.prompt.whole)
        self.chat.prompt.text = ""
        self._session_id = session_id
        self._show_stored(session_id)
        if self._session_id and self.engine.ready:
            await self._open(self._session_id)
        self.chat.prompt.focus()

    async def _leave(self) -> None:
        """Close the session; what was not said yet goes back into the prompt, and from there into the draft."""
        session, self.session = self.session, None
        self._give_back_unsent()
        if session is not None:
            try:
                self.bridge.begin(self.bridge.state)  # its last words are no news to the screen
                for prompt in await session.close("left"):
                    self.give_back(prompt)
            except StoreError as error:
                self.chat.feed.note(str(error), "error")
                self._parting_words = str(error)
        self.chat.set_busy(False)

    def load_older(self) -> None:
        """More of a long session, when the reader comes near its loaded beginning."""
        if self._stored is None:
            return
        try:
            blocks = self._stored.older()
        except StoreError as error:
            self._stored = None
            self.notify(str(error), severity="error", markup=False)
            return
        if blocks:
            self.chat.show_older(blocks)

    def draft_changed(self, text: str) -> None:
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self._draft_timer = self.set_timer(DRAFT_SAVE_S, lambda: self.drafts.write(self._session_id, text))

    # Commands

    def run_command(self, name: str, arguments: str) -> None:
        """Do what a slash command, a key or the palette asked for."""
        if commands.find(name) is None:
            self.chat.feed.note(commands.unknown(one_line(name, 40)), "error")
            return
        from co_tui.ui.actions import Actions

        self.run_worker(Actions(self).do(name, arguments), group="commands", exit_on_error=False)

    async def rename_session(self, session_id: str, title: str) -> None:
        self._require_engine()
        if self.session is not None and self.session.id == session_id:
            await self.session.rename(title)
        else:
            await self.engine.rename(session_id, title)

    async def delete_session(self, session_id: str) -> None:
        """For good. The open session is left first, and a new one begins."""
        self._require_engine()
        if session_id == self._session_id:
            await self.switch_session("")
        await self.engine.delete(session_id)

    def _require_engine(self) -> None:
        if not self.engine.ready:
            raise StoreError("The engine is still loading; try again in a moment.")

    def open_event(self, event: Event) -> None:
        from co_tui.ui.screens.detail import EventScreen

        if isinstance(event.fact, CompactionComplete) and event.fact.success and self.bridge.state.transcript:
            from co_tui.ui.screens.compaction import CompactionScreen

            self.push_screen(CompactionScreen(event, self.bridge.state), self._wished)
        else:
            self.push_screen(EventScreen(event))

    def open_pasted(self, marker: str, text: str) -> None:
        """What a marker in the prompt stands for, to be read or changed."""
        from co_tui.ui.screens.edit import EditScreen

        def edited(changed: str | None) -> None:
            if changed is not None and changed != text:
                self.chat.prompt.replace_pasted(marker, changed)

        self.push_screen(EditScreen(f"Pasted: {marker}", text), edited)

    def _wished(self, wish: "Wish | None") -> None:
        """What was asked for in an opened compaction."""
        if wish is None:
            return
        from co_tui.ui.actions import Actions

        actions = Actions(self)
        self.run_worker(actions.attempt(wish.action, actions.fulfil(wish)), group="commands", exit_on_error=False)

    def reader(self) -> Reader:
        return Reader(self.launch.paths.database)

    async def action_quit(self) -> None:
        """Leave; a running turn is stopped and kept as far as it came."""
        await self._quit(0)

    def _asked_to_leave(self) -> None:
        """By a signal: the same, and the exit code says so."""
        self.run_worker(self._quit(EXIT_CODE), group="leaving")

    async def _quit(self, code: int) -> None:
        if self._leaving:
            return
        self._leaving = True
        way_back = self._way_back()
        await self._leave()
        self.drafts.write(self._session_id, self.chat.prompt.whole)
        await self.engine.close()
        words = [*filter(None, (self._parting_words, way_back))]
        self.exit(message="\n".join(words) or None, return_code=1 if self._parting_words else code)

    def _way_back(self) -> str:
        """How to go on with this session later."""
        if not self._session_id or not self.bridge.state.turn:
            return ""
        title = one_line(self.bridge.state.title, 60)
        return f"co-tui --resume {self._session_id}   goes on with “{title}”."

    def action_copy_or_hint(self) -> None:
        selected = self.screen.get_selected_text()
        if selected:
            self.copy_to_clipboard(selected)
            self.notify("Copied.", timeout=2)
        elif self.session is not None and self.session.busy:
            self.interrupt()
        else:
            self.notify("Ctrl+Q quits; everything is kept.", timeout=3)

    # Looks

    def _theme_named(self, setting: str) -> str:
        ours = {"dark": DARK.name, "light": LIGHT.name}
        automatic = DARK.name if self._terminal_is_dark else LIGHT.name
        wanted = ours.get(setting, setting)
        return wanted if wanted in self.available_themes else automatic

    def _make_look(self, *, rich: bool = True) -> Look:
        return Look(palette_of(self.current_theme), rich=rich)

    def _theme_changed(self, _: Theme) -> None:
        self._look_again()

    def _look_again(self) -> None:
        self.look = self._make_look()
        if self.chat.is_mounted:
            self.chat.transcript.set_look(self.look)
