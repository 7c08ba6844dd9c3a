"""Renders each kind of block to lines: speaker, text, folded parts, diffs."""

import re
from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from co_tui.events.symbols import COMPACTED_SIGN
from co_tui.session.tool_wording import BETWEEN_STEPS, INTERRUPTED, diff_of, told_arguments
from co_tui.ui.text.text_rendering import Look, prose_width
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


def head_of(block: Block, look: Look, width: int) -> list[Strip]:
    """The speaker's name and the time."""
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
    """The beginning of a text, and how much more there is."""
    return [*look.plain(text[:MAX_RESULT_CHARS], width, style), *_left_out(len(text), look, width)]


def _left_out(chars: int, look: Look, width: int) -> list[Strip]:
    """The line that says how many characters were left out."""
    if chars <= MAX_RESULT_CHARS:
        return []
    hint = f"… {chars - MAX_RESULT_CHARS:,} more characters: v in the chat shows them all"
    return look.plain(hint, width, look.muted)


def _foldable(block: Block, look: Look, width: int) -> list[Strip]:
    name = block.tool_name if block.kind == "tool" else "thinking"
    title = [_title(block, name, look, prose_width(width))]
    if block.folded:
        return title
    body = _opened_tool(block, look, width - len(INDENT)) if block.kind == "tool" else _thought(block, look, width)
    return [*title, *(_prefixed(Segment(INDENT), line) for line in body)]


def _title(block: Block, name: str, look: Look, width: int) -> Strip:
    """One line: name, gist and outcome."""
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
    """The outcome and the duration; the figures in between only if there is room."""
    items = status.split(BETWEEN_FIGURES)
    while len(items) > 2 and cell_len(BETWEEN_FIGURES.join(items)) > room:
        del items[-2]
    return BETWEEN_FIGURES.join(items)


def _ended(status: str, look: Look) -> Text:
    """The outcome, with failures highlighted."""
    end = status.partition(BETWEEN_FIGURES)[0]
    if end == "failed" or _WENT_WRONG.fullmatch(end):
        return Text(status, look.error)
    if changed := _CHANGED.fullmatch(status):
        return Text.assemble((changed[1], look.reply), (changed[2] or "", look.error))
    return Text(status, look.warning if end in ("refused", INTERRUPTED) else look.muted)


def _thought(block: Block, look: Look, width: int) -> list[Strip]:
    return _clipped(block.text, look, prose_width(width) - len(INDENT), look.muted)


def _opened_tool(block: Block, look: Look, width: int) -> list[Strip]:
    """The call and its result, over the full width."""
    asked = _call(block, look, width)
    shown = block.result[:MAX_RESULT_CHARS]
    if not shown:
        return asked
    said = coloured_diff(shown.split("\n"), look, width) if holds_diff(shown) else look.plain(shown, width)
    return [*asked, *said, *_left_out(len(block.result), look, width)]


def _call(block: Block, look: Look, width: int) -> list[Strip]:
    """A tool's arguments; a file change as a diff."""
    changed = diff_of(block.tool_name, block.text)
    if not changed:
        told = told_arguments(block.text) if block.text.strip("{}") else ""
        return _clipped(told, look, width, look.muted) if told else []
    shown = "\n".join(changed)[:MAX_RESULT_CHARS].split("\n")
    return [*look.plain(block.gist, width, look.muted), *coloured_diff(shown, look, width)]


def _plan(block: Block, look: Look, width: int) -> list[Strip]:
    """One line that shows the current step; unfolded, one line per step."""
    width = prose_width(width)
    line = Text.assemble(("☑ ", look.me), _with_present_step(block.text, width - 2))
    line.truncate(width, overflow="ellipsis")
    opened = [] if block.folded else look.plain(block.result, width - len(INDENT))
    return [*look.lines(line, width)[:1], *(_prefixed(Segment(INDENT), each) for each in opened)]


def _with_present_step(progress: str, width: int) -> str:
    """Drop the first steps where they would push the current one out of sight."""
    figures, gap, told = progress.partition("  ")
    steps = told.split(BETWEEN_STEPS)
    present = next((n for n, step in enumerate(steps) if step.startswith("▶")), 0)
    if cell_len(BETWEEN_STEPS.join([figures, gap, *steps[: present + 1]])) <= width:
        return progress
    return f"{figures}{gap}{BETWEEN_STEPS.join(['…', *steps[present:]])}"


def _note(block: Block, look: Look, width: int) -> list[Strip]:
    return _hanging(Segment("· ", look.muted), _clipped(block.text, look, prose_width(width) - 2, look.muted))


def _compaction(block: Block, look: Look, width: int) -> list[Strip]:
    """Highlighted, with the symbol that compactions have everywhere."""
    what, colon, figures = block.text.partition(":")
    told = Text.assemble((what, look.compaction), (f"{colon}{figures}", look.muted))
    sign = Segment(f"{COMPACTED_SIGN} ", look.compaction)
    return _hanging(sign, look.lines(told, prose_width(width) - 2))


def _welcome(block: Block, look: Look, width: int) -> list[Strip]:
    """The slogan first; examples and keys are highlighted."""
    text = Text(block.text, look.muted)
    text.stylize(look.me, 0, max(0, block.text.find("\n")))
    text.highlight_regex(TO_TRY, look.text)
    text.highlight_regex(KEY_NAMES, look.you)
    return look.lines(text, prose_width(width))


def _error(block: Block, look: Look, width: int) -> list[Strip]:
    """The first sentence in the error colour; what to do about it as plain text."""
    shown, room = block.text[:MAX_RESULT_CHARS].expandtabs(4), prose_width(width) - 2
    told = Text(shown, look.text, overflow="fold")
    end = _SENTENCE_END.search(shown)
    told.stylize(look.error, 0, end.start() if end else None)
    return _hanging(Segment("✗ ", look.error), [*look.lines(told, room), *_left_out(len(block.text), look, room)])


def _hanging(sign: Segment, lines: list[Strip]) -> list[Strip]:
    """Lines with a hanging indent behind a symbol."""
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


_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
LOOKED_AT_CHARS = 20_000


def holds_diff(text: str) -> bool:
    """Whether a text contains a unified diff."""
    return _HUNK.search(text, 0, LOOKED_AT_CHARS) is not None


def coloured_diff(lines: list[str], look: Look, width: int) -> list[Strip]:
    """Diff lines, with added and removed ones on a coloured background over the full width."""
    return [strip for line in lines for strip in _coloured(line, look, width)]


def _coloured(line: str, look: Look, width: int) -> list[Strip]:
    if line.startswith(("+++ ", "--- ", "diff ", "index ")):
        return look.plain(line, width, Style(bold=True))
    if line[:1] not in ("+", "-"):
        return look.plain(line, width, look.muted if line.startswith("@") else None)
    ground, sign = (look.came, look.me) if line[0] == "+" else (look.went, look.gone)
    text = Text.assemble((line[0], sign), line[1:].expandtabs(4), style=ground, overflow="fold")
    return [strip.extend_cell_length(width, ground) for strip in look.lines(text, width)]
