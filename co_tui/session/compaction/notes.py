"""Have the session's model write its note, as the next message of its conversation (C21)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.agent.summariser import INTERACTION, INTERACTION_HEADER
from co_tui.context.compact.note import (
    INTRO,
    marked,
    note_request,
    text_alone_request,
    unknown_names,
)
from co_tui.context.indexed_history import EARLIER
from co_tui.events.stored_messages import as_sent, pieces
from co_tui.session.bills import Bill
from co_tui.session.history.governed_history import RequestForm
from co_tui.session.state.parsed_messages import message_json


class Conversation(NamedTuple):
    """The conversation as its next request would send it, and what stays of it."""

    form: RequestForm
    messages: Sequence[ModelMessage]
    around: str
    """What is sent besides: the instructions, and the names of the tools."""
    stays: Sequence[str]
    """What the note need not repeat."""

    @property
    def can_be_continued(self) -> bool:
        """Whether a message may follow: every call has its result."""
        last = self.messages[-1] if self.messages else None
        return last is not None and not (isinstance(last, ModelResponse) and last.tool_calls)


async def write_note(conversation: Conversation, bill: Bill, words: int, timeout_s: float, focus: str = "") -> str:
    """The note, with a mark at names that are not in the conversation. Raises what the model raises.

    The request begins as the last one did, with the same tools and parameters, so that the provider's cache serves it.
    """
    said = await asyncio.to_thread(_text_of, conversation)
    earlier = "note" if INTRO.lower() in said else "summary" if EARLIER.lower() in said else ""
    messages = _with_prompt(conversation.messages, note_request(words, conversation.stays, earlier, focus))
    reply = await _ask(conversation.form, messages, bill, timeout_s)
    if not (reply.text or "").strip():
        messages = _with_prompt([*messages, _without_calls(reply)], text_alone_request())
        reply = await _ask(conversation.form, messages, bill, timeout_s)
    note = (reply.text or "").strip()
    # Names are marked, not asked about: a second whole note would cost as much, and come too late to be used.
    return marked(note, await asyncio.to_thread(unknown_names, note, said))


async def _ask(form: RequestForm, messages: Sequence[ModelMessage], bill: Bill, timeout_s: float) -> ModelResponse:
    """The reply. Calls in it are not run."""
    settings: dict[str, Any] = dict(form.settings or {})
    settings["extra_headers"] = {**settings.get("extra_headers", {}), INTERACTION_HEADER: INTERACTION}
    async with (
        asyncio.timeout(timeout_s),
        model_request_stream(
            bill.of(form.model),
            messages,
            model_settings=settings,  # type: ignore[arg-type]
            model_request_parameters=form.parameters,
        ) as stream,
    ):
        async for _ in stream:
            pass
        return stream.get()


def _text_of(conversation: Conversation) -> str:
    """All that the model sees, in lower case."""
    texts = (
        f"{tool}\n{text}"
        for message in conversation.messages
        for _, text, tool in pieces(as_sent(message_json(message)))
    )
    return "\n".join((conversation.around, *texts)).lower()


def _with_prompt(messages: Sequence[ModelMessage], text: str) -> list[ModelMessage]:
    """The messages with one more from the user's side; joined to a request that is last, as the library joins them."""
    part, last = UserPromptPart(text), messages[-1]
    if isinstance(last, ModelRequest):
        return [*messages[:-1], replace(last, parts=[*last.parts, part])]
    return [*messages, ModelRequest(parts=[part])]


def _without_calls(reply: ModelResponse) -> ModelResponse:
    """What the model said, without calls that nobody answers."""
    return ModelResponse(parts=[TextPart((reply.text or "").strip() or "(calls only)")])
