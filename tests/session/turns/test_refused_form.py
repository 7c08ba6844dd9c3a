"""A session whose request is refused for its form is not lost: the offending part is left out, and it says so."""

import json
from pathlib import Path

import pytest

from co_tui.events import SessionError
from co_tui.session.turns.turn import Outcome
from tests.support.environments import facts
from tests.support.provider import Provider, Reply
from tests.support.provider_sessions import session_with
from tests.support.wires import Spoken

pytestmark = pytest.mark.filterwarnings("ignore")
THOUGHT = "A thought that is refused."
STALE = "messages.1.content.0: Invalid `signature` in `thinking` block"
PAIR = "No tool output found for function call call_a."
LEFT_OUT = {"anthropic": "the thinking of earlier replies", "responses": "an earlier tool call"}


def refusal(words: str, status: int = 400) -> Reply:
    return Reply(status=status, body=json.dumps({"error": {"type": "invalid_request_error", "message": words}}))


@pytest.mark.parametrize(("wire", "words", "gone"), [("anthropic", STALE, THOUGHT), ("responses", PAIR, "call_a")])
async def test_what_is_refused_is_left_out_once_and_said_on_the_timeline(
    home: Path, provider: Provider, wire: str, words: str, gone: str
) -> None:
    async with session_with(home, provider, wire, max_retries=0) as session:
        looks = Spoken("I look.", calls=[("call_a", "look", "{}")], thoughts=[THOUGHT])
        provider.script = [looks.on(wire), Spoken("Seen.", thoughts=[]).on(wire)]
        await session.submit("look")
        again = Spoken("Here it is.", calls=[("call_b", "look", "{}")], thoughts=["A second thought."])
        provider.script = [refusal(words), again.on(wire), Spoken("All seen.", thoughts=[]).on(wire)]
        assert await session.submit("and now?") is Outcome.DONE
        refused, repaired, last = (json.dumps(each) for each in provider.requests[-3:])
        assert gone in refused and gone not in repaired and gone not in last
        assert "I look." in repaired and "and now?" in repaired
        assert "call_b" in last and ("A second thought." in last), "what came later is sent"
        (error,) = facts(list(session.state.timeline), SessionError)
        assert error.outcome == f"sent again without {LEFT_OUT[wire]}" and error.retry_in_s == 0.0
        assert words in error.what and "another model" not in error.what
        assert error.timeline_text() == f"request rejected\nsent again without {LEFT_OUT[wire]}"
        assert error.retry_sentence().endswith(f"Sent again without {LEFT_OUT[wire]}.")
        assert gone in json.dumps([entry.message for entry in session.state.transcript]), "the log keeps it"


UNPAIRED = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after"


@pytest.mark.parametrize(("wire", "words"), [("anthropic", UNPAIRED), ("responses", PAIR)])
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
    "words", [STALE, "model: this field is wrong", "This model does not support tool_use.", "prompt is too long"]
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
