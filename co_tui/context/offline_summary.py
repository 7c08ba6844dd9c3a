"""The offline summariser (C14): extractive, deterministic, fast. Serves when no model may, and when one fails."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple, Protocol

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.count import estimate_text
from co_tui.context.turns import EARLIER
from co_tui.events.content import content_text, prompt_text, typed_text
from co_tui.events.messages import COMMAND, RULES, SAID, STANDS_FOR, SUMMARY


class Summarise(Protocol):
    """Turns messages into a summary of at most so many tokens; without the user's words when these stand beside it."""

    def __call__(self, messages: Sequence[ModelMessage], budget_tokens: int, *, user_words: bool = True) -> str: ...


LINE_CHARS: Final = 220
MENTIONS_AT_ONCE: Final = 150
RESULT_CHARS: Final = 12_000
"""How much of one message is looked through for names."""
_PATH: Final = re.compile(
    r"(?:[A-Za-z]++(?![\w.@/~-])|[^\w.@/~-]++)++"  # no path: passed over in one go
    r"|((?<![\w/.])(?:~|\.{1,2})?/?(?:[\w.@-]++/)+[\w.@-]+\b"
    r"|\b[\w-]++\.(?:py|ts|tsx|js|rs|go|java|c|h|cpp|rb|md|toml|ya?ml|json|sql|sh|css|html|txt|cfg|ini)\b)"
)
_IDENTIFIER: Final = re.compile(
    r"(?:[a-z]++(?![\w.])|[^\w#]++)++"  # no identifier
    r"|(\b(?:[a-zA-Z]++(?:_[a-zA-Z0-9]++)++\b"  # snake_case, CONSTANTS
    r"|[a-z]++[A-Z]\w+|[A-Z][a-z]++[A-Z]\w+"  # camelCase
    r"|\w++\.[a-z]\w{0,12}\b"  # dotted names
    r"|(?=[^\W\d]*+\d)(?=[^\Wa-zA-Z]*+[a-zA-Z])\w{4,}+|\d{3,}+\b"  # codes and numbers
    r"|(?<=[a-z,] )[A-Z][a-z]{2,}+\b)"  # names within a sentence
    r"|#\d+)"
)
_RULE: Final = re.compile(
    r"\b(always|never|must|don't|do not|only|prefer|make sure|remember|from now on|please use|avoid)\b", re.I
)
_DECIDED: Final = re.compile(
    r"\b(decided|decision|we will|let's|i will|i'll|instead|chose|choose|agreed|the plan|solution|fixed|resolved"
    r"|root cause|confirmed|booked|cancelled|updated)\b",
    re.I,
)
_ERROR: Final = re.compile(
    r"\b(\w*error\w*|exception|traceback|failed|failure|fatal|denied|not found|invalid|exit (?:code )?[1-9])\b", re.I
)
_OPEN: Final = re.compile(r"\b(todo|next step|remaining|still need|pending|not yet|follow[- ]up|later)\b", re.I)
_COMMAND_KEYS: Final = ("command", "cmd", "bash", "script")


class _Section(NamedTuple):
    title: str
    share: float
    """Of the token budget; what one section does not use is left for the next."""


_SECTIONS: Final = {
    "earlier": _Section("From an earlier summary", 0.3),
    "rules": _Section("Standing rules of the user", 0.12),
    "requests": _Section("What the user asked", 0.26),
    "decisions": _Section("Decisions and outcomes", 0.2),
    "results": _Section("What tools returned", 0.2),
    "files": _Section("Files", 0.1),
    "commands": _Section("Commands and calls", 0.12),
    "errors": _Section("Errors, and what followed", 0.12),
    "open": _Section("Open", 0.06),
    "identifiers": _Section("Names and numbers", 0.2),
}
_TITLES: Final = {
    **{section.title: key for key, section in _SECTIONS.items()},
    # As a model is told to head its notes.
    "Errors and how they were solved": "errors",
    "Open tasks": "open",
}


def summarise_offline(messages: Sequence[ModelMessage], budget_tokens: int, *, user_words: bool = True) -> str:
    """A summary by sections within the budget; an earlier summary among the messages is taken over, not summarised."""
    notes: dict[str, dict[str, None]] = {key: {} for key in _SECTIONS}
    for message in messages:
        if isinstance(message, ModelRequest):
            _read_request(message, notes)
        else:
            _read_response(message, notes)
    if not user_words:
        notes["rules"], notes["requests"] = {}, {}
    return _written(notes, budget_tokens)


def states_rule(sentence: str) -> bool:
    """Whether the user seems to lay down how things are to be done."""
    return _RULE.search(sentence) is not None


