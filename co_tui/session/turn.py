"""One turn: from a logged prompt to the end of the reply, through failures and interruptions."""

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import pydantic_ai
from pydantic_ai import Agent, CancellationToken
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelResponse,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import UsageLimits

from co_tui.agent.errors import ModelUnusable
from co_tui.agent.failures import Failure
from co_tui.context.count import Scaffold
from co_tui.context.overflow import Overflow
from co_tui.context.repair import repair
from co_tui.events import (
    CompactionComplete,
    Message,
    SessionError,
    SessionInterrupted,
)
from co_tui.events.triggers import Trigger
from co_tui.session.classify import classify
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.compaction.recovery import Recovery
from co_tui.session.runtime import Runtime
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.streaming import Streaming
from co_tui.store.errors import StoreError

# The library greets on standard error, which is where the screen, or a script's reader, is.
pydantic_ai.BANNER_ENABLED = False

LONGEST_BACKOFF_S = 60.0
MOST_PARTIAL_CHARS = 100_000
"""What an event keeps of a reply that is asked for again."""


class Outcome(Enum):
    """How a turn ended."""

    DONE = "done"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class PromptTooLong(Exception):
    """The prompt alone, with what must go along, does not fit the window."""

    def __init__(self, overshoot_tokens: int, window_tokens: int) -> None:
        super().__init__(
            f"The prompt does not fit: even alone it is about {overshoot_tokens:,} tokens over the window of "
            f"{window_tokens:,}. Shorten it, or choose a model with a larger window."
        )


class StepsUsedUp(Exception):
    """The turn took as many steps as it may; what was done in them is in the log."""

    def __init__(self, steps: int) -> None:
        super().__init__(
            f"The turn stopped after {steps:,} steps, as many as `agent_max_steps` allows. "
            "All that was done is kept: say how to go on."
        )


