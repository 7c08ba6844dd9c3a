"""The details of a compaction: what was kept and why, and what it cost."""

from collections.abc import Sequence

from rich.style import Style
from rich.table import Table
from rich.text import Text

from co_tui.events import CompactionComplete, Event
from co_tui.events.model_names import short_name
from co_tui.events.stored_messages import NOT_A_HEADING, QUOTES, RULES, pieces
from co_tui.events.triggers import trigger_label
from co_tui.inert import inert
from co_tui.session.state.session_state import Entry, SessionState
from co_tui.ui.dialogs.choose_message import Row, row_of, text_of_all
from co_tui.ui.formatting import counted, money
from co_tui.ui.text.summary_text import summary_text
from co_tui.ui.text.text_rendering import TextRenderer

OFFLINE = "offline"
AS_SENT = "What the model gets, word for word."
QUOTE_LEGEND = " › marks a quoted line that looks like a heading."


def summary_as_sent(fact: CompactionComplete) -> str:
    """The text that is in the context now; without a replacement, the summary alone."""
    return "\n\n".join(map(text_of_all, fact.replacement)) or fact.summary


def shown_summary(fact: CompactionComplete, renderer: TextRenderer) -> Text:
    """What the model gets now, for people."""
    sent = summary_as_sent(fact) or "No summary."
    quotes = any(line.lstrip().startswith(NOT_A_HEADING) for line in sent.splitlines())
    head = Text().append(f"{AS_SENT}{QUOTE_LEGEND if quotes else ''}\n\n", renderer.muted)
    return head.append_text(summary_text(sent, renderer))


def kept_rows(event: Event, state: SessionState) -> list[Row]:
    """The messages kept by the compaction, each with the reason."""
    assert isinstance(event.fact, CompactionComplete)
    rows = []
    for message in event.fact.replacement:
        carried = message.get("metadata") or {}
        rows += [Row((0, 0), 0, "you", text, "standing rule ·") for text in carried.get(RULES, ())]
        rows += [Row((0, 0), 0, "you", text, "user message ·") for text in carried.get(QUOTES, ())]
    rewrite = next((each for each in state.rewrites if each.seq == event.seq), None)
    kept = [entry for entry in rewrite.after if entry.seq != event.seq] if rewrite else []
    return [*rows, *(row_of(entry, _why(entry, state)) for entry in kept), *_recollected(event, state)]


def _recollected(event: Event, state: SessionState) -> list[Row]:
    """What was recollected after this compaction and is still in the request."""
    fact, latest = state.recollection, state.rewrites[-1] if state.rewrites else None
    if fact is None or latest is None or latest.seq != event.seq:
        return []
    return [Row((0, 0), 0, "recollected", line, "restored ·") for line in fact.note.splitlines()[1:] if line.strip()]


def _why(entry: Entry, state: SessionState) -> str:
    if entry.ref in state.pins:
        return "pinned ·"
    if any(role == "system" for role, _, _ in pieces(entry.message)):
        return "system ·"
    return "recent ·"


def receipt(rows: Sequence[tuple[str, str]], name_style: Style) -> Table:
    """Names and values, in columns."""
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(Text(name, name_style), Text(inert(value), overflow="fold"))
    return table


def figures(fact: CompactionComplete) -> list[tuple[str, str]]:
    """What the compaction cost, and what it saves."""
    waited = f"you waited {fact.waited_ms / 1000:.1f} s" if fact.waited_ms else "in the background"
    rows = [
        ("context", f"{fact.pre_tokens:,} → {fact.post_tokens:,} tokens: {_fewer(fact.tokens_removed)}"),
        ("messages", f"{fact.pre_messages:,} → {fact.post_messages:,}"),
        ("why", trigger_label(fact.trigger) or "the window was almost full"),
        _author(fact),
        ("took", f"{fact.duration_ms / 1000:.1f} s, {waited}"),
    ]
    if fact.usage:
        read, written, requests = (fact.usage.get(key, 0) for key in ("input_tokens", "output_tokens", "requests"))
        rows.append(("summary used", f"{read:,} tokens in, {written:,} out, {counted(requests, 'request')}"))
    rows.append(("summary cost", money(fact.cost) if fact.cost is not None else "unknown" if fact.usage else "nothing"))
    if fact.saved_cost:
        rows.append(("saves", f"{money(fact.saved_cost)} on each request"))
    if fact.cache_lost_tokens:
        rows.append(("cache", f"{fact.cache_lost_tokens:,} cached tokens are no longer used"))
    if fact.checkpoint_path:
        rows.append(("checkpoint", f"{fact.checkpoint_number}: {fact.checkpoint_path}"))
    if remark := fact.note or fact.error:
        rows.append(("note", remark))
    return rows


def _author(fact: CompactionComplete) -> tuple[str, str]:
    if fact.summarised_by == OFFLINE:
        return "summary", "work journal, written without a model"
    by = short_name(fact.summarised_by)
    return ("summarised by", by) if by else ("summary", "none")


def _fewer(tokens: int) -> str:
    """For a very short history, the tools added for archived messages outweigh what was removed."""
    return f"{abs(tokens):,} {'fewer' if tokens >= 0 else 'more'} in each request"
