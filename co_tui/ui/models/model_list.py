"""The models to choose from, in the order in which they are offered, and the ones chosen lately."""

import contextlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from co_tui.agent.models.catalogue import BASE_URL_VARIABLE, EMBEDDED, EMBEDDED_LABEL, PROVIDERS, Provider, provider_of
from co_tui.events.model_names import is_file, served
from co_tui.kept_file import KeptFile, parse_json
from co_tui.paths import Paths
from co_tui.record import Record
from co_tui.settings import SettingsError, check
from co_tui.settings.rules import has_password

if TYPE_CHECKING:
    from co_tui.agent.models.nearby_servers import FoundModel


_DATED: Final = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{2}-\d{4}|(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01]))(?:-|$)")
"""A release date: `-2025-04-14`, `-20250929`, `-09-2025`, `-0905`."""
_SPECIAL: Final = re.compile(
    r"audio|image|vision|whisper|tts|transcribe|realtime|embed|moderation|guard|computer-use|search-preview|deep-research"
)
"""Made for something else than conversation with tools."""
LATEST_VERSION: Final = 100.0
_VERSION: Final = re.compile(r"(?<![\d.])v?(\d{1,2})(?:[.-](\d{1,2}))?(?![\dbk])")

PRESENT, RECENT, HERE, SERVER, OLDER = "This session", "Recent", "Running here", "Configured server", "Older"
FIRST_OF_PROVIDER: Final = 6
"""Models of a provider shown before anything is typed."""
_OPENAI: Final = (None, "api.openai.com")
"""Hosts that OpenAI's keys are for; none is configured without an address."""
EMBEDDED_TOKENS: Final = 8192
MOST_RECENT: Final = 8
MOST_NAME_CHARS: Final = 500
"""A longer model string is not kept."""


class ModelEntry(Record):
    """A model in the list."""

    model: str
    """The string that chooses it."""
    note: str = ""
    """Who serves it, where that is not in its name."""
    window_tokens: int | None = None
    most_tokens: int | None = None
    """An upper limit of the window, if the window itself is not known yet."""
    input_price: float | None = None
    """US dollars for a million tokens."""
    output_price: float | None = None


class ModelGroup(NamedTuple):
    """Entries under one heading."""

    heading: str
    entries: Sequence[ModelEntry]
    more: int = 0
    """How many further entries typing would show."""
    is_provider: bool = False
    """Whether the heading begins with the provider of all entries."""


EMBEDDED_ENTRY: Final = ModelEntry(model=EMBEDDED, note=f"{EMBEDDED_LABEL}, offline", window_tokens=EMBEDDED_TOKENS)


def default_models() -> list[ModelEntry]:
    """The providers' default models, known without a lookup."""
    return [ModelEntry(model=f"{p.prefix}:{p.default_model}") for p in PROVIDERS if p.default_model]


def known_models() -> list[ModelEntry]:
    """Every model of the known providers, with its window and prices. Slow to import; run it in a thread."""
    from co_tui.agent.models.known_models import offered_names, recorded

    return [
        ModelEntry(
            model=name,
            window_tokens=facts.window_tokens,
            input_price=facts.input_price,
            output_price=facts.output_price,
        )
        for name in offered_names()
        if (facts := recorded(name))
    ]


def found_models(entries: "Iterable[FoundModel]") -> list[ModelEntry]:
    """The models that servers offer, as entries."""
    return [
        ModelEntry(model=each.model, note=each.server, window_tokens=each.window_tokens, most_tokens=each.most_tokens)
        for each in entries
    ]