class Turn:
    """Asks the model until the turn is over; every message is logged as soon as it is whole."""

    def __init__(
        self, runtime: Runtime, compactor: Compactor, new_recovery: Callable[[], Recovery], number: int
    ) -> None:
        self._runtime = runtime
        self._history = runtime.history
        self._compactor = compactor
        self._new_recovery = new_recovery
        self._recovery = new_recovery()
        self._recorder = runtime.history.recorder
        self._number = number
        self._stopped = asyncio.Event()
        self._token = CancellationToken()
        self._live = Streaming(self._recorder, number, runtime.model_handle.name)
        self._steps = 0
        self._kept = 0
        """Replies that are in the log; an empty one is a step, too, but leads nowhere."""
        self._in_log: int | None = None
        """How many messages of the present run are in the log; None before its first request."""

    def interrupt(self) -> None:
        """Stop as soon as possible; what has come so far is kept."""
        self._stopped.set()
        self._token.cancel()

    async def run(self) -> Outcome:
        """Answer the prompt at the end of the history."""
        attempt = 1
        while not self._stopped.is_set():
            kept_before = self._kept
            overflow: Overflow | None = None
            try:
                await self._ask()
                return Outcome.DONE
            except RunCancelled as cancelled:
                return await self._interrupted(self._beyond_log(cancelled.all_messages()))
            except StoreError:
                raise  # what cannot be logged must not go on
            except PromptTooLong as too_long:
                failure = Failure(kind="context_limit", sentence=str(too_long), retryable=False)
                if self._recovery.begun and await self._recovered(failure, None):
                    continue
            except StepsUsedUp as used_up:
                failure = Failure(kind="steps", sentence=str(used_up), retryable=False)
            except ModelUnusable as unusable:
                failure = Failure(kind="unusable", sentence=str(unusable), retryable=False)
            except Exception as error:
                failure, overflow = classify(error, self._runtime.model_handle.asked)
            await self._keep_results()
            if self._kept > kept_before:
                self._recovery = self._new_recovery()  # what was tried before, helped
            if overflow is not None:
                if await self._recovered(failure, overflow):
                    continue
                failure = replace(failure, sentence=f"{failure.sentence} {self._size_of_prompt()}")
            if self._kept > kept_before:
                attempt = 1  # the failure before this one was overcome
            if not failure.retryable or attempt > self._runtime.settings.max_retries or self._is_answered():
                return await self._failed(failure, attempt)
            await self._wait_to_retry(failure, attempt)
            attempt += 1
        return await self._interrupted(())

    def _is_answered(self) -> bool:
        """Whether the history ends with a reply, however useless: there is nothing to ask again."""
        history = self._history.messages
        return bool(history) and isinstance(history[-1], ModelResponse)

    async def _recovered(self, failure: Failure, overflow: Overflow | None) -> bool:
        """Make the next request smaller in the next way there is; the turn then goes on from what is logged."""
        if self._stopped.is_set():
            return False
        await self._recorder.record(self._error(failure, 1, "making the conversation smaller", 0.0), ends_draft=True)
        self._live.begin_again()
        done = await self._recovery.next(overflow)
        if done:
            what = "The request was too long for the model."
            await self._recorder.record(SessionError(what=what, kind="context_limit", outcome=done, retry_in_s=0.0))
        return bool(done)

    def _size_of_prompt(self) -> str:
        """How far the smallest request was from fitting, as far as that is known."""
        usage = self._recorder.state.usage
        limit = self._history.governor.window.tokens
        if usage is None or usage.current_tokens <= limit:
            return "Nothing that could be left out is left."
        return f"Even alone the prompt is about {usage.current_tokens - limit:,} tokens too long; shorten it."

    async def _ask(self) -> None:
        runtime = self._runtime
        self._in_log = None
        model = await runtime.model_handle.model()
        agent = Agent(
            model,
            instructions=runtime.instructions or None,
            toolsets=runtime.toolsets() if runtime.model_handle.takes_tools else (),
            capabilities=[RequestHook(self)],
            model_settings=runtime.model_handle.settings,
        )
        history = self._history.messages
        run = agent.run_stream_events(
            message_history=repair(history),
            conversation_id=self._recorder.session_id,
            cancellation_token=self._token,
            # Steps are counted by us, before a request but after the results of the last step are logged.
            usage_limits=UsageLimits(request_limit=None),
        )
        async with run as events:
            async for event in events:
                if not isinstance(event, AgentRunResultEvent):
                    self._live.hear(event)

    async def before_request(
        self, run_messages: Sequence[ModelMessage], messages: Sequence[ModelMessage], scaffold: Scaffold
    ) -> list[ModelMessage]:
        """The last step before sending: what is new is logged, the stages run, the usage is told."""
        for message in self._beyond_log(run_messages):
            await self.log(message)
        self._in_log = len(run_messages)
        self._live.begin()
        if self._steps >= self._runtime.settings.agent_max_steps:
            raise StepsUsedUp(self._steps)
        self._history.scaffold = scaffold
        await self._history.count_exactly(self._runtime.model_handle.count_tokens)
        # The log's own history, not the run's: the library joins requests that stand side by side.
        measured = await self._compactor.before_request(self._runtime.compactable)
        await self._runtime.archive.tell()
        prepared = await self._history.fit(measured)
        if prepared.overshoot_tokens and self._history.policy.truncates:
            raise PromptTooLong(prepared.overshoot_tokens, self._history.governor.window.tokens)
        return prepared.messages

    async def after_response(
        self, messages: Sequence[ModelMessage], scaffold: Scaffold, response: ModelResponse
    ) -> None:
        """A whole reply: logged, and the context measured by what its provider counted."""
        self._steps += 1
        self._in_log = (self._in_log or 0) + 1
        if response.parts:
            self._kept += 1
            await self.log(response)
        self._live.begin()
        await self._note_compaction(response)
        await self._history.heard(response)

    async def _note_compaction(self, response: ModelResponse) -> None:
        """A provider may compact by itself, and says so in its reply; nothing of our history goes."""
        for part in response.parts:
            if isinstance(part, CompactionPart):
                by = part.provider_name or response.provider_name or "the provider"
                await self._recorder.record(
                    CompactionComplete(
                        success=True,
                        trigger=Trigger.PROVIDER,
                        summary=part.content or "",
                        summarised_by=by,
                        model=self._history.model,
                    )
                )

    def _beyond_log(self, run_messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
        return run_messages[self._in_log :] if self._in_log is not None else ()

    async def log(self, message: ModelMessage) -> None:
        is_reply = isinstance(message, ModelResponse)
        fact = Message(
            turn=self._number,
            message=message_json(message),
            interrupted=is_reply and message.state == "interrupted",
        )
        await self._recorder.record(fact, ends_draft=is_reply)

    async def _interrupted(self, run_messages: Sequence[ModelMessage]) -> Outcome:
        await self._keep_rest(run_messages)
        await self._recorder.record(
            SessionInterrupted(what="interrupted by the user", where=f"turn {self._number}", outcome="kept what came"),
            ends_draft=True,
        )
        return Outcome.INTERRUPTED

    async def _failed(self, failure: Failure, attempt: int) -> Outcome:
        if (partial := self._live.draft.message()) is not None:
            await self._recorder.record(Message(turn=self._number, message=partial, interrupted=True), ends_draft=True)
        await self._keep_rest(())
        await self._recorder.record(self._error(failure, attempt, "gave up; the conversation can go on"))
        return Outcome.FAILED

    async def _keep_results(self) -> None:
        """Tools that ran before a run failed have run: the model is told what they returned, or it calls them again."""
        if (results := self._live.results()) is not None:
            await self._keep_rest([results])
            self._live.begin()

    async def _keep_rest(self, rest: Sequence[ModelMessage]) -> None:
        """Log what a stopped run had beyond the log, and answer the calls it left open."""
        returns: list[ModelMessage] = []
        for message in rest:
            if isinstance(message, ModelResponse):
                if message.parts:
                    await self.log(message)
            else:
                returns.append(message)
        history = self._history.messages
        if history and isinstance(history[-1], ModelResponse):
            for message in repair([history[-1], *returns])[1:]:
                await self.log(message)

    async def _wait_to_retry(self, failure: Failure, attempt: int) -> None:
        backoff = self._runtime.first_backoff_s * 2 ** (attempt - 1) * random.uniform(0.8, 1.2)
        delay = min(max(backoff, failure.retry_after_s or 0.0), LONGEST_BACKOFF_S)
        await self._recorder.record(self._error(failure, attempt, f"retrying in {delay:.1f} s", delay), ends_draft=True)
        self._live.begin_again()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), delay)

    def _error(self, failure: Failure, attempt: int, outcome: str, delay: float | None = None) -> SessionError:
        return SessionError(
            what=failure.sentence,
            where=f"turn {self._number}",
            outcome=outcome,
            kind=failure.kind,
            status=failure.status,
            attempt=attempt,
            attempts=self._runtime.settings.max_retries,
            retry_in_s=None if delay is None else round(delay, 2),
            partial=self._live.draft.text[:MOST_PARTIAL_CHARS] if delay is not None else "",
        )


class RequestHook(AbstractCapability[Any]):
    """Our hands inside the agent's loop: before each request and after each reply."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._scaffold = Scaffold()

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
        self._scaffold = Scaffold(instructions=instructions, tools=parameters.function_tools)
        request_context.messages = await self._turn.before_request(
            ctx.messages, request_context.messages, self._scaffold
        )
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        await self._turn.after_response(request_context.messages, self._scaffold, response)
        return response
