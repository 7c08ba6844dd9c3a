"""Does a provider's reply mean "the context window is exceeded", and which numbers does it name?

Uses rules about the wording instead of a list of known sentences: providers rephrase them, wrap them in JSON inside
JSON, and send them with almost any status.
"""

from typing import Final, NamedTuple

from co_tui.agent.wire.error_numbers import error_numbers
from co_tui.agent.wire.error_text import any_of, flat, pattern


class Overflow(NamedTuple):
    """The context was too long; with the numbers the reply names."""

    limit_tokens: int | None = None
    requested_tokens: int | None = None


def read(status: int | None, body: str) -> Overflow | None:
    """The overflow a reply reports; None when it means something else. Never raises, and is fast for any body."""
    if status in _OTHER_STATUS:
        return None
    text = flat(body)
    found = Overflow(*error_numbers(text))
    return found if _means_overflow(status, text, found) else None


def _means_overflow(status: int | None, text: str, found: Overflow) -> bool:
    if _is_something_else(status, text):
        return False
    if status == 413 or _NO_BODY.match(text):
        return True
    if found.limit_tokens and found.requested_tokens and _ABOUT_TOKENS.search(text):
        return True  # more was sent than the limit, however worded
    if status in _REFUSED_STATUS and _STATES_LIMIT.search(text):
        return True
    return bool(_SAYS_CODE.search(text) or _SAYS.search(text) or _ADVISES.search(text) or _NO_ROOM.search(text))


def _is_something_else(status: int | None, text: str) -> bool:
    if _LOG_LINE.match(text) or _OTHER.search(text) or _caps_reply(text):
        return True
    if _OTHER_THING.search(text) and "token" not in text:
        return True
    if _BATCH.search(text) and not _OF_CONTEXT.search(text):
        return True
    return status is None and bool(_OWN_CHECK.search(text)) and "context" not in text and "n_ctx" not in text


def _caps_reply(text: str) -> bool:
    """Whether the reply would be too long, not the prompt."""
    if not _REPLY.search(text):
        return False
    if not _PROMPT.search(text):
        return True
    return bool(_REPLY_CAPPED.search(text)) and not _WHOLE_TOO_LONG.search(text)


_OTHER_STATUS: Final = frozenset({401, 402, 403, 404, 407, 408, 409, 429, 499, 502, 503, 504, 529})
"""Statuses that always mean something else: keys, money, rates, absence, gateways."""
_REFUSED_STATUS: Final = frozenset({400, 413, 422})
"""The request was at fault, so a stated limit is the reason."""

# Errors that only sound like it

_OTHER: Final = pattern(
    # Rates and money.
    r"(?:per|a|/)\s?(?:min|minute|hour|day|second|month)\b", r"\btp[mdh]\b", r"\brate[ _-]?limit", "too many requests",
    "throttl", "please (?:wait|slow)", "wait before", "time frame", "quota", "billing", "credit", r"\bafford\b",
    "subscription",
    # Time, size and number.
    "context (?:deadline|cancell?ed)", r"deadline\s?exceeded",
    "too many (?:image|file|tool|message|document|stop|input|page)s",
    r"\d\s?(?:bytes|[kmg]i?b|pixels|characters|chars|seconds)\b", "member must have length", "_above_max_length",
    r"(?:array|string|list) (?:is )?too long", "batch (?:size|of)", r"\bembedding", "stop sequences",
    r"\benqueued",
    # Other parameters, and everything else.
    r"(?:request|tool_calls|cost|tokens)_limit['`]? of",
    "vocabulary", "logit", r"\bcach(?:ing|ed)\b", "prompt_cache", "content[ _](?:filter|management)", "api[ _]key",
    "does not exist", "not found", "internal error comput",
)  # fmt: skip
_OTHER_THING: Final = pattern(
    r"\b(?:image|file|audio|video|upload~|attachment|page|document)s?\b[^.]{0,40}?\b"
    r"(?:size|dimensions?|duration|pages|too|exceed~|larger?|longer)\b"
)
"""An attachment is too large, unless tokens are counted."""
_BATCH: Final = pattern(
    r"\bbatch(?:es)?\b[^.]{0,60}?\b(?:limit|size|capacity|queue|max~|exceed~|too (?:many|large|big))",
    r"\b(?:limit|max~|exceed~|more than|too (?:many|large|big))\b[^.]{0,60}?\bbatch(?:es)?\b",
)
"""A limit on several requests together, or on a server's batches; one request in a batch may still be too long."""
_OF_CONTEXT: Final = pattern(r"\bcontext[ _](?:length|window|size|limit)")
_LOG_LINE: Final = pattern(r"\W{0,4}(?:warn~|info|debug|trace|notice)\b")
_OWN_CHECK: Final = pattern(r"\b(?:value|runtime|assertion|type|index)error\b")
"""A library's own check, not a provider's error, unless it mentions the context."""

