"""One turn: from a logged prompt to the end of the reply, through failures and interruptions."""

import asyncio
from collections.abc import AsyncIterable, Callable, Coroutine, Sequence
from enum import Enum
from itertools import count
from typing import Any, TypeVar

import pydantic_ai
from pydantic_ai import CancellationToken
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    AgentStreamEvent,
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    repair_messages,
)
from pydantic_ai.tools import DeferredToolResults, RunContext, ToolApproved
from pydantic_ai.usage import UsageLimits

from co_tui.agent.delegates import Delegate, delegate_of, without_tools
from co_tui.context.measure.count import Scaffold
from co_tui.context.request.repair import answered_id, open_calls, repair
from co_tui.events import (
    ApprovalRequested,
    CompactionComplete,
    Message,
    PromptReturned,
    SessionError,
    SessionInterrupted,
)
from co_tui.events.facts.conversation import REPLY_KEPT, TURN_STOPPED
from co_tui.events.stored_messages import COMPACTED_AS, prompt_of
from co_tui.events.triggers import Trigger
from co_tui.session.approvals.asking import NOT_ANSWERED, Approvals, not_answered, open_questions
from co_tui.session.attachments import AttachmentRefused
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.compaction.recovery import Recovery
from co_tui.session.hooks.session_hooks import PromptRefused
from co_tui.session.queue import Steering, WorkQueue
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.turns.attempts import GivenUp, Stopped, Transferred
from co_tui.session.turns.delegations import STOPPED, DelegatedRunFactory, Delegations
from co_tui.session.turns.governed_requests import GovernedRequests
from co_tui.session.turns.governed_run import GovernedRun, StepBudget
from co_tui.session.turns.request_hook import RequestHook
from co_tui.session.turns.restored_files import restored_note
from co_tui.session.turns.unfinished import (
    abandoned,
    abandoned_delegations,
    made_waiting_calls,
    replies_in,
    waiting_calls,
)

T = TypeVar("T")
# The library prints a banner to standard error, over the screen or into a script's output.
pydantic_ai.BANNER_ENABLED = False
NO_LONGER_OPEN = "The call is no longer part of the conversation."
OTHER_PROMPT = "you sent another prompt instead of answering"


WritePrompt = Callable[[Approvals], Coroutine[Any, Any, ModelRequest]]
"""Writes a prompt in its turn, asking for what it needs. Raises `PromptRefused` or `AttachmentRefused`."""


