"""The models to choose from, in the order in which they are offered, and the ones chosen lately."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from co_tui.agent.models.catalogue import EMBEDDED, EMBEDDED_LABEL, PROVIDERS, is_file, provider_of
from co_tui.paths import Paths, ensure_dir, read_small_text, write_atomically
from co_tui.record import Record
from co_tui.settings import SettingsError, check

if TYPE_CHECKING:
    from co_tui.agent.models.nearby_servers import FoundModel

PRESENT, RECENT, HERE, SERVER, READY, LOCKED = "Now", "Recent", "On this machine", "Server", "Key present", "No key"
GROUPS: Final = (PRESENT, RECENT, HERE, SERVER, READY, LOCKED)
"""In display order."""
EMBEDDED_TOKENS: Final = 8192
MOST_RECENT: Final = 8
MOST_NAME_CHARS: Final = 500
"""A longer model string is not kept."""
MOST_RECENT_BYTES: Final = 64_000


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


EMBEDDED_ENTRY: Final = ModelEntry(model=EMBEDDED, note=f"{EMBEDDED_LABEL}, offline", window_tokens=EMBEDDED_TOKENS)


def default_models() -> list[ModelEntry]:
    """The providers' default models, known without a lookup."""
    return [ModelEntry(model=f"{p.prefix}:{p.default_model}") for p in PROVIDERS if p.default_model]


def known_models() -> list[ModelEntry]:
    """Every model of the known providers, with its window and prices. Slow to import; run it in a thread."""
    from co_tui.agent.models.known_models import known_names, recorded

    defaults = [entry.model for entry in default_models()]
    prefixes = {provider.prefix for provider in PROVIDERS} - {"openai-chat"}
    names = [*defaults, *(name for name in known_names() if name.partition(":")[0] in prefixes)]
    return [
        ModelEntry(
            model=name,
            window_tokens=facts.window_tokens,
            input_price=facts.input_price,
            output_price=facts.output_price,
        )
        for name in dict.fromkeys(names)
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

    def __init__(self, environ: Mapping[str, str], present: str, recent: Sequence[str]) -> None:
        self._environ, self._present, self._recent = environ, present, recent
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
        """Whether it can be used, as far as known: it needs no key, or has one."""
        provider = provider_of(model)
        return model == EMBEDDED or is_file(model) or (provider is not None and provider.has_key(self._environ))

    def matching(self, typed: str) -> list[ModelGroup]:
        """Models that match all typed words, each once, in groups."""
        words = typed.lower().split()
        shown: set[str] = set()
        groups = []
        for heading in GROUPS:
            found = []
            for entry in self._of(heading):
                if entry.model not in shown and _has(entry, words):
                    shown.add(entry.model)
                    found.append(entry)
            if found:
                groups.append(ModelGroup(heading, found))
        return groups

    def _of(self, heading: str) -> Iterator[ModelEntry]:
        known = {entry.model: entry for entry in (*self._catalogue, *self._server, *self._here, EMBEDDED_ENTRY)}
        if heading == PRESENT:
            yield known.get(self._present, ModelEntry(model=self._present))
        elif heading == RECENT:
            yield from (known.get(model, ModelEntry(model=model)) for model in self._recent)
        elif heading == HERE:
            yield from (*self._here, EMBEDDED_ENTRY)
        elif heading == SERVER:
            yield from self._server
        else:
            yield from (entry for entry in self._catalogue if self.is_ready(entry.model) == (heading == READY))


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
    """The models chosen lately, kept between starts. An unreadable or unwritable file counts as empty."""

    def __init__(self, paths: Paths) -> None:
        self._file: Path = paths.state / "recent-models.json"

    def read(self) -> Sequence[str]:
        """Newest first."""
        try:
            kept = json.loads(read_small_text(self._file, MOST_RECENT_BYTES))
        except (OSError, ValueError, RecursionError):
            return ()
        names = kept if isinstance(kept, list) else ()
        return [name for name in names if isinstance(name, str) and 0 < len(name) <= MOST_NAME_CHARS][:MOST_RECENT]

    def note(self, model: str) -> None:
        if len(model) > MOST_NAME_CHARS:
            return
        names = [model, *(name for name in self.read() if name != model)]
        with contextlib.suppress(OSError):
            ensure_dir(self._file.parent)
            write_atomically(self._file, json.dumps(names[:MOST_RECENT]))
