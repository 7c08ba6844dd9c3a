"""One turn: from a logged prompt to the end of the reply, through failures and interruptions."""

import asyncio
from collections.abc import Callable, Sequence
from enum import Enum

import pydantic_ai
from pydantic_ai import CancellationToken
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest, ModelResponse, repair_messages
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved
from pydantic_ai.usage import UsageLimits

from co_tui.context.measure.count import Scaffold
from co_tui.context.request.repair import repair
from co_tui.events import (
    ApprovalRequested,
    CompactionComplete,
    Message,
    SessionInterrupted,
)
from co_tui.events.triggers import Trigger
from co_tui.session.approvals.asking import NOT_ANSWERED, Approvals, StoppedWhileAsking, not_answered, open_questions
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.compaction.recovery import Recovery
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.turns.attempts import Attempts, GivenUp, PromptTooLong, StepsUsedUp, Stopped
from co_tui.session.turns.delegations import STOPPED, Delegations, NewRun
from co_tui.session.turns.request_hook import RequestHook
from co_tui.session.turns.run_log import RunLog
from co_tui.session.turns.streaming import Streaming
from co_tui.session.turns.unfinished import abandoned, abandoned_delegations, waiting_calls

# The library greets on standard error, which is where the screen, or a script's reader, is.
pydantic_ai.BANNER_ENABLED = False
NO_LONGER_OPEN = "The call is no longer part of the conversation."
OTHER_PROMPT = "a new prompt came instead of an answer"


