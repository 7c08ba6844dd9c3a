"""What a policy written in Python is given (G11). It defines

    def decide(context: PolicyContext) -> Answer: ...

and returns None to leave the conversation as it is, or what to do with messages by their index:

- `summarise`: replace these by a summary,
- `drop`: remove these without one,
- `keep`: instead of both, summarise everything but these,
- `wait`: False to do it in the background rather than before this request,
- `focus`: what the summary should focus on.

System messages, pinned messages, the latest prompt, and results the model has not seen stay, whatever is returned. A
call and its results go together or stay together.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, overload

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.indexed_history import ANSWERS, PROMPT, REPLACEMENT, REPLY, SYSTEM, IndexedHistory, Tokens, kind_of
from co_tui.context.measure.count import estimate_text
from co_tui.events.content import content_text, prompt_text

Role: TypeAlias = Literal["system", "user", "assistant", "tool", "summary", "note"]
Answer: TypeAlias = Mapping[str, Any] | None
"""What `decide` returns; a plain dict."""


_ROLES: Final[Mapping[int, Role]] = {
    REPLY: "assistant",
    SYSTEM: "system",
    REPLACEMENT: "summary",
    PROMPT: "user",
    ANSWERS: "tool",
}


class PolicyMessage:
    """One message. What it says is read only if the policy asks for it."""

    __slots__ = ("_tokens", "index", "message", "pinned")

    def __init__(self, index: int, message: ModelMessage, pinned: bool, tokens: Tokens) -> None:
        """`message` is as pydantic-ai has it."""
        self.index, self.message, self.pinned, self._tokens = index, message, pinned, tokens

    @property
    def role(self) -> Role:
        """`user` is a prompt, `tool` has results of calls, `summary` replaces earlier messages."""
        kind = kind_of(self.message)
        return next((role for each, role in _ROLES.items() if kind & each), "note")

    @property
    def tokens(self) -> float:
        return self._tokens(self.message)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it calls, or whose results it has."""
        parts = (part for part in self.message.parts if isinstance(part, ToolCallPart | ToolReturnPart))
        return tuple(part.tool_name for part in parts)

    @property
    def text(self) -> str:
        """Its text: what was written, calls with their arguments, results."""
        return "\n".join(filter(None, _texts(self.message)))


def _texts(message: ModelMessage) -> Iterator[str]:
    for part in message.parts:
        match part:
            case TextPart(content=text):
                yield text
            case ToolCallPart():
                yield f"{part.tool_name}({part.args_as_json_str()})"
            case ToolReturnPart() | RetryPromptPart():
                yield content_text(part.content)
            case UserPromptPart():
                yield prompt_text(part.content)
            case _:
                yield str(part.content) if isinstance(message, ModelRequest) and hasattr(part, "content") else ""


class PolicyMessages(Sequence[PolicyMessage]):
    """The conversation, message by message, oldest first."""

    def __init__(self, history: IndexedHistory, pinned: Collection[int], tokens: Tokens) -> None:
        self.history, self.pinned, self._tokens = history, pinned, tokens

    def __len__(self) -> int:
        return len(self.history)

    @overload
    def __getitem__(self, index: int) -> PolicyMessage: ...
    @overload
    def __getitem__(self, index: slice) -> list[PolicyMessage]: ...
    def __getitem__(self, index: int | slice) -> PolicyMessage | list[PolicyMessage]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return PolicyMessage(place, self.history[place], place in self.pinned, self._tokens)


class PolicyContext(NamedTuple):
    """A conversation before a request, its window, and the meter that counts its tokens."""

    messages: PolicyMessages
    window_tokens: int
    used_tokens: int
    """By the whole request: instructions, tools and conversation."""
    fixed_tokens: int
    """By instructions and tools."""
    asked: bool
    """Whether a compaction was asked for (`/compact`): what would be summarised now, however full the window is?"""
    ratio: float
    """The model's tokens for each one we estimate."""

    @property
    def fill(self) -> float:
        """The share of the window in use."""
        return self.used_tokens / self.window_tokens

    @property
    def turns(self) -> list[int]:
        """The index of each of the user's prompts."""
        return self.messages.history.turn_starts

    def tokens(self, text: str) -> float:
        """How many tokens a text has."""
        return estimate_text(text) * self.ratio

    def newest(self, room_tokens: float) -> int:
        """The index at which the newest messages that fit into so many tokens start; splits no call from its result."""
        return self.messages.history.recent_start(room_tokens, self.messages._tokens)
