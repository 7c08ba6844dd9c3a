"""What the user said and a compaction keeps: standing rules and clipped quotes (C5, C16).

They are also stored in the metadata of the replacing message, so that the next compaction copies them instead of
summarising them again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.context.compact.own_words import (
    cut_after_sentence,
    cut_before_sentence,
    instructs,
    is_standing,
    sentences_of,
    without_envelopes,
    without_pasted,
)
from co_tui.context.indexed_history import EARLIER, is_prompt
from co_tui.context.journal.conclusions import last_question
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.text_calls import calls_in_text, is_observation
from co_tui.events.content import content_text, typed_text
from co_tui.events.refusals import DENIED, read_refusal
from co_tui.events.stored_messages import QUOTES, RECOLLECTED, RULES, SUMMARY, UNQUOTED, typed_command
from co_tui.events.tool_calls import COMMAND_TOOLS, LABEL_CHARS, PRESENT_PLAN, gist_of_call, objects_in
from co_tui.events.wording import counted
from co_tui.inert import one_line

QUOTE_CHARS: Final = 600
"""Maximum length of a quoted user message."""
FIRST_QUOTE_CHARS: Final = 6_000
"""Of the first one, which often has the task."""
QUOTE_END_CHARS: Final = 200
"""Of these, for its end: what is asked often comes after what was pasted."""
SHORT_CHARS: Final = 80
"""A message that is no longer may be the answer to a question of the model."""
RULES_A_MESSAGE: Final = 6
RULES_SHARE: Final = 0.4
"""Of the room: for standing rules; the rest is for quotes."""
FIRST_SHARE: Final = 0.5
"""Of the room for quotes: a first message that takes more, and more than the others leave, is cut like them."""
LINE_CHARS: Final = 220
_COMMAND: Final = re.compile(r"/[\w-]*")
"""A command to the program, which says nothing by itself."""
ASK_USER: Final = "ask_user_question"
ASKED_CHARS: Final = 160


class UserMessages(NamedTuple):
    """What the user wrote, oldest first: prompts, reasons of denials, and answers to the model's questions."""

    rules: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    unsaid: int = 0
    """How many user messages are not quoted; the transcript has them."""

    def as_metadata(self) -> dict[str, Any]:
        return {RULES: list(self.rules), QUOTES: list(self.said), UNQUOTED: self.unsaid}


class UserAnswer(NamedTuple):
    """One answer of the user."""

    about: str
    """What it answers, as the beginning of a line; it cannot be mistaken for the user's words."""
    words: str
    is_reason: bool = False
    """Whether it says why a call was denied."""

    @property
    def line(self) -> str:
        return f"{self.about}: {self.words}"


def user_messages_in(replaced: Iterable[ModelMessage]) -> UserMessages:
    """All rules and quotes in the messages, including those kept by earlier compactions."""
    rules: dict[str, None] = {}
    said: list[str] = []
    unsaid = 0
    calls: dict[str, ToolCallPart] = {}
    question, is_observed = "", False
    for message in replaced:
        if isinstance(message, ModelResponse):
            calls, text = _calls_in(message), message.text or ""
            question, is_observed = "" if calls else last_question(text), not calls and bool(calls_in_text(text))
            continue
        earlier = message.metadata or {}
        is_observed = is_observed or QUOTES in earlier  # the call may be among what was replaced before
        rules.update(dict.fromkeys(earlier.get(RULES, ())))
        said.extend(earlier.get(QUOTES, ()))
        unsaid += earlier.get(UNQUOTED, 0)
        for answer in _answers_in(message, calls):
            rules.update(dict.fromkeys(_rules_in(answer.words) if answer.is_reason else ()))
            said.append(clipped(answer.line))
        if is_prompt(message):
            typed = typed_command(message.metadata)
            texts = (each for each in _texts(message) if not (is_observed and is_observation(each)))
            text = "\n".join(texts).strip() if typed is None else typed.text.strip()
            if typed is None and _COMMAND.fullmatch(text) and not question:
                continue
            rules.update(dict.fromkeys(_rules_in(text)))
            if text and question and len(text) <= SHORT_CHARS:
                said.append(_answer_to(question, clipped(text)).line)
            elif text:
                said.append(clipped(text, QUOTE_CHARS if said else FIRST_QUOTE_CHARS))
            question, is_observed = "" if text else question, False
    return UserMessages(tuple(rules), tuple(said), unsaid)


