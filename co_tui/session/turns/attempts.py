"""Asking until there is an answer: what is tried again after a failure, how often, and what is made smaller for it.

One place for the turns of the main agent and for the parts of the work it gives to others.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from pydantic_ai.exceptions import ModelRetry, RunCancelled
from pydantic_ai.messages import ModelResponse

from co_tui.agent.redact import redact
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.agent.wire.overflow import Overflow
from co_tui.agent.wire.request_failures import Failure
from co_tui.events import SessionError
from co_tui.session.approvals.asking import StoppedWhileAsking
from co_tui.session.compaction.recovery import Recovery
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.turns.classify_failure import classify
from co_tui.session.turns.repeated_calls import RepeatedCall
from co_tui.session.turns.streaming import Streaming
from co_tui.store.store_errors import StoreError

T = TypeVar("T")
LONGEST_BACKOFF_S: Final = 60.0
MOST_PARTIAL_CHARS: Final = 100_000
"""What an event keeps of a reply that is asked for again."""


class PromptTooLong(Exception):
    """The prompt alone, with what must go along, does not fit the window."""

    def __init__(self, overshoot_tokens: int, window_tokens: int, what: str = "The prompt") -> None:
        super().__init__(
            f"{what} does not fit: even alone it is about {overshoot_tokens:,} tokens over the window of "
            f"{window_tokens:,}. Shorten it, or choose a model with a larger window."
        )


class StepsUsedUp(Exception):
    """As many steps were taken as may be; what was done in them is in the log. The text is a sentence for people."""


class Stopped(Exception):
    """Somebody stopped it between two attempts."""


class GivenUp(Exception):
    """No further attempt would help, or enough were made."""

    def __init__(self, failure: Failure, attempt: int) -> None:
        super().__init__(failure.sentence)
        self.failure = failure
        self.attempt = attempt


@dataclass(slots=True, kw_only=True)
class Attempts:
    """The attempts at one turn, or at one delegation. What earlier ones brought into the log is never asked twice."""

    history: GovernedHistory
    live: Streaming
    keep_results: Callable[[], Awaitable[None]]
    """Tools that ran before a run failed have run: their results are logged, or they would be called again."""
    new_recovery: Callable[[], Recovery]
    stopped: asyncio.Event
    where: str
    max_retries: int
    first_backoff_s: float
    kept: int = 0
    """Replies that are in the log; an empty one is a step, too, but leads nowhere."""

    async def until_answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Raises `GivenUp`, `Stopped`, and what stops a run or must not be tried again."""
        recovery, attempt = self.new_recovery(), 1
        while not self.stopped.is_set():
            kept_before = self.kept
            overflow: Overflow | None = None
            try:
                return await ask()
            except (RunCancelled, StoppedWhileAsking, ModelRetry):
                raise
            except StoreError:
                raise  # what cannot be logged must not go on
            except PromptTooLong as too_long:
                failure = Failure(kind="context_limit", sentence=str(too_long), retryable=False)
                if recovery.begun and await self._recovered(recovery, failure, None):
                    continue
            except StepsUsedUp as used_up:
                failure = Failure(kind="steps", sentence=str(used_up), retryable=False)
            except RepeatedCall as repeated:
                sentence = redact(str(repeated), self.history.asked.secrets)
                failure = Failure(kind="repeated_call", sentence=sentence, retryable=False)
            except ModelUnusable as unusable:
                failure = Failure(kind="unusable", sentence=str(unusable), retryable=False)
            except Exception as error:
                failure, overflow = classify(error, self.history.asked)
            await self.keep_results()
            if self.kept > kept_before:  # what was tried before, helped
                recovery, attempt = self.new_recovery(), 1
            if overflow is not None:
                if await self._recovered(recovery, failure, overflow):
                    continue
                failure = replace(failure, sentence=f"{failure.sentence} {self._size_of_prompt()}")
            if not failure.retryable or attempt > self.max_retries or self._is_answered():
                raise GivenUp(failure, attempt)
            await self._wait_to_retry(failure, attempt)
            attempt += 1
        raise Stopped

    def error(self, failure: Failure, attempt: int, outcome: str, delay: float | None = None) -> SessionError:
        """What is told of a failure, and of what is done about it."""
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

    def _is_answered(self) -> bool:
        """Whether the history ends with a reply, however useless: there is nothing to ask again."""
        history = self.history.messages
        return bool(history) and isinstance(history[-1], ModelResponse)

    async def _recovered(self, recovery: Recovery, failure: Failure, overflow: Overflow | None) -> bool:
        """Make the next request smaller in the next way there is; the work then goes on from what is logged."""
        if self.stopped.is_set():
            return False
        recorder, agent = self.history.recorder, self.history.agent
        await recorder.record(self.error(failure, 1, "making the conversation smaller", 0.0), ends_draft=not agent)
        self.live.begin_again()
        done = await recovery.next(overflow, failure.detail)
        if done:
            what = "The request was too long for the model."
            await recorder.record(
                SessionError(what=what, kind="context_limit", outcome=done, retry_in_s=0.0, agent=agent)
            )
        return bool(done)

    def _size_of_prompt(self) -> str:
        """How far the smallest request was from fitting, as far as that is known."""
        usage = self.history.usage
        limit = self.history.governor.window.tokens
        if usage is None or usage.current_tokens <= limit:
            return "Nothing that could be left out is left."
        return f"Even alone the prompt is about {usage.current_tokens - limit:,} tokens too long; shorten it."

    async def _wait_to_retry(self, failure: Failure, attempt: int) -> None:
        backoff = self.first_backoff_s * 2 ** (attempt - 1) * random.uniform(0.8, 1.2)
        delay = min(max(backoff, failure.retry_after_s or 0.0), LONGEST_BACKOFF_S)
        told = self.error(failure, attempt, f"retrying in {delay:.1f} s", delay)
        await self.history.recorder.record(told, ends_draft=not self.history.agent)
        self.live.begin_again()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopped.wait(), delay)