class ModelList:
    """The models known so far; entries are added as they are found."""

    def __init__(
        self,
        environ: Mapping[str, str],
        present: str,
        recent: Sequence[str],
        base_url: str = "",
        kept: Collection[str] = (),
    ) -> None:
        """`base_url` is the address of the configured server, if there is one; `kept` are the providers with a kept
        key."""
        self._kept = kept
        self._environ, self._present, self._recent = environ, present, recent
        self._base_url = base_url or environ.get(BASE_URL_VARIABLE, "")
        self._catalogue: Sequence[ModelEntry] = default_models()
        self._here: list[ModelEntry] = []
        self._server: Sequence[ModelEntry] = ()

    def learn_catalogue(self, entries: Sequence[ModelEntry]) -> None:
        self._catalogue = entries

    def learn_here(self, entries: Sequence[ModelEntry]) -> None:
        self._here += entries

    def learn_server(self, entries: Sequence[ModelEntry]) -> None:
        self._server = entries

    def is_ready(self, model: str) -> bool:
        """Whether it can be used, as far as known: it needs no key, or its key goes to its provider."""
        provider, at = provider_of(model), served(model)
        if at is not None:
            has_key = self._environ.get("OPENAI_API_KEY") or "openai-chat" in self._kept
            return bool(at.address or self._base_url or has_key)
        if provider is None:
            return model == EMBEDDED or is_file(model)
        if not provider.needs_key:
            return bool(self._environ.get(provider.address_variable))
        if provider.prefix in self._kept and not provider.has_key(self._environ):
            return True  # kept for the host that the provider's models are at
        return provider.has_key(self._environ) and not self._goes_elsewhere(provider)

    def _goes_elsewhere(self, provider: Provider) -> bool:
        """Whether the provider's key is sent to another server: it is then not the provider's own key."""
        return provider.address_variable == BASE_URL_VARIABLE and urlsplit(self._base_url).hostname not in _OPENAI

    def matching(self, typed: str) -> list[ModelGroup]:
        """Models that match all typed words, each once, in groups; without words, only the first of each provider."""
        words = typed.lower().split()
        shown: set[str] = set()
        groups = []
        for heading, entries, first in self._groups():
            found = [entry for entry in entries if entry.model not in shown and _has(entry, words)]
            shown.update(entry.model for entry in found)
            most = len(found) if words or first is None else first
            if found:
                groups.append(ModelGroup(heading, found[:most], len(found[most:]), first == FIRST_OF_PROVIDER))
        return groups

    def _groups(self) -> Iterator[tuple[str, Iterable[ModelEntry], int | None]]:
        """Headings with their entries, and how many of them are shown before anything is typed."""
        known = {entry.model: entry for entry in (*self._catalogue, *self._server, *self._here, EMBEDDED_ENTRY)}
        yield PRESENT, [known.get(self._present, ModelEntry(model=self._present))], None
        yield RECENT, [known.get(model, ModelEntry(model=model)) for model in self._recent], None
        yield HERE, (*self._here, EMBEDDED_ENTRY), None
        yield SERVER, self._server, None
        ready_first = sorted(PROVIDERS, key=lambda provider: not self.is_ready(f"{provider.prefix}:"))
        for provider in ready_first:
            yield self._heading(provider), _in_order(provider, self._catalogue), FIRST_OF_PROVIDER
        yield OLDER, self._catalogue, 0

    def _heading(self, provider: Provider) -> str:
        """The provider, and what it lacks."""
        if self.is_ready(f"{provider.prefix}:"):
            return provider.prefix
        if provider.has_key(self._environ) and self._goes_elsewhere(provider):
            server = "" if has_password(self._base_url) else urlsplit(self._base_url).netloc
            return f"{provider.prefix} · its key goes to {server or 'another server'}"
        if not provider.needs_key:
            return f"{provider.prefix} · set {provider.address_variable}"
        return f"{provider.prefix} · no key: Enter asks for it"


def _in_order(provider: Provider, catalogue: Iterable[ModelEntry]) -> list[ModelEntry]:
    """A provider's models, newest and strongest first, without older ones."""
    own = [entry for entry in catalogue if entry.model.startswith(f"{provider.prefix}:") and not is_older(entry.model)]
    return sorted(own, key=lambda entry: rank(entry.model.partition(":")[2], entry.output_price))


def _has(entry: ModelEntry, words: Sequence[str]) -> bool:
    text = f"{entry.model} {entry.note}".lower()
    return all(word in text for word in words)


def is_model_string(text: str) -> bool:
    """Whether the typed text is a model string."""
    try:
        return bool(check("model", text))
    except SettingsError:
        return False


class RecentModels:
    """The models chosen lately, kept between starts. A file that cannot be read counts as empty; nothing is
    added to it."""

    def __init__(self, paths: Paths) -> None:
        file = paths.state / "recent-models.json"
        self._file = KeptFile(file, parse=_names, written=json.dumps)

    def read(self) -> Sequence[str]:
        """Newest first."""
        names = self._file.read_or_empty()
        return [name for name in names if isinstance(name, str) and 0 < len(name) <= MOST_NAME_CHARS][:MOST_RECENT]

    def note(self, model: str) -> None:
        if len(model) <= MOST_NAME_CHARS:
            with contextlib.suppress(OSError):
                self._file.change(lambda names: [model, *(name for name in names if name != model)][:MOST_RECENT])


def _names(text: str) -> list[Any]:
    found = parse_json(text)
    if not isinstance(found, list | None):
        raise ValueError("it is not a JSON list")
    return found or []


def is_older(name: str) -> bool:
    """Whether it is listed apart: a dated release, whose undated name is listed too, or a special model."""
    return bool(_DATED.search(name) or _SPECIAL.search(name))


def version_of(name: str) -> float:
    """The version in a model's name, as in `opus-4-8` or `grok-4.20`; 0 without one."""
    found = _VERSION.search(name)
    return float(f"{found[1]}.{found[2] or 0}") if found else 0.0


def rank(name: str, output_price: float | None) -> tuple[float, float, str]:
    """Sorts the newest version first, and within it the most expensive one. `latest` is newest, if it has a price."""
    is_latest = output_price is not None and name.endswith("-latest")
    version = version_of(name) or (LATEST_VERSION if is_latest else 0.0)
    return -version, -(output_price or 0.0), name
