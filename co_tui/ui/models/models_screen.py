"""The model picker: recent models, models on this machine, and every provider's."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from co_tui.agent.keys.kept_keys import KeptKeys, KeyUnavailable
from co_tui.agent.keys.key_servers import key_owner
from co_tui.agent.models.catalogue import BASE_URL_VARIABLE
from co_tui.events.model_names import served, short_name
from co_tui.inert import one_line
from co_tui.record import Record
from co_tui.ui.background import run_in_background
from co_tui.ui.dialogs.dialog import show_rows
from co_tui.ui.dialogs.filter_dialog import FilteringDialog
from co_tui.ui.formatting import tokens
from co_tui.ui.heavy_imports import import_locked, nearby_servers
from co_tui.ui.models.model_list import ModelEntry, ModelGroup, ModelList, found_models, is_model_string, known_models
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

if TYPE_CHECKING:
    from co_tui.agent.models.nearby_servers import UsualServer

MAX_SHOWN: Final = 100
KEYS: Final = (("enter", "choose"), ("escape", "back"), ("●", "ready"), ("○", "not ready"))
NO_MATCH: Final = "No known model matches. You can type any PROVIDER:NAME."
NARROW: Final = 50
"""In fewer columns prices are left out."""


class ModelsKnown(Record):
    """The input of the model list."""

    environ: Mapping[str, str]
    present: str
    recent: Sequence[str] = ()
    base_url: str = ""
    """Address of the configured server; empty means the one in the environment, if any."""
    keys: KeptKeys | None = None
    """Keys kept by `co-tui login`."""

    @property
    def kept(self) -> frozenset[str]:
        """The providers with a kept key."""
        return self.keys.providers(self.environ, self.base_url) if self.keys is not None else frozenset()

    def server_key(self) -> str:
        """The key of the configured server. Slow: call it in a thread."""
        owner = key_owner("openai-chat", self.environ, self.base_url)
        if owner is None:
            return ""
        try:
            return owner.key_in(self.environ) or (self.keys.read(owner) if self.keys is not None else "")
        except KeyUnavailable:
            return ""


class ModelScreen(FilteringDialog[str]):
    """Type to filter, or any model string; Enter chooses. Entries appear as they are found."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Back"),
    ]

    def __init__(self, known: ModelsKnown) -> None:
        super().__init__()
        self._known = known
        self._models = ModelList(known.environ, known.present, known.recent, known.base_url, known.kept)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Choose a model"
            box.border_subtitle = "$ per million tokens in/out"
            yield Field(placeholder="Filter, or any PROVIDER:NAME, gguf:PATH")
            yield SafeList(classes="-filling")
            yield KeyHints(*KEYS)

    def on_mount(self) -> None:
        self._fill()
        run_in_background(self, "Loading models", self._load_catalogue, group="catalogue")
        run_in_background(self, "Asking local servers", self._ask_servers, group="servers")

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._fill)

    async def _load_catalogue(self) -> None:
        """Add the catalogue once the provider library is imported."""
        self._models.learn_catalogue(await asyncio.to_thread(import_locked, known_models))
        self._fill()

    async def _ask_servers(self) -> None:
        """Ask all servers at once; each one's models appear as soon as it answers."""
        nearby = await asyncio.to_thread(import_locked, nearby_servers)
        environ = self._known.environ
        base_url = self._known.base_url or environ.get(BASE_URL_VARIABLE, "")

        async def ask_local(server: "UsualServer") -> None:
            self._learn_here(found_models(await nearby.models_at(server)))

        async def ask_configured() -> None:
            if base_url:
                key = await asyncio.to_thread(self._known.server_key)
                found = await nearby.models_of(base_url, key)
                self._models.learn_server(found_models(found))
                self._fill()

        configured = base_url.replace("localhost", "127.0.0.1").rstrip("/")
        others = [server for server in nearby.USUAL_SERVERS if server.address != configured]
        await asyncio.gather(ask_configured(), *map(ask_local, others))

    def _learn_here(self, entries: Sequence[ModelEntry]) -> None:
        if entries:
            self._models.learn_here(entries)
            self._fill()

    @on(Input.Changed)
    def _filter(self) -> None:
        self._fill(keep=False)

    def _fill(self, *, keep: bool = True) -> None:
        """Show the matches; `keep` keeps the highlighted model, wherever it moved."""
        if not self.query(OptionList):  # closed while a server was being asked
            return
        options, typed = self.query_one(OptionList), self.query_one(Input).value.strip()
        before = options.highlighted_option.id if keep and options.highlighted_option is not None else None
        rows = self._rows(self._models.matching(typed))
        if is_model_string(typed) and not any(row.id == typed for row in rows):
            rows += [_heading("As typed"), self._row(ModelEntry(model=typed))]
        show_rows(options, rows, NO_MATCH)
        choosable = [row.id for row in rows if row.id is not None]
        if choosable:
            chosen = next((id for id in (before, typed) if id in choosable), choosable[0])
            options.highlighted = options.get_option_index(str(chosen))

    def _rows(self, groups: Sequence[ModelGroup]) -> list[Option]:
        rows: list[Option] = []
        left = MAX_SHOWN
        for group in groups:
            more, entries = group.more + max(0, len(group.entries) - left), group.entries[: max(0, left)]
            left -= len(entries)
            columns = "" if rows else _in_columns("window", "$ in/out", self._room)
            of_provider = group.heading.partition(" ")[0] if group.is_provider else ""
            rows += [
                _heading(group.heading, columns, self._room),
                *(self._row(entry, of_provider) for entry in entries),
            ]
            rows += [_note(f"{more:,} more: type to find them")] if more else []
        return rows

    def _row(self, entry: ModelEntry, provider: str = "") -> Option:
        """A model; `provider` is left out of its name, as the heading has it."""
        present = entry.model == self._known.present
        symbol = "●" if self._models.is_ready(entry.model) else "○"
        room = self._room
        line = Text(no_wrap=True)
        line.append(f"{symbol} {one_line(_label(entry).removeprefix(f'{provider}:'), 120)}", "bold" if present else "")
        figures = _figures(entry, room)
        line.truncate(room - len(figures) - 1, overflow="ellipsis", pad=True)
        line.append(f" {figures}", "dim")
        return Option(line, id=entry.model)

    @property
    def _room(self) -> int:
        """Columns of a row."""
        return max(20, self.query_one(OptionList).scrollable_content_region.width - 2)

    @on(Input.Submitted)
    def _entered(self) -> None:
        chosen = self.query_one(OptionList).highlighted_option
        if chosen is not None and chosen.id:
            self.answer(chosen.id)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.answer(event.option_id or "")

    def action_cancel(self) -> None:
        self.answer("")


def _note(text: str) -> Option:
    return Option(Text(f"  {text}"), disabled=True)


def _heading(title: str, columns: str = "", room: int = 0) -> Option:
    """A heading; the first one names the columns, too."""
    return Option(Text.assemble((title, "bold"), f"{columns:>{max(0, room - len(title))}}"), disabled=True)


def _label(entry: ModelEntry) -> str:
    at = served(entry.model)
    if at is not None and entry.note:
        return f"{at.name} · {entry.note}"
    return f"{short_name(entry.model)} · {entry.note}" if entry.note else short_name(entry.model)


def _figures(entry: ModelEntry, room: int) -> str:
    """Window and prices, in columns; prices only if there is room."""
    at_most = f"≤{tokens(entry.most_tokens)}" if entry.most_tokens else ""
    window = tokens(entry.window_tokens) if entry.window_tokens else at_most
    priced = entry.input_price is not None and entry.output_price is not None
    prices = f"${entry.input_price:g}/{entry.output_price:g}" if priced else ""
    return _in_columns(window, prices, room)


def _in_columns(window: str, prices: str, room: int) -> str:
    return f"{window:>6}" if room < NARROW else f"{window:>6} {prices:>12}"
