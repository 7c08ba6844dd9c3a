"""What a turn and a delegation share: the parts of a run, its step budget, and its requests."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from pydantic_ai.messages import AgentStreamEvent, FunctionToolResultEvent, ModelMessage, ModelResponse
from pydantic_ai.models import Model

from co_tui.context.journal.journal import in_cache_blocks
from co_tui.context.measure.count import Scaffold
from co_tui.session.approvals.asking import Approvals
from co_tui.session.compaction.recovery import Recovery
from co_tui.session.history.governed_history import RequestForm
from co_tui.session.pending_notes import note_message
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.turns.attempts import Attempts, PromptTooLong, StepsUsedUp
from co_tui.session.turns.call_order import ReplyCalls
from co_tui.session.turns.governed_requests import GovernedRequests
from co_tui.session.turns.repeated_calls import RepeatedResults
from co_tui.session.turns.run_log import RunLog
from co_tui.session.turns.streaming import Streaming


class StepBudget:
    """The steps a turn may take, shared by the main agent and all delegations."""

    def __init__(self, most: int, taken: int = 0) -> None:
        """`taken`: steps of this turn that an earlier process took."""
        self._most = most
        self._taken = taken

    def take(self) -> None:
        """Take one step, before its request: delegations may send theirs at the same time."""
        if self._taken >= self._most:
            raise StepsUsedUp(f"Stopped after {self._taken:,} steps (agent_max_steps). Everything is kept.")
        self._taken += 1

    def give_back(self) -> None:
        """Return a step whose request got no reply."""
        self._taken -= 1


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
        self._has_step = False
        """Whether a step is taken whose reply has not come yet."""
        self._hooks = runtime.hooks
        self._stopped = asyncio.Event()
        self._repeated = RepeatedResults()
        self._live = Streaming(self._recorder, turn, history.model, history.agent)
        self._log = RunLog(history, turn, self._live, runtime.outcomes)
        permissions, what = runtime.permissions, runtime.toolkit.what
        self._approvals = Approvals(
            self._recorder, runtime.questions, turn, permissions, what=what, agent=history.agent
        )
        self.calls = ReplyCalls(history.agent, self._live, self._log, self._approvals, permissions, self._hooks)
        """Where the run's calls wait for their turn."""
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

    def on_event(self, event: AgentStreamEvent) -> None:
        self._live.on_event(event)
        if isinstance(event, FunctionToolResultEvent):
            self.calls.done(event.part.tool_call_id)

    async def _log_notes(self, run_messages: Sequence[ModelMessage]) -> None:
        """Log what the agent has to know with its next request. All calls are answered then, so it splits no pair."""
        for text in self._repeated.new_notes(run_messages):
            await self._log.log(note_message("co-tui", text))
        for note in self._hooks.notes.take(self._history.agent):
            await self._log.log(note)

    def _take_step(self) -> None:
        """Take a step of the turn; a request that is tried again keeps its own. Raises `StepsUsedUp`."""
        if not self._has_step:
            self._steps.take()
            self._has_step = True

    def _give_back_step(self) -> None:
        """Leave an unused step to the other runs of the turn."""
        if self._has_step:
            self._steps.give_back()
            self._has_step = False

    def billed(self, model: Model) -> Model:
        """The model to send the next request to."""
        return self._history.billed(model)

    def asks_as(self, form: RequestForm) -> None:
        """Called before a request is put together."""
        self._history.form = form

    def _finish_step(self, response: ModelResponse) -> None:
        self.calls.begin(response.tool_calls)
        self._has_step = False
        self._attempts.kept += bool(response.parts)
        self._attempts.broken = None

    async def _next_request(self, what: str = "The prompt") -> list[ModelMessage]:
        """The messages to send. Raises `PromptTooLong`."""
        prepared = await self._requests.next()
        if prepared.overshoot_tokens and self._history.policy.truncates:
            raise PromptTooLong(prepared.overshoot_tokens, prepared.reading, what)
        return [*in_cache_blocks(prepared.messages, self._history.model), *self._log.feedback]
