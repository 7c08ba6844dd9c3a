"""The history of a session as one model gets it under one policy: measured, fitted, reported."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.agent.model_messages import read_messages
from co_tui.agent.models.prices import price_of, saved_by_cache
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.append_only import AppendOnly
from co_tui.context.measure.count import MESSAGE_OVERHEAD_TOKENS, Reading, Scaffold, estimate_text
from co_tui.context.memory.excerpts import Sources
from co_tui.context.memory.recollection import RECOLLECTED_FROM_EARLIER
from co_tui.context.policy import Policy
from co_tui.context.request.pipeline import Governor, Measured, Prepared
from co_tui.context.request.stages import Note
from co_tui.context.request.truncate import Omitted
from co_tui.events import CompactionComplete, Recollection, Ref, Truncation, UsageInfo
from co_tui.events.stored_messages import pieces
from co_tui.session.history.next_request import (
    NextRequest,
    RequestSource,
    held_of,
    is_reported,
    measured_now,
    next_request,
    note_in,
    ref_of,
    request_source,
)
from co_tui.session.history.whole_transcript import WholeTranscript
from co_tui.session.recorder import Recorder
from co_tui.session.state.parsed_messages import ParsedMessages, message_json
from co_tui.session.state.session_state import Delegation, Entry, SessionState, characters_in

T = TypeVar("T")


class RunInThread(Protocol):
    """Runs slow work without blocking the event loop."""

    async def __call__(self, work: Callable[..., T], /, *args: Any) -> T: ...


class CountTokens(Protocol):
    """Counts a text exactly; None where that is not offered."""

    async def __call__(self, text: str, /) -> int | None: ...


class PredictScaffold(Protocol):
    """Predicts the scaffold of the next turn under a policy from the last one sent; `leaving_chars` is how much will
    have left the history by then."""

    def __call__(self, sent: Scaffold, /, *, policy: Policy, leaving_chars: int) -> Scaffold: ...


class OnAnswered(Protocol):
    """Gets the length of an answered request: `counted` by its provider, else our estimate."""

    def __call__(self, tokens: int, /, *, counted: bool) -> None: ...


class KeepScaffold(Protocol):
    """Stores the scaffold of the next request."""

    async def __call__(self, scaffold: Scaffold, /) -> None: ...


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
        self.on_answered: OnAnswered | None = None
        """Called for each request that was fully answered."""
        self.parsed = parsed
        """The log's messages as the library's objects."""
        self._said_before = whole_transcript or WholeTranscript(parsed)
        self._noted: tuple[Recollection, object, Note | None] | None = None
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

    @property
    def awaits_prompt(self) -> bool:
        """Whether the next request needs a prompt first."""
        return not self.in_turn and not self.agent and not self.state.pending

    def _request_source(self) -> RequestSource:
        return request_source(self._own_state, self.entries, self.messages, self.state.pins, self._note(self.entries))

    def _note(self, entries: AppendOnly[Entry]) -> Note | None:
        """What was recollected, and the message it goes with."""
        fact = self._own_state.recollection
        if fact is None or not self.policy.recollection_share:
            return None
        if self._noted is None or self._noted[0] is not fact or self._noted[1] is not entries.lineage:
            self._noted = (fact, entries.lineage, note_in(entries, fact))
        return self._noted[2]

    @property
    def _own_state(self) -> SessionState | Delegation:
        """The session's state, or the delegation's."""
        return self.state if not self.agent else self.state.delegations.get(self.agent, Delegation())

    async def _recollected(self, measured: Measured, prepared: Prepared) -> Measured | None:
        """Bring back what is relevant to the newest step of a request that is rewritten anyway; None if nothing is.

        A search without a result is logged too: a resumed session must not repeat it.
        """
        fact = await self._recollection(measured, prepared)
        await self.recorder.record(fact)
        return await self.measure() if fact.note else None

    async def _recollection(self, measured: Measured, prepared: Prepared) -> Recollection:
        """The lines relevant to the newest step, and the message they go with; without a note if there are none."""
        nothing = Recollection(messages=(), note="", agent=self.agent)
        entries, left_out = self.entries, self._refs(measured, prepared.held.left_out)
        origin = measured.origins[-1] if measured.live else None
        if origin is None or isinstance(measured.live[-1], ModelResponse) or entries[origin].ref in left_out:
            return nothing
        sources = await self.sources_without(left_out)
        found = await self._run_in_thread(self.governor.recollect, measured, prepared.reading, sources)
        if not found.lines:
            return nothing
        note = f"{RECOLLECTED_FROM_EARLIER}\n{found.text}"
        return nothing.but(
            messages=(entries[origin].ref,),
            note=note,
            lines=len(found.lines),
            tokens=round(self.governor.meter.ratio * estimate_text(note)),
            sources=self._said_before.refs(line.position.message for line in found.lines),
        )

    async def sources_without(self, gone: Collection[Ref]) -> Sources:
        """The sources for excerpts once these messages leave the history."""
        return await self._run_in_thread(self._said_before.sources, self.state, self.entries, gone, self.agent)

    async def measure_as(
        self, messages: Sequence[ModelMessage], pins: Collection[ModelMessage] = (), *, leaving: Collection[Ref] = ()
    ) -> Measured:
        """Measure another history, with some of its messages pinned, after `leaving` messages have left this one."""
        kept = {id(message) for message in pins}
        pinned = [index for index, message in enumerate(messages) if id(message) in kept]
        leaving_chars = characters_in(entry for entry in self.entries if entry.ref in leaving)
        async with self._measuring:
            return await self._measured(messages, self.predicted_scaffold(leaving_chars=leaving_chars), pinned=pinned)

    def changes_tools(self, leaving: Collection[Ref]) -> bool:
        """Whether the next request has other tools once these messages have left the history."""
        leaving_chars = characters_in(entry for entry in self.entries if entry.ref in leaving)
        return list(self.predicted_scaffold(leaving_chars=leaving_chars).tool_names) != list(self.scaffold.tool_names)

    def sent_prefix_length(self, measured: Measured) -> int:
        """How many messages, from the first on, were in the last answered request."""
        refs = [ref_of(self.entries, origin) for origin in measured.origins]
        reported = (ref for ref, each in zip(refs, measured.live, strict=True) if ref and is_reported(each))
        answered = max(reported, default=(0, 0))
        return next((index for index, ref in enumerate(refs) if ref and ref > answered), len(refs))

    def verbatim_prefix_length(self, measured: Measured) -> int:
        """How many messages, from the first on, are sent as logged: not left out, clipped or annotated."""
        held, note = held_of(self._own_state, self.entries, measured), self._note(self.entries)
        noted = [index for index, origin in enumerate(measured.origins) if note and origin == note.message_index]
        clipped = [0] if held.clipped_chars else []
        return min([*noted, *held.left_out, *clipped], default=len(measured.origins))

    async def fit(self, measured: Measured) -> Prepared:
        """The request to send: what does not fit is left out; logs that and the usage."""
        held = held_of(self._own_state, self.entries, measured)
        prepared = await self._fitted(measured, held)
        # The request starts differently from the last one for a reason other than recollection.
        is_rewritten = self._own_state.is_rewritten or prepared.held != held
        if self.policy.recollection_share and is_rewritten:
            noted = await self._recollected(measured, prepared)
            if noted is not None:
                measured = noted
                prepared = await self._fitted(measured, prepared.held)
        if prepared.truncation is not None:
            await self.recorder.record(self._truncation(measured, prepared, held))
        await self.report(prepared.reading)
        return prepared

    async def _fitted(self, measured: Measured, held: Omitted) -> Prepared:
        async with self._measuring:
            return await self._run_in_thread(self.governor.fit, measured, self.scaffold, held)

    def _refs(self, measured: Measured, indexes: Iterable[int]) -> frozenset[Ref]:
        origins = (measured.origins[index] for index in indexes)
        return frozenset(self.entries[origin].ref for origin in origins if origin is not None)

    def _truncation(self, measured: Measured, prepared: Prepared, before: Omitted) -> Truncation:
        figures, held = prepared.truncation, prepared.held
        assert figures is not None
        upto = range(held.clipped_upto, -1, -1) if held.clipped_chars else ()
        clipped = next((index for index in upto if measured.origins[index] is not None), None)
        return Truncation(
            pre_tokens=figures.pre_tokens,
            post_tokens=figures.post_tokens,
            pre_messages=figures.pre_messages,
            post_messages=figures.post_messages,
            tokens_removed=figures.pre_tokens - figures.post_tokens,
            messages_removed=figures.pre_messages - figures.post_messages,
            performed_by="truncator",
            left_out=tuple(sorted(self._refs(measured, held.left_out - before.left_out))),
            clipped_chars=held.clipped_chars,
            clipped_upto=tuple(self._refs(measured, [clipped])) if clipped is not None else (),
            agent=self.agent,
        )

    async def count_exactly(self, count: CountTokens) -> None:
        """Count the messages since the last reply with the model's own counter, if its server has one."""
        for message in reversed(self.messages):
            if isinstance(message, ModelResponse):
                break
            counted = await count("\n".join(text for _, text, _ in pieces(message_json(message))))
            if counted is None:
                break
            self.governor.meter.set_exact(message, counted + MESSAGE_OVERHEAD_TOKENS)

    async def record_reply(self, response: ModelResponse) -> None:
        """Measure the context by the provider's count for a reply, and log it."""
        governor = self.governor
        estimated = self.usage.current_tokens if self.usage else 0
        counted = governor.meter.reported(response)
        if self.on_answered is not None and response.state != "interrupted":
            self.on_answered(response.usage.input_tokens if counted else estimated, counted=counted)
        await self.report(governor.meter.read_reply(response, self.scaffold, governor.window), response)

    async def with_figures(self, fact: CompactionComplete) -> CompactionComplete:
        """A rewrite to log, with the history's size before and after."""
        before = (await self.measure()).reading.current_tokens
        gone = [n for n, entry in enumerate(self.entries) if entry.ref in fact.replaced]
        kept = [message for n, message in enumerate(self.messages) if n not in gone]
        added = read_messages(fact.replacement)
        pins = [
            message for entry, message in zip(self.entries, self.messages, strict=True) if entry.ref in self.state.pins
        ]
        after = await self.measure_as(
            [*kept[: gone[0]], *added, *kept[gone[0] :]] if gone else kept, pins, leaving=fact.replaced
        )
        tokens = after.reading.current_tokens
        return fact.but(pre_tokens=before, post_tokens=tokens, tokens_removed=before - tokens)

    async def report(self, reading: Reading, response: ModelResponse | None = None) -> None:
        """Log a measurement; with a response, also its provider's figures and its cost."""
        reported: dict[str, Any] = {}
        if response is not None and response.usage.input_tokens:
            usage = response.usage
            reported = {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cached_tokens": usage.cache_read_tokens,
                "cost": price_of(response),
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

    async def report_after_turn(self) -> None:
        """The same at the end of a turn, if the next request differs from the last: the turn's tool results now count
        as an earlier turn's."""
        if self.usage is None:
            return  # nothing was sent yet
        following = await self.next_request()
        is_known = self.governor.meter.is_known(following.messages) and self.next_scaffold is self.scaffold
        if not self.state.usage_holds or not is_known:
            await self.report(following.reading)
            await self._keep_next_scaffold()

    def release_memory(self) -> None:
        """Release everything cached for messages that are no longer in the history."""
        self.recorder.release_memory()
        self.parsed.release(self.entries)
        self._said_before.forget()
        self.governor.release(self.messages)
