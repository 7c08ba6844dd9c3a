"""The model finds again what left its context."""

import time

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.models.test import TestModel

from co_tui.events import Clear, CompactionComplete, Event, Fact, Json, Message
from co_tui.session.state.replay import replay
from co_tui.session.tools.recall import ANSWER_CHARS, HITS, Recall


def said(text: str, turn: int = 1, kind: str = "user-prompt") -> Message:
    return Message(turn=turn, message={"kind": "request", "parts": [{"part_kind": kind, "content": text}]})


def tool(kind: str, name: str, turn: int, **content: object) -> Message:
    part: Json = {"part_kind": kind, "tool_name": name, "tool_call_id": "c1", **content}
    return Message(turn=turn, message={"kind": "response" if kind == "tool-call" else "request", "parts": [part]})


def remembering(*facts: Fact) -> Recall:
    state = replay(Event(session_id="s", seq=n, timestamp=f"t{n}", fact=fact) for n, fact in enumerate(facts, 1))
    return Recall(lambda: state)


async def test_every_word_must_occur_and_the_newest_comes_first() -> None:
    memory = remembering(
        said("The port is 8080."), said("PORT numbers: 8080, 9090", turn=2), said("Which port?", turn=3, kind="text")
    )
    assert await memory.recall("8080 port") == (
        "[2 messages match, newest first; page 1 of 1]\n\n"
        "[turn 2, user] (still in your context)\nPORT numbers: 8080, 9090\n\n"
        "[turn 1, user] (still in your context)\nThe port is 8080."
    )


async def test_what_a_compaction_replaced_is_found_and_told_apart() -> None:
    memory = remembering(
        said("The secret word is heron."),
        CompactionComplete(success=True, replaced=((1, 0),), replacement=(said("They chose a word.").message,)),
        said("What was the word, heron?", turn=2),
    )
    assert (await memory.recall("heron")).split("\n\n")[1:] == [
        "[turn 2, user] (still in your context)\nWhat was the word, heron?",
        "[turn 1, user]\nThe secret word is heron.",
    ]


async def test_a_cleared_conversation_is_still_there() -> None:
    memory = remembering(said("The heron flies."), Clear(history=(), messages_removed=1))
    assert "[turn 1, user]\nThe heron flies." in await memory.recall("heron")


async def test_quoted_words_stay_together() -> None:
    memory = remembering(said("red green blue"), said("blue, then red\ngreen"), said("green red blue"))
    assert "[2 messages match" in await memory.recall('"Red green" blue')
    assert "[3 messages match" in await memory.recall("red green blue")
    assert "[3 messages match" in await memory.recall('"red green')


async def test_without_a_full_match_those_with_most_words_are_shown() -> None:
    memory = remembering(said("alpha beta"), said("alpha"), said("beta gamma"))
    answer = await memory.recall("alpha beta delta")
    assert "[no message holds all of the query; these hold 2 of 3]" in answer
    assert "alpha beta" in answer
    assert "gamma" not in answer


async def test_tools_are_found_by_name_argument_and_result() -> None:
    memory = remembering(
        tool("tool-call", "read_file", 4, args={"path": "notes.txt"}),
        tool("tool-return", "read_file", 4, content={"lines": ["herons"]}),
    )
    assert "[turn 4, call of read_file]" in await memory.recall("notes.txt")
    assert "[turn 4, result of read_file]" in await memory.recall("herons")
    assert "[2 messages match" in await memory.recall("read_file")


async def test_a_recall_never_finds_itself() -> None:
    memory = remembering(
        tool("tool-call", "recall", 1, args={"query": "heron"}),
        tool("tool-return", "recall", 1, content="The heron again"),
    )
    assert (await memory.recall("heron")).startswith("Nothing in this session matches.")


async def test_a_long_message_is_shown_around_what_was_found() -> None:
    memory = remembering(said("x" * 5_000 + " heron " + "y" * 5_000))
    excerpt = (await memory.recall("HERON")).split("\n")[-1]
    assert excerpt.startswith("…x")
    assert excerpt.endswith("y…")
    assert " heron " in excerpt
    assert len(excerpt) < 700


async def test_results_come_in_pages_of_bounded_length() -> None:
    memory = remembering(*(said(f"heron {turn} " + "z" * 5_000, turn) for turn in range(1, HITS + 3)))
    first, second = await memory.recall("heron"), await memory.recall("heron", page=2)
    assert len(first) <= ANSWER_CHARS
    assert first.count("[turn ") == HITS
    assert first.startswith("[10 messages match, newest first; page 1 of 2]\n\n[turn 10, user]")
    assert [f"[turn {turn}, user]" in second for turn in (3, 2, 1)] == [False, True, True]
    assert await memory.recall("heron", page=3) == "There is no page 3: 10 messages match, on 2 pages."


async def test_questions_without_sense_are_sent_back() -> None:
    memory = remembering(said("heron"))
    for query, page in (("", 1), ('  "" ', 1), ("heron", 0)):
        with pytest.raises(ModelRetry):
            await memory.recall(query, page)
    assert (await remembering().recall("heron")).startswith("Nothing in this session matches.")


async def test_the_model_is_told_how_to_use_it() -> None:
    model = TestModel(call_tools=[])
    await Agent(model, tools=[remembering().recall]).run("hi")
    assert model.last_model_request_parameters is not None
    (definition,) = model.last_model_request_parameters.function_tools
    assert definition.name == "recall"
    assert definition.description and "no longer in your context" in definition.description
    assert set(definition.parameters_json_schema["properties"]) == {"query", "page"}
    assert definition.parameters_json_schema["required"] == ["query"]


async def test_a_long_session_is_searched_in_a_moment() -> None:
    words = "lorem ipsum dolor sit amet consectetur " * 25
    memory = remembering(*(said(f"{words} number{n}", turn=n) for n in range(1, 10_001)))
    began = time.perf_counter()
    assert "[1 message matches" in await memory.recall('ipsum number4711 "dolor sit"')
    again = time.perf_counter()
    assert "[1 message matches" in await memory.recall("amet number4712")
    done = time.perf_counter()
    assert again - began < 2
    assert done - again < 1
