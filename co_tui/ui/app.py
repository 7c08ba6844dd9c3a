"""The app: start and exit, keys, appearance, and what the chat asks of it."""

import asyncio
import time
import traceback
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.geometry import Size
from textual.theme import Theme
from textual.worker import WorkerFailed

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.events.stored_messages import Span
from co_tui.inert import inert, one_line
from co_tui.key_names import key_name
from co_tui.session.file_references import NamedFile
from co_tui.session.launch import Launch
from co_tui.settings import DEBUG_VARIABLE
from co_tui.ui.background import guarded_callback, run_in_background, run_thread
from co_tui.ui.chat.chat_requests import MAX_EDITED_CHARS
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.command_menus import CommandMenus
from co_tui.ui.dialogs.safe_screen import SafeScreen
from co_tui.ui.keys import command_table
from co_tui.ui.keys.keys_on_hold import KeysOnHold
from co_tui.ui.leaving import Leaving
from co_tui.ui.signals import EXIT_CODE, leave_on_signals
from co_tui.ui.terminal.attention import LONG_TURN_S, alert_sequence
from co_tui.ui.terminal.terminal_facts import KnownTerminals, Resizes, clamped_resize, is_job
from co_tui.ui.textual_internals import (
    bindings_of,
    driver_of,
    forward_event,
    free_strips_at_once,
    is_exiting,
    limit_caches,
    print_after_exit,
    use_steady_animator,
)
from co_tui.ui.theme_choice import Appearance, renderer_for, style_sheets
from co_tui.ui.themes.themes import hold_cursor, own_variables
from co_tui.ui.widgets.safe_text_area import with_newlines

if TYPE_CHECKING:
    from co_tui.ui.terminal.driver import BackgroundReported, QuietParser
    from co_tui.ui.terminal.paste_reader import PasteArriving


FIRST_KEYS_S = 0.03
"""Delay after the first paint: keys typed by then are shown before the remaining widgets are mounted."""


TYPED_BEFORE_S = 0.05
"""Time for keys typed before a signal to reach the prompt."""
MOST_IN_FIELD_CHARS = 2_000
"""Longest paste into a one-line field."""


