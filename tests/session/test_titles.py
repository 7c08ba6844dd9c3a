"""Titles made from the first exchange: beside the conversation, never in the way of anybody."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCalls

from co_tui.agent.titles import cleaned
from co_tui.events import SessionRename
from co_tui.session.session import Session
from tests.support.environments import ScriptedModel, environment_for, facts, says
from tests.support.stores import listed, stored_events
from tests.support.waiting import PATIENCE_S, until

PROMPT = "why do ships made of iron not sink although iron is heavier than water"


async def begun(home: Path, titler: ScriptedModel, **settings: Any) -> Session:
    answering = ScriptedModel(says("They push water aside."))
    environment = environment_for(home, answering, titler, **{"summarization_model": titler.name, **settings})
    environment.names_sessions = True
    return await Session.start(environment, "scripted")


async def test_the_model_for_summaries_names_a_session_once(home: Path) -> None:
    asked: list[str] = []

    async def titles(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        asked.append(str(messages[-1]))
        yield 'Title: "Why iron ships \x1b[1mfloat"\n\nThat is the title.'

    session = await begun(home, ScriptedModel(titles, name="titler"))
    await session.submit(PROMPT)
    await until(lambda: session.state.title != PROMPT and session.state.title)
    assert session.state.title == "Why iron ships ␛[1mfloat"
    assert PROMPT in asked[0] and "They push water aside." in asked[0]
    await session.submit("and wood?")
    await session.close()
    (renamed,) = facts(stored_events(home, session.id), SessionRename)
    assert renamed.by == "titler" and len(asked) == 1
    assert [row.title for row in listed(home)] == ["Why iron ships ␛[1mfloat"]


async def test_neither_the_user_nor_the_next_turn_nor_the_end_waits_for_a_title(home: Path) -> None:
    waiting, stopped = asyncio.Event(), asyncio.Event()

    async def never(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        waiting.set()
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.set()
        yield "Too late"

    session = await begun(home, ScriptedModel(never, name="titler"))
    await session.submit(PROMPT)
    await asyncio.wait_for(waiting.wait(), PATIENCE_S)
    await asyncio.wait_for(session.submit("and wood?"), PATIENCE_S)
    await asyncio.wait_for(session.rename("Mine"), PATIENCE_S)
    assert stopped.is_set(), "a title that is written later would replace the user's"
    await asyncio.wait_for(session.close(), PATIENCE_S)
    assert [row.title for row in listed(home)] == ["Mine"], "what the user gave stays"


async def test_a_session_named_before_its_first_turn_keeps_its_name(home: Path) -> None:
    session = await begun(home, ScriptedModel(says("Never asked"), name="titler"))
    await session.rename("Mine")
    await session.submit(PROMPT)
    assert session._work.title._writing is None
    await session.close()
    assert [row.title for row in listed(home)] == ["Mine"]


@pytest.mark.parametrize("titler", ["", "embedded", "missing"])
async def test_without_a_model_for_it_the_prompt_is_the_title(home: Path, titler: str) -> None:
    session = await begun(home, ScriptedModel(says("Never asked"), name="titler"), summarization_model=titler)
    await session.submit("short prompt")
    await session.close()
    assert [row.title for row in listed(home)] == ["short prompt"]
    assert not facts(stored_events(home, session.id), SessionRename)


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ("Fixing the login test", "Fixing the login test"),
        ("**Title:** `Login fix`.", "Login fix"),
        ("**Title**: Fixing the parser", "Fixing the parser"),
        ("\n\n“Boote bauen”\n", "Boote bauen"),
        ("标题：登录修复", "登录修复"),
        ("", ""),
        ("I am sorry, but I cannot give a title to this conversation because it has none to give.", ""),
        ("x" * 200, ""),
    ],
)
def test_only_a_title_is_taken_for_one(reply: str, title: str) -> None:
    assert cleaned(reply) == title
