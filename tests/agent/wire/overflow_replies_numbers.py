# ruff: noqa: E501 - replies are quoted as they come
"""Refusals with numbers that are no limit, limits that are not the context's, and two wordings seen late.

All were written before the rules. `TUNED` and `TUNED_OTHER` were in view while the rules were made; of `UNSEEN` and
`UNSEEN_OTHER` 18 of 20 were read right at first, and the rules were then mended for the other two ("a number of a
code", "parentheses with a unit, 2"): none of them measures anything any more.
"""

from tests.agent.wire.overflow_replies import Case, error

TUNED = [
    Case(
        "a code in parentheses",
        400,
        error("invalid params, context window exceeds limit (2013)", type="bad_request_error", http_code="400"),
    ),
    Case("a code in brackets first", 400, "[2013] context window exceeds limit"),
    Case("a code in parentheses first", 400, "(1261) context length exceeded"),
    Case("a code after a comma", 400, error("Prompt exceeds max length, code 1261")),
    Case("a code and what it means", 400, error("context token limit exceeded (error code: 1039)")),
    Case("a named code", 400, '{"base_resp":{"status_code":1039,"status_msg":"context window exceeds limit"}}'),
    Case("code is", 400, error("The context window limit was exceeded; the code is 20015.")),
    Case("parentheses with a unit", 400, error("Prompt exceeds the context limit (8200 tokens)."), 8200),
    Case(
        "parentheses and what was sent", 400, error("The prompt of 9001 tokens exceeds the limit (8200)."), 8200, 9001
    ),
    Case("parentheses around a window", 400, error("Prompt exceeds the context window (131072)"), 131072),
    Case("context shift", 500, error("context shift is disabled", code=500, type="server_error")),
    Case(
        "a dash before what was received",
        400,
        '{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4400. Try a shorter prompt."}',
        4081,
        4400,
    ),
]
TUNED_OTHER = [
    Case(
        "enqueued tokens",
        400,
        error(
            "Enqueued token limit reached for gpt-4o in organization org-x. Limit: 90,000 enqueued tokens. Please try again once some in_progress batches have been completed.",
            code="token_limit_exceeded",
        ),
    ),
    Case("a batch's tokens", 400, error("The batch exceeds the token limit of 2,000,000 tokens.")),
    Case("a batch's capacity", 500, "Generation error: prompt token count (3784) exceeds batch capacity (2048)"),
    Case("requests in a batch", 400, error("Batch too large: 60000 requests exceed the maximum of 50000")),
]
UNSEEN = [
    Case("a code in parentheses, 2", 400, error("Input exceeds the model's maximum length (1214)")),
    Case("a code in parentheses, 3", 400, error("conversation too long: token limit exceeded (4013)")),
    Case("a code in full-width parentheses", 400, error("输入超过上下文上限（1261）")),
    Case("a code in brackets last", 422, "prompt is longer than the context window allows [40312]"),
    Case("a code with an equals sign", 400, "context length exceeded, limit reached, errcode=336103"),
    Case("a number of a code", 400, error("Context window limit exceeded. Error number 3003, request 77120.")),
    Case("a code and a limit", 400, error("Context limit exceeded (2013): at most 196608 tokens, got 201000 tokens."), 196608, 201000),
    Case("a code as text in JSON", 400, '{"code":"11210","message":"context window exceeds limit (11210)"}'),
    Case("parentheses with a unit, 2", 400, "input too long for the window (max. 16,100 tokens)", 16100),
    Case("two numbers in parentheses", 400, error("Prompt tokens (5123) exceed the limit (4100)"), 4100, 5123),
    Case("context shift, 2", 500, '{"error":{"message":"Context shift disabled: the slot has no room left","type":"server_error"}}'),
    Case("context shift, 3", None, "llama-server: context-shift is not enabled"),
    Case("a dash, 2", 400, error("The number of input tokens cannot exceed 32000 - received 40123"), 32000, 40123),
    Case("a long dash", 400, error("The prompt's tokens cannot exceed 8000 — received 8812."), 8000, 8812),
    Case("a context in a batch", 400, error("Line 3 of the batch: this model's maximum context length is 8192 tokens, but 9000 tokens were sent."), 8192, 9000),
]  # fmt: skip
UNSEEN_OTHER = [
    Case(
        "enqueued prompt tokens",
        400,
        error("You have reached the maximum of 5,000,000 enqueued prompt tokens for this model."),
    ),
    Case("too many tokens queued in batches", 400, error("Too many tokens in queued batches: 1200000 > 1000000")),
    Case("a batch limit", 400, error("Batch token limit exceeded: limit 100000, requested 120000")),
    Case("tokens in a batch", 413, error("This batch has 300000 tokens, the maximum for a batch is 250000.")),
    Case(
        "a micro-batch",
        500,
        error("input (700 tokens) is too large to process. increase the physical batch size (current batch size: 512)"),
    ),
]
