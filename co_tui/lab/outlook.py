"""What each policy would do with a conversation: the next request, and the size after its compaction."""

import asyncio
from functools import partial
from typing import NamedTuple

from co_tui.context.measure.meter import Meter
from co_tui.lab.engine import ReplayEngine
from co_tui.session.history.next_request import NEXT_PROMPT
from co_tui.session.history.whole_transcript import WholeTranscript
from co_tui.session.lens.request_rows import Fate, Lens
from co_tui.session.lens.snapshot import LensSource, read_lens
from co_tui.session.state.removals import DOES_NOT_FIT
from co_tui.session.tools.archive import archived


class PolicyOutlook(NamedTuple):
    """The next request under one policy."""

    lens: Lens
    compacted_tokens: int | None = None
    """Size of the request after the pending compaction; None if there is none."""

    @property
    def summarised(self) -> int:
        """How many messages the pending compaction replaces; 0 if there is none."""
        return sum(each.judgement.goes_next for each in self.lens.messages) if self.lens.is_compacted_first else 0

    @property
    def smaller(self) -> int:
        """How many tool results are trimmed or archived."""
        fates = (each.judgement.fate for each in self.lens.messages)
        return sum(fate in (Fate.TRIMMED, Fate.ARCHIVED) for fate in fates)

    @property
    def left_out(self) -> int:
        return sum(each.why == DOES_NOT_FIT for each in self.lens.left)


def outlook(source: LensSource, whole_transcript: WholeTranscript | None = None) -> PolicyOutlook:
    """The next request under the source's policy. A pending compaction is run with the offline summariser on a copy of
    the conversation. `whole_transcript` may be shared by all policies."""
    meter = source.meter.copied()
    lens = read_lens(source)
    if not lens.is_compacted_first:
        return PolicyOutlook(lens)
    return PolicyOutlook(lens, asyncio.run(_compacted_tokens(source, meter, whole_transcript)))


async def _compacted_tokens(source: LensSource, meter: Meter, whole_transcript: WholeTranscript | None) -> int:
    engine = ReplayEngine(
        source.policy,
        source.window,
        meter=meter,
        keep=partial(archived, source.parsed),
        initial_state=source.state.but(compacting=None, pending=()),
        parsed=source.parsed,
        whole_transcript=whole_transcript,
    )
    engine.history.scaffold = source.scaffold
    if source.awaits_prompt:
        await engine.add(NEXT_PROMPT, source.state.turn + 1)
    sent = await engine.request()
    if not sent.compactions:  # a background compaction is applied before the next request
        sent = await engine.request()
    prompt = meter.tokens(NEXT_PROMPT) if source.awaits_prompt else 0
    return max(0, round(sent.prepared.reading.current_tokens - prompt))
