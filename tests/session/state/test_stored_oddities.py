"""One odd value in the database costs that value, never the session."""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.model_messages import UNREADABLE, read_messages
from co_tui.events import CompactionComplete, Unknown, UsageInfo
from co_tui.events.event import stored
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for, says
from tests.support.here import Here
from tests.support.long_run import LONG_RUN, also_in_a_long_run

Edit = Callable[[dict[str, Any]], Any]


@pytest.fixture
async def left(home: Path) -> AsyncIterator[tuple[Environment, str]]:
    """A session that was closed after one turn."""
    environment = environment_for(home, ScriptedModel(says("A good answer.")))
    session = await Session.start(environment, "scripted")
    assert await session.submit("hi") is Outcome.DONE
    await session.close()
    yield environment, session.id
    environment.store.close()


def edit(environment: Environment, kind: str, change: Edit, nth: int = -1) -> None:
    """Write something else into an event of that type, as a version before this one may have."""
    with sqlite3.connect(environment.paths.database) as connection:
        rows = connection.execute("SELECT seq, payload FROM events WHERE type = ? ORDER BY seq", (kind,)).fetchall()
        seq, payload = rows[nth]
        read = json.loads(payload)
        changed = change(read)
        text = changed if isinstance(changed, str) else json.dumps(changed if changed is not None else read)
        connection.execute("UPDATE events SET payload = ? WHERE seq = ?", (text, seq))
    connection.close()


async def goes_on(environment: Environment, session_id: str) -> Session:
    session = await Session.resume(environment, session_id)
    assert await session.submit("still there?") is Outcome.DONE
    json.dumps([entry.message for entry in session.state.history], ensure_ascii=False).encode()  # can be sent
    await session.close()
    return session


def put(*path: str | int, value: Any) -> Edit:
    def change(payload: dict[str, Any]) -> None:
        holder: Any = payload
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value

    return change


ODD_REPLIES: dict[str, tuple[Edit, str]] = {
    "half a character": (put("message", "parts", 0, "content", value="A \ud800 good answer."), "good answer."),
    "fractional usage": (put("message", "usage", "input_tokens", value=1.5), "A good answer."),
    "absurd usage": (put("message", "usage", value={"input_tokens": 10**30, "output_tokens": -1}), "A good answer."),
    "usage of another kind": (put("message", "usage", value=[1]), "A good answer."),
    "a date that is none": (put("message", "timestamp", value="yesterday"), "A good answer."),
    "a name that is none": (put("message", "model_name", value=5), "A good answer."),
    "details that are none": (put("message", "provider_details", value="x"), "A good answer."),
    "a part too many": (lambda payload: payload["message"]["parts"].append({"part_kind": "dream"}), "A good answer."),
    "a part without content": (lambda payload: payload["message"]["parts"].append({"part_kind": "text"}), "A good"),
    "a part that is none": (lambda payload: payload["message"]["parts"].insert(0, 7), "A good answer."),
    "no parts": (put("message", "parts", value=5), UNREADABLE),
    "no kind": (put("message", "kind", value="dream"), UNREADABLE),
}


SUITE_REPLIES = ("half a character", "absurd usage", "a date that is none", "a part too many", "no parts", "no kind")


@pytest.mark.parametrize("name", ODD_REPLIES if LONG_RUN else SUITE_REPLIES)
async def test_an_odd_value_in_a_reply_costs_that_value(name: str, left: tuple[Environment, str]) -> None:
    change, words = ODD_REPLIES[name]
    environment, session_id = left
    edit(environment, "message", change)
    session = await goes_on(environment, session_id)
    read = read_messages([entry.message for entry in session.state.transcript])
    assert words in str(read[1]) and len(read) == len(session.state.transcript) == 4