def rules_in(texts: Iterable[str]) -> tuple[str, ...]:
    """The standing rules in user messages, each once."""
    return tuple(dict.fromkeys(rule for text in texts for rule in _rules_in(text)))


def earlier_summary(messages: Iterable[ModelMessage], *, user_words: bool = False) -> str:
    """The summaries among the messages, oldest first: to be updated, not summarised again.

    With `user_words` also the quotes kept with them, for forms without a section for quotes.
    """
    found: list[str] = []
    for message in messages:
        metadata = (message.metadata or {}) if isinstance(message, ModelRequest) else {}
        if summary := metadata.get(SUMMARY):
            found.append(summary)
        if user_words:
            text = as_sections(UserMessages(tuple(metadata.get(RULES, ())), tuple(metadata.get(QUOTES, ()))))
            found += [text] if text and not any(text in each for each in found) else []
    return "\n\n".join(found)


def fitting(words: UserMessages, room_tokens: float, usual_tokens: float = 0) -> UserMessages:
    """What fits the room: rules first, then the first quote and the newest ones. Rules get their share of the usual
    room, even if there is less."""
    rules_room = min(room_tokens, RULES_SHARE * max(room_tokens, usual_tokens))
    newest_first = words.rules[::-1]
    chosen, _ = _fitting(sorted(newest_first, key=lambda rule: not is_standing(rule)), rules_room)
    rules = tuple(rule for rule in words.rules if rule in chosen)
    room = room_tokens - sum(map(_cost, rules))
    first_room = max(FIRST_SHARE * room, room - sum(map(_cost, words.said[1:])))
    first = [text if _cost(text) <= first_room else clipped(text) for text in words.said[:1]]
    all_said = [*first, *words.said[1:]]
    said, _ = _fitting([*first, *reversed(words.said[1:])], room)
    quoted = tuple(dict.fromkeys(text for text in all_said if text in said))
    return UserMessages(rules, quoted, words.unsaid + len(words.said) - len(quoted))


def as_sections(words: UserMessages, extras: Mapping[str, str] | None = None) -> str:
    """Rules and quotes as sections of the replacing message."""
    blocks, quoted = [], "\n".join(words.said)
    # An order that may be for one task only is in its message, as long as that is quoted.
    if rules := [rule for rule in words.rules if is_standing(rule) or rule not in quoted]:
        blocks.append("## Standing rules of the user\n" + "\n".join(f"- {rule}" for rule in rules))
    if words.said or words.unsaid:
        lines = [f"- {text}" for text in words.said]
        if words.unsaid:
            are = "is" if words.unsaid == 1 else "are"
            lines.append(f"({counted(words.unsaid, 'more message')} of the user {are} not quoted here)")
        blocks.append("## What the user said\n" + "\n".join(lines))
    blocks += [f"## {title}\n{text.strip()}" for title, text in (extras or {}).items() if text.strip()]
    return "\n\n".join(blocks)


def quoted_tokens(words: UserMessages) -> int:
    return sum(map(_cost, (*words.rules, *words.said)))


def clipped(text: str, most_chars: int = QUOTE_CHARS) -> str:
    """A user message on one line; of a long one the beginning and the end, cut between sentences, with the number of
    characters left out between them."""
    flat = " ".join(text.split())
    if len(flat) <= most_chars:
        return flat
    end_chars = QUOTE_END_CHARS * most_chars // QUOTE_CHARS
    begin, end = cut_after_sentence(flat, most_chars - end_chars), cut_before_sentence(flat, end_chars)
    return f"{begin} […{len(flat) - len(begin) - len(end):,} more characters…] {end}".rstrip()


