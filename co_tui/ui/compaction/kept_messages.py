"""What a compaction kept: whole messages, and quotes of those it replaced. Each message is one row."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rich.text import Text

from co_tui.events import CompactionComplete, CompactionUndone, Event, Recollection
from co_tui.events.stored_messages import QUOTES, RULES, pieces, prompt_of, quoted_in
from co_tui.events.wording import clock, counted
from co_tui.inert import one_line
from co_tui.session.state.session_state import Entry, SessionState
from co_tui.ui.dialogs.choose_message import LINE_CHARS, first_piece, text_of_all

KEPT_WHOLE: Final = "Kept whole"
QUOTED: Final = "Quoted from what was replaced"
BROUGHT_BACK: Final = "Brought back later, for the current step"
WHY_COLUMNS, ROLE_COLUMNS = 14, 9
LEAST_TEXT_COLUMNS: Final = 20
SOURCE_CHARS: Final = 60


class KeptRow(NamedTuple):
    """A message, or a quote of one; a heading has only its text."""

    text: str
    why: str = ""
    time: str = ""
    role: str = ""
    turn: int = 0
    tokens: int = 0
    whole: str = ""

    @property
    def is_heading(self) -> bool:
        return not self.why

    def line(self, width: int) -> Text:
        if self.is_heading:
            return Text(self.text, "bold", no_wrap=True, overflow="ellipsis")
        size = f"{self.tokens:,}"
        head = f"  {self.why:<{WHY_COLUMNS}}"
        line = Text(head, "dim", no_wrap=True)
        if width >= len(head) + ROLE_COLUMNS + len(size) + LEAST_TEXT_COLUMNS + 7:
            line.append(f"{self.time:<7}", "dim")
        line.append(f"{self.role:<{ROLE_COLUMNS}}", "bold").append(self.text)
        line.truncate(max(1, width - len(size) - 2), overflow="ellipsis", pad=True)
        return line.append(f"  {size}", "dim")


def figures_after(fact: CompactionComplete) -> list[str]:
    """The account of a compaction: messages, then tokens, each as a sum."""
    sums = [f"{fact.account}, {fact.post_messages:,} after", f"{fact.pre_tokens:,} → {fact.post_tokens:,} tokens"]
    parts = fact.kept_tokens + fact.summary_tokens + fact.quoted_tokens
    if parts and parts + fact.fixed_tokens == fact.post_tokens:  # older logs have no parts, and any log may be damaged
        sums[1] += (
            f" = {fact.kept_tokens:,} kept + {fact.summary_tokens:,} summary + {fact.quoted_tokens:,} quotes"
            f" + {fact.fixed_tokens:,} instructions and tools"
        )
    if not fact.in_all:
        return sums
    if fact.summarised_now is None:
        return [*sums, f"{fact.in_all}, counting what earlier summaries replaced"]
    before = fact.originals - fact.summarised_now
    return [*sums, f"{fact.in_all}: {fact.summarised_now:,} now, {before:,} before, whose summaries were replaced"]


def kept_rows(event: Event, state: SessionState) -> list[KeptRow]:
    """All that is left of the messages that were in the context, under headings."""
    fact = event.fact
    assert isinstance(fact, CompactionComplete)
    rewrite = next((each for each in state.rewrites if each.seq == event.seq), None)
    replaced = [entry for ref in fact.replaced if (entry := state.entry(ref)) is not None]
    kept = _undone(event, fact, state)
    if rewrite is not None:
        kept = [entry for entry in rewrite.after if entry.seq != event.seq]
    recollection = state.recollection if rewrite is not None and rewrite is state.rewrites[-1] else None
    return [
        *_under(KEPT_WHOLE, _sized([_row(entry, _why(entry, state)) for entry in kept], fact.kept_tokens)),
        *_under(QUOTED, _sized(list(_quotes(fact, replaced)), fact.quoted_tokens)),
        *_under(BROUGHT_BACK, _brought_back(recollection, state) if recollection is not None else ()),
    ]


def _undone(event: Event, fact: CompactionComplete, state: SessionState) -> list[Entry]:
    """What a compaction had kept that was undone since."""
    seq, facts = event.seq or 0, (each.fact for each in state.timeline)
    undone = next((each for each in facts if isinstance(each, CompactionUndone) and each.compaction_seq == seq), None)
    refs = undone.history if undone is not None else ()
    kept = [ref for ref in refs if ref[0] < seq and ref not in fact.replaced]
    return [entry for ref in kept if (entry := state.entry(ref)) is not None]


def _under(heading: str, rows: Sequence[KeptRow]) -> list[KeptRow]:
    return [KeptRow(heading), *rows] if rows else []


def _sized(rows: list[KeptRow], tokens: int) -> list[KeptRow]:
    """With tokens that add up to a total; our own estimates if it is unknown."""
    from co_tui.context.measure.count import apportion, estimate_text

    own = [estimate_text(row.whole) for row in rows]
    sizes = apportion(tokens, own) if tokens else own
    return [row._replace(tokens=size) for row, size in zip(rows, sizes, strict=True)]


def _row(entry: Entry, why: str) -> KeptRow:
    role, text = first_piece(entry.message)
    return KeptRow(text, why, clock(entry.timestamp), role, entry.turn, whole=text_of_all(entry.message))


def _why(entry: Entry, state: SessionState) -> str:
    if entry.ref in state.pins:
        return "pinned"
    return "system" if any(role == "system" for role, _, _ in pieces(entry.message)) else "recent"


def _quotes(fact: CompactionComplete, replaced: Iterable[Entry]) -> Iterator[KeptRow]:
    """The user's own words, each once, with the time they were said."""
    said = {" ".join((prompt_of(entry.message) or "").split()): entry for entry in replaced}
    for kind, why in ((RULES, "rule"), (QUOTES, "your words")):
        for quote in dict.fromkeys(text for each in fact.replacement for text in quoted_in(each, kind)):
            entry = said.get(" ".join(quote.split()))
            time, turn = (clock(entry.timestamp), entry.turn) if entry is not None else ("", 0)
            yield KeptRow(one_line(quote, LINE_CHARS), why, time, "you", turn, whole=quote)


def _brought_back(fact: Recollection, state: SessionState) -> list[KeptRow]:
    """One row for each message that lines were taken from."""
    from co_tui.context.measure.count import apportion

    lines = [line.strip() for line in fact.note.splitlines()[1:] if line.strip()]
    sources = [entry for ref in fact.sources if (entry := state.entry(ref)) is not None]
    found = [[line for line in lines if line in text_of_all(entry.message)] for entry in sources]
    sizes = apportion(fact.tokens, [float(len(each)) for each in found])
    rows = []
    for entry, own, size in zip(sources, found, sizes, strict=True):
        row = _row(entry, "brought back")
        text = f"{one_line(row.text, SOURCE_CHARS)} · {counted(len(own), 'line')}" if own else row.text
        rows.append(row._replace(text=text, tokens=size, whole="\n".join(own) or row.whole))
    return rows
