"""What a compaction should replace, when it is not the policy that says so."""

from co_tui.context import cuts
from co_tui.context.cuts import Cut
from co_tui.context.decide import frees_enough
from co_tui.context.request import Measured
from co_tui.context.turns import latest_prompt, turn_starts
from co_tui.events import Ref
from co_tui.session.runtime import Runtime

EMERGENCIES = frozenset({"context_limit", "memory_pressure"})
"""Triggers in the middle of a turn: its prompt and its last step stay, if that is enough."""
FIXED_PART_SHARE = 0.85
"""Of the window: when what no compaction can touch takes this much, compacting does not help."""


def wished_cut(runtime: Runtime, measured: Measured, trigger: str, upto: Ref | None) -> Cut | None:
    """What goes on demand: all up to a message, or all but the last turn where the policy keeps a tail."""
    live, pinned = measured.live, measured.pinned
    if upto is not None:
        history = runtime.state.history
        place = next((n for n, entry in enumerate(history) if entry.ref == upto), len(history))
        end = next((n for n, origin in enumerate(measured.origins) if origin == place), len(live))
        return cuts.whole_cut(live, trigger, upto=end, pinned=pinned)
    if trigger in EMERGENCIES:
        situation = runtime.governor.situation(measured)
        earlier = (cuts.share_cut(live, trigger, pinned=pinned), cuts.run_cut(live, trigger, pinned))
        worth = (cut for cut in earlier if cut is not None and frees_enough(situation, cut))
        return next(worth, None) or cuts.whole_cut(live, trigger, pinned=pinned)
    if runtime.settings.keep_recent_share and len(turn_starts(live)) > 1:
        cut = cuts.whole_cut(live, trigger, upto=latest_prompt(live), pinned=pinned)
        held = sum(runtime.governor.meter.tokens(live[index]) for index in cut.replaced) if cut else 0
        if held >= measured.reading.conversation_tokens / 2:
            return cut
    return cuts.whole_cut(live, trigger, pinned=pinned)


def is_fixed(runtime: Runtime, measured: Measured) -> bool:
    """Whether what no compaction can touch nearly fills the window: then compacting again and again is no help."""
    reading = measured.reading
    pinned = sum(runtime.governor.meter.tokens(measured.live[index]) for index in measured.pinned)
    fixed = reading.system_tokens + reading.tool_definition_tokens + pinned
    return fixed >= FIXED_PART_SHARE * reading.window.tokens
