"""The session browser: past sessions, filtered as one types, with a preview."""

from collections.abc import Awaitable
from datetime import datetime
from typing import ClassVar, Protocol

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.getters import query_one
from textual.screen import Screen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from co_tui.events import Message
from co_tui.events.messages import pieces
from co_tui.inert import inert, one_line
from co_tui.store.errors import StoreError
from co_tui.store.port import Store
from co_tui.store.values import SessionRow
from co_tui.ui.formatting import money, tokens

PREVIEW_EVENTS = 12
PREVIEW_CHARS = 600


class SessionEditor(Protocol):
    """Changes stored sessions. Both raise `StoreError`."""

    async def rename_session(self, session_id: str, title: str) -> None: ...

    async def delete_session(self, session_id: str) -> None: ...


class SessionsScreen(Screen[str]):
    """Gives the id of the session to open, or nothing."""

    CSS_PATH = "sessions.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-wide")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "resume", "Resume", priority=True),
        Binding("down", "move(1)", "Down", show=False, priority=True),
        Binding("up", "move(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "move(10)", show=False, priority=True),
        Binding("pageup", "move(-10)", show=False, priority=True),
        Binding("ctrl+r", "rename", "Rename", priority=True),
        Binding("ctrl+d", "delete", "Delete", priority=True),
        Binding("escape,f2", "back", "Back", priority=True, key_display="esc"),
    ]

    filter = query_one("#filter", Input)
    options = query_one(OptionList)

    def __init__(self, store: Store, cwd: str, present: str, editor: SessionEditor) -> None:
        super().__init__()
        self._editor = editor
        self._reading = store.reading()
        self._cwd = cwd
        self._present = present
        self._rows: dict[str, SessionRow] = {}
        self._closed_already = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="columns"):
            with Vertical(id="left"):
                yield Input(id="filter", placeholder="Type to filter")
                yield OptionList()
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(id="preview-text", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#preview").border_title = "Preview"
        self._fill()
        self.filter.focus()

    def on_unmount(self) -> None:
        self._reading.close()

    @on(Input.Changed, "#filter")
    def _fill(self) -> None:
        """List what fits; instant also among ten thousand."""
        kept = self._highlighted()
        try:
            rows = self._reading.browse(self.filter.value.strip(), self._cwd)
        except StoreError as error:
            self.notify(str(error), severity="error", markup=False)
            rows = []
        self._rows = {row.id: row for row in rows}
        self.query_one("#left").border_title = f"Sessions · {self._count():,}"
        self.options.clear_options()
        group = ""
        entries: list[Option] = []
        for row in rows:
            if (name := self._group(row)) != group:
                group = name
                entries.append(Option(Text(name, style="dim"), disabled=True))
            entries.append(self._option(row))
        if not entries:
            text = "No session's title holds that." if self.filter.value else "No sessions yet."
            entries.append(Option(Text(text, style="dim"), disabled=True))
        self.options.add_options(entries)
        ids = [option.id for option in entries]
        wanted = kept.id if kept and kept.id in ids else next((name for name in ids if name), None)
        self.options.highlighted = ids.index(wanted) if wanted else None
        self._preview()

    def _count(self) -> int:
        try:
            return self._reading.count()
        except StoreError:
            return 0

    def _group(self, row: SessionRow) -> str:
        where = "" if row.cwd == self._cwd else "Elsewhere · "
        days = (datetime.now().astimezone().date() - datetime.fromisoformat(row.updated).astimezone().date()).days
        when = "Today" if days <= 0 else "Yesterday" if days == 1 else "This week" if days < 7 else "Earlier"
        return f"{where}{when}"

    def _option(self, row: SessionRow) -> Option:
        updated = datetime.fromisoformat(row.updated).astimezone()
        today = updated.date() == datetime.now().astimezone().date()
        when = f"{updated:%H:%M}" if today else f"{updated:%d %b}"
        share = f"{row.share:.0%}" if row.share is not None else "–"
        right = f"{when:>6} {share:>5} {row.messages:>5}m"
        width = max(24, self.app.size.width // (1 if self.app.size.width < 90 else 2) - 6)
        mark = "● " if row.id == self._present else ""
        left = Text(f"{mark}{inert(row.title) or '(no prompt yet)'}", no_wrap=True)
        left.truncate(width - len(right) - 1, overflow="ellipsis", pad=True)
        return Option(Text.assemble(left, " ", (right, "dim")), id=row.id)

    def _highlighted(self) -> SessionRow | None:
        index = self.options.highlighted
        if index is None or index >= self.options.option_count:
            return None
        return self._rows.get(self.options.get_option_at_index(index).id or "")

    @on(OptionList.OptionHighlighted)
    def _preview(self) -> None:
        row = self._highlighted()
        try:
            text = self._preview_text(row) if row else Text()
        except StoreError as error:
            text = Text(str(error))
        self.query_one("#preview-text", Static).update(text)

    def _preview_text(self, row: SessionRow) -> Text:
        text = Text.assemble((f"{inert(row.title)}\n", "bold"))
        facts = (row.cwd, row.branch, row.model, row.policy)
        text.append(" · ".join(inert(fact) for fact in facts if fact) + "\n", "dim")
        counts = [f"{row.messages} messages", f"{tokens(row.tokens or 0)} tokens"]
        counts += [f"cost {money(row.known_cost)}"] if row.tokens else []
        counts += [f"{row.compactions} ◆"] if row.compactions else []
        text.append(" · ".join(counts) + f"\n{row.id}\n", "dim")
        for event in self._reading.last_events(row.id, PREVIEW_EVENTS):
            if isinstance(event.fact, Message):
                for role, said, _ in pieces(event.fact.message):
                    if role in ("user", "assistant"):
                        text.append("\nYou\n" if role == "user" else "\nco-tui\n", "bold")
                        more = "…" if len(said) > PREVIEW_CHARS else ""
                        text.append(f"{inert(said[:PREVIEW_CHARS])}{more}\n")
        return text

    def action_move(self, step: int) -> None:
        for _ in range(abs(step)):
            if step > 0:
                self.options.action_cursor_down()
            else:
                self.options.action_cursor_up()

    def action_resume(self) -> None:
        if (row := self._highlighted()) is not None:
            self._close(row.id)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self._close(event.option_id or "")

    def _close(self, session_id: str) -> None:
        if not self._closed_already:
            self._closed_already = True
            self.dismiss(session_id)

    def action_back(self) -> None:
        self._close("")

    def action_rename(self) -> None:
        row = self._highlighted()
        if row is not None:
            from co_tui.ui.screens.question import AskScreen

            def renamed(title: str | None) -> None:
                if title and title.strip():
                    self.run_worker(self._rename(row, title.strip()), exit_on_error=False)

            self.app.push_screen(AskScreen("Rename", row.title), renamed)

    async def _rename(self, row: SessionRow, title: str) -> None:
        await self._changed(self._editor.rename_session(row.id, one_line(title, 200)))

    def action_delete(self) -> None:
        row = self._highlighted()
        if row is not None:
            from co_tui.ui.screens.question import ConfirmScreen

            def confirmed(yes: bool | None) -> None:
                if yes:
                    self.run_worker(self._changed(self._editor.delete_session(row.id)), exit_on_error=False)

            question = f"Delete “{one_line(row.title, 50)}” with its {row.messages} messages for good?"
            self.app.push_screen(ConfirmScreen(question), confirmed)

    async def _changed(self, change: Awaitable[None]) -> None:
        try:
            await change
        except StoreError as error:
            self.notify(str(error), severity="error", markup=False)
        self._fill()
