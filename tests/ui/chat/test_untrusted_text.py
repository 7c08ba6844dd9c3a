"""Text that no one should trust, in every place of the chat that shows text: it is seen, and does nothing."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.events import Paste
from textual.pilot import Pilot

from co_tui.events import (
    CommandOutput,
    CompactionComplete,
    DelegationStart,
    Event,
    Message,
    PlanChanged,
    SessionError,
    SessionRename,
    StreamDelta,
    ToolActivity,
    ToolOutput,
)
from co_tui.session.state.session_state import Entry, SessionState
from co_tui.ui.app import CoTui
from co_tui.ui.chat.link_dialog import LinksScreen
from co_tui.ui.chat.transcript_feed import QUEUED, WaitingShown
from co_tui.ui.dialogs.choose_message import ChooseMessageScreen, row_of
from co_tui.ui.dialogs.text_screen import PagerScreen
from co_tui.ui.prompt.earlier_prompts import EarlierPromptsScreen
from tests.support.screen import launch_for, screen_text, until

SEEN = "[b]sly[/b]"
HOSTILE = (
    f"{SEEN}[@click=app.quit]go[/]"
    "\x1b[31mred\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\\x1b]52;c;ZXZpbA==\x07"
    "\x00\x08\x7f\x9b31m\x90q\u202egnp.exe\u2066\u200bzero\ufeff\U000e0041"
)
FORBIDDEN = {chr(code) for code in (*range(32), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x200B, 0xFEFF, 0xE0041)}


class Quiet(CoTui):
    """Without an engine: what is shown is this test's to say."""

    def load_engine(self) -> None:
        pass


class Shown:
    """The app, and how a text comes to each place."""

    def __init__(self, app: CoTui, pilot: Pilot[None]) -> None:
        self.app, self.pilot, self.seq = app, pilot, 0

    def hear(self, fact: Any, state: SessionState | None = None) -> None:
        self.seq += 1
        event = Event(session_id="s", seq=self.seq, timestamp="2026-01-01T12:00:00Z", fact=fact)
        self.app.chat.apply_event(event, state or self.app.controller.state)

    def said(self, **part: Any) -> None:
        kind = "request" if part["part_kind"] == "user-prompt" else "response"
        self.hear(Message(turn=1, message={"kind": kind, "parts": [part]}))

    def call(self, name: str, arguments: str) -> None:
        self.said(part_kind="tool-call", tool_name=name, args=arguments, tool_call_id="c")

    async def user(self) -> None:
        self.said(part_kind="user-prompt", content=HOSTILE)

    async def reply(self) -> None:
        self.said(part_kind="text", content=f"{HOSTILE}\n\n    {HOSTILE}\n\n| {HOSTILE} |\n|---|\n| {HOSTILE} |")

    async def code(self) -> None:
        self.said(part_kind="text", content=f"```{HOSTILE}\n{HOSTILE}\n```")

    async def link(self) -> None:
        self.said(part_kind="text", content=f"[{SEEN}](javascript:alert(1)) [x](https://a.example/\x1b]8;;) {HOSTILE}")

    async def streamed(self) -> None:
        for at in range(0, len(HOSTILE), 3):
            self.hear(StreamDelta(turn=1, part=7, kind="text", text=HOSTILE[at : at + 3]))
        self.app.chat.transcript.draw_streamed()

    async def thinking(self) -> None:
        self.said(part_kind="thinking", content=HOSTILE)

    async def tool_name(self) -> None:
        self.call(HOSTILE, "{}")

    async def arguments(self) -> None:
        self.call("run_command", json.dumps({"command": HOSTILE}))

    async def opened_arguments(self) -> None:
        self.call("some_tool", json.dumps({HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]}))
        self.app.chat.transcript.toggle_all()

    async def result(self) -> None:
        self.call("run_command", "{}")
        self.hear(ToolActivity(turn=1, tool_name="x", tool_call_id="c", stage="finished", text=HOSTILE))
        self.app.chat.transcript.toggle_all()

    async def output(self) -> None:
        self.call("run_command", "{}")
        self.hear(ToolOutput(tool_call_id="c", text=HOSTILE))

    async def change(self) -> None:
        self.call("edit_file", json.dumps({"path": HOSTILE, "old_text": HOSTILE, "new_text": HOSTILE}))
        self.app.chat.transcript.toggle_all()

    async def plan(self) -> None:
        self.hear(PlanChanged(steps=({"text": HOSTILE, "state": "in_progress"},)))

    async def error(self) -> None:
        self.hear(SessionError(what=HOSTILE, outcome=HOSTILE))

    async def compaction(self) -> None:
        self.hear(CompactionComplete(success=False, error=f"{HOSTILE}", trigger="manual"))

    async def delegation(self) -> None:
        self.call("delegate_task", "{}")
        self.hear(DelegationStart(agent="a", name=HOSTILE, task=HOSTILE, call_id="c"))
        told = {"kind": "response", "parts": [{"part_kind": "text", "content": HOSTILE}]}
        self.hear(Message(turn=1, agent="a", message=told))
        self.app.chat.transcript.toggle_all()

    async def own_command(self) -> None:
        self.hear(CommandOutput(command=HOSTILE, text=HOSTILE))

    async def waiting(self) -> None:
        self.app.chat.show_waiting([WaitingShown(HOSTILE, QUEUED)])

    async def title(self) -> None:
        state = SessionState(title=HOSTILE, model=HOSTILE, branch=HOSTILE, policy=HOSTILE)
        self.hear(SessionRename(title=HOSTILE), state)

    async def command(self) -> None:
        self.app.chat.prompt.text = "/sly[b]\x1b[31m\u202e\x9b"
        await self.pilot.press("enter")
        await until(self.pilot, lambda: "Unknown command" in screen_text(self.app))

    async def file_names(self) -> None:
        for name in ("[b]sly[@click=app.quit]gnp", "sly\x1b[31m\u202egnp"):
            (self.app.launch.cwd / name).write_text("x")
        self.app.chat.prompt.text = "@gnp"
        self.app.chat.prompt.move_cursor((0, 4))
        await until(self.pilot, lambda: "sly" in screen_text(self.app))

    async def pasted(self) -> None:
        self.app.post_message(Paste(HOSTILE))
        await until(self.pilot, lambda: "sly" in screen_text(self.app))

    async def draft(self) -> None:
        self.app.chat.prompt.set_text(HOSTILE)

    async def finding(self) -> None:
        await self.app.chat.find(HOSTILE)
        self.app.post_message(Paste(HOSTILE))
        await self.pilot.press("home")

    async def pager(self) -> None:
        await self.user()
        block = self.app.chat.transcript.blocks[-1]
        self.app.push_screen(PagerScreen(block.gist, block.whole))
        await until(self.pilot, lambda: isinstance(self.app.screen, PagerScreen) and SEEN in screen_text(self.app))

    async def links(self) -> None:
        async def never(_: str) -> bool:
            raise AssertionError("opened")

        self.app.push_screen(LinksScreen([f"https://a.example/{SEEN}"], never))
        await until(self.pilot, lambda: SEEN in screen_text(self.app))

    async def earlier_prompts(self) -> None:
        store = self.app.launch.store
        asked = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": HOSTILE}]}
        store.writing().append("s", [Message(turn=1, message=asked)]).result()
        self.app.push_screen(EarlierPromptsScreen(store, ""))
        await until(self.pilot, lambda: SEEN in screen_text(self.app))

    async def messages(self) -> None:
        asked = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": HOSTILE}]}
        rows = [row_of(Entry((1, 0), 1, asked, "2026-01-01T12:00:00Z"))]
        self.app.push_screen(ChooseMessageScreen("Pin a message", rows, "pin"))
        await until(self.pilot, lambda: SEEN in screen_text(self.app))

    async def policies(self) -> None:
        folder = self.app.launch.paths.policies
        folder.mkdir(parents=True)
        (folder / f"{HOSTILE.replace('/', '').replace(chr(0), '')[:40]}.toml").touch()
        self.app.run_command("settings", "policy")
        await until(self.pilot, lambda: "The context policy" in screen_text(self.app))
        check(self.app, "what is allowed")
        await self.pilot.press("enter")
        await until(self.pilot, lambda: "[b]sly[b]" in screen_text(self.app))

    async def notice(self) -> None:
        await self.user()
        self.app.chat.transcript.focus()
        await self.pilot.press("c")


