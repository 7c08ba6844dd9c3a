"""A session as one HTML page that needs nothing else: no script, nothing fetched, every word shown and none obeyed."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from co_tui.events import Event
from co_tui.events.file_diff import DiffRow, FileDiff, read_diff, with_marks
from co_tui.events.images import StoredImage, image_size, image_type, images_label
from co_tui.events.tool_wording import argument_lines
from co_tui.exchange.exporters.fill_chart import filled, picture
from co_tui.exchange.exporters.html_markdown import as_html
from co_tui.exchange.exporters.story import Entry, ExportedEvent, Speech, Story, ToolUse, clock, day_and_time, story_of
from co_tui.inert import inert, one_line

STYLE: Final = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1f2328; --dim: #656d76; --edge: #d0d7de; --soft: #f6f8fa; --you: #0969da; --mark: #8250df;
  --bad: #cf222e; --good: #116329; --key: #8250df; --string: #0a3069; --number: #953800; --added: #dafbe1;
  --removed: #ffebe9; --added-word: #aceebb; --removed-word: #ffcecb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0d1117; --ink: #e6edf3; --dim: #8d96a0; --edge: #30363d; --soft: #161b22; --you: #58a6ff; --mark: #bc8cff;
    --bad: #ff7b72; --good: #7ee787; --key: #d2a8ff; --string: #a5d6ff; --number: #ffa657; --added: #12301b;
    --removed: #3c1618; --added-word: #1f5a2d; --removed-word: #7a2229;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
.about, .event, time { color: var(--dim); font-size: .85rem; }
.about { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 1rem; }
.about dt { display: inline; } .about dd { display: inline; margin: 0 0 0 .35rem; color: var(--ink); }
.filling { width: 100%; height: auto; margin: .5rem 0 1.5rem; }
.filling .area { fill: var(--you); opacity: .15; } .filling .line { fill: none; stroke: var(--you); stroke-width: 1.5; }
.filling .level { stroke: var(--edge); } .filling .limit { stroke: var(--bad); stroke-dasharray: 4 3; }
.filling .label { fill: var(--dim); font-size: 11px; } .filling .mark { fill: var(--mark); font-size: 13px; }
article { margin: 1.1rem 0; } article > header { display: flex; justify-content: space-between; gap: 1rem; }
article > header b { font-size: .9rem; } .user > header b { color: var(--you); }
.user > .text { border-left: 3px solid var(--you); padding-left: .75rem; }
img { display: block; max-width: min(100%, 40rem); max-height: 30rem; margin: .5rem 0; border-radius: 4px; }
details > img { margin: .6rem; }
.plain { white-space: pre-wrap; }
.text > :first-child { margin-top: .3rem; } .text > :last-child { margin-bottom: .3rem; }
.agent { margin-left: 1.5rem; }
details { border: 1px solid var(--edge); border-radius: 6px; margin: .6rem 0; }
summary { cursor: pointer; padding: .3rem .6rem; font-size: .85rem; color: var(--dim); }
summary b { color: var(--ink); font-weight: 600; } .failed summary b { color: var(--bad); }
details > pre, details > .text { margin: 0; padding: .5rem .6rem; border-top: 1px solid var(--edge); }
pre, code { font: .85rem/1.45 ui-monospace, monospace; background: var(--soft); }
pre { overflow-x: auto; padding: .6rem; white-space: pre-wrap; } code { padding: .1em .25em; } pre code { padding: 0; }
table { border-collapse: collapse; } td, th { border: 1px solid var(--edge); padding: .2rem .5rem; }
.event { margin: .6rem 0; } .compaction summary, .compaction { color: var(--mark); font-weight: 600; }
.cut { color: var(--bad); font-size: .85rem; }
a { color: var(--you); } .address, .dim { color: var(--dim); } .address { font-size: .85em; }
blockquote { margin: .6rem 0; padding: 0 0 0 .75rem; border-left: 3px solid var(--edge); color: var(--dim); }
li.task { list-style: none; margin-left: -1.2em; }
.diff { padding: .6rem; } .diff .added { background: var(--added); } .diff .removed { background: var(--removed); }
.diff mark { color: inherit; font-weight: 600; } .added mark { background: var(--added-word); }
.removed mark { background: var(--removed-word); }
pre code [class^="k"], pre code .ow { color: var(--key); } pre code [class^="s"] { color: var(--string); }
pre code [class^="c"] { color: var(--dim); } pre code [class^="m"] { color: var(--number); }
pre code .nf, pre code .nc, pre code .nd, pre code .nb, pre code .nt { color: var(--you); }
pre code .gi { color: var(--good); } pre code .gd { color: var(--bad); }
"""

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""Even if a message were taken for HTML, the browser would run and fetch nothing."""
GIST_CHARS: Final = 100
MAX_IMAGE_BYTES: Final = 20_000_000
MAX_PIXELS: Final = 200_000_000
DIFF_ROWS_OPEN: Final = 12
"""A longer diff is folded, as on the screen."""
_FOLDED: Final = frozenset({"thinking", "system", "attached", "command", "note"})


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
        ("context", filled(story.measured)),
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
        case ExportedEvent():
            return _exported_event(entry)


def _speech(entry: Speech) -> str:
    words, images = _text_and_images(entry.text, entry.images)
    is_reply = entry.role == "assistant"
    text = f'<div class="text{"" if is_reply else " plain"}">{as_html(words) if is_reply else _text(words)}</div>'
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
    gist = f"<b>{_line(use.label)}</b> {_line(use.gist)} · {_line(use.status)}"
    change = read_diff(use.diff)
    if change is not None:
        opened = " open" if len(change.rows) <= DIFF_ROWS_OPEN and not change.left_out else ""
        return f'<details class="{kind} change"{opened}><summary>{gist}</summary>{_diff(change)}</details>'
    arguments = f"<pre>{_text(argument_lines(use.arguments))}</pre>" if use.arguments.strip("{} ") else ""
    words, images = _text_and_images(use.result or "", use.images)
    result = f"<pre>{_text(words)}</pre>{images}" if use.result is not None else ""
    return f'<details class="{kind}"><summary>{gist}</summary>{arguments}{result}</details>'


def _diff(change: FileDiff) -> str:
    """The diff with line numbers, and the changed words marked."""
    rows = "\n".join(_diff_row(row, change.number_width) for row in with_marks(change.rows))
    more = f'\n<span class="dim">… {change.left_out:,} more lines</span>' if change.left_out else ""
    return f'<pre class="diff">{rows}{more}</pre>'


def _diff_row(row: DiffRow, width: int) -> str:
    if row.sign in ("gap", "note", "file"):
        return f'<span class="dim">{"⋮" if row.sign == "gap" else escape(row.text)}</span>'
    text, done = "", 0
    for first, last in row.marks:
        text += f"{escape(row.text[done:first])}<mark>{escape(row.text[first:last])}</mark>"
        done = last
    line = f"{row.sign}{text}{escape(row.text[done:])}"
    kind = {"+": "added", "-": "removed"}.get(row.sign, "same")
    return f'<span class="dim">{row.number:>{width}} │ </span><span class="{kind}">{line}</span>'


def _exported_event(entry: ExportedEvent) -> str:
    kind = "event compaction" if entry.is_compaction and not entry.is_undone else "event"
    words = f"{_time(entry.time)} {entry.symbol} {_text(entry.text)}"
    if not entry.detail.strip():
        return f'<p class="{kind}">{words}</p>'
    opened = " open" if entry.is_plan else ""
    return f'<details class="{kind}"{opened}><summary>{words}</summary><pre>{_text(entry.detail)}</pre></details>'


def _time(timestamp: str) -> str:
    return f'<time datetime="{escape(one_line(timestamp, 40))}">{clock(timestamp)}</time>'


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
