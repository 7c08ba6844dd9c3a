"""The other screens as pictures: sessions, lens, settings, memory, and what opens over the chat."""

from collections.abc import Callable
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from co_tui.events import Message, SessionRename, SessionStart, UsageInfo
from co_tui.session.launch import Launch
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.store.notes.daily_memory import DailyMemory
from co_tui.store.sqlite import log
from co_tui.ui.app import CoTui
from co_tui.ui.lens.lens_screen import LensScreen
from co_tui.ui.memory.memory_screen import MemoryScreen
from co_tui.ui.sessions import sessions_screen
from co_tui.ui.settings.settings_screen import SettingsScreen
from co_tui.ui.widgets.line_list import LineList
from tests.support.pictures import Pictures, Scene
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, screen_text, type_text, until
from tests.support.stores import store_in
from tests.ui.pictures.test_pictures import Frozen, shown


class Noon(datetime):
    """It is always the same day."""

    @classmethod
    def now(cls, tz: object = None) -> "Noon":
        return cls(2026, 1, 3, 12, 0)


def minutes_apart() -> Callable[[], str]:
    """A clock that advances by a minute with each look."""
    minutes = count(540)

    def now() -> str:
        at = next(minutes)
        return f"2026-01-{1 + at // 600:02}T{at % 600 // 60 + 9:02}:{at % 60:02}:00"

    return now


@pytest.fixture(autouse=True)
def always_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "now", minutes_apart())
    monkeypatch.setattr(sessions_screen, "datetime", Noon)


def keep_sessions(launch: Launch, home: Path) -> None:
    """Three days of work in two folders."""
    told = [
        ("add PayPal", "How do we add PayPal?", "The gateway is in src/pay/gateway.py.", 0.91),
        ("payment webhooks", "Why are webhooks late?", "The queue is drained once a minute.", 0.18),
        ("fix flaky login test", "Why does test_login fail on CI?", "The login fixture opens the store early.", 0.62),
        ("far away", "What is this?", "A shop.", 0.05),
    ]
    store = store_in(home)
    for number, (title, prompt, reply, share) in enumerate(told):
        cwd = "/elsewhere/garden" if title == "far away" else str(launch.cwd)
        facts = [
            SessionStart(model="anthropic:claude-sonnet-5", policy="balanced", cwd=cwd, branch="main"),
            Message(turn=1, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": prompt}]}),
            Message(turn=1, message={"kind": "response", "parts": [{"part_kind": "text", "content": reply}]}),
            UsageInfo(
                token_limit=200_000, current_tokens=round(200_000 * share), messages_count=2, system_tokens=3_000,
                conversation_tokens=9_000, tool_definition_tokens=11_000, limit_known=True, measured="provider",
                cost=0.45,
            ),
            SessionRename(title=title),
        ]  # fmt: skip
        store.writing().append(f"s-{number}", facts).result()
    store.close()


def seen(pilot: Pilot[None], *words: str) -> Callable[[], bool]:
    return lambda: all(word in screen_text(pilot.app) for word in words)


async def test_sessions(pictures: Pictures, home: Path, provider: Provider) -> None:
    async def browsed(pilot: Pilot[None]) -> None:
        await shown(pilot)
        await pilot.press("f2")
        await until(pilot, seen(pilot, "Sessions · 4", "fix flaky login test"))
        await type_text(pilot, "login")
        await until(pilot, seen(pilot, "login fixture opens"))

    launch = launch_for(home, provider).but(workplace=LocalWorkplace(Path("/shop")))
    keep_sessions(launch, home)
    await pictures(Frozen(launch), browsed)


async def test_lens(pictures: Pictures, home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    async def looked(pilot: Pilot[None]) -> None:
        app = pilot.app
        await until(pilot, lambda: app.controller.backend.ready and not app.controller.opening)
        for n in range(4):
            await ask(app, pilot, f"question {n} about the capital " + "words " * 60)
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, LensScreen) and len(app.screen.query_one(LineList)) > 0)

    provider.default = Reply(text="The capital is Paris, as atlas/europe.md tells. " * 12, prompt_tokens=-1)
    provider.window = 12_000
    await pictures(CoTui(launch_for(home, provider, environ={"CO_TUI_TOOLS": "none"})), looked)


def called(command: str, screen: type[Screen[Any]]) -> Scene:
    async def scene(pilot: Pilot[None]) -> None:
        await shown(pilot)
        await type_text(pilot, f"{command}\n")
        await until(pilot, lambda: isinstance(pilot.app.screen, screen))

    return scene


async def test_settings(pictures: Pictures, home: Path, provider: Provider) -> None:
    await pictures(Frozen(launch_for(home, provider)), called("/settings", SettingsScreen))


async def test_memory(pictures: Pictures, home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    memory = DailyMemory(launch.paths.memory)
    for day, text in enumerate(("The port is 8080.", "## Outcomes\n- We chose SQLite.\n- The store is one file."), 1):
        memory.append(text, session_id="s1", heading=f"Talk {day}", when=datetime(2026, 3, day))
    await pictures(Frozen(launch), called("/memory", MemoryScreen))
