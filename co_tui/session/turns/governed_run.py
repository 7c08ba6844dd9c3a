"""What a turn and a delegation share: the parts of a run, its step budget, and how a request is fitted."""

import asyncio
from collections.abc import Callable

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.request.pipeline import Measured
from co_tui.session.approvals.asking import Approvals
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.compaction.recovery import Recovery
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.turns.attempts import Attempts, PromptTooLong, StepsUsedUp
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


class GovernedRun:
    """The run of the main agent or of a delegate."""

    def __init__(
        self,
        history: GovernedHistory,
        runtime: Runtime,
        compactor: Compactor,
        new_recovery: Callable[[], Recovery],
        turn: int,
        steps: StepBudget,
    ) -> None:
        self._history = history
        self._compactor = compactor
        self._recorder = history.recorder
        self._steps = steps
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

    async def _keep_results(self) -> None:
        """Log the results of tools that ran before a run failed, so that the model does not call them again."""
        raise NotImplementedError

    def _count_step(self, response: ModelResponse) -> None:
        self._steps.taken += 1
        self._attempts.kept += bool(response.parts)

    async def _fit(self, measured: Measured, what: str = "The prompt") -> list[ModelMessage]:
        """The messages to send. Raises `PromptTooLong`."""
        prepared = await self._history.fit(measured)
        if prepared.overshoot_tokens and self._history.policy.truncates:
            raise PromptTooLong(prepared.overshoot_tokens, self._history.governor.window.tokens, what)
        return prepared.messages
