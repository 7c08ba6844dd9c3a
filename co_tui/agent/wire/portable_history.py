"""A history in the form that the next provider takes, whoever wrote its replies.

What a provider put into its own replies for itself (signatures, ids of its items, encrypted thoughts) means nothing to
another one, and is refused there. Only requests are made so: what is kept stays as it came.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model

from co_tui.agent.wire.refused_images import not_sent

COMMON_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,40}")
"""Anthropic allows no other characters in the id of a call, OpenAI no more of them."""
MISTRAL_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
CHAT_FIELDS: Final = frozenset({"content", "reasoning", "reasoning_content"})
"""Where servers of OpenAI's chat interface put thoughts; the library notes it as the id of the thought."""


def portable(messages: Sequence[ModelMessage], model: Model) -> list[ModelMessage]:
    """The messages as this model's provider takes them; those given are not changed."""
    calls = _CallIds(MISTRAL_ID if model.system == "mistral" else COMMON_ID)
    return [_request(m, model, calls) if isinstance(m, ModelRequest) else _response(m, model, calls) for m in messages]


class _CallIds:
    """Ids of calls: each one of its own, in a form that is taken, and the same for a call and its return."""

    def __init__(self, form: re.Pattern[str]) -> None:
        self._form = form
        self._taken: set[str] = set()
        self._now: dict[str, str] = {}

    def own(self, id: str) -> None:
        """One that the provider gave itself."""
        self._taken.add(id)
        self._now.pop(id, None)

    def foreign(self, id: str) -> str:
        fitting = id
        while not self._form.fullmatch(fitting) or fitting in self._taken:
            digest = hashlib.sha256(f"{len(self._taken)} {fitting}".encode(errors="replace")).hexdigest()
            fitting = digest[:9] if self._form is MISTRAL_ID else f"call_{digest[:24]}"
        self._taken.add(fitting)
        self._now[id] = fitting
        return fitting

    def of_return(self, id: str) -> str:
        return self._now.get(id, id)


def _response(message: ModelResponse, model: Model, calls: _CallIds) -> ModelResponse:
    if _is_own(message, model):
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls.own(part.tool_call_id)
        parts = [_fitting_thought(part, model) if isinstance(part, ThinkingPart) else part for part in message.parts]
        return replace(message, parts=parts) if parts != message.parts else message
    parts = [plain for part in message.parts for plain in _plain(part, calls)]
    return replace(message, parts=parts, provider_name=None, provider_response_id=None, provider_details=None)


def _is_own(message: ModelResponse, model: Model) -> bool:
    """Whether this provider wrote it, at this address: many servers speak like OpenAI's."""
    if message.provider_name != model.system:
        return False
    written, asked = (message.provider_url or "").rstrip("/"), (_address(model) or "").rstrip("/")
    return not written or not asked or written == asked


def _address(model: Model) -> str | None:
    try:
        return model.base_url
    except Exception:  # each provider's client has its own way of not having one
        return None


def _fitting_thought(part: ThinkingPart, model: Model) -> ThinkingPart:
    """OpenAI has two interfaces under one name: a thought of the newer one would become a field named after its id."""
    classes = {each.__name__ for each in type(model).__mro__}  # importing them takes a second
    fields = {None, *CHAT_FIELDS, model.profile.get("openai_chat_thinking_field")}
    return _plain_thought(part) if "OpenAIChatModel" in classes and part.id not in fields else part


def _plain_thought(part: ThinkingPart) -> ThinkingPart:
    return replace(part, id=None, signature=None, provider_name=None, provider_details=None)


def _plain(part: ModelResponsePart, calls: _CallIds) -> Iterator[ModelResponsePart]:
    """A part of another provider's reply without what only that one understands."""
    bare: Mapping[str, Any] = {"id": None, "provider_name": None, "provider_details": None}
    match part:
        case ThinkingPart():
            if part.content:  # else all it had was a signature
                yield _plain_thought(part)
        case ToolCallPart():
            yield replace(part, **bare, tool_call_id=calls.foreign(part.tool_call_id))
        case TextPart() | FilePart():
            yield replace(part, **bare)
        case NativeToolCallPart() | NativeToolReturnPart() | CompactionPart():
            pass  # done by the other provider, inside its own walls
        case _:
            yield part


def _request(message: ModelRequest, model: Model, calls: _CallIds) -> ModelRequest:
    parts = [_request_part(part, model, calls) for part in message.parts]
    return replace(message, parts=parts) if parts != message.parts else message


def _request_part(part: ModelRequestPart, model: Model, calls: _CallIds) -> ModelRequestPart:
    match part:
        case ToolReturnPart() | RetryPromptPart():
            fitting = calls.of_return(part.tool_call_id)
            return replace(part, tool_call_id=fitting) if fitting != part.tool_call_id else part
        case UserPromptPart(content=content) if not isinstance(content, str):
            return replace(part, content=[_reachable(item, model) for item in content])
        case _:
            return part


def _reachable(item: UserContent, model: Model) -> UserContent:
    """A file that lies with another provider is named instead, and so is an image where a model takes none."""
    if isinstance(item, BinaryContent) and item.is_image and not model.profile.get("supports_image_input", True):
        return not_sent(item)
    if isinstance(item, UploadedFile) and item.provider_name != model.system:
        return f"[a file ({item.media_type}) that was given to {item.provider_name} and is not here]"
    return item
