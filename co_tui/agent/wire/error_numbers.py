"""Find the limit and the sent tokens among the numbers in an error. Pure.

Each number is classified by the words around it, up to the neighbouring numbers and within its sentence: a comparison
with the next number, a name right after it, else the nearest word before it that marks a limit or a count.
"""

import re
from typing import Final, Literal, NamedTuple

from co_tui.agent.wire.error_text import any_of, pattern, phrase

SMALLEST_LIMIT: Final = 10
LARGEST_LIMIT: Final = 50_000_000
"""Limits outside this range are codes, other counts or mistakes, and are ignored."""
REACH_CHARS: Final = 90
"""Words further away from a number do not describe it."""

WINDOW_STEP: Final = 256
SMALLEST_WINDOW: Final = 2_048
ROUND_WINDOW: Final = 16_000
"""Windows are multiples of 256 tokens, or large round thousands; error codes hardly ever are."""

Role = Literal["limit", "bracketed", "sent", "reply", "tokens", ""]
"""`tokens` is a count of unknown tokens. `bracketed` is a number alone in brackets after a word for a limit: as often
an error code as the limit itself."""

_NUMBER: Final = re.compile(r"(?<![\w.#/-])(\d{2,12})(?:\.0)?(?![\w/]|\.\d|-(?!tokens?\b)|\s?%)")
_SENTENCE_END: Final = re.compile(r"(?<!\bmax)(?<!\bmin)\.\s|\s\.|;\s|!\s|\?\s|…")

_GAP: Final = r"(?!\s[-–—]\s)[\s)\]'`-]{0,4}"
_UNIT: Final = phrase(rf"{_GAP}(?:(?:input|prompt|total|context|text) )?(?:tokens?\b)?(?: long)?[ )\],'`]{{0,4}}")
_THAN: Final = phrase("(?:long|great|larg|bigg|high|more)~ than")
_OF: Final = phrase("(?:out )?of (?:[a-z]{1,20} ){0,3}")

# After a number

_COMPARED: Final = pattern(
    rf"^{_UNIT}>", rf"^{_UNIT}{_OF}\d", rf"^{_UNIT}(?:vs\.? |versus )",
    rf"^{_UNIT}(?:(?:which|that|and|so|it|is|are|was|were|has|would|will) ){{0,4}}"
    rf"(?:exceed|{_THAN}|too (?:long|large|many|big)|over\b|above\b|beyond\b|surpass|cannot exceed|does not fit)",
)  # fmt: skip
"""A comparison follows, so the number is what was sent."""
_CALLED_LIMIT: Final = pattern(
    rf"^{_GAP}(?:(?:-?tokens?|input|prompt) ){{0,3}}"
    r"(?:max\b|maximum|limit|allowed|permitted|supported|or (?:less|fewer)"
    r"|(?:is|are) the (?:most|max~|limit|largest|upper)|context|token limit|at most|window|cap\b)"
)
_CALLED_SENT: Final = pattern(
    rf"^{_GAP}(?:input |prompt )?(?:tokens? )?"
    r"(?:(?:were|was|are) (?:sent|given|provided|requested|received|supplied|found|in)"
    r"|in (?:the|your) (?:prompt|messages|input|request)|given|provided|requested|received|sent|of text)"
)
_CALLED_REPLY: Final = pattern(
    rf"^{_GAP}(?:tokens? )?(?:in|for|of) (?:the |your )?(?:completion|output|reply|response|generat)",
    rf"^{_GAP}(?:output|completion|generated|new|response|reply)\b", rf"^{_GAP}['`]?max_(?:new_)?tokens",
)  # fmt: skip
_CALLED_TOKENS: Final = pattern(r"^[ )]{0,3}tokens?\b")
_ADDED: Final = pattern(rf"^{_UNIT}\+")
_OTHER_UNIT: Final = pattern(
    r"^\s?(?:input |prompt )?(?:ms|s|sec~|min~|hours?|days?|bytes|[kmg]i?b|chars?|characters|pixels|usd|images?|tools"
    r"|files|times|requests|bad request|unprocessable|request entity|payload)\b"
)

# Before a number

