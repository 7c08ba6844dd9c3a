"""The messages of a request as the lens shows them: role, kind, size, and what the policy does to each."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.agent.model_messages import message_json
from co_tui.agent.tool_names import DELEGATE_TOOL
from co_tui.context.indexed_history import answers_calls, holds_system, is_prompt, is_replacement
from co_tui.context.measure.count import Reading
from co_tui.events import Json, Ref
from co_tui.events.stored_messages import COMMAND, NOTE, REPLACES, Role, as_sent, pieces
from co_tui.events.tool_wording import piece_line, piece_text
from co_tui.session.lens.last_viewed import NEVER_VIEWED, LastView
from co_tui.session.state.removals import DOES_NOT_FIT, NEVER_SENT


class Kind(StrEnum):
    """What a message is."""

    SYSTEM = "system"
    BOARD = "board"
    TOOLS = "tools"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool call"
    TOOL_RESULT = "tool result"
    DELEGATION = "delegation"
    SUMMARY = "summary"
    UNDER_WAY = "work state"
    COMMAND = "command"
    NOTE = "note"
    RECOLLECTED = "brought back"


class Fate(StrEnum):
    """What the policy does to a message."""

    KEPT = "kept"
    TRIMMED = "trimmed"
    ARCHIVED = "archived"
    TO_BE_SUMMARISED = "to be summarised"
    RECOLLECTED = "brought back"
    PINNED = "pinned"


class Judgement(NamedTuple):
    """The fate of a message, and why, as a sentence."""

    fate: Fate = Fate.KEPT
    why: str = ""
    goes_next: bool = False
    """Whether the next compaction summarises it, in addition to its fate now."""


class LensMessage(NamedTuple):
    """One message of the next request; its text is built when read."""

    kind: Kind
    tokens: int
    judgement: Judgement
    message: ModelMessage | None = None
    """None for instructions and tools, which are part of every request."""
    given: str = ""
    """The text of these."""
    ref: Ref | None = None
    """Its identity in the log; None if it is not in the log."""
    turn: int = 0
    system_tokens: int = 0
    """How many of its tokens are system parts."""
    stored: Json | None = None
    """The logged message, if it is sent unchanged."""

    @property
    def role(self) -> str:
        """As a provider has it: `system`, `user`, `assistant` or `tool`."""
        if isinstance(self.message, ModelResponse):
            return "assistant"
        if self.message is None or self.kind is Kind.SYSTEM:
            return "system"
        return "tool" if self.kind in (Kind.TOOL_RESULT, Kind.DELEGATION) else "user"

    @property
    def text(self) -> str:
        return self.given if self.message is None else text_of(self._as_json(self.message))

    @property
    def readable(self) -> str:
        """The text for people: tools by their names, arguments one per line."""
        return self.given if self.message is None else readable_text(self._as_json(self.message))

    @property
    def beginning(self) -> str:
        """The text for a line in a list, after the name of its tool."""
        return self.given if self.message is None else _line_text(self._as_json(self.message))

    def _as_json(self, message: ModelMessage) -> Json:
        return self.stored if self.stored is not None else message_json(message)

    @property
    def is_pinned(self) -> bool:
        return self.judgement.fate is Fate.PINNED

    def as_json(self) -> dict[str, Any]:
        return {
            "role": self.role,
            "kind": self.kind,
            "tokens": self.tokens,
            "fate": self.judgement.fate,
            "why": self.judgement.why,
            "summarised_next": self.judgement.goes_next,
            "text": self.text,
            "seq": self.ref[0] if self.ref else None,
            "turn": self.turn,
        }


class LeftMessage(NamedTuple):
    """A message that was in the context, and is not, or only partly, in the next request."""

    ref: Ref
    turn: int
    why: str
    message: Json
    where: str = ""
    """Where to find all of it."""
    tokens: int = 0
    """What is no longer sent."""

    @property
    def is_gone(self) -> bool:
        """Whether nothing of it is sent."""
        return self.why not in (Fate.TRIMMED, Fate.ARCHIVED)

    @property
    def readable(self) -> str:
        """The text for people: tools by their names, arguments one per line."""
        return readable_text(self.message)

    @property
    def beginning(self) -> str:
        """The text for a line in a list, after the name of its tool."""
        return _line_text(self.message)

    def as_json(self) -> dict[str, Any]:
        return {
            "seq": self.ref[0],
            "turn": self.turn,
            "why": self.why,
            "where": self.where,
            "tokens": self.tokens,
            "text": text_of(self.message),
        }


class Lens(NamedTuple):
    """The next request under a policy."""

    policy: str
    model: str
    reading: Reading
    messages: Sequence[LensMessage]
    """Everything in it, in order; the tokens add up to the reading's."""
    left: Sequence[LeftMessage] = ()
    """What has left since the last view."""
    left_since: LastView = NEVER_VIEWED
    seq: int = 0
    """The last seq of the log."""
    due: str = ""
    """What happens before it is sent, as a sentence; empty if nothing does."""
    is_compacted_first: bool = False
    """Whether a compaction comes first."""

    @property
    def gone_count(self) -> int:
        """How many of those that left are not sent at all."""
        return sum(each.is_gone for each in self.left)

    def as_viewed(self, at: str) -> LastView:
        """What has left so far, for the next view."""
        shortened = {
            row.ref for row in self.messages if row.ref and row.judgement.fate in (Fate.TRIMMED, Fate.ARCHIVED)
        }
        out = {each.ref for each in self.left if each.why in (DOES_NOT_FIT, NEVER_SENT)}
        return LastView(self.seq, at, self.left_since.shortened | shortened | out)

    @property
    def tokens_by_kind(self) -> Mapping[Kind, int]:
        """System and tools as in the gauge; the rest is the conversation."""
        found = dict.fromkeys(Kind, 0)
        for each in self.messages:
            found[Kind.SYSTEM] += each.system_tokens
            found[each.kind] += each.tokens - each.system_tokens
        return {kind: tokens for kind, tokens in found.items() if tokens}

    def total_json(self) -> dict[str, Any]:
        """What the messages add up to, in the figures of `session.usage_info`."""
        reading = self.reading
        return {
            "total_tokens": reading.current_tokens,
            "limit_tokens": reading.window.tokens,
            "limit_known": reading.window.known,
            "measured": reading.measured,
            "system_tokens": reading.system_tokens,
            "tool_definition_tokens": reading.tool_definition_tokens,
            "conversation_tokens": reading.conversation_tokens,
            "tokens_by_kind": dict(self.tokens_by_kind),
            "messages": sum(each.message is not None and each.kind is not Kind.RECOLLECTED for each in self.messages),
            "policy": self.policy,
            "model": self.model,
            "due": self.due,
            "left_since": self.left_since.seq,
            "left_tokens": sum(each.tokens for each in self.left),
            "left": [each.as_json() for each in self.left],
        }