# The length of the reply

_REPLY: Final = pattern(
    r"\b(?:output|completion|generat~|response|reply)", r"\bmax_?(?:new_?|output_?|completion_?)?tokens", r"\bmax_gen",
    r"\bper (?:reply|response|completion|answer)", r"\bwrites? at most",
)  # fmt: skip
_PROMPT: Final = pattern(
    "context", r"\bprompt", r"\bn_ctx", r"(?:input|inputs['`]?) (?:tokens?|length|sequence|has|is|exceed|too)",
    r"\bmessages\b", "conversation", "sequence length", "total (?:number of )?tokens", "history",
    "at least 1, got -", r"\binput\b[^.]{0,20}\+",
)  # fmt: skip
_REPLY_CAPPED: Final = pattern(
    r"(?:max~|limit|most|cap)\b[^.\d]{0,30}?\b(?:output|completion|generat~|response)\b(?! (?:and|\+|plus))",
    r"\b(?:output|completion|generation|response) (?:tokens? )?(?:limit|cap|maximum|length)",
    r"max_?(?:output_|completion_|new_)?tokens\b[^.]{0,30}?(?:too (?:large|high|big)|>|exceed|between|less than|range)",
    "valid range of max_",
)  # fmt: skip
_WHOLE_TOO_LONG: Final = pattern(
    r"context[\w\s]{0,20}(?:exceed|limit|length|window)", "exceed[^.]{0,40}context", "reduce the length",
    r"(?:prompt|input|messages) (?:is|was|of|has|contains?) \d",
    r"(?:prompt|input|messages|conversation|total|request)\b[^.]{0,60}?"
    r"(?:exceed|too long|longer|\+|plus|contains|has \d|resulted|requested)",
)  # fmt: skip
"""The prompt counts, too; a cap on the reply alone is a different error."""

# Wording of an overflow

_SENT: Final = any_of(
    "prompts?", "inputs?", "requests?", "conversation", "messages?", "context", "sequence", "history", "chat",
    "dialog~", "transcript", "text", "query",
)  # fmt: skip
_SOMETHING_LONG: Final = any_of("prompt", "input", "conversation", "messages?", "context", "sequence", "history",
                                "transcript", "chat")  # fmt: skip
