"""How the context is governed: one frozen record, made from the settings once. Imports nothing heavy."""

from enum import StrEnum

from co_tui.record import Record
from co_tui.settings import ContextSettings
from co_tui.settings.by_window import ByWindow


class CompactionRule(StrEnum):
    """Which rule decides when and what is summarised."""

    NONE = "none"
    WINDOW = "window"
    COMPRESS = "compress"
    TURNS = "turns"
    BACKGROUND = "background"
    RUN = "run"
    """Of delegations only: their own steps are compressed, the task and the earlier conversation stay (G3c)."""


class SummaryForm(StrEnum):
    """What stands where the summarised messages stood."""

    MARKER = "marker"
    PAIR = "pair"
    PROMPT = "prompt"
    FULL = "full"


class SummaryFallback(StrEnum):
    """What serves when no model can summarise."""

    OFFLINE = "offline"
    MARKER = "marker"
    LIMITS = "limits"


class Policy(Record):
    """Every choice and number by which a conversation is governed; numbers have the names of their settings."""

    rule: CompactionRule
    form: SummaryForm
    form_on_demand: SummaryForm
    """The form after a compaction that somebody asked for."""
    fallback: SummaryFallback
    asks_first: bool
    """Whether automatic compaction asks first."""
    holds_to_turn_end: bool
    """Whether automatic compaction waits for the end of the turn, as long as the request still fits."""
    reviews_summaries: bool
    """Whether a summary can be read and edited before it is applied."""
    restores_texts_only: bool
    """Whether a resumed session begins with texts of its last turns instead of its exact history."""
    truncates: bool
    """Whether the last guard leaves out what does not fit."""
    truncation_headroom: float
    max_prompt_tokens: int
    tool_output_trim_chars: int
    head_tail_chars: int
    archive_over_chars: int
    max_history_messages: int
    min_compaction_messages: int
    background_compaction_threshold: float | ByWindow
    buffer_exhaustion_threshold: float | ByWindow
    compression_threshold: float
    run_compression_low: float
    run_compression_high: float
    agent_max_context_tokens: int
    agent_max_context_turns: int
    few_turns: int
    considered_messages: int
    fallback_messages: int
    fallback_tokens: int
    summary_share: float | ByWindow
    compacted_share: float | ByWindow
    merged_share: float | ByWindow
    keep_recent_share: float | ByWindow
    recollection_share: float | ByWindow

    def for_delegation(self) -> "Policy":
        """The same for a part of the work that another agent does."""
        governed = self.rule is not CompactionRule.NONE
        return self.but(rule=CompactionRule.RUN if governed else self.rule, form=SummaryForm.FULL)

    def form_for(self, *, on_demand: bool) -> SummaryForm:
        return self.form_on_demand if on_demand else self.form


def policy_of(settings: ContextSettings) -> Policy:
    """What the settings say about the context."""
    form = SummaryForm(settings.summary_form)
    as_set = settings.on_demand_form == "as set"
    numbers = {name: getattr(settings, name) for name in Policy.FIELDS if name in ContextSettings.FIELDS}
    return Policy(
        rule=CompactionRule(settings.compaction),
        form=form,
        form_on_demand=form if as_set else SummaryForm(settings.on_demand_form),
        fallback=SummaryFallback(settings.summary_fallback),
        asks_first=settings.compaction_asks == "on",
        holds_to_turn_end=settings.compaction_waits == "turn",
        reviews_summaries=settings.compaction_review == "on",
        restores_texts_only=settings.restored == "texts",
        truncates=settings.truncation == "on",
        **numbers,
    )
