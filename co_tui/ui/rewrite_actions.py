"""The commands that change what the model sees: compacting, undoing, going back, pinning, forking."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from co_tui.events.messages import prompt_of
from co_tui.inert import one_line
from co_tui.store.errors import StoreError

if TYPE_CHECKING:
    from co_tui.events import Ref
    from co_tui.session.session import Session
    from co_tui.ui.app import CoTui
    from co_tui.ui.screens.compaction import DetailWish

NO_SESSION = "There is no session yet: the first prompt starts one."


class RewriteActions:
    """A part of the actions."""

    def __init__(self, app: "CoTui") -> None:
        self._app = app
        self._chat = app.chat
        self._control = app.controller
        self._turns: dict[Ref, int] = {}

    async def attempt(self, name: str, work: Awaitable[None]) -> None:
        """What goes wrong is said in the chat: a worker's exception would otherwise vanish."""
        try:
            await work
        except StoreError as error:
            self._fail(str(error))
        except Exception as error:
            self._fail(f"/{name} failed: {type(error).__name__}: {error}")

    def _later(self, name: str, work: Awaitable[None]) -> None:
        self._app.run_worker(self.attempt(name, work), group="commands", exit_on_error=False)

    def _say(self, text: str) -> None:
        self._chat.feed.note(text)

    def _fail(self, text: str) -> None:
        self._chat.feed.note(text, "error")

    async def do_compact(self, focus: str) -> None:
        session = self._control.session
        if session is None:
            self._say(NO_SESSION)
            return
        from co_tui.session.compaction.compactor import CompactionRefused

        if session.busy:
            self._say("The conversation is compacted when the turn ends.")
        try:
            await session.compact(focus)
        except CompactionRefused as refused:
            self._say(str(refused))
        finally:
            self._chat.set_busy(session is self._control.session and session.busy)

    async def do_undo(self, seq: str) -> None:
        session = self._control.session
        if session is None:
            self._say(NO_SESSION)
            return
        from co_tui.session.state.history_edits import NothingToUndo, what_was

        try:
            undone = await session.undo(int(seq) if seq.isdecimal() else None)
        except NothingToUndo as nothing:
            self._say(str(nothing))
        else:
            self._say(f"The {what_was(undone)} is undone: the model sees {len(session.state.history)} messages again.")

    async def do_rewind(self, turn: str) -> None:
        session = self._control.session
        if session is None:
            self._say(NO_SESSION)
            return
        if not turn:
            from co_tui.ui.screens.messages import ChooseMessageScreen, row_of

            prompts = [entry for entry in session.state.transcript if prompt_of(entry.message) is not None]
            self._turns = {entry.ref: entry.turn for entry in prompts}
            screen = ChooseMessageScreen("Go back to before…", list(map(row_of, prompts)), "go back to before it")
            await self._app.push_screen(screen, self._turn_chosen)
            return
        if not turn.isdecimal():
            self._fail(f"/rewind takes the number of a turn, not {one_line(turn, 40)!r}.")
            return
        from co_tui.session.state.history_edits import NothingToUndo

        try:
            prompt = await session.rewind(int(turn))
        except NothingToUndo as nothing:
            self._say(str(nothing))
            return
        self._chat.prompt.bring_back(prompt)
        self._say(
            f"Rewound to before turn {turn}; its prompt is back for editing, files are as they are. /undo returns."
        )

    def _turn_chosen(self, ref: "Ref | None") -> None:
        if ref is not None:
            self._app.call_later(self._app.run_command, "rewind", str(self._turns[ref]))

    async def do_pin(self, which: str) -> None:
        session = self._control.session
        if session is None or not session.state.history:
            self._say(NO_SESSION)
        elif which == "last":
            await self._toggle_pin(session.state.history[-1].ref)
        elif which:
            self._fail(f"/pin takes nothing or `last`, not {one_line(which, 40)!r}.")
        else:
            from co_tui.ui.screens.messages import ChooseMessageScreen, row_of

            pins = session.state.pins
            rows = [row_of(entry, "⚲" if entry.ref in pins else "") for entry in session.state.history]
            await self._app.push_screen(ChooseMessageScreen("Pin a message", rows, "pin or unpin"), self._pin_chosen)

    def _pin_chosen(self, ref: "Ref | None") -> None:
        if ref is not None:
            self._later("pin", self._toggle_pin(ref))

    async def _toggle_pin(self, ref: "Ref") -> None:
        session = self._control.session
        assert session is not None
        pinned = ref not in session.state.pins
        await session.pin([ref], pinned=pinned)
        self._say("Pinned: it stays in the context, whatever is compacted." if pinned else "Unpinned.")

    async def fulfil(self, wish: "DetailWish") -> None:
        """What was asked for in an opened compaction."""
        session = self._control.session
        if session is None:
            self._say(NO_SESSION)
        elif wish.action == "undo":
            await self.do_undo(str(wish.seq))
        elif wish.action == "pin" and wish.ref is not None:
            await session.pin([wish.ref])
            self._say("The message is back in the context, and pinned.")
        elif wish.action == "edit":
            await self._edit_summary(session, wish.seq)

    async def _edit_summary(self, session: "Session", seq: int) -> None:
        from co_tui.events import CompactionComplete
        from co_tui.ui.screens.edit import EditScreen

        event = next((each for each in session.state.compactions if each.seq == seq), None)
        if event is None or not isinstance(event.fact, CompactionComplete):
            return

        def edited(text: str | None) -> None:
            if text is not None:
                self._later("compact", self._apply_edit(session, seq, text))

        await self._app.push_screen(EditScreen("The summary, as the model sees it", event.fact.summary), edited)

    async def _apply_edit(self, session: "Session", seq: int, text: str) -> None:
        from co_tui.session.state.history_edits import NothingToUndo

        try:
            await session.edit_summary(seq, text)
        except NothingToUndo as nothing:
            self._fail(str(nothing))

    async def do_fork(self, _: str) -> None:
        session = self._control.session
        if session is None:
            self._say(NO_SESSION)
            return
        target = await session.fork()
        await self._control.switch_session(target)
        self._say("This is a copy now; the session it came from stays as it was.")

    async def do_session(self, arguments: str) -> None:
        if arguments not in ("", "checkpoints"):
            self._fail(f"/session takes `checkpoints`, not {one_line(arguments, 40)!r}.")
            return
        from co_tui.store.checkpoints import Checkpoints

        found = (
            Checkpoints(self._app.launch.paths.session(self._control.session_id)).list()
            if self._control.session_id
            else []
        )
        if not found:
            self._say("No checkpoints yet: one is written whenever the conversation is compacted. F5 compacts now.")
            return
        self._say("\n".join(f"{each.number:>3}  {each.title}\n     {each.path}" for each in found))