PLACES: tuple[Callable[[Shown], Awaitable[None]], ...] = (
    Shown.user, Shown.reply, Shown.code, Shown.link, Shown.streamed, Shown.thinking, Shown.tool_name, Shown.arguments,
    Shown.opened_arguments, Shown.result, Shown.output, Shown.change, Shown.plan, Shown.error,
    Shown.compaction, Shown.delegation, Shown.own_command, Shown.waiting, Shown.title, Shown.command, Shown.file_names,
    Shown.pasted, Shown.draft,
    Shown.finding, Shown.pager, Shown.links, Shown.earlier_prompts, Shown.messages,
    Shown.policies, Shown.notice,
)  # fmt: skip
LINKS_OF_OURS = {"https://a.example/%EF%BF%BD]8;;", "https://a.example/␛]8;;", "https://a.example/%E2%90%9B%5D8;;"}


def check(app: CoTui, place: str) -> None:
    assert app._exception is None and app.is_running, place
    strips = app.screen._compositor.render_strips(app.size)
    for segment in (segment for strip in strips for segment in strip):
        assert not set(segment.text) & FORBIDDEN, (place, segment.text)
        style = segment.style
        if style is not None and "sly" in segment.text:
            assert not style.meta.get("@click"), place
            assert style.link is None or style.link in LINKS_OF_OURS, (place, style.link)


async def test_text_no_one_should_trust_is_shown_inert_wherever_the_chat_shows_text(tmp_path: Path) -> None:
    app = Quiet(launch_for(tmp_path / "home"))
    async with app.run_test(size=(120, 60)) as pilot:
        await until(pilot, lambda: app.chat.has_class("-complete"))
        shown = Shown(app, pilot)
        for place in PLACES:
            await place(shown)
            await pilot.pause()
            check(app, place.__name__)
            assert "sly" in screen_text(app), f"{place.__name__} hides what was said"
            while app.screen is not app.chat:
                app.pop_screen()
            app.chat.prompt.text = ""
            app.chat.show_waiting([])
            app.chat.show_state(SessionState())
            app.clear_notifications()
            app.chat.transcript.show([])
            await app.chat.action_back()
        assert app.clipboard.startswith(SEEN) and not set(app.clipboard) & (FORBIDDEN - {"\n"})
