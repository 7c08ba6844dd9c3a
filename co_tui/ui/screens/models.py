"""Choosing who answers: every provider, whether its key is there, and how large the window is."""

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from co_tui.agent.catalogue import EMBEDDED, EMBEDDED_LABEL, PROVIDERS
from co_tui.ui.formatting import tokens
from co_tui.ui.screens.filtering import FilteringDialog

MAX_SHOWN = 200


class ModelScreen(FilteringDialog[str]):
    """Type to filter, or to name any model string; Enter chooses."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Back"),
    ]

    def __init__(self, environ: Mapping[str, str], present: str) -> None:
        super().__init__()
        self._environ = environ
        self._present = present
        self._models: list[tuple[str, int | None]] = [(EMBEDDED, 8192)]

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Model"
            yield Input(placeholder="Filter, or any PROVIDER:NAME")
            yield OptionList()
            yield Static("enter choose   esc back   ● key present   ○ key missing", classes="keys", markup=False)

    def on_mount(self) -> None:
        self._models += [(f"{p.prefix}:{p.default_model}", None) for p in PROVIDERS if p.default_model]
        self._fill("")
        self.run_worker(self._load_all(), exclusive=True)

    async def _load_all(self) -> None:
        """The whole catalogue needs the provider library; it joins when that is there."""
        from co_tui.ui.model_list import known_models

        self._models = await asyncio.to_thread(known_models)
        self._fill(self.query_one(Input).value)

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._fill(event.value)

    def _fill(self, wanted: str) -> None:
        words = wanted.lower().split()
        found = [entry for entry in self._models if all(word in entry[0].lower() for word in words)]
        found.sort(key=lambda entry: (not self._usable(entry[0]), entry[0] != self._present))
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([self._option(*entry) for entry in found[:MAX_SHOWN]])
        if found:
            options.highlighted = 0

    def _usable(self, name: str) -> bool:
        provider = next((p for p in PROVIDERS if name.startswith(f"{p.prefix}:")), None)
        return name == EMBEDDED or (provider is not None and provider.has_key(self._environ))

    def _option(self, name: str, window: int | None) -> Option:
        sign = "●" if self._usable(name) else "○"
        label = f"{name}  ({EMBEDDED_LABEL}, offline)" if name == EMBEDDED else name
        row = Text(f"{sign} {label}", style="bold" if name == self._present else "")
        row.truncate(52, overflow="ellipsis")
        row.append(" " * max(1, 54 - row.cell_len))
        row.append(f"{tokens(window)} tokens" if window else "unknown", "dim")
        return Option(row, id=name)

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        options = self.query_one(OptionList)
        if options.highlighted is not None and options.option_count:
            self.answer(options.get_option_at_index(options.highlighted).id or "")
        elif event.value.strip():
            self.answer(event.value.strip())

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.answer(event.option_id or "")

    def action_cancel(self) -> None:
        self.answer("")
