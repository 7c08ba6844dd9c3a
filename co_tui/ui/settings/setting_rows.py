"""The rows of the settings screen, one per setting. Knows no screen."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from textual.content import Content

from co_tui.inert import inert, one_line
from co_tui.paths import Paths
from co_tui.settings import Loaded, SettingGroup, Settings, about, policy_names, rules, value_text
from co_tui.settings.all_settings import needs_trust

EMPTY: Final = "(empty)"
KEY_COLUMNS: Final = 76
SOURCE_COLUMNS: Final = 100
"""From these widths on the list shows a setting's name in the file, and where its value comes from."""
LABEL_COLUMNS: Final = 29
NAME_COLUMNS: Final = 33
LONG_VALUE: Final = 30
MANY_CHOICES: Final = 8

SWITCH: Final = {"on", "off"}


class SettingRow(NamedTuple):
    name: str
    """In the settings file."""
    label: str
    """For people."""
    group: SettingGroup
    value: str
    """As written in the settings file."""
    shown: str
    """For people: 0 by what it means."""
    default: str
    """For people, too."""
    source: str
    sentence: str
    allowed: str
    """A description of the allowed values, already inert."""
    choices: Sequence[str]
    """The allowed values; empty for free text."""
    unused: str
    """Why it has no effect at present."""

    @property
    def is_switch(self) -> bool:
        return set(self.choices) == SWITCH

    @property
    def is_set(self) -> bool:
        """Whether it was set, rather than a default or the policy's."""
        return self.source != "default" and not self.source.startswith("policy ")

    @property
    def searched(self) -> str:
        """The text that a search looks at."""
        return f"{self.label} {self.name} {self.sentence} {self.value} {self.shown}"


def setting_rows(loaded: Loaded, unused: Mapping[str, str], paths: Paths) -> list[SettingRow]:
    """Every setting, in display order."""
    defaults = Settings()

    def row(name: str) -> SettingRow:
        origin, rule = loaded.origins[name], rules()[name]
        choices = policy_names(paths) if name == "policy" else rule.choices
        group, label, sentence = about(name)
        return SettingRow(
            name=name,
            label=label,
            group=group,
            value=value_text(origin.value),
            shown=rule.shown(origin.value),
            default=rule.shown(getattr(defaults, name)),
            source=origin.source.replace(str(paths.config_file), paths.config_file.name),
            sentence=sentence,
            allowed=inert(f"one of {', '.join(choices)}") if name == "policy" else rule.allowed,
            choices=tuple(choices),
            unused=unused.get(name, ""),
        )

    # The context group starts with the policy, although its settings differ in who may set them.
    return sorted((row(name) for name in rules()), key=lambda row: row.group == "context" and needs_trust(row.name))


def setting_line(row: SettingRow, width: int) -> Content:
    """Name and value; where there is room, also the name in the file and the source."""
    key = row.name if width >= KEY_COLUMNS else ""
    source = row.source if width >= SOURCE_COLUMNS else ""
    label_width = min(LABEL_COLUMNS, width // 2)
    label = f"{'●' if row.is_set else ' '} {one_line(row.label, label_width - 1):<{label_width}}"
    key = f"{one_line(key, NAME_COLUMNS - 1):<{NAME_COLUMNS}}" if key else ""
    room = width - len(label) - len(key) - (24 if source else 0)
    value = Content(f"{one_line(row.shown, 200)}{' (unused)' if row.unused else ''}")
    value = value.truncate(max(6, room), ellipsis=True, pad=bool(source))
    weak = "$muted" if row.unused or row.value == EMPTY else ""
    return Content.assemble(
        (label, "bold" if row.is_set else "$muted" if row.unused else ""),
        (key, "$muted"),
        (value.plain, weak),
        (f" {one_line(source, 23)}" if source else "", "$muted"),
    )


def about_setting(row: SettingRow, *, whole: bool) -> Content:
    """The description of a setting; `whole` includes a value that the list has no room for."""
    unused = f"{row.unused[0].upper()}{inert(row.unused[1:])}." if row.unused else ""
    origin = f"From {one_line(row.source, 200)}; the default is {one_line(row.default, 60)}."
    listed = f"one of {len(row.choices)} (Enter lists them)"
    parts = (
        (one_line(row.shown, 300) if whole else "", "bold"),
        (row.sentence, ""),
        (unused, "bold"),
        ("This is the default." if row.source == "default" else origin, "$muted"),
        (f"Allowed: {listed if len(row.choices) > MANY_CHOICES else row.allowed}.", "$muted"),
    )
    return Content("\n").join(Content.styled(text, style) for text, style in parts if text)
