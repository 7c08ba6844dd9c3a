"""Cline: at 81 % a summary replaces what is before the newest 20,000 tokens and the current turn.

When: at 90 % of the input limit, which is 90 % of the window if only that is known (cline/cline,
sdk/packages/core/src/extensions/context/compaction-shared.ts: COMPACTION_TRIGGER_RATIO, CONTEXT_WINDOW_INPUT_RATIO).
Kept: the newest 20,000 tokens (DEFAULT_PRESERVE_RECENT_TOKENS), and always everything since the last prompt. In
smaller windows it is a tenth of the window. If that turn alone is too long, it is cut without a model; here it is
truncated.
Summarised: the rest, an earlier summary with it; files read and changed are listed after it there.
"""

from co_tui.context.policy_protocol import Answer, PolicyContext

description = "compacts at 81 %; keeps the newest 20,000 tokens and the current turn"
compacts_at = 0.81
settings = {"summary_form": "marker", "summary_share": 0.1, "tool_output_trim_chars": 0}

RECENT_TOKENS = 20_000
SHARE = 0.1


def decide(context: PolicyContext) -> Answer:
    if context.fill < compacts_at and not context.asked:
        return None
    start = context.newest(min(RECENT_TOKENS, SHARE * context.window_tokens))
    return {"summarise": range(min([start, *context.turns[-1:]]))}
