"""Log the messages of a run: each once, as soon as it is complete."""

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, RetryFeedbackPart

from co_tui.context.request.repair import answered_id, last_step, repair
from co_tui.events import CallOutcome, Message
from co_tui.session.call_facts import CallOutcomes
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.turns.streaming import Streaming
from co_tui.store.store_errors import StoreError


class RunLog:
    """Tracks which messages of a turn's runs are logged, and logs the others."""

    def __init__(self, history: GovernedHistory, turn: int, live: Streaming, outcomes: CallOutcomes) -> None:
        """`outcomes` are logged with the results of their calls."""
        self._history = history
        self._outcomes = outcomes
        self._turn = turn
        self._live = live
        self._in_log: int | None = None
        """How many messages of the current run are logged; None before its first request."""
        self._answered: set[str] = set()
        """Calls of the current step whose results were logged before the step ended."""
        self._was_empty = False
        """Whether the last reply of the current run was empty."""
        self.feedback: list[ModelMessage] = []
        """What the library says about that reply: it goes with the next request only, and is not logged either."""

    def begin(self, in_log: int | None = None) -> None:
        """Start a new run; `in_log` if it starts with tool results, before any request."""
        self._in_log = in_log
        self._answered.clear()
        self._was_empty = False

    def unlogged(self, run_messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The messages of the run that are not logged."""
        new = run_messages[self._in_log :] if self._in_log is not None else ()
        return [each for message in new if (each := self._without_answered(message)).parts]

    async def catch_up(self, run_messages: Sequence[ModelMessage]) -> None:
        """Before a request: log everything the run has, but for the feedback about an empty reply."""
        new = self.unlogged(run_messages)
        self.feedback = [each for each in new if _is_feedback(each)] if self._was_empty else []
        for message in new:
            if message not in self.feedback:
                await self.log(message)
        self._in_log = len(run_messages)
        self._live.begin()

    async def reply(self, response: ModelResponse) -> None:
        """Log a complete reply; an empty one is not kept."""
        self._in_log = (self._in_log or 0) + 1
        self._answered.clear()
        self._was_empty = not response.parts
        if response.parts:
            await self.log(response)
        self._live.begin()

    async def keep_results(self) -> None:
        """Within a step: log the tool results so far."""
        if (results := self._live.results()) is not None:
            self._answered.update(found for part in results.parts if (found := answered_id(part)) is not None)
            self._live.begin()
            await run_to_completion(self.log(results))  # a result that is logged twice would answer its call twice

    @property
    def step_results(self) -> list[ModelMessage] | None:
        """The results of the step that are not logged yet; None if none of its calls has ended."""
        if (results := self._live.results()) is not None:
            return [results]
        return [] if self._answered else None

    async def close(self, rest: Sequence[ModelMessage], staying: Collection[str] = ()) -> None:
        """Log the rest of a stopped run, and answer its open calls, except those in `staying`."""
        requests = [_only_answers(each) if staying else each for each in rest if isinstance(each, ModelRequest)]
        try:
            for message in rest:
                if isinstance(message, ModelResponse) and message.parts:
                    await self.log(message)
        except StoreError:  # the tool results are queued along with it
            for request in requests:
                with contextlib.suppress(StoreError):
                    await self.log(request)
            raise
        step = last_step(self._history.messages)
        if step and (closed := closing(step, requests, staying)) is not None:
            await self.log(closed)

    async def prompt(self, prompt: ModelRequest) -> None:
        """Log a prompt; if that fails, it is returned to the user."""
        await self._history.recorder.record(self._fact(prompt))

    async def log(self, message: ModelMessage) -> None:
        recorder, outcomes = self._history.recorder, list[CallOutcome]()
        if isinstance(message, ModelRequest):
            outcomes = self._outcomes.take(self._history.agent, message, recorder.state)
        await recorder.record_said(*outcomes, self._fact(message), ends_draft=isinstance(message, ModelResponse))

    def _fact(self, message: ModelMessage) -> Message:
        return Message(
            turn=self._turn,
            agent=self._history.agent,
            message=message_json(message),
            interrupted=isinstance(message, ModelResponse) and message.state == "interrupted",
        )

    def _without_answered(self, message: ModelMessage) -> ModelMessage:
        if isinstance(message, ModelResponse) or not self._answered:
            return message
        return replace(message, parts=[part for part in message.parts if answered_id(part) not in self._answered])


def closing(
    step: Sequence[ModelMessage], requests: Sequence[ModelRequest], staying: Collection[str]
) -> ModelRequest | None:
    """One request with the step's answers, including one for each call without a result."""
    known = {id(part) for message in step for part in message.parts}
    whole = repair([*step, *requests], staying)[1:]
    parts = [part for message in whole if isinstance(message, ModelRequest) for part in message.parts]
    new = [part for part in parts if id(part) not in known]
    if not new:
        return None
    return replace(requests[0], parts=new) if requests else ModelRequest(parts=new, timestamp=step[-1].timestamp)


def _is_feedback(message: ModelMessage) -> bool:
    return all(isinstance(part, RetryFeedbackPart) for part in message.parts)


def _only_answers(request: ModelRequest) -> ModelRequest:
    return replace(request, parts=[part for part in request.parts if answered_id(part) is not None])