class Outcome(Enum):
    """How a turn ended."""

    DONE = "done"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Turn:
    """Asks the model until the turn is over; every message is logged as soon as it is whole."""

    def __init__(
        self,
        runtime: Runtime,
        compactor: Compactor,
        new_recovery: Callable[[], Recovery],
        number: int,
        new_delegated_run: NewRun,
        take_steering: Callable[[], Sequence[ModelRequest]] = tuple,
    ) -> None:
        """`take_steering` gives what the user wants to add to the turn while it runs."""
        self._runtime = runtime
        self._history = runtime.history
        self._compactor = compactor
        self._recorder = runtime.history.recorder
        self._number = number
        self._take_steering = take_steering
        self._stopped = asyncio.Event()
        self._token = CancellationToken()
        self._live = Streaming(self._recorder, number, runtime.model_handle.name)
        self._log = RunLog(self._history, number, self._live)
        self._approvals = Approvals(
            self._recorder,
            runtime.questions,
            number,
            runtime.permissions,
            what=runtime.toolkit.what,
        )
        self._leaving = self._skipped = False
        self._delegations = Delegations(self._recorder, new_delegated_run, is_leaving=lambda: self._leaving)
        self._steps = 0
        self._attempts = Attempts(
            history=self._history,
            live=self._live,
            keep_results=self._keep_results,
            new_recovery=new_recovery,
            stopped=self._stopped,
            where=f"turn {number}",
            max_retries=runtime.settings.max_retries,
            first_backoff_s=runtime.first_backoff_s,
        )

    def interrupt(self, *, leaving: bool = False) -> None:
        """Stop as soon as possible; what has come so far is kept. Who leaves finds open questions again."""
        self._leaving = leaving
        self._stopped.set()
        self._token.cancel()

    def skip_questions(self) -> None:
        """Something else is said while a question waits: it counts as not answered, and the turn ends."""
        if self._open_questions:
            self._skipped = True
            self.interrupt()

    async def run(self, prompt: ModelRequest | None = None) -> Outcome:
        """Answer a prompt; without one, go on from the questions at which the turn was left."""
        if prompt is not None:
            await self._say(prompt)
        elif not waiting_calls(self._recorder.state):
            await self._recorder.record(*abandoned(self._recorder.state, NO_LONGER_OPEN, NO_LONGER_OPEN))
            return Outcome.DONE
        try:
            await self._attempts.until_answered(self._ask)
            return Outcome.DONE
        except RunCancelled as cancelled:
            return await self._interrupted(self._log.beyond(cancelled.all_messages()))
        except (StoppedWhileAsking, Stopped):
            return await self._interrupted(())
        except GivenUp as given_up:
            return await self._failed(given_up)

    async def _say(self, prompt: ModelRequest) -> None:
        """Log the prompt; what waited for an answer until now is not allowed, and the model is told."""
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
        answers = await self._approvals.decide_unless(self._stopped, self._open_questions)
        equipment = runtime.toolkit.for_turn(
            runtime.instructions,
            takes_tools=runtime.model_handle.takes_tools,
            approve=self._approve,
            hook=RequestHook(self, self._delegations),
        )
        answers |= {call_id: ToolApproved() for call_id in waiting - answers.keys()}  # delegations, which continue
        history = repair(self._history.messages, answers)
        if answers:
            # As the library would join them; what comes after these is new.
            history = repair_messages(history, repair_last_response=False)
            self._log.begin(len(history))
        run = equipment.agent(model, runtime.request_settings).run_stream_events(
            message_history=history,
            deferred_tool_results=DeferredToolResults(approvals={**answers}) if answers else None,
            conversation_id=self._recorder.session_id,
            cancellation_token=self._token,
            # Steps are counted by us, before a request but after the results of the last step are logged.
            usage_limits=UsageLimits(request_limit=None),
        )
        async with run as events:
            async for event in events:
                if not isinstance(event, AgentRunResultEvent):
                    self._live.hear(event)

    async def _approve(self, requests: DeferredToolRequests) -> DeferredToolResults:
        """What ran is logged before anybody is asked: the answer may take days."""
        if (delegated := self._delegations.current()) is not None:
            return await delegated.approve(requests)
        await self._log.keep_results()
        return await self._approvals.request(requests)

    async def before_request(self, run_messages: Sequence[ModelMessage], scaffold: Scaffold) -> list[ModelMessage]:
        """The last step before sending: what is new is logged, the stages run, the usage is told."""
        await self._log.catch_up(run_messages)
        await self._end_delegations()  # all calls are answered: one that could not continue never will
        if self._steps >= self._runtime.settings.agent_max_steps:
            raise StepsUsedUp(
                f"The turn stopped after {self._steps:,} steps, as many as `agent_max_steps` allows. "
                "All that was done is kept, and the work can go on from there."
            )
        for said in self._take_steering():  # all calls are answered here, so that it parts no pair
            await self._log.prompt(said)
        self._history.scaffold = scaffold
        await self._runtime.scaffold_file.keep(scaffold)
        await self._history.count_exactly(self._runtime.model_handle.count_tokens)
        # The log's own history, not the run's: the library joins requests that stand side by side.
        measured = await self._compactor.before_request(self._runtime.compactable)
        await self._runtime.archive.tell()
        prepared = await self._history.fit(measured)
        if prepared.overshoot_tokens and self._history.policy.truncates:
            raise PromptTooLong(prepared.overshoot_tokens, self._history.governor.window.tokens)
        return prepared.messages

    async def after_response(self, response: ModelResponse) -> None:
        """A whole reply: logged, and the context measured by what its provider counted."""
        self._steps += 1
        self._attempts.kept += bool(response.parts)
        await self._log.reply(response)
        await self._note_compaction(response)
        await self._history.record_reply(response)

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

    async def _interrupted(self, run_messages: Sequence[ModelMessage]) -> Outcome:
        if self._leaving and (waiting := waiting_calls(self._recorder.state)):
            await self._log.close(run_messages, staying=waiting)
            return Outcome.INTERRUPTED
        asked = self._open_questions
        what = OTHER_PROMPT if self._skipped else "interrupted by the user"
        told = [ModelRequest(parts=not_answered(asked))] if self._skipped and asked else []
        await self._end_delegations()
        await self._approvals.withdraw(NOT_ANSWERED if self._skipped else what)
        await self._log.close([*run_messages, *told])
        await self._recorder.record(
            SessionInterrupted(what=what, where=f"turn {self._number}", outcome="kept what came"),
            ends_draft=True,
        )
        return Outcome.INTERRUPTED

    async def _failed(self, given_up: GivenUp) -> Outcome:
        if (partial := self._live.draft.message()) is not None:
            told = Message(turn=self._number, message=partial, interrupted=True)
            await self._recorder.record_said(told, ends_draft=True)
        await self._close(())
        error = self._attempts.error(given_up.failure, given_up.attempt, "gave up; the conversation can go on")
        await self._recorder.record(error)
        return Outcome.FAILED

    async def _keep_results(self) -> None:
        """Tools that ran before a run failed have run: the model is told what they returned, or it calls them again."""
        if (results := self._live.results()) is not None:
            await self._close([results])
            self._live.begin()

    async def _close(self, rest: Sequence[ModelMessage]) -> None:
        await self._end_delegations()
        await self._approvals.withdraw("the turn failed")
        await self._log.close(rest)

    async def _end_delegations(self) -> None:
        """Those that an earlier process left, and that this one did not come to."""
        if left := abandoned_delegations(self._recorder.state, STOPPED):
            await self._recorder.record(*left)
