"""Continue a conversation with another provider: the first one's private data is not sent."""

import asyncio
import re
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel

from co_tui.agent.wire.portable_history import MISTRAL_ID, portable
from co_tui.session.compaction.model_summaries import SummaryModels
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support import provider_formats as formats
from tests.support.cases import each_case
from tests.support.environments import ScriptedModel, environment_for, says
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.provider_sessions import BUILD, session_with

pytestmark = pytest.mark.filterwarnings("ignore")

WORK = {
    "chat": formats.chat_work("look", "functions.look:0"),
    "responses": formats.responses_work("look", "call_" + "x" * 59),
    "anthropic": formats.anthropic_work("look", "toolu_01A"),
    "google": formats.google_work("look", "a call, of Gemini"),
}
"""A thought, a text and a call; each with an id of the call that some other provider refuses."""
END = {
    "chat": Reply(text="Done."),
    "responses": Reply(raw=(formats.events(formats.R_START, *formats.R_TEXT, formats.R_END),)),
    "anthropic": Reply(raw=(formats.events(formats.A_START, *formats.A_TEXT, *formats.A_END),)),
    "google": Reply(raw=(formats.candidate("STOP"),)),
}
OWN_SECRETS = {
    "chat": (),
    "responses": ("ZW5j", "rs_1"),
    "anthropic": ("Q2xhdWRl", "cmVkYWN0ZWQ="),
    "google": ("R2VtaW5p",),
}
"""What must reach its own provider again, and no other one."""


def company(name: str) -> str:
    """Both of OpenAI's interfaces take the ids that the other one gave."""
    return "openai" if name in ("chat", "responses") else name


async def work(session: Session, provider: Provider, name: str) -> None:
    provider.script = [Reply(raw=(WORK[name],)), END[name]]
    assert await session.submit(f"Look, {name}.") is Outcome.DONE


SWITCHES = [
    *(("chat", "responses"), ("responses", "anthropic"), ("anthropic", "google"), ("google", "chat")),
    ("anthropic", "anthropic"),
]
"""Each provider as the first and as the next one, and one with data of its own that it must get back."""


@pytest.mark.parametrize(
    ("first", "then"),
    also_in_a_long_run(SWITCHES, [pair for pair in product(BUILD, BUILD) if pair not in SWITCHES]),
)
async def test_a_conversation_continues_with_another_provider(
    home: Path, provider: Provider, first: str, then: str
) -> None:
    async with session_with(home, provider, first) as session:
        await work(session, provider, first)
        await work(session, provider, first)  # the same id of a call once more, as some servers have it
        logged = [entry.message for entry in session.state.transcript]
        if then != first:
            await session.switcher.switch_model(then)
        await work(session, provider, then)
        request, last = provider.requests[-2:]
        assert [entry.message for entry in session.state.transcript][: len(logged)] == logged
        for sent, calls in ((request, 2), (last, 3)):
            pairs = list(PAIRS[then](sent))
            assert len(pairs) == calls and all(call == answer for call, answer in pairs), pairs
            if company(then) != company(first):
                assert len({call for call, _ in pairs[:2]}) == 2, "each call has an id of its own"
                assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", call) for call, _ in pairs[:2]), pairs
        text = str(request)
        for name, secrets in OWN_SECRETS.items():
            assert all((secret in text) == (name == first == then) for secret in secrets), (name, text)
        assert "thought" in text.lower(), "what was thought can still be read"
        CHECKS[then](last)


def chat_pairs(sent: dict[str, Any]) -> Iterator[tuple[str, str]]:
    messages = sent["messages"]
    for message, after in pairwise(messages):
        for call in message.get("tool_calls") or ():
            yield call["id"], after.get("tool_call_id")


def response_pairs(sent: dict[str, Any]) -> Iterator[tuple[str, str]]:
    items = sent["input"]
    for item, after in pairwise(items):
        if item.get("type") == "function_call":
            yield item["call_id"], after.get("call_id")


def anthropic_pairs(sent: dict[str, Any]) -> Iterator[tuple[str, str]]:
    messages = sent["messages"]
    for message, after in pairwise(messages):
        for block in message["content"]:
            if block["type"] == "tool_use":
                yield block["id"], after["content"][0].get("tool_use_id")


def google_pairs(sent: dict[str, Any]) -> Iterator[tuple[str, str]]:
    contents = sent["contents"]
    for content, after in pairwise(contents):
        for part in content["parts"]:
            if "functionCall" in part:
                yield part["functionCall"]["id"], after["parts"][0]["functionResponse"]["id"]