class Outcome(Enum):
    """How a turn ended."""

    DONE = "done"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Turn(GovernedRun):
    """Asks the model until the turn ends; every message is logged as soon as it is complete."""

    def __init__(
        self,
        runtime: Runtime,
        compactor: Compactor,
        new_recovery: Callable[[], Recovery],
        number: int,
        delegated_runs: DelegatedRunFactory,
        queue: WorkQueue,
    ) -> None:
        """The `queue` has the prompts that the user adds while the turn runs."""
        steps = StepBudget(runtime.settings.agent_max_steps, replies_in(runtime.history.recorder.state, number))
        requests = GovernedRequests(runtime.compactable, compactor, runtime.archive.log_new)
        super().__init__(requests, runtime, new_recovery, number, steps)
        self._runtime = runtime
        self._number = number
        self._queue = queue
        self._token = CancellationToken()
        self._leaving = self._skipped = False
        self._equipped_for = runtime.speaker_name
        self.delegations = Delegations(delegated_runs, runtime, number, steps, is_leaving=lambda: self._leaving)

    def interrupt(self, *, leaving: bool = False) -> None:
        """Stop as soon as possible, keeping what arrived. When `leaving`, open questions stay open."""
        self._leaving = leaving
        self._stopped.set()
        self._token.cancel()

    def skip_questions(self) -> None:
        """A prompt came while a question waits: the question counts as not answered, and the turn ends."""
        if self._open_questions:
            self._skipped = True
            self.interrupt()

    async def run(self, prompt: ModelRequest | WritePrompt | None = None, *, again: bool = False) -> Outcome:
        """Answer a prompt; without one, continue from the open questions at which the turn was left. `again`: send
        the last request again, which got no reply.

        Raises `PromptRefused` before anything of it is logged, and `Transferred`.
        """
        self._hooks.begin_turn()
        if prompt is not None:
            await self._log_prompt(await self._accepted(prompt))
        elif not again and not waiting_calls(self._recorder.state):
            await self._recorder.record(*abandoned(self._recorder.state, NO_LONGER_OPEN, NO_LONGER_OPEN))
            return Outcome.DONE
        try:
            await self._attempts.until_answered(self._ask)
            await self._until_hooks_agree()
            return Outcome.DONE
        except RunCancelled as cancelled:
            return await self._interrupted(self._log.unlogged(cancelled.all_messages()))
        except Stopped:
            return await self._interrupted(())
        except GivenUp as given_up:
            return await self._failed(given_up)

    async def _accepted(self, prompt: ModelRequest | WritePrompt) -> ModelRequest:
        """The prompt, complete. Raises `PromptRefused` also if it is stopped before that."""
        try:
            return await self._unless_stopped(self._checked(prompt))
        except Stopped:
            await self._approvals.withdraw(TURN_STOPPED)
            raise PromptRefused("Stopped before it was sent.") from None

    async def _checked(self, prompt: ModelRequest | WritePrompt) -> ModelRequest:
        """The prompt, written if it is not yet. Raises `AttachmentRefused`, or `PromptRefused` if a hook refuses it."""
        written = prompt if isinstance(prompt, ModelRequest) else await prompt(self._approvals)
        await self._hooks.check_prompt(prompt_of(message_json(written)) or "")
        return written

    async def _until_hooks_agree(self) -> None:
        """Continue as long as hooks refuse that the turn ends; what they say is among the notes."""
        for times in count():
            if await self._unless_stopped(self._hooks.may_stop(times)):
                return
            await self._attempts.until_answered(self._ask)

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the user's hooks; raises `Stopped` if the turn is stopped first."""
        running, stopping = asyncio.create_task(work), asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            running.cancel()
            await asyncio.wait({running})
        if running.cancelled():
            raise Stopped
        return running.result()

    async def _log_steering(self, steering: Steering) -> None:
        """Log a prompt added to this turn, unless it is refused. Until then it waits in the queue: a turn stopped
        before that leaves it there."""
        try:
            prompt = await self._checked(steering.content)
        except (AttachmentRefused, PromptRefused) as refused:
            kind = "hook" if isinstance(refused, PromptRefused) else "attachment"
            if self._queue.take_steering(steering.number):
                self._recorder.announce(PromptReturned(prompt=steering.text))
                error = SessionError(what=str(refused), where=f"turn {self._number}", kind=kind, outcome="not sent")
                await self._recorder.record(error)
        else:
            if self._queue.take_steering(steering.number):
                await run_to_completion(self._log.prompt(prompt))

    async def _log_prompt(self, prompt: ModelRequest) -> None:
        """Log the prompt; open questions are denied first, and the model gets that as their answer."""
        if unanswered := abandoned(self._recorder.state, NOT_ANSWERED, OTHER_PROMPT):
            await self._recorder.record(*unanswered)
        await self._log.prompt(prompt)

    @property
    def _open_questions(self) -> list[ApprovalRequested]:
        return open_questions(self._recorder.state, self._history.messages)

    async def _ask(self) -> None:
        runtime = self._runtime
        self._log.begin()
        model = await runtime.model_handle.model()
        waiting = waiting_calls(self._recorder.state)
        self._equipped_for = made_waiting_calls(self._recorder.state) if waiting else runtime.speaker_name
        equipment = runtime.toolkit.for_turn(
            runtime.instructions,
            takes_tools=runtime.model_handle.takes_tools,
            gate=lambda: (self.delegations.current() or self).calls,
            hook=RequestHook(self, self.delegations),
            speaker=self._equipped(),
        )
        history = repair(self._history.messages, waiting)
        if waiting:
            # Joined as the library would; what follows is new.
            history = repair_messages(history, repair_last_response=False)
            self._log.begin(len(history))
            self.calls.begin([call for call in open_calls(history) if call.tool_call_id in waiting])
        await equipment.agent(model, runtime.request_settings).run(
            message_history=history,
            # Each is asked about, or waits behind a question, when it has its turn.
            deferred_tool_results=DeferredToolResults(approvals={id: ToolApproved() for id in waiting})
            if waiting
            else None,
            conversation_id=self._recorder.session_id,
            cancellation_token=self._token,
            # We count steps ourselves, before a request but after the last step's results are logged.
            usage_limits=UsageLimits(request_limit=None),
            event_stream_handler=self._on_events,
        )

    def _equipped(self) -> Delegate | None:
        """The agent of a file whose tools this run has; without any if its file is gone. None for the main agent."""
        name, runtime = self._equipped_for, self._runtime
        if not name:
            return None
        file = runtime.speaker if name == runtime.speaker_name else runtime.find_agent(name)
        return delegate_of(file) if file is not None else without_tools(name)

    async def _on_events(self, _: RunContext[Any], events: AsyncIterable[AgentStreamEvent]) -> None:
        async for event in events:
            self.on_event(event)
            await asyncio.sleep(0)  # chunks that came together leave time for keys

    async def before_request(self, run_messages: Sequence[ModelMessage], scaffold: Scaffold) -> list[ModelMessage]:
        await self._log.catch_up(run_messages)
        # All calls are answered: what could not continue, or was not asked again because its tool is gone, never will.
        await self._end_delegations()
        await self._approvals.withdraw(NO_LONGER_OPEN)
        # Open calls may be of the agent that handed over: they ran with its tools, the next request has the speaker's.
        if not self._recorder.state.speaker == self._runtime.speaker_name == self._equipped_for:
            self._hooks.check_stopped()
            raise Transferred
        self._take_step()
        await self._runtime.spending.check(self._runtime.settings)
        while (steering := self._queue.next_steering()) is not None:  # all calls are answered: it splits no pair
            await self._log_steering(steering)
        self._hooks.check_stopped()
        if (note := restored_note(self._recorder.state)) is not None:
            await self._log.log(note)
        await self._log_notes(run_messages)
        self._history.scaffold = scaffold
        await self._runtime.scaffold_file.keep(scaffold)
        await self._history.count_exactly(self._runtime.model_handle.count_tokens)
        # The log's history, not the run's: the library joins adjacent requests.
        return await self._next_request()

    async def after_response(self, response: ModelResponse) -> None:
        self._finish_step(response)
        await self._log.reply(response)
        await self._log_provider_compaction(response)
        await self._requests.answered(response)

    async def _log_provider_compaction(self, response: ModelResponse) -> None:
        """A provider may compact by itself and report it in the reply or around it; our history is unchanged."""
        parts = [part for part in response.parts if isinstance(part, CompactionPart)]
        signal = str((response.metadata or {}).get(COMPACTED_AS, ""))
        for part in parts or ([CompactionPart()] if signal else []):
            by = part.provider_name or response.provider_name or "the provider"
            await self._recorder.record(
                CompactionComplete(
                    success=True,
                    trigger=Trigger.PROVIDER,
                    summary=part.content or "",
                    summarised_by=by,
                    note=f"reported as {signal}" if signal else "",
                    model=self._history.model,
                )
            )

    async def _interrupted(self, run_messages: Sequence[ModelMessage]) -> Outcome:
        if self._attempts.broken is not None and not any(isinstance(each, ModelResponse) for each in run_messages):
            await self._keep_partial_reply()
        run_messages = self._with_results(run_messages)
        if self._leaving and (waiting := waiting_calls(self._recorder.state)):
            await self._log.close(run_messages, staying=waiting)
            return Outcome.INTERRUPTED
        asked = self._open_questions
        what = OTHER_PROMPT if self._skipped else TURN_STOPPED
        answers = [ModelRequest(parts=not_answered(asked))] if self._skipped and asked else []
        await self._end_delegations()
        await self._approvals.withdraw(NOT_ANSWERED if self._skipped else what)
        await self._log.close([*run_messages, *answers])
        await self._recorder.record(
            SessionInterrupted(what=what, where=f"turn {self._number}", outcome=REPLY_KEPT),
            ends_draft=True,
        )
        return Outcome.INTERRUPTED

    def _with_results(self, run_messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
        """With the results that came just before the stop, which the library's messages lack."""
        results = self._live.results()
        if results is None:
            return run_messages
        given = {answered_id(part) for each in run_messages if isinstance(each, ModelRequest) for part in each.parts}
        parts = [part for part in results.parts if answered_id(part) not in given]
        return [*run_messages, ModelRequest(parts=parts)] if parts else run_messages

    async def _failed(self, given_up: GivenUp) -> Outcome:
        await self._keep_partial_reply()
        await self._close(())
        error = self._attempts.error(given_up.failure, given_up.attempt, "the turn ended; it can be tried again")
        await self._recorder.record(error)
        return Outcome.FAILED

    async def _keep_partial_reply(self) -> None:
        if (partial := self._attempts.partial_reply()) is not None:
            message = Message(turn=self._number, message=partial, interrupted=True)
            await self._recorder.record_said(message, ends_draft=True)

    async def _keep_results(self) -> None:
        if (results := self._log.step_results) is not None:
            await self._close(results)
            self._live.begin()

    async def _close(self, rest: Sequence[ModelMessage]) -> None:
        await self._end_delegations()
        await self._approvals.withdraw("the turn failed")
        await self._log.close(rest)

    async def _end_delegations(self) -> None:
        """End delegations that an earlier process left and this one did not resume."""
        if left := abandoned_delegations(self._recorder.state, STOPPED):
            await self._recorder.record(*left)
