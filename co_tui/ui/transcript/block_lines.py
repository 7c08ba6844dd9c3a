"""Renders each kind of block to lines: speaker, text, folded parts, diffs."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from co_tui.events.file_diff import CHECKED, read_diff, with_marks
from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.events.tool_calls import tool_label
from co_tui.events.tool_wording import (
    BETWEEN_FIGURES,
    BETWEEN_STEPS,
    CUT_SHORT,
    DENIED,
    FAILED,
    FAILED_LINES,
    INTERRUPTED,
    STEP_CURRENT,
    STEP_DONE,
    TIMED_OUT,
    argument_lines,
    diff_of,
    failed_part,
)
from co_tui.events.wording import counted
from co_tui.late_pattern import late_pattern
from co_tui.ui.text.text_rendering import TextRenderer, prose_width
from co_tui.ui.transcript.block import DIFF_LINES_OPEN, Block

BAR = "▌ "
LINE_END = "\n"
BETWEEN_DONE = "   "
INDENT = "  "
PINNED = "◉ pinned  "
UNFOLDS = "Enter expands, v shows all"
NOT_IN_CONTEXT = "not in context"
QUOTED = ("quoted in the summary", "quoted")
DASH = "┄"
TO_TRY = re.compile(r"^  \S+(?: \S+)*", re.MULTILINE)
KEY_NAMES = re.compile(r"\b(?:Enter|F\d+|Ctrl\+\w)\b|(?<=  )[@!](?= )")
_WENT_WRONG = late_pattern(r"exit -?0*[1-9]\d*")
_CHANGED = late_pattern(r"(\+[\d,]+)( −[\d,]+)?")
_SENTENCE_END = late_pattern(r"(?<=[.!?])\s")
MAX_RESULT_CHARS = 20_000
CHECK_LINES = 8
"""Most characters shown of a tool result or prompt; the log has all of it."""
PROMPT_LINES_LEFT, PROMPT_CHARS_LEFT = 8, 800
"""Shown of a folded prompt."""


def head_of(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """The speaker's name and the time."""
    if block.queued:
        return []
    narrow, pin = prose_width(width), Segment(PINNED if block.pinned else "", renderer.you)
    if block.kind == "user" or block.first_of_reply:
        name = Segment(block.speaker_name, renderer.you if block.kind == "user" else renderer.me)
        time = Segment(block.status or block.time if block.kind == "user" else block.time, renderer.muted)
        room = narrow - cell_len(name.text + pin.text + time.text) - 1
        return [_spread(name, [pin, Segment(_removal_label(block, room), renderer.muted), time], narrow)]
    if block.pinned and block.kind == "reply":
        return [_spread(Segment(""), [pin], narrow)]
    return []


def _removal_label(block: Block, room: int) -> str:
    """That the model no longer sees it, and why; the longest form that fits."""
    if block.removal is None:
        return ""
    if block.quoted:
        return next((f"{form}  " for form in QUOTED if cell_len(form) + 2 <= room), "")
    forms = (f"{NOT_IN_CONTEXT} · {block.removal.reason}  " if block.removal.reason else "", f"{NOT_IN_CONTEXT}  ")
    return next((form for form in forms if form and cell_len(form) <= room), "")


def _spread(left: Segment, right: Sequence[Segment], width: int) -> Strip:
    gap = max(1, width - cell_len(left.text) - sum(cell_len(each.text) for each in right))
    return Strip([left, Segment(" " * gap), *right])


