"""A compaction, opened: the summary, what it replaced, what was kept and why, and what it cost."""

from typing import ClassVar, Literal, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, OptionList, Static, TabbedContent, TabPane

from co_tui.events import CompactionComplete, Event, Ref
from co_tui.events.messages import RULES, SAID, pieces
from co_tui.inert import inert
from co_tui.session.state.session_state import Entry, SessionState
from co_tui.ui.formatting import money
from co_tui.ui.screens.dialog import Dialog
from co_tui.ui.screens.messages import Row, option, row_of, text_of_all
from co_tui.ui.widgets.block import clock

TABS = ("summary", "replaced", "kept", "cost")


class DetailWish(NamedTuple):
    """What the user wants done with the compaction."""

    action: Literal["undo", "edit", "pin"]
    seq: int
    ref: Ref | None = None


class CompactionScreen(Dialog[DetailWish | None]):
    """Four tabs; the keys at the bottom act on the compaction as a whole."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("u", "wish('undo')", "Undo"),
        Binding("e", "wish('edit')", "Edit"),
        Binding("p", "pin", "Pin"),
        Binding("c", "copy", "Copy"),
        Binding("slash", "search", "Search"),
        *(
            Binding(str(n + 1), f"tab('{name}')", show=False)
            for n, name in enumerate(("summary", "replaced", "kept", "cost"))
        ),
    ]

    def __init__(self, event: Event, state: SessionState) -> None:
        super().__init__(tall=True)
        assert isinstance(event.fact, CompactionComplete)
        self._event, self._fact = event, event.fact
        self._entries = [entry for ref in self._fact.replaced if (entry := state.entry(ref)) is not None]
        self._replaced = [row_of(entry) for entry in self._entries]
        self._shown = self._replaced
        self._kept = kept_rows(event, state)
        self._stands = any(rewrite.seq == event.seq for rewrite in state.rewrites)

    def compose(self) -> ComposeResult:
        fact = self._fact
        with Vertical() as box:
            box.border_title = f"Conversation Compacted · {clock(self._event.timestamp)}"
            box.border_subtitle = "" if self._stands else "undone, or replaced by a later one"
            with TabbedContent(initial="summary"):
                with TabPane("Summary", id="summary"), VerticalScroll():
                    yield Static(Text(inert(_as_sent(fact)) or "No summary was made."))
                with TabPane(f"Replaced {len(self._replaced)}", id="replaced"):
                    yield Input(placeholder="Search in what was replaced")
                    yield OptionList(*map(option, self._shown), id="replaced-list", classes="-filling")
                with TabPane(f"Kept {len(self._kept)}", id="kept"):
                    yield OptionList(*map(option, self._kept), id="kept-list", classes="-filling")
                with TabPane("Cost", id="cost"), VerticalScroll():
                    yield Static(receipt(fact))
            yield Static("1-4 tabs   u undo   e edit   p pin back in   / search   c copy   esc back",
                         classes="keys", markup=False)  # fmt: skip

    def on_mount(self) -> None:
        self.query_one("#summary VerticalScroll").focus()

    @property
    def _tab(self) -> str:
        return self.query_one(TabbedContent).active

    def action_tab(self, name: str) -> None:
        self.query_one(TabbedContent).active = name
        inside = {"replaced": "#replaced-list", "kept": "#kept-list"}.get(name, f"#{name} VerticalScroll")
        self.query_one(inside).focus()

    def action_search(self) -> None:
        self.query_one(TabbedContent).active = "replaced"
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        words = event.value.lower().split()
        pairs = zip(self._replaced, self._entries, strict=True)
        self._shown = [row for row, entry in pairs if all(word in _whole(entry).lower() for word in words)]
        found = self.query_one("#replaced-list", OptionList)
        found.clear_options()
        found.add_options(list(map(option, self._shown)))

    @on(Input.Submitted)
    def _searched(self) -> None:
        self.query_one("#replaced-list").focus()

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        row = (self._shown if event.option_list.id == "replaced-list" else self._kept)[event.option_index]
        entry = next((each for each in self._entries if each.ref == row.ref), None)
        self.app.push_screen(WholeMessage(row, _whole(entry) if entry is not None else row.text))

    def action_wish(self, action: Literal["undo", "edit"]) -> None:
        self.answer(DetailWish(action, self._event.seq or 0))

    def action_pin(self) -> None:
        highlighted = self.query_one("#replaced-list", OptionList).highlighted
        if self._tab != "replaced" or highlighted is None:
            self.notify("Choose a message under Replaced first (2).", timeout=3)
            return
        self.answer(DetailWish("pin", self._event.seq or 0, self._shown[highlighted].ref))

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._fact.summary)
        self.notify("The summary is copied.", timeout=2)

    def action_close(self) -> None:
        """Out of the search first, then out of the dialog."""
        search = self.query_one(Input)
        if search.has_focus:
            search.value = ""
            self.query_one("#replaced-list").focus()
        else:
            self.answer(None)


class WholeMessage(Dialog[None]):
    """One message in full."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Back")]

    def __init__(self, row: Row, text: str) -> None:
        super().__init__(tall=True)
        self._row, self._text = row, text

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = f"{self._row.role} · turn {self._row.turn or '–'}"
            with VerticalScroll():
                yield Static(Text(inert(self._text)))
            yield Static("up, down scroll   esc back", classes="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        self.answer(None)


def kept_rows(event: Event, state: SessionState) -> list[Row]:
    """What stayed through the compaction, each with why."""
    assert isinstance(event.fact, CompactionComplete)
    rows = []
    for message in event.fact.replacement:
        carried = message.get("metadata") or {}
        rows += [Row((0, 0), 0, "you", text, "standing rule ·") for text in carried.get(RULES, ())]
        rows += [Row((0, 0), 0, "you", text, "user message ·") for text in carried.get(SAID, ())]
    rewrite = next((each for each in state.rewrites if each.seq == event.seq), None)
    kept = [entry for entry in rewrite.after if entry.seq != event.seq] if rewrite else []
    return [*rows, *(row_of(entry, _why(entry, state)) for entry in kept), *_recollected(event, state)]


def _recollected(event: Event, state: SessionState) -> list[Row]:
    """What came back into the request after this compaction, and is still in it."""
    fact, latest = state.recollection, state.rewrites[-1] if state.rewrites else None
    if fact is None or latest is None or latest.seq != event.seq:
        return []
    return [Row((0, 0), 0, "recollected", line, "came back ·") for line in fact.note.splitlines()[1:] if line.strip()]


def _why(entry: Entry, state: SessionState) -> str:
    if entry.ref in state.pins:
        return "pinned ·"
    if any(role == "system" for role, _, _ in pieces(entry.message)):
        return "system ·"
    return "recent ·"


def receipt(fact: CompactionComplete) -> Text:
    """What it took and what it saves."""
    rows = [
        ("tokens", f"{fact.pre_tokens:,} → {fact.post_tokens:,}  (−{fact.tokens_removed:,} each request from now on)"),
        ("messages", f"{fact.pre_messages} → {fact.post_messages}"),
        ("trigger", fact.trigger),
        ("summarised by", fact.summarised_by or "nobody: texts only"),
        ("time", f"{fact.duration_ms / 1000:.1f} s, of which {fact.waited_ms / 1000:.1f} s were waited for"),
    ]
    if fact.usage:
        read, written, requests = (fact.usage.get(key, 0) for key in ("input_tokens", "output_tokens", "requests"))
        asked = "1 request" if requests == 1 else f"{requests} requests"
        rows.append(("summary", f"{read:,} tokens read, {written:,} written, {asked}"))
    rows.append(("price", money(fact.cost) if fact.cost is not None else "no price known" if fact.usage else "nothing"))
    if fact.saved_cost:
        rows.append(("saves", f"{money(fact.saved_cost)} each request"))
    if fact.cache_lost_tokens:
        rows.append(("cache lost", f"{fact.cache_lost_tokens:,} tokens the provider had cached"))
    if fact.checkpoint_path:
        rows.append(("checkpoint", f"{fact.checkpoint_number}: {fact.checkpoint_path}"))
    if remark := fact.note or fact.error:
        rows.append(("note", remark))
    text = Text()
    for name, value in rows:
        text.append(f"{name:<14}", "bold")
        text.append(f"{inert(value)}\n")
    return text


def _whole(entry: Entry) -> str:
    return text_of_all(entry.message)


def _as_sent(fact: CompactionComplete) -> str:
    """What stands in the context now, word for word; without replacement, the summary alone."""
    return "\n\n".join(map(text_of_all, fact.replacement)) or fact.summary
