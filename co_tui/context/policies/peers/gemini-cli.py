"""Gemini CLI: at half of the window a snapshot replaces the oldest 70 %.

When: at 50 % of the window (google-gemini/gemini-cli, chatCompressionService.ts:
DEFAULT_COMPRESSION_TOKEN_THRESHOLD).
Kept: the newest 30 % (COMPRESSION_PRESERVE_THRESHOLD), from the first prompt in them on. Without a prompt there,
everything is summarised if the last message is an answer, else what is before the last prompt: a long turn is never
split. Shares are of characters there, of tokens here.
Cleared: results beyond the newest 50,000 tokens, at least 30,000 at once; 250 characters of both ends stay
(toolOutputMaskingService.ts). It also stores them in files; here they are in the log.
A second request checks the snapshot there; here the summary checks stand in.
"""

from co_tui.context.policy_protocol import Answer, PolicyContext

description = "compacts at half of the window; keeps the newest 30 %, by whole turns"
compacts_at = 0.5
settings = {
    "summary_form": "marker",
    "summary_share": 0.1,
    "tool_output_trim_chars": 0,
    "clear_results_tokens": 50_000,
    "clear_results_step_tokens": 30_000,
    "cleared_result_chars": 500,
}

PRESERVED = 0.3


def decide(context: PolicyContext) -> Answer:
    if context.fill < compacts_at and not context.asked:
        return None
    return {"summarise": range(split(context))}


def split(context: PolicyContext) -> int:
    """The index of the oldest message to keep."""
    tokens = [message.tokens for message in context.messages]
    before, target = 0.0, (1 - PRESERVED) * sum(tokens)
    starts = set(context.turns)
    for index, size in enumerate(tokens):
        if index in starts and before >= target:
            return index
        before += size
    last = context.messages[-1]
    return len(tokens) if last.role == "assistant" and not last.tools else max(starts, default=0)
