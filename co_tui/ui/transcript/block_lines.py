"""What each kind of block looks like, line by line: who speaks, what is said, what is folded away."""

import re
from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.session.tool_wording import BETWEEN_STEPS, INTERRUPTED, argument_lines, diff_of
from co_tui.ui.text.text_rendering import Look, prose_width
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.diff_lines import coloured_diff, holds_diff

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
"""An opened tool result, or a prompt, shows this much; the log keeps all of it."""
PROMPT_LINES_LEFT = 30
"""So many lines of a long prompt show until it is opened."""


def head_of(block: Block, look: Look, width: int) -> list[Strip]:
    """Who speaks, and when."""
    narrow, pin = prose_width(width), Segment(PINNED if block.pinned else "", look.you)
    if block.kind == "user":
        return [_spread(Segment("You", look.you), [pin, Segment(block.status or block.time, look.muted)], narrow)]
    if block.first_of_reply:
        return [_spread(Segment("co-tui", look.me), [pin, Segment(block.time, look.muted)], narrow)]
    if block.pinned and block.kind == "reply":
        return [_spread(Segment(""), [pin], narrow)]
    return []


def _spread(left: Segment, right: Sequence[Segment], width: int) -> Strip:
    gap = max(1, width - cell_len(left.text) - sum(cell_len(each.text) for each in right))
    return Strip([left, Segment(" " * gap), *right])


def _user(block: Block, look: Look, width: int) -> list[Strip]:
    bar, room = Segment(BAR, look.you), prose_width(width) - len(BAR)
    text = _beginning(block.text) if block.folded else block.text
    more = block.text.count("\n", len(text)) if block.folded else 0
    told = f"… {more:,} more lines: in the chat Enter opens it, v shows it whole" if more else ""
    lines = [*_clipped(text, look, room), *(look.plain(told, room, look.muted) if told else ())]
    return [_prefixed(bar, line) for line in lines]


def _beginning(text: str) -> str:
    """The first lines of a long prompt."""
    return "\n".join(text.split("\n", PROMPT_LINES_LEFT)[:PROMPT_LINES_LEFT])


def _clipped(text: str, look: Look, width: int, style: Style | None = None) -> list[Strip]:
    """As much of a text as is drawn, and how much more there is."""
    return [*look.plain(text[:MAX_RESULT_CHARS], width, style), *_left_out(len(text), look, width)]


def _left_out(chars: int, look: Look, width: int) -> list[Strip]:
    """What is said of a text that is longer than is drawn of it."""
    if chars <= MAX_RESULT_CHARS:
        return []
    words = f"… {chars - MAX_RESULT_CHARS:,} more characters: v in the chat shows them all"
    return look.plain(words, width, look.muted)


def _foldable(block: Block, look: Look, width: int) -> list[Strip]:
    name = block.tool_name if block.kind == "tool" else "thinking"
    title = [_title(block, name, look, prose_width(width))]
    if block.folded:
        return title
    body = _opened_tool(block, look, width - len(INDENT)) if block.kind == "tool" else _thought(block, look, width)
    return [*title, *(_prefixed(Segment(INDENT), line) for line in body)]


def _title(block: Block, name: str, look: Look, width: int) -> Strip:
    """One line: what it is, what it is about, and how it ended."""
    pin = PINNED if block.pinned and not block.first_of_reply else ""
    room = width - cell_len(name) - cell_len(pin) - 6
    gist = Text(block.gist if block.folded else "", overflow="ellipsis", no_wrap=True)
    status = _shortened(block.status, room - gist.cell_len)
    gist.truncate(max(8, room - cell_len(status)), overflow="ellipsis")
    sign = "▣ " if block.is_drawn_image else "▸ " if block.folded else "▾ "
    left = Text.assemble((sign, look.muted), (name, Style(bold=True)), "  ", (gist.plain, look.muted))
    gap = max(2, width - left.cell_len - cell_len(pin + status))
    title = Text.assemble(left, " " * gap, (pin, look.you), _ended(status, look))
    title.truncate(width, overflow="ellipsis")
    return look.lines(title, width)[0]


def _shortened(status: str, room: int) -> str:
    """How it ended and how long that took; the figures between them only where there is room."""
    items = status.split(BETWEEN_FIGURES)
    while len(items) > 2 and cell_len(BETWEEN_FIGURES.join(items)) > room:
        del items[-2]
    return BETWEEN_FIGURES.join(items)


