"""Memory across sessions, on the screen: read, searched, changed, undone."""

import json
import re
import threading
from datetime import datetime
from pathlib import Path

from textual.widgets import Input

from co_tui.session.checkout import repository_branch_of
from co_tui.session.launch import Launch
from co_tui.store.notes.board_text import BoardEntry
from co_tui.store.notes.context_board import ContextBoard
from co_tui.store.notes.daily_memory import DailyMemory
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.dialogs.simple_dialogs import AskScreen
from co_tui.ui.memory.board_screen import BoardScreen
from co_tui.ui.memory.memory_screen import MemoryScreen
from co_tui.ui.timeline.detail_screen import TextScreen
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, type_text, until

ADDS = Reply(
    text="",
    tools=(
        ("context_board", json.dumps({"action": "add", "text": "Tests run with uv."})),
        ("context_board", json.dumps({"action": "add", "text": "Tabs, [bold]not[/] spaces."})),
    ),
)


def on_board(launch: Launch) -> list[str]:
    board = ContextBoard(launch.paths.boards, *repository_branch_of(launch.cwd))
    return [entry.text for entry in board.read().entries]


async def test_the_memory_is_read_searched_and_an_entry_deleted_and_brought_back(home: Path) -> None:
    launch = launch_for(home)
    memory = DailyMemory(launch.paths.memory)
    for day, text in enumerate(("The port is 8080.", "## Outcomes\n- We chose SQLite.\n- The store is one file."), 1):
        file = memory.append(text, session_id="s1", heading=f"Talk \x1b[31m{day}", when=datetime(2026, 3, day))
    file.write_text(file.read_text() + file.read_text().replace("We chose SQLite", "A copy by hand"))
    async with running(launch, ready=False) as (app, pilot):
        await until(pilot, lambda: app.focused is app.chat.prompt)
        await type_text(pilot, "/memory\n")
        await until(pilot, lambda: isinstance(app.screen, MemoryScreen))
        seen = screen_text(app)
        assert seen.index("2026-03-02") < seen.index("2026-03-01") and "We chose SQLite. · The store" in seen
        await pilot.press(*"sqlite")
        assert "1 of 3" in screen_text(app) and "2026-03-01" not in screen_text(app)
        marked = [
            segment.text
            for strip in app.screen._compositor.render_strips(app.size)
            for segment in strip
            if segment.style and segment.style.reverse
        ]
        assert "SQLite" in marked
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        assert "Session s1" in screen_text(app)
        await pilot.press("escape", "ctrl+d")
        await until(pilot, lambda: "No entry matches" in screen_text(app))
        assert [entry.heading[-1] for entry in memory.entries()] == ["2", "1"]
        assert "A copy by hand" in file.read_text()
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "1 of 3" in screen_text(app))
        assert len(list(memory.entries())) == 3
        app.screen.query_one(Input).value = ""
        await until(pilot, lambda: "The port is 8080" in screen_text(app))
        assert re.findall("SQLite|by hand|8080", screen_text(app)) == ["by hand", "SQLite", "8080"], "as it was"
        await pilot.press("down", "ctrl+d")
        await until(pilot, lambda: "SQLite" not in screen_text(app))
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "8080" not in screen_text(app))
        assert ["by hand" in each.text for each in memory.entries()] == [True], (
            "the next one was chosen, across its heading"
        )
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        await until(pilot, lambda: "No session 's1'" in transcript_text(app))


@only_in_a_long_run
async def test_a_long_note_of_the_board_is_edited_as_a_whole(home: Path) -> None:
    launch = launch_for(home)
    board = ContextBoard(launch.paths.boards, *repository_branch_of(launch.cwd))
    note = ("many words " * 40).strip()
    board.change([BoardEntry("0123abcd", note)])
    async with running(launch, ready=False) as (app, pilot):
        await until(pilot, lambda: app.focused is app.chat.prompt)
        await type_text(pilot, "/memory board\n")
        await until(pilot, lambda: isinstance(app.screen, BoardScreen))
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, AskScreen))
        await pilot.press("end", "!", "enter")
        await until(pilot, lambda: on_board(launch) == [f"{note}!"])


async def test_a_run_of_the_subconscious_shows_progress_and_can_be_stopped_and_undone(
    home: Path, provider: Provider
) -> None:
    provider.window = 32_000
    launch = launch_for(home, provider)
    async with running(launch) as (app, pilot):
        await type_text(pilot, "/subconscious walk\n")
        await until(pilot, lambda: "takes `run` or `undo`, not 'walk'" in transcript_text(app))
        await type_text(pilot, "/subconscious run\n")
        await until(pilot, lambda: "No session yet" in transcript_text(app))
        await ask(app, pilot, "How do we test?")
        provider.script = [ADDS, Reply(until=threading.Event())]
        await type_text(pilot, "/subconscious run\n")
        await until(pilot, lambda: "2 added, 0 removed" in screen_text(app))
        assert "updating the context board" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: "Stopped. The context board is unchanged." in transcript_text(app))
        assert not on_board(launch) and not app.controller.busy
        provider.script = [ADDS, Reply(text="That is all.")]
        await type_text(pilot, "/subconscious run\n")
        await until(pilot, lambda: "Context board updated:" in transcript_text(app))
        assert "+ Tabs, [bold]not[/] spaces." in transcript_text(app)
        assert on_board(launch) == ["Tests run with uv.", "Tabs, [bold]not[/] spaces."]

        await type_text(pilot, "/memory board\n")
        await until(pilot, lambda: isinstance(app.screen, BoardScreen))
        assert "Tabs, [bold]not[/] spaces." in screen_text(app)
        await pilot.press("d")
        await until(pilot, lambda: on_board(launch) == ["Tabs, [bold]not[/] spaces."])
        await pilot.press("u")
        await until(pilot, lambda: len(on_board(launch)) == 2)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AskScreen))
        await pilot.press(*"mine", "enter")
        await until(pilot, lambda: on_board(launch)[-1] == "mine")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        await type_text(pilot, "/subconscious undo\n")
        await until(pilot, lambda: "− mine" in transcript_text(app))
        assert on_board(launch) == ["Tests run with uv.", "Tabs, [bold]not[/] spaces."]

        await type_text(pilot, "/new\n")
        await until(pilot, lambda: not app.controller.session_id)
        await ask(app, pilot, "And now?")
        assert "- Tests run with uv." in provider.requests[-1]["messages"][0]["content"]
        await type_text(pilot, "/context\n")
        await until(pilot, lambda: "2 notes from earlier sessions" in transcript_text(app))
        await pilot.press("f3")
        await until(
            pilot, lambda: "board" in screen_text(app) and "Notes that earlier sessions left" in screen_text(app)
        )
