"""Blocks as lines: who speaks, what is said, what is folded away."""

from collections.abc import Callable

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from co_tui.session.tool_wording import BETWEEN_STEPS, diff_of, told_arguments
from co_tui.ui.widgets.block import Block
from co_tui.ui.widgets.look import Look
from co_tui.ui.widgets.prose import Prose

BAR = "▌ "
INDENT = "  "
MAX_RESULT_CHARS = 20_000
"""An opened tool result, or a prompt, shows this much; the log keeps all of it."""
MAX_REPLY_CHARS = 120_000
"""So much of a reply is drawn: laying out more would hold the keys up for over a second."""


class Laid:
    """A block laid out at one width: an empty line unless it stands tight, a head, a body and a foot."""

    def __init__(self, block: Block, look: Look, width: int) -> None:
        gap = [] if block.tight else [Strip.blank(0)]
        self._head = [*gap, *head_of(block, look, width)]
        self._prose: Prose | None = None
        self._body: list[Strip] = []
        self._fed = 0
        self._left_out: Callable[[int], list[Strip]] = lambda chars: look.plain(
            f"… {chars:,} more characters are in the log; `co-tui show` prints them", width, look.muted
        )
        self._foot: list[Strip] = []
        self._end = [Strip([Segment("✂ interrupted", look.warning)])] if block.interrupted else []
        if block.kind == "reply":
            self._prose = Prose(look, width)
            self.grow(block.text)
        else:
            self._body = _BODIES[block.kind](block, look, width)
            self._foot = self._end

    @property
    def can_grow(self) -> bool:
        return self._prose is not None

    def grow(self, text: str) -> None:
        """Add to a reply that is being streamed; beyond what is drawn of it, only counted."""
        assert self._prose is not None
        room = MAX_REPLY_CHARS - self._fed
        self._fed += len(text)
        if room > 0:
            self._prose.feed(text[:room])
        over = self._fed - MAX_REPLY_CHARS
        self._foot = [*(self._left_out(over) if over > 0 else ()), *self._end]

    @property
    def height(self) -> int:
        body = len(self._prose) if self._prose is not None else len(self._body)
        return len(self._head) + body + len(self._foot)

    @property
    def title_line(self) -> int:
        """The line a fold is opened and closed on."""
        return len(self._head)

    def lines_with(self, needle: str) -> list[int]:
        """The lines that hold the text (in small letters)."""
        return [n for n in range(self.height) if needle in self.line(n).text.lower()]

    def line(self, index: int) -> Strip:
        if index < len(self._head):
            return self._head[index]
        index -= len(self._head)
        body = len(self._prose) if self._prose is not None else len(self._body)
        if index < body:
            return self._prose[index] if self._prose is not None else self._body[index]
        return self._foot[index - body]


def estimated_height(block: Block, width: int) -> int:
    """A guess until the block is laid out; only the scroll bar sees it."""
    if block.folded:
        return 1 + block.first_of_reply + (not block.tight)
    text = block.text if block.kind != "tool" else block.text + block.result[:MAX_RESULT_CHARS]
    return text.count("\n") + len(text) // max(1, width) + 3


def head_of(block: Block, look: Look, width: int) -> list[Strip]:
    """Who speaks, and when."""
    if block.kind == "user":
        right = block.status or block.time
        return [_spread(Segment("You", look.you), Segment(right, look.muted), width)]
    if block.first_of_reply:
        return [_spread(Segment("co-tui", look.me), Segment(block.time, look.muted), width)]
    return []


def _spread(left: Segment, right: Segment, width: int) -> Strip:
    gap = max(1, width - cell_len(left.text) - cell_len(right.text))
    return Strip([left, Segment(" " * gap), right])


def _user(block: Block, look: Look, width: int) -> list[Strip]:
    bar = Segment(BAR, look.you)
    lines = [_prefixed(bar, line) for line in look.plain(block.text[:MAX_RESULT_CHARS], width - len(BAR))]
    if len(block.text) > MAX_RESULT_CHARS:
        more = f"… {len(block.text) - MAX_RESULT_CHARS:,} more characters were sent and are in the log"
        lines += [_prefixed(bar, line) for line in look.plain(more, width - len(BAR), look.muted)]
    return lines


def _foldable(block: Block, look: Look, width: int) -> list[Strip]:
    sign = "▸" if block.folded else "▾"
    name = block.tool_name if block.kind == "tool" else "thinking"
    status = block.status
    room = max(8, width - cell_len(name) - cell_len(status) - 8)
    gist = Text(block.gist if block.folded else "", overflow="ellipsis", no_wrap=True)
    gist.truncate(room, overflow="ellipsis")
    style = look.error if status == "failed" else look.muted
    left = Text.assemble((f"{sign} ", look.muted), (name, Style(bold=True)), "  ", (gist.plain, look.muted))
    gap = max(2, width - left.cell_len - cell_len(status))
    title = Text.assemble(left, " " * gap, (status, style))
    title.truncate(width, overflow="ellipsis")
    lines = look.lines(title, width)[:1]
    if not block.folded:
        inner = width - len(INDENT)
        body: list[Strip] = []
        if block.kind == "tool":
            body += _call(block, look, inner)
            if block.result:
                shown = block.result[:MAX_RESULT_CHARS]
                body += look.plain(shown, inner)
                if len(shown) < len(block.result):
                    more = f"… {len(block.result) - len(shown):,} more characters are in the log"
                    body += look.plain(more, inner, look.muted)
        else:
            body = look.plain(block.text, inner, look.muted)
        lines += [_prefixed(Segment(INDENT), line) for line in body]
    return lines


def _call(block: Block, look: Look, width: int) -> list[Strip]:
    """What was asked of a tool; a change of a file as the lines that went and came."""
    changed = diff_of(block.tool_name, block.text)
    if not changed:
        return look.plain(told_arguments(block.text), width, look.muted) if block.text.strip("{}") else []
    shown = "\n".join(changed)[:MAX_RESULT_CHARS].split("\n")
    styles = {"+": look.me, "-": look.error}
    head = look.plain(block.gist, width, look.muted)
    return [*head, *(strip for line in shown for strip in look.plain(line, width, styles.get(line[:1])))]


def _plan(block: Block, look: Look, width: int) -> list[Strip]:
    """One line, in which the step under way is seen; opened, a line for each step."""
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
    return _hanging(Segment("· ", look.muted), look.plain(block.text, width - 2, look.muted))


def _error(block: Block, look: Look, width: int) -> list[Strip]:
    return _hanging(Segment("✗ ", look.error), look.plain(block.text, width - 2, look.error))


def _hanging(sign: Segment, lines: list[Strip]) -> list[Strip]:
    """The sign once, and what follows under the words."""
    return [_prefixed(sign if n == 0 else Segment(INDENT), line) for n, line in enumerate(lines)]


_BODIES: dict[str, Callable[[Block, Look, int], list[Strip]]] = {
    "user": _user,
    "thinking": _foldable,
    "tool": _foldable,
    "plan": _plan,
    "note": _note,
    "error": _error,
}


def _prefixed(prefix: Segment, line: Strip) -> Strip:
    return Strip([prefix, *line])
