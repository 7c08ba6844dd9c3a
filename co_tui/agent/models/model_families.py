"""The models that agent and command files name in other programs' words: `haiku`, or a model's name alone."""

import re
from functools import cache
from typing import Final

from co_tui.agent.models.catalogue import EMBEDDED, provider_of
from co_tui.events.model_names import served

SMALL: Final = ("haiku", "flash", "small", "fast", "mini", "nano", "lite")
"""Families of small models, usual ones first. At a provider without such a family another of them is meant: it costs
little. Nothing takes the place of a large one."""
_VERSION: Final = re.compile(r"v?\d{1,3}")
_DATE: Final = re.compile(r"\d{4,}")


def model_named(written: str, present: str) -> str:
    """The model string that a file means: `PROVIDER:NAME` as it is, else a model or a family of the provider of the
    `present` model. Empty if there is none, and for no name at all."""
    if not written or ":" in written or written == EMBEDDED:
        return written
    if written.lower() in re.split(r"[-./:]", present):
        return present
    provider = provider_of(present)
    if provider is None or not provider.default_model or served(present) is not None:
        return ""  # which models such a server has is not known
    prefix = present.partition(":")[0]
    names, word = _names_of(provider.prefix), written.lower().partition("[")[0]  # `sonnet[1m]`
    if word in names:
        return f"{prefix}:{word}"
    maker = provider.default_model.partition("-")[0]
    similar = (word, *SMALL) if word in SMALL else (word,)
    found = next(filter(None, (_newest(each, maker, names) for each in similar)), "")
    return f"{prefix}:{found}" if found else ""


def unknown_family(written: str, present: str) -> str:
    """The sentence about a name that means no model here."""
    return f"{written} is not a known model of {present.partition(':')[0]}."


@cache
def _names_of(provider: str) -> tuple[str, ...]:
    from co_tui.agent.models.known_models import known_names

    return tuple(name for each in known_names() if (name := each.removeprefix(f"{provider}:")) != each)


def _newest(family: str, maker: str, names: tuple[str, ...]) -> str:
    """The newest plain model of a family, such as `claude-haiku-5-5`: no date, and no further words if possible."""
    found = [(name, re.split(r"[-.]", name)) for name in names]
    own = {
        name: parts
        for name, parts in found
        if parts[0] == maker and family in parts and not any(_DATE.fullmatch(part) for part in parts)
    }

    def rank(name: str) -> tuple[int, list[int]]:
        numbers = [int(part.lstrip("v")) for part in own[name] if _VERSION.fullmatch(part)]
        return len(numbers) - len(own[name]), numbers

    return max(own, key=rank, default="")
