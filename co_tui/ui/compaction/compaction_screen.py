"""A compaction, opened: the summary, what it replaced, what was kept and why, and what it cost."""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.theme import Theme
from textual.widgets import Input, Static, TabbedContent, TabPane

from co_tui.events import CompactionComplete, Event, Ref
from co_tui.events.model_names import short_name
from co_tui.events.stored_messages import NOT_A_HEADING
from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.events.triggers import trigger_label
from co_tui.events.wording import clock
from co_tui.inert import inert
from co_tui.session.state.session_state import Entry, SessionState
from co_tui.ui.compaction.kept_messages import KeptRow, figures_after, kept_rows
from co_tui.ui.dialogs.choose_message import SUMMARY_ROLE, Row, row_of, show_messages, text_of_all
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.formatting import counted, money
from co_tui.ui.terminal.clipboard import copy
from co_tui.ui.text.summary_text import HangingText, summary_text
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import palette_of
from co_tui.ui.timeline.detail_screen import SummaryTextScreen, TextScreen
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.line_list import LineList

OFFLINE = "offline"
AS_SENT = "What the model gets, word for word."
QUOTE_LEGEND = "› marks a quoted line that looks like a heading."

TABS = ("summary", "replaced", "kept", "cost")
CHANGE_KEYS = {"undo": ("u", "undo"), "edit": ("e", "edit"), "pin": ("p", "pin back in")}
"""By action."""
OTHER_KEYS = (("/", "search"), ("c", "copy"), ("escape", "back"))
SEARCH_KEYS = (("enter down", "messages"), ("escape", "end search"))
"""In the search field letters are text."""
WIDTH = 100
MARGIN_COLUMNS, MARGIN_ROWS = 8, 7
"""Around the content of a tab: border, tabs, keys and the space between them."""
SEARCH_ROWS = 3
ACCOUNT_ROWS = 5
NO_MATCH = "No replaced message matches."
NONE_REPLACED = "No messages were replaced."
NOTHING_KEPT = "Nothing else was kept."


class CompactionRequest(NamedTuple):
    """What the user asks for on the screen."""

    action: Literal["undo", "edit", "pin"]
    seq: int
    ref: Ref | None = None


