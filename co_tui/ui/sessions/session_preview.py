"""The preview of one session in the browser; all of its text is inert."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.timer import Timer
from textual.widgets import Static

from co_tui.events.model_names import short_name
from co_tui.events.tool_calls import tool_label
from co_tui.inert import inert, one_line
from co_tui.session.event_wording import cost_text
from co_tui.store.search.message_search import Hit
from co_tui.store.store_errors import StoreError
from co_tui.store.stored_values import PreviewLine, SessionRow
from co_tui.ui.background import guarded_callback, run_in_background
from co_tui.ui.formatting import counted, folder, tokens
from co_tui.ui.sessions.session_finder import Previewed, SessionFinder

PREVIEWING: Final = "Reading the session"
READ_AFTER_S: Final = 0.04
"""How long a session is highlighted before its messages are read: scrolling through the list reads none."""
NOT_FETCHED: Final = "not downloaded yet: open it to download it"
TITLE_CHARS = 120
FACT_CHARS = 80
SAID_CHARS = 500
_WHO = {"user": "You", "assistant": "co-tui"}


class PreviewLook(NamedTuple):
    """The styles of a preview."""

    muted: Style = Style(dim=True)
    match: Style = Style(bold=True)


def preview_text(row: SessionRow, previewed: Previewed, look: PreviewLook, *, note: str = "") -> Text:
    """Title and figures, then the search hits, the first prompt and the latest messages."""
    text = Text.assemble((one_line(row.title, TITLE_CHARS) or "(no prompt yet)", "bold"), "\n")
    for line in filter(None, (_origin(row), _figures(row), _whose(row), note)):
        text.append(f"{line}\n", look.muted)
    for hit in previewed.hits:
        text.append(f"\n{_who(hit)}\n", "bold")
        text.append_text(_snippet(hit, look.match)).append("\n")
    first, last = previewed.preview.first_prompt, previewed.preview.last
    if first.strip() and (not last or first != last[0].text):
        text.append("\nFirst prompt\n", "bold").append(f"{_cut(first)}\n")
    for said in _without_blank(last):
        text.append(f"\n{_WHO.get(said.role, said.role)}\n", "bold").append(f"{_cut(said.text)}\n")
    return text.append(f"\n{row.id}", look.muted)


def _origin(row: SessionRow) -> str:
    named = (one_line(fact, FACT_CHARS) for fact in (row.branch, short_name(row.model), row.policy) if fact)
    return " · ".join(filter(None, (folder(row.cwd), *named)))


def _whose(row: SessionRow) -> str:
    if row.owner:
        return f"shared by {one_line(row.owner, FACT_CHARS)}: read it, or fork it"
    return "shared with all users of the database" if row.shared else ""


def _figures(row: SessionRow) -> str:
    figures = [counted(row.messages, "message")]
    if row.tokens:
        figures += [f"{tokens(row.tokens)} tokens", f"cost {cost_text(row.known_cost, model=row.model)}"]
    return " · ".join([*figures, *([f"{row.compactions} ◆"] if row.compactions else [])])


def _who(hit: Hit) -> str:
    return f"{_WHO.get(hit.role, (hit.tool and tool_label(hit.tool)) or hit.role.replace('_', ' '))} …"


def _snippet(hit: Hit, match: Style) -> Text:
    snippet = hit.readable
    text = Text(snippet.text)
    for start, end in snippet.spans:
        text.stylize(match, start, end)
    before, after = ("…" if cut else "" for cut in (snippet.is_cut_before, snippet.is_cut_after))
    return Text.assemble(before, text, after)


def _without_blank(last: tuple[PreviewLine, ...]) -> Iterator[PreviewLine]:
    return (said for said in last if said.text.strip())


def _cut(said: str) -> str:
    said = said.strip()
    return inert(said[:SAID_CHARS]) + ("…" if len(said) > SAID_CHARS else "")


class PreviewPane(VerticalScroll):
    """Shows title and figures of a session at once, and its messages a moment later."""

    def __init__(self, finder: SessionFinder, present: str, look: Callable[[], PreviewLook], *, id: str) -> None:
        """`present` is the id of the session in the chat."""
        super().__init__(id=id, can_focus=False)
        self.border_title = "Preview"
        self._finder, self._present, self._look = finder, present, look
        self._shown: tuple[SessionRow | None, str] = (None, "")
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="preview-text", markup=False)

    def show(self, row: SessionRow | None, typed: str, *, again: bool = False) -> bool:
        """Show a session and its hits for the filter; False if they are shown already, unless `again`."""
        if (row, typed) == self._shown and not again:
            return False
        self._shown = (row, typed)
        self._update(row, Previewed())
        if self._timer is not None:
            self._timer.stop()
        if row is not None:
            read = partial(self._read_in_background, row, typed)
            self._timer = self.set_timer(READ_AFTER_S, guarded_callback(self, PREVIEWING, read))
        return True

    def _read_in_background(self, row: SessionRow, typed: str) -> None:
        run_in_background(self, PREVIEWING, partial(self._read, row, typed), group="preview", latest=True)

    async def _read(self, row: SessionRow, typed: str) -> None:
        try:
            previewed = await self._finder.previewed(row.id, typed)
        except StoreError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        if row == self._shown[0]:
            self._update(row, previewed)

    def _update(self, row: SessionRow | None, previewed: Previewed) -> None:
        text = Text()
        if row is not None:
            text = preview_text(row, previewed, self._look(), note=self._note(row, previewed))
        self.query_one("#preview-text", Static).update(text)
        self.scroll_home(animate=False)

    def _note(self, row: SessionRow, previewed: Previewed) -> str:
        if row.id == self._present:
            return "● open in this chat"
        if not previewed.is_fetched:
            return NOT_FETCHED
        return "open in another co-tui" if previewed.is_claimed else ""
