"""Resuming a stored session: its folder, its model, and what if it is open elsewhere."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual import events
from textual.pilot import Pilot

from co_tui.events import CompactionComplete, Message, PolicyChange, SessionStart, UsageInfo
from co_tui.ui.app import CoTui
from co_tui.ui.approvals import lone_letters
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.commands.host import READ_ALONG
from co_tui.ui.gauge.gauge_reading import GaugeReading
from co_tui.ui.gauge.gauge_widget import Gauge
from co_tui.ui.lens.lens_screen import LensScreen
from co_tui.ui.widgets.line_list import LineList
from tests.support.drawing import draw_every_change
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider
from tests.support.screen import (
    answer,
    ask,
    launch_for,
    question_shown,
    running,
    screen_text,
    transcript_text,
    type_text,
    until,
)
from tests.support.stores import listed, store_in, stored_events
from tests.support.waiting import HANGING_S

SCRIPTED = "openai-chat:scripted"


def say(home: Path, name: str, prompt: str, *, cwd: str, model: str = SCRIPTED, policy: str = "balanced") -> None:
    """A stored session of one exchange that filled half of its window."""
    request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": prompt}]}
    reply = {"kind": "response", "parts": [{"part_kind": "text", "content": f"Answer to {prompt}"}]}
    usage = UsageInfo(
        token_limit=8000,
        current_tokens=4000,
        messages_count=2,
        system_tokens=100,
        conversation_tokens=3900,
        tool_definition_tokens=0,
        is_initial=True,
        limit_known=True,
        measured="provider",
        cost=0.42,
    )
    start = SessionStart(model=model, policy=policy, cwd=cwd)
    said = [Message(turn=1, message=request), Message(turn=1, message=reply)]
    with store_in(home) as store:
        store.writing().append(name, [start, *said, usage, CompactionComplete(success=False, cost=0.03)]).result()


async def test_a_session_of_another_folder_continues_there_or_here(
    home: Path, provider: Provider, tmp_path: Path
) -> None:
    shop, market, gone = tmp_path / "shop", tmp_path / "market", tmp_path / "gone"
    for folder in (shop, market):
        folder.mkdir()
        (folder / f"{folder.name}.txt").write_text("goods")
    for name, cwd in (("s-1", shop), ("s-2", market), ("s-3", gone)):
        say(home, name, f"at the {cwd.name}", cwd=str(cwd))
    async with running(launch_for(home, provider, session_id="s-1")) as (app, pilot):
        await until(pilot, lambda: question_shown(app))
        assert "/shop with openai-chat:scripted; you are in" in question_shown(app)
        await answer(app, pilot, "f")
        await until(pilot, lambda: app.controller.session is not None)
        assert app.launch.cwd == shop == app.chat.prompt.workplace.folder
        await type_text(pilot, "@sho")
        await until(pilot, lambda: "shop.txt" in screen_text(app))
        await pilot.press("escape", *["backspace"] * 4)
        app.chat.prompt.insert("!ls")
        await pilot.press("enter")
        await until(pilot, lambda: "shop.txt" in transcript_text(app))
        await type_text(pilot, "/resume s-2\n")
        await until(pilot, lambda: "you are in" in question_shown(app))
        app.chat.prompt.focus()
        await ask(app, pilot, "a prompt answers it: here")
        assert not question_shown(app) and app.launch.cwd == shop
        await type_text(pilot, "/resume s-3\n")
        await until(pilot, lambda: "(deleted); it now works in" in transcript_text(app))
        await until(pilot, lambda: app.controller.session is not None)
    assert {row.id: Path(row.cwd).name for row in listed(home)} == {"s-1": "shop", "s-2": "shop", "s-3": "shop"}


async def test_a_session_that_was_not_asked_for_is_announced_with_the_key_for_a_new_one(
    home: Path, provider: Provider
) -> None:
    say(home, "s-1", "at the market", cwd=str(home.parent))
    async with running(launch_for(home, provider, session_id="s-1", is_restored=True)) as (app, pilot):
        (notice,) = (each.message for each in app._notifications)
        assert notice == "This folder's latest session continues. F7 starts a new session."
        assert "at the market" in transcript_text(app)
        await pilot.press("f7")
        await until(pilot, lambda: not app.controller.session_id and "at the market" not in transcript_text(app))


async def test_a_session_that_another_process_writes_is_read_or_copied(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="s-1")
    say(home, "s-1", "shared", cwd=str(launch.cwd))
    other = store_in(home)
    with other, other.claim("s-1"):
        async with running(launch) as (app, pilot):
            await until(pilot, lambda: "only one can write to it" in question_shown(app))
            await answer(app, pilot, "r")
            await until(pilot, lambda: "Read-only" in transcript_text(app))
            before = len(stored_events(home, "s-1"))
            reply = {"kind": "response", "parts": [{"part_kind": "text", "content": "Said over there"}]}
            other.writing().append("s-1", [Message(turn=2, message=reply)]).result()
            await until(pilot, lambda: "Said over there" in transcript_text(app))
            await looked_through_only(app, pilot)
            assert len(stored_events(home, "s-1")) == before + 1, "looking wrote nothing"
            app.chat.prompt.insert("mine")
            await pilot.press("enter")
            await answer(app, pilot, "f")
            await until(pilot, lambda: app.controller.idle and app.controller.state.turn == 3)
            assert app.controller.session_id != "s-1" and "shared (fork)" in screen_text(app)
            assert len(stored_events(home, "s-1")) == before + 1, "nothing of ours was written there"
            copy = app.controller.session_id
            await type_text(pilot, "/resume s-1\n")
            await answer(app, pilot, "escape")
            await until(pilot, lambda: app.controller.session_id == copy and app.controller.idle)
            assert "shared (fork)" in screen_text(app), "back to where one was"


async def test_that_a_session_is_open_elsewhere_is_known_before_the_engine_and_typing_answers_nothing(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launch_for(home, provider, session_id="s-1")
    say(home, "s-1", "shared", cwd=str(launch.cwd))
    loads: list[CoTui] = []
    load = CoTui.load_engine
    monkeypatch.setattr(CoTui, "load_engine", lambda app: loads.append(app))
    monkeypatch.setattr(lone_letters, "ALONE_S", HANGING_S)
    other = store_in(home)
    with other, other.claim("s-1"):
        async with running(launch, ready=False) as (app, pilot):
            await until(pilot, lambda: "only one can write to it" in question_shown(app))
            app.chat.query_one(QuestionPanel).focus()
            await until(pilot, lambda: isinstance(app.focused, QuestionPanel))
            for character in "from":
                app.post_message(events.Key(character, character))
            await until(pilot, lambda: app.chat.prompt.text == "from")
            assert question_shown(app)
            await until(pilot, lambda: loads)
            load(app)
            await until(pilot, lambda: app.controller.backend.ready)
            await pilot.press("tab", "f", "enter")
            await until(pilot, lambda: app.controller.idle and app.controller.session_id != "s-1")
            assert not question_shown(app) and app.chat.prompt.text == "from", "asked once"
    assert [row.id for row in listed(home) if row.id != "s-1"] == [app.controller.session_id]


async def looked_through_only(app: CoTui, pilot: Pilot[Any]) -> None:
    """In a session that is only read: the lens without keys that write, and commands that say what to do instead."""
    await pilot.press("f3")
    await until(pilot, lambda: "Said over there" in screen_text(app) and isinstance(app.screen, LensScreen))
    assert len(app.screen.query_one(LineList)) == 3 and "Answer to shared" in screen_text(app)
    assert "the next request · read only" in screen_text(app)
    keys = screen_text(app).splitlines()[-2]
    assert "Space Open" in keys and "Pin" not in keys and "Compact" not in keys, keys
    await pilot.press("p", "s")
    await until(pilot, lambda: READ_ALONG in {each.message for each in app._notifications})
    await pilot.press("escape")
    for line in ("/compact", "/clear", "/undo", "/rewind", "/pin", "/rename x"):
        told = transcript_text(app).count(READ_ALONG)
        await type_text(pilot, f"{line}\n")
        await until(pilot, lambda told=told: transcript_text(app).count(READ_ALONG) == told + 1)
    await type_text(pilot, "/history\n")
    await until(pilot, lambda: "The model sees 3 of 3 messages" in transcript_text(app))


async def test_a_session_whose_model_is_gone_continues_with_the_default_one(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="s-1")
    say(home, "s-1", "who?", cwd=str(launch.cwd), model="anthropic:claude-long-gone")
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: "needs a key" in question_shown(app))
        assert "anthropic:claude-long-gone cannot answer" in question_shown(app)
        await answer(app, pilot, "u")
        await until(pilot, lambda: app.controller.session is not None)
        assert app.controller.state.model == SCRIPTED
        await ask(app, pilot, "you")


@pytest.mark.parametrize("policy", also_in_a_long_run(["balanced"], ["cowagent"]))
async def test_the_gauge_is_right_from_its_first_frame(
    home: Path, provider: Provider, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"CO_TUI_POLICY": policy, "CO_TUI_CONTEXT_WINDOW": "8000"}
    launch = launch_for(home, provider, session_id="s-1", environ=environ)
    say(home, "s-1", "how full?", cwd=str(launch.cwd), policy=policy)
    draw_every_change(monkeypatch)
    painted: list[GaugeReading] = []
    render = Gauge.render

    def watched(gauge: Gauge) -> Text:
        painted.append(gauge.reading)
        return render(gauge)

    monkeypatch.setattr(Gauge, "render", watched)
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: app.controller.session is not None and painted)
        assert "50 %" in screen_text(app)
    told = {(each.percent, each.amount, each.marks, each.cost, each.summary_cost) for each in painted}
    assert len(told) == 1 and painted[0].percent == "50 %" and painted[0].summary_cost == 0.03


async def test_a_session_chosen_in_the_app_keeps_its_own_policy_and_one_left_while_it_opens_is_not_used(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launch_for(home, provider)
    say(home, "s-1", "off with it", cwd=str(launch.cwd), policy="off")
    say(home, "s-2", "left", cwd=str(launch.cwd))
    async with running(launch) as (app, pilot):
        await type_text(pilot, "/resume s-1\n")
        await until(pilot, lambda: app.controller.session is not None)
        assert app.controller.state.policy == "off" and "never compacts" in screen_text(app)
        app.run_command("new", "")
        await until(pilot, lambda: not app.controller.session_id)

        opened, may_be_used, resume = asyncio.Event(), asyncio.Event(), app.controller.backend.resume

        async def resume_slowly(*which: Any, **how: Any) -> Any:
            session = await resume(*which, **how)
            opened.set()
            await may_be_used.wait()
            return session

        monkeypatch.setattr(app.controller.backend, "resume", resume_slowly)
        await type_text(pilot, "/resume s-2\n")
        await until(pilot, opened.is_set)
        await pilot.press("f7")
        await until(pilot, lambda: not app.controller.session_id)
        may_be_used.set()
        await until(pilot, lambda: not app.controller.opening)
        assert app.controller.session is None, "the next prompt begins a new one"
        with store_in(home) as other, other.claim("s-2"):
            pass
        await app.action_quit()  # nothing was said in the new one
        assert app.controller.resume_hint == f"{launch.program} --resume s-2   continues “left”"


async def test_a_session_whose_policy_is_gone_continues_under_yours_and_says_so(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    say(home, "s-1", "how full?", cwd=str(launch.cwd), policy="long-gone")
    async with running(launch.but(session_id="s-1")) as (app, pilot):
        await until(pilot, lambda: app.controller.session is not None and app.controller.state.policy == "balanced")
        assert "'long-gone', no longer exists. Using balanced." in transcript_text(app)


def test_the_command_that_resumes_is_one_the_shell_finds(home: Path, tmp_path: Path) -> None:
    assert launch_for(home, environ={"UV_RUN_RECURSION_DEPTH": "1"}).program == "uv run co-tui"
    assert launch_for(home, environ={"PATH": str(tmp_path)}).program == f"{sys.executable} -m co_tui"
    (tmp_path / "co-tui").touch(mode=0o755)
    assert launch_for(home, environ={"PATH": str(tmp_path)}).program == "co-tui"


async def test_the_policy_of_the_environment_is_stronger_and_the_change_is_logged(
    home: Path, provider: Provider
) -> None:
    launch = launch_for(home, provider, environ={"CO_TUI_POLICY": "copilot"})
    say(home, "s-1", "off with it", cwd=str(launch.cwd), policy="off")
    async with running(launch) as (app, pilot):
        await type_text(pilot, "/resume s-1\n")
        await until(pilot, lambda: app.controller.session is not None and app.controller.state.policy == "copilot")
    changes = [event.fact for event in stored_events(home, "s-1") if isinstance(event.fact, PolicyChange)]
    assert [(change.from_, change.to) for change in changes] == [("off", "copilot")]


@only_in_a_long_run
async def test_the_policy_of_a_resumed_session_stays_when_a_setting_is_written(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    say(home, "s-1", "off with it", cwd=str(launch.cwd), policy="off")
    async with running(launch) as (app, pilot):
        await type_text(pilot, "/resume s-1\n")
        await until(pilot, lambda: app.controller.session is not None)
        await type_text(pilot, "/config few_turns 7\n")
        await until(pilot, lambda: "(saved)" in transcript_text(app))
        assert app.controller.launch.loaded.origins["policy"] == ("off", "the resumed session")
        await type_text(pilot, "/config policy cowagent\n")
        await until(pilot, lambda: app.controller.state.policy == "cowagent")


async def test_a_session_that_is_not_open_here_is_counted_from_its_log(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="s-1")
    say(home, "s-1", "shared", cwd=str(launch.cwd))
    other = store_in(home)
    with other, other.claim("s-1"):
        async with running(launch) as (app, pilot):
            await answer(app, pilot, "escape")
            await until(pilot, lambda: not app.controller.opening)
            assert app.controller.session_id == "s-1" and "Answer to shared" in screen_text(app), "it stays"
            app.run_command("history", "")
            await until(pilot, lambda: "sees 2 of 2 messages" in transcript_text(app))
            app.run_command("context", "")
            await until(pilot, lambda: "messages      2  (user 1  assistant 1)" in transcript_text(app))


async def test_looking_at_a_session_does_not_make_it_the_newest(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="s-1")
    for name in ("s-1", "s-2"):
        say(home, name, f"first in {name}", cwd=str(launch.cwd))
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
    assert [row.id for row in listed(home)] == ["s-2", "s-1"]
    async with running(launch_for(home, provider, session_id="s-1")) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        await ask(app, pilot, "and more")
    assert [row.id for row in listed(home)] == ["s-1", "s-2"]
