"""Build the messages that replace summarised ones (C5). Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.context.compact import user_messages
from co_tui.context.indexed_history import EARLIER, PROMPT, REPLACEMENT, TEXT, Cut, IndexedHistory, kind_of
from co_tui.context.journal.journal import Journal
from co_tui.context.policy import SummaryForm
from co_tui.events.stored_messages import JOURNAL, REPLACES, RULES, SUMMARY

COMPACTED = "[Compacted conversation summary]"
UNDER_WAY = "[What is under way]"
UNDERSTOOD = "Understood. I have the conversation context."
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""For messages without a time: running a stage twice must give the same result."""


class Replacement(NamedTuple):
    """The indexes of removed messages, and the messages inserted at the first of them."""

    replaced: tuple[int, ...]
    messages: list[ModelMessage]

    def applied(self, history: Sequence[ModelMessage]) -> list[ModelMessage]:
        if not self.replaced:
            return list(history)
        gone = set(self.replaced)
        result: list[ModelMessage] = []
        for index, message in enumerate(history):
            if index == self.replaced[0]:
                result.extend(self.messages)
            if index not in gone:
                result.append(message)
        return result


class Digest(NamedTuple):
    """The content that replaces messages: a summary, and the journal it shows, if it shows one."""

    summary: str
    journal: Journal | None = None
    words: user_messages.UserMessages | None = None
    """The user messages quoted in the summary, if the form has no section for them."""

    def as_metadata(self, rules: tuple[str, ...] = ()) -> dict[str, Any]:
        """`rules` are shown next to the summary."""
        words = self.words or user_messages.UserMessages()
        words = words._replace(rules=(*rules, *words.rules))
        metadata: dict[str, Any] = words.as_metadata() if self.words or rules else {}
        if self.journal is not None:
            metadata[JOURNAL] = self.journal.as_json()
        return {SUMMARY: self.summary, **metadata}


def build(
    form: SummaryForm,
    history: Sequence[ModelMessage],
    cut: Cut,
    digest: Digest | None,
    *,
    words: user_messages.UserMessages | None = None,
    extras: Mapping[str, str] | None = None,
    pinned: Collection[int] = (),
) -> Replacement:
    """The replacement of a cut in the given form; without a digest, a marker that says what was removed.

    Every form keeps the rules of `words`; only the full one has a section for quotes.
    """
    count, words = cut.messages_count, words or user_messages.UserMessages()
    rules = user_messages.UserMessages(words.rules)
    under_way = user_messages.as_sections(rules, extras)
    if digest is None:
        metadata = rules.as_metadata() if rules.rules else {}
        return _one(history, cut, _joined(window_marker(count, None), under_way), metadata)
    metadata = digest.as_metadata(rules.rules)
    match form:
        case SummaryForm.MARKER:
            return _one(history, cut, _joined(window_marker(count, digest.summary), under_way), metadata)
        case SummaryForm.PAIR:
            said = _replacing(history, cut, _joined(f"{COMPACTED}\n{digest.summary}", under_way), metadata)
            reply = ModelResponse(parts=[TextPart(UNDERSTOOD)], timestamp=_time(history, cut.replaced))
            return Replacement(cut.replaced, [said, reply])
        case SummaryForm.PROMPT:
            text = _joined(f"{EARLIER}\n{digest.summary}", under_way)
            return _into_first_prompt(history, cut, text, metadata, pinned)
        case SummaryForm.FULL:
            summary = _replacing(history, cut, f"{EARLIER}\n{digest.summary}", digest.as_metadata())
            return Replacement(cut.replaced, [summary, *_under_way(history, cut, words, extras)])


def _under_way(
    history: Sequence[ModelMessage],
    cut: Cut,
    words: user_messages.UserMessages,
    extras: Mapping[str, str] | None,
) -> list[ModelMessage]:
    """Where the work stands: a message of its own, so that a journal that only grew keeps its cached prefix."""
    text = user_messages.as_sections(words, extras)
    metadata = {REPLACES: 0, **words.as_metadata()}
    return [_replacing(history, cut, f"{UNDER_WAY}\n{text}", metadata)] if text else []


