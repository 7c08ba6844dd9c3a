"""One recorded conversation under one policy, request by request."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import NamedTuple

from pydantic_ai.messages import ModelResponse

from co_tui.context.count import Window
from co_tui.context.meter import Meter
from co_tui.context.policy import Policy
from co_tui.context.request import Prepared
from co_tui.context.turns import kept_by_rule
from co_tui.exchange.chat import Conversation
from co_tui.lab.check import Inspector
from co_tui.lab.details import Details
from co_tui.lab.engine import ReplayEngine
from co_tui.session.compaction.job import SummaryWriter


class ReplayedRequest(NamedTuple):
    """One request of the replay, with what became of it."""

    number: int
    input_messages: int
    prepared: Prepared
    compactions: int
    """All until now."""
    new_compactions: int
    waits: int
    needed: int
    kept: int
    breaches: list[str]


@dataclass(slots=True)
class Tally:
    """What a policy did to a set of conversations."""

    policy: str
    conversations: int = 0
    requests: int = 0
    peak_tokens: int = 0
    total_tokens: int = 0
    compactions: int = 0
    truncations: int = 0
    waits: int = 0
    details_needed: int = 0
    details_kept: int = 0
    too_long: int = 0
    breaches: int = 0

    def add(self, request: ReplayedRequest) -> None:
        prepared = request.prepared
        self.requests += 1
        self.peak_tokens = max(self.peak_tokens, prepared.reading.current_tokens)
        self.total_tokens += prepared.reading.current_tokens
        self.compactions += request.new_compactions
        self.waits += request.waits
        self.truncations += prepared.truncation is not None
        self.details_needed += request.needed
        self.details_kept += request.kept
        self.too_long += prepared.overshoot_tokens > 0
        self.breaches += len(request.breaches)

    @property
    def kept_share(self) -> float:
        return self.details_kept / self.details_needed if self.details_needed else 1.0


async def replay(
    conversation: Conversation,
    policy: Policy,
    window: Window,
    *,
    ratio: float = 1.0,
    summaries: SummaryWriter | None = None,
) -> AsyncIterator[ReplayedRequest]:
    """A request before every reply of the recording, from what was said until then."""
    engine = ReplayEngine(policy, window, meter=Meter(ratio, margin=1.0), summaries=summaries)
    details, inspector = Details(), Inspector()
    seen: set[str] = set()
    number = compactions = 0
    for index, message in enumerate(conversation.messages):
        if isinstance(message, ModelResponse) and index:
            prepared, done, waits = await engine.request()
            number += 1
            compactions += len(done)
            needed = details.of(message) & seen
            # Without truncation nothing promises to fit; a prompt that alone is too long is said, not hidden.
            fits = prepared.overshoot_tokens == 0 or not policy.truncates or _is_smallest(prepared)
            yield ReplayedRequest(
                number=number,
                input_messages=index,
                prepared=prepared,
                compactions=compactions,
                new_compactions=len(done),
                waits=waits,
                needed=len(needed),
                kept=details.kept(needed, prepared.messages),
                breaches=inspector.breaches(prepared.messages, fits=fits),
            )
        await engine.say(message)
        inspector.said(message)
        seen |= details.of(message)


def _is_smallest(prepared: Prepared) -> bool:
    """Only what no stage may remove is left."""
    return kept_by_rule(prepared.messages) == set(range(len(prepared.messages)))