def _user(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    bar, room = Segment(BAR, renderer.you), prose_width(width) - len(BAR)
    if block.queued:
        return [_prefixed(bar, _queued(block, renderer, room))]
    text = whole = block.short or block.text if block.folded else block.text
    if block.folded and block.is_long_prompt:
        text = _beginning(whole)
    left = f"… {_rest(whole[len(text) :])} " if len(text) < len(whole) else ""
    more = f"{left}({UNFOLDS})" if left or (block.folded and block.short) else ""
    lines = [*_clipped(text, renderer, room), *(renderer.plain(more, room, renderer.muted) if more else ())]
    return [_prefixed(bar, line) for line in lines]


def _queued(block: Block, renderer: TextRenderer, width: int) -> Strip:
    """The start of a prompt, how much more of it there is, and why it waits."""
    first, newline, rest = block.text.strip().partition(LINE_END)
    more = f"+{counted(rest.count(LINE_END) + 1, 'line')}  " if newline else ""
    end = f"{more}{block.status}"
    text = Text(first[:width], renderer.text, overflow="ellipsis", no_wrap=True)
    text.truncate(max(8, width - cell_len(end) - 2), overflow="ellipsis")
    line = Text.assemble(text, " " * max(2, width - text.cell_len - cell_len(end)), (end, renderer.muted))
    line.truncate(width, overflow="ellipsis")
    return renderer.lines(line, width)[0]


def _beginning(text: str) -> str:
    """The first lines of a long prompt."""
    return "\n".join(text.split("\n", PROMPT_LINES_LEFT)[:PROMPT_LINES_LEFT])[:PROMPT_CHARS_LEFT]


def _rest(text: str) -> str:
    """How much of a prompt is folded away."""
    lines = text.removesuffix("\n").count("\n")
    return f"{lines:,} more lines" if lines > 1 else f"{len(text):,} more characters"


def _clipped(text: str, renderer: TextRenderer, width: int, style: Style | None = None) -> list[Strip]:
    """The beginning of a text, and how much more there is."""
    return [*renderer.plain(text[:MAX_RESULT_CHARS], width, style), *_left_out(len(text), renderer, width)]


def _left_out(chars: int, renderer: TextRenderer, width: int) -> list[Strip]:
    """The line that says how many characters were left out."""
    if chars <= MAX_RESULT_CHARS:
        return []
    hint = f"… {chars - MAX_RESULT_CHARS:,} more characters (v shows all)"
    return renderer.plain(hint, width, renderer.left_out)


def _foldable(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    name = tool_label(block.tool_name) if block.kind == "tool" else "thinking"
    title = [_title(block, name, renderer, prose_width(width))]
    if block.diff:
        body = _change(block, renderer, width - len(INDENT))
    elif block.folded:
        body = _failure(block, renderer, prose_width(width) - len(INDENT))
    elif block.kind == "tool":
        body = _opened_tool(block, renderer, width - len(INDENT))
    else:
        body = _clipped(block.text, renderer, prose_width(width) - len(INDENT), renderer.muted)
    return [*title, *(_prefixed(Segment(INDENT), line) for line in body)]


def _failure(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """Why a folded call failed; nothing for other blocks."""
    if block.kind != "tool" or block.outcome or not _is_failure(block.status):
        return []
    said = failed_part(block.tool_name, block.result)
    lines = renderer.plain(said, width, renderer.muted) if said else []
    return lines[:FAILED_LINES] if block.status.startswith(FAILED) else lines[-FAILED_LINES:]


def _change(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """The diff of a file change: all of it, its first lines while folded, or nothing of a short one."""
    from co_tui.ui.text.diff_lines import diff_strips

    change = read_diff(block.diff)
    if change is None or (block.folded and not block.previews_diff):
        return []
    rows = change.first_rows(DIFF_LINES_OPEN) if block.folded else with_marks(change.rows)
    lines = diff_strips(rows, change.number_width, renderer, width)
    if hidden := change.hidden_after(rows):
        where = f"{block.unfold_key} shows all" if block.folded else "too many to keep"
        lines += renderer.plain(f"… {hidden:,} more changed line{'s' * (hidden > 1)} · {where}", width, renderer.muted)
    return [*lines, *_checks(block, renderer, width)]


def _checks(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """What the user's checks found after the change: its first lines."""
    found = block.result.partition(CHECKED)[2].splitlines()
    more = [f"… {len(found) - CHECK_LINES:,} more lines (v shows all)"] if len(found) > CHECK_LINES else []
    return renderer.plain("\n".join([*found[:CHECK_LINES], *more]), width, renderer.muted) if found else []


def _title(block: Block, name: str, renderer: TextRenderer, width: int) -> Strip:
    """One line: name, gist and outcome."""
    pin = PINNED if block.pinned and not block.first_of_reply else ""
    room = width - cell_len(name) - cell_len(pin) - 6
    gist = Text(block.gist if block.folded or block.diff else "", overflow="ellipsis", no_wrap=True)
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
    if _is_failure(status):
        return Text(status, renderer.error)
    if changed := _CHANGED.fullmatch(status):
        return Text.assemble((changed[1], renderer.reply), (changed[2] or "", renderer.error))
    return Text(status, renderer.warning if end in (DENIED, INTERRUPTED, CUT_SHORT) else renderer.muted)


def _is_failure(status: str) -> bool:
    end = status.partition(BETWEEN_FIGURES)[0]
    return end.startswith((FAILED, TIMED_OUT)) or _WENT_WRONG.fullmatch(end) is not None


def _opened_tool(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """The call and its result, over the full width."""
    from co_tui.ui.text.diff_lines import coloured_diff, holds_diff

    asked = _call(block, renderer, width)
    shown = block.result[:MAX_RESULT_CHARS]
    if not shown:
        return asked
    if block.colours:
        said = renderer.printed(shown, block.colours, width)
    elif holds_diff(shown):
        said = coloured_diff(shown.split("\n"), renderer, width)
    else:
        said = renderer.plain(shown, width)
    return [*asked, *said, *_left_out(len(block.result), renderer, width)]


def _call(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """A tool's arguments; a file change as a diff."""
    from co_tui.ui.text.diff_lines import coloured_diff

    changed = diff_of(block.tool_name, block.text)
    if not changed:
        wording = argument_lines(block.text) if block.text.strip("{}") else ""
        return _clipped(wording, renderer, width, renderer.muted) if wording else []
    shown = "\n".join(changed)[:MAX_RESULT_CHARS].split("\n")
    return [*renderer.plain(block.gist, width, renderer.muted), *coloured_diff(shown, renderer, width)]


def _plan(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """A checklist; folded, one line that shows the current step."""
    width = prose_width(width)
    figures, _, _ = block.text.partition("  ")
    if block.folded:
        line = Text.assemble(("Plan", renderer.me), "  ", _with_present_step(block.text, width - 6))
        line.truncate(width, overflow="ellipsis")
        return renderer.lines(line, width)[:1]
    title = renderer.lines(Text.assemble(("Plan", renderer.me), "  ", (figures, renderer.muted)), width)
    steps = _steps(block.result.split("\n"), renderer, width - len(INDENT))
    return [*title, *(_prefixed(Segment(INDENT), each) for each in steps)]


def _steps(lines: Sequence[str], renderer: TextRenderer, width: int) -> list[Strip]:
    """A checklist: steps that are done share lines and are muted, each other one has its own."""
    strips: list[Strip] = []
    for is_done, group in groupby(lines, key=lambda line: line.startswith(STEP_DONE)):
        if is_done:
            strips += renderer.plain("\n".join(_filled(group, width)), width, renderer.muted)
            continue
        for line in group:
            style = renderer.text + Style(bold=line.startswith(STEP_CURRENT))
            strips += _hanging(Segment(line[:2], style), renderer.plain(line[2:], width - 2, style))
    return strips


def _filled(texts: Iterable[str], width: int) -> list[str]:
    """Texts side by side, as many as fit a line."""
    rows: list[str] = []
    for text in texts:
        if rows and cell_len(rows[-1]) + len(BETWEEN_DONE) + cell_len(text) <= width:
            rows[-1] += f"{BETWEEN_DONE}{text}"
        else:
            rows.append(text)
    return rows


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
    what, colon, figures = (block.text.rstrip(".") if block.undone else block.text).partition(":")
    style = renderer.muted if block.undone else renderer.compaction
    end = f"{BETWEEN_FIGURES}undone" if block.undone else ""
    wording = Text.assemble((what, style), (f"{colon}{figures}{end}", renderer.muted))
    symbol = Segment(f"{COMPACTED_SYMBOL} ", style)
    return _hanging(symbol, renderer.lines(wording, prose_width(width) - 2))


def _boundary(block: Block, renderer: TextRenderer, width: int) -> list[Strip]:
    """One line across; what does not fit is left out, the last item first."""
    width, items = prose_width(width), block.text.split(BETWEEN_FIGURES)
    while len(items) > 1 and cell_len(BETWEEN_FIGURES.join(items)) > width - 3:
        items.pop()
    line = Text.assemble((f"{DASH * 2} ", renderer.muted), (items[0], renderer.compaction), no_wrap=True)
    line.append("".join(f"{BETWEEN_FIGURES}{item}" for item in items[1:]), renderer.muted)
    line.append(f" {DASH * max(0, width - line.cell_len - 1)}", renderer.muted)
    line.truncate(width, overflow="ellipsis")
    return renderer.lines(line, width)[:1]


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
    "boundary": _boundary,
    "welcome": _welcome,
}


def _prefixed(prefix: Segment, line: Strip) -> Strip:
    return Strip([prefix, *line])
