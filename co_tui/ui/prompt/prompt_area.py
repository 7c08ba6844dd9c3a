"""The prompt's text area: Enter sends, up and down at the edges recall earlier prompts."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import ClassVar

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import EditResult, Location

from co_tui.events.stored_messages import Span
from co_tui.session.file_references import NamedFile, NamedFiles
from co_tui.session.slash import typed_command
from co_tui.ui.keys import command_table
from co_tui.ui.prompt.completion import Choice, CompletionOffer, inserted
from co_tui.ui.prompt.pasting import PastedImages, PastedTexts, PastingArea
from co_tui.ui.textual_internals import bindings_of
from co_tui.ui.widgets.safe_text_area import SafeTextArea

MAX_GRAPHEME_CHARS = 64
"""Characters examined on one side of the cursor; no grapheme is longer."""

PLACEHOLDER = "Write a message, / commands, @ files, ! shell, ? keys"
SHORT_PLACEHOLDER = "Message, / commands, ? keys"
OWN_COMMAND_PREFIX = "!"
HOW_TO_RUN = "Type a command after the !, for example `!git status`. The model sees its output."
MAX_REMEMBERED = 200
_COMPLETION_KEYS = ("up", "down", "escape", "tab", "enter")
"""Keys that control the completions while they are shown."""


def is_own_command(text: str) -> bool:
    """Whether it is a shell command of the user's own."""
    return text.startswith(OWN_COMMAND_PREFIX) and bool(text[1:].strip())


