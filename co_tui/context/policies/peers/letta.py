"""Letta: at 90 % a summary replaces the oldest 30 % of the messages.

When: at 90 % of the window (letta-ai/letta, constants.py: SUMMARIZATION_TRIGGER_MULTIPLIER).
Summarised: 30 % of the messages, then 10 % more at a time until what stays takes at most 70 % of the window; the cut
is at a message of the assistant (docs.letta.com, "Compaction": sliding_window_percentage = 0.3;
services/summarizer/summarizer_sliding_window.py). If no cut is enough, everything is summarised, as there.
Kept: the rest. Its memory blocks are part of the instructions there and have no counterpart here.
"""

from co_tui.context.policy_protocol import Answer, PolicyContext

description = "compacts at 90 %; summarises the oldest 30 % and keeps the rest"
compacts_at = 0.9
settings = {"summary_form": "marker", "summary_share": 0.1, "tool_output_trim_chars": 0}

EVICTED = 30
STEP = 10
"""In percent of the messages."""
KEPT = 0.7
"""Of the window."""


def decide(context: PolicyContext) -> Answer:
    if context.fill < compacts_at and not context.asked:
        return None
    count = len(context.messages)
    for percent in range(EVICTED, 100, STEP):
        cut = last_reply(context, round(percent / 100 * count))
        left = sum(message.tokens for message in context.messages[cut:])
        if cut > 0 and context.fixed_tokens + left <= KEPT * context.window_tokens:
            return {"summarise": range(cut)}
    return {"summarise": range(count)}


def last_reply(context: PolicyContext, upto: int) -> int:
    """The index of the last message of the assistant up to an index; 0 without one."""
    for index in range(min(upto, len(context.messages) - 1), 0, -1):
        if context.messages[index].role == "assistant":
            return index
    return 0
