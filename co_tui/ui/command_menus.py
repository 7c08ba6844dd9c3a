"""What lists commands and keys over the chat: the palette, help, the keys that work here, the leader's letters."""

import asyncio
from functools import cached_property, partial
from typing import TYPE_CHECKING

from co_tui.events.wording import MODE_SENTENCES
from co_tui.session.launch import Launch
from co_tui.session.slash import typed_command
from co_tui.settings import commands_in_force, policy_description, policy_label
from co_tui.ui.background import guarded_callback, run_in_background
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.keys.command_table import active_keys, screen_keys
from co_tui.ui.keys.keys_on_hold import KeysOnHold
from co_tui.ui.textual_internals import AppInternals
from co_tui.ui.theme_choice import Appearance

if TYPE_CHECKING:
    from textual.screen import Screen

    from co_tui.events import Event
    from co_tui.ui.commands.host import CommandHost
    from co_tui.ui.control.controller import SessionController
    from co_tui.ui.help.palette import FurtherEntry


class CommandMenus(AppInternals):
    """Opens these screens, and runs what is chosen there."""

    chat: ChatScreen
    appearance: Appearance
    _on_hold: KeysOnHold
    _started_with: Launch
    _control: "SessionController | None" = None

    @property
    def controller(self) -> "SessionController":
        """Made when first asked for: an empty chat is painted without it."""
        if self._control is None:
            from co_tui.ui.control.controller import SessionController

            self._control = SessionController(self, self.chat, self._started_with)
        return self._control

    @property
    def launch(self) -> Launch:
        return self._control.launch if self._control is not None else self._started_with

    @property
    def mode(self) -> str:
        """The permission mode of the session shown, or of the next one."""
        return self._control.modes.current if self._control is not None else self._started_with.settings.mode

    @cached_property
    def _commands(self) -> "CommandHost":
        from co_tui.ui.commands.host import CommandHost

        return CommandHost(self, self.chat, self.controller, self.appearance)

    def run_command(self, name: str, arguments: str) -> None:
        self._commands.run(name, arguments)

    async def use_configured_model(self) -> bool:
        from co_tui.ui.commands.models_commands import use_configured

        return await use_configured(self._commands)

    def open_entry(self, event: "Event") -> None:
        from co_tui.ui.commands.conversation_commands import open_entry

        self._commands.start("timeline", partial(open_entry, self._commands, event))

    def open_work(self, key: str) -> None:
        from co_tui.ui.commands.work_commands import open_work

        self._commands.start("tasks", partial(open_work, self._commands, key))

    def refresh_commands(self) -> None:
        """Read again, in the background, which commands files and MCP servers offer."""
        launch = self.launch

        async def read() -> None:
            files = await asyncio.to_thread(commands_in_force, launch.paths, launch.cwd, launch.settings)
            self.chat.offer_commands(typed_command.own_commands(files, self.controller.backend.server_prompts()))

        run_in_background(self, "Reading the commands", read, group="own commands", latest=True)

    def action_command(self, name: str, arguments: str = "") -> None:
        from textual.widgets import Input

        command = typed_command.find(name, self.chat.own_commands)
        if name == "compact" and command is not None and not self._commands.has_to_wait(command, ""):
            from co_tui.ui.commands.conversation_commands import offer_compaction

            self._commands.start(name, partial(offer_compaction, self._commands))
            return
        is_open = isinstance(self.focused, Input)  # its key then only focuses the find bar
        opens = command is not None and command.opens_screen and not self._commands.has_to_wait(command, arguments)
        if opens and self.screen is self.chat and not is_open:
            self._hold_keys_for_next_focus()
        self.run_command(name, arguments)

    def _hold_keys_for_next_focus(self) -> None:
        """Hold keys typed before the opening screen has the focus."""
        before = self.focused
        self._on_hold.expect(lambda: self.focused not in (before, None))

    def action_command_palette(self) -> None:
        from co_tui.ui.help.palette import PaletteScreen

        if self.screen is self.chat:
            self.refresh_commands()
            keys = self.launch.settings.keys
            self._choose_command(PaletteScreen(keys, lambda: self.chat.own_commands, self._further_entries))

    def _further_entries(self) -> "list[FurtherEntry]":
        from co_tui.ui.commands.palette_entries import further_entries

        return further_entries(self._commands)

    def action_leader(self) -> None:
        """Wait for the letter of a command; selected text is cut instead, as everywhere else."""
        from co_tui.ui.help.keys_screen import LeaderScreen

        prompt = self.chat.prompt
        if self.screen is not self.chat:
            return
        if prompt.has_focus and prompt.selected_text:
            prompt.action_cut()
        else:
            self._choose_command(LeaderScreen(self.launch.settings.keys))

    def _choose_command(self, screen: "Screen[str] | Screen[str | None]") -> None:
        self._hold_keys_for_next_focus()
        self.push_screen(screen, self._command_chosen)

    def _command_chosen(self, chosen: str | None) -> None:
        if chosen is not None:
            name, _, arguments = chosen.partition(" ")
            self.call_later(guarded_callback(self, f"/{name}", self.action_command), name, arguments)

    def action_keys_here(self) -> None:
        """Show the keys that work now; what is typed on it goes to the prompt."""
        from co_tui.ui.help.keys_screen import KeysHereScreen

        chat = self.chat
        if self.screen is chat:
            own = chat.own_commands if chat.prompt.has_focus else ()
            keys = KeysHereScreen(
                *(active_keys(chat), screen_keys(chat), own),
                words=self._explained(),
                in_prompt=chat.prompt.has_focus,
            )
            self.push_screen(keys, self._typed_instead)

    def _explained(self) -> list[tuple[str, str]]:
        """The policy and the mode, which the screen only names, and what they do."""
        launch = self.launch
        policy, mode = launch.settings.policy, self.mode
        keeps = policy_description(policy, launch.paths)
        return [
            (
                policy_label(policy),
                f"Context policy, {keeps}. /policy chooses another",
            ),
            (mode, f"Mode: {MODE_SENTENCES.get(mode, '')}. /mode switches it"),
        ]

    def _typed_instead(self, character: str | None) -> None:
        if character:
            self.chat.prompt.insert(character)
            self.chat.prompt.focus()

    def action_help(self) -> None:
        """Open help on any screen, or close it; in the chat it is a command."""
        from co_tui.ui.help.help_screen import HelpScreen

        if self.screen is self.chat:
            self.action_command("help")
        elif isinstance(self.screen, HelpScreen):
            self.screen.action_close()
        else:
            self.push_screen(HelpScreen(active_keys(self.screen), self.launch.settings.keys, self.chat.own_commands))
