"""The settings screen: groups on the left, values on the right; a change takes effect at once."""

from collections.abc import Awaitable, Sequence
from typing import ClassVar, Final, Protocol

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.getters import query_one
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from co_tui.inert import inert, one_line
from co_tui.settings import GROUPS, SettingGroup, SettingsError
from co_tui.ui.dialogs.safe_screen import SafeScreen
from co_tui.ui.keys.search_words import is_found
from co_tui.ui.settings.setting_inputs import ChoiceList, FilterField, GroupList, OpeningList, ValueField
from co_tui.ui.settings.setting_rows import EMPTY, LONG_VALUE, SOURCE_COLUMNS, SettingRow, about_setting, setting_line
from co_tui.ui.widgets.key_line import HELP, KeyLine

LIST_ROWS: Final = 3
"""Minimum rows of the list, however long the description of a setting is."""
AROUND_ROWS: Final = 3
"""Title, keys, and the line above the description."""

CHOICE_CHARS: Final = 60
IN_THE_FILE: Final = {
    "mcp_servers": "/mcp adds one here.",
    "hooks": "",
    "after_edit": "",
    "permissions": "/approvals adds and revokes them here.",
}
"""Tables, which one line cannot hold, and what else changes them."""


class SettingEditor(Protocol):
    """Changes settings; returns a sentence that says when a change takes effect. Raises `SettingsError`."""

    def rows(self) -> Sequence[SettingRow]: ...

    async def change(self, key: str, value: str) -> str: ...

    async def reset(self, key: str) -> str: ...

    def preview(self, theme: str) -> None: ...

    @property
    def file(self) -> str:
        """The path of the user's file, for people."""

    async def edit_file(self) -> str:
        """Open that file in the editor, then read it again."""


