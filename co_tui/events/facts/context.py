"""What the model sees: how full the context is, and how it was compacted, restored or pinned."""

from typing import Final

from co_tui.events.facts.base import NOTHING, Announced, Json, Logged, Occurrence, Ref
from co_tui.events.model_names import model_name, short_name
from co_tui.events.stored_messages import REPLACES, replacing_texts
from co_tui.events.symbols import COMPACTED_SYMBOL, EntryKind, EntryStyle, EntryWeight
from co_tui.events.triggers import trigger_label
from co_tui.events.wording import COMPACTED, ExportEntry, counted, long, money, short, tokens
from co_tui.inert import one_line


def share_of(tokens: int, limit_tokens: int) -> float:
    """The filled share of a limit; 0 if the limit is unknown."""
    return tokens / limit_tokens if limit_tokens > 0 else 0.0


class UsageInfo(Logged):
    """How full the context is: the only source for every gauge."""

    TYPE = "session.usage_info"
    ENTRY = None
    token_limit: int
    current_tokens: int
    messages_count: int
    system_tokens: int
    conversation_tokens: int
    tool_definition_tokens: int
    is_initial: bool = False
    limit_known: bool = False
    limit_source: str = ""
    """`catalogue` if the limit is assumed because the model's maker publishes it."""
    measured: str = "estimate"
    model: str = ""
    input_tokens: int | None = None
    """Reported by the provider for the last request; None before its reply."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    """In older logs, what `RequestBilled` says now."""
    assumed_cost: float | None = None
    """As `cost`."""
    cache_saved: float | None = None
    """How much the provider's prompt cache saved; negative if filling the cache cost more."""
    learnt: Json = NOTHING
    """The meter's calibration after this reply, from which the next process continues."""
    agent: str = ""

    @property
    def fixed_tokens(self) -> int:
        """Instructions and tools, which compaction cannot reduce."""
        return self.system_tokens + self.tool_definition_tokens

    @property
    def share(self) -> float:
        """The filled share of the window."""
        return share_of(self.current_tokens, self.token_limit)

    def timeline_text(self) -> str:
        """A measurement: gauges show it."""
        return ""

    def export_entry(self) -> None:
        """A measurement: the chart of an export shows it."""


TURN: Final = "turn"
SUMMARY: Final = "summary"
TITLE: Final = "title"
BOARD: Final = "board"
"""What requests are sent for."""


class RequestBilled(Logged):
    """What a request to a model used and cost: of each that was sent and not refused, also if it was stopped."""

    TYPE = "request.billed"
    ENTRY = None
    what: str
    """`TURN`, or outside of turns `SUMMARY`, `TITLE` or `BOARD`."""
    model: str
    agent: str = ""
    measured: str = "estimate"
    """`provider` if the provider counted the tokens."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    """In US dollars, if the model's prices are known."""
    assumed_cost: float | None = None
    """The same at the prices of the model's maker, if the server that answered publishes none."""

    def timeline_text(self) -> str:
        """A measurement: gauges show the sum."""
        return ""

    def export_entry(self) -> None:
        """As above."""


class Truncation(Logged):
    """Messages were left out of one request; the history is unchanged."""

    TYPE = "session.truncation"
    ENTRY = EntryStyle("✂", EntryKind.CONTEXT, EntryWeight.NOTABLE)
    pre_tokens: int
    post_tokens: int
    pre_messages: int
    post_messages: int
    tokens_removed: int
    messages_removed: int
    performed_by: str
    messages_clipped: int = 0
    """How many messages were clipped; 0 in older logs."""
    left_out: tuple[Ref, ...] = ()
    """The messages newly left out; they stay out until the history is rewritten."""
    clipped_chars: int = 0
    """Tool results of messages up to `clipped_upto` were clipped to this length; 0 if none was."""
    clipped_upto: tuple[Ref, ...] = ()
    agent: str = ""

    @property
    def what_is_less(self) -> str:
        """How many messages were left out, and how many clipped."""
        left_out = counted(self.messages_removed, "message") if self.messages_removed else ""
        clipped = (
            f"{self.messages_clipped:,} clipped" if left_out else f"{counted(self.messages_clipped, 'message')} clipped"
        )
        if not self.messages_clipped:
            clipped = "results clipped" if self.clipped_chars and not left_out else ""
        return ", ".join(filter(None, (left_out, clipped)))

    def timeline_text(self) -> str:
        return " · ".join(filter(None, (f"truncated −{tokens(self.tokens_removed)}", self.what_is_less)))

    def export_entry(self) -> ExportEntry:
        figures = filter(None, (self.what_is_less, f"−{self.tokens_removed:,} tokens"))
        return ExportEntry(f"Request truncated: {', '.join(figures)}")


