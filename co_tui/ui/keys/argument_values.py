"""The values that a slash command takes, for the prompt's completions."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from co_tui.ui.keys import command_table

if TYPE_CHECKING:
    from co_tui.ui.launch import Launch

_FORMATS: Final = {"markdown": "to read", "html": "one page to share", "jsonl": "to import again"}
_WORD: Final = re.compile(r"\b[a-z]+\b")
_NAMED: Final = re.compile(r"[A-Z]")


class ArgumentValue(NamedTuple):
    name: str
    help: str = ""


class ArgumentValues(NamedTuple):
    """What may follow a command."""

    values: tuple[ArgumentValue, ...] = ()
    is_closed: bool = True
    """Whether it takes nothing else."""

    def starting_with(self, letters: str) -> list[ArgumentValue]:
        """An exact match comes first; nothing if it is the only one."""
        found = [value for value in self.values if value.name.startswith(letters)]
        found.sort(key=lambda value: value.name != letters)
        return found if [value.name for value in found] != [letters] else []


NO_VALUES: Final = ArgumentValues()


def argument_values(name: str, launch: "Launch | None" = None) -> ArgumentValues:
    """The values of a command; without a launch only those that the table of commands names."""
    command = command_table.find(name)
    if command is None or not command.arguments:
        return NO_VALUES
    if launch is not None and (found := tuple(_found(name, launch))):
        return ArgumentValues(found, is_closed=name != "model")
    # As in "[instructions | clear]"; capitals stand for anything.
    words = tuple(ArgumentValue(word) for word in _WORD.findall(command.arguments))
    return ArgumentValues(words, is_closed=not _NAMED.search(command.arguments))


def _found(name: str, launch: "Launch") -> Iterator[ArgumentValue]:
    from co_tui import settings

    match name:
        case "policy":
            for policy in settings.policy_names(launch.paths):
                yield ArgumentValue(policy, settings.policy_description(policy, launch.paths))
        case "mode":
            from co_tui.ui.approvals.modes import SENTENCES

            yield from (ArgumentValue(mode, sentence) for mode, sentence in SENTENCES.items())
        case "export":
            yield from (ArgumentValue(form, use) for form, use in _FORMATS.items())
        case "theme":
            yield from map(ArgumentValue, settings.rules()["theme"].choices)
        case "config":
            yield from (ArgumentValue(key, settings.about(key)[1]) for key in settings.rules())
        case "model":
            yield from _models(launch)


def _models(launch: "Launch") -> Iterator[ArgumentValue]:
    """The recent models, then what a name may begin with."""
    from co_tui.agent.models.catalogue import EMBEDDED, PROVIDERS
    from co_tui.ui.models.model_list import RecentModels

    recent: Iterable[str] = dict.fromkeys([launch.choice.model, *RecentModels(launch.paths).read(), EMBEDDED])
    yield from map(ArgumentValue, recent)
    for provider in PROVIDERS:
        ready = "" if provider.has_key(launch.environ) else " (no key is set)"
        yield ArgumentValue(f"{provider.prefix}:", f"then a model's name{ready}")
