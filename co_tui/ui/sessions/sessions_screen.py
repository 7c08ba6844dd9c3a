"""The session browser: past sessions, filtered as one types, searched as one pauses, with a preview."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import ClassVar, Final, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.getters import query_one
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from co_tui.store.port import Store
from co_tui.store.store_errors import StoreError
from co_tui.store.stored_values import SessionRow
from co_tui.ui.background import guarded_callback, run_in_background
from co_tui.ui.dialogs.steady_screen import SteadyScreen
from co_tui.ui.sessions.session_actions import SessionActions
from co_tui.ui.sessions.session_choice import ChosenSession, SessionEditor
from co_tui.ui.sessions.session_finder import FIRST_PAGE, Found, Listed, Previewed, SessionFinder
from co_tui.ui.sessions.session_list_widget import ListMarks, SessionList
from co_tui.ui.sessions.session_listing import SessionListing
from co_tui.ui.sessions.session_preview import PreviewLook, preview_text
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_line import AllKeys

T = TypeVar("T")
SEARCHING: Final = "Searching sessions"
PREVIEWING: Final = "Reading the session"
PAUSE_S: Final = 0.25
"""Whoever has not typed for so long wants to know what was said, too."""
LOOK_S: Final = 0.04
"""So long a session is highlighted before its preview is read: whoever runs through the list sees the heads."""
WITH_A_SESSION: Final = ("resume", "restore", "fork", "rename", "pin", "unpin", "export", "delete")
"""What is done with the highlighted one."""


class SessionsScreen(SteadyScreen, Screen[ChosenSession | None]):
    """Typing filters; every action has a key."""

    CSS_PATH = "sessions.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "resume", "resume", priority=True, key_display="enter"),
        Binding("enter", "restore", "restore", priority=True, key_display="enter"),
        Binding("ctrl+f", "fork", "fork", priority=True),
        Binding("ctrl+r", "rename", "rename", priority=True),
        Binding("ctrl+k", "pin", "pin", priority=True),
        Binding("ctrl+k", "unpin", "unpin", priority=True),
        Binding("ctrl+e", "export", "export", priority=True),
        Binding("ctrl+d", "delete", "delete", priority=True),
        Binding("ctrl+t", "trash", "trash", priority=True),
        Binding("ctrl+t", "sessions", "sessions", priority=True),
        Binding("ctrl+s", "sort", "order", priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("ctrl+home", "home", show=False, priority=True),
        Binding("ctrl+end", "end", show=False, priority=True),
        Binding("escape", "clear", "clear", priority=True, key_display="esc"),
        Binding("escape", "back", "back", priority=True, key_display="esc"),
        Binding("f2", "leave", show=False, priority=True),
    ]

    filter = query_one("#filter", Input)
    sessions = query_one(SessionList)

    def __init__(self, store: Store, cwd: str, present: str, editor: SessionEditor) -> None:
        super().__init__()
        self._editor = editor
        self._finder = SessionFinder(store, cwd)
        self._actions = SessionActions(editor, self._finder, self._ask)
        self._present = present
        self._listed, self._listed_for = Listed([], 0, 0), ""
        self._found: Found | None = None
        """What the search over all messages told for the present filter; None while it has not answered."""
        self._in_trash = self._by_relevance = False
        self._limit, self._last = FIRST_PAGE, 0
        """How many are loaded from the beginning, and from the end."""
        self._pause: Timer | None = None
        self._looking: Timer | None = None
        self._looked_at: tuple[SessionRow | None, str] = (None, "")
        self._closed_already = False

    def compose(self) -> ComposeResult:
        with Container(id="columns"):
            with Vertical(id="left"):
                yield Field(id="filter", placeholder="Type to filter; pause to search all that was said")
                yield Static(id="empty", markup=False)
                yield SessionList()
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(id="preview-text", markup=False)
        yield AllKeys()

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self._look_again())
        self.query_one("#preview").border_title = "Preview"
        self._list()
        self.filter.focus()

    def on_unmount(self) -> None:
        self._finder.close()

    # What is listed

    @property
    def _typed(self) -> str:
        return self.filter.value.strip()

    @on(Input.Changed, "#filter")
    def _filter(self) -> None:
        """Titles and folders at once; what was said as soon as nobody types."""
        self._limit, self._last, self._found = FIRST_PAGE, 0, None
        self._list()
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE_S, guarded_callback(self, SEARCHING, self._search))
        self.refresh_bindings()

    def _list(self) -> None:
        self._listed_for = self._typed
        try:
            self._listed = self._finder.listed(self._typed, in_trash=self._in_trash, limit=self._limit, last=self._last)
        except StoreError as error:
            self.notify(str(error), severity="error", markup=False)
            self._listed = Listed([], 0, 0)
        self._show()

    def _search(self) -> None:
        # The newest search takes the place of an older one, whose answer nobody hears then.
        run_in_background(self, SEARCHING, partial(self._find, self._typed), group="search", latest=True)

    async def _find(self, typed: str) -> None:
        try:
            by_relevance, in_trash = self._by_relevance, self._in_trash
            found = await self._finder.found(typed, by_relevance=by_relevance, in_trash=in_trash)
        except StoreError as error:
            self.notify(str(error), severity="error", markup=False)
            found = Found()
        if typed == self._typed:
            self._found = found
            self._show()

    def _show(self) -> None:
        row, today = self.sessions.row, datetime.now().astimezone().date()
        listing = SessionListing(self._typed, self._listed, self._found, self._in_trash, self._by_relevance)
        lines = listing.lines(self._finder.cwd, today)
        self.sessions.show(lines, ListMarks(self._typed, self._present), keep=row.id if row is not None else "")
        left, empty = self.query_one("#left"), self.query_one("#empty", Static)
        left.border_title = listing.told_count
        empty.update("" if lines else listing.told_nothing)
        empty.display = not lines
        if not lines:
            self._look()

    @on(SessionList.NearEnd)
    def _load_more(self) -> None:
        if self._listed.missing and len(self._listed.rows) >= self._limit:
            self._limit *= 4
            self._list()

    @on(SessionList.NearGap)
    def _load_before_end(self) -> None:
        if self._listed.missing:
            self._last *= 4
            self._list()

    # The preview

    @on(SessionList.Highlighted)
    def _look(self) -> None:
        """The head at once, from what is known; what was said a moment later."""
        row = self.sessions.row
        if (row, self._typed) == self._looked_at:
            return
        self._looked_at = (row, self._typed)
        self._show_preview(row, Previewed())
        self.refresh_bindings()
        if self._looking is not None:
            self._looking.stop()
        if row is not None:
            self._looking = self.set_timer(LOOK_S, guarded_callback(self, PREVIEWING, partial(self._read_preview, row)))

    def _look_again(self) -> None:
        """Under another theme."""
        self._looked_at = (None, "")
        self.call_after_refresh(self._look)

    def _read_preview(self, row: SessionRow) -> None:
        run_in_background(self, PREVIEWING, partial(self._preview, row), group="preview", latest=True)

    async def _preview(self, row: SessionRow) -> None:
        try:
            previewed = await self._finder.previewed(row.id, self._typed)
        except StoreError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        if row == self.sessions.row:
            self._show_preview(row, previewed)

    def _show_preview(self, row: SessionRow | None, previewed: Previewed) -> None:
        text = Text()
        if row is not None:
            part = self.sessions.get_component_rich_style
            look = PreviewLook(part("session-list--figures", partial=True), part("session-list--match", partial=True))
            text = preview_text(row, previewed, look, note=self._noted(row))
        self.query_one("#preview-text", Static).update(text)
        self.query_one("#preview").scroll_home(animate=False)

    def _noted(self, row: SessionRow) -> str:
        if row.id == self._present:
            return "● open in this chat"
        return "open in another co-tui" if self._finder.is_open_elsewhere(row.id) else ""

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys for what cannot be done now are not shown."""
        if not self.is_mounted:
            return True
        row = self.sessions.row
        if action in WITH_A_SESSION and row is None:
            return False
        if row is not None and action in ("pin", "unpin"):
            return row.pinned == (action == "unpin") and not self._in_trash
        if action in ("resume", "fork", "rename", "trash"):
            return not self._in_trash
        if action in ("restore", "sessions"):
            return self._in_trash
        if action in ("clear", "sort"):
            return bool(self._typed)
        return not self._typed if action == "back" else True

    def _after_typing(self, do: Callable[[], object]) -> None:
        """These keys overtake letters that came with them: what was typed before counts first."""

        def do_now() -> None:
            if self._typed != self._listed_for:
                self._filter()
            do()

        self.filter.call_later(guarded_callback(self, "This key", do_now))

    def action_move(self, step: int) -> None:
        self._after_typing(lambda: self.sessions.move(step))

    def action_page(self, direction: int) -> None:
        self._after_typing(lambda: self.sessions.move(direction * max(1, self.sessions.size.height - 2)))

    def action_home(self) -> None:
        self._after_typing(lambda: self.sessions.move(-self._listed.of))

    def action_end(self) -> None:
        self._after_typing(self._to_end)

    def _to_end(self) -> None:
        """The oldest of all, loaded or not."""
        if self._listed.missing and not self._last:
            self._last = FIRST_PAGE
            self._list()
        self.sessions.move(self._listed.of)

    def action_sort(self) -> None:
        self._by_relevance = not self._by_relevance
        self._search()

    def action_trash(self) -> None:
        self._turn_to(in_trash=True)

    def action_sessions(self) -> None:
        self._turn_to(in_trash=False)

    def _turn_to(self, *, in_trash: bool) -> None:
        self._in_trash, self._limit, self._last, self._found = in_trash, FIRST_PAGE, 0, None
        self._list()
        self._search()
        self.refresh_bindings()

    def action_clear(self) -> None:
        self.filter.value = ""

    def action_back(self) -> None:
        if self._in_trash:
            self._turn_to(in_trash=False)
        else:
            self._close(None)

    def action_leave(self) -> None:
        self._close(None)

    @on(SessionList.Chosen)
    async def _clicked(self) -> None:
        await self.run_action("restore" if self._in_trash else "resume")

    def action_resume(self) -> None:
        self._after_typing(lambda: self._with_row(lambda row: self._close(ChosenSession(row.id))))

    def _with_row(self, do: Callable[[SessionRow], object]) -> None:
        if (row := self.sessions.row) is not None:
            do(row)

    def _change(self, work: Callable[[SessionRow], Awaitable[None]]) -> None:
        """Do something with the highlighted session, beside the screen."""
        self._after_typing(lambda: self._with_row(lambda row: self._do(partial(work, row))))

    def _close(self, chosen: ChosenSession | None) -> None:
        if not self._closed_already:
            self._closed_already = True
            self.dismiss(chosen)

    # What is done with the highlighted session

    def action_fork(self) -> None:
        self._change(self._fork)

    async def _fork(self, row: SessionRow) -> None:
        if (chosen := await self._actions.choose_fork(row)) is not None:
            self._close(chosen)

    def action_rename(self) -> None:
        self._change(self._actions.rename)

    def action_pin(self) -> None:
        self._change(lambda row: self._editor.keep_first(row.id, not row.pinned))

    def action_unpin(self) -> None:
        self.action_pin()

    def action_restore(self) -> None:
        self._change(lambda row: self._editor.restore(row.id))

    def action_delete(self) -> None:
        self._change(self._actions.delete)

    def action_export(self) -> None:
        self._change(self._export)

    async def _export(self, row: SessionRow) -> None:
        if said := await self._actions.export(row):
            self.notify(said, timeout=10, markup=False)

    def _do(self, work: Callable[[], Awaitable[None]]) -> None:
        run_in_background(self, "Changing the session", partial(self._done, work), group="changes", failed=self._list)

    async def _done(self, work: Callable[[], Awaitable[None]]) -> None:
        """What goes wrong is a sentence, and the list is as it is now."""
        try:
            await work()
        except (StoreError, OSError) as error:
            self.notify(str(error), severity="error", markup=False)
        if not self._closed_already:
            self._list()

    async def _ask(self, screen: Screen[T]) -> T | None:
        return await asyncio.shield(self.app.push_screen(screen, wait_for_dismiss=True))
