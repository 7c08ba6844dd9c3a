"""A session as people read it: what was said, each call with its result, and what happened in between."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from co_tui.events import (
    CompactionComplete,
    CompactionUndone,
    Event,
    Json,
    Message,
    PlanChanged,
    SessionFork,
    SessionInterrupted,
    SessionRename,
    SessionResume,
    SessionStart,
    UsageInfo,
)
from co_tui.events.file_diff import diff_in
from co_tui.events.images import StoredImage, attached_image, images_in
from co_tui.events.replaced import without_replaced
from co_tui.events.stored_messages import Role, attached_name, command_in, note_source, pieces, prompt_of, title_in
from co_tui.events.tool_calls import tool_label
from co_tui.events.tool_wording import Stage, call_summary, result_summary, stage_of
from co_tui.events.wording import local_text

SPEAKERS: Final[dict[Role, str]] = {
    "user": "You",
    "assistant": "co-tui",
    "thinking": "thinking",
    "system": "system",
    "attached": "attached",
    "command": "you ran",
    "note": "note",
}
"""As on the screen."""


class Speech(NamedTuple):
    """Something that was said."""

    role: Role
    speaker: str
    text: str
    time: str
    seq: int
    agent: str = ""
    interrupted: bool = False
    images: tuple[StoredImage, ...] = ()


@dataclass(slots=True)
class ToolUse:
    """A call; its result is None until it is answered."""

    tool: str
    arguments: str
    time: str
    seq: int
    agent: str = ""
    result: str | None = None
    stage: Stage = "finished"
    diff: str = ""
    """The change of a file that it made."""
    images: tuple[StoredImage, ...] = ()

    @property
    def failed(self) -> bool:
        return self.stage != "finished"

    @property
    def label(self) -> str:
        return tool_label(self.tool)

    @property
    def gist(self) -> str:
        return call_summary(self.tool, self.arguments)

    @property
    def status(self) -> str:
        if self.result is None:
            return "no result"
        return result_summary(self.tool, self.arguments, self.result, self.stage, self.diff)

    @property
    def is_shown_elsewhere(self) -> bool:
        """Whether its effect is an entry of its own: the plan."""
        return self.tool == "write_plan" and self.result is not None and not self.failed


class ExportedEvent(NamedTuple):
    """One line of the timeline, and what opens below it."""

    symbol: str
    words: str
    time: str
    seq: int
    detail: str = ""
    is_compaction: bool = False
    is_plan: bool = False
    is_undone: bool = False

    @property
    def text(self) -> str:
        """What happened, and that it was undone later."""
        return f"{self.words} · undone" if self.is_undone else self.words


def exported_event(event: Event) -> ExportedEvent | None:
    """The event as an entry; None if it is not exported."""
    fact = event.fact
    entry = fact.export_entry()
    if entry is None:
        return None
    is_compaction = isinstance(fact, CompactionComplete) and fact.success and not fact.agent
    return ExportedEvent(
        fact.symbol,
        entry.text,
        event.timestamp,
        event.seq or 0,
        entry.detail,
        is_compaction,
        isinstance(fact, PlanChanged),
    )


Entry: TypeAlias = Speech | ToolUse | ExportedEvent


@dataclass(slots=True)
class Story:
    """All of a session, in order."""

    title: str = ""
    session_id: str = ""
    began: str = ""
    ended: str = ""
    model: str = ""
    cwd: str = ""
    messages: int = 0
    compactions: int = 0
    entries: list[Entry] = field(default_factory=list)
    measured: list[UsageInfo] = field(default_factory=list)
    """How full the context of the main agent was, in order."""
    compacted_after: list[int] = field(default_factory=list)
    """The number of measurements before each compaction."""


def story_of(events: Iterable[Event]) -> Story:
    return _StoryBuilder().build(events)


class _StoryBuilder:
    def __init__(self) -> None:
        self._story = Story()
        self._open: dict[tuple[str, str], list[ToolUse]] = {}
        self._plan: int | None = None
        """Where this turn's plan is."""

    def build(self, events: Iterable[Event]) -> Story:
        story = self._story
        for event in without_replaced(list(events))[0]:
            story.session_id = event.session_id
            story.began = story.began or event.timestamp
            story.ended = event.timestamp
            self._add_event(event)
        entries = (entry for entry in story.entries if not (isinstance(entry, ToolUse) and entry.is_shown_elsewhere))
        story.entries = list(entries)
        return story

    def _add_event(self, event: Event) -> None:
        story, fact = self._story, event.fact
        if isinstance(fact, Message):
            self._add_message(event, fact)
            return
        if isinstance(fact, UsageInfo):
            if not fact.agent:
                story.measured.append(fact)
                story.model = fact.model or story.model
            return
        if isinstance(fact, SessionStart | SessionResume | SessionFork):
            story.model, story.cwd = fact.model or story.model, story.cwd or fact.cwd
        if isinstance(fact, SessionRename):
            story.title = fact.title
        if isinstance(fact, SessionInterrupted):
            self._say_once()
        if isinstance(fact, CompactionUndone):
            self._mark_undone(fact.compaction_seq)
        if (happened := exported_event(event)) is not None:
            self._add_exported_event(happened)
            if happened.is_compaction:
                story.compactions += 1
                story.compacted_after.append(len(story.measured))

    def _add_exported_event(self, happened: ExportedEvent) -> None:
        """Add an entry; the plan has one in a turn, which is its last."""
        if happened.is_plan and self._plan is not None:
            self._story.entries[self._plan] = happened
            return
        if happened.is_plan:
            self._plan = len(self._story.entries)
        self._story.entries.append(happened)

    def _mark_undone(self, seq: int) -> None:
        """Mark the compaction, clearing or rewind of this seq."""
        for place, entry in enumerate(self._story.entries):
            if isinstance(entry, ExportedEvent) and entry.seq == seq:
                self._story.entries[place] = entry._replace(is_undone=True)

    def _say_once(self) -> None:
        """The entry about an interruption follows: the reply's own mark would say the same again."""
        entries = self._story.entries
        if entries and isinstance(last := entries[-1], Speech):
            entries[-1] = last._replace(interrupted=False)

    def _add_message(self, event: Event, fact: Message) -> None:
        story, message = self._story, fact.message
        story.messages += 1
        prompt = None if fact.agent else prompt_of(message)
        if prompt is not None:
            story.title, self._plan = story.title or title_in(message), None
        model = message.get("model_name")
        story.model = story.model or (model if isinstance(model, str) else "")
        for role, text, part in pieces(message):
            if role == "tool_call":
                self._add_call(event, fact, text, part)
            elif role == "tool_result":
                self._add_result(event, fact, text, part)
            elif text.strip():
                self._add_speech(event, fact, role, text, part)

    def _add_speech(self, event: Event, fact: Message, role: Role, text: str, part: Any) -> None:
        named = {"command": command_in(fact.message), "note": note_source(fact.message)}.get(role, attached_name(part))
        speaker = f"{SPEAKERS[role]} {named}".strip()
        images = _attached(fact.message, part) if role == "attached" else images_in(part)
        self._story.entries.append(
            Speech(role, speaker, text, event.timestamp, event.seq or 0, fact.agent, fact.interrupted, images)
        )

    def _add_call(self, event: Event, fact: Message, arguments: str, part: Any) -> None:
        use = ToolUse(str(part.get("tool_name") or "tool"), arguments, event.timestamp, event.seq or 0, fact.agent)
        self._story.entries.append(use)
        self._open.setdefault((fact.agent, str(part.get("tool_call_id"))), []).append(use)

    def _add_result(self, event: Event, fact: Message, text: str, part: Any) -> None:
        """Ids are reused: the result belongs to the latest call of its id that is still open."""
        stage = "failed" if part.get("part_kind") == "retry-prompt" else stage_of(str(part.get("outcome", "success")))
        waiting = self._open.get((fact.agent, str(part.get("tool_call_id"))))
        if waiting:
            use = waiting.pop()
        else:
            tool = str(part.get("tool_name") or "tool")
            use = ToolUse(tool, "", event.timestamp, event.seq or 0, fact.agent)
            self._story.entries.append(use)
        use.result, use.stage, use.diff, use.images = text, stage, diff_in(part), images_in(part)


def _attached(message: Json, file: Json) -> tuple[StoredImage, ...]:
    image = attached_image(message, file)
    return (image,) if image is not None else ()


def clock(timestamp: str) -> str:
    """The local time of day."""
    return local_text(timestamp, "%H:%M")


def day_and_time(timestamp: str) -> str:
    return local_text(timestamp, "%Y-%m-%d %H:%M")
