"""One recorded conversation under one policy, request by request."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.count import Scaffold, Window
from co_tui.context.meter import Meter
from co_tui.context.offline_summary import Summarise, summarise_offline
from co_tui.context.request import Governor, Prepared
from co_tui.context.turns import kept_by_rule
from co_tui.exchange.chat import Conversation
from co_tui.lab.check import Inspector
from co_tui.lab.details import Details
from co_tui.settings import Settings


class ReplayedRequest(NamedTuple):
    """One request of the replay, with what became of it."""

    number: int
    input_messages: int
    prepared: Prepared
    compactions: int
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
        self.compactions += prepared.compaction is not None
        self.waits += prepared.compaction is not None and prepared.compaction.waited
        self.truncations += prepared.truncation is not None
        self.details_needed += request.needed
        self.details_kept += request.kept
        self.too_long += prepared.overshoot_tokens > 0
        self.breaches += len(request.breaches)

    @property
    def kept_share(self) -> float:
        return self.details_kept / self.details_needed if self.details_needed else 1.0


def replay(
    conversation: Conversation,
    settings: Settings,
    window: Window,
    *,
    ratio: float = 1.0,
    summarise: Summarise = summarise_offline,
) -> Iterator[ReplayedRequest]:
    """A request before every reply of the recording, from what was said until then."""
    governor = Governor(settings, window, summarise=summarise, meter=Meter(ratio, margin=1.0))
    details, inspector = Details(), Inspector()
    history: list[ModelMessage] = []
    lineage = object()
    seen: set[str] = set()
    number = compactions = 0
    for index, message in enumerate(conversation.messages):
        if isinstance(message, ModelResponse) and index:
            prepared = governor.prepare(history, Scaffold(), lineage)
            if prepared.compaction is not None:
                history, lineage = list(prepared.history), object()
            number += 1
            compactions += prepared.compaction is not None
            needed = details.of(message) & seen
            # Without truncation nothing promises to fit; a prompt that alone is too long is said, not hidden.
            fits = prepared.overshoot_tokens == 0 or settings.truncation == "off" or _is_smallest(prepared)
            yield ReplayedRequest(
                number=number,
                input_messages=index,
                prepared=prepared,
                compactions=compactions,
                needed=len(needed),
                kept=details.kept(needed, prepared.messages),
                breaches=inspector.breaches(prepared.messages, fits=fits),
            )
        history.append(message)
        inspector.said(message)
        seen |= details.of(message)


def _is_smallest(prepared: Prepared) -> bool:
    """Only what no stage may remove is left."""
    return kept_by_rule(prepared.messages) == set(range(len(prepared.messages)))
