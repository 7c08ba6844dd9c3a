"""Ask until there is an answer: what to retry after a failure, how often, and how to shorten the request.

Shared by turns and delegations.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic_ai.exceptions import ModelRetry, RunCancelled
from pydantic_ai.messages import ModelResponse

from co_tui.agent.keys.key_servers import set_aside
from co_tui.agent.redact import redact
from co_tui.agent.wire.model_errors import FormRefused, ModelUnusable
from co_tui.agent.wire.overflow import Overflow
from co_tui.agent.wire.request_failures import Failure
from co_tui.context.measure.count import Reading
from co_tui.events import Json, SessionError, UsageInfo, share_of
from co_tui.events.wording import percent
from co_tui.session.compaction.recovery import Recovery
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.hooks.session_hooks import StoppedByHook
from co_tui.session.turns.classify_failure import classify
from co_tui.session.turns.repeated_calls import RepeatedCall
from co_tui.session.turns.spending import SpendingLimitReached
from co_tui.session.turns.streaming import Streaming
from co_tui.store.store_errors import StoreError

T = TypeVar("T")
LONGEST_BACKOFF_S: Final = 60.0
MOST_PARTIAL_CHARS: Final = 100_000
"""How much of a discarded partial reply an event keeps."""


class PromptTooLong(Exception):
    """The prompt alone, with its scaffold, does not fit the window."""

    def __init__(self, overshoot_tokens: int, reading: Reading, what: str = "The prompt") -> None:
        window = reading.window.tokens
        super().__init__(
            _what_fills(reading, window, overshoot_tokens)
            or f"{what} is about {overshoot_tokens:,} tokens too long for the window of {window:,}. "
            "Shorten it, or choose a larger model."
        )


def _what_fills(request: Reading | UsageInfo, window_tokens: int, overshoot_tokens: int) -> str:
    """What takes the room if it is not the conversation, and what to do about it; empty if it is."""
    tools, system = request.tool_definition_tokens, request.system_tokens
    if max(tools, system) < max(overshoot_tokens, request.conversation_tokens):
        return ""
    taken = max(tools, system)
    cause, advice = (
        ("Tools", "offer fewer tools (/settings tools)")
        if tools >= system
        else ("Instructions", "shorten them (/context instructions shows them)")
    )
    share = percent(share_of(taken, window_tokens))
    return (
        f"{cause} take {share} of the window of {window_tokens:,} tokens. "
        f"Use a model with a larger window, or {advice}."
    )


class StepsUsedUp(Exception):
    """The maximum number of steps was taken; their results are logged. The text is a sentence for people."""


class Stopped(Exception):
    """The user stopped it between two attempts."""


class Transferred(Exception):
    """The conversation was handed to another agent, which sends the next request; everything so far is logged."""


class GivenUp(Exception):
    """Retrying would not help, or the retries are used up."""

    def __init__(self, failure: Failure, attempt: int) -> None:
        super().__init__(failure.sentence)
        self.failure = failure
        self.attempt = attempt


ENDS_RUN: Final = (RunCancelled, ModelRetry, StoreError, Transferred)
"""Raised again at once. After a `StoreError` nothing continues: it could not be logged."""
OWN_FAILURES: Final = {
    "context_limit": PromptTooLong,
    "steps": StepsUsedUp,
    "spending": SpendingLimitReached,
    "repeated_call": RepeatedCall,
    "stopped_by_hook": StoppedByHook,
    "unusable": ModelUnusable,
}
"""What ends a turn without a provider's refusal, by its kind in the log."""


