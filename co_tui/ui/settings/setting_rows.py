"""The rows of the settings screen, one per setting. Knows no screen."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from textual.content import Content

from co_tui.inert import inert, one_line
from co_tui.paths import Paths
from co_tui.settings import Loaded, SettingGroup, Settings, about, policy_names, rules, value_text
from co_tui.settings.all_settings import needs_trust

EMPTY: Final = "(empty)"
SOURCE_COLUMNS: Final = 76
"""From this width on the list shows where a value comes from."""
LONG_VALUE: Final = 30
MANY_CHOICES: Final = 8

SWITCH: Final = {"on", "off"}


class SettingRow(NamedTuple):
    name: str
    group: SettingGroup
    value: str
    """As written in the settings file."""
    default: str
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

    def matches(self, words: str) -> bool:
        return all(word in f"{self.name} {self.sentence} {self.value}".lower() for word in words.lower().split())


def setting_rows(loaded: Loaded, unused: Mapping[str, str], paths: Paths) -> list[SettingRow]:
    """Every setting, in display order."""
    defaults = Settings()

    def row(name: str) -> SettingRow:
        origin, rule = loaded.origins[name], rules()[name]
        choices = policy_names(paths) if name == "policy" else rule.choices
        group, sentence = about(name)
        return SettingRow(
            name=name,
            group=group,
            value=value_text(origin.value),
            default=value_text(getattr(defaults, name)),
            source=origin.source.replace(str(paths.config_file), paths.config_file.name),
            sentence=sentence,
            allowed=inert(f"one of {', '.join(choices)}") if name == "policy" else rule.allowed,
            choices=tuple(choices),
            unused=unused.get(name, ""),
        )

    # The context group starts with the policy, although its settings differ in who may set them.
    return sorted((row(name) for name in rules()), key=lambda row: row.group == "context" and needs_trust(row.name))


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