class Recollection(Logged):
    """Lines that had left the context were added to a message again because they are relevant to the newest step.

    They are part of every request until the history is rewritten; the history itself is unchanged.
    Without a note it records a search that found nothing, so that it is not repeated.
    """

    TYPE = "session.recollection"
    ENTRY = EntryStyle("↩", EntryKind.MEMORY, is_quiet=True)
    messages: tuple[Ref, ...]
    """The message they were added to."""
    note: str
    """As sent to the model; empty if nothing was found."""
    lines: int = 0
    tokens: int = 0
    sources: tuple[Ref, ...] = ()
    """The messages the lines come from."""
    agent: str = ""

    def entry(self) -> EntryStyle | None:
        return self.ENTRY if self.note else None

    def timeline_text(self) -> str:
        return f"brought back\n{counted(self.lines, 'line')}" if self.note else ""

    def export_entry(self) -> ExportEntry | None:
        return ExportEntry(f"{counted(self.lines, 'line')} brought back into the context") if self.note else None


class ArtifactStored(Occurrence):
    TYPE = "artifact.stored"
    ENTRY = EntryStyle("+", EntryKind.WORK, is_quiet=True)
    agent: str = ""


class MemoryWritten(Occurrence):
    TYPE = "memory.written"
    ENTRY = EntryStyle("+", EntryKind.MEMORY, is_quiet=True)

    def export_entry(self) -> ExportEntry:
        """Without the path, which is private."""
        return ExportEntry("Summary saved to the daily memory")


class CompactionStart(Logged):
    TYPE = "session.compaction_start"
    ENTRY = EntryStyle("◇", EntryKind.COMPACTION, EntryWeight.LIGHT, is_quiet=True)
    trigger: str
    focus: str = ""
    system_tokens: int = 0
    conversation_tokens: int = 0
    tool_definition_tokens: int = 0
    messages: int = 0
    """How many are being summarised."""
    blocks: bool = True
    """Whether a request waits for it; otherwise it runs in the background."""
    agent: str = ""

    def description(self) -> str:
        """What is done, why, and of how much, line by line."""
        why = trigger_label(self.trigger)
        sizes = (("system", self.system_tokens), ("tools", self.tool_definition_tokens))
        parts = [f"{name} {tokens(count)}" for name, count in (*sizes, ("conversation", self.conversation_tokens))]
        lines = (
            f"Summarises {counted(self.messages, 'message')}{f', {why}' if why else ''}.",
            "The next request waits for it."
            if self.blocks
            else "It runs in the background; the conversation continues.",
            f"Focus: {self.focus}" if self.focus else "",
            f"Tokens before: {' · '.join(parts)}.",
        )
        return "\n".join(filter(None, lines))

    def timeline_text(self) -> str:
        why = trigger_label(self.trigger) or ("in the background" if self.trigger == "background" else "")
        return f"compacting\n{f'{why} · ' if why else ''}{counted(self.messages, 'message')}"

    def export_entry(self) -> None:
        """Its end is exported."""


class MemoryReleased(Announced):
    """What left the history was packed: subscribers hold it as the state does now."""

    TYPE = "session.memory_released"


class SpentToday(Announced):
    """What all sessions have spent since midnight, in US dollars; announced while a daily limit is set."""

    TYPE = "session.spent_today"
    dollars: float


class CompactionWait(Announced):
    """A request waits for a compaction that started in the background."""

    TYPE = "compaction.wait"
    share: float = 0.0
    """How full the context is."""
    over: bool = False
    """The wait has ended, whatever the outcome."""


