"""A session as one HTML page that needs nothing else: no script, nothing fetched, every word shown and none obeyed."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Final

from co_tui.events import Event
from co_tui.events.image_bytes import image_size, image_type
from co_tui.events.images import StoredImage, images_label
from co_tui.exchange.exporters.fill_chart import picture
from co_tui.exchange.exporters.happenings import Happening
from co_tui.exchange.exporters.html_style import STYLE
from co_tui.exchange.exporters.story import Entry, Speech, Story, ToolUse, clock, day_and_time, story_of
from co_tui.inert import inert, one_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""Even if a message were taken for HTML, the browser would run and fetch nothing."""
GIST_CHARS: Final = 100
MAX_MARKDOWN_CHARS: Final = 200_000
"""Longer texts are shown as plain text."""
MAX_IMAGE_BYTES: Final = 20_000_000
MAX_PIXELS: Final = 200_000_000
_UNSAFE_MARKDOWN: Final = ["image", "link", "autolink", "html_inline", "html_block", "reference"]
_FOLDED: Final = frozenset({"thinking", "system", "attached", "command"})


def as_page(events: Iterable[Event]) -> Iterator[str]:
    story = story_of(events)
    title = _text(one_line(story.title, 300) or "A session")
    yield (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    )
    yield _about(story)
    yield picture(story.measured, story.compacted_after)
    for entry in story.entries:
        yield f"{_shown(entry)}\n"
    yield "</main>\n</body>\n</html>\n"


def _about(story: Story) -> str:
    facts = [
        ("session", story.session_id),
        ("from", day_and_time(story.began)),
        ("to", day_and_time(story.ended)),
        ("model", story.model),
        ("folder", story.cwd),
        ("messages", f"{story.messages:,}"),
        ("compactions", f"{story.compactions:,}" if story.compactions else ""),
    ]
    rows = (f"<div><dt>{name}</dt><dd>{_text(one_line(value, 300))}</dd></div>" for name, value in facts if value)
    return f'<dl class="about">{"".join(rows)}</dl>\n'


def _shown(entry: Entry) -> str:
    match entry:
        case Speech() if entry.role in _FOLDED:
            return _folded(entry)
        case Speech():
            return _speech(entry)
        case ToolUse():
            return _tool_use(entry)
        case Happening():
            return _happening(entry)


def _speech(entry: Speech) -> str:
    words, images = _text_and_images(entry.text, entry.images)
    is_reply = entry.role == "assistant"
    text = f'<div class="text{"" if is_reply else " plain"}">{_markdown(words) if is_reply else _text(words)}</div>'
    text = f"{text if words.strip() else ''}{images}"
    cut = '<p class="cut">interrupted</p>' if entry.interrupted else ""
    kind = f"{entry.role} agent" if entry.agent else entry.role
    speaker = f"{entry.speaker} {entry.agent}" if entry.agent else entry.speaker
    return f'<article class="{kind}"><header><b>{_line(speaker)}</b>{_time(entry.time)}</header>{text}{cut}</article>'


def _folded(entry: Speech) -> str:
    agent = " agent" if entry.agent else ""
    gist = f"<b>{_line(entry.speaker)}</b> {_line(entry.text)}"
    words, images = _text_and_images(entry.text, entry.images)
    body = f"<pre>{_text(words)}</pre>{images}"
    return f'<details class="{entry.role}{agent}"><summary>{gist}</summary>{body}</details>'


def _tool_use(use: ToolUse) -> str:
    kind = f"tool{' failed' if use.failed else ''}{' agent' if use.agent else ''}"
    ended = "no result" if use.result is None else "failed" if use.failed else _lines(use.result)
    arguments = f"<pre>{_text(use.arguments)}</pre>" if use.arguments.strip() else ""
    words, images = _text_and_images(use.result or "", use.images)
    result = f"<pre>{_text(words)}</pre>{images}" if use.result is not None else ""
    gist = f"<b>{_line(use.tool)}</b> {_line(use.arguments)} · {ended}"
    return f'<details class="{kind}"><summary>{gist}</summary>{arguments}{result}</details>'


def _happening(entry: Happening) -> str:
    kind = "happening compaction" if entry.is_compaction else "happening"
    words = f"{_time(entry.time)} {entry.symbol} {_text(entry.words)}"
    if not entry.detail.strip():
        return f'<p class="{kind}">{words}</p>'
    return f'<details class="{kind}"><summary>{words}</summary><pre>{_text(entry.detail)}</pre></details>'


def _time(timestamp: str) -> str:
    return f'<time datetime="{escape(one_line(timestamp, 40))}">{clock(timestamp)}</time>'


def _lines(text: str) -> str:
    count = text.count("\n") + 1
    return f"{count:,} lines" if count > 1 else _line(text)


def _line(text: str) -> str:
    return escape(one_line(text, GIST_CHARS))


def _text(text: str) -> str:
    return escape(inert(text))


def _text_and_images(text: str, images: Sequence[StoredImage]) -> tuple[str, str]:
    """A message's text, and its valid images as HTML; the text keeps its image label unless all are shown."""
    shown = [found for image in images if (found := _image(image))]
    if not shown or len(shown) < len(images):
        return text, "".join(shown)
    label = images_label(images)
    return "\n".join(line for line in text.split("\n") if line != label), "".join(shown)


def _image(image: StoredImage) -> str:
    """Only formats that browsers draw without running anything; the log may come from anywhere."""
    data = image.data(MAX_IMAGE_BYTES)
    kind, size = image_type(data), image_size(data)
    if not kind or size is None or not 0 < size[0] * size[1] <= MAX_PIXELS:
        return ""
    label = escape(f"{image.media_type}, {size[0]:,} × {size[1]:,}")
    return f'<img src="data:{kind};base64,{base64.b64encode(data).decode()}" alt="{label}" title="{label}">'


def _markdown(text: str) -> str:
    """A model's Markdown as HTML without links, images or HTML of its own."""
    text = inert(text)
    if len(text) > MAX_MARKDOWN_CHARS:
        return f"<pre>{escape(text)}</pre>"
    return str(_parser().render(text))


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(_UNSAFE_MARKDOWN)