class Prompt(PastingArea, SafeTextArea):
    """A text area that sends. Keys are handled synchronously, so that none overtakes another."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Ordinary terminals send Enter and Ctrl+J as different bytes; few report Shift+Enter.
        *command_table.bindings("prompt"),
        Binding("shift+enter", "newline", show=False),  # help lists it with the other
    ]

    class Submitted(Message):
        def __init__(
            self, text: str, files: tuple[NamedFile, ...] = (), *, steers: bool = False, pasted: Sequence[Span] = ()
        ) -> None:
            super().__init__()
            self.text = text
            self.files = files
            """The attached files."""
            self.steers = steers
            """Whether it is meant for the running turn."""
            self.pasted = pasted
            """The parts of the text that were pasted and folded."""

    class Edited(Message):
        """The text or its completions changed."""

    class CommandChosen(Message):
        """A command was chosen from the completions."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class UnknownCommand(Message):
        """An unknown command was sent; up recalls it for correction."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Refused(Message):
        """The prompt was not sent, and stays for correction or for sending it anyway."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    class EmptySubmitted(Message):
        """Enter was pressed in an empty prompt."""

    class QueueRequested(Message):
        """Up was pressed in an empty prompt."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, placeholder=PLACEHOLDER)
        for key in ("f6", "f7"):  # TextArea's own; we use these keys for something else
            bindings_of(self).key_to_bindings.pop(key, None)
        self.offer = CompletionOffer()
        self.up_opens_queue = False
        """While prompts wait, up in an empty prompt opens the queue instead of recalling one."""
        self.servers: Sequence[str] = ()
        """MCP servers whose resources prompts may name."""
        self.shows_keys = True
        """Whether `?` in an empty prompt shows the keys instead of being typed."""
        self._refused = ""
        """The text refused last because of files it names."""
        self._past: list[str] = []
        self._steps_back = 0
        """Which of the earlier prompts is shown; 0 for the draft."""
        self._left_behind: dict[int, str] = {}
        """Texts as they were left by up and down, by steps back."""
        self._put_aside: list[str] = []
        """Texts that came back while another was being written."""

    def remember(self, prompts: list[str]) -> None:
        """Add earlier prompts, oldest first."""
        self._past = [*prompts, *self._past][-MAX_REMEMBERED:]

    def set_text(self, text: str) -> None:
        self.text = self._pasted.fold_if_slow(text)
        self.move_cursor(self.document.end)

    def give_back(self, text: str, *, is_being_written: bool = False) -> bool:
        """Bring an unsent text back, never joined to another: it is selected, so that typing replaces it, and up
        recalls it. While another text is here, only up does; returns False then.

        One that `is_being_written` is continued by the next key instead, and the text that was here is put aside.
        """
        if is_being_written:
            before = self.whole
            self.replace_draft(text)
            if before.strip():
                self._put_aside.append(before)
            return True
        self._remember(text)
        if self.text.strip():
            self._put_aside.append(text)
            return False
        self.set_text(text)
        self.select_all()
        return True

    @property
    def _known_texts(self) -> Sequence[str]:
        return (self.text, *self._past, *self._put_aside, *self._left_behind.values())

    @property
    def unsent(self) -> list[str]:
        """The draft, and the texts that were put aside."""
        return [*dict.fromkeys((self.whole, *self._put_aside))]

    @property
    def is_being_written(self) -> bool:
        """Whether there is a text that someone goes on with, not one that came back and no one touched."""
        return bool(self.text.strip()) and self.selected_text != self.text

    def forget_unsent(self) -> None:
        """Empty the prompt for another session."""
        self.text = ""
        self._put_aside.clear()

    def insert(
        self, text: str, location: Location | None = None, *, maintain_selection_offset: bool = True
    ) -> EditResult:
        """Insert it; without a location as typing does, in place of what is selected."""
        if location is not None or self.selection.is_empty:
            return super().insert(text, location, maintain_selection_offset=maintain_selection_offset)
        return self.replace(text, *self.selection, maintain_selection_offset=False)

    def replace_draft(self, text: str) -> None:
        """Replace the draft; up recalls the old one."""
        if self.text.strip():
            self._leave(self.whole)
        self.set_text(text)

    def clear_draft(self) -> None:
        """Clear the draft; up or undo restores it."""
        self._remember(self.whole)
        self.clear()

    def render_line(self, y: int) -> Strip:
        return with_whole_characters(super().render_line(y), self.size.width)

    def get_cursor_left_location(self) -> Location:
        """One grapheme to the left."""
        row, column = self.cursor_location
        return (row, start_before(self.document[row], column)) if column else super().get_cursor_left_location()

    def get_cursor_right_location(self) -> Location:
        row, column = self.cursor_location
        line = self.document[row]
        return (row, end_after(line, column)) if column < len(line) else super().get_cursor_right_location()

    # Keys

    async def on_key(self, event: events.Key) -> None:
        asked_for_keys = self.shows_keys_at(event) and await self.app.run_action("app.keys_here", self)
        if asked_for_keys or await self._handle_key(event.key):
            event.stop()
            event.prevent_default()

    async def _handle_key(self, key: str) -> bool:
        """Handle a key; False leaves it to the text area, which inserts printable ones."""
        if key in _COMPLETION_KEYS and self._controls_completions(key):
            return True
        match key:
            case "enter":
                self.send()
                return True
            case "up" if not self.text and self.up_opens_queue:
                self.post_message(self.QueueRequested())
                return True
            case "up" if self.cursor_at_first_line and self._step(-1):
                return True
            case "down" if self.cursor_at_last_line and self._step(1):
                return True
            case _:
                return await self._ran_binding(key)

    def shows_keys_at(self, event: events.Event) -> bool:
        """Whether this is `?`, and shows the keys that work here, as nothing is being written."""
        return isinstance(event, events.Key) and event.key == "question_mark" and self.shows_keys and not self.text

    async def _ran_binding(self, key: str) -> bool:
        """Run a binding at once: Textual would run it after the keys that follow were inserted."""
        for binding in bindings_of(self).key_to_bindings.get(key, ()):
            if await self.app.run_action(binding.action, self):
                return True
        return False

    def follow_offer(self) -> CompletionOffer:
        """The completions for the current text."""
        row, column = self.cursor_location
        # Not in shell commands: `@` has no meaning there.
        self.offer.update(self.text, "" if is_own_command(self.text) else self.document[row][:column])
        return self.offer

    def _controls_completions(self, key: str) -> bool:
        self.follow_offer().search()  # decide by the current text, not by the list on the screen
        chosen = self.offer.chosen
        if chosen is None or (key == "enter" and chosen.sort == "value" and not self.offer.runs_on_enter):
            return False
        match key:
            case "up" | "down":
                self.offer.move(-1 if key == "up" else 1)
            case "escape":
                self.offer.dismiss()
            case _:
                self._take(chosen, runs=key == "enter")
        self.post_message(self.Edited())
        return True

    def _take(self, chosen: Choice, *, runs: bool) -> None:
        """Insert the chosen file, value or command; with `runs`, run the command."""
        if chosen.sort == "value":
            self._put(self.offer.with_value)
            if runs:
                self.send()
        elif chosen.sort == "file":
            row, column = self.cursor_location
            start = (row, column - self.offer.length)
            self._insert(inserted(chosen), start, (row, column))
        elif runs:
            self.text = ""
            self.post_message(self.CommandChosen(chosen.name))
        else:
            self._put(f"{chosen.title} ")

    def action_newline(self) -> None:
        self._insert("\n", self.selection.end, self.selection.end)

    def action_steer(self) -> None:
        self.send(steers=True)

    def action_delete_to_start_of_line(self) -> None:
        """Delete to the start of the logical line, however it is wrapped."""
        row, column = self.cursor_location
        if column and self.selection.is_empty:
            self.delete((row, 0), (row, column), maintain_selection_offset=False)
        else:
            super().action_delete_to_start_of_line()

    def action_delete_to_end_of_line(self) -> None:
        row, column = self.cursor_location
        if column < len(self.document[row]) and self.selection.is_empty:
            self.delete((row, column), (row, len(self.document[row])), maintain_selection_offset=False)
        else:
            super().action_delete_to_end_of_line()

    def send(self, *, steers: bool = False) -> None:
        text = self.whole
        if self.text.endswith("\\"):  # a trailing backslash means a newline, as in a shell
            self._put(self.text[:-1] + "\n")
            return
        if not text.strip():
            self.post_message(self.EmptySubmitted())
            return
        called = typed_command.parse_command(text)
        if text.strip() == OWN_COMMAND_PREFIX:
            self._leave(text)  # so that the next prompt is not sent to a shell
            self.post_message(self.Refused(HOW_TO_RUN))
            return
        if called is not None and not self._knows(called.name):
            self._leave(text)
            self.post_message(self.UnknownCommand(called.name))
            return
        # Folded pastes are not searched for file names: they were not typed.
        says = called is None and not is_own_command(text)
        named = self.workplace.named_files(self.text, self.servers) if says and "@" in self.text else NamedFiles()
        images = self._images or PastedImages()
        missing = [f"{marker} is no longer here: paste it again." for marker in images.missing_from(self.text) if says]
        if (troubles := (*named.troubles, *missing)) and self._refused != text:
            self._refused = text
            self.post_message(self.Refused(" ".join((*troubles, "Press Enter again to send anyway."))))
            return
        self._refused = ""
        pictures, pasted = images.in_text(text) if says else (), self._pasted.spans_in(self.text) if says else ()
        self._leave(text)
        self.post_message(self.Submitted(text, (*named.files, *pictures), steers=steers, pasted=pasted))

    def _knows(self, name: str) -> bool:
        """Whether it is a command, built in or not."""
        return bool(typed_command.find(name) or typed_command.find_own(name, self.offer.commands))

    def _leave(self, text: str) -> None:
        """Empty the prompt; up recalls the text."""
        self._remember(text)
        self._put_aside = [each for each in self._put_aside if each != text]
        self.text = ""
        self._pasted = PastedTexts(self._pasted.seen)  # undo does not go back beyond this

    def _remember(self, text: str) -> None:
        for each in (*self._unsent_edits(), text):
            if not self._past or self._past[-1] != each:
                self._past = [*self._past, each][-MAX_REMEMBERED:]
        self._steps_back = 0
        self._left_behind.clear()

    def _unsent_edits(self) -> list[str]:
        """What was written in the draft or in earlier prompts before another one was recalled."""
        left = ((back, self._pasted.unfold(text)) for back, text in self._left_behind.items())
        others = [(back, text) for back, text in left if back != self._steps_back and text.strip()]
        return [text for back, text in others if not back or text != self._past[-back]]

    def _step(self, step: int) -> bool:
        """Recall an earlier or later prompt as it was left; the draft comes after the last one."""
        target = self._steps_back - step
        if not 0 <= target <= len(self._past):
            return False
        self._left_behind[self._steps_back] = self.text
        self._steps_back = target
        left = self._left_behind.get(target)
        self._put(self._pasted.fold_if_slow(self._past[-target]) if left is None else left)
        return True

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(self.Edited())


def start_before(line: str, column: int) -> int:
    """The column where the grapheme before a column begins."""
    begin = max(0, column - MAX_GRAPHEME_CHARS)
    near = line[begin:column]
    return column - 1 if near.isascii() or column < 2 else begin + split_graphemes(near)[0][-1][0]


def end_after(line: str, column: int) -> int:
    """The column where the grapheme at a column ends."""
    near = line[column : column + MAX_GRAPHEME_CHARS]
    return column + 1 if near.isascii() else column + split_graphemes(near)[0][0][1]


def with_whole_characters(strip: Strip, width: int) -> Strip:
    """The line with no grapheme split between two styles, which would change its width."""
    text = strip.text
    if text.isascii() or len(list(strip)) < 2:
        return strip
    styles = [segment.style for segment in strip for _ in segment.text]
    drawn = [(styles[start], text[start:end]) for start, end, _ in split_graphemes(text)[0]]
    runs = groupby(drawn, key=itemgetter(0))
    segments = [Segment("".join(each for _, each in run), style) for style, run in runs]
    return Strip(segments).adjust_cell_length(width, styles[-1] if styles else Style())
