"""Wrap a model so that its replies are bounded, readable, storable and complete, or raise an error that says why."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

import httpx2
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelRateLimitError,
    UserError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage

from co_tui.agent.model_messages import repaired
from co_tui.agent.models.request_settings import on_wire
from co_tui.agent.wire.call_ids import CallIds, with_own_call_ids
from co_tui.agent.wire.http import Exchange, exchange
from co_tui.agent.wire.joined_events import joined_events
from co_tui.agent.wire.model_errors import BadReply, FormRefused, ReplyCutOff, ReplyTooLong, ReplyUnreadable, kind_of
from co_tui.agent.wire.portable_history import portable
from co_tui.agent.wire.refused_form import RefusedForm
from co_tui.agent.wire.refused_images import RefusedImages
from co_tui.agent.wire.repaired_arguments import with_repaired_arguments
from co_tui.events.storable import whole_number
from co_tui.events.stored_messages import COMPACTED_AS

MOST_REPLY_CHARS: Final = 4_000_000
"""About a million tokens, far more than any reply. The library copies the reply with each chunk."""
SILENCE_S: Final = 600.0
"""How long to wait for the next chunk, unless the request sets a timeout."""
MOST_EMPTY: Final = 100_000
"""Events in a row that say nothing; a model that thinks hidden may send some every second."""
MOST_EMPTY_S: Final = 1_800.0
"""How long nothing but such events may come."""
_ABOUT_SEARCH: Final = re.compile(r"web.?search|google.?search|server.?side.?tool|built-?in.?tool", re.IGNORECASE)
"""Wording of errors about it: some accounts and models may not use it."""


class _Asked(NamedTuple):
    """What is sent to the provider's library."""

    messages: list[ModelMessage]
    parameters: ModelRequestParameters


class RefusedSearch:
    """Leaves out the provider's own web search once the provider refused it, so that it cannot end a conversation."""

    def __init__(self) -> None:
        self._is_refused = False

    def removed_from(self, parameters: ModelRequestParameters) -> ModelRequestParameters:
        """The parameters without what was refused before."""
        return replace(parameters, native_tools=[]) if self._is_refused and parameters.native_tools else parameters

    def after(self, error: Exception, parameters: ModelRequestParameters) -> ModelRequestParameters | None:
        """The parameters to send instead; None when the error is not about the search."""
        if not isinstance(error, ModelAPIError) or isinstance(error, ModelAuthenticationError | ModelRateLimitError):
            return None
        if not parameters.native_tools or not _ABOUT_SEARCH.search(str(error)):
            return None
        self._is_refused = True
        return self.removed_from(parameters)


class GuardedModel(WrapperModel):
    """A model whose replies can be stored, read again and sent to any provider."""

    def __init__(self, wrapped: Model) -> None:
        super().__init__(wrapped)
        self._refused = RefusedImages()
        self._refused_search = RefusedSearch()
        self._refused_form = RefusedForm()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        model_settings = on_wire(self.wrapped, model_settings)
        with _readable():
            asked = self._sendable(messages, model_request_parameters)
            try:
                reply = await super().request(asked.messages, model_settings, asked.parameters)
            except AgentRunError as error:
                less = self._without_refused(error, asked)
                reply = await super().request(less.messages, model_settings, less.parameters)
            return _storable(reply)

    def _sendable(self, messages: list[ModelMessage], parameters: ModelRequestParameters) -> "_Asked":
        """The request without what this model's provider refused before."""
        kept = self._refused_form.removed_from(self._refused.removed_from(portable(messages, self.wrapped)))
        return _Asked(kept, self._refused_search.removed_from(parameters))

    def _without_refused(self, error: AgentRunError, asked: "_Asked") -> "_Asked":
        """What to send instead. Raises `FormRefused` if the next request leaves out what the error is about, and the
        error itself if nothing can be left out."""
        if (messages := self._refused.after(error, asked.messages)) is not None:
            return asked._replace(messages=messages)
        if (parameters := self._refused_search.after(error, asked.parameters)) is not None:
            return asked._replace(parameters=parameters)
        if left_out := self._refused_form.after(error, asked.messages):
            raise FormRefused(error, left_out) from error
        raise error

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        seen = Exchange()
        model_settings = on_wire(self.wrapped, model_settings)
        timeout = (model_settings or {}).get("timeout")
        silence_s = float(timeout) if isinstance(timeout, int | float) else SILENCE_S
        asked = self._sendable(messages, model_request_parameters)

        async def begun(asked: _Asked) -> StreamedResponse:
            stream = self.wrapped.request_stream(asked.messages, model_settings, asked.parameters, run_context)
            async with asyncio.timeout(silence_s):
                return await opened.enter_async_context(stream)

        async with AsyncExitStack() as opened:
            outer = exchange.set(seen)
            try:
                with _readable():
                    try:
                        inner = await begun(asked)
                    except AgentRunError as error:
                        inner = await begun(self._without_refused(error, asked))
            finally:
                exchange.reset(outer)
            stream = _GuardedStream(model_request_parameters, inner, seen, silence_s)
            try:
                yield stream
            finally:
                await stream.stop_reading()


