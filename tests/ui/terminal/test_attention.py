"""A user who looks elsewhere is called back: when a long turn ends, and when a question waits; by words of ours."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import AppBlur, AppFocus

from co_tui.ui.terminal.attention import BELL, LONG_TURN_S, alert_sequence
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, until

NOTICE = f"\x1b]9;co-tui: done{BELL}"
IN_TMUX = f"\x1bPtmux;\x1b{NOTICE}\x1b\\{BELL}"


@pytest.mark.parametrize(
    ("environ", "setting", "written"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, "on", NOTICE),
        ({"TERM": "xterm-kitty"}, "on", NOTICE),
        ({"TERM": "foot"}, "on", f"\x1b]777;notify;co-tui;done{BELL}"),
        ({"TERM": "xterm-256color"}, "on", BELL),
        ({"TERM_PROGRAM": "tmux", "WEZTERM_PANE": "0", "TMUX": "/tmp/tmux"}, "on", IN_TMUX),
        ({"TERM_PROGRAM": "tmux", "TERM": "tmux-256color", "TMUX": "/tmp/tmux"}, "on", BELL),
        ({"TERM_PROGRAM": "tmux", "TMUX": "/tmp/tmux"}, "osc9", IN_TMUX),
        ({"TERM_PROGRAM": "WezTerm", "STY": "1.pts"}, "on", BELL),
        ({"TERM": "xterm-256color"}, "osc9", NOTICE),
        ({"TERM": "xterm-256color"}, "osc777", f"\x1b]777;notify;co-tui;done{BELL}"),
        ({"TERM_PROGRAM": "WezTerm"}, "bell", BELL),
        ({"TERM_PROGRAM": "WezTerm"}, "off", ""),
        ({}, "on", BELL),
    ],
)
def test_each_terminal_is_told_in_its_own_way(environ: dict[str, str], setting: str, written: str) -> None:
    assert alert_sequence("done", environ, setting) == written


@given(st.text())
def test_a_sessions_name_cannot_end_the_sequence_or_add_a_field(name: str) -> None:
    for setting, fields in (("osc9", 1), ("osc777", 3)):
        written = alert_sequence("done", {}, setting, name)
        inside = written.removeprefix("\x1b]").removesuffix(BELL)
        assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in inside)
        assert inside.count(";") == fields and inside.endswith("done") and len(inside) < 100


async def test_a_turn_stopped_at_a_limit_calls_however_short_it_was(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = Reply(tool=("list_directory", "{}"))
    environ = {"TERM_PROGRAM": "iTerm.app", "CO_TUI_AGENT_MAX_STEPS": "1"}
    async with running(launch_for(home, provider, environ=environ)) as (app, pilot):
        written: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)
        app.post_message(AppBlur())
        app.send("look around")
        await until(pilot, lambda: app.controller.state.turn == 1 and app.controller.idle)
        await until(pilot, lambda: written)
        assert written == [f"\x1b]9;co-tui: {app.controller.state.title}: stopped at the step limit{BELL}"]


async def test_only_a_long_turn_calls_and_only_who_looks_elsewhere(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = Reply(text="\a \x1b]9;from the model\a done")
    async with running(launch_for(home, provider, environ={"TERM_PROGRAM": "iTerm.app"})) as (app, pilot):
        written: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)

        def shift_clock(seconds: float) -> None:
            monkeypatch.setattr(type(app.chat.status), "busy_s", property(lambda status: seconds * status.busy))

        async def say(turn: int) -> None:
            app.send("a prompt")  # a key would tell that somebody looks
            await until(pilot, lambda: app.controller.state.turn == turn and app.controller.idle)

        app.post_message(AppBlur())
        shift_clock(LONG_TURN_S - 1)
        await say(1)
        assert written == []
        shift_clock(LONG_TURN_S + 22)
        await say(2)
        assert written == [f"\x1b]9;co-tui: {app.controller.state.title}: the turn ended after 42 s{BELL}"]
        app.post_message(AppFocus())
        await say(3)
        assert len(written) == 1


async def test_a_question_right_after_the_start_makes_no_sound(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(launch_for(home, provider)) as (app, _):
        written: list[str] = []
        assert app._driver is not None and app.last_typed_at == float("-inf")
        monkeypatch.setattr(app._driver, "write", written.append)
        started = app._started_at
        for seconds, sounds in ((LONG_TURN_S - 1, 0), (LONG_TURN_S + 1, 1)):
            with monkeypatch.context() as later:
                later.setattr("co_tui.ui.app.time.monotonic", lambda at=started + seconds: at)
                app.alert("a question is pending")
            assert len(written) == sounds
