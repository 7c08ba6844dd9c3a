"""The session browser: filters past sessions while you type, searches their messages when you pause."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import ClassVar, Final, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.getters import query_one
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from co_tui.store.port import Store
from co_tui.store.store_errors import StoreError
from co_tui.store.stored_values import SessionRow
from co_tui.ui.background import cancel_background, guarded_callback, run_in_background
from co_tui.ui.dialogs.safe_screen import SafeScreen
from co_tui.ui.sessions.session_actions import ChosenSession, SessionActions, SessionEditor
from co_tui.ui.sessions.session_finder import Found, SessionFinder
from co_tui.ui.sessions.session_list_widget import ListMarkers, SessionList
from co_tui.ui.sessions.session_listing import SessionQuery
from co_tui.ui.sessions.session_preview import PreviewLook, PreviewPane
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_line import HELP, OrderedKeys

T = TypeVar("T")
SEARCHING, REFRESHING = "Searching sessions", "Pulling new sessions"
PAUSE_S: Final = 0.25
"""How long the user must not type before all messages are searched, too."""
OF_OTHERS: Final = ("fork", "export")
"""What can be done with a session that another user shares."""
OUTSIDE_TRASH: Final = ("fork", "rename")
"""Changes that a session in the trash does not offer."""


class SessionsScreen(SafeScreen, Screen[ChosenSession | None]):
    """Typing filters; every action has a key."""

    CSS_PATH = "sessions.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "resume", "resume", priority=True, key_display="enter"),
        Binding("enter", "change('restore')", "restore", priority=True, key_display="enter"),
        Binding("ctrl+f", "change('fork')", "fork", priority=True),
        Binding("ctrl+r", "change('rename')", "rename", priority=True),
        Binding("ctrl+e", "change('export')", "export", priority=True),
        Binding("ctrl+d", "change('delete')", "delete", priority=True),
        Binding("ctrl+k", "change('pin')", "pin", priority=True),
        Binding("ctrl+k", "change('unpin')", "unpin", priority=True),
        Binding("ctrl+t", "turn_to(True)", "trash", priority=True),
        Binding("ctrl+t", "turn_to(False)", "sessions", priority=True),
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
        """`present` is the id of the session in the chat."""
        super().__init__()
        self._editor = editor
        self._finder = SessionFinder(store, cwd)
        self._query = SessionQuery(self._finder)
        self._actions = SessionActions(editor, self._finder, self._ask)
        self._present = present
        self._pause: Timer | None = None
        self._is_closed = False

    def compose(self) -> ComposeResult:
        with Container(id="columns"):
            with Vertical(id="left"):
                yield Field(id="filter", placeholder="Type to filter; pause to search all messages")
                yield Static(id="empty", markup=False)
                yield SessionList()
            yield PreviewPane(self._finder, self._present, self._preview_look, id="preview")
        yield OrderedKeys(HELP)

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self.call_after_refresh(self._preview, again=True))
        self._list()
        self.filter.focus()
        run_in_background(self, REFRESHING, self._refresh_all, group="refresh")

    def on_unmount(self) -> None:
        self._finder.close()

    # The list

    @property
    def _typed(self) -> str:
        return self.filter.value.strip()

    @on(Input.Changed, "#filter")
    def _filter(self) -> None:
        """Match titles and folders at once, and all messages after a pause."""
        cancel_background(self, "search")
        self._query.restart(in_trash=self._query.in_trash)
        self._list()
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE_S, guarded_callback(self, SEARCHING, self._search))
        self.refresh_bindings()

    def _list(self) -> None:
        try:
            self._query.load(self._typed)
        except StoreError as error:
            self.notify(str(error), severity="error", markup=False)
        self._show()

    async def _refresh_all(self) -> None:
        """List again with what other machines have added and changed."""
        self._query.is_stale = bool(await self._editor.refresh(""))
        if not self._is_closed:
            self._list()

    async def _refresh(self, session_id: str) -> None:
        """Pull what is new of a session; says why if that is not possible."""
        if trouble := await self._editor.refresh(session_id):
            self.notify(trouble, markup=False)

    def _search(self) -> None:
        # The newest search cancels the one before.
        run_in_background(self, SEARCHING, partial(self._find, self._typed), group="search", latest=True)

    async def _find(self, typed: str) -> None:
        try:
            found = await self._query.search(typed)
        except StoreError as error:
            self.notify(str(error), severity="error", markup=False)
            found = Found()
        if typed == self._typed:
            self._query.found = found
            self._show()

    def _show(self) -> None:
        row, today = self.sessions.row, datetime.now().astimezone().date()
        listing = self._query.listing._replace(typed=self._typed)
        lines = listing.lines(self._finder.folders, today)
        self.sessions.show(lines, ListMarkers(self._typed, self._present), keep=row.id if row is not None else "")
        self.query_one("#left").border_title = listing.title
        empty = self.query_one("#empty", Static)
        empty.update("" if lines else listing.empty_text)
        empty.display = not lines
        if not lines:
            self._preview()

    @on(SessionList.NearEnd)
    def _load_more(self) -> None:
        if self._query.extend():
            self._list()

    @on(SessionList.NearGap)
    def _load_before_end(self) -> None:
        if self._query.extend_end():
            self._list()

    @on(SessionList.Highlighted)
    def _highlighted(self) -> None:
        self._preview()

    def _preview(self, *, again: bool = False) -> None:
        if self.query_one(PreviewPane).show(self.sessions.row, self._typed, again=again):
            self.refresh_bindings()

    def _preview_look(self) -> PreviewLook:
        part = self.sessions.get_component_rich_style
        return PreviewLook(part("session-list--figures", partial=True), part("session-list--match", partial=True))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys for what cannot be done now are not shown."""
        if not self.is_mounted:
            return True
        in_trash = self._query.in_trash
        match action:
            case "resume":
                return self.sessions.row is not None and not in_trash
            case "change":
                return self.sessions.row is not None and self._can_change(self.sessions.row, str(parameters[0]))
            case "turn_to":
                return in_trash != parameters[0]
            case "clear" | "sort":
                return bool(self._typed)
            case "back":
                return not self._typed
            case _:
                return True

    def _can_change(self, row: SessionRow, change: str) -> bool:
        in_trash = self._query.in_trash
        if row.owner and change not in OF_OTHERS:
            return False
        if change in ("pin", "unpin"):
            return row.pinned == (change == "unpin") and not in_trash
        if change == "restore":
            return in_trash
        return not (in_trash and change in OUTSIDE_TRASH)

    def _after_typing(self, do: Callable[[], object]) -> None:
        """Priority keys overtake letters typed before them: apply those letters first."""

        def do_now() -> None:
            if self._typed != self._query.typed:
                self._filter()
            do()

        self.filter.call_later(guarded_callback(self, "This key", do_now))

    def action_move(self, step: int) -> None:
        self._after_typing(lambda: self.sessions.move(step))

    def action_page(self, direction: int) -> None:
        self._after_typing(lambda: self.sessions.move(direction * max(1, self.sessions.size.height - 2)))

    def action_home(self) -> None:
        self._after_typing(lambda: self.sessions.move(-self._query.listed.of))

    def action_end(self) -> None:
        self._after_typing(self._to_end)

    def _to_end(self) -> None:
        """Highlight the oldest session, loaded or not."""
        if self._query.reach_end():
            self._list()
        self.sessions.move(self._query.listed.of)

    def action_sort(self) -> None:
        self._query.by_relevance = not self._query.by_relevance
        self._search()

    def action_turn_to(self, in_trash: bool) -> None:
        """Show the trash, or the sessions."""
        self._query.restart(in_trash=in_trash)
        self._list()
        self._search()
        self.refresh_bindings()

    def action_clear(self) -> None:
        self.filter.value = ""

    def action_back(self) -> None:
        if self._query.in_trash:
            self.action_turn_to(False)
        else:
            self._close(None)

    def action_leave(self) -> None:
        self._close(None)

    @on(SessionList.Chosen)
    async def _clicked(self) -> None:
        await self.run_action("change('restore')" if self._query.in_trash else "resume")

    def action_resume(self) -> None:
        """Open the session, at the newest message that matches if that is why it is listed."""
        self._with_row(lambda row: self._close(ChosenSession(row.id, at=self._query.hit_in(row, self._present))))

    def _with_row(self, do: Callable[[SessionRow], object]) -> None:
        """Call it with the highlighted session, if any."""

        def do_now() -> None:
            if (row := self.sessions.row) is not None:
                do(row)

        self._after_typing(do_now)

    def _close(self, chosen: ChosenSession | None) -> None:
        if not self._is_closed:
            self._is_closed = True
            self.dismiss(chosen)

    # Changing the highlighted session

    def action_change(self, change: str) -> None:
        def start(row: SessionRow) -> None:
            work = partial(self._change, change, row)
            run_in_background(self, "Changing the session", work, group="changes", failed=self._list)

        self._with_row(start)

    async def _change(self, change: str, row: SessionRow) -> None:
        """Change a session, then search and list again; failures are shown as a sentence."""
        try:
            await self._changed(change, row)
        except (StoreError, OSError) as error:
            self.notify(str(error), severity="error", markup=False)
        if not self._is_closed and self._typed:
            await self._find(self._typed)
        if not self._is_closed:
            self._list()

    async def _changed(self, change: str, row: SessionRow) -> None:
        match change:
            case "fork":
                await self._refresh(row.id)
                if (chosen := await self._actions.choose_fork(row)) is not None:
                    self._close(chosen)
            case "rename":
                await self._actions.rename(row)
            case "pin" | "unpin":
                await self._editor.keep_first(row.id, not row.pinned)
            case "restore":
                await self._editor.restore(row.id)
            case "delete":
                await self._actions.delete(row)
            case "export":
                await self._refresh(row.id)
                if sentence := await self._actions.export(row):
                    self.notify(sentence, timeout=10, markup=False)

    async def _ask(self, screen: Screen[T]) -> T | None:
        return await asyncio.shield(self.app.push_screen(screen, wait_for_dismiss=True))