@contextmanager
def _readable() -> Iterator[None]:
    """Report unexpected errors of a provider's library as an unreadable reply, which causes them."""
    try:
        yield
    except (AgentRunError, UserError, BadReply, FormRefused):
        raise
    except (OSError, httpx2.HTTPError, httpx2.StreamError, UnicodeEncodeError):
        raise  # already classified, or not about the reply
    except RecursionError:
        raise ReplyUnreadable("it is nested too deeply.") from None
    except AttributeError as odd:
        raise ReplyUnreadable(f"{kind_of(odd.obj)} instead of {odd.name!r}.") from odd
    except Exception as odd:
        first = (str(odd).splitlines() or [""])[0]
        raise ReplyUnreadable(f"unexpected format ({type(odd).__name__}: {first}).") from odd


@dataclass
class _GuardedStream(StreamedResponse):
    """A stream that fails unless it was complete; everything else is delegated to the inner stream."""

    inner: StreamedResponse
    seen: Exchange
    silence_s: float

    def __aiter__(self) -> AsyncIterator[ModelResponseStreamEvent]:
        # The inner stream already adds the events for ends of parts and the final result.
        if self._event_iterator is None:
            self._event_iterator = self._get_event_iterator()
        return self._event_iterator

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async with aclosing(joined_events(self._bounded(), self.silence_s)) as events:
            async for event in events:
                yield event
        if not self.inner.cancelled:
            if not _is_complete(self.inner, self.seen):
                raise ReplyCutOff("the stream stopped early.")
            self._finished = True

    async def stop_reading(self) -> None:
        """Close what reads the inner stream, also if the reader of this one stopped between two events."""
        if isinstance(self._event_iterator, AsyncGenerator):
            with suppress(RuntimeError):  # its reader is being stopped, too
                await self._event_iterator.aclose()

    async def _bounded(self) -> AsyncIterator[ModelResponseStreamEvent]:
        """The events, as long as they say something: empty ones would keep a reply open for ever."""
        now = asyncio.get_running_loop().time
        left, empty, said_at, ids = MOST_REPLY_CHARS, 0, now(), CallIds()
        with _readable():
            async for event in self.inner:
                if chars := _chars(event):
                    left, empty, said_at = left - chars, 0, now()
                else:
                    empty += 1
                if left < 0:
                    raise ReplyTooLong(f"{MOST_REPLY_CHARS:,} characters")
                if empty > MOST_EMPTY:
                    raise ReplyTooLong(f"{MOST_EMPTY:,} empty pieces in a row")
                if now() - said_at > MOST_EMPTY_S:
                    raise ReplyTooLong(f"{MOST_EMPTY_S / 60:.0f} minutes of empty pieces")
                yield ids.in_event(event)

    def get(self) -> ModelResponse:
        response = self.inner.get()
        # Only the final result: converting every snapshot would cost the whole reply each time.
        if not self._finished:
            return response
        if self.seen.compacted_as:
            response = replace(response, metadata={**(response.metadata or {}), COMPACTED_AS: self.seen.compacted_as})
        return _storable(response)

    @property
    def usage(self) -> RequestUsage:
        return _counted(self.inner.usage)

    async def cancel(self) -> None:
        self._cancelled = True
        await self.inner.cancel()

    async def close_stream(self) -> None:
        await self.inner.close_stream()

    def get_stream_cancel_errors(self) -> tuple[type[BaseException], ...]:
        return self.inner.get_stream_cancel_errors()

    @property
    def model_name(self) -> str:
        return self.inner.model_name

    @property
    def provider_name(self) -> str | None:
        return self.inner.provider_name

    @property
    def provider_url(self) -> str | None:
        return self.inner.provider_url

    @property
    def timestamp(self) -> datetime:
        return self.inner.timestamp


def _is_complete(stream: StreamedResponse, seen: Exchange) -> bool:
    """Whether the provider marked the reply as finished, by a finish reason or the last line of the stream."""
    if stream.provider_url is None or stream.state == "suspended" or seen.ended:
        return True  # a reply from no server cannot be cut off
    if (stream.provider_details or {}).get("finish_reason") or stream.finish_reason == "content_filter":
        return True
    # For OpenAI's chat interface the library fills in a reason where none came, and notes that it did.
    return stream.finish_reason is not None and getattr(stream, "_has_finish_reason", True)


def _chars(event: ModelResponseStreamEvent) -> int:
    match event:
        case PartStartEvent(part=TextPart(content=str() as text) | ThinkingPart(content=str() as text)):
            return len(text)
        case PartStartEvent(part=ToolCallPart(args=str() as text)):
            return len(text)
        case PartDeltaEvent(delta=TextPartDelta(content_delta=str() as text)):
            return len(text)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str() as text)):
            return len(text)
        case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str() as text)):
            return len(text)
        case _:
            return 0


def _storable(response: ModelResponse) -> ModelResponse:
    return repaired(with_own_call_ids(with_repaired_arguments(replace(response, usage=_counted(response.usage)))))


def _counted(usage: RequestUsage) -> RequestUsage:
    """The usage with plausible whole counts; others become 0."""
    values = {each.name: getattr(usage, each.name) for each in fields(usage)}
    counted: dict[str, Any] = {
        name: whole_number(value) or 0 for name, value in values.items() if name.endswith(("_tokens", "_requests"))
    }
    details = values.get("details")
    counted["details"] = (
        {str(name): whole_number(value) or 0 for name, value in details.items()} if isinstance(details, dict) else {}
    )
    return replace(usage, **counted)