class CompactionScreen(Dialog[CompactionRequest | None]):
    """Four tabs; the keys at the bottom act on the compaction as a whole."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("u", "request('undo')", "Undo"),
        Binding("e", "request('edit')", "Edit"),
        Binding("p", "pin", "Pin"),
        Binding("c", "copy", "Copy"),
        Binding("slash", "search", "Search"),
        Binding("down", "leave_search", show=False),
        *(Binding(str(n), f"tab('{name}')", show=False) for n, name in enumerate(TABS, 1)),
        # Before the scrolling containers see them, which do not scroll sideways.
        Binding("right", "turn(1)", show=False, priority=True),
        Binding("left", "turn(-1)", show=False, priority=True),
    ]

    def __init__(self, event: Event, state: SessionState) -> None:
        super().__init__(tall=True)
        assert isinstance(event.fact, CompactionComplete)
        self._event, self._fact = event, event.fact
        self._entries = [entry for ref in self._fact.replaced if (entry := state.entry(ref)) is not None]
        self._replaced = [row_of(entry) for entry in self._entries]
        self._shown = self._replaced
        self._kept, self._account = kept_rows(event, state), figures_after(self._fact)
        self._receipt = figures(self._fact)
        self._is_in_context = any(entry.seq == event.seq for entry in state.history)
        rewrites = [rewrite.seq for rewrite in state.rewrites]
        is_latest, is_in_effect = rewrites[-1:] == [event.seq], event.seq in rewrites
        self._possible = {"undo": is_latest, "edit": self._is_in_context, "pin": is_in_effect}
        change_keys = (hint for action, hint in CHANGE_KEYS.items() if self._possible[action])
        self._keys = (("1-4", "tabs"), *change_keys, *OTHER_KEYS)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done has no key."""
        return self._possible.get(str(parameters[0]) if action == "request" else action, True)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = f"{COMPACTED_SYMBOL} Conversation Compacted · {clock(self._event.timestamp)}"
            box.border_subtitle = "" if self._is_in_context else "no longer in context"
            with TabbedContent(initial="summary"):
                with TabPane("Summary", id="summary"), VerticalScroll():
                    yield HangingText(self._summary, id="summary-text")
                with TabPane(f"Replaced {len(self._replaced)}", id="replaced"):
                    yield Field(placeholder="Search replaced messages")
                    yield LineList(id="replaced-list", classes="-filling", opens_at_first_click=True)
                with TabPane(f"Kept {self._fact.kept_messages}", id="kept"):
                    yield Static("\n".join([*self._account, ""]), id="account", markup=False)
                    yield LineList(id="kept-list", classes="-filling", opens_at_first_click=True)
                with TabPane("Cost", id="cost"), VerticalScroll():
                    yield Static(self._receipt_table, id="receipt")
            yield KeyHints(*self._keys)

    def on_mount(self) -> None:
        show_messages(self.query_one("#replaced-list", LineList), self._shown, NONE_REPLACED, chosen=0)
        self.query_one("#kept-list", LineList).show(
            len(self._kept), lambda place, width: self._kept[place].line(width), lambda place: place, NOTHING_KEPT
        )
        self.query_one("#summary VerticalScroll").focus()
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def on_resize(self) -> None:
        """As high as the fullest tab needs, so that the box does not jump."""
        width = min(WIDTH, int(self.size.width * 0.95)) - MARGIN_COLUMNS
        summary = self.query_one(HangingText).get_content_height(self.size, self.size, width)
        rows = max(summary, len(self._replaced) + SEARCH_ROWS, len(self._kept) + ACCOUNT_ROWS, len(self._receipt))
        self.query_one("CompactionScreen > Vertical").styles.height = min(
            rows + MARGIN_ROWS, int(self.size.height * 0.9)
        )

    @property
    def _tab(self) -> str:
        return self.query_one(TabbedContent).active

    def action_turn(self, step: int) -> None:
        """Go to the next tab, cyclically; in the search field the keys move the cursor."""
        if isinstance(self.focused, Input):
            raise SkipAction
        now = TABS.index(self.query_one(TabbedContent).active)
        self.action_tab(TABS[(now + step) % len(TABS)])

    def action_tab(self, name: str) -> None:
        self.query_one(TabbedContent).active = name
        inside = {"replaced": "#replaced-list", "kept": "#kept-list"}.get(name, f"#{name} VerticalScroll")
        self.query_one(inside).focus()

    def _theme_changed(self, theme: Theme) -> None:
        self.query_one(HangingText).update(self._summary)
        self.query_one("#receipt", Static).update(self._receipt_table)

    @property
    def _summary(self) -> Text:
        renderer = TextRenderer(palette_of(self.app.current_theme))
        return shown_summary(self._fact, renderer, is_in_context=self._is_in_context)

    @property
    def _receipt_table(self) -> Table:
        return receipt(self._receipt, TextRenderer(palette_of(self.app.current_theme)).muted)

    def action_search(self) -> None:
        self.query_one(TabbedContent).active = "replaced"
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        words, found = event.value.lower().split(), self.query_one("#replaced-list", LineList)
        pairs = zip(self._replaced, self._lower_texts, strict=True)
        self._shown = [row for row, text in pairs if all(word in text for word in words)]
        show_messages(found, self._shown, NO_MATCH, chosen=0)

    @cached_property
    def _lower_texts(self) -> list[str]:
        """The lower-case text of each message, computed once for all keystrokes."""
        return [_whole(entry).lower() for entry in self._entries]

    @on(Input.Submitted)
    def action_leave_search(self) -> None:
        self.query_one("#replaced-list").focus()

    def on_descendant_focus(self) -> None:
        self.query_one(KeyHints).show(*(SEARCH_KEYS if isinstance(self.focused, Input) else self._keys))

    @on(LineList.Opened)
    def _open(self, event: LineList.Opened) -> None:
        rows: Sequence[Row | KeptRow] = self._shown if event.lines.id == "replaced-list" else self._kept
        if event.place >= len(rows):  # filtered out right after the click
            return
        row = rows[event.place]
        if not row.role:
            return  # a heading
        shown = SummaryTextScreen if row.role == SUMMARY_ROLE else TextScreen
        self.app.push_screen(shown(f"{row.role} · turn {row.turn or '–'}", self._whole_of(row)))

    def _whole_of(self, row: Row | KeptRow) -> str:
        if isinstance(row, KeptRow):
            return row.whole
        entry = next((each for each in self._entries if each.ref == row.ref), None)
        return _whole(entry) if entry is not None else row.text

    def action_request(self, action: Literal["undo", "edit"]) -> None:
        self.answer(CompactionRequest(action, self._event.seq or 0))

    def action_pin(self) -> None:
        place = self.query_one("#replaced-list", LineList).chosen
        if self._tab != "replaced" or place >= len(self._shown):
            self.notify("First choose a message under Replaced (2).", timeout=3)
            return
        self.answer(CompactionRequest("pin", self._event.seq or 0, self._shown[place].ref))

    def action_copy(self) -> None:
        """Copy the message chosen in a list, else the summary."""
        text = self._chosen_text()
        copy(self.app, text or summary_as_sent(self._fact), "message" if text else "summary")

    def _chosen_text(self) -> str:
        lists: dict[str, Sequence[Row | KeptRow]] = {"replaced": self._shown, "kept": self._kept}
        rows = lists.get(self._tab)
        return self._whole_of(rows[self.query_one(f"#{self._tab}-list", LineList).chosen]) if rows else ""

    def action_close(self) -> None:
        """Leave the search first, then the dialog."""
        search = self.query_one(Input)
        if search.has_focus or (search.value and self._tab == "replaced"):
            search.value = ""
            self.query_one("#replaced-list").focus()
        else:
            self.answer(None)


