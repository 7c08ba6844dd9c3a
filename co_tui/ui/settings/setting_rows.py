"""What the settings screen shows of each setting. Knows no screen."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from co_tui.inert import inert
from co_tui.paths import Paths
from co_tui.settings import Loaded, SettingGroup, Settings, about, policy_names, rules, value_text
from co_tui.settings.all_settings import needs_trust

SWITCH: Final = {"on", "off"}


class SettingRow(NamedTuple):
    name: str
    group: SettingGroup
    value: str
    """As people write it."""
    default: str
    source: str
    sentence: str
    allowed: str
    """In words, already inert."""
    choices: Sequence[str]
    """The words it can be; empty where a text is written."""
    unused: str
    """Why nothing reads it as things stand."""

    @property
    def is_switch(self) -> bool:
        return set(self.choices) == SWITCH

    @property
    def is_set(self) -> bool:
        """Whether somebody chose it."""
        return self.source != "default" and not self.source.startswith("policy ")

    def matches(self, words: str) -> bool:
        return all(word in f"{self.name} {self.sentence} {self.value}".lower() for word in words.lower().split())


def setting_rows(loaded: Loaded, unused: Mapping[str, str], paths: Paths) -> list[SettingRow]:
    """Every setting, in the order in which people look for them."""
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
            source=_told_source(origin.source, paths),
            sentence=sentence,
            allowed=inert(f"one of {', '.join(choices)}") if name == "policy" else rule.allowed,
            choices=tuple(choices),
            unused=unused.get(name, ""),
        )

    # What governs the context begins with the policy, whoever may set it.
    return sorted((row(name) for name in rules()), key=lambda row: row.group == "context" and needs_trust(row.name))


def _told_source(source: str, paths: Paths) -> str:
    return source.replace(str(paths.config_file), paths.config_file.name)
