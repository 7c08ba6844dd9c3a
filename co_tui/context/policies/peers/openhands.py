"""OpenHands: above 80 messages a summary replaces the middle, down to 40.

When: above 80 events, or when a request does not fit the window (docs.openhands.dev, "Context Condenser";
OpenHands/software-agent-sdk, LLMSummarizingCondenser, with the default agent's max_size of 80). Its events are calls
and results; messages stand in for them.
Kept: the first 4 (keep_first), and as many of the newest as make half of the size with the summary. A request that
does not fit is halved. Cuts that would part a call from its results move there and here.
Summarised: the middle, an earlier summary with it. Less than a tenth freed is refused, as here.
"""

from co_tui.context.policy_protocol import Answer, PolicyContext

description = "over 80 messages, keeps the first 4 and the newest, 40 in all"
settings = {"summary_form": "marker", "summary_share": 0.1, "tool_output_trim_chars": 0}

MAX_SIZE = 80
KEEP_FIRST = 4


def decide(context: PolicyContext) -> Answer:
    count = len(context.messages)
    if count <= MAX_SIZE and context.fill < 1 and not context.asked:
        return None
    target = min(MAX_SIZE, count) // 2
    newest = max(0, target - KEEP_FIRST - 1)
    return {"summarise": range(KEEP_FIRST, max(KEEP_FIRST, count - newest))}
