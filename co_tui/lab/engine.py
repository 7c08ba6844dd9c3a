"""The live engine without a model, a screen or files: recorded messages in, requests out.

Decisions, summaries and rewrites are those of a session; only the summariser answers at once.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.agent.model_messages import message_json
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.context.indexed_history import is_prompt
from co_tui.context.measure.count import Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import Policy
from co_tui.context.request.pipeline import Governor, Prepared
from co_tui.context.request.stages import Keep
from co_tui.events import CompactionComplete, CompactionStart, Event, Fact, Message, Pin
from co_tui.events.triggers import Trigger
from co_tui.session.compaction.applying import Applier
from co_tui.session.compaction.compaction_files import CompactionFiles
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.compaction.job import Compactable, SummaryWriter
from co_tui.session.compaction.summaries import Summary, SummaryRequest, offline
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.whole_transcript import WholeTranscript
from co_tui.session.recorder import Recorder
from co_tui.session.state.history_edits import cleared
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.state.session_state import SessionState
from co_tui.session.turns.governed_requests import GovernedRequests
from co_tui.store.timestamps import now

T = TypeVar("T")
SESSION_ID = "replayed"


class OfflineSummaries:
    """The offline summariser instead of a model, for every policy."""

    async def write(self, request: SummaryRequest, trigger: Trigger) -> Summary:
        return offline(request)


class Sent(NamedTuple):
    """A request as it would be sent, and the compactions since the last one."""

    prepared: Prepared
    compactions: tuple[CompactionComplete, ...] = ()
    waits: int = 0
    """How many of them the request had to wait for."""


class _EventLog:
    """The events from `seq` on without storing them."""

    def __init__(self, seq: int) -> None:
        self.events: list[Event] = []
        self._seq = seq

    def append(self, session_id: str, facts: Iterable[Fact], *, ends_draft: bool = False) -> Future[tuple[Event, ...]]:
        events = tuple(
            Event(session_id=session_id, seq=seq, timestamp=now(), fact=fact)
            for seq, fact in enumerate(facts, self._seq + 1)
        )
        self._seq += len(events)
        self.events += events
        return _resolved(events)

    def save_reply(self, session_id: str, number: int, body: str) -> Future[None]:
        return _resolved(None)


def _resolved(result: T) -> Future[T]:
    done: Future[T] = Future()
    done.set_result(result)
    return done


class ReplayEngine:
    """One conversation under one policy."""

    def __init__(
        self,
        policy: Policy,
        window: Window,
        *,
        meter: Meter | None = None,
        summaries: SummaryWriter | None = None,
        keep: Keep | None = None,
        initial_state: SessionState | None = None,
        parsed: ParsedMessages | None = None,
        whole_transcript: WholeTranscript | None = None,
    ) -> None:
        """With `initial_state`, and its messages `parsed`, continue from there without logging the earlier messages.
        `whole_transcript` may be shared by all engines that continue from there."""
        state = initial_state or SessionState()
        self._log = _EventLog(state.seq)
        self._recorder = Recorder(SESSION_ID, self._log, state, at_once=True)
        self._parsed = parsed or ParsedMessages()
        policy = policy if summaries is not None else policy.but(writes_notes=False)
        governor = Governor(policy, window, meter=meter, keep=keep)
        self.history = GovernedHistory(
            self._recorder,
            self._parsed,
            governor,
            RequestTarget(SESSION_ID),
            run_in_thread=_at_once,
            whole_transcript=whole_transcript,
        )
        self._compactor = Compactor(Applier(CompactionFiles(self._recorder, None, None)))
        on = Compactable(self.history, summaries or OfflineSummaries())
        self._requests = GovernedRequests(on, self._compactor)
        self._is_answered = True
        self._reported = len(self._recorder.state.timeline)

    async def receive(self, message: ModelMessage) -> None:
        """Add the next message: a prompt, results, or the reply to the last request."""
        turn = self.history.state.turn
        if is_prompt(message):
            await self._end_turn()
            turn += 1
        await self.add(message, turn)
        if isinstance(message, ModelResponse) and not self._is_answered:
            self._is_answered = True
            await self._requests.answered(message)

    async def add(self, message: ModelMessage, turn: int) -> None:
        """Add an earlier message for which no request was made."""
        (event,) = await self._recorder.record(Message(turn=turn, message=message_json(message)))
        self._parsed.remember((event.seq or 0, 0), message)

    async def request(self) -> Sent:
        """Build the next request."""
        self.history.in_turn = True
        prepared = await self._requests.next()
        self._is_answered = False
        await self._compactor.finish()
        return self._sent(prepared)

    def logged(self) -> Sequence[Event]:
        """The events since the engine began."""
        return tuple(self._log.events)

    async def pin(self, messages: Sequence[ModelMessage]) -> None:
        """Pin these message objects, if they are in the history."""
        ids = {id(message) for message in messages}
        entries = zip(self.history.entries, self.history.messages, strict=True)
        refs = tuple(entry.ref for entry, message in entries if id(message) in ids)
        await self._recorder.record(Pin(messages=refs))

    async def clear(self) -> None:
        await self._compactor.discard("context cleared")
        await self._recorder.record(cleared(self.history.state))

    async def _end_turn(self) -> None:
        self.history.in_turn = False
        await self._requests.after_turn()
        await self._compactor.finish()

    def _sent(self, prepared: Prepared) -> Sent:
        timeline = self.history.state.timeline
        new, self._reported = timeline[self._reported :], len(timeline)
        done: list[CompactionComplete] = []
        waits, blocks = 0, False
        for event in new:
            if isinstance(event.fact, CompactionStart):
                blocks = event.fact.blocks
            elif isinstance(event.fact, CompactionComplete) and event.fact.success:
                done.append(event.fact)
                waits += blocks
        return Sent(prepared, tuple(done), waits)


async def _at_once(work: Callable[..., T], *args: Any) -> T:
    return work(*args)