def _ended(status: str, look: Look) -> Text:
    """What went wrong stands out from what went as usual."""
    end = status.partition(BETWEEN_FIGURES)[0]
    if end == "failed" or _WENT_WRONG.fullmatch(end):
        return Text(status, look.error)
    if changed := _CHANGED.fullmatch(status):
        return Text.assemble((changed[1], look.reply), (changed[2] or "", look.error))
    return Text(status, look.warning if end in ("refused", INTERRUPTED) else look.muted)


def _thought(block: Block, look: Look, width: int) -> list[Strip]:
    return _clipped(block.text, look, prose_width(width) - len(INDENT), look.muted)


def _opened_tool(block: Block, look: Look, width: int) -> list[Strip]:
    """What was asked, and what came of it; as wide as there is room."""
    asked = _call(block, look, width)
    shown = block.result[:MAX_RESULT_CHARS]
    if not shown:
        return asked
    said = coloured_diff(shown.split("\n"), look, width) if holds_diff(shown) else look.plain(shown, width)
    return [*asked, *said, *_left_out(len(block.result), look, width)]


def _call(block: Block, look: Look, width: int) -> list[Strip]:
    """What was asked of a tool; a change of a file as the lines that went and came."""
    changed = diff_of(block.tool_name, block.text)
    if not changed:
        told = argument_lines(block.text) if block.text.strip("{}") else ""
        return _clipped(told, look, width, look.muted) if told else []
    shown = "\n".join(changed)[:MAX_RESULT_CHARS].split("\n")
    return [*look.plain(block.gist, width, look.muted), *coloured_diff(shown, look, width)]


def _plan(block: Block, look: Look, width: int) -> list[Strip]:
    """One line, in which the step under way is seen; opened, a line for each step."""
    width = prose_width(width)
    line = Text.assemble(("☑ ", look.me), _with_present_step(block.text, width - 2))
    line.truncate(width, overflow="ellipsis")
    opened = [] if block.folded else look.plain(block.result, width - len(INDENT))
    return [*look.lines(line, width)[:1], *(_prefixed(Segment(INDENT), each) for each in opened)]


def _with_present_step(progress: str, width: int) -> str:
    """Without the first steps, when these would keep the present one out of sight."""
    figures, gap, told = progress.partition("  ")
    steps = told.split(BETWEEN_STEPS)
    present = next((n for n, step in enumerate(steps) if step.startswith("▶")), 0)
    if cell_len(BETWEEN_STEPS.join([figures, gap, *steps[: present + 1]])) <= width:
        return progress
    return f"{figures}{gap}{BETWEEN_STEPS.join(['…', *steps[present:]])}"


def _note(block: Block, look: Look, width: int) -> list[Strip]:
    return _hanging(Segment("· ", look.muted), _clipped(block.text, look, prose_width(width) - 2, look.muted))


def _compaction(block: Block, look: Look, width: int) -> list[Strip]:
    """Stands out among what is said, with the sign it has everywhere."""
    what, colon, figures = block.text.partition(":")
    told = Text.assemble((what, look.compaction), (f"{colon}{figures}", look.muted))
    sign = Segment(f"{COMPACTED_SYMBOL} ", look.compaction)
    return _hanging(sign, look.lines(told, prose_width(width) - 2))


def _welcome(block: Block, look: Look, width: int) -> list[Strip]:
    """What it is for first; what can be tried stands out from what it does."""
    text = Text(block.text, look.muted)
    text.stylize(look.me, 0, max(0, block.text.find("\n")))
    text.highlight_regex(TO_TRY, look.text)
    text.highlight_regex(KEY_NAMES, look.you)
    return look.lines(text, prose_width(width))


def _error(block: Block, look: Look, width: int) -> list[Strip]:
    """What went wrong in its colour; what to do about it as any other words."""
    shown, room = block.text[:MAX_RESULT_CHARS].expandtabs(4), prose_width(width) - 2
    told = Text(shown, look.text, overflow="fold")
    end = _SENTENCE_END.search(shown)
    told.stylize(look.error, 0, end.start() if end else None)
    return _hanging(Segment("✗ ", look.error), [*look.lines(told, room), *_left_out(len(block.text), look, room)])


def _hanging(sign: Segment, lines: list[Strip]) -> list[Strip]:
    """The sign once, and what follows under the words."""
    return [_prefixed(sign if n == 0 else Segment(INDENT), line) for n, line in enumerate(lines)]


BODIES: dict[str, Callable[[Block, Look, int], list[Strip]]] = {
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
