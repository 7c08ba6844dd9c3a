"""The main screens as pictures, at the sizes people have."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from co_tui.events import (
    Clear,
    CompactionComplete,
    CompactionStart,
    Event,
    Message,
    ModelChange,
    SessionError,
    SessionStart,
    UsageInfo,
)
from co_tui.session.state.derive import apply
from co_tui.ui.app import CoTui
from co_tui.ui.chat.deferred_widgets import Completions
from co_tui.ui.compaction import compacting_bar
from co_tui.ui.gauge import gauge_widget
from co_tui.ui.help.help_screen import HelpScreen
from co_tui.ui.themes.themes import DARK
from co_tui.ui.timeline.timeline_widget import Timeline
from tests.support.pictures import SIZES, Pictures, Stored, logged
from tests.support.provider import Provider
from tests.support.screen import launch_for, until

REPLY = """The fixture opens the store **before** the environment is patched, so on CI `SESSION_DIR` is wrong.

```python
@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("SESSION_DIR", str(tmp_path))
```

| where | result |
|-------|--------|
| here  | passes |
| CI    | fails  |

- patch first
- then open 漢字
"""


def conversation() -> list[Event]:
    def message(kind: str, *parts: dict, turn: int = 1) -> Message:
        return Message(turn=turn, message={"kind": kind, "parts": list(parts)})

    call = {
        "part_kind": "tool-call",
        "tool_name": "shell",
        "args": '{"command": "pytest -k login"}',
        "tool_call_id": "c",
    }
    result = {"part_kind": "tool-return", "tool_name": "shell", "content": "1 failed\nin 2 s", "tool_call_id": "c"}
    usage = UsageInfo(
        token_limit=200_000, current_tokens=124_000, messages_count=6, system_tokens=3_100, conversation_tokens=109_900,
        tool_definition_tokens=11_000, limit_known=True, measured="provider", cost=0.42,
    )  # fmt: skip
    facts = [
        SessionStart(model="anthropic:claude-sonnet-5", policy="balanced", branch="main"),
        message("request", {"part_kind": "user-prompt", "content": "Why does test_login fail on CI but not here?"}),
        message("response", {"part_kind": "thinking", "content": "Let me look at the fixture."}, call),
        message("request", result),
        message("response", {"part_kind": "text", "content": REPLY}),
        UsageInfo(**{**usage.__dict__, "current_tokens": 110_000, "cost": None}),
        message("request", {"part_kind": "user-prompt", "content": "Thanks"}, turn=2),
        usage,
        SessionError(what="is rate limiting", outcome="retrying in 1.0 s", kind="rate_limit", retry_in_s=1.0),
        ModelChange(from_="a", to="anthropic:claude-sonnet-5"),
        Clear(messages_removed=2, history=tuple((seq, 0) for seq in (2, 3, 4, 5, 7))),
    ]
    return logged(facts)


async def shown(pilot: Pilot[None]) -> None:
    """Until the conversation is on the screen."""
    await until(pilot, lambda: pilot.app.controller.state.turn)


class Frozen(Stored):
    events = conversation()


async def test_chat(pictures: Pictures, home: Path, provider: Provider) -> None:
    await pictures(Frozen(launch_for(home, provider)), shown, ((43, 36), *SIZES, (200, 60)))


JOURNAL = """The login test fails on CI only; the order in which the fixture does its work is to blame.

user: Why does test_login fail?
- $ pytest -q tests/test_login.py → failed (exit 1)
    …
    E   AssertionError: SESSION_DIR is /home/ci/sessions, not /tmp/pytest-of-ci/pytest-0/test_login0/sessions
    › [login] 1 failed, 11 passed in 2.31s
    also: tests/conftest.py
assistant: The fixture opens the store before the environment is patched.
(3 more steps: grep ×2, cat)
- edit(path: tests/conftest.py)
        monkeypatch.setenv("SESSION_DIR", str(tmp_path))
    …"""
SAID = "Why does test_login fail?"
UNDER_WAY = f"""[What is under way]
## Standing rules of the user
- Never commit to main.

## What the user said
- {SAID}

## Where the work stands
Files changed: tests/conftest.py (×2), src/store.py
Failed when last run: $ pytest -q tests/test_ci.py → failed (exit 1)
    E   KeyError: 'CI'
