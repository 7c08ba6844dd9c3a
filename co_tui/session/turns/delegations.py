"""Tasks delegated to other agents: each with its own history, logged under its name (T4)."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic_ai.exceptions import ModelRetry, RunCancelled, SkipModelRequest, ToolRetryError
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext

from co_tui.agent.models.open_model import ModelHandle
from co_tui.context.measure.count import Scaffold
from co_tui.context.request.repair import last_step
from co_tui.events import DelegationEnd, DelegationStart
from co_tui.events.facts.agents import DELEGATION_SEPARATOR
from co_tui.events.storable import storable_text
from co_tui.events.tool_wording import CUT_SHORT
from co_tui.inert import one_line
from co_tui.session.compaction.recovery import Recovery
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.state.derive import INTERRUPTED
from co_tui.session.turns.attempts import GivenUp
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.session.turns.governed_requests import GovernedRequests
from co_tui.session.turns.governed_run import GovernedRun, StepBudget
from co_tui.session.turns.handed_files import handed_files
from co_tui.session.turns.unfinished import (
    full_report,
    left_delegation,
    unfinished_report,
    waiting_calls,
)

T = TypeVar("T")
STOPPED = "the turn was stopped"
STOPPED_ALONE = "The user stopped it."
MOST_IN_A_TURN = 100
TOO_MANY = f"{MOST_IN_A_TURN} agents worked in this turn, the most allowed. Do the rest yourself."
LIMITS = frozenset(("steps", "spending"))
"""Failures that end the whole turn: a delegation returns what it has."""
FILES_FROM = "the agent that gave you the task"
NAME_CHARS = 60


class StoppedAlone(Exception):
    """The user stopped a delegation, not its turn."""


class DelegatedRun(GovernedRun):
    """The run of one delegation, as a turn is the run of the main agent."""

    def __init__(
        self,
        requests: GovernedRequests,
        new_recovery: Callable[[], Recovery],
        runtime: Runtime,
        turn: int,
        steps: StepBudget,
        own_model: ModelHandle | None = None,
    ) -> None:
        """`own_model` if it does not use the runtime's."""
        # Its `_stopped` is never set: it is cancelled, alone or with the run that asked for it.
        super().__init__(requests, runtime, new_recovery, turn, steps)
        self._own_model = own_model
        self._runtime = runtime
        self._check_spending = partial(runtime.spending.check, runtime.settings)
        self._task_is_logged = self._resumes = False
        self._is_stopped_alone = False
        self._working: asyncio.Task[Any] | None = None

    @property
    def agent(self) -> str:
        return self._history.agent

    @property
    def window_tokens(self) -> int:
        return self._history.governor.window.tokens

    def hand_over(self, files: str) -> None:
        """Give it these files with its first request."""
        self._hooks.notes.add(FILES_FROM, files, self.agent)

    def resume(self) -> None:
        """Continue from the log: an earlier process ended while a question of this delegation was open."""
        self._task_is_logged = self._resumes = True

    def stop(self) -> None:
        """Stop it alone: its call returns what it did so far, and the turn continues."""
        if self._working is not None and not self._working.done():
            self._is_stopped_alone = True
            self._working.cancel()

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run the work. Raises `GivenUp`, `StoppedAlone`, and what stops the turn."""
        self._working = working = asyncio.create_task(self._do(work))
        try:
            return await working
        except (asyncio.CancelledError, RunCancelled):
            current = asyncio.current_task()
            if self._is_stopped_alone and current is not None and not current.cancelling():
                raise StoppedAlone from None
            raise

    async def _do(self, work: Callable[[], Awaitable[T]]) -> T:
        async def ask() -> T:
            # Each attempt continues from the log.
            self._log.begin(1 if self._task_is_logged else 0)
            try:
                return await work()
            except (ModelRetry, ToolRetryError) as error:
                raise _cause_of(error) from None

        for times in count():
            result = await self._attempts.until_answered(ask)
            if await self._hooks.may_stop(times, self.agent):
                break
        return result

    async def choose_model(self, request: ModelRequestContext) -> None:
        """Use the agent's own model, with its settings and tools."""
        if (own := self._own_model) is None:
            return
        request.model = await own.model()
        request.model_settings = self._runtime.settings_for(own)
        if not own.takes_tools:
            request.model_request_parameters = replace(request.model_request_parameters, function_tools=[])

    async def before_request(self, run_messages: Sequence[ModelMessage], scaffold: Scaffold) -> list[ModelMessage]:
        await self._log.catch_up(run_messages)
        self._task_is_logged = True
        if self._resumes:
            await self._repeat_open_step(len(run_messages))
        self._take_step()
        await self._check_spending()
        self._hooks.check_stopped()
        await self._log_notes(run_messages)
        self._history.scaffold = scaffold
        return await self._next_request("The task")

    async def _repeat_open_step(self, run_messages: int) -> None:
        """Repeat the logged reply with open calls instead of asking the model, until they are answered."""
        waiting = waiting_calls(self._history.recorder.state, self.agent)
        if not waiting:
            self._resumes = False
            return
        reply = last_step(self._history.messages)[0]
        assert isinstance(reply, ModelResponse)
        self._log.begin(run_messages + 1)
        parts = [part for part in reply.parts if not isinstance(part, ToolCallPart) or part.tool_call_id in waiting]
        self.calls.begin([part for part in parts if isinstance(part, ToolCallPart)])
        raise SkipModelRequest(replace(reply, parts=parts))

    async def after_response(self, response: ModelResponse) -> None:
        self._finish_step(response)
        await self._log.reply(response)
        await self._requests.answered(response)

    async def leave(self) -> None:
        """Log what is not logged yet, and keep its questions open for the next process."""
        await self._requests.close()
        results = self._live.results()
        staying = waiting_calls(self._history.recorder.state, self.agent)
        await self._log.close([results] if results is not None else [], staying)

    async def _keep_results(self) -> None:
        if (results := self._log.step_results) is not None:
            await self._approvals.withdraw("its run failed")
            await self._log.close(results)
            self._live.begin()

    async def end(self, outcome: str, error: str = "") -> None:
        """Log what is not logged yet and how it ended; deny its open questions."""
        self._give_back_step()
        await self._requests.close()
        await self._approvals.withdraw(STOPPED)
        results = self._live.results()
        await self._log.close([results] if results is not None else [])
        spent = self._history.recorder.state.delegations[self.agent].spent
        await self._history.recorder.record(
            DelegationEnd(agent=self.agent, outcome=outcome, error=error, usage=spent.usage, cost=spent.cost)
        )


