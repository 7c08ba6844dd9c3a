"""The model finds again what left its context."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.models.test import TestModel

from co_tui.events import Clear, CompactionComplete, Fact, Json, Message
from co_tui.session.state.derive import replay
from co_tui.session.tools.recall import ANSWER_CHARS, HITS, Recall
from co_tui.store.port import Store
from co_tui.store.search.session_words import holds
from co_tui.store.sqlite import connect
from co_tui.store.sqlite.in_memory import InMemoryStore
from tests.support.stores import store_in


def said(text: str, turn: int = 1, kind: str = "user-prompt") -> Message:
    return Message(turn=turn, message={"kind": "request", "parts": [{"part_kind": kind, "content": text}]})


def tool(kind: str, name: str, turn: int, **content: object) -> Message:
    part: Json = {"part_kind": kind, "tool_name": name, "tool_call_id": "c1", **content}
    return Message(turn=turn, message={"kind": "response" if kind == "tool-call" else "request", "parts": [part]})


Remembering = Callable[..., Recall]


@pytest.fixture(params=["sqlite", "in memory"])
def remembering(request: pytest.FixtureRequest, home: Path) -> Iterator[Remembering]:
    """A memory of a session in which these facts were logged."""
    store: Store = store_in(home) if request.param == "sqlite" else InMemoryStore()
    sessions = (f"s{n}" for n in count())

    def remember(*facts: Fact) -> Recall:
        session_id = next(sessions)
        state = replay(store.writing().append(session_id, facts).result())
        return Recall(store, session_id, lambda: state)

    yield remember
    store.close()


async def test_every_word_must_occur_and_the_newest_comes_first(remembering: Remembering) -> None:
    memory = remembering(
        said("The port is 8080."), said("PORT numbers: 8080, 9090", turn=2), said("Which port?", turn=3, kind="text")
    )
    assert await memory.recall("8080 port") == (
        "[2 messages match, newest first; page 1 of 1]\n\n"
        "[turn 2, user] (still in your context)\nPORT numbers: 8080, 9090\n\n"
        "[turn 1, user] (still in your context)\nThe port is 8080."
    )


async def test_what_a_compaction_replaced_is_found_and_distinguished(remembering: Remembering) -> None:
    memory = remembering(
        said("The secret word is heron."),
        CompactionComplete(success=True, replaced=((1, 0),), replacement=(said("They chose a word.").message,)),
        said("What was the word, heron?", turn=2),
    )
    assert (await memory.recall("heron")).split("\n\n")[1:] == [
        "[turn 2, user] (still in your context)\nWhat was the word, heron?",
        "[turn 1, user]\nThe secret word is heron.",
    ]


async def test_a_cleared_conversation_is_still_there(remembering: Remembering) -> None:
    memory = remembering(said("The heron flies."), Clear(history=(), messages_removed=1))
    assert "[turn 1, user]\nThe heron flies." in await memory.recall("heron")


async def test_quoted_words_stay_together(remembering: Remembering) -> None:
    memory = remembering(said("red green blue"), said("blue, then red\ngreen"), said("green red blue"))
    assert "[2 messages match" in await memory.recall('"Red green" blue')
    assert "[3 messages match" in await memory.recall("red green blue")
    assert "[3 messages match" in await memory.recall('"red green')


async def test_without_a_full_match_those_with_most_words_are_shown(remembering: Remembering) -> None:
    memory = remembering(said("alpha beta"), said("alpha"), said("beta gamma"))
    answer = await memory.recall("alpha beta delta")
    assert "[no message contains the whole query; these contain 2 of 3 words]" in answer
    assert "alpha beta" in answer
    assert "gamma" not in answer


async def test_tools_are_found_by_name_argument_and_result(remembering: Remembering) -> None:
    memory = remembering(
        tool("tool-call", "read_file", 4, args={"path": "notes.txt"}),
        tool("tool-return", "read_file", 4, content={"lines": ["herons"]}),
    )
    assert "[turn 4, call of read_file]" in await memory.recall("notes.txt")
    assert "[turn 4, result of read_file]" in await memory.recall("herons")
    assert "[2 messages match" in await memory.recall("read_file")


async def test_a_recall_never_finds_itself(remembering: Remembering) -> None:
    memory = remembering(
        tool("tool-call", "recall", 1, args={"query": "heron"}),
        tool("tool-return", "recall", 1, content="The heron again"),
    )
    assert (await memory.recall("heron")).startswith("No matches in this session.")


async def test_a_long_message_is_shown_around_what_was_found(remembering: Remembering) -> None:
    memory = remembering(said("x" * 5_000 + " heron " + "y" * 5_000))
    excerpt = (await memory.recall("HERON")).split("\n")[-1]
    assert excerpt.startswith("…x")
    assert excerpt.endswith("y…")
    assert " heron " in excerpt
    assert len(excerpt) < 700


async def test_results_come_in_pages_of_bounded_length(remembering: Remembering) -> None:
    memory = remembering(*(said(f"heron {turn} " + "z" * 5_000, turn) for turn in range(1, HITS + 3)))
    first, second = await memory.recall("heron"), await memory.recall("heron", page=2)
    assert len(first) <= ANSWER_CHARS
    assert first.count("[turn ") == HITS
    assert first.startswith("[10 messages match, newest first; page 1 of 2]\n\n[turn 10, user]")
    assert [f"[turn {turn}, user]" in second for turn in (3, 2, 1)] == [False, True, True]
    assert await memory.recall("heron", page=3) == "No page 3: 10 messages match, on 2 pages."


async def test_questions_without_sense_are_sent_back(remembering: Remembering) -> None:
    memory = remembering(said("heron"))
    for query, page in (("", 1), ('  "" ', 1), ("heron", 0)):
        with pytest.raises(ModelRetry):
            await memory.recall(query, page)
    assert (await remembering().recall("heron")).startswith("No matches in this session.")


async def test_the_model_is_told_how_to_use_it(remembering: Remembering) -> None:
    model = TestModel(call_tools=[])
    await Agent(model, tools=[remembering().recall]).run("hi")
    assert model.last_model_request_parameters is not None
    (definition,) = model.last_model_request_parameters.function_tools
    assert definition.name == "recall"
    assert definition.description and "no longer in your context" in definition.description
    assert set(definition.parameters_json_schema["properties"]) == {"query", "page"}
    assert definition.parameters_json_schema["required"] == ["query"]


async def test_what_stands_inside_words_and_in_scripts_without_spaces_is_found(remembering: Remembering) -> None:
    memory = remembering(
        said("We export it."),
        said("The PORT."),
        said("今天天气很好"),
        said("Привет, МОСКВА!"),
        said("100%_sure: a.b"),
        said("İstanbul"),
    )
    for query, expected in {
        "port": ["The PORT.", "We export it."],
        "ort it": ["We export it."],
        "天气很": ["今天天气很好"],
        "天气": ["今天天气很好"],
        "москва": ["Привет, МОСКВА!"],
        "оск": ["Привет, МОСКВА!"],
        "мо": ["Привет, МОСКВА!"],
        "0%_s": ["100%_sure: a.b"],
        "%": ["100%_sure: a.b"],
        "a.b": ["100%_sure: a.b"],
        "axb": [],
        "İSTANBUL": ["İstanbul"],
    }.items():
        answer = await memory.recall(query)
        assert [hit.partition("\n")[2] for hit in answer.split("\n\n")[1:]] == expected, query


async def test_thoughts_and_tools_without_arguments_are_found_too(remembering: Remembering) -> None:
    memory = remembering(said("It must be the heron.", kind="thinking"), tool("tool-call", "look_around", 2, args=None))
    assert "[turn 1, thinking]" in await memory.recall("heron")
    assert "[turn 2, call of look_around]" in await memory.recall("around")


async def test_words_may_stand_in_several_parts_of_a_message(remembering: Remembering) -> None:
    parts = [{"part_kind": "text", "content": "alpha"}, {"part_kind": "text", "content": "beta beta"}]
    memory = remembering(Message(turn=1, message={"kind": "response", "parts": parts}), said("alpha", 2))
    assert (await memory.recall("alpha beta")).startswith("[1 message matches")


async def test_other_sessions_are_not_looked_at(remembering: Remembering) -> None:
    remembering(said("The heron flies."))
    assert "[1 message matches" in await remembering(said("A heron."), said("An egret.")).recall("heron")
    assert (await remembering(said("An owl.")).recall("heron")).startswith("No matches in this session.")


async def test_what_is_said_later_is_found_at_once(home: Path) -> None:
    with store_in(home) as store:
        state = replay(store.writing().append("s", [said("heron one")]).result())
        memory = Recall(store, "s", lambda: state)
        assert "[1 message matches" in await memory.recall("heron")
        store.writing().append("s", [said("heron two", turn=2)]).result()
        assert "[2 messages match" in await memory.recall("heron")


async def test_only_what_may_match_is_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the session is: the index finds the few messages that are looked at."""
    read: list[str] = []

    def counted(text: str, words: str) -> bool:
        read.append(text)
        return holds(text, words)

    monkeypatch.setattr(connect, "holds", counted)
    with store_in(home) as store:
        store.writing().append("other", [said("Снова цапля.")]).result()
        facts = [said("Вчера снова видели аиста и журавля."), said("Сегодня — ЦАПЛЯ!", 2)]
        state = replay(store.writing().append("s", [*[facts[0]] * 2_000, facts[1]]).result())
        for step in store.writing().upkeep_steps():  # what is not indexed yet is read
            step.result()
        answer = await Recall(store, "s", lambda: state).recall("цапля")
    assert answer.endswith("Сегодня — ЦАПЛЯ!") and len(read) == 1
