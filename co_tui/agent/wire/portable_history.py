"""Convert a history for the provider of the next request, whichever providers wrote its replies.

Signatures, item ids and encrypted thoughts only mean something to the provider that wrote them, and others refuse them.
Only requests are converted; the stored history is not changed.
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
from co_tui.sendable_reply import BARE, bare, sendable

COMMON_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,40}")
"""Call ids that all providers but Mistral accept: Anthropic limits the characters, OpenAI the length."""
LONGEST_ID: Final = 40
MISTRAL_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
LONGEST_NAME: Final = 64
CHAT_FIELDS: Final = frozenset({"content", "reasoning", "reasoning_content"})
"""Fields in which OpenAI-compatible servers send thoughts; the library uses them as the thought's id."""

_READ_DOCUMENTS: Final = ("anthropic", "google", "bedrock")
_OPENAI: Final = "://api.openai.com"

OPENING: Final = ModelRequest(parts=[UserPromptPart("[earlier messages are left out]")])
"""Comes before a reply that would be the first message, such as a pinned one: some providers refuse that."""


def portable(messages: Sequence[ModelMessage], model: Model) -> list[ModelMessage]:
    """Copies of the messages that this model's provider accepts."""
    calls = _CallIds(MISTRAL_ID if model.system == "mistral" else COMMON_ID)
    sent = sendable(
        [_request(m, model, calls) if isinstance(m, ModelRequest) else _response(m, model, calls) for m in messages]
    )
    return [OPENING, *sent] if sent and isinstance(sent[0], ModelResponse) else sent


class _CallIds:
    """Unique call ids in an accepted form, the same for a call and its return."""

    def __init__(self, form: re.Pattern[str]) -> None:
        self._form = form
        self._used: set[str] = set()
        self._renamed: dict[str, str] = {}

    def own(self, id: str) -> str:
        """An id that this provider assigned; another one if it did so before, or it is too long to be sent."""
        if id in self._used or len(id) > LONGEST_ID:
            return self.foreign(id)
        self._used.add(id)
        self._renamed.pop(id, None)
        return id

    def foreign(self, id: str) -> str:
        fitting = id
        while not self._form.fullmatch(fitting) or fitting in self._used:
            digest = hashlib.sha256(f"{len(self._used)} {fitting}".encode(errors="replace")).hexdigest()
            fitting = digest[:9] if self._form is MISTRAL_ID else f"call_{digest[:24]}"
        self._used.add(fitting)
        self._renamed[id] = fitting
        return fitting

    def of_return(self, id: str) -> str:
        return self._renamed.get(id, id)


def _response(message: ModelResponse, model: Model, calls: _CallIds) -> ModelResponse:
    if _is_own(message, model):
        parts = [_own(part, model, calls) for part in message.parts]
        return replace(message, parts=parts) if parts != message.parts else message
    parts = [plain for part in message.parts for plain in _plain(part, calls)]
    return replace(message, parts=parts, provider_name=None, provider_response_id=None, provider_details=None)


def _own(part: ModelResponsePart, model: Model, calls: _CallIds) -> ModelResponsePart:
    match part:
        case ThinkingPart():
            return _fitting_thought(part, model)
        case ToolCallPart():
            return replace(part, **_named(part.tool_name, calls.own(part.tool_call_id)))
        case _:
            return part


def _named(tool: str | None, call_id: str) -> Mapping[str, Any]:
    """The name and id of a call, or of its return. A model may call tools by names that no provider takes back."""
    fitting = None if tool is None else NOT_IN_NAMES.sub("_", tool)[:LONGEST_NAME] or "_"
    return {"tool_name": fitting, "tool_call_id": call_id}


def _is_own(message: ModelResponse, model: Model) -> bool:
    """Whether this provider wrote it, at this address: many servers are OpenAI-compatible."""
    if message.provider_name != model.system:
        return False
    written, asked = (message.provider_url or "").rstrip("/"), (_address(model) or "").rstrip("/")
    return not written or not asked or written == asked


def _address(model: Model) -> str | None:
    try:
        return model.base_url
    except Exception:  # clients without an address raise different errors
        return None


def _fitting_thought(part: ThinkingPart, model: Model) -> ThinkingPart:
    """OpenAI has two APIs under one name: in a chat request, a thought of the newer API would become a field named
    after its id."""
    classes = {each.__name__ for each in type(model).__mro__}  # importing them takes a second
    fields = {None, *CHAT_FIELDS, model.profile.get("openai_chat_thinking_field")}
    return _plain_thought(part) if "OpenAIChatModel" in classes and part.id not in fields else part


def _plain_thought(part: ThinkingPart) -> ThinkingPart:
    return replace(part, id=None, signature=None, provider_name=None, provider_details=None)


def _plain(part: ModelResponsePart, calls: _CallIds) -> Iterator[ModelResponsePart]:
    """A part of another provider's reply without its provider-specific data."""
    match part:
        case ThinkingPart():
            if part.content:  # otherwise it is only a signature
                yield _plain_thought(part)
        case ToolCallPart():
            yield replace(part, **BARE, **_named(part.tool_name, calls.foreign(part.tool_call_id)))
        case TextPart() | FilePart():
            yield bare(part)
        case NativeToolCallPart() | NativeToolReturnPart() | CompactionPart():
            pass  # ran on the other provider's side
        case _:
            yield part


def _request(message: ModelRequest, model: Model, calls: _CallIds) -> ModelRequest:
    parts = [_request_part(part, model, calls) for part in message.parts]
    return replace(message, parts=parts) if parts != message.parts else message


def _request_part(part: ModelRequestPart, model: Model, calls: _CallIds) -> ModelRequestPart:
    match part:
        case ToolReturnPart() | RetryPromptPart():
            part = replace(part, **_named(part.tool_name, calls.of_return(part.tool_call_id)))
            if isinstance(part, ToolReturnPart) and any(_is_document(file) for file in part.files):
                content: Any = part.content_items()
                reachable: Any = [_reachable(item, model) for item in content]
                part = replace(part, content=reachable)
            return part
        case UserPromptPart(content=content) if not isinstance(content, str):
            return replace(part, content=[_reachable(item, model) for item in content])
        case _:
            return part


def _is_document(item: Any) -> bool:
    return isinstance(item, BinaryContent) and item.is_document


def _takes_documents(model: Model) -> bool:
    """Only where it is known: a request with one fails elsewhere, and so would each that follows it."""
    if not model.profile.get("supports_document_input", True):
        return False
    is_openai = model.system == "openai" and _OPENAI in (_address(model) or "")
    return is_openai or model.system.startswith(_READ_DOCUMENTS)


def _reachable(item: UserContent, model: Model) -> UserContent:
    """Replace by a note what the model cannot get: files uploaded to another provider, and unsupported files."""
    if isinstance(item, BinaryContent) and item.is_document and not _takes_documents(model):
        return not_sent(item)
    if isinstance(item, BinaryContent) and item.is_image and not model.profile.get("supports_image_input", True):
        return not_sent(item)
    if isinstance(item, UploadedFile) and item.provider_name != model.system:
        return f"[a file ({item.media_type}) that was given to {item.provider_name} and is not here]"
    return item
