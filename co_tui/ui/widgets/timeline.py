"""What happened, in order: turns, and every event of the session's life."""

from collections.abc import Iterable
from typing import assert_never

from rich.text import Text
from textual.message import Message as TextualMessage
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.events import (
    ArtifactStored,
    Clear,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    CompactionWait,
    Event,
    HookRun,
    MemoryWritten,
    Message,
    ModelChange,
    Pin,
    PolicyChange,
    PromptQueued,
    PromptReturned,
    Rewind,
    SessionEnd,
    SessionError,
    SessionFork,
    SessionInterrupted,
    SessionRename,
    SessionResume,
    SessionStart,
    StreamDelta,
    StreamReset,
    ToolActivity,
    Truncation,
    Unknown,
    UsageInfo,
)
from co_tui.inert import one_line
from co_tui.ui.figures import money, tokens
from co_tui.ui.widgets.blocks import clock


class Timeline(OptionList):
    """Newest in view; Enter opens an entry."""

    DEFAULT_CSS = """
    Timeline {
        height: 1fr;
        padding: 0 1;
        border: round $border;
        border-title-color: $muted;
        background: $background;
        scrollbar-size-vertical: 1;
    }
    Timeline > .option-list--option { padding: 0; }
    """

    class Opened(TextualMessage):
        def __init__(self, event: Event) -> None:
            super().__init__()
            self.event = event

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._events: list[Event] = []

    def show(self, events: Iterable[Event]) -> None:
        """Replace all entries."""
        self._events = [event for event in events if told(event)]
        self.clear_options()
        self.add_options([_option(event) for event in self._events])
        self.see_newest()

    def add(self, event: Event) -> None:
        if told(event):
            self._events.append(event)
            self.add_option(_option(event))
            self.see_newest()

    def see_newest(self) -> None:
        """Scroll to the end, unless somebody is reading."""
        if not self.has_focus and self._events:
            self.highlighted = None
            self.scroll_end(animate=False, immediate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Opened(self._events[event.option_index]))


def _option(event: Event) -> Option:
    icon, text = told(event) or ("", "")
    lines = text.split("\n")
    row = Text.assemble((f"{clock(event.timestamp)} ", "dim"), f"{icon} ", lines[0])
    for line in lines[1:]:
        row.append(f"\n      {line}", "dim")
    return Option(row)


def told(event: Event) -> tuple[str, str] | None:
    """An event's sign and words on the timeline; None for what does not belong there."""
    fact = event.fact
    match fact:
        case SessionStart():
            return "○", f"session began\n{_short(fact.model)}"
        case SessionResume():
            return "○", "session resumed"
        case SessionFork():
            return "⑂", f"forked from {fact.source_session_id[-6:]}"
        case SessionRename():
            return "✎", f"renamed\n{one_line(fact.title, 60)}"
        case SessionEnd():
            return "◌", "session left"
        case Message():
            return "●", f"turn {fact.turn}"
        case Truncation():
            return "✂", f"truncated −{tokens(fact.tokens_removed)}\n{fact.messages_removed} messages left out"
        case CompactionStart():
            return "◇", f"compacting\n{fact.trigger.replace('_', ' ')} · {fact.messages} messages"
        case CompactionComplete():
            return _compaction(fact)
        case CompactionUndone():
            return "↶", f"{fact.what} undone"
        case Clear():
            return "⌫", f"context cleared\n{fact.messages_removed} messages left it"
        case Rewind():
            return "↶", f"rewound to event {fact.to_seq}"
        case ModelChange():
            return "⇄", f"model changed\n{_short(fact.to)}"
        case PolicyChange():
            return "⇄", f"policy → {fact.to}"
        case SessionError():
            sign = "↻" if fact.retry_in_s is not None else "✗"
            return sign, f"{fact.kind or 'error'}\n{one_line(fact.outcome, 60)}"
        case SessionInterrupted():
            return "■", one_line(fact.what, 60)
        case ArtifactStored() | MemoryWritten() | HookRun():
            return "+", f"{one_line(fact.what, 60)}\n{one_line(fact.outcome, 60)}"
        case Unknown():
            return "?", fact.type
        case Pin():
            return "⚲", f"{len(fact.messages)} messages {'pinned' if fact.pinned else 'unpinned'}"
        case UsageInfo() | StreamDelta() | StreamReset() | ToolActivity():
            return None
        case PromptQueued() | PromptReturned() | CompactionWait():
            return None
        case _:
            assert_never(fact)


def _short(model: str) -> str:
    """A model's name without its provider, as wide as the timeline is."""
    return one_line(model.rpartition(":")[2].rpartition("/")[2], 22)


def _compaction(fact: CompactionComplete) -> tuple[str, str]:
    if fact.cancelled:
        return "◇", "compaction cancelled"
    if not fact.success:
        return "✗", f"compaction failed\n{one_line(fact.error, 60)}"
    if not fact.replaced:
        return "◆", f"Conversation Compacted\nby {one_line(fact.summarised_by, 20)}"
    saved = f"{1 - fact.post_tokens / fact.pre_tokens:.0%}" if fact.pre_tokens else ""
    checkpoint = f" · cp {fact.checkpoint_number}" if fact.checkpoint_number else ""
    cost = f" · {money(fact.cost)}" if fact.cost else ""
    return (
        "◆",
        f"Conversation Compacted\n{tokens(fact.pre_tokens)} → {tokens(fact.post_tokens)}  −{saved}\n"
        f"{len(fact.replaced)} messages{checkpoint}\n{fact.duration_ms / 1000:.1f} s{cost}",
    )