class SettingsScreen(SafeScreen, Screen[None]):
    CSS_PATH = "settings.tcss"
    AUTO_FOCUS = "#rows"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]
    BINDINGS: ClassVar[list[BindingType]] = [
        # Before the list sees the key: letters typed right after it are for the filter.
        Binding("slash", "filter", "Filter", priority=True),
        Binding("escape", "back", "Back", priority=True),
        Binding("backspace", "reset", "Default", tooltip="Restore the default"),
        Binding("ctrl+g", "edit_file", "Edit file", tooltip="Edit config.toml in $VISUAL or $EDITOR", priority=True),
    ]

    groups = query_one("#groups", OptionList)
    values = query_one("#rows", OpeningList)
    choices = query_one("#choices", OptionList)
    filter = query_one("#filter", Input)
    text = query_one("#text", Input)

    def __init__(self, editor: SettingEditor, words: str = "") -> None:
        """`words` is the initial filter."""
        super().__init__()
        self._editor, self._words = editor, words
        self.rows: Sequence[SettingRow] = ()
        self._group = GROUPS[0]
        self._edited = ""
        """The setting being changed."""

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        with Horizontal(id="columns"):
            yield GroupList(*(Option(group, id=group) for group in GROUPS), id="groups")
            with Vertical(id="right"):
                yield FilterField(self._edit, id="filter", placeholder="Type to filter")
                yield OpeningList(self._edit, id="rows")
                yield Static(id="about", markup=False)
                yield ChoiceList(id="choices")
                yield ValueField(id="text")
        yield Static(id="said", markup=False)
        yield KeyLine(HELP)

    def on_mount(self) -> None:
        self.groups.highlighted = 0
        self._load()
        self._say(f"Changes are saved to {self._editor.file} · Ctrl+G edits it")
        if self._words:
            self.filter.value = self._words
            self.action_filter()
            self.values.focus()

    def on_resize(self) -> None:
        self.query_one("#about").styles.max_height = max(3, self.size.height - AROUND_ROWS - LIST_ROWS)
        self.call_after_refresh(self._fill)
        self.call_after_refresh(self.refresh_bindings)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a value is being changed, its keys take precedence."""
        if action == "filter" and self.filter.has_focus:
            return False
        if self._edited and action in ("filter", "reset", "edit_file", "to_groups", "to_values", "other_group"):
            return False
        narrow, in_groups = self.has_class("-narrow"), self.groups.has_focus
        wide = not narrow
        possible = {"to_groups": wide and not in_groups, "to_values": wide and in_groups, "other_group": narrow}
        return possible.get(action, action != "reset" or not in_groups)

    @property
    def has_unsaved_text(self) -> bool:
        row = self._highlighted()
        return self.has_class("-writing") and row is not None and self.text.value.strip() != _written(row)

    # Showing

    def _load(self) -> None:
        self.rows = self._editor.rows()
        self._fill()

    def _fill(self) -> None:
        """Show the matches, or the group; keeps the highlighted setting."""
        before, words = self._highlighted(), self.filter.value.strip()
        typed = words.lower().split()
        shown = [row for row in self.rows if (is_found(typed, row.searched) if typed else row.group == self._group)]
        width = max(30, self.values.scrollable_content_region.width)
        self.values.clear_options()
        self.values.add_options([Option(setting_line(row, width), id=row.name) for row in shown])
        if not shown:
            self.values.add_option(Option(Text("No setting matches."), disabled=True))
        else:
            names = [row.name for row in shown]
            self.values.highlighted = names.index(before.name) if before and before.name in names else 0
        self._show_title(f"{len(shown)} matching “{one_line(words, 30)}”" if words else self._group)
        self._show_about()

    def _show_title(self, what: str) -> None:
        one_at_a_time = self.has_class("-narrow") and not self.filter.value.strip()
        groups = f"  ← {GROUPS.index(self._group) + 1} of {len(GROUPS)} →" if one_at_a_time else ""
        hint = groups or ("" if self.filter.value else "  type to filter")
        self.query_one("#title", Static).update(Content.assemble(("Settings", "bold"), f" · {what}", (hint, "$muted")))

    def _highlighted(self) -> SettingRow | None:
        chosen = self.values.highlighted_option
        return next((row for row in self.rows if chosen is not None and row.name == chosen.id), None)

    @on(OptionList.OptionHighlighted, "#rows")
    def _show_about(self) -> None:
        row = self._highlighted()
        about = self.query_one("#about", Static)
        about.display = row is not None
        if row is not None:
            about.border_title = "" if self._edited else f" {row.label} · {row.name} "
            whole = self.values.size.width < SOURCE_COLUMNS or len(row.value) > LONG_VALUE
            about.update(Content(row.sentence) if self._edited else about_setting(row, whole=whole))

    def _say(self, sentence: str, *, bad: bool = False) -> None:
        said = self.query_one("#said", Static)
        said.update(Text(inert(f"{'✗ ' if bad else ''}{sentence}")))
        said.set_class(bad, "-bad")

    @on(OptionList.OptionHighlighted, "#groups")
    def _group_chosen(self, event: OptionList.OptionHighlighted) -> None:
        self._show_group(next(group for group in GROUPS if group == event.option_id))

    def _show_group(self, group: SettingGroup) -> None:
        if group == self._group:
            return  # the initial highlight
        self._group = group
        self.filter.value = ""
        self.remove_class("-filtering")
        self._fill()

    @on(OptionList.OptionSelected, "#groups")
    def _to_values(self) -> None:
        self.values.focus()

    def action_to_groups(self) -> None:
        self.set_focus(self.groups)

    def action_to_values(self) -> None:
        self.set_focus(self.values)

    def action_other_group(self, step: int) -> None:
        """On a narrow screen one group is shown at a time."""
        index = (GROUPS.index(self._group) + step) % len(GROUPS)
        with self.prevent(OptionList.OptionHighlighted):
            self.groups.highlighted = index
        self._show_group(GROUPS[index])

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        if self.rows:
            self._fill()

    def action_filter(self, typed: str = "") -> None:
        """Go to the filter, with what was typed in a list added to it."""
        self.add_class("-filtering")
        self.set_focus(self.filter)
        self.filter.insert_text_at_cursor(typed)

    def action_move(self, step: int) -> None:
        """Move in the list while the filter has the focus."""
        if step > 0:
            self.values.action_cursor_down()
        else:
            self.values.action_cursor_up()

    # Changing

    @on(OptionList.OptionSelected, "#rows")
    async def _edit(self) -> None:
        row = self._highlighted()
        if row is None:
            return
        if row.name in IN_THE_FILE:
            self._say_where_edited(row)
        elif row.is_switch:
            await self._change(row.name, "off" if row.value == "on" else "on")
        elif row.choices:
            self._choose(row)
        else:
            self._write(row)

    def _say_where_edited(self, row: SettingRow) -> None:
        how = f" {IN_THE_FILE[row.name]}" if IN_THE_FILE[row.name] else ""
        self._say(f"{row.label} are edited in {self._editor.file}: Ctrl+G opens it.{how}")

    def _begin_edit(self, row: SettingRow) -> None:
        self._leave_edit()
        self._edited = row.name
        self._show_about()
        self.refresh_bindings()

    def _choose(self, row: SettingRow) -> None:
        self._begin_edit(row)
        present = "" if row.value == EMPTY else row.value
        self.choices.border_title = row.label
        self.choices.clear_options()
        labels = {choice: Text(one_line(choice, CHOICE_CHARS) or EMPTY) for choice in row.choices}
        self.choices.add_options([Option(label, id=f"={choice}") for choice, label in labels.items()])
        self.add_class("-choosing")
        self.set_focus(self.choices)
        if present in row.choices:
            self.choices.highlighted = [*row.choices].index(present)

    def _write(self, row: SettingRow) -> None:
        self._begin_edit(row)
        self.text.border_title = row.label
        self.text.value = _written(row)
        self.add_class("-writing")
        self.set_focus(self.text)
        self._say(f"Use {row.allowed}.")

    @on(OptionList.OptionHighlighted, "#choices")
    def _preview(self, event: OptionList.OptionHighlighted) -> None:
        if self._edited == "theme":
            self._editor.preview(_choice(event))

    @on(OptionList.OptionSelected, "#choices")
    async def _chosen(self, event: OptionList.OptionSelected) -> None:
        await self._change(self._edited, _choice(event))

    @on(Input.Submitted, "#text")
    async def _value_written(self, event: Input.Submitted) -> None:
        row, value = self._highlighted(), event.value.strip()
        if row is not None and value == _written(row):
            self._end_edit()
            self._say(f"{row.label}: unchanged")
        else:
            await self._change(self._edited, value)

    async def _change(self, name: str, value: str) -> None:
        """A refused value stays in the field for correction."""
        try:
            sentence = await self._editor.change(name, value)
        except SettingsError as error:
            self._say(str(error), bad=True)
            return
        self._end_edit()
        self._load()
        self._say(sentence)

    async def action_reset(self) -> None:
        """Restore the default; not of a table, which may hold years of rules."""
        if (row := self._highlighted()) is not None and row.name in IN_THE_FILE:
            self._say_where_edited(row)
        elif row is not None:
            await self._show_outcome(self._editor.reset(row.name))

    async def action_edit_file(self) -> None:
        await self._show_outcome(self._editor.edit_file())

    async def _show_outcome(self, change: Awaitable[str]) -> None:
        try:
            sentence = await change
        except SettingsError as error:
            self._say(str(error), bad=True)
            return
        self._load()
        self._say(sentence)

    def _leave_edit(self) -> None:
        """A theme that was previewed and not chosen is undone."""
        if self._edited == "theme":
            self._editor.preview("")
        self._edited = ""
        self.remove_class("-choosing", "-writing")

    def _end_edit(self) -> None:
        self._leave_edit()
        self.values.focus()
        self._show_about()
        self.refresh_bindings()

    def action_back(self) -> None:
        """Leave the editor, the filter or the screen, whichever was opened last. A filter that the screen was opened
        with is left with it."""
        if self._edited:
            self._end_edit()
            self._say("")
        elif self.has_class("-filtering") and self.filter.value != self._words:
            self.filter.value = ""
            self.remove_class("-filtering")
            self.values.focus()
        else:
            self.dismiss()


def _written(row: SettingRow) -> str:
    """Its value as the field first shows it."""
    return "" if row.value in (EMPTY, "none") else row.value


def _choice(event: OptionList.OptionMessage) -> str:
    return (event.option_id or "=")[1:]