def _joined(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def window_marker(count: int, summary: str | None) -> str:
    """The sliding window's marker; without a summary it only says what was removed."""
    if summary is None:
        return f"[Earlier conversation trimmed — {count} messages removed to stay within context budget]"
    return f"[Summary of {count} earlier messages]\n{summary}"


def difference(before: Sequence[ModelMessage], after: Sequence[ModelMessage]) -> Replacement:
    """A rewritten history as a replacement: everything between the first and the last change."""
    start = 0
    while start < min(len(before), len(after)) and before[start] is after[start]:
        start += 1
    same = 0
    while same < min(len(before), len(after)) - start and before[-1 - same] is after[-1 - same]:
        same += 1
    return Replacement(tuple(range(start, len(before) - same)), list(after[start : len(after) - same]))


def texts_only(history: Sequence[ModelMessage], rules: Sequence[str]) -> Replacement:
    """Each turn reduced to its texts; those of the `rules` that are not in them follow as a message."""
    shorter = first_and_last_texts(history)
    done = difference(history, shorter)
    present = set(user_messages.user_messages_in(shorter).rules)
    missing = tuple(rule for rule in rules if rule not in present)
    if not done.replaced or not missing:
        return done
    note = rules_note(missing, _time(history, done.replaced))
    return Replacement(done.replaced, [note, *done.messages])


def first_and_last_texts(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Each turn reduced to its first user text and its last reply (G3f, few turns); what replaces others stays."""
    history = messages if isinstance(messages, IndexedHistory) else IndexedHistory(messages)
    starts, kept = history.turn_starts, history.kept_by_rule()
    result = list(history[: starts[0] if starts else len(history)])
    for start, end in zip(starts, [*starts[1:], len(history)], strict=False):
        result.append(history[start] if start in kept else _first_text(history[start]))
        if end == len(history):
            result += history[start + 1 :]  # the current turn
            continue
        texts = [index for index in range(start + 1, end) if history.kinds[index] & TEXT]
        for index in range(start + 1, end):
            message = history[index]
            if index in texts[-1:] and isinstance(message, ModelResponse):
                result.append(_only_text(message))
            elif history.kinds[index] & REPLACEMENT:
                result.append(message)
    return result


def _first_text(message: ModelMessage) -> ModelMessage:
    assert isinstance(message, ModelRequest)
    prompts = [part for part in message.parts if isinstance(part, UserPromptPart)]
    joined = [part for part in prompts if isinstance(part.content, str) and part.content.startswith(EARLIER)]
    kept = [*joined, *[part for part in prompts if part not in joined][:1]]
    return message if list(message.parts) == kept else replace(message, parts=kept)


def _only_text(reply: ModelResponse) -> ModelResponse:
    """The reply's texts, without the provider's data about them, which refers to the thinking that is left out."""
    texts = [part for part in reply.parts if isinstance(part, TextPart)]
    if len(texts) == len(reply.parts):
        return reply
    plain = [TextPart(part.content) for part in texts]
    return replace(reply, parts=plain, provider_response_id=None, provider_details=None)


def rules_note(rules: Sequence[str], when: datetime | None) -> ModelRequest:
    """A message with standing rules of the user."""
    text = user_messages.as_sections(user_messages.UserMessages(tuple(rules)))
    part = UserPromptPart(text, timestamp=when or LONG_AGO)
    return ModelRequest(parts=[part], timestamp=when, metadata={REPLACES: 0, RULES: list(rules)})


def _one(
    history: Sequence[ModelMessage], cut: Cut, text: str, metadata: Mapping[str, Any] | None = None
) -> Replacement:
    return Replacement(cut.replaced, [_replacing(history, cut, text, metadata)])


def _into_first_prompt(
    history: Sequence[ModelMessage], cut: Cut, text: str, metadata: Mapping[str, Any], pinned: Collection[int]
) -> Replacement:
    """Add the summary to the first prompt kept; a separate message if that is pinned or not adjacent."""
    after = cut.replaced[-1] + 1
    contiguous = cut.replaced == tuple(range(cut.replaced[0], after))
    if not contiguous or after in pinned or after >= len(history) or not kind_of(history[after]) & PROMPT:
        return _one(history, cut, text, metadata)
    return Replacement((*cut.replaced, after), [_with_text_before(history[after], text, metadata)])


def joined_to_first_prompt(
    history: Sequence[ModelMessage], digest: Digest, pinned: Collection[int], extras: Mapping[str, str] | None = None
) -> Replacement:
    """The summary of messages that left before, put into the first prompt that may change; nothing without one."""
    at = next((n for n, message in enumerate(history) if kind_of(message) & PROMPT and n not in pinned), None)
    if at is None:
        return Replacement((), [])
    under_way = user_messages.as_sections(user_messages.UserMessages(), extras)
    text = _joined(f"{EARLIER}\n{digest.summary}", under_way)
    return Replacement((at,), [_with_text_before(history[at], text, digest.as_metadata())])


def _with_text_before(prompt: ModelMessage, text: str, metadata: Mapping[str, Any]) -> ModelRequest:
    """The prompt with a text before the user's own words."""
    assert isinstance(prompt, ModelRequest)
    first = next(index for index, part in enumerate(prompt.parts) if isinstance(part, UserPromptPart))
    note = UserPromptPart(text, timestamp=prompt.timestamp or LONG_AGO)
    parts = [*prompt.parts[:first], note, *prompt.parts[first:]]
    return replace(prompt, parts=parts, metadata={**(prompt.metadata or {}), **metadata})


def _replacing(
    history: Sequence[ModelMessage], cut: Cut, text: str, metadata: Mapping[str, Any] | None = None
) -> ModelRequest:
    when = _time(history, cut.replaced)
    part = UserPromptPart(text, timestamp=when)
    return ModelRequest(parts=[part], timestamp=when, metadata={REPLACES: cut.messages_count, **(metadata or {})})


def _time(history: Sequence[ModelMessage], replaced: Sequence[int]) -> datetime:
    """The time of the newest replaced message: running a stage twice must give the same result."""
    for index in reversed(replaced):
        if (stamp := history[index].timestamp) is not None:
            return stamp
    return LONG_AGO
