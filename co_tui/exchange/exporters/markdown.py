"""A session as Markdown, for people."""

import re
from collections.abc import Iterable, Iterator

from co_tui.events import Event
from co_tui.events.file_diff import is_diff
from co_tui.events.tool_wording import argument_lines
from co_tui.exchange.exporters.story import Entry, ExportedEvent, Speech, Story, ToolUse, clock, day_and_time, story_of
from co_tui.inert import inert, one_line

_FENCE = re.compile(r"`{3,}")
_OPENING = re.compile(r"`{3}|~{3}")
_NEXT = "## Next"


def as_markdown(events: Iterable[Event]) -> Iterator[str]:
    story = story_of(events)
    yield _head(story)
    for entry in story.entries:
        yield f"\n{_written(entry)}\n"


def _head(story: Story) -> str:
    about = [
        ("Session", story.session_id),
        ("Began", day_and_time(story.began)),
        ("Ended", day_and_time(story.ended)),
        ("Model", story.model),
        ("Folder", story.cwd),
        ("Messages", f"{story.messages:,}"),
    ]
    lines = (f"- {name}: {one_line(value, 300)}" for name, value in about if value)
    return f"# {one_line(story.title, 300) or 'A session'}\n\n" + "\n".join(lines) + "\n"


def _written(entry: Entry) -> str:
    match entry:
        case Speech():
            return _speech(entry)
        case ToolUse():
            return _tool_use(entry)
        case ExportedEvent():
            # What replaced messages is shown as it is sent: as Markdown its lines would run together.
            shown = _fenced if entry.is_compaction else _quoted
            detail = f"\n\n{shown(entry.detail)}" if entry.detail.strip() else ""
            return f"*{clock(entry.time)} {entry.symbol} {inert(entry.text)}*{detail}"


def _heading(text: str, entry: Speech | ToolUse) -> str:
    agent = f" ({one_line(entry.agent, 60)})" if entry.agent else ""
    return f"## {one_line(text, 200)}{agent} · {clock(entry.time)}"


def _speech(entry: Speech) -> str:
    cut = "\n\n*(interrupted)*" if entry.interrupted else ""
    text = inert(entry.text).strip()
    if entry.role in ("assistant", "user"):
        return f"{_heading(entry.speaker, entry)}\n\n{_closed(text)}{cut}"
    if entry.role == "thinking":
        return f"{_heading(entry.speaker, entry)}\n\n{_quoted(text)}{cut}"
    return f"{_heading(entry.speaker, entry)}\n\n{_fenced(text)}"


def _tool_use(use: ToolUse) -> str:
    lines = [_heading(f"Tool: {use.label}", use)]
    if is_diff(use.diff):
        return "\n\n".join([*lines, f"{one_line(use.gist, 200)} · {use.status}", _fenced(use.diff, "diff")])
    if given := argument_lines(use.arguments).strip():
        lines.append(f"**Input:**\n\n{_fenced(given)}")
    if use.result is None:
        lines.append("*(no result)*")
    else:
        lines.append(f"**Output{' (failed)' if use.failed else ''}:**\n\n{_fenced(use.result)}")
    return "\n\n".join(lines)


def _closed(text: str) -> str:
    """The text with its last fence closed, so that it does not swallow what follows."""
    if not _OPENING.search(text):
        return text
    from markdown_it import MarkdownIt

    last = MarkdownIt().parse(f"{text}\n\n{_NEXT}")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" and last.content.endswith(_NEXT) else text


def _fenced(text: str, language: str = "") -> str:
    """In a fence that the text itself cannot close."""
    text = inert(text).rstrip("\n")
    fence = "`" * max(3, 1 + max((len(found) for found in _FENCE.findall(text)), default=2))
    return f"{fence}{language}\n{text}\n{fence}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in inert(text).strip().splitlines())
