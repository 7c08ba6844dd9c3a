"""What a turn and a delegation share: the parts of a run, its step budget, and its requests."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.journal.cache_blocks import in_cache_blocks
from co_tui.context.measure.count import Scaffold
from co_tui.session.approvals.asking import Approvals
from co_tui.session.compaction.recovery import Recovery
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.turns.attempts import Attempts, PromptTooLong, StepsUsedUp
from co_tui.session.turns.governed_requests import GovernedRequests
from co_tui.session.turns.run_log import RunLog
from co_tui.session.turns.streaming import Streaming


class StepBudget:
    """The steps a run may take; a delegation shares its budget with its own delegations."""

    def __init__(self, most: int, sentence: str) -> None:
        """`sentence` says that they are used up; `{}` in it is the number of steps."""
        self._most = most
        self._sentence = sentence
        self.taken = 0

    def check(self) -> None:
        if self.taken >= self._most:
            raise StepsUsedUp(self._sentence.format(f"{self.taken:,}"))


class GovernedRun(ABC):
    """The run of the main agent or of a delegate."""

    def __init__(
        self,
        requests: GovernedRequests,
        runtime: Runtime,
        new_recovery: Callable[[], Recovery],
        turn: int,
        steps: StepBudget,
    ) -> None:
        history = requests.history
        self._requests = requests
        self._history = history
        self._recorder = history.recorder
        self._steps = steps
        self._hooks = runtime.hooks
        self._stopped = asyncio.Event()
        self._live = Streaming(self._recorder, turn, history.model, history.agent)
        self._log = RunLog(history, turn, self._live)
        self._approvals = Approvals(
            self._recorder,
            runtime.questions,
            turn,
            runtime.permissions,
            what=runtime.toolkit.what,
            agent=history.agent,
        )
        self._attempts = Attempts(
            history=history,
            live=self._live,
            keep_results=self._keep_results,
            new_recovery=new_recovery,
            stopped=self._stopped,
            where=f"turn {turn}",
            max_retries=runtime.settings.max_retries,
            first_backoff_s=runtime.first_backoff_s,
        )

    @abstractmethod
    async def before_request(self, run_messages: Sequence[ModelMessage], scaffold: Scaffold) -> list[ModelMessage]:
        """Log the run's new messages, and return the messages to send."""

    @abstractmethod
    async def after_response(self, response: ModelResponse) -> None:
        """Log a complete reply, and measure the context by its provider's count."""

    @abstractmethod
    async def _keep_results(self) -> None:
        """Log the results of tools that ran before a run failed, so that the model does not call them again."""

    async def _log_notes(self) -> None:
        """Log what the agent has to know with its next request. All calls are answered then, so it splits no pair."""
        for note in self._hooks.notes.take(self._history.agent):
            await self._log.log(note)

    def _count_step(self, response: ModelResponse) -> None:
        self._steps.taken += 1
        self._attempts.kept += bool(response.parts)

    async def _next_request(self, what: str = "The prompt") -> list[ModelMessage]:
        """The messages to send. Raises `PromptTooLong`."""
        prepared = await self._requests.next()
        if prepared.overshoot_tokens and self._history.policy.truncates:
            raise PromptTooLong(prepared.overshoot_tokens, self._history.governor.window.tokens, what)
        return in_cache_blocks(prepared.messages, self._history.model)