@pytest.mark.parametrize(
    "change",
    also_in_a_long_run(
        [lambda payload: "[" * 50_000, put("message", value=7)],
        [
            lambda payload: "5",
            put("turn", value=10**30),
            lambda payload: "{damaged",
            lambda payload: '{"turn": ' + "9" * 5_000 + "}",
            lambda payload: {},
        ],
    ),
)
async def test_a_damaged_message_costs_that_message(change: Edit, left: tuple[Environment, str]) -> None:
    environment, session_id = left
    edit(environment, "message", change)
    session = await goes_on(environment, session_id)
    assert len(session.state.transcript) == 3


@pytest.mark.parametrize(
    "change",
    also_in_a_long_run(
        [put("current_tokens", value=10**30), put("cost", value=float("nan")), put("model", value=None)],
        [
            put("measured", value=5),
            put("input_tokens", value=[1]),
            put("current_tokens", value=1.5),
            put("cost", value=float("inf")),
            put("cost", value="much"),
        ],
    ),
)
async def test_an_odd_measurement_costs_no_session(change: Edit, left: tuple[Environment, str]) -> None:
    environment, session_id = left
    edit(environment, "session.usage_info", change)
    with sqlite3.connect(environment.paths.database) as connection:
        connection.execute("UPDATE sessions SET usage = (SELECT payload FROM events WHERE type = 'session.usage_info')")
    connection.close()
    with environment.store.reading() as reading:
        assert isinstance(reading.usage(session_id), UsageInfo | None)
    session = await Session.resume(environment, session_id)
    fork = await session.fork()
    await session.close()
    await goes_on(environment, session_id)
    await goes_on(environment, fork)


@pytest.mark.parametrize(
    "usage", also_in_a_long_run(["{damaged", '{"current_tokens": "many"}'], ["5", "null", "[" * 50_000]), ids=len
)
async def test_an_odd_row_costs_no_session(usage: str, left: tuple[Environment, str]) -> None:
    environment, session_id = left
    with sqlite3.connect(environment.paths.database) as connection:
        connection.execute("UPDATE sessions SET usage = ?", (usage,))
        connection.execute("INSERT INTO drafts VALUES(?, 'reply', '{damaged')", (session_id,))
    connection.close()
    with environment.store.reading() as reading:
        assert reading.usage(session_id) is None and len(reading.sessions()) == 1
    await goes_on(environment, session_id)


def test_an_odd_figure_of_a_compaction_costs_that_figure() -> None:
    payload = {"success": True, "replaced": [[2, 0]], "replacement": [{"kind": "request", "parts": []}], "cost": "much"}
    event = stored("s", 3, "session.compaction_complete", "t", 1, json.dumps({**payload, "pre_tokens": 1e400}))
    assert event.fact == CompactionComplete(success=True, replaced=((2, 0),), replacement=(payload["replacement"][0],))
    assert event.extra["cost"] == "much"


@pytest.mark.parametrize("odd", [{"replaced": 5}, {"replacement": [7]}, {"replacement": "x"}, {"replaced": [[1]]}])
def test_a_compaction_is_not_believed_without_its_messages(odd: dict[str, Any]) -> None:
    payload = {"success": True, "replaced": [[2, 0]], "replacement": [], **odd}
    event = stored("s", 3, "session.compaction_complete", "t", 1, json.dumps(payload))
    assert isinstance(event.fact, Unknown) and event.fact.payload == payload


def test_a_session_with_odd_values_is_shown_and_tried_in_the_lab(here: Here) -> None:
    """By the commands that read a stored session, in processes of their own."""
    import asyncio

    async def make() -> str:
        environment = environment_for(here.home, ScriptedModel(says("A good answer.")))
        session = await Session.start(environment, "scripted")
        await session.submit("hi")
        await session.close()
        edit(environment, "message", put("message", "usage", "input_tokens", value=1.5))
        edit(environment, "message", put("message", "parts", 0, "content", value="half \ud800"), 0)
        environment.store.close()
        return session.id

    session_id = asyncio.run(make())
    shown = here("show", session_id, "--json")
    assert shown.code == 0 and len(shown.objects) == 2, shown.err
    for command in (("context", session_id), ("lab", session_id, "--policy", "off")):
        done = here(*command)
        assert done.code == 0, (command, done.err)
