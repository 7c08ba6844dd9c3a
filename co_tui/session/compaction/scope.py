"""What a compaction should replace, when it is not the policy that says so."""

from collections.abc import Sequence

from co_tui.context.compact import cuts
from co_tui.context.compact.cuts import Cut
from co_tui.context.compact.decide import frees_enough
from co_tui.context.request.pipeline import Governor, Measured
from co_tui.context.turns import latest_prompt, turn_starts
from co_tui.events import Ref
from co_tui.events.triggers import Trigger
from co_tui.session.state.session_state import Entry


def wished_cut(governor: Governor, measured: Measured, trigger: Trigger) -> Cut | None:
    """What goes on demand: all but the last turn where the policy keeps a tail, else all that was answered."""
    live, pinned = measured.live, measured.pinned
    if trigger.is_emergency:
        situation = governor.situation(measured)
        earlier = (cuts.share_cut(live, trigger, pinned=pinned), cuts.run_cut(live, trigger, pinned))
        worth = (cut for cut in earlier if cut is not None and frees_enough(situation, cut))
        return next(worth, None) or cuts.whole_cut(live, trigger, pinned=pinned)
    if governor.policy.keep_recent_share and len(turn_starts(live)) > 1:
        cut = cuts.whole_cut(live, trigger, upto=latest_prompt(live), pinned=pinned)
        held = sum(governor.meter.tokens(live[index]) for index in cut.replaced) if cut else 0
        if held >= measured.reading.conversation_tokens / 2:
            return cut
    return cuts.whole_cut(live, trigger, pinned=pinned)


def cut_up_to(entries: Sequence[Entry], measured: Measured, trigger: Trigger, upto: Ref) -> Cut | None:
    """All that stands before a message."""
    place = next((n for n, entry in enumerate(entries) if entry.ref == upto), len(entries))
    end = next((n for n, origin in enumerate(measured.origins) if origin == place), len(measured.live))
    return cuts.whole_cut(measured.live, trigger, upto=end, pinned=measured.pinned)