class CompactionComplete(Logged):
    """The end of a compaction. On success `replacement` takes the position of the first of `replaced`."""

    TYPE = "session.compaction_complete"
    success: bool
    cancelled: bool = False
    error: str = ""
    """Why it failed; empty on success."""
    note: str = ""
    """Remarks on a success, for instance why the model's summary was not used."""
    trigger: str = ""
    focus: str = ""
    """What the summary was asked to keep."""
    pre_tokens: int = 0
    post_tokens: int = 0
    pre_messages: int = 0
    post_messages: int = 0
    tokens_removed: int = 0
    messages_removed: int = 0
    replaced: tuple[Ref, ...] = ()
    replacement: tuple[Json, ...] = ()
    originals: int = 0
    """How many messages of the conversation are summarised now, those of earlier summaries included; 0 if unknown."""
    summarised_now: int | None = None
    """How many of these were in the context until now, and come back with `/undo`; None if unknown. `replaced` also has
    what earlier compactions made."""
    fixed_tokens: int = 0
    """Of `post_tokens`: instructions and tools. The rest is kept, summary and quotes; all 0 in older logs."""
    kept_tokens: int = 0
    summary_tokens: int = 0
    quoted_tokens: int = 0
    """The user's words and rules that the summary quotes."""
    summary: str = ""
    summarised_by: str = ""
    checkpoint_number: int | None = None
    checkpoint_path: str = ""
    model: str = ""
    request_id: str = ""
    usage: Json = NOTHING
    cost: float | None = None
    billed: bool = False
    """Whether `RequestBilled` counts its cost; in older logs, `cost` counts."""
    duration_ms: int = 0
    waited_ms: int = 0
    """How much of that a request waited."""
    mark_tokens: int = 0
    """The compaction threshold in tokens; 0 if the policy does not use tokens."""
    cache_lost_tokens: int = 0
    """Tokens of the last request that were cached and will not be for the next one."""
    saved_cost: float | None = None
    """How much less each further request costs, in US dollars, if the model's prices are known."""
    edited: bool = False
    """The user edited the summary."""
    summary_follows: bool = False
    """The messages left at once, and their summary joins the conversation when it is written."""
    supersedes: int = 0
    """The event of the compaction that this one completes, about the same messages: what was sent until the model's
    note came, or what left before its summary. Both are undone as one."""
    agent: str = ""

    @property
    def is_rewritten_by_user(self) -> bool:
        return self.edited and self.summarised_by == "you"

    @property
    def kept_messages(self) -> int:
        """How many messages were in the context and stay as they are."""
        return max(0, self.pre_messages - len(self.replaced))

    @property
    def account(self) -> str:
        """What became of the messages that were in the context, each counted once."""
        return (
            f"{counted(self.pre_messages, 'message')} before = "
            f"{len(self.replaced):,} replaced + {self.kept_messages:,} kept"
        )

    @property
    def in_all(self) -> str:
        """What earlier summaries stood for is summarised still; empty if there were none."""
        return f"{self.originals:,} summarised in all" if self._had_summaries else ""

    @property
    def _had_summaries(self) -> bool:
        now = self.summarised_now
        return self.originals > (len(self.replaced) if now is None else now)

    @property
    def sent_text(self) -> str:
        """What requests say about the replaced messages; the summary if the log has no more."""
        return "\n\n".join(replacing_texts(self.replacement)) or self.summary

    def entry(self) -> EntryStyle:
        if self.cancelled:
            return EntryStyle("◇", EntryKind.COMPACTION)
        if not self.success:
            return EntryStyle("✗", EntryKind.COMPACTION, EntryWeight.BAD)
        if self.is_rewritten_by_user:
            return EntryStyle("✎", EntryKind.COMPACTION)
        return EntryStyle(COMPACTED_SYMBOL, EntryKind.COMPACTION, EntryWeight.HEAVY)

    def timeline_text(self) -> str:
        if self.cancelled:
            return "compaction cancelled"
        if not self.success:
            return f"compaction failed\n{short(self.error)}"
        if self.is_rewritten_by_user:
            return "summary edited by you"
        if not self.replaced:
            return f"{COMPACTED}\nby {one_line(model_name(self.summarised_by), 20)}"
        return "\n".join(filter(None, (COMPACTED, *self._timeline_figures())))

    def _timeline_figures(self) -> tuple[str, ...]:
        change = f" · {(self.post_tokens / self.pre_tokens - 1) * 100:+.0f} %" if self.pre_tokens else ""
        saved = change.replace("-", "−")
        took = f"{self.duration_ms / 1000:.1f} s" if self.duration_ms >= 100 else "at once"
        checkpoint = f"checkpoint {self.checkpoint_number}" if self.checkpoint_number else ""
        cost = money(self.cost) if self.cost else ""
        return (
            f"{tokens(self.pre_tokens)} → {tokens(self.post_tokens)}{saved}",
            self._share,
            self.in_all,
            " · ".join(filter(None, (took, checkpoint, cost))),
        )

    def export_entry(self) -> ExportEntry:
        if self.cancelled:
            return ExportEntry("Compaction cancelled")
        if not self.success:
            return ExportEntry("Compaction failed", self.error)
        figures = (
            f"{self.pre_tokens:,} → {self.post_tokens:,} tokens" if self.replaced else "",
            self._share if self.replaced else "",
            self.in_all,
            self._how(long(short_name(self.summarised_by))) if self.summarised_by else "",
            f"focus: {long(self.focus)}" if self.focus else "",
            f"{self.duration_ms / 1000:.1f} s" if self.duration_ms else "",
            f"${self.cost:.4f}" if self.cost else "",
        )
        return ExportEntry(" · ".join(filter(None, (COMPACTED, *figures))), self.sent_text)

    def outcome_sentence(self) -> str:
        """What the chat and the command line say when it ends."""
        if self.cancelled:
            return "Compaction cancelled. Nothing changed."
        if not self.success:
            return f"Compaction failed, nothing changed: {self.error}."
        if not self.replaced:
            return f"{COMPACTED} by {model_name(self.summarised_by)} itself."
        if self.is_rewritten_by_user:
            return "Summary edited by you."
        note = f" ({self.note})" if self.note else ""
        return f"{COMPACTED}: {self.pre_tokens:,} → {self.post_tokens:,} tokens, {self._what_was_done()}{note}."

    def _how(self, model: str) -> str:
        """How it was summarised: a journal needs no model."""
        return "as a work journal" if self.summarised_by == "offline" else f"by {model}"

    @property
    def _share(self) -> str:
        """How many messages of the conversation left the context: of all, or more than before."""
        now = len(self.replaced) if self.summarised_now is None else self.summarised_now
        if self.summarised_now is not None and self._had_summaries:
            return f"{now:,} more {'message' if now == 1 else 'messages'}"
        if self.supersedes and self.summarised_now is not None:
            return counted(self.summarised_now, "message")
        before = max(self.pre_messages, len(self.replaced))
        return f"{now:,} of {counted(before, 'message')}"

    def _what_was_done(self) -> str:
        if self.summarised_by:
            in_all = f", {self.in_all}" if self.in_all else ""
            return f"{self._share} summarised {self._how(model_name(self.summarised_by))}{in_all}"
        kept = sum(REPLACES not in (message.get("metadata") or {}) for message in self.replacement)
        removed = len(self.replaced) - kept
        if self.summary_follows:
            return f"{counted(removed, 'message')} left, their summary follows"
        return f"{counted(removed, 'message')} removed, no summary" if removed > 0 else "texts shortened, no summary"