_WINDOW: Final = any_of(
    "context", "n_ctx", "num_ctx", "tokens?", "length", "window", r"limit\b", r"\bmax\b", "seq_?len~", "maxlen~",
    "max[ _-]?(?:imum|len|seq|ctx|model|pos|input|prompt|tok)~",
    "(?:model|deployment|endpoint) (?:can|accepts?|allows?|supports?|takes?)",
)  # fmt: skip
_TOO_MUCH: Final = any_of(
    "exceed~", "overflow~", r"\bover (?:the|its|our|my|this)", "too (?:long|large|big|many)", "more than", "surpass~",
    "(?:long|larg|great|bigg|high)~ than", "beyond", "above", "past (?:the|what)", "cannot fit", "no longer fits?",
    "not fit", "(?:do|does|did|wo|would|ca)n['’]t fit", "outgr[oe]~", "out of (?:context|room|space)", "no room",
    "(?:limit|maximum) (?:was |is |has been )?(?:reached|hit)", r"(?:hit|reach~) (?:the|its|your|our|a)\b",
)  # fmt: skip
_SAYS_CODE: Final = pattern(
    # context_length_exceeded, exceed_context_size_error, prompt_too_long, tokens_limit_reached …
    r"context\w{0,30}?(?:exceed|overflow|too_?long|too_?large|_full)",
    r"\bexceed~?_(?:context|max_?(?:prompt|input|token|len)|token)",
    r"\b(?:max_)?(?:prompt|input|context|conversation|history|model_max|tokens?)_(?:\w{1,20}_)?"
    r"(?:exceeded|too_long|too_large|limit_reached)\b",
    "context_(?:window|length|size|limit)_~error",
)
_SAYS: Final = pattern(
    rf"\b{_SENT}\b…{_TOO_MUCH}…{_WINDOW}",
    rf"\b(?:context|tokens?|token_limit|n_ctx|sequence|prompt|input|model)\b…"
    rf"(?:length|limit|window|size|count|max~|tokens?|ctx)\b…{_TOO_MUCH}",
    rf"{_TOO_MUCH}…(?:context\b|max~ (?:input|prompt|sequence|token|model|seq|ctx|position)|n_ctx"
    r"|token (?:limit|count)|max_?(?:seq|model|ctx|input|prompt|len)~|tokens\b)",
    rf"\b{_SOMETHING_LONG}\b[^.]{{0,50}}?\btoo (?:long|large|big)\b",
    rf"\btoo (?:long|large|big) a?\s?{_SOMETHING_LONG}\b",
    # Only a comparison.
    rf"\b(?:{_SENT}|tokens?|length|total|size)\b[^.]{{0,60}}?\d\W{{0,3}}(?:tokens?\W{{0,3}})?>=?\W{{0,3}}~\W{{0,3}}\d",
    r"# (?:input |prompt )?tokens?\b…(?:but|while|whereas|only|yet)\b…"
    r"(?:limit|max~|supports?|accepts?|allows?|context|window|at most|up to)\b…\d",
    r"(?:上下文|输入|提示|对话|消息|prompt)[^。]{0,30}?(?:超长|超过|超出|过长|太长)",
)
_ADVISES: Final = pattern(
    r"\b(?:reduce|shorten|trim|truncate|cut|decrease)\b[^.]{0,40}?"
    r"\b(?:length|prompt|messages?|input|conversation|context|history|tokens?|it)\b",
    r"\b(?:shorter|smaller|fewer) (?:or fewer )?(?:prompt|input|message|conversation|context|tokens?)",
    r"\b(?:start|begin|open) (?:a )?(?:new|fresh) (?:chat|conversation|session)",
)
_NO_ROOM: Final = pattern(
    r"max_tokens must be at least 1, got -\d", r"\btokens?['`]? \+ ['`]?max_new_tokens['`]? must be <=",
    "range of input length should be", r"\bmust have less than # tokens", r"n_keep\b.{0,30}?n_ctx",
    r"\bcontext[ _-]shift(?:ing)? (?:(?:is|was|has been) )?(?:disabled|off|not (?:enabled|supported|available))\b",
)  # fmt: skip
"""No room is left for the reply."""
_STATES_LIMIT: Final = pattern(
    r"max~[ _](?:[\w'-]{1,24} ){0,4}?(?:context|prompt|input|sequence|model|token)s?[ _](?:~ )?"
    r"(?:length|window|size|limit|tokens|len)\b\D{0,40}\d\d",
    r"(?:context|token) (?:window|limit|length) (?:[\w'-]{1,24} ){0,6}?(?:is|:|of)\W{0,3}(?:~ )?\d\d",
)
_ABOUT_TOKENS: Final = pattern("token", "context", "prompt", "sequence", r"\bseq\b", "n_ctx", "conversation",
                               "input[ _](?:length|ids|size)")  # fmt: skip
_NO_BODY: Final = pattern(r"4(?:00|13|22) status code \(no body\)$")
