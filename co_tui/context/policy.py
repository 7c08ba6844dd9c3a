"""The context policy: one frozen record, built from the settings. Imports nothing heavy."""

from enum import StrEnum
from functools import cache
from typing import Any

from co_tui.events.triggers import Trigger
from co_tui.record import Record
from co_tui.settings import ContextSettings, Settings, check
from co_tui.settings.files import read_table
from co_tui.settings.policies.policy_code import PolicyCode
from co_tui.settings.policies.policy_files import BUILT_IN
from co_tui.settings.rules import ByWindow


class CompactionRule(StrEnum):
    """Which rule decides when to compact, and what."""

    NONE = "none"
    WINDOW = "window"
    COMPRESS = "compress"
    TURNS = "turns"
    BACKGROUND = "background"
    PYTHON = "python"
    """The policy's own code."""
    RUN = "run"
    """For delegations only: compresses their own steps, keeps the task and the earlier conversation (G3c)."""


class SummaryForm(StrEnum):
    """The form of the messages that replace summarised ones."""

    MARKER = "marker"
    PAIR = "pair"
    PROMPT = "prompt"
    FULL = "full"


class SummaryFallback(StrEnum):
    """What replaces a summary when no model can write one."""

    OFFLINE = "offline"
    MARKER = "marker"
    LIMITS = "limits"
    FAIL = "fail"
    """Nothing: the compaction fails, and the history stays as it is."""


class Policy(Record):
    """Every choice and number of a policy; numbers are named like their settings."""

    policy_code: PolicyCode | None
    """The source of a policy in Python."""
    rule: CompactionRule
    form: SummaryForm
    form_on_demand: SummaryForm
    """The form after a manual compaction."""
    fallback: SummaryFallback
    writes_notes: bool
    """Whether the session's model writes a note in the conversation itself, ahead of the limit."""
    refuses_longer: bool
    """Whether a summary must be shorter than what it replaces."""
    asks_first: bool
    """Whether automatic compaction asks first."""
    holds_to_turn_end: bool
    """Whether automatic compaction waits for the end of the turn while the request still fits."""
    reviews_summaries: bool
    """Whether the user can edit a summary before it is applied."""
    restores_texts_only: bool
    """Whether a resumed session starts with the texts of its last turns instead of its exact history."""
    truncates: bool
    """Whether messages that do not fit are left out of a request."""
    truncates_by_count: bool
    """Whether only our count decides that, without the margin for an unmeasured one."""
    truncator: str
    """The name under which the log has truncations."""
    truncation_headroom: float
    max_prompt_tokens: int
    tool_output_trim_chars: int
    head_tail_chars: int
    archive_over_chars: int
    clear_results_tokens: int
    clear_results_step_tokens: int
    cleared_result_chars: int
    max_history_messages: int
    min_compaction_messages: int
    background_compaction_threshold: float | ByWindow
    buffer_exhaustion_threshold: float | ByWindow
    note_threshold: float | ByWindow
    note_words: float | ByWindow
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
    keep_recent_share: float | ByWindow
    keep_recent_tokens: int
    recollection_share: float | ByWindow

    def for_delegation(self) -> "Policy":
        """The policy for a delegated subtask."""
        governed = self.rule is not CompactionRule.NONE
        rule = CompactionRule.RUN if governed else self.rule
        return self.but(rule=rule, form=SummaryForm.FULL, writes_notes=False)

    def form_for(self, trigger: Trigger) -> SummaryForm:
        """The form of what replaces messages after a compaction with that trigger."""
        return self.form_on_demand if trigger is Trigger.MANUAL else self.form


def policy_of(settings: ContextSettings) -> Policy:
    """The policy the settings describe."""
    is_note = settings.summary_form == "note"
    form = SummaryForm.FULL if is_note else SummaryForm(settings.summary_form)
    as_set = settings.on_demand_form == "as set"
    numbers = {name: getattr(settings, name) for name in Policy.FIELDS if name in ContextSettings.FIELDS}
    return Policy(
        rule=CompactionRule(settings.compaction),
        form=form,
        form_on_demand=form if as_set else SummaryForm(settings.on_demand_form),
        fallback=SummaryFallback(settings.summary_fallback),
        writes_notes=is_note and settings.summary_by == "model",
        refuses_longer=settings.longer_summaries == "refused",
        asks_first=settings.compaction_asks == "on",
        holds_to_turn_end=settings.compaction_waits == "turn",
        reviews_summaries=settings.compaction_review == "on",
        restores_texts_only=settings.restored == "texts",
        truncates=settings.truncation != "off",
        truncates_by_count=settings.truncation == "counted",
        **numbers,
    )


@cache
def default_policy() -> Policy:
    """The policy that decides in place of one that failed."""
    numbers = read_table(BUILT_IN / f"{Settings().policy}.toml")["settings"]
    checked: dict[str, Any] = {key: check(key, value) for key, value in numbers.items()}
    return policy_of(Settings(**checked))