class CompactionUndone(Logged):
    """A rewrite of the history was undone: a compaction, a clearing or a rewind. Later messages stay."""

    TYPE = "session.compaction_undone"
    ENTRY = EntryStyle("↶", EntryKind.COMPACTION)
    compaction_seq: int
    history: tuple[Ref, ...]
    what: str = "compaction"
    """Or `clearing`, or `rewind`."""

    def entry(self) -> EntryStyle:
        is_of_context = self.what in ("clearing", "rewind")
        return self.ENTRY._replace(kind=EntryKind.CONTEXT) if is_of_context else self.ENTRY

    def timeline_text(self) -> str:
        return f"{short(self.what)} undone"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Undone: {long(self.what)}")


class Pin(Logged):
    """Messages were pinned or unpinned; `history` is set if one of them returned to it."""

    TYPE = "session.pin"
    ENTRY = EntryStyle("◉", EntryKind.CONTEXT)
    messages: tuple[Ref, ...]
    pinned: bool = True
    history: tuple[Ref, ...] = ()

    def timeline_text(self) -> str:
        return f"{counted(len(self.messages), 'message')} {'pinned' if self.pinned else 'unpinned'}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(self.timeline_text())


class Clear(Logged):
    """The history was cleared down to these messages."""

    TYPE = "session.clear"
    ENTRY = EntryStyle("⌫", EntryKind.CONTEXT)
    history: tuple[Ref, ...] = ()
    messages_removed: int = 0
    carried: tuple[Json, ...] = ()
    """Messages built from what was removed, such as standing rules."""
    carried_at: int = 0
    """They follow this many messages of `history`."""

    def timeline_text(self) -> str:
        return f"cleared · {counted(self.messages_removed, 'message')}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Context cleared: {counted(self.messages_removed, 'message')} removed")


BY_IMPORT: Final = "import"


class Rewind(Logged):
    TYPE = "session.rewind"
    ENTRY = EntryStyle("↶", EntryKind.CONTEXT)
    to_seq: int
    history: tuple[Ref, ...]
    by: str = ""
    """`BY_IMPORT` if what followed was still being written when it was imported, or is read again; empty if the user
    rewound."""
    messages_again: int = 0
    compactions_again: int = 0
    """How many messages and compactions an import has again after it; they count once."""

    def timeline_text(self) -> str:
        return f"rewound · {len(self.history):,} in context"

    def export_entry(self) -> ExportEntry:
        return ExportEntry("Conversation rewound")