class DelegatedTask(NamedTuple):
    """A task for another agent."""

    agent: str
    """The name of this delegation, under which it is logged."""
    name: str
    """The agent that was asked."""
    task: str
    call_id: str


class DelegatedRunFactory(Protocol):
    """Creates the runs of delegated tasks."""

    def context_of(self, runtime: Runtime, name: str) -> str: ...

    async def new(self, runtime: Runtime, asked: DelegatedTask, turn: int, steps: StepBudget) -> DelegatedRun: ...


class Delegations:
    """The delegations of one turn. They may run in parallel; each is found through the asyncio task it runs in."""

    def __init__(
        self,
        runs: DelegatedRunFactory,
        runtime: Runtime,
        turn: int,
        steps: StepBudget,
        is_leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        """`steps` are the turn's. `is_leaving`: whether the session is being closed; then open questions stay open."""
        self._runs = runs
        self._runtime = runtime
        self._turn = turn
        self._steps = steps
        self._recorder = runtime.history.recorder
        self._is_leaving = is_leaving
        self._names: set[str] = set()
        self._running: dict[str, DelegatedRun] = {}

    @property
    def running(self) -> Collection[str]:
        """The names of those that run."""
        return self._running

    def stop(self, agent: str) -> None:
        """Stop one of them alone."""
        if (run := self._running.get(agent)) is not None:
            run.stop()

    def current(self) -> DelegatedRun | None:
        """The delegation whose run is executing; None for the main agent."""
        return self._running.get(CURRENT_AGENT.get())

    async def run_call(
        self, ctx: RunContext[Any], arguments: Mapping[str, Any], work: Callable[[], Awaitable[T]]
    ) -> T | str:
        """Run a delegating call of the run `ctx`; or say that there were too many."""
        if len(self._names) >= MOST_IN_A_TURN:
            return TOO_MANY
        call_id = ctx.tool_call_id or ""
        run = await self._resumed(call_id)
        files: Sequence[str] = ()
        if run is None:
            files = arguments.get("files") or ()
            run = await self._begin(arguments, files, call_id)
        self._running[run.agent] = run
        token = CURRENT_AGENT.set(run.agent)
        try:
            if files:
                run.hand_over(await handed_files(ctx, files, run.window_tokens))
            result = await run.do(work)
        except GivenUp as given_up:
            if given_up.failure.kind in LIMITS:
                await run_to_completion(run.end(CUT_SHORT, str(given_up)))
                return unfinished_report(self._recorder.state, run.agent)
            await run_to_completion(run.end("failed", str(given_up)))
            raise ModelRetry(f"{run.agent} failed: {given_up}") from given_up
        except StoppedAlone:
            await run_to_completion(run.end(CUT_SHORT, STOPPED_ALONE))
            return unfinished_report(self._recorder.state, run.agent)
        except BaseException as error:
            stays_open = self._is_leaving() and waiting_calls(self._recorder.state, run.agent)
            await run_to_completion(run.leave() if stays_open else run.end(*_ended_by(error)))
            raise
        finally:
            CURRENT_AGENT.reset(token)
            del self._running[run.agent]
        await run_to_completion(run.end("done"))
        return full_report(self._recorder.state, run.agent, str(result))

    async def _begin(self, arguments: Mapping[str, Any], files: Sequence[str], call_id: str) -> DelegatedRun:
        said = (arguments.get("agent_name", ""), arguments.get("task", ""), call_id)
        name, task, call_id = (storable_text(str(each)) for each in said)
        context = arguments.get("context") or self._runs.context_of(self._runtime, name)
        asking = self.current()
        agent = _name_for(name, asking, {*self._recorder.state.delegations, *self._names})
        self._names.add(agent)  # several start at once, before any is logged
        named, results = tuple(map(storable_text, files)), self._runtime.settings.delegation_results == "on"
        given: dict[str, Any] = {
            "task": task,
            "call_id": call_id,
            "context": context,
            "files": named,
            "results": results,
        }
        await self._recorder.record(DelegationStart(agent=agent, name=name, **given))
        return await self._new(DelegatedTask(agent, name, task, call_id))

    async def _resumed(self, call_id: str) -> DelegatedRun | None:
        """The delegation that the call started in an earlier process, if it can continue."""
        call_id, asking, state = storable_text(call_id), self.current(), self._recorder.state
        agent = left_delegation(state, asking.agent if asking is not None else "", call_id)
        if agent is None or agent in self._names:
            return None
        self._names.add(agent)
        left = state.delegations[agent]
        run = await self._new(DelegatedTask(agent, left.name, left.task, call_id))
        run.resume()
        return run

    async def _new(self, asked: DelegatedTask) -> DelegatedRun:
        try:
            return await self._runs.new(self._runtime, asked, self._turn, self._steps)
        except BaseException as error:
            outcome, why = _ended_by(error)
            await run_to_completion(self._recorder.record(DelegationEnd(agent=asked.agent, outcome=outcome, error=why)))
            raise


def _name_for(name: str, asking: DelegatedRun | None, known: Collection[str]) -> str:
    """A unique name: the path of delegations that leads to it, with a number."""
    name = one_line(name.replace(DELEGATION_SEPARATOR, "_"), NAME_CHARS) or "agent"
    path = f"{asking.agent}{DELEGATION_SEPARATOR}{name}" if asking is not None else name
    return next(each for number in count(1) if (each := f"{path} {number}") not in known)


def _cause_of(error: Exception) -> Exception:
    """The original error, which the library wraps into a retry."""
    while isinstance(error, ModelRetry | ToolRetryError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error


def _ended_by(error: BaseException) -> tuple[str, str]:
    if isinstance(error, RunCancelled) or not isinstance(error, Exception):
        return INTERRUPTED, STOPPED
    return "failed", str(error)