def kind_of(message: ModelMessage) -> Kind:
    if isinstance(message, ModelResponse):
        calls = {call.tool_name for call in message.tool_calls}
        return Kind.DELEGATION if DELEGATE_TOOL in calls else Kind.TOOL_CALL if calls else Kind.ASSISTANT
    metadata = message.metadata or {}
    if is_replacement(message):
        return Kind.SUMMARY if metadata[REPLACES] else Kind.UNDER_WAY
    if COMMAND in metadata:
        return Kind.COMMAND
    if NOTE in metadata:
        return Kind.NOTE
    if is_prompt(message):
        return Kind.USER
    if answers_calls(message):
        delegated = any(getattr(part, "tool_name", "") == DELEGATE_TOOL for part in message.parts)
        return Kind.DELEGATION if delegated else Kind.TOOL_RESULT
    return Kind.SYSTEM if holds_system(message) else Kind.TOOL_RESULT


def text_of(message: Json) -> str:
    """Everything readable in a message, as sent; of a call, its tool and its arguments as JSON."""
    found = pieces(as_sent(message))
    return "\n\n".join(_named(text, part) if role == "tool_call" else text for role, text, part in found)


def readable_text(message: Json) -> str:
    """The text for people; thinking comes last."""
    return "\n\n".join(piece_text(*piece) for piece in _thinking_last(message))


def _line_text(message: Json) -> str:
    return "\n\n".join(piece_line(*piece) for piece in _thinking_last(message))


def _thinking_last(message: Json) -> list[tuple[Role, str, Json]]:
    return sorted(pieces(as_sent(message)), key=lambda piece: piece[0] == "thinking")


def _named(text: str, part: Json) -> str:
    name = part.get("tool_name")
    return f"{name} {text}" if name else text
