"""What opens over the chat as pictures: what waits, runs, is allowed, was written; and all of that empty."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from co_tui.agent.keys.login import LoginResult
from co_tui.session.approvals.standing_approvals import StandingRule
from co_tui.session.queue import WaitingPrompt
from co_tui.session.tools.running_commands import BackgroundCommand
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.settings.permission_rules import RuleInForce, parse_rule
from co_tui.store.notes.board_text import Board, BoardChange, BoardEntry
from co_tui.store.sqlite import log
from co_tui.ui.app import CoTui
from co_tui.ui.approvals.approvals_screen import AddRuleScreen, ApprovalsScreen
from co_tui.ui.dialogs.simple_dialogs import EditScreen
from co_tui.ui.dialogs.text_screen import PagerScreen
from co_tui.ui.memory.board_screen import BoardScreen
from co_tui.ui.memory.memory_screen import MemoryScreen
from co_tui.ui.models.login_screen import KeyScreen, LoginScreen, ProviderKey
from co_tui.ui.prompt.queue_screen import QueueScreen
from co_tui.ui.sessions import sessions_screen
from co_tui.ui.settings.settings_screen import SettingsScreen
from co_tui.ui.work.tasks_screen import TasksScreen, command_task
from tests.support.pictures import SIZES, Pictures, Scene
from tests.support.provider import Provider
from tests.support.screen import launch_for, screen_text, type_text, until
from tests.ui.pictures.test_pictures import Compacted, Frozen, shown
from tests.ui.pictures.test_pictures_screens import Noon, keep_sessions, minutes_apart

SMALL, SMALLEST = SIZES[:2], SIZES[:1]


@pytest.fixture(autouse=True)
def always_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "now", minutes_apart())
    monkeypatch.setattr(sessions_screen, "datetime", Noon)


def hide_conversation(pilot: Pilot[None]) -> None:
    """Its position after many sizes is not what these pictures are about."""
    for below in pilot.app.chat.query("Transcript, #side"):
        below.visible = False


async def back_in_chat(pilot: Pilot[None]) -> None:
    """Close what is open."""
    await shown(pilot)
    hide_conversation(pilot)
    while pilot.app.screen is not pilot.app.chat:
        pilot.app.pop_screen()
        await pilot.pause()


def pushed(make: Callable[[], Screen[Any]]) -> Scene:
    async def scene(pilot: Pilot[None]) -> None:
        await back_in_chat(pilot)
        await pilot.app.push_screen(make())

    return scene


def pressed(*keys: str, then: str) -> Scene:
    """Keys, until these words are on the screen."""

    async def scene(pilot: Pilot[None]) -> None:
        await pilot.press(*keys)
        await until(pilot, lambda: then in screen_text(pilot.app))

    return scene


def from_chat(*keys: str, then: str) -> Scene:
    async def scene(pilot: Pilot[None]) -> None:
        await back_in_chat(pilot)
        await pressed(*keys, then=then)(pilot)

    return scene


WAITING = (
    WaitingPrompt(1, "And now mend the test, then run all of them.", held=False),
    WaitingPrompt(2, "Write what you found into notes.md, with the places in the code that open a store", held=True),
    WaitingPrompt(3, "Use monkeypatch.", held=True, steers=True),
)
COMMANDS = [
    BackgroundCommand("1", "uv run pytest -x --ff", 12.0, True, None, "collected 410 items\n" + "." * 90),
    BackgroundCommand("2", "npm run dev -- --port 5173 --host 127.0.0.1 --strict", 340.0, False, 1, "ready"),
    BackgroundCommand("3", "sleep 1000", 2.0, False, None, ""),
]
RULES = [
    StandingRule(RuleInForce("allow", parse_rule("Edit(src/**)"), "this session"), True),
    StandingRule(RuleInForce("allow", parse_rule("Bash(uv run pytest, harmless options)"), "this project"), True),
    StandingRule(RuleInForce("allow", parse_rule("mcp__docs__search_pages"), "this project"), True),
    StandingRule(RuleInForce("ask", parse_rule("Bash(git push:*)"), "/config/co-tui/config.toml"), True),
    StandingRule(RuleInForce("deny", parse_rule("Read(//etc/secrets/**)"), "/shop/.co-tui.toml"), False),
]
NOTES = (
    BoardEntry("1" * 8, "Tests run with `uv run pytest -n 1`.", "2026-03-04T15:16:00+00:00", "20260304-151600-a1b2c3"),
    BoardEntry("2" * 8, "The store is opened by a fixture; patch SESSION_DIR before it, or the user's own is used."),
    BoardEntry("3" * 8, "CI has two cores.", "2026-03-05T10:00:00+00:00", "20260305-100000-d4e5f6"),
)
KEYS = (
    ProviderKey("anthropic", "the system's keyring", is_kept=True),
    ProviderKey("openai", "OPENAI_API_KEY"),
    ProviderKey("google", ""),
)
LONG = "\n".join(f"{n:>4}  tests/test_login.py::test_{n} PASSED" for n in range(1, 400))


def board(*entries: BoardEntry) -> Screen[Any]:
    read = Board(entries, BoardChange(entries[-1:]))
    return BoardScreen(SimpleNamespace(origin="~/shop · main"), read)  # type: ignore[arg-type] # nothing is changed


def queue(*waiting: WaitingPrompt) -> Screen[Any]:
    return QueueScreen(SimpleNamespace(prompts=waiting))  # type: ignore[arg-type] # nothing is changed


def running(*commands: BackgroundCommand) -> Screen[Any]:
    tasks = [command_task(each) for each in commands]
    return TasksScreen(SimpleNamespace(), lambda: tasks)  # type: ignore[arg-type] # as above


def approvals(*rules: StandingRule) -> Screen[Any]:
    return ApprovalsScreen(SimpleNamespace(rules=lambda: rules), "edits")  # type: ignore[arg-type] # nothing is changed


async def test_lists(pictures: Pictures, home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider).but(workplace=LocalWorkplace(Path("/shop")))
    keep_sessions(launch, home)
    scenes = {
        "queue": pushed(lambda: queue(*WAITING)),
        "background commands": pushed(lambda: running(*COMMANDS)),
        "approvals": pushed(lambda: approvals(*RULES)),
        "approvals, add": pushed(lambda: AddRuleScreen(add=None)),  # type: ignore[arg-type] # nothing is changed
        "board": pushed(lambda: board(*NOTES)),
        "earlier prompts": from_chat("ctrl+r", then="newest first"),
        "pager": pushed(lambda: PagerScreen("run_command · uv run pytest", LONG)),
        "edit": pushed(lambda: EditScreen("Review the summary", "## Outcomes\n- We chose SQLite.")),
        "palette": from_chat("ctrl+p", then="/help"),
        "palette, searched": pressed("c", "o", "m", then="/compact"),
        "leader": from_chat("ctrl+x", then="Ctrl+X, then"),
        "policies": from_chat("ctrl+x", "y", then="Choose a policy"),
        "keys": from_chat("?", then="Scroll"),
    }
    await pictures.of_each(Frozen(launch), scenes)


async def test_empty_lists(pictures: Pictures, home: Path, provider: Provider) -> None:
    scenes = {
        "queue": pushed(lambda: queue()),
        "background commands": pushed(lambda: running()),
        "approvals": pushed(lambda: approvals()),
        "board": pushed(lambda: board()),
        "memory": pushed(lambda: MemoryScreen((), "", delete=None, restore=None)),
        "earlier prompts": from_chat("ctrl+r", then="No prompt in this folder yet"),
        "sessions": from_chat("f2", then="No sessions yet"),
        "trash": pressed("ctrl+t", then="The trash is empty"),
        "nothing found": pressed("escape", "q", "x", then="No matches"),
        "help, nothing found": from_chat("f1", "q", "x", "q", then="Nothing found"),
        "palette, nothing found": from_chat("ctrl+p", "q", "x", "q", then="No matching command"),
    }
    await pictures.of_each(Frozen(launch_for(home, provider)), scenes, SMALLEST)


async def test_keys_of_providers(pictures: Pictures, home: Path, provider: Provider) -> None:
    async def refuse(key: str) -> LoginResult:
        return LoginResult(False, "api.anthropic.com refused the key (HTTP 401). It was not saved.")

    async def typed(pilot: Pilot[None]) -> None:
        await pushed(lambda: KeyScreen("anthropic", "api.anthropic.com", refuse))(pilot)
        await pilot.press(*"secret")

    scenes = {
        "keys": pushed(lambda: LoginScreen(KEYS)),
        "a key": typed,
        "refused": pressed("enter", then="It was not saved."),
    }
    await pictures.of_each(Frozen(launch_for(home, provider)), scenes, SMALL)


async def test_browser(pictures: Pictures, home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider).but(workplace=LocalWorkplace(Path("/shop")))
    keep_sessions(launch, home)

    async def listed(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: pilot.app.controller.backend.ready)
        await pressed("f2", then="2 messages")(pilot)

    scenes = {
        "all": listed,
        "pinned": pressed("ctrl+k", then="Pinned"),
        "delete": pressed("ctrl+d", then="is pinned"),
        "rename": pressed("n", "ctrl+r", then="Rename"),
        "export": pressed("escape", "ctrl+e", then="JSONL"),
        "fork": pressed("escape", "ctrl+f", then="all of it"),
        "trash": pressed("escape", "ctrl+d", "y", "ctrl+t", then="Deleted last"),
        "delete for good": pressed("ctrl+d", then="forever?"),
    }
    await pictures.of_each(CoTui(launch), scenes, SMALL)


async def test_compaction_tabs(pictures: Pictures, home: Path, provider: Provider) -> None:
    async def opened(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: pilot.app.controller.state.compactions)
        await pilot.press("ctrl+l", "end", "enter")
        await until(pilot, lambda: "Summary" in screen_text(pilot.app))
        hide_conversation(pilot)
        await pilot.press("2")

    scenes = {
        "replaced": opened,
        "replaced, searched": pressed("slash", "q", then="q"),
        "kept": pressed("escape", "3", then="Why does test_login fail?"),
        "cost": pressed("4", then="saves"),
    }
    await pictures.of_each(Compacted(launch_for(home, provider)), scenes)


async def test_settings_changed(pictures: Pictures, home: Path, provider: Provider) -> None:
    async def opened(pilot: Pilot[None]) -> None:
        await shown(pilot)
        await type_text(pilot, "/settings \n")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await pilot.press(*"custom")
        await until(pilot, lambda: "compact=F12" in screen_text(pilot.app))

    async def clashing(pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await pilot.press(*"compact=F1", "enter")
        await until(pilot, lambda: "✗" in screen_text(pilot.app))

    scenes = {
        "filtered": opened,
        "a clash of keys": clashing,
        "a choice": pressed("escape", "escape", *"effort", "enter", then="medium"),
        "nothing found": pressed("escape", "escape", "slash", *"qxq", then="No setting"),
    }
    await pictures.of_each(Frozen(launch_for(home, provider)), scenes)