def _rules_in(text: str) -> list[str]:
    """The rules in one message, limited so that a pasted document full of "must" does not crowd out others."""
    found = [line for line in map(_line, sentences_of(without_pasted(text[:20_000]))) if instructs(line)]
    found.sort(key=is_standing, reverse=True)
    return found[:RULES_A_MESSAGE]


def _line(text: str) -> str:
    flat = " ".join(text[: LINE_CHARS * 4].split())
    return flat if len(flat) <= LINE_CHARS else f"{cut_after_sentence(flat, LINE_CHARS - 1)} …"


def _texts(message: ModelRequest) -> list[str]:
    """What the user typed in a prompt, without a summary or a recollection that was put before it."""
    metadata = message.metadata or {}
    texts = (typed_text(part.content) for part in message.parts if isinstance(part, UserPromptPart))
    added = (EARLIER if SUMMARY in metadata else None, metadata.get(RECOLLECTED))
    return [without_envelopes(text) for text in texts if not any(each and text.startswith(each) for each in added)]


def _fitting(lines: Sequence[str], room: float) -> tuple[set[str], float]:
    chosen: set[str] = set()
    for line in lines:
        if (cost := _cost(line)) <= room:
            chosen.add(line)
            room -= cost
    return chosen, room


def _cost(line: str) -> int:
    return estimate_text(line) + 3


# What the user said in answer to calls: why one was denied, and what the model's questions were answered


def _calls_in(response: ModelResponse) -> dict[str, ToolCallPart]:
    """The calls of a response by their ids, which later responses may use again."""
    return {part.tool_call_id: part for part in response.parts if isinstance(part, ToolCallPart)}


def _answers_in(message: ModelRequest, calls: Mapping[str, ToolCallPart]) -> Iterator[UserAnswer]:
    """The user's words in the results of these calls; a tool's own output is never among them."""
    for part in message.parts:
        if not isinstance(part, ToolReturnPart):
            continue
        arguments = _arguments(calls.get(part.tool_call_id))
        if part.outcome == DENIED:
            if reason := read_refusal(content_text(part.content)).reason.strip():
                yield UserAnswer(_denied(part.tool_name, arguments), reason, is_reason=True)
        elif part.tool_name == ASK_USER and part.outcome == "success" and isinstance(part.content, Mapping):
            yield from _answered(part.content, arguments)


def _arguments(call: ToolCallPart | None) -> Mapping[str, Any]:
    try:
        return call.args_as_dict() if call is not None else {}
    except (ValueError, AssertionError):
        return {}


def _denied(tool: str, arguments: Mapping[str, Any]) -> str:
    if tool == PRESENT_PLAN:
        return "sent the plan back"
    gist = gist_of_call(tool, arguments)
    name = "" if gist and tool in COMMAND_TOOLS else one_line(tool, LABEL_CHARS)
    call = " ".join(filter(None, (name, gist))).replace("`", "'")
    return f"denied `{call}`"


def _answered(given: Mapping[Any, Any], arguments: Mapping[str, Any]) -> Iterator[UserAnswer]:
    """The answers, which the tool returns under the short headers of its questions."""
    asked = {each.get("header"): str(each.get("question") or "") for each in objects_in(arguments.get("questions"))}
    for header, answer in given.items():
        chosen = answer if isinstance(answer, Sequence) and not isinstance(answer, str) else [answer]
        words = ", ".join(map(str, chosen)).strip()
        if words:
            yield _answer_to(asked.get(header) or str(header), words)


def _answer_to(question: str, words: str) -> UserAnswer:
    asked = one_line(question, ASKED_CHARS).replace('"', "'")
    return UserAnswer(f'answered "{asked}"', words)