PAIRS = {"chat": chat_pairs, "responses": response_pairs, "anthropic": anthropic_pairs, "google": google_pairs}


def check_chat(sent: dict[str, Any]) -> None:
    allowed = {"role", "content", "tool_calls", "tool_call_id", "reasoning_content"}
    assert all(set(message) <= allowed for message in sent["messages"]), sent["messages"]


def check_responses(sent: dict[str, Any]) -> None:
    ids = [item["id"] for item in sent["input"] if "id" in item]
    assert all(re.match(r"rs_|msg_|fc_|i1", id) for id in ids), ids


def check_anthropic(sent: dict[str, Any]) -> None:
    blocks = [block for message in sent["messages"] for block in message["content"]]
    thoughts = [block for block in blocks if block["type"] == "thinking"]
    assert thoughts and all(block["signature"] == "Q2xhdWRl" for block in thoughts)
    assert all(block["text"] for block in blocks if block["type"] == "text"), "an empty text is refused"


def check_google(sent: dict[str, Any]) -> None:
    calls = [part for content in sent["contents"] for part in content["parts"] if "functionCall" in part]
    assert all(part.get("thoughtSignature") for part in calls), "Gemini refuses a call without one"
    assert calls[-1]["thoughtSignature"] == "R2VtaW5p"


CHECKS = {"chat": check_chat, "responses": check_responses, "anthropic": check_anthropic, "google": check_google}


class MistralLike(TestModel):
    @property
    def system(self) -> str:
        return "mistral"


def test_mistral_gets_ids_of_nine_characters_and_files_of_others_by_name() -> None:
    file = UploadedFile("file-1", provider_name="openai", media_type="application/pdf")
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(["read", file])]),
        ModelResponse(parts=[ToolCallPart("look", {}, tool_call_id="toolu_01A")], provider_name="anthropic"),
        ModelRequest(parts=[ToolReturnPart("look", "seen", tool_call_id="toolu_01A")]),
    ]
    asked, called, answered = portable(messages, MistralLike())
    content = asked.parts[0].content
    assert content[0] == "read" and "application/pdf" in str(content[1]) and "openai" in str(content[1])
    assert MISTRAL_ID.fullmatch(called.parts[0].tool_call_id)
    assert called.parts[0].tool_call_id == answered.parts[0].tool_call_id
    assert messages[1].parts[0].tool_call_id == "toolu_01A"


@each_case(("wrote", "own"), [("mistral", True), ("openai", False)])
def test_ids_of_a_reply_reach_its_own_provider_alone(wrote: str, own: bool) -> None:
    given = {"provider_name": wrote, "provider_response_id": "resp_1", "provider_details": {"kept": "there"}}
    reply = ModelResponse(parts=[TextPart("Seen.")], **given)
    _, sent = portable([ModelRequest(parts=[UserPromptPart("look")]), reply], MistralLike())
    assert isinstance(sent, ModelResponse)
    kept = (sent.provider_name, sent.provider_response_id, sent.provider_details)
    assert kept == ((wrote, "resp_1", {"kept": "there"}) if own else (None,) * 3)


async def test_a_model_chosen_while_settings_are_applied_is_used_and_stays_open(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = ScriptedModel(says("one")), ScriptedModel(says("two"), name="other")
    environment = environment_for(home, first, second)
    session = await Session.start(environment, "scripted")
    asked, may_answer, usual = asyncio.Event(), asyncio.Event(), Environment.window

    async def held(self: Environment, model: Any, *settings: Any) -> Any:
        if settings:
            asked.set()
            await may_answer.wait()
        return await usual(self, model, *settings)

    monkeypatch.setattr(Environment, "window", held)
    applying = asyncio.create_task(session.switcher.apply_settings(session.settings.but(max_retries=1)))
    await asked.wait()
    switching = asyncio.create_task(session.switcher.switch_model("other"))
    await asyncio.wait([switching], timeout=0.1)  # it would be done if it did not wait
    may_answer.set()
    await asyncio.gather(applying, switching)
    assert session.history.model == session.state.model == "other" and session.settings.max_retries == 1
    assert first.closed and not second.closed
    await session.close()


async def test_a_model_for_summaries_is_opened_once() -> None:
    opened, may_open = [], asyncio.Event()

    async def open_model(name: str) -> ScriptedModel:
        opened.append(name)
        await may_open.wait()
        return ScriptedModel(says("ok"), name=name)

    models = SummaryModels(open_model)
    both = asyncio.gather(models.get("small"), models.get("small"))
    await asyncio.sleep(0)
    may_open.set()
    one, other = await both
    assert one is other and opened == ["small"]
