"""Sessions of other users and of other machines in the app: shared, read, forked, taken over."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from co_tui.events import Message, SessionStart
from co_tui.store.port import Store
from co_tui.store.store_errors import NOT_SHARED, SessionAbandoned
from co_tui.ui.control.resume_questions import ResumeQuestions
from co_tui.ui.sessions.sessions_screen import SessionsScreen
from tests.support.long_run import only_in_a_long_run
from tests.support.postgres import postgres_server, synced_store
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


def say(store: Store, name: str, prompt: str, **where: str) -> None:
    request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": prompt}]}
    start = SessionStart(model="openai-chat:scripted", policy="balanced", **where)
    store.writing().append(name, [start, Message(turn=1, message=request)]).result()
    store.sync.complete()


async def test_another_users_session_is_listed_with_its_owner_read_and_continued_in_a_copy(
    home: Path, provider: Provider
) -> None:
    server = postgres_server()
    url = server.new_database()
    launch = launch_for(home, provider)
    with synced_store(home / "alice", server.url_for("alice", url)) as hers:
        say(hers, "s-shared", "the heron of alice", cwd=str(launch.cwd))
        hers.sync.share("s-shared", shared=True).result()
        say(hers, "s-private", "the egret of alice", cwd=str(launch.cwd))
        launch = launch.but(store=synced_store(home, server.url_for("bob", url)))
        async with running(launch) as (app, pilot):
            await pilot.press("f2")
            await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and "shared by alice" in screen_text(app))
            assert "alice: the heron of alice" in screen_text(app) and "egret" not in screen_text(app)
            keys = screen_text(app).splitlines()[-1].lower()
            assert "fork" in keys and not any(each in keys for each in ("rename", "delete", "pin")), keys
            await pilot.press("enter")
            await until(pilot, lambda: "This session belongs to alice" in question_shown(app))
            await answer(app, pilot, "r")
            await until(pilot, lambda: "/fork continues in a copy." in transcript_text(app))
            reply = {"kind": "response", "parts": [{"part_kind": "text", "content": "Said by alice"}]}
            hers.writing().append("s-shared", [Message(turn=1, message=reply)]).result()
            await until(pilot, lambda: "Said by alice" in transcript_text(app))
            app.chat.prompt.insert("mine")
            await pilot.press("enter")
            await until(pilot, lambda: question_shown(app))
            await answer(app, pilot, "f")
            await until(pilot, lambda: app.controller.idle and app.controller.state.turn == 2)
            assert app.controller.session_id != "s-shared"
            await type_text(pilot, "/share\n")
            await until(pilot, lambda: "can read and fork it. /share off stops it." in transcript_text(app))
            await asyncio.to_thread(hers.sync.complete)
            with hers.reading() as reading:
                assert reading.session(app.controller.session_id).owner == "bob"
                assert reading.session("s-shared").last_seq == 3
            await type_text(pilot, "/share off\n")
            await until(pilot, lambda: "No longer shared." in transcript_text(app))


async def test_a_session_that_was_left_open_may_be_taken_over() -> None:
    async def choose(title: str, text: str, answers: Mapping[str, str]) -> str:
        assert title == "Take this session over?" and "It was being written on blue-laptop until " in text
        return next(key for key, words in answers.items() if words == "Take it over")

    abandoned = SessionAbandoned("It was not closed.", "blue-laptop", datetime.now().astimezone())
    assert await ResumeQuestions(choose).elsewhere(abandoned) == "take over"


@only_in_a_long_run
async def test_a_session_that_another_machine_left_open_is_taken_over_after_a_question(
    home: Path, provider: Provider
) -> None:
    url = postgres_server().new_database()
    launch = launch_for(home, provider, session_id="s-1").but(store=synced_store(home, url))
    say(launch.store, "s-1", "left open", cwd=str(launch.cwd))
    postgres_server().execute(
        "INSERT INTO co_tui.leases(session_id, number, writer, host, machine, process, expires)"
        " VALUES('s-1', 0, 'w', 'blue-laptop', 'x.y', 1, now() - interval '5 minutes')",
        url.partition("?")[0].rpartition("/")[2],
    )
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: "It was being written on blue-laptop until " in question_shown(app))
        assert "Take this session over?" in screen_text(app)
        await answer(app, pilot, "t")
        await ask(app, pilot, "and on")
        assert app.controller.session_id == "s-1" and launch.store.claimed() == {"s-1"}


async def test_a_session_of_another_machine_continues_at_the_same_place_of_this_checkout(
    home: Path, provider: Provider
) -> None:
    launch = launch_for(home, provider, session_id="s-1")
    (launch.cwd / ".git").mkdir()
    (launch.cwd / "api").mkdir()
    (launch.cwd / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (launch.cwd / ".git" / "config").write_text('[remote "origin"]\nurl = https://example.com/me/shop\n')
    where = {"cwd": "/gone/shop/api", "repository": "/gone/shop", "repository_id": "example.com/me/shop"}
    say(launch.store, "s-1", "at the api", **where)
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: question_shown(app))
        assert "/api" in question_shown(app) and "/gone" not in question_shown(app)
        await answer(app, pilot, "f")
        await until(pilot, lambda: app.controller.session is not None)
        assert app.launch.cwd == launch.cwd / "api"
        await type_text(pilot, "/share\n")
        await until(pilot, lambda: NOT_SHARED in transcript_text(app).replace("\n", " "))
