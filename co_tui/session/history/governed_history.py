"""The history of a session as one model gets it under one policy: measured, fitted, reported."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from co_tui.agent.model_messages import read_messages
from co_tui.agent.models.prices import saved_by_cache
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.append_only import AppendOnly
from co_tui.context.journal.recollection import Recollected
from co_tui.context.journal.sources import Sources
from co_tui.context.measure.count import MESSAGE_OVERHEAD_TOKENS, Reading, Scaffold
from co_tui.context.policy import Policy
from co_tui.context.request.pipeline import Governor, Measured, Prepared
from co_tui.context.request.stages import Note
from co_tui.context.request.truncate import Omitted
from co_tui.events import CompactionComplete, Recollection, Ref, UsageInfo
from co_tui.events.facts.context import TURN
from co_tui.events.stored_messages import as_sent, pieces
from co_tui.session.bills import Bill
from co_tui.session.history.next_request import (
    NextRequest,
    RequestSource,
    measured_now,
    next_request,
    note_in,
    pinned_in,
)
from co_tui.session.history.token_parts import with_token_parts
from co_tui.session.history.whole_transcript import WholeTranscript
from co_tui.session.recorder import Recorder
from co_tui.session.state.parsed_messages import ParsedMessages, message_json
from co_tui.session.state.session_state import Delegation, Entry, SessionState, characters_in

T = TypeVar("T")


CountTokens = Callable[[str], Awaitable[int | None]]
"""Counts a text exactly; None where that is not offered."""
OnAnswered = Callable[[int, bool], None]
"""Gets the length of an answered request, and whether its provider counted it; else it is our estimate."""
KeepScaffold = Callable[[Scaffold], Awaitable[None]]
"""Stores the scaffold of the next request."""


class RunInThread(Protocol):
    """Runs slow work without blocking the event loop."""

    async def __call__(self, work: Callable[..., T], /, *args: Any) -> T: ...


class PredictScaffold(Protocol):
    """Predicts the scaffold of the next turn under a policy from the last one sent; `leaving_chars` is how much will
    have left the history by then."""

    def __call__(self, sent: Scaffold, /, *, policy: Policy, leaving_chars: int) -> Scaffold: ...


class RequestForm(NamedTuple):
    """How the last request was made, besides its messages: another one made alike is served by the same cache."""

    model: Model
    settings: ModelSettings | None
    parameters: ModelRequestParameters


class GovernedHistory:
    """One for each combination of model and policy in a session; a turn keeps the one it started with."""

    def __init__(
        self,
        recorder: Recorder,
        parsed: ParsedMessages,
        governor: Governor,
        asked: RequestTarget,
        *,
        agent: str = "",
        instructions: str = "",
        run_in_thread: RunInThread = asyncio.to_thread,
        whole_transcript: WholeTranscript | None = None,
    ) -> None:
        """`whole_transcript` may be shared by several histories of the same conversation."""
        self.recorder = recorder
        self.governor = governor
        self.agent = agent
        """Empty for the session's own history; else the delegation it belongs to."""
        self.asked = asked
        """The model and its address, for error messages."""
        self.in_turn = False
        """Whether a turn is running: then the history is rewritten only between two requests."""
        self.predict: PredictScaffold = lambda sent, policy, leaving_chars: sent
        self.keep_scaffold: KeepScaffold | None = None
        self.form: RequestForm | None = None
        """None before the first request of this process."""
        self.on_answered: OnAnswered | None = None
        """Called for each request that was fully answered."""
        self.parsed = parsed
        """The log's messages as the library's objects."""
        self.whole_transcript = whole_transcript or WholeTranscript(parsed)
        self._noted: tuple[Recollection, object, Note | None] | None = None
        self._pinned: tuple[Collection[Ref], AppendOnly[Entry], tuple[int, ...]] = ((), AppendOnly(), ())
        """What was pinned before the last request, its history, and the indexes of pinned messages."""
        self._run_in_thread = run_in_thread
        self._measuring = asyncio.Lock()
        # Continue counting from what the log knows about this model.
        known = governor.meter.restore(self.state.learnt.get(asked.model, {}))
        self.scaffold = known._replace(instructions=instructions)
        """The instructions and tools of the last request, if known."""

    @property
    def session_id(self) -> str:
        return self.recorder.session_id

    @property
    def state(self) -> SessionState:
        return self.recorder.state

    @property
    def policy(self) -> Policy:
        return self.governor.policy

    @property
    def model(self) -> str:
        return self.asked.model

    @property
    def version(self) -> object:
        """The same object as long as the history only grows."""
        return self.entries.lineage

    @property
    def entries(self) -> AppendOnly[Entry]:
        """The messages by their identity in the log."""
        if not self.agent:
            return self.state.history
        delegation = self.state.delegations.get(self.agent)
        return delegation.history if delegation is not None else AppendOnly()

    @property
    def usage(self) -> UsageInfo | None:
        """The last measurement."""
        delegation = self.state.delegations.get(self.agent)
        return self.state.usage if not self.agent else delegation.usage if delegation is not None else None

    @property
    def messages(self) -> Sequence[ModelMessage]:
        """What the model would be sent now, before any stage."""
        return self.parsed.messages(self.entries)

    async def measure(self) -> Measured:
        """The log's own history after repair and tool outputs; the first time counts every message."""
        async with self._measuring:
            of = self._request_source()
            return await self._measured(
                of.messages, self.next_scaffold, lineage=of.entries.lineage, pinned=of.pinned, note=of.note
            )

    async def _measured(self, messages: Sequence[ModelMessage], scaffold: Scaffold, **more: Any) -> Measured:
        measuring = partial(measured_now, awaits_prompt=self.awaits_prompt, **more)
        return await self._run_in_thread(measuring, self.governor, messages, scaffold)

    async def next_request(self) -> NextRequest:
        """What would be sent now. Logs and changes nothing."""
        async with self._measuring:
            of, awaits_prompt = self._request_source(), self.awaits_prompt
            return await self._run_in_thread(next_request, self.governor, of, self.next_scaffold, awaits_prompt)

    @property
    def next_scaffold(self) -> Scaffold:
        """The predicted scaffold of the next request."""
        return self.predicted_scaffold()

    def predicted_scaffold(self, policy: Policy | None = None, *, leaving_chars: int = 0) -> Scaffold:
        """The same under another policy, or after more has left the history; a running turn keeps its tools."""
        if not self.awaits_prompt:
            return self.scaffold
        return self.predict(self.scaffold, policy=policy or self.policy, leaving_chars=leaving_chars)

    def scaffold_without(self, leaving: Collection[Ref]) -> Scaffold:
        """The same once these messages have left the history."""
        leaving_chars = characters_in(entry for entry in self.entries if entry.ref in leaving)
        return self.predicted_scaffold(leaving_chars=leaving_chars)

    @property
    def awaits_prompt(self) -> bool:
        """Whether the next request needs a prompt first."""
        return not self.in_turn and not self.agent and not self.state.pending

    def _request_source(self) -> RequestSource:
        entries = self.entries
        pinned = self._pinned_in(entries) if self.state.pins else ()
        return RequestSource(self.parsed.messages(entries), entries, pinned, self.note(entries), self.own_state)

    def _pinned_in(self, entries: AppendOnly[Entry]) -> tuple[int, ...]:
        """The indexes of pinned messages; of a history that only grew, only new messages are compared."""
        pins, (known_pins, known, indexes) = self.state.pins, self._pinned
        if known_pins is not pins or known.lineage is not entries.lineage or len(known) > len(entries):
            known, indexes = AppendOnly(), ()
        indexes += pinned_in(entries, pins, len(known))
        self._pinned = (pins, entries, indexes)
        return indexes

    def note(self, entries: AppendOnly[Entry]) -> Note | None:
        """What was recollected, and the message it goes with."""
        fact = self.own_state.recollection
        if fact is None or not self.policy.recollection_share:
            return None
        if self._noted is None or self._noted[0] is not fact or self._noted[1] is not entries.lineage:
            self._noted = (fact, entries.lineage, note_in(entries, fact))
        return self._noted[2]

    @property
    def own_state(self) -> SessionState | Delegation:
        """The session's state, or the delegation's."""
        return self.state if not self.agent else self.state.delegations.get(self.agent, Delegation())

    async def recollect(self, measured: Measured, reading: Reading, left_out: Collection[Ref]) -> Recollected:
        """The lines relevant to the newest step of a request that goes without some messages."""
        sources = await self.sources_without(left_out)
        return await self._run_in_thread(self.governor.recollect, measured, reading, sources)

    async def sources_without(self, gone: Collection[Ref]) -> Sources:
        """The sources of a journal once these messages leave the history."""
        return await self._run_in_thread(self.whole_transcript.sources, self.state, self.entries, gone, self.agent)

    async def reading_as(
        self, messages: Sequence[ModelMessage], pins: Collection[ModelMessage] = (), *, leaving: Collection[Ref] = ()
    ) -> Reading:
        """The next request of another history, with some of its messages pinned, after `leaving` messages have left
        this one: what the gauge shows then."""
        kept = {id(message) for message in pins}
        pinned = [index for index, message in enumerate(messages) if id(message) in kept]
        of = RequestSource(messages, AppendOnly(), pinned, None, SessionState())
        scaffold, awaits_prompt = self.scaffold_without(leaving), self.awaits_prompt
        async with self._measuring:
            return (await self._run_in_thread(next_request, self.governor, of, scaffold, awaits_prompt)).reading

    async def fitted(self, measured: Measured, held: Omitted) -> Prepared:
        """The request to send; what does not fit is left out."""
        async with self._measuring:
            return await self._run_in_thread(self.governor.fit, measured, self.scaffold, held)

    async def count_exactly(self, count: CountTokens) -> None:
        """Count the messages since the last reply with the model's own counter, if its server has one."""
        for message in reversed(self.messages):
            if isinstance(message, ModelResponse):
                break
            counted = await count("\n".join(text for _, text, _ in pieces(as_sent(message_json(message)))))
            if counted is None:
                break
            self.governor.meter.set_exact(message, counted + MESSAGE_OVERHEAD_TOKENS)

    async def record_reply(self, response: ModelResponse) -> None:
        """Measure the context by the provider's count for a reply, and log it."""
        governor = self.governor
        estimated = self.usage.current_tokens if self.usage else 0
        counted = governor.meter.reported(response)
        if self.on_answered is not None and response.state != "interrupted":
            self.on_answered(response.usage.input_tokens if counted else estimated, counted)
        reading = governor.meter.read_reply(response, self.scaffold, governor.window)
        if governor.may_not_fit(reading):
            reading = (await self.next_request()).reading  # without what has to be left out
        await self.report(reading, response)

    def billed(self, model: Model) -> Model:
        """The model to send the next request to: its cost is recorded, however the request ends."""
        bill = Bill(
            TURN,
            self.agent,
            self.model,
            self.recorder.record_eventually,
            lambda: usage.current_tokens if (usage := self.usage) else None,
            self.governor.meter.ratio,
        )
        return bill.of(model)

    async def with_figures(self, fact: CompactionComplete) -> CompactionComplete:
        """A rewrite to log, with the history's size before and after."""
        before = (await self.measure()).reading.current_tokens
        gone = [n for n, entry in enumerate(self.entries) if entry.ref in fact.replaced]
        kept = [message for n, message in enumerate(self.messages) if n not in gone]
        added = read_messages(fact.replacement)
        pins = [
            message for entry, message in zip(self.entries, self.messages, strict=True) if entry.ref in self.state.pins
        ]
        after = await self.reading_as(
            [*kept[: gone[0]], *added, *kept[gone[0] :]] if gone else kept, pins, leaving=fact.replaced
        )
        tokens = after.current_tokens
        fact = fact.but(pre_tokens=before, post_tokens=tokens, tokens_removed=before - tokens)
        return with_token_parts(fact, kept, added, after)

    async def report(self, reading: Reading, response: ModelResponse | None = None) -> None:
        """Log a measurement; with a response, also its provider's figures."""
        reported: dict[str, Any] = {}
        if response is not None and response.usage.input_tokens:
            usage = response.usage
            reported = {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cached_tokens": usage.cache_read_tokens,
                "cache_saved": saved_by_cache(response),
                "learnt": self.governor.meter.as_json(),
            }
        initial = self.usage is None and not self.agent
        fact = reading.as_fact(is_initial=initial, model=self.model, agent=self.agent, **reported)
        await self.recorder.record(fact)

    async def report_now(self) -> None:
        """Measure the next request, and log it."""
        await self.report((await self.next_request()).reading)
        await self._keep_next_scaffold()

    async def _keep_next_scaffold(self) -> None:
        if self.keep_scaffold is not None:
            await self.keep_scaffold(self.next_scaffold)

    async def report_if_changed(self) -> None:
        """The same after a turn or a command, if the next request differs from the last: the turn's tool results now
        count as an earlier turn's. Before the first request its tools are not known."""
        if self.usage is None:
            return
        following = await self.next_request()
        is_known = self.governor.meter.is_known(following.messages) and self.next_scaffold is self.scaffold
        is_measured = self.state.usage_holds and self.usage.messages_count == len(following.messages)
        if not is_measured or not is_known:
            await self.report(following.reading)
            await self._keep_next_scaffold()

    def release_memory(self) -> None:
        """Pack messages that are no longer in the history, and drop what is cached for them."""
        self.recorder.release_memory()
        running = (each.history for each in self.state.delegations.values() if each.status == "running")
        self.parsed.release(chain(self.entries, *running))
        self.whole_transcript.release(self.state, self.entries)
        self.governor.release(self.messages)