def _whole(entry: Entry) -> str:
    return text_of_all(entry.message)


def summary_as_sent(fact: CompactionComplete) -> str:
    """The text that it put into the context; without a replacement, the summary alone."""
    return "\n\n".join(map(text_of_all, fact.replacement)) or fact.summary


def shown_summary(fact: CompactionComplete, renderer: TextRenderer, *, is_in_context: bool) -> Text:
    """What the model gets now, or got, for people."""
    sent = summary_as_sent(fact) or "No summary."
    quotes = any(line.lstrip().startswith(NOT_A_HEADING) for line in sent.splitlines())
    head = " ".join([*([AS_SENT] if is_in_context else []), *([QUOTE_LEGEND] if quotes else [])])
    return Text().append(head and f"{head}\n\n", renderer.muted).append_text(summary_text(sent, renderer))


def receipt(rows: Sequence[tuple[str, str]], name_style: Style) -> Table:
    """Names and values, in columns."""
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(Text(name, name_style), Text(inert(value), overflow="fold"))
    return table


def figures(fact: CompactionComplete) -> list[tuple[str, str]]:
    """What the compaction cost, and what it saves."""
    waited = f"you waited {fact.waited_ms / 1000:.1f} s" if fact.waited_ms else "in the background"
    rows = [
        ("context", f"{fact.pre_tokens:,} → {fact.post_tokens:,} tokens: {_fewer(fact.tokens_removed)}"),
        ("messages", f"{fact.account}, {fact.post_messages:,} after"),
        ("why", trigger_label(fact.trigger) or "the window was almost full"),
        *([("focus", fact.focus)] if fact.focus else ()),
        _author(fact),
        ("took", f"{fact.duration_ms / 1000:.1f} s, {waited}"),
    ]
    if fact.usage:
        names = ("input_tokens", "output_tokens", "requests", "cached_tokens")
        read, written, requests, cached = (fact.usage.get(key, 0) for key in names)
        from_cache = f" ({cached:,} from the cache)" if cached else ""
        rows.append(
            ("summary used", f"{read:,} tokens in{from_cache}, {written:,} out, {counted(requests, 'request')}")
        )
    rows.append(("summary cost", money(fact.cost) if fact.cost is not None else "unknown" if fact.usage else "nothing"))
    if fact.saved_cost:
        rows.append(("saves", f"{money(fact.saved_cost)} on each request"))
    if fact.cache_lost_tokens:
        rows.append(("cache", f"{fact.cache_lost_tokens:,} cached tokens are no longer used"))
    if fact.checkpoint_path:
        rows.append(("checkpoint", f"{fact.checkpoint_number}: {fact.checkpoint_path}"))
    if remark := fact.note or fact.error:
        rows.append(("note", remark))
    return rows


def _author(fact: CompactionComplete) -> tuple[str, str]:
    if fact.summarised_by == OFFLINE:
        return "summary", "work journal, written without a model"
    by = short_name(fact.summarised_by)
    return ("summarised by", by) if by else ("summary", "none")


def _fewer(tokens: int) -> str:
    """For a very short history, the tools added for archived messages outweigh what was removed."""
    return f"{abs(tokens):,} {'fewer' if tokens >= 0 else 'more'} in each request"
