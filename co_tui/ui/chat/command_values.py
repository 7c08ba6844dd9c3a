"""The values of commands that depend on settings and files: policies, modes, models, themes."""

from collections.abc import Iterable, Iterator
from typing import Final

from co_tui import settings
from co_tui.agent.models.catalogue import EMBEDDED, PROVIDERS
from co_tui.events.wording import MODE_SENTENCES
from co_tui.session.launch import Launch
from co_tui.ui.prompt.completion import ArgumentValue, ArgumentValues, argument_values

_FORMATS: Final = {"markdown": "to read", "html": "one page to share", "jsonl": "to import again"}
_OPEN: Final = ("model",)
"""Commands that take other values, too."""


def command_values(name: str, launch: Launch) -> ArgumentValues:
    """The values that a command takes now."""
    found = tuple(_found(name, launch))
    return ArgumentValues(found, is_closed=name not in _OPEN) if found else argument_values(name)


def _found(name: str, launch: Launch) -> Iterator[ArgumentValue]:
    match name:
        case "policy":
            for policy in launch.policies:
                yield ArgumentValue(policy, settings.policy_description(policy, launch.paths))
        case "mode":
            yield from (ArgumentValue(mode, sentence) for mode, sentence in MODE_SENTENCES.items())
        case "export":
            yield from (ArgumentValue(form, use) for form, use in _FORMATS.items())
        case "theme":
            yield from map(ArgumentValue, settings.rules()["theme"].choices)
        case "config":
            yield from (ArgumentValue(key, settings.about(key)[1]) for key in settings.rules())
        case "model":
            yield from _models(launch)


def _models(launch: Launch) -> Iterator[ArgumentValue]:
    """The recent models, then what a name may begin with."""
    from co_tui.ui.models.model_list import RecentModels  # not needed for the first paint

    recent: Iterable[str] = dict.fromkeys([launch.choice.model, *RecentModels(launch.paths).read(), EMBEDDED])
    yield from map(ArgumentValue, recent)
    for provider in PROVIDERS:
        ready = "" if provider.has_key(launch.environ) else " (no key is set)"
        yield ArgumentValue(f"{provider.prefix}:", f"then a model's name{ready}")