def _read_request(message: ModelRequest, notes: dict[str, dict[str, None]]) -> None:
    metadata = message.metadata or {}
    if summary := metadata.get(SUMMARY):
        _take_over(summary, notes)
        _add(notes, "rules", metadata.get(RULES, ()))
        _add(notes, "requests", metadata.get(SAID, ()))
    if STANDS_FOR in metadata:
        return
    for part in message.parts:
        if isinstance(part, UserPromptPart) and COMMAND in metadata:
            text = prompt_text(part.content)
            _add(notes, "results", [_line(text)])
            _mentions(text[:RESULT_CHARS], notes)
        elif isinstance(part, UserPromptPart):
            text = typed_text(part.content)
            if summary and text.startswith(EARLIER):
                continue
            _add(notes, "requests", [_line(text)])
            _add(notes, "rules", (line for line in sentences(text) if _RULE.search(line)))
            _add(notes, "open", (line for line in sentences(text) if _OPEN.search(line)))
            _mentions(prompt_text(part.content), notes)
        elif isinstance(part, ToolReturnPart):
            text = content_text(part.content)
            _add(notes, "errors", [line for line in sentences(text[:6000]) if _ERROR.search(line)][:2])
            _add(notes, "results", [f"{part.tool_name}: {_line(text)}"])
            _mentions(text[:RESULT_CHARS], notes)


def _read_response(message: ModelResponse, notes: dict[str, dict[str, None]]) -> None:
    for part in message.parts:
        if isinstance(part, TextPart):
            lines = sentences(part.content)
            chosen = [line for line in lines if _DECIDED.search(line)] or lines[:1]
            _add(notes, "decisions", chosen[:3])
            _add(notes, "open", (line for line in lines if _OPEN.search(line)))
            _mentions(part.content, notes)
        elif isinstance(part, ToolCallPart):
            _add(notes, "commands", [_call(part)])
            _mentions(content_text(part.args) if part.args else "", notes)


def _call(part: ToolCallPart) -> str:
    try:
        arguments = part.args_as_dict()
    except (ValueError, AssertionError):
        return f"{part.tool_name} {_line(content_text(part.args))}"
    command = next((str(arguments[key]) for key in _COMMAND_KEYS if key in arguments), None)
    if command is not None:
        return _line(command)
    return _line(f"{part.tool_name} " + ", ".join(f"{key}={value}" for key, value in arguments.items()))


def _mentions(text: str, notes: dict[str, dict[str, None]]) -> None:
    _add(notes, "files", _found(_PATH, text))
    _add(notes, "identifiers", _found(_IDENTIFIER, text))


def _found(pattern: re.Pattern[str], text: str) -> list[str]:
    return list(islice(filter(None, pattern.findall(text)), MENTIONS_AT_ONCE))


def _add(notes: dict[str, dict[str, None]], key: str, lines: Iterable[str]) -> None:
    section = notes[key]
    for line in lines:
        if line:
            section.pop(line, None)  # said again: it moves to the end, among the newest
            section[line] = None


def _written(notes: dict[str, dict[str, None]], budget_tokens: int) -> str:
    blocks: list[str] = []
    spare = 0.0
    for key, section in _SECTIONS.items():
        room = section.share * budget_tokens * 0.78 + spare
        inline = key in ("files", "identifiers")
        chosen: list[str] = []
        for line in reversed(notes[key]):  # newest first, as long as there is room
            cost = estimate_text(line) + (1 if inline else 3)
            if cost > room:
                if chosen:
                    break
                continue
            chosen.append(line)
            room -= cost
        spare = max(0.0, room)
        if chosen:
            chosen.reverse()
            body = ", ".join(chosen) if inline else "\n".join(f"- {line}" for line in chosen)
            blocks.append(f"## {section.title}\n{body}")
    return "\n\n".join(blocks) or "(nothing was said)"


def _take_over(summary: str, notes: dict[str, dict[str, None]]) -> None:
    """Read an earlier summary back into its sections, ours or a model's; what has no section of its own stays too."""
    key = "earlier"
    for line in summary.splitlines():
        if line.startswith("#"):
            key = _TITLES.get(line.lstrip("# ").strip(), "earlier")
        elif key in ("files", "identifiers"):
            _add(notes, key, (item.strip() for item in line.split(", ")))
        elif line.strip():
            _add(notes, key, [line.strip().removeprefix("- ")])


def sentences(text: str) -> list[str]:
    """The text in lines and sentences, each on one line and of bounded length."""
    return [_line(piece) for piece in re.split(r"(?<=[.!?。！？])\s+|\n+", text[:20_000]) if piece.strip()]


def _line(text: str) -> str:
    flat = " ".join(text[: LINE_CHARS * 4].split())
    return flat if len(flat) <= LINE_CHARS else flat[: LINE_CHARS - 1] + "…"
