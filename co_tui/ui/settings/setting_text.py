"""How the settings screen writes a setting: its line in the list, and its description."""

from typing import Final

from textual.content import Content

from co_tui.inert import inert, one_line
from co_tui.ui.settings.setting_rows import SettingRow

EMPTY: Final = "(empty)"
SOURCE_COLUMNS: Final = 76
"""From this width on the list shows where a value comes from."""
LONG_VALUE: Final = 30
MANY_CHOICES: Final = 8


def setting_line(row: SettingRow, width: int) -> Content:
    """Name, value and, where there is room, source."""
    source = row.source if width >= SOURCE_COLUMNS else ""
    name_width = min(34, width // 2)
    name = f"{'●' if row.is_set else ' '} {one_line(row.name, name_width - 1):<{name_width}}"
    room = width - name_width - 2 - (24 if source else 0)
    value = Content(f"{one_line(row.value, 200)}{' (unused)' if row.unused else ''}")
    value = value.truncate(max(6, room), ellipsis=True, pad=bool(source))
    weak = "$muted" if row.unused or row.value == EMPTY else ""
    line = Content.assemble((name, "bold" if row.is_set else "$muted" if row.unused else ""), (value.plain, weak))
    return Content.assemble(line, (f" {one_line(source, 23)}", "$muted")) if source else line


def about_setting(row: SettingRow, *, whole: bool) -> Content:
    """The description of a setting; `whole` includes a value that the list has no room for."""
    unused = f"{row.unused[0].upper()}{inert(row.unused[1:])}." if row.unused else ""
    origin = f"From {one_line(row.source, 200)}; the default is {one_line(row.default, 60)}."
    listed = f"one of {len(row.choices)} (Enter lists them)"
    parts = (
        (one_line(row.value, 300) if whole else "", "bold"),
        (row.sentence, ""),
        (unused, "bold"),
        ("This is the default." if row.source == "default" else origin, "$muted"),
        (f"Allowed: {listed if len(row.choices) > MANY_CHOICES else row.allowed}.", "$muted"),
    )
    return Content("\n").join(Content.styled(text, style) for text, style in parts if text)