Concluded: The fixture has to patch SESSION_DIR first."""


def _replacing(text: str, count: int, *said: str) -> dict:
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}],
            "metadata": {"co_tui_stands_for": count, "co_tui_said": list(said)}}  # fmt: skip


class Compacted(Frozen):
    """The same with a compaction behind it, and perhaps another one under way."""

    running: CompactionStart | None = None

    def load_engine(self) -> None:
        super().load_engine()
        stands = (_replacing(f"[Earlier conversation, summarised]\n{JOURNAL}", 4), _replacing(UNDER_WAY, 0, SAID))
        facts = [
            Message(turn=3, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "And?"}]}),
            CompactionComplete(
                success=True, trigger="background", pre_tokens=148_000, post_tokens=21_000, pre_messages=6,
                post_messages=4, tokens_removed=127_000, messages_removed=2, fixed_tokens=6_000, kept_tokens=9_000,
                summary_tokens=5_400, quoted_tokens=600,
                replaced=tuple((seq, 0) for seq in (2, 3, 4, 5)), replacement=stands,
                summary=JOURNAL, summarised_by="anthropic:claude-sonnet-5", checkpoint_number=3,
                checkpoint_path="checkpoints/003-flaky-login.md", cost=0.031, duration_ms=12_300, saved_cost=0.38,
                usage={"requests": 1, "input_tokens": 148_200, "output_tokens": 900},
            ),
        ]  # fmt: skip
        for n, fact in enumerate([*facts, *([self.running] if self.running else [])], 12):
            event = Event(session_id="s", seq=n, timestamp=f"2026-01-01T14:{n:02}:00", fact=fact)
            self.controller.bridge.state = apply(self.controller.bridge.state, event)
            self.chat.apply_event(event, self.controller.bridge.state)


async def test_other_themes(pictures: Pictures, home: Path, provider: Provider) -> None:
    await pictures.under(Compacted(launch_for(home, provider)), shown, ("high-contrast", "high-contrast-light", "nord"))


async def test_without_colours(
    pictures: Pictures, home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def marked(pilot: Pilot[None]) -> None:
        await shown(pilot)
        await pilot.press("ctrl+l")
        await until(pilot, lambda: pilot.app.chat.query_one(Timeline).has_focus)

    await pictures.under(Compacted(launch_for(home, provider, environ={"NO_COLOR": "1"})), marked, (DARK.name,))


async def test_compaction_opened(pictures: Pictures, home: Path, provider: Provider) -> None:
    async def opened(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: pilot.app.controller.state.compactions)
        pilot.app.open_entry(pilot.app.controller.state.timeline[-1])
        await until(pilot, lambda: pilot.app.screen is not pilot.app.chat)

    await pictures(Compacted(launch_for(home, provider)), opened)


class Clock:
    """Does not move."""

    @staticmethod
    def monotonic() -> float:
        return 1_000.0


async def test_compacting(pictures: Pictures, home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting_bar, "time", Clock)
    app = Compacted(launch_for(home, provider))
    app.running = CompactionStart(trigger="blocking", messages=32)
    await pictures(app, shown)


async def test_in_the_background(
    pictures: Pictures, home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gauge_widget, "MOVE_S", 1e9)
    app = Compacted(launch_for(home, provider))
    app.running = CompactionStart(trigger="background", messages=32, blocks=False)
    await pictures(app, shown)


async def test_help(pictures: Pictures, home: Path, provider: Provider) -> None:
    async def opened(pilot: Pilot[None]) -> None:
        await shown(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen) and pilot.app.screen.focused)

    await pictures(Frozen(launch_for(home, provider)), opened)


async def test_completions(pictures: Pictures, home: Path, provider: Provider) -> None:
    async def offered(pilot: Pilot[None]) -> None:
        await shown(pilot)
        await pilot.press("slash", "c")
        await until(pilot, lambda: pilot.app.chat.query_one(Completions).display)

    await pictures(Frozen(launch_for(home, provider)), offered)


async def test_drawer(pictures: Pictures, home: Path, provider: Provider) -> None:
    async def opened(pilot: Pilot[None]) -> None:
        await shown(pilot)
        await pilot.resize_terminal(80, 24)
        await pilot.press("f4")
        chat = pilot.app.chat
        await until(pilot, lambda: chat.has_class("-drawer") and chat.query_one(Timeline).size.height)

    await pictures(Frozen(launch_for(home, provider)), opened, SIZES[:2])


async def test_first_start(pictures: Pictures, home: Path) -> None:
    class Empty(CoTui):
        def load_engine(self) -> None:
            self.chat.branch = "main"
            self.chat.show_state(self.controller.bridge.state)
            self.chat.prompt.cursor_blink = False

    async def started(pilot: Pilot[None]) -> None:
        await pilot.pause()

    await pictures(Empty(launch_for(home)), started)