@dataclass(slots=True, kw_only=True)
class Attempts:
    """The attempts at one turn or delegation. Each continues from what earlier ones logged."""

    history: GovernedHistory
    live: Streaming
    keep_results: Callable[[], Awaitable[None]]
    """Logs the results of tools that ran before a run failed, so that they are not called again."""
    new_recovery: Callable[[], Recovery]
    stopped: asyncio.Event
    where: str
    max_retries: int
    first_backoff_s: float
    kept: int = 0
    """Replies that were logged; empty ones do not count."""
    broken: Json | None = None
    """The partial reply of an attempt that failed, as a message, until more arrives."""

    def partial_reply(self) -> Json | None:
        """What to keep of the reply if there will be no more: what arrived last."""
        return self.live.draft.message() or self.broken

    async def until_answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Raises `GivenUp`, `Stopped`, and what stops a run or must not be retried."""
        recovery, attempt = self.new_recovery(), 1
        while not self.stopped.is_set():
            kept_before = self.kept
            try:
                return await ask()
            except ENDS_RUN:
                raise
            except FormRefused as refused:
                await self._leave_out(refused)
                continue
            except Exception as error:
                too_long = isinstance(error, PromptTooLong)
                failure, overflow = self._read(error)
            if too_long and recovery.begun and await self._recovered(recovery, failure, None):
                continue
            await self.keep_results()
            if self.kept > kept_before:  # the last attempt made progress
                recovery, attempt = self.new_recovery(), 1
            if overflow is not None:
                if await self._recovered(recovery, failure, overflow):
                    continue
                failure = failure._replace(sentence=f"{failure.sentence} {self._size_of_prompt()}")
            if not failure.retryable or attempt > self.max_retries or self._is_answered():
                raise GivenUp(failure, attempt)
            await self._wait_to_retry(failure, attempt)
            attempt += 1
        raise Stopped

    def _read(self, error: Exception) -> tuple[Failure, Overflow | None]:
        """What went wrong; the second part if the provider refused the request as too long."""
        for kind, error_type in OWN_FAILURES.items():
            if isinstance(error, error_type):
                sentence = redact(str(error), self.history.asked.secrets) if kind == "repeated_call" else str(error)
                return Failure(kind=kind, sentence=sentence, retryable=False), None
        failure, overflow = classify(error, self.history.asked)
        if failure.kind == "authentication":
            set_aside(
                self.history.asked.address, self.history.asked.key
            )  # so that choosing the model again asks for another
        return failure, overflow

    def error(self, failure: Failure, attempt: int, outcome: str, delay: float | None = None) -> SessionError:
        """The fact about a failure, and what is done about it."""
        return SessionError(
            what=failure.sentence,
            where=self.where,
            outcome=outcome,
            kind=failure.kind,
            status=failure.status,
            attempt=attempt,
            attempts=self.max_retries,
            retry_in_s=None if delay is None else round(delay, 2),
            partial=self.live.draft.text[:MOST_PARTIAL_CHARS] if delay is not None else "",
            agent=self.history.agent,
        )

    async def _leave_out(self, refused: FormRefused) -> None:
        """Report that the request is sent again without what was refused."""
        await self.keep_results()
        failure, _ = self._read(refused)
        error = self.error(failure, 1, f"sent again without {refused.left_out}", 0.0)
        await self.history.recorder.record(error, ends_draft=not self.history.agent)
        self.live.restart()

    def _is_answered(self) -> bool:
        """Whether the history already ends with a reply: then there is nothing to retry."""
        history = self.history.messages
        return bool(history) and isinstance(history[-1], ModelResponse)

    async def _recovered(self, recovery: Recovery, failure: Failure, overflow: Overflow | None) -> bool:
        """Shorten the next request by the next recovery step, and log what was done; the work then continues from what
        is logged."""
        if self.stopped.is_set():
            return False
        self.live.restart()
        done = await recovery.next(overflow, failure.detail)
        if done:
            error = self.error(failure, 1, done, 0.0)
            await self.history.recorder.record(error, ends_draft=not self.history.agent)
        return bool(done)

    def _size_of_prompt(self) -> str:
        """By how much the shortest request did not fit, if known."""
        usage = self.history.usage
        limit = self.history.governor.window.tokens
        if usage is None or usage.current_tokens <= limit:
            return "Nothing more can be left out."
        overshoot = usage.current_tokens - limit
        return _what_fills(usage, limit, overshoot) or f"Shorten the prompt: it is about {overshoot:,} tokens too long."

    async def _wait_to_retry(self, failure: Failure, attempt: int) -> None:
        backoff = self.first_backoff_s * 2 ** (attempt - 1) * random.uniform(0.8, 1.2)
        delay = min(max(backoff, failure.retry_after_s or 0.0), LONGEST_BACKOFF_S)
        error = self.error(failure, attempt, f"retrying in {delay:.1f} s", delay)
        self.broken = self.partial_reply()
        await self.history.recorder.record(error, ends_draft=not self.history.agent)
        self.live.restart()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopped.wait(), delay)