class CoTui(CommandMenus, App[None]):
    """The full-screen app."""

    TITLE = "co-tui"
    ENABLE_COMMAND_PALETTE = False  # ours looks like every other list
    _has_theme = False
    _reports_focus = False
    """Whether the terminal has reported that it lost the focus."""
    terminal_before: list[Any] | None = None
    """The terminal attributes before the app started, restored when it gives the terminal up."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "copy_or_leave", show=False, priority=True),
        Binding("ctrl+p", "command_palette", show=False, priority=True),
        Binding("f1", "help", show=False, id="command.help", priority=True),  # modal screens hide other bindings
    ]

    def __init__(self, launch: Launch, *, dark: bool = True, typed_ahead: str = "") -> None:
        """`dark`: whether the terminal's background is; `typed_ahead`: input read before the app started."""
        # Textual does not load the style sheet of a default screen.
        super().__init__(css_path=style_sheets(launch.environ))
        self.animation_level = "none"
        self._resizes = Resizes(self)
        use_steady_animator(self)
        limit_caches()
        free_strips_at_once()
        self._has_theme = True
        self.appearance = Appearance(self, launch.settings, terminal_is_dark=dark)
        self.renderer = renderer_for(self.current_theme, rich=False)
        self.chat = ChatScreen(self, launch, branch=launch.branch)
        self._started_with = launch
        self._early: list[events.Event] | None = []
        """Keys typed so far; None once the prompt takes keys itself."""
        self._leaves_early = False
        """Whether a signal asked to leave while keys were held."""
        self.key_parser: QuietParser | None = None
        """Has parsed `typed_ahead`; the driver continues with it."""
        if typed_ahead:
            self._parse_typed_ahead(typed_ahead)
        self.last_typed_at = float("-inf")
        self._started_at = time.monotonic()
        self.failures: list[str] = []
        """Background failures so far, as sentences."""
        self._leaving = Leaving(self, self.chat, lambda: self.controller)
        self._on_hold = KeysOnHold(self, self._dispatch_input, self._is_settled)

    # Starting

    def _parse_typed_ahead(self, typed_ahead: str) -> None:
        from co_tui.ui.terminal.driver import QuietParser

        self.key_parser = QuietParser()
        typed = [*self.key_parser.feed(typed_ahead), *self.key_parser.tick()]
        self._early = [each for each in typed if isinstance(each, events.Key | events.Paste)]

    async def on_event(self, event: events.Event) -> None:
        """Hold keys typed before the prompt, or a screen that opens, is mounted."""
        if isinstance(event, events.InputEvent | events.Paste) and not event.is_forwarded:
            if isinstance(event, events.Key | events.Paste):
                self._note_typing(event)
            if self._early is not None or self._on_hold.hold(event):
                return
        if isinstance(event, events.Resize):
            reported, event = event.size, clamped_resize(event)
            self._resizes.heard(reported, event.size)
        await self._dispatch_input(event)

    def _note_typing(self, event: events.Key | events.Paste) -> None:
        if self._early is not None:
            self._early.append(event)
        if not isinstance(event, events.Key) or event.key != "ctrl+c":
            self._leaving.stay()
        if isinstance(event, events.Paste) or event.is_printable or event.key == "enter":
            self.last_typed_at = time.monotonic()

    def _is_settled(self) -> bool:
        """Whether the open dialog takes the next key. In the chat the prompt handles keys in order, and a turn's events
        are no reason to hold them."""
        screen = self.screen if self.screen_stack else self.chat
        if screen is self.chat or not isinstance(screen, SafeScreen):
            return True
        return screen.is_settled and not self.actions_under_way

    async def _dispatch_input(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            screen = self.screen
            if isinstance(screen, SafeScreen) and screen.intercept(event):
                return
            if isinstance(event, events.Paste) and self.focused is not self.chat.prompt:
                event.text = self._for_field(event.text)
        await super().on_event(event)

    def _for_field(self, text: str) -> str:
        """A paste outside of the prompt, shortened: Textual's fields lay out all of the text. For a line also inert:
        that is drawn with its control characters."""
        from textual.widgets import Input

        is_line = isinstance(self.focused, Input)
        most, where = (MOST_IN_FIELD_CHARS, "line") if is_line else (MAX_EDITED_CHARS, "text")
        if len(text) > most:
            self.notify(f"Only the first {most:,} characters fit into this {where}.", timeout=4)
        return inert(text[:most]) if is_line else with_newlines(text[:most])

    def _forward_early_keys(self) -> None:
        """Forward the held keys in typing order, before any later key."""
        self.chat.set_focus(self.chat.prompt)
        early, self._early = self._early or [], None
        for event in early:
            if isinstance(event, events.Key) and self._is_own(event.key):
                self.call_later(guarded_callback(self, "This key", self.on_event), event)
            else:
                forward_event(self.chat.prompt, event)

    def _is_own(self, key: str) -> bool:
        """Whether the app handles a key before the prompt does."""
        is_prior = any(each.priority for each in bindings_of(self).key_to_bindings.get(key, ()))
        return is_prior or command_table.is_key(key, self.launch.settings.keys)

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        if usual.__name__ != "LinuxDriver":
            return usual
        from co_tui.ui.terminal.driver import QuietDriver

        return QuietDriver

    def get_default_screen(self) -> ChatScreen:
        return self.chat

    def on_load(self) -> None:
        if not self.is_headless:
            leave_on_signals(self._asked_to_leave, self._give_up_terminal, self.terminal_before)

    def _give_up_terminal(self) -> None:
        getattr(driver_of(self), "stop_output", lambda: None)()

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, self._theme_changed, immediate=True)
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))

    async def chat_mounted(self) -> None:
        """Show the stored session and paint; only then mount the remaining widgets and load the engine."""
        self.chat.transcript.set_renderer(self.renderer)
        self._fill_chat()
        self._forward_early_keys()
        if self._leaves_early:
            self.chat.prompt.call_later(self._leave)  # behind the keys
        painted = guarded_callback(self, "Starting", self._painted)
        self.call_after_refresh(lambda: self.set_timer(FIRST_KEYS_S, painted))

    def _fill_chat(self) -> None:
        """Show the stored session or draft. Only a served page has to be informed about an empty chat."""
        if self.launch.session_id or not self.launch.store.prompt_drafts.is_empty or self.is_web:
            self.controller.show_stored(self.launch.session_id, under_own_policy=True)
        else:
            self.chat.show_empty()

    async def _painted(self) -> None:
        self._update_look()
        await self.chat.complete()
        if self.launch.first_command:
            self.run_command(self.launch.first_command, "")
        self.folder_changed()
        if self.launch.is_restored:
            again = f"{self.chat.shortcut_for('new')} starts a new session."
            self.notify(f"This folder's latest session continues. {again}", timeout=8)
        if self.launch.private:
            self.notify("Private session: nothing is saved.", timeout=6)
        self.load_engine()
        if self.launch.choice.model == EMBEDDED:
            self._commands.offer_models()
        if not self.launch.session_id:
            self._commands.offer_import()

    def folder_changed(self) -> None:
        """Ask for trust if this folder needs it, and report problems in its files."""
        loaded = self.launch.loaded
        self.refresh_commands()
        if loaded.withheld is not None:
            from co_tui.ui.control.trust_question import ask_for_trust

            ask_for_trust(self, self.chat, self.controller)
        if added := (*map(str, self.launch.workplace.folders.named), *loaded.settings.add_dirs):
            from co_tui.ui.control.trust_question import ask_about_added

            ask = partial(ask_about_added, self, self.chat, self.controller, added)
            run_in_background(self, "Added folders", ask, group="trust")
        for problem in (*loaded.problems, *loaded.folder_problems, *loaded.agents.problems, *loaded.commands.problems):
            self.chat.feed.note(problem, "error")
        for ignored in loaded.unknown:
            self.chat.feed.note(ignored)

    def load_engine(self) -> None:
        self.controller.load_engine()

    # The ChatHost protocol

    def send(
        self, prompt: str, files: Sequence[NamedFile] = (), *, steers: bool = False, pasted: Sequence[Span] = ()
    ) -> None:
        from co_tui.ui.control.prompts_under_way import OutgoingPrompt

        self.controller.sender.send(OutgoingPrompt(prompt, tuple(files), steers, tuple(pasted)))

    def alert(self, text: str) -> None:
        latest_sign = max(self.last_typed_at, self._started_at)
        is_quiet = not self._reports_focus and time.monotonic() - latest_sign >= LONG_TURN_S
        if (is_quiet or not self.app_focus) and (driver := driver_of(self)) is not None:
            title = self.controller.state.title
            driver.write(alert_sequence(text, self.launch.environ, self.launch.settings.notifications, title))

    def watch_app_focus(self, focused: bool) -> None:
        self._reports_focus = self._reports_focus or not focused

    async def open_address(self, address: str) -> bool:
        from co_tui.ui.chat.link_dialog import open_address

        return await open_address(self, address, self.launch.environ)

    # Leaving

    def action_suspend_process(self) -> None:
        """Suspend to the shell, if there is one that can resume the app."""
        if is_job():
            super().action_suspend_process()
        else:
            self.notify("Cannot suspend here: no shell to return to.", timeout=4)

    async def action_quit(self) -> None:
        await self._leaving.quit()

    def _asked_to_leave(self) -> None:
        """Leave after a signal, with its exit code. What was typed before it becomes part of the draft first."""
        asyncio.get_running_loop().call_later(TYPED_BEFORE_S, self._leave)

    def _leave(self) -> None:
        if self._early:  # kept as a draft, once there is a prompt
            self._leaves_early = True
        elif self._early is not None:  # nothing is open yet that needs closing
            self.exit(return_code=EXIT_CODE)
        else:
            leave = partial(self._leaving.leave, EXIT_CODE)
            run_in_background(self, "Leaving", leave, group="leaving", failed=lambda: self.exit(return_code=EXIT_CODE))

    def survives(self, error: Exception) -> bool:
        # running work may miss widgets that are gone already.
        return is_exiting(self) or (isinstance(error, WorkerFailed) and self._reported(error))

    def survives_action(self, error: Exception) -> bool:
        return self._reported(error)

    def _reported(self, error: Exception) -> bool:
        """Report a failure and keep running; False in tests and when debugging, where it must surface."""
        if self.is_headless or self.launch.environ.get(DEBUG_VARIABLE):
            return False
        message = f"Internal error: {type(error).__name__}: {one_line(str(error), 200)}"
        self.notify(message, severity="error", markup=False)
        return True

    def background_failed(self, sentence: str, error: Exception, *, once: bool = False) -> None:
        """Show a failure in the chat and on the open screen. With `CO_TUI_DEBUG`, print the traceback at exit."""
        if once and sentence in self.failures:
            return
        self.failures.append(sentence)
        if self.launch.environ.get(DEBUG_VARIABLE):
            print_after_exit(self, Text("".join(traceback.format_exception(error))))
        if self.chat.is_mounted:
            self.chat.feed.note(sentence, "error")
        if self.screen is not self.chat:
            self.notify(sentence, severity="error", markup=False)

    def crash(self, error: Exception | None) -> None:
        """End with a sentence: Textual's traceback would print local variables, API keys among them."""
        lines = [f"co-tui failed: {type(error).__name__}: {one_line(str(error), 200)}."]
        if self._control is not None:
            lines = [f"{lines[0]} {self._leaving.kept_sentence}", self._control.current_resume_hint]
        lines.append("Set CO_TUI_DEBUG=1 to see where.")
        if self.launch.environ.get(DEBUG_VARIABLE) and error is not None:
            lines = traceback.format_exception(error)
        print_after_exit(self, Text("\n".join(filter(None, lines))))
        self.panic()

    def action_copy_or_leave(self) -> None:
        """Queued behind the letters typed before it, which are still on their way to the prompt."""
        self.chat.prompt.call_later(guarded_callback(self, "Ctrl+C", self._leaving.copy_or_leave))

    # Appearance

    def may_draw(self) -> bool:
        return self._resizes.may_draw()

    def adapted(self, size: Size) -> bool:
        return self._resizes.adapted(size)

    def get_key_display(self, binding: Binding) -> str:
        return key_name(binding.key_display or binding.key)

    def get_css_variables(self) -> dict[str, str]:
        if not self._has_theme:  # Textual asks for its default theme's first, which is never shown
            return {}
        self.theme_variables = {**super().get_css_variables(), **own_variables(self.current_theme)}
        return self.theme_variables

    # These two are dispatched by name: the driver's modules are imported only in a terminal.
    def on_paste_arriving(self, event: "PasteArriving") -> None:
        self.chat.status.show_pasting(event.chars)
        if event.dropped_chars:
            self.notify(f"Paste too long: the last {event.dropped_chars:,} characters were dropped.", timeout=8)

    def on_background_reported(self, event: "BackgroundReported") -> None:
        self.appearance.terminal_reported(event.dark)
        remember = partial(self._remember_terminal, event.dark)
        run_thread(self, "Remembering the terminal", remember, group="terminal")

    def _remember_terminal(self, dark: bool) -> None:
        KnownTerminals(self.launch.paths, self.launch.environ).note(dark)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        hold_cursor(event.widget)

    def _theme_changed(self, _: Theme) -> None:
        self._update_look()

    def _update_look(self) -> None:
        self.renderer = renderer_for(self.current_theme, draws_images=self.appearance.draws_images)
        if self.chat.is_mounted:
            self.chat.transcript.set_renderer(self.renderer)