_COUNTS: Final = any_of(
    r"re\s?quested", "resulted", "contain~", "has", "have", "had", "sent", "got", "given", "receiv~", "actual~",
    "provided", "passed", "used", "uses", "found", "needs?", "totall?ing", "adds? up to", "com(?:es?|ing) to",
    "came to", "amounts? to",
)  # fmt: skip
_BOUNDS: Final = any_of(
    r"\bexceed~(?! by)", rf"\b{_THAN}", r"\bover", r"\babove", r"\bbeyond", r"\bsurpass~", r"\bpast", r"\bat most",
    r"\bup to", r"\bmust", r"\bshould", r"\bless than", r"\bfewer than", r"\bunder", r"\bbelow", r"\bwithin",
    r"\bfits?", r"\bonly", r"\bcan (?:take|read|hold|handle)", r"\bavailable", r"\bcapacity", r"\bcapped",
    r"\bexpected", r"\bsupports?", r"\baccepts?", r"\ballow~", r"\bhandles?", r"\btakes?", r"\bmax~", r"\blimit~",
    r"\bwindow",
    r"\bn_ctx~", r"\bnum_ctx", r"\bctx", r"\bseq_len~", r"\b(?:context|sequence|model)[ _](?:size|len~)", "[<>]=?",
    "最大", "上限", "限制", "超过", "超出",
)  # fmt: skip
_LIMIT_BEFORE: Final = pattern(
    # Following words belong to it: "limit for this deployment is", "maximum supported prompt length".
    rf"{_BOUNDS}(?: (?!(?:{_COUNTS}|your|but|however|while|whereas|and|too)\b)[a-z_'`][\w'`./-]{{0,30}}){{0,8}}"
)
_SENT_BEFORE: Final = pattern(
    rf"\b{_COUNTS}", r"\bcurrent length", r"\btoo (?:long|large|many|big)", r"\bcounts?", r"\bn_keep", r"\bn_tokens",
    r"\b(?:n_prompt|prompt|input|requested)_tokens", r"\blength", r"\bsize", r"\btotals?",
    r"\b(?:prompt|input|request|messages?|conversation|text|sequence|history)s?(?: (?:is|was|of|length|tokens?))?",
)  # fmt: skip
_REPLY_BEFORE: Final = pattern(
    r"(?:max_?(?:new_|output_|completion_)?tokens|maxoutputtokens|max_gen~|completion|output|generat~|reply|response)"
    r"(?: (?:tokens?|length|limit|of|is|value)){0,4}\W{0,4}$"
)
_TOGETHER: Final = pattern(r"\b(?:inputs?|prompt|total)\b.*?(?:\band\b|\+|\bplus\b)")
"""The reply's room is counted with the prompt."""
_OF_BEFORE: Final = pattern(rf"^[ )]{{0,3}}(?:tokens? )?{_OF}$", r"^[ )]{0,3}(?:vs\.?|versus) $")
"""Between two numbers, as in `5000 of 4096`."""
_NOT_A_COUNT: Final = pattern(
    r"(?:status|code|http|errno|error|line|port|version|retry|after|id|seed|exceed~ by|over by|by)[\s:=(_'`]{0,3}"
    r"(?:(?:code|number|no\.?|is|was)[\s:=('`]{0,3}){0,2}$"
)
_NUMBERED: Final = pattern(r"\brequest (?:no\.? )?$")
"""The number of a request, unless `tokens` follows."""
_OPENS_BRACKET: Final = pattern(r"[(\[（【]\s?$")
_CLOSES_BRACKET: Final = pattern(r"^\s?[)\]）】]")

# Both together

_SUMS: Final = tuple(
    pattern(each)
    for each in (
        r"(\d{1,12})\s?\+\s?(\d{1,12})\s?(?:=\s?#\s?)?>=?\s?\d",
        r"(\d{1,12})\s?\+\s?(\d{1,12})\)? (?:tokens )?(?:exceed|is |are )",
        r"has (\d{1,12}) input tokens plus (\d{1,12})",
        r"requested (\d{1,12}) output tokens and .{0,30}?(\d{1,12}) input tokens",
        r"given:? (\d{1,12}) ['`]?inputs['`]? tokens and (\d{1,12})",
        r"(\d{1,12}) (?:input|prompt) tokens (?:\+|plus|and) (?:requested )?(\d{1,12}) "
        r"(?:output|completion|max_tokens|new|requested)",
        r"(?:prompt|input) of (\d{1,12}) tokens (?:\+|plus|and) (\d{1,12})",
    )
)
"""The requested tokens in two parts: the prompt and the room for its reply."""
_RANGE: Final = pattern(r"(?:length|tokens?) should be \[#,\s?(\d{2,12})\]")


