"""Formatting for the words people read about a fact. Imports nothing heavy."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from co_tui.inert import one_line
from co_tui.settings.rules import ASK, AUTO, EDITS, PLAN

EARLIEST: Final = datetime(1970, 1, 2, tzinfo=UTC)
LATEST: Final = datetime(9999, 12, 30, tzinfo=UTC)
"""A day from the ends of what every time zone and platform can show."""
LINE_CHARS: Final = 60
SENTENCE_CHARS: Final = 300
MODEL_CHARS: Final = 22
"""Of a model's name in the timeline."""
COMPACTED: Final = "Conversation Compacted"
TROUBLES: Final = {
    "authentication": "key refused",
    "checkpoint": "checkpoint not saved",
    "compaction_stopped": "compaction stopped",
    "connection": "connection lost",
    "context_limit": "too long for the model",
    "cut_off": "reply cut off",
    "filtered": "reply withheld",
    "fixed_part": "almost out of room",
    "form": "request rejected",
    "http": "provider refused",
    "length": "output limit reached",
    "malformed": "unreadable reply",
    "mcp": "MCP server failed",
    "mcp_missing": "MCP tools missing",
    "memory": "memory not saved",
    "no_room": "no room for a summary",
    "not_found": "model not found",
    "provider": "server error",
    "quota": "out of credit",
    "rate_limit": "rate limited",
    "redirect": "redirected",
    "rejected": "request rejected",
    "repeated_call": "same call failed again",
    "server": "server error",
    "snapshots": "files not covered",
    "spending": "spending limit reached",
    "spending_close": "spending limit is close",
    "steps": "out of steps",
    "stopped_by_hook": "stopped by a hook",
    "tools_left_out": "fewer tools offered",
    "timeout": "timed out",
    "too_long": "reply too long",
    "unexpected": "unexpected error",
    "unpriced": "no price known",
    "unreachable": "unreachable",
    "unsendable": "cannot be sent",
    "unusable": "model not usable",
}
"""What went wrong, by the kind a failure has in the log."""
WARNINGS: Final = frozenset(("mcp_missing", "spending_close", "unpriced"))
"""The kinds after which the turn continues as asked."""


class ExportEntry(NamedTuple):
    """A fact in an exported conversation: a line, and the text that opens below it."""

    text: str
    detail: str = ""


def short(text: str) -> str:
    """Untrusted text on one line of the timeline."""
    return one_line(text, LINE_CHARS)


def long(text: str) -> str:
    """Untrusted text on one line of an export."""
    return one_line(text, SENTENCE_CHARS)


def sentence(text: str) -> str:
    """The text with a full stop, unless it ends in punctuation."""
    text = text.rstrip()
    return text if not text or text[-1] in ".!?…:;)" else f"{text}."


def counted(count: int, noun: str) -> str:
    """1 message, 2 messages."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def tokens(count: int) -> str:
    """412, 3.1k, 124k, 1.2M."""
    if count < 1000:
        return str(count)
    if count < 10_000:
        return f"{count / 1000:.1f}k"
    if count < 1_000_000:
        return f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}M"


def percent(share: float, digits: int = 0) -> str:
    """4 %, as everywhere people read it."""
    return f"{share * 100:.{digits}f} %"


def money(dollars: float | None) -> str:
    """A price; None if it is not published."""
    if dollars is None:
        return "unknown"
    return f"${dollars:.2f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.4f}"


MODE_SENTENCES: Final[Mapping[str, str]] = {
    ASK: "asks before changes and commands",
    EDITS: "edits files here without asking; commands ask",
    PLAN: "changes nothing; the model writes a plan",
    AUTO: "edits files and runs commands in the sandbox",
}
"""Short enough for one line of the smallest screen."""


def mode_name(mode: str) -> str:
    return f"{mode} (sandbox)" if mode == AUTO else mode


def local_time(timestamp: str) -> datetime:
    """A recorded time on this machine's clock; the earliest one if it cannot be read. Never raises."""
    return _within(timestamp) or EARLIEST.astimezone()


def local_text(timestamp: str, time_format: str) -> str:
    """The local time in a format of `strftime`; empty if it cannot be read."""
    when = _within(timestamp)
    return when.strftime(time_format) if when else ""


def _within(timestamp: str) -> datetime | None:
    """The local time, at most as early or late as can be shown."""
    try:
        when = datetime.fromisoformat(timestamp)
    except (TypeError, ValueError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return min(max(when, EARLIEST), LATEST).astimezone()


def clock(timestamp: str) -> str:
    """The local time of day of an event's timestamp."""
    return local_text(timestamp, "%H:%M")


def mode_line(mode: str) -> str:
    """The sentence shown when a mode begins."""
    return f"{mode}: {MODE_SENTENCES.get(mode, '')}"
