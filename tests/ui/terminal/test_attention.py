"""A user who looks elsewhere is called back: when a long turn ends, and when a question waits; by words of ours."""

from pathlib import Path

import pytest
from textual.events import AppBlur, AppFocus

from co_tui.ui.terminal.attention import BELL, LONG_TURN_S, alert_sequence
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, until

NOTICE = f"\x1b]9;co-tui: done{BELL}"


@pytest.mark.parametrize(
    ("environ", "setting", "written"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, "on", NOTICE),
        ({"TERM": "xterm-kitty"}, "on", NOTICE),
        ({"TERM": "foot"}, "on", f"\x1b]777;notify;co-tui;done{BELL}"),
        ({"TERM": "xterm-256color"}, "on", BELL),
        ({"TERM_PROGRAM": "WezTerm", "TMUX": "/tmp/tmux"}, "on", BELL),
        ({"TERM_PROGRAM": "WezTerm"}, "bell", BELL),
        ({"TERM_PROGRAM": "WezTerm"}, "off", ""),
        ({}, "on", BELL),
    ],
)
def test_each_terminal_is_told_in_its_own_way(environ: dict[str, str], setting: str, written: str) -> None:
    assert alert_sequence("done", environ, setting) == written


async def test_only_a_long_turn_calls_and_only_who_looks_elsewhere(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = Reply(text="\a \x1b]9;from the model\a done")
    async with running(launch_for(home, provider, environ={"TERM_PROGRAM": "iTerm.app"})) as (app, pilot):
        written: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)

        def shift_clock(seconds: float) -> None:
            monkeypatch.setattr(type(app.chat._status), "busy_s", property(lambda status: seconds * status.busy))

        async def say(turn: int) -> None:
            app.send("a prompt")  # a key would tell that somebody looks
            await until(pilot, lambda: app.controller.state.turn == turn and app.controller.idle)

        app.post_message(AppBlur())
        shift_clock(LONG_TURN_S - 1)
        await say(1)
        assert written == []
        shift_clock(LONG_TURN_S + 22)
        await say(2)
        assert written == [f"\x1b]9;co-tui: the turn ended after 42 s{BELL}"]
        app.post_message(AppFocus())
        await say(3)
        assert len(written) == 1
