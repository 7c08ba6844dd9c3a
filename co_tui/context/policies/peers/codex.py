"""Codex: at 90 % a summary replaces all but the newest of your messages.

When: at 90 % of the window; a setting there only lowers it (openai/codex, auto_compact_token_limit).
Kept: the newest of the user's messages, 20,000 tokens of them (core/src/compact.rs: COMPACT_USER_MESSAGE_MAX_TOKENS).
In smaller windows it is a tenth of the window. The oldest of them is cut there; here it goes into the summary.
Summarised: everything else, an earlier summary with it. The summary comes last there; here it takes the place of the
first message that it replaces. Results that the model has not seen stay here.
"""

from co_tui.context.policy_protocol import Answer, PolicyContext

description = "compacts at 90 %; keeps your newest messages, 20,000 tokens of them"
compacts_at = 0.9
settings = {"summary_form": "marker", "summary_share": 0.1, "tool_output_trim_chars": 0}

USER_TOKENS = 20_000
SHARE = 0.1


def decide(context: PolicyContext) -> Answer:
    if context.fill < compacts_at and not context.asked:
        return None
    room, kept = min(USER_TOKENS, SHARE * context.window_tokens), []
    for index in reversed(context.turns):
        room -= context.messages[index].tokens
        if room < 0:
            break
        kept.append(index)
    return {"keep": kept}
