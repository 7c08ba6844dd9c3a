"""Does a provider's reply mean "the context window is exceeded", and which numbers does it name?

Works on rules about how such replies are worded, not on a list of known sentences: providers rephrase them,
wrap them in JSON inside JSON, and send them with almost any status.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

SMALLEST_LIMIT: Final = 64
LARGEST_LIMIT: Final = 50_000_000
"""Limits outside of this are codes, counts of something else or mistakes, and are never adopted."""


class Overflow(NamedTuple):
    """The context was too long; the figures as far as the reply names them."""

    limit_tokens: int | None = None
    requested_tokens: int | None = None


def read(status: int | None, body: str) -> Overflow | None:
    """None when the reply means something else."""
    text = _flat(body)
    if status in _OTHER_STATUS or _OTHER.search(text):
        return None
    if not _says_so(status, text):
        return None
    requested = _requested(text)
    limit = _first(_LIMITS, text)
    if limit is not None and (not SMALLEST_LIMIT <= limit <= LARGEST_LIMIT or limit == requested):
        limit = None
    if limit is not None and requested is not None and requested < limit:
        # The total was not over: the number counts only a part of the request, or the limit is another's.
        requested = None
    return Overflow(limit, requested)


_OTHER_STATUS: Final = frozenset({401, 402, 403, 404, 407, 408, 409, 429, 499, 502, 503, 504, 529})
"""Statuses that always mean something else: keys, money, rates, absence, gateways."""

_OTHER: Final = re.compile(
    r"""
      per \s (?:min|minute|hour|day|second)\b | \btp[md]\b | \brate[\s_-]*limit | too \s many \s requests
    | time \s frame | quota | billing | credit | \bafford\b
    | context \s (?:deadline|cancell?ed) | deadline \s exceeded
    | (?:supports? | allows?) \s at \s most \s \d+ \s (?:completion|output) \s tokens
    | max_(?:completion_|output_)?tokens \s is \s too \s (?:large|high) | valid \s range \s of \s max_
    | \d \s? (?:bytes|[kmg]i?b|pixels|characters|chars)\b | image \s dimensions | member \s must \s have \s length
    | content[\s_] (?:filter|management) | api[\s_]key | (?:does \s not \s exist | not \s found)
    | internal \s error | ^warn
    """,
    re.VERBOSE,
)
"""Look-alikes: limits of rate, money, output or size in bytes, and time-outs that speak of a "context"."""

_TOO_MUCH: Final = (
    r"(?:exceed\w*|over(?:flow\w*|\sthe)|too\s(?:long|large|big|many)|longer\sthan|larger\sthan|greater\sthan|"
    r"surpass\w*|beyond|above)"
)
_WINDOW: Final = (
    r"(?:context(?:[\s_]?(?:length|window|size|limit))?|(?:max(?:imum)?[\s_])?(?:prompt|input|sequence|model|token|message)s?"
    r"[\s_](?:length|limit|tokens?|size|count)|maximum\s(?:length|number\sof\s(?:input\s)?tokens)|n_ctx|token\s(?:limit|count))"
)
_SAYS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # As a code: context_length_exceeded, exceed_context_size_error, model_context_window_exceeded …
        r"\b\w*context\w*(?:exceed|overflow|too_long|too_large)\w*",
        r"\bexceed\w*_context\w*",
        r"\bmax_(?:prompt|input|context)\w*_exceeded|\bmodel_max_\w+_exceeded",
        # In words, either way round.
        rf"{_WINDOW}[^.]{{0,120}}?{_TOO_MUCH}",
        rf"{_TOO_MUCH}[^.]{{0,120}}?{_WINDOW}",
        r"(?:prompt|input|request|conversation|messages?)[^.]{0,40}?\btoo\s(?:long|large|big)\b[^.]{0,60}?(?:token|context|maximum)",
        r"(?:total\s)?length\sof\s(?:all\s)?(?:the\s)?messages\sis\stoo\slong",
        r"\btokens?\s?>\s?\d+\smax",
        # The limit stated, and a request to send less or what was sent.
        r"(?:maximum|max)[\s_](?:context|prompt|input|sequence|model)[\s_](?:length|window|size|tokens)\b.{0,200}?"
        r"(?:however|reduce|requested|resulted|contains|your\s(?:prompt|request|messages))",
        r"(?:reduce|shorten)\sthe\slength\sof\s(?:the\s|your\s)?(?:messages|prompt|input)",
        r"has\s\d+\s(?:input\s)?tokens.{0,60}?context\s(?:size|length|window)",
        r"tokens?`?\s\+\s`?max_new_tokens`?\smust\sbe\s<=",
        r"range\sof\sinput\slength\sshould\sbe",
        r"max(?:imum)?[\s_]length\sexceeded",
        # A negative room for the reply: the prompt has taken all of the window.
        r"max_tokens\smust\sbe\sat\sleast\s1,\sgot\s-\d+",
        r"n_keep\b.{0,30}?n_ctx",
        r"input\sis\stoo\slong\sfor\s(?:the\s)?requested\smodel",
        r"too\smany\s(?:input\s|prompt\s)?tokens|tokens\sin\sthe\sprompt\scannot\sexceed",
        r"must\shave\sless\sthan\s\d+\stokens",
    )
)
_EMPTY: Final = re.compile(r"^4(?:00|13|22)\sstatus\scode\s\(no\sbody\)$")
_NAMES_CONTEXT: Final = re.compile(r"context|n_ctx")


def _says_so(status: int | None, text: str) -> bool:
    if status is None and not _NAMES_CONTEXT.search(text):
        return False  # a library's own check or a log line, not a provider
    if status == 413 or _EMPTY.match(text):
        return True
    return any(pattern.search(text) for pattern in _SAYS)


_N: Final = r"\(?\[?~?(\d{2,12})"
_LIMITS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\d\s\+\s\d+\s>\s{_N}",
        rf"\bn_ctx\b\W{{0,6}}{_N}",
        rf"(?:maximum|max|model'?s)\s(?:context|prompt|input|sequence)\s(?:length|window|size)(?:\sis|\sof|:)?\s?{_N}",
        rf"\bwith\s{_N}\smaximum\scontext",
        rf"tokens?\s?>\s?{_N}\smax",
        rf"maximum\snumber\sof\s(?:input\s)?tokens\sallowed\s?{_N}",
        rf"(?:context|configured|token|model|input|prompt)\s(?:size|limit|length|window)\s?(?:is|of|:)?\s?{_N}",
        rf"(?:limit|maximum|max\slength|max\ssize)\s?(?:is|of|:|was)\s?{_N}",
        rf"(?:must\sbe\s<=|cannot\sexceed|less\sthan|maximum\smodel\slength\sof)\s?{_N}",
        r"length\sshould\sbe\s\[\d+,\s?(\d{2,12})",
        rf"context\s(?:length|window|size)\s{_N}",
        rf"(?:supports?|allows?|accepts?)\s(?:up\sto|at\smost|a\smaximum\sof)\s{_N}\s(?:input\s|prompt\s|context\s)?tokens",
        rf"\b{_N}\s?(?:tokens?\s)?(?:maximum|context\slimit|token\slimit)",
    )
)
_SUMS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"(\d+)\s\+\s(\d+)\s>\s\d+",
        r"has\s(\d+)\sinput\stokens\splus\s(\d+)",
        rf"requested\s{_N}\soutput\stokens\sand\s.{{0,30}}?(?:at\sleast\s)?(\d+)\sinput\stokens",
        rf"given:?\s{_N}\s`?inputs`?\stokens\sand\s(\d+)",
    )
)
"""What was asked for in two parts: the prompt and the room for its reply."""
_REQUESTED: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\bn_prompt_tokens\b\W{{0,4}}{_N}",
        rf"resulted\sin\s{_N}",
        rf"re\s?quested:?\s(?:about\s)?{_N}",
        rf"{_N}\stokens?\s?>\s?\d",
        rf"(?:token\scount|input\slength|current\slength|given|received)\s?(?:of|is|was|:)?\s?{_N}",
        rf"(?:contains|has|have|sent|got)\s(?:at\sleast\s|about\s)?{_N}\s(?:input\s|prompt\s)?tokens",
        rf"prompt\s\(length\s{_N}",
        rf"too\slong:\s{_N}",
        rf"(?:input|prompt|request|messages)\s{_N}\stokens",
        rf"n_keep\W{{0,3}}{_N}",
        rf"\b{_N}\s(?:input\s|prompt\s)?tokens\s(?:were|was|in\sthe)",
    )
)


def _requested(text: str) -> int | None:
    for pattern in _SUMS:
        if found := pattern.search(text):
            return int(found[1]) + int(found[2])
    return _first(_REQUESTED, text)


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in patterns:
        if found := pattern.search(text):
            return int(found[1])
    return None


_COMMA: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_SPACE: Final = re.compile(r"\s+")
MAX_BODY_CHARS: Final = 20_000


def _flat(body: str) -> str:
    """All words of a reply on one line, lower case, without the JSON around them; thousands without commas."""
    body = body[:MAX_BODY_CHARS]
    words = " . ".join(_strings(body))
    return _COMMA.sub("", _SPACE.sub(" ", words.lower())).strip()


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts in a value, also in JSON that is itself inside a text; numbers with the name they have."""
    if depth > 6:
        return
    if isinstance(value, str):
        parsed = _parsed(value)
        if isinstance(parsed, dict | list):
            yield from _strings(parsed, depth + 1)
        else:
            yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, int | float) and not isinstance(item, bool):
                yield f"{key}: {item}"
            else:
                yield from _strings(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, depth + 1)


def _parsed(text: str) -> Any:
    stripped = text.strip()
    if stripped[:1] in "{[":
        try:
            return json.loads(stripped)
        except ValueError:
            return None
    return None
