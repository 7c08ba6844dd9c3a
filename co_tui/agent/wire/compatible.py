"""Models on OpenAI-compatible servers; every chunk of a reply is validated."""

from collections.abc import AsyncIterable, AsyncIterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import httpx2
from openai import AsyncOpenAI
from openai.resources.chat import AsyncChat
from openai.resources.chat.completions import AsyncCompletions
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.models import openai as openai_models
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from co_tui.agent.library_internals import web_search_requests as _library_count
from co_tui.agent.wire.model_errors import ReplyUnreadable, kind_of
from co_tui.events.storable import whole_number

if TYPE_CHECKING:
    from openai.resources.responses import AsyncResponses

LATEST_S: Final = 250_000_000_000
"""The latest Unix time that Python can convert to a date."""


def _web_search_requests(response: Any) -> int:
    """None in a chat. The library would compare it with a reply of the Responses API, and load all types of that."""
    return 0 if isinstance(response, ChatCompletion | ChatCompletionChunk) else _library_count(response)


openai_models._web_search_requests = _web_search_requests


def compatible_model(
    name: str, base_url: str, key: str, client: httpx2.AsyncClient, *, takes_images: bool = True
) -> OpenAIChatModel:
    """A model on a server with OpenAI's chat API; `takes_images` goes into its profile."""
    asking = OpenAIClient(base_url=base_url, api_key=key or "none", http_client=client)
    profile: ModelProfile | None = None if takes_images else {"supports_image_input": False}
    return _Model(name, provider=OpenAIProvider(openai_client=asking), profile=profile)


class _Model(OpenAIChatModel):
    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _Stream


class _Stream(OpenAIStreamedResponse):
    @property
    def _raw_text_content(self) -> str:
        """Always empty: the library would copy the whole text with each chunk, for citations these servers lack."""
        return ""

    @_raw_text_content.setter
    def _raw_text_content(self, text: str) -> None:
        pass

    def _validate_response(self) -> AsyncIterable[ChatCompletionChunk]:
        return self._checked()

    async def _checked(self) -> AsyncIterator[ChatCompletionChunk]:
        async for chunk in self._response:
            self._check(chunk)
            yield chunk

    def _check(self, chunk: Any) -> None:
        """Raise for an unreadable chunk; drop malformed metadata."""
        _must_be(chunk, BaseModel, "a piece of it", "an object")
        self._raise_error_in(chunk)
        # Each assignment to the library's object takes as long as all checks together.
        if chunk.usage is not None:
            chunk.usage = _usage(chunk.usage)
        if type(chunk.created) is not int or not 0 <= chunk.created <= LATEST_S:
            chunk.created = whole_number(chunk.created, LATEST_S) or 0
        for name in ("id", "model"):
            if not isinstance(getattr(chunk, name), str):
                setattr(chunk, name, "")
        if chunk.choices is None:
            return
        _must_be(chunk.choices, list, "`choices`", "a list")
        for choice in chunk.choices:
            _must_be(choice, BaseModel, "one of its `choices`", "an object")
            if choice.finish_reason is not None and not isinstance(choice.finish_reason, str):
                choice.finish_reason = str(choice.finish_reason)
            if choice.delta is not None:
                _check_delta(choice.delta)

    def _raise_error_in(self, chunk: Any) -> None:
        """Some servers end a stream with an error that is not under `error`, where the library expects it."""
        if "error" in (chunk.object, getattr(chunk, "type", "")):
            message = getattr(chunk, "message", None)
            raise ModelAPIError(self.model_name, message if isinstance(message, str) else "an error without a message")


def _check_delta(delta: Any) -> None:
    _must_be(delta, BaseModel, "`delta`", "an object")
    for name in ("content", "refusal"):
        if getattr(delta, name, None) is not None:
            _must_be(getattr(delta, name), str, f"`{name}`", "a text")
    if delta.tool_calls is not None:
        _must_be(delta.tool_calls, list, "`tool_calls`", "a list")
        for call in delta.tool_calls:
            _must_be(call, BaseModel, "one of its `tool_calls`", "an object")
            if call.function is not None:
                _must_be(call.function, BaseModel, "`function`", "an object")
                for value in (call.function.name, call.function.arguments, call.id):
                    if value is not None:
                        _must_be(value, str, "the name, id or `arguments` of a tool call", "a text")


def _usage(usage: Any) -> CompletionUsage | None:
    """The server's token counts; None unless they are plausible, since half a count is worse than none."""
    if not isinstance(usage, CompletionUsage):
        return None
    prompt, completion = whole_number(usage.prompt_tokens), whole_number(usage.completion_tokens)
    if prompt is None or completion is None:
        return None
    details = getattr(usage, "prompt_tokens_details", None)
    cached = whole_number(getattr(details, "cached_tokens", None))
    counted: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion}
    if cached is not None:
        counted["prompt_tokens_details"] = {"cached_tokens": min(cached, prompt)}
    reasoning = whole_number(getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None))
    if reasoning is not None:
        counted["completion_tokens_details"] = {"reasoning_tokens": min(reasoning, completion)}
    return CompletionUsage.model_validate({**counted, "total_tokens": prompt + completion})


def _must_be(value: object, kind: type, what: str, expected: str) -> None:
    if not isinstance(value, kind):
        raise ReplyUnreadable(f"{what} is {kind_of(value)}, not {expected}.")


class OpenAIClient(AsyncOpenAI):
    """OpenAI's client, but requests are sent as they are.

    The library searches all messages for names to translate, of which there are none, and blocks the event loop for a
    third of a second with a thousand messages. Each request uses a copy of the client, so this has to be a class.
    """

    @cached_property
    def chat(self) -> AsyncChat:
        return _Chat(self)

    @cached_property
    def responses(self) -> "AsyncResponses":
        from co_tui.agent.wire.plain_responses import PlainResponses  # 240 modules that chats do without

        return PlainResponses(self)


class _Chat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncCompletions:
        return _Completions(self._client)


class _Completions(AsyncCompletions):
    async def create(self, *, messages: Any, extra_body: Any = None, **rest: Any) -> Any:
        return await super().create(messages=[], extra_body={**(extra_body or {}), "messages": messages}, **rest)