class ErrorNumbers(NamedTuple):
    """The numbers an error names."""

    limit_tokens: int | None = None
    sent_tokens: int | None = None


def error_numbers(text: str) -> ErrorNumbers:
    """The limit and the sent tokens, as far as a flat text names them; nothing is guessed."""
    if found := _RANGE.search(text):
        return _plausible(int(found[1]), None)
    roles = _roles(text)
    limits = [value for value, role in roles if role == "limit"]
    sent = _sum(text) or next((value for value, role in roles if role == "sent"), None)
    if sent is None and len(set(limits)) == 2:
        # "Context length exceeded: 5001 tokens, maximum 4096": the larger one is over the limit.
        return _plausible(min(limits), max(limits))
    limit = limits[0] if limits else _bracketed_limit(roles, sent)
    if limit is not None and sent is None:
        sent = next((value for value, role in roles if role == "tokens" and value > limit), None)
    return _plausible(limit, sent)


def _bracketed_limit(roles: list[tuple[int, Role]], sent: int | None) -> int | None:
    """A number alone in brackets is a limit if more was sent, or if it is a usual window size."""
    for value, role in roles:
        if role == "bracketed" and (_is_window_size(value) if sent is None else value < sent):
            return value
    return None


def _is_window_size(tokens: int) -> bool:
    if tokens % WINDOW_STEP == 0:
        return tokens >= SMALLEST_WINDOW
    return tokens % 1_000 == 0 and tokens >= ROUND_WINDOW


def _plausible(limit: int | None, sent: int | None) -> ErrorNumbers:
    if limit is not None and (not SMALLEST_LIMIT <= limit <= LARGEST_LIMIT or limit == sent):
        limit = None
    if limit is not None and sent is not None and sent < limit:
        # The total is within the limit: the number counts only part of the request, or the limit is another one.
        sent = None
    return ErrorNumbers(limit, sent)


def _sum(text: str) -> int | None:
    for each in _SUMS:
        if found := each.search(text):
            return int(found[1]) + int(found[2])
    return None


def _roles(text: str) -> list[tuple[int, Role]]:
    numbers = list(_NUMBER.finditer(text))
    found: list[tuple[int, Role]] = []
    for index, number in enumerate(numbers):
        start = numbers[index - 1].end() if index else 0
        stop = numbers[index + 1].start() + 1 if index + 1 < len(numbers) else len(text)
        before = _last_sentence(text[max(start, number.start() - REACH_CHARS) : number.start()])
        after = text[number.end() : min(stop, number.end() + REACH_CHARS)]
        role = _role(before, after)
        is_bracketed = _OPENS_BRACKET.search(before) and _CLOSES_BRACKET.search(after)
        found.append((int(number[1]), "bracketed" if role == "limit" and is_bracketed else role))
    return found


def _role(before: str, after: str) -> Role:
    if _NOT_A_COUNT.search(before) or _OTHER_UNIT.search(after):
        return ""
    if _NUMBERED.search(before) and not _CALLED_TOKENS.search(after):
        return ""
    if _ADDED.search(after) or before.rstrip().endswith("+"):
        return "" if not _COMPARED.search(after) else "sent"
    if _CALLED_REPLY.search(after) or (_REPLY_BEFORE.search(before) and not _TOGETHER.search(before)):
        return "reply"
    if _COMPARED.search(after):
        return "sent"
    if _CALLED_LIMIT.search(after):
        return "limit"
    if _CALLED_SENT.search(after):
        return "sent"
    if _OF_BEFORE.search(before):
        return "limit"
    limit, sent = _nearest(_LIMIT_BEFORE, before), _nearest(_SENT_BEFORE, before)
    if limit < 0 and sent < 0:
        return "tokens" if _CALLED_TOKENS.search(after) else ""
    return "limit" if limit >= sent else "sent"


def _nearest(words: re.Pattern[str], before: str) -> int:
    """The end of the last match; -1 without any."""
    return max((found.end() for found in words.finditer(before)), default=-1)


def _last_sentence(text: str) -> str:
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    return text[ends[-1] :] if ends else text
