"""A session whose request is refused for its form is not lost: the offending part is left out, and it says so."""

import json
from functools import partial
from pathlib import Path

import pytest

from co_tui.events import SessionError
from co_tui.session.turns.turn import Outcome
from tests.support import provider_formats as formats
from tests.support.environments import facts
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.provider_sessions import ALL, session_with
from tests.support.wires import Spoken

pytestmark = pytest.mark.filterwarnings("ignore")
THOUGHT = "A thought that is refused."
STALE = "messages.1.content.0: Invalid `signature` in `thinking` block"
PAIR = "No tool output found for function call call_a."
GONE = (
    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set "
    "to true, or remove this item from your input."
)
THINKING, A_CALL = "the thinking of earlier replies", "an earlier tool call"


def refusal(words: str, status: int = 400) -> Reply:
    return Reply(status=status, body=json.dumps({"error": {"type": "invalid_request_error", "message": words}}))


@pytest.mark.parametrize(
    ("wire", "status", "words", "gone", "left_out"),
    [
        ("anthropic", 400, STALE, THOUGHT, THINKING),
        ("responses", 400, PAIR, "call_a", A_CALL),
        ("responses", 404, GONE, THOUGHT, THINKING),
    ],
)
async def test_what_is_refused_is_left_out_once_and_said_on_the_timeline(
    home: Path, provider: Provider, wire: str, status: int, words: str, gone: str, left_out: str
) -> None:
    async with session_with(home, provider, wire, max_retries=0) as session:
        looks = Spoken("I look.", calls=[("call_a", "look", "{}")], thoughts=[THOUGHT])
        provider.script = [looks.on(wire), Spoken("Seen.", thoughts=[]).on(wire)]
        await session.submit("look")
        again = Spoken("Here it is.", calls=[("call_b", "look", "{}")], thoughts=["A second thought."])
        provider.script = [refusal(words, status), again.on(wire), Spoken("All seen.", thoughts=[]).on(wire)]
        assert await session.submit("and now?") is Outcome.DONE
        refused, repaired, last = (json.dumps(each) for each in provider.requests[-3:])
        assert gone in refused and gone not in repaired and gone not in last
        assert "I look." in repaired and "and now?" in repaired
        assert "call_b" in last and ("A second thought." in last), "what came later is sent"
        (error,) = facts(list(session.state.timeline), SessionError)
        assert error.outcome == f"sent again without {left_out}" and error.retry_in_s == 0.0
        assert words in error.what and "another model" not in error.what
        assert error.timeline_text() == f"request rejected\nsent again without {left_out}"
        assert error.retry_sentence().endswith(f"Sent again without {left_out}.")
        assert gone in json.dumps([entry.message for entry in session.state.transcript]), "the log keeps it"


async def test_thoughts_after_a_history_that_changed_are_dropped(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Newer Claude models take a thought only after what it was written after."""
    monkeypatch.setitem(ALL, "anthropic", partial(formats.anthropic, model="claude-opus-5-5"))
    async with session_with(home, provider, "anthropic", max_retries=0) as session:
        provider.default = Spoken("Said.", thoughts=[THOUGHT]).on("anthropic")
        provider.summary = Spoken("Title: So far\n## Decisions and outcomes\n- Asked.", thoughts=[]).on("anthropic")
        for question in ("one " * 400, "two", "three", "four"):
            assert await session.submit(question) is Outcome.DONE
        assert provider.stale_thoughts == 0 and THOUGHT in json.dumps(provider.requests[-1]), "nothing changed"
        await session.compact()
        assert await session.submit("five") is Outcome.DONE
        assert provider.stale_thoughts == 1
        assert provider.requests[-1]["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
        assert not facts(list(session.state.timeline), SessionError)


UNPAIRED = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after"


@pytest.mark.parametrize(("wire", "words"), also_in_a_long_run([("responses", PAIR)], [("anthropic", UNPAIRED)]))
async def test_a_call_refused_in_the_middle_of_a_turn_is_sent_as_text_with_its_result(
    home: Path, provider: Provider, wire: str, words: str
) -> None:
    async with session_with(home, provider, wire, max_retries=0) as session:
        looks = Spoken("I look.", calls=[("call_a", "look", "{}")], thoughts=[THOUGHT])
        provider.script = [looks.on(wire), refusal(words), Spoken("Seen.", thoughts=[]).on(wire)]
        assert await session.submit("look") is Outcome.DONE
        repaired = provider.requests[-1]
        *_, reply, last = repaired.get("messages") or repaired["input"]
        assert reply["role"] == "assistant" and "[called the tool look with {}]" in json.dumps(reply)
        assert last["role"] == "user" and "[result of the tool look, not written by the user]" in json.dumps(last)
        assert "seen" in json.dumps(last) and "call_a" not in json.dumps(repaired)


@pytest.mark.parametrize(
    "words",
    also_in_a_long_run(
        [STALE, "model: this field is wrong"], ["This model does not support tool_use.", "prompt is too long"]
    ),
)
async def test_what_cannot_be_repaired_is_reported_with_advice(home: Path, provider: Provider, words: str) -> None:
    """Refused again without its thoughts, or for another reason."""
    async with session_with(home, provider, "anthropic", max_retries=0, policy="off") as session:
        provider.script = [Spoken("Hello.", thoughts=[THOUGHT]).on("anthropic")]
        await session.submit("hello")
        provider.script = [refusal(words)] * 9
        assert await session.submit("and now?") is Outcome.FAILED
        *repairs, last = facts(list(session.state.timeline), SessionError)
        assert sum(each.kind == "form" for each in repairs) == (1 if words == STALE else 0)
        if words != "prompt is too long":
            assert last.kind == "rejected" and "choose another model" in last.what
