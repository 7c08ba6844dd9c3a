"""Renders each kind of block to lines: speaker, text, folded parts, diffs."""

import re
from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.session.tool_wording import BETWEEN_STEPS, INTERRUPTED, argument_lines, diff_of
from co_tui.ui.text.text_rendering import TextRenderer, prose_width
from co_tui.ui.transcript.block import Block

BAR = "▌ "
INDENT = "  "
PINNED = "◉ pinned  "
TO_TRY = re.compile(r"^  \S+(?: \S+)*", re.MULTILINE)
KEY_NAMES = re.compile(r"\b(?:Enter|F\d+|Ctrl\+\w)\b|(?<=  )[@!](?= )")
BETWEEN_FIGURES = " · "
_WENT_WRONG = re.compile(r"exit -?0*[1-9]\d*")
_CHANGED = re.compile(r"(\+[\d,]+)( −[\d,]+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
MAX_RESULT_CHARS = 20_000
"""Most characters shown of a tool result or prompt; the log has all of it."""
PROMPT_LINES_LEFT = 30
"""Lines shown of a folded prompt."""


def head_of(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """The speaker's name and the time."""
    narrow, pin = prose_width(width), Segment(PINNED if block.pinned else "", renderer.you)
    if block.kind == "user":
        return [
            _spread(Segment("You", renderer.you), [pin, Segment(block.status or block.time, renderer.muted)], narrow)
        ]
    if block.first_of_reply:
        return [_spread(Segment("co-tui", renderer.me), [pin, Segment(block.time, renderer.muted)], narrow)]
    if block.pinned and block.kind == "reply":
        return [_spread(Segment(""), [pin], narrow)]
    return []


def _spread(left: Segment, right: Sequence[Segment], width: int) -> Strip:
    gap = max(1, width - cell_len(left.text) - sum(cell_len(each.text) for each in right))
    return Strip([left, Segment(" " * gap), *right])


def _user(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    bar, room = Segment(BAR, renderer.you), prose_width(width) - len(BAR)
    text = _beginning(block.text) if block.folded else block.text
    more = block.text.count("\n", len(text)) if block.folded else 0
    wording = f"… {more:,} more lines (Enter expands, v shows all)" if more else ""
    lines = [*_clipped(text, renderer, room), *(renderer.plain(wording, room, renderer.muted) if wording else ())]
    return [_prefixed(bar, line) for line in lines]


def _beginning(text: str) -> str:
    """The first lines of a long prompt."""
    return "\n".join(text.split("\n", PROMPT_LINES_LEFT)[:PROMPT_LINES_LEFT])


def _clipped(text: str, renderer: TextRenderer, width: int, style: Style | None = None) -> list[Strip]:
    """The beginning of a text, and how much more there is."""
    return [*renderer.plain(text[:MAX_RESULT_CHARS], width, style), *_left_out(len(text), renderer, width)]


def _left_out(chars: int, renderer: TextRenderer, width: int) -> list[Strip]:
    """The line that says how many characters were left out."""
    if chars <= MAX_RESULT_CHARS:
        return []
    hint = f"… {chars - MAX_RESULT_CHARS:,} more characters (v shows all)"
    return renderer.plain(hint, width, renderer.muted)


def _foldable(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    name = block.tool_name if block.kind == "tool" else "thinking"
    title = [_title(block, name, renderer, prose_width(width))]
    if block.folded:
        return title
    body = (
        _opened_tool(block, renderer, width - len(INDENT)) if block.kind == "tool" else _thought(block, renderer, width)
    )
    return [*title, *(_prefixed(Segment(INDENT), line) for line in body)]


def _title(block: Block, name: str, renderer: TextRenderer, width: int) -> Strip:
    """One line: name, gist and outcome."""
    pin = PINNED if block.pinned and not block.first_of_reply else ""
    room = width - cell_len(name) - cell_len(pin) - 6
    gist = Text(block.gist if block.folded else "", overflow="ellipsis", no_wrap=True)
    status = _shortened(block.status, room - gist.cell_len)
    gist.truncate(max(8, room - cell_len(status)), overflow="ellipsis")
    symbol = "▣ " if block.is_drawn_image else "▸ " if block.folded else "▾ "
    left = Text.assemble((symbol, renderer.muted), (name, Style(bold=True)), "  ", (gist.plain, renderer.muted))
    gap = max(2, width - left.cell_len - cell_len(pin + status))
    title = Text.assemble(left, " " * gap, (pin, renderer.you), _ended(status, renderer))
    title.truncate(width, overflow="ellipsis")
    return renderer.lines(title, width)[0]


def _shortened(status: str, room: int) -> str:
    """The outcome and the duration; the figures in between only if there is room."""
    items = status.split(BETWEEN_FIGURES)
    while len(items) > 2 and cell_len(BETWEEN_FIGURES.join(items)) > room:
        del items[-2]
    return BETWEEN_FIGURES.join(items)


def _ended(status: str, renderer: TextRenderer) -> Text:
    """The outcome, with failures highlighted."""
    end = status.partition(BETWEEN_FIGURES)[0]
    if end == "failed" or _WENT_WRONG.fullmatch(end):
        return Text(status, renderer.error)
    if changed := _CHANGED.fullmatch(status):
        return Text.assemble((changed[1], renderer.reply), (changed[2] or "", renderer.error))
    return Text(status, renderer.warning if end in ("refused", INTERRUPTED) else renderer.muted)


def _thought(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    return _clipped(block.text, renderer, prose_width(width) - len(INDENT), renderer.muted)


def _opened_tool(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """The call and its result, over the full width."""
    asked = _call(block, renderer, width)
    shown = block.result[:MAX_RESULT_CHARS]
    if not shown:
        return asked
    said = coloured_diff(shown.split("\n"), renderer, width) if holds_diff(shown) else renderer.plain(shown, width)
    return [*asked, *said, *_left_out(len(block.result), renderer, width)]


def _call(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """A tool's arguments; a file change as a diff."""
    changed = diff_of(block.tool_name, block.text)
    if not changed:
        wording = argument_lines(block.text) if block.text.strip("{}") else ""
        return _clipped(wording, renderer, width, renderer.muted) if wording else []
    shown = "\n".join(changed)[:MAX_RESULT_CHARS].split("\n")
    return [*renderer.plain(block.gist, width, renderer.muted), *coloured_diff(shown, renderer, width)]


def _plan(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """One line that shows the current step; unfolded, one line per step."""
    width = prose_width(width)
    line = Text.assemble(("☑ ", renderer.me), _with_present_step(block.text, width - 2))
    line.truncate(width, overflow="ellipsis")
    opened = [] if block.folded else renderer.plain(block.result, width - len(INDENT))
    return [*renderer.lines(line, width)[:1], *(_prefixed(Segment(INDENT), each) for each in opened)]


def _with_present_step(progress: str, width: int) -> str:
    """Drop the first steps where they would push the current one out of sight."""
    figures, gap, wording = progress.partition("  ")
    steps = wording.split(BETWEEN_STEPS)
    present = next((n for n, step in enumerate(steps) if step.startswith("▶")), 0)
    if cell_len(BETWEEN_STEPS.join([figures, gap, *steps[: present + 1]])) <= width:
        return progress
    return f"{figures}{gap}{BETWEEN_STEPS.join(['…', *steps[present:]])}"


def _note(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    return _hanging(
        Segment("· ", renderer.muted), _clipped(block.text, renderer, prose_width(width) - 2, renderer.muted)
    )


def _compaction(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """Highlighted, with the symbol that compactions have everywhere."""
    what, colon, figures = block.text.partition(":")
    wording = Text.assemble((what, renderer.compaction), (f"{colon}{figures}", renderer.muted))
    symbol = Segment(f"{COMPACTED_SYMBOL} ", renderer.compaction)
    return _hanging(symbol, renderer.lines(wording, prose_width(width) - 2))


def _welcome(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """The slogan first; examples and keys are highlighted."""
    text = Text(block.text, renderer.muted)
    text.stylize(renderer.me, 0, max(0, block.text.find("\n")))
    text.highlight_regex(TO_TRY, renderer.text)
    text.highlight_regex(KEY_NAMES, renderer.you)
    return renderer.lines(text, prose_width(width))


def _error(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """The first sentence in the error colour; what to do about it as plain text."""
    shown, room = block.text[:MAX_RESULT_CHARS].expandtabs(4), prose_width(width) - 2
    wording = Text(shown, renderer.text, overflow="fold")
    end = _SENTENCE_END.search(shown)
    wording.stylize(renderer.error, 0, end.start() if end else None)
    return _hanging(
        Segment("✗ ", renderer.error), [*renderer.lines(wording, room), *_left_out(len(block.text), renderer, room)]
    )


def _hanging(symbol: Segment, lines: list[Strip]) -> list[Strip]:
    """Lines with a hanging indent behind a symbol."""
    return [_prefixed(symbol if n == 0 else Segment(INDENT), line) for n, line in enumerate(lines)]


BODIES: dict[str, Callable[[Block, TextRenderer, int], list[Strip]]] = {
    "user": _user,
    "thinking": _foldable,
    "tool": _foldable,
    "plan": _plan,
    "note": _note,
    "error": _error,
    "compaction": _compaction,
    "welcome": _welcome,
}


def _prefixed(prefix: Segment, line: Strip) -> Strip:
    return Strip([prefix, *line])


_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
LOOKED_AT_CHARS = 20_000


def holds_diff(text: str) -> bool:
    """Whether a text contains a unified diff."""
    return _HUNK.search(text, 0, LOOKED_AT_CHARS) is not None


def coloured_diff(lines: list[str], renderer: TextRenderer, width: int) -> list[Strip]:
    """Diff lines, with added and removed ones on a coloured background over the full width."""
    return [strip for line in lines for strip in _coloured(line, renderer, width)]


def _coloured(line: str, renderer: TextRenderer, width: int) -> list[Strip]:
    if line.startswith(("+++ ", "--- ", "diff ", "index ")):
        return renderer.plain(line, width, Style(bold=True))
    if line[:1] not in ("+", "-"):
        return renderer.plain(line, width, renderer.muted if line.startswith("@") else None)
    background, symbol = (renderer.came, renderer.me) if line[0] == "+" else (renderer.went, renderer.gone)
    text = Text.assemble((line[0], symbol), line[1:].expandtabs(4), style=background, overflow="fold")
    return [strip.extend_cell_length(width, background) for strip in renderer.lines(text, width)]
