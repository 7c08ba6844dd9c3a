"""Manage the context of one conversation under a policy: measure, decide on compaction, fit requests."""

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from operator import is_
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.context.compact import replacement, user_messages
from co_tui.context.compact.by_code import PolicyFailed
from co_tui.context.compact.decide import LEAST_FREED, Plan, Situation, fallback_cut
from co_tui.context.compact.replacement import Digest, Replacement
from co_tui.context.compact.thresholds import thresholds_of
from co_tui.context.indexed_history import IndexedHistory, is_prompt
from co_tui.context.journal.recollection import Recollected, recollect
from co_tui.context.journal.sources import Sources
from co_tui.context.measure.count import Reading, Scaffold, Window, estimated_window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import Policy, SummaryForm, default_policy
from co_tui.context.request.stages import Keep, Note, Stages
from co_tui.context.request.tool_outputs import Memo
from co_tui.context.request.truncate import NOTHING_OMITTED, Omitted, omit, omitted_from, truncate
from co_tui.settings.rules import ByWindow, in_window

LARGEST_SUMMARY_TOKENS = 20_000
STATE_SHARE = 0.16
"""Of the window: the most for where the work stands."""
LARGEST_STATE_TOKENS = 3_000
DEEP_SHARE = 0.3
"""Of what an ordinary summary may take: the most for a deep compaction."""
MOST_LEFT_SHARE = 0.7
"""Of the window: the maximum size of what replaces a cut."""
LEAST_NOTE_TOKENS = 80
"""Minimum room for a recollection."""
LEAST_NOTE_OF_A_STEP_TOKENS = 300
"""The same within a turn, where a fragment helps no one; a prompt may be about a single line."""
USER_MESSAGES_SHARE = 0.5
"""Of the size of a replacement: for user messages."""

_ALWAYS = range(sys.maxsize)
"""Histories of any length."""


class Measured(NamedTuple):
    """A history after repair and shortened tool outputs, with its measurement. Immutable."""

    live: IndexedHistory
    origins: Sequence[int | None]
    """The index of each message in the history; None for messages added by repair."""
    request: Sequence[ModelMessage]
    reading: Reading
    pinned: Collection[int] = ()
    """Indexes of pinned messages in `live`."""


class TruncationFigures(NamedTuple):
    """Sizes of a request before and after truncation."""

    pre_tokens: int
    post_tokens: int
    pre_messages: int
    post_messages: int
    clipped_messages: int
    """How many of those that are left are shorter than before."""


class Prepared(NamedTuple):
    """A request ready to send, with its measurement."""

    messages: list[ModelMessage]
    reading: Reading
    truncation: TruncationFigures | None = None
    overshoot_tokens: int = 0
    """How many tokens the shortest possible request is over the limit; 0 if it fits."""
    held: Omitted = NOTHING_OMITTED
    """What was left out, as indexes of the measured request."""


class Governor:
    """One for each conversation, model and policy. Never changes the messages it is given."""

    def __init__(
        self,
        policy: Policy,
        window: Window,
        *,
        keep: Keep | None = None,
        meter: Meter | None = None,
        suppressed_lengths: range = range(0),
    ) -> None:
        self.policy = policy
        self.meter = meter or Meter()
        self.window = window
        """Another one counts from the next measurement on."""
        self.stages = Stages(policy, keep)
        self._clipped: dict[int, Memo] = {}
        self._words: tuple[Sequence[ModelMessage], user_messages.UserMessages] = (
            (),
            user_messages.user_messages_in(()),
        )
        """Cache of the last call: a compaction asks before and after its summary."""
        self._situation: tuple[Measured | None, Situation | None] = (None, None)
        self.suppressed_lengths = suppressed_lengths
        """History lengths at which automatic compaction is suppressed: the last freed too little or was declined."""
        self.policy_failure = ""
        """Why the policy's own code could not decide the last time; empty if it never failed."""

    @property
    def estimated_window_tokens(self) -> int:
        """The window in estimated tokens, which decides how many tools fit."""
        return estimated_window(self.window.tokens, self.meter.ratio)

    @property
    def prompt_limit(self) -> int:
        """The longest request that may be sent."""
        return min(self.policy.max_prompt_tokens or self.window.tokens, self.window.tokens)

    # Before a request

    def measure(
        self,
        history: Sequence[ModelMessage],
        scaffold: Scaffold,
        lineage: object = None,
        pinned: Collection[int] = (),
        note: Note | None = None,
    ) -> Measured:
        """Repair the history, shorten its tool outputs, and measure the resulting request.

        Histories of the same `lineage` only grow at their end, so this costs only what was added since the last
        request.
        """
        staged = self.stages.run(history, lineage, pinned, note)
        reading = self.meter.read(staged.request, scaffold, self.window, same=staged.unchanged)
        return Measured(staged.live, staged.origins, staged.request, reading, staged.pinned)

    def fit(self, measured: Measured, scaffold: Scaffold, held: Omitted = NOTHING_OMITTED) -> Prepared:
        """Truncate the request if it does not fit; what was left out before stays out."""
        prepared = self.fit_unsent(measured, scaffold, held)
        self.meter.sent(prepared.messages, scaffold, measured.request if prepared.truncation is None else None)
        return prepared

    def fit_unsent(
        self, measured: Measured, scaffold: Scaffold, held: Omitted = NOTHING_OMITTED, *, shortens: bool = True
    ) -> Prepared:
        """Like `fit`, for a request that is not sent; without `shortens`, nothing more is left out than before."""
        limit = self._truncation_limit(measured) if shortens and self.policy.truncates else self.prompt_limit
        request = untouched = list(measured.request)
        reading, is_held = measured.reading, bool(held)
        if is_held and self.policy.truncates:
            request = omit(request, held, self._clipped, measured.pinned)
            reading = self.meter.read(request, scaffold, self.window)
        if shortens and self.policy.truncates and self._tokens_to_fit(reading) > limit:
            request, held = self._shorter(request, reading, measured, held, limit)
            reading = self.meter.read(request, scaffold, self.window)
        truncation = None
        is_touched = is_held or request is not untouched
        if is_touched and not _is_same(request, measured.request):
            # Both on one scale: the whole request is measured from the last reply's figure, what is left of it is not.
            removed = sum(map(self.meter.tokens, measured.request)) - sum(map(self.meter.tokens, request))
            after = reading.current_tokens
            indexes = self.measured_indexes(request, measured)
            clipped = sum(
                index is not None and message is not measured.request[index]
                for index, message in zip(indexes, request, strict=True)
            )
            before = after + round(removed)
            truncation = TruncationFigures(before, after, len(measured.request), len(request), clipped)
            self.stages.forget()
        overshoot_tokens = max(0, reading.current_tokens - self.prompt_limit)
        return Prepared(request, reading, truncation, overshoot_tokens, held)

    def may_not_fit(self, reading: Reading) -> bool:
        """Whether a request of this size may be truncated."""
        thresholds = thresholds_of(self.policy, self.window.tokens, reading.fixed_tokens)
        return reading.most_tokens > min(self.prompt_limit, (thresholds.blocking_share or 1.0) * self.window.tokens)

    def _truncation_limit(self, measured: Measured) -> float:
        """The length to truncate to: lower if no compaction helps, so that the reply has room."""
        if not self.window.known or not self.is_stuck(measured):
            return self.prompt_limit
        blocking_share = self.situation(measured).thresholds.blocking_share or 1.0
        return min(self.prompt_limit, blocking_share * self.window.tokens)

    def _shorter(
        self, request: list[ModelMessage], reading: Reading, measured: Measured, held: Omitted, limit: float
    ) -> tuple[list[ModelMessage], Omitted]:
        # The messages must shrink by this much; the margin of error shrinks with them.
        counted = self._tokens_to_fit(reading)
        excess = counted - limit * (1 - self.policy.truncation_headroom)
        room = sum(map(self.meter.tokens, request)) - excess * reading.current_tokens / counted
        fixed = {id(measured.request[index]) for index in measured.pinned}
        pinned = [index for index, message in enumerate(request) if id(message) in fixed]
        done = truncate(request, int(room), self.meter.tokens, self._clipped, pinned)
        chars = min(filter(None, (done.held.clipped_chars, held.clipped_chars)), default=0)
        now = omitted_from(measured.request, done.messages, chars, self._clipped)
        # If nothing more was clipped, keep the earlier clipping position.
        return done.messages, now if done.held.clipped_chars else now._replace(clipped_upto=held.clipped_upto)

    def _tokens_to_fit(self, reading: Reading) -> int:
        """The size by which a request is truncated."""
        return reading.current_tokens if self.policy.truncates_by_count else reading.most_tokens

    def measured_indexes(self, request: Sequence[ModelMessage], measured: Measured) -> list[int | None]:
        """The index of each message of a request in the measured request; None for added messages."""
        known = {id(message): index for index, message in enumerate(measured.request)}
        for chars in sorted(self._clipped, reverse=True):
            for message, shorter in self._clipped[chars].values():
                if id(message) in known:
                    known.setdefault(id(shorter), known[id(message)])
        return [known.get(id(message)) for message in request]

    # Whether and what to compact

    def decide(self, measured: Measured) -> Plan | None:
        """The compaction the policy asks for now, if any. If its own code fails, the default policy decides."""
        newest = next((origin for origin in reversed(measured.origins) if origin is not None), -1)
        if newest + 1 in self.suppressed_lengths:
            return None
        situation = self.situation(measured)
        try:
            return situation.plan
        except PolicyFailed as failed:
            self.policy_failure = str(failed)
            return situation.under(default_policy()).plan

    def situation(self, measured: Measured) -> Situation:
        """What the policy decides on; the same for the same measurement, so that it decides once."""
        known, situation = self._situation
        if known is not measured or situation is None:
            meter = self.meter
            situation = Situation(
                measured.live,
                measured.reading,
                self.policy,
                meter.tokens,
                measured.pinned,
                meter.ratio,
                measured.request,
            )
            self._situation = (measured, situation)
        return situation

    def is_stuck(self, measured: Measured) -> bool:
        """Whether a request past the blocking threshold is sent without a compaction because none would help."""
        situation = self.situation(measured)
        return situation.is_past_blocking_threshold and (self.is_stopped or situation.plan is None)

    def suppress_at(self, messages: int) -> None:
        """Suppress automatic compaction at about this length, until messages are added or removed."""
        self.suppressed_lengths = range(messages, messages + self.policy.min_compaction_messages + 1)

    @property
    def is_stopped(self) -> bool:
        return self.suppressed_lengths == _ALWAYS

    def stop(self) -> None:
        """Suppress automatic compaction at any length."""
        self.suppressed_lengths = _ALWAYS

    # Recollection

    def recollect(self, measured: Measured, reading: Reading, sources: Sources) -> Recollected:
        """Lines that left the request and are relevant to its newest step, if there is room for any."""
        room = self.prompt_limit * (1 - self.policy.truncation_headroom) - reading.most_tokens
        budget = min(self._share(self.policy.recollection_share), room)
        is_asked = is_prompt(measured.live[-1]) and not sources.work.observes(len(sources.ledger.names) - 1)
        if budget < (LEAST_NOTE_TOKENS if is_asked else LEAST_NOTE_OF_A_STEP_TOKENS):
            return Recollected()
        return recollect(sources, measured.live, budget / self.meter.ratio)

    # Replacements

    @property
    def summary_tokens(self) -> int:
        """The maximum size of what replaces a cut."""
        return int(min(self._share(self.policy.summary_share), LARGEST_SUMMARY_TOKENS))

    @property
    def note_words(self) -> int:
        """How long a note of the model may be; 0 if the policy has none."""
        return int(in_window(self.policy.note_words, self.window.tokens)) if self.policy.writes_notes else 0

    @property
    def deep_tokens(self) -> float:
        """The maximum size of what replaces a deep cut."""
        return DEEP_SHARE * self.summary_tokens

    @property
    def state_tokens(self) -> float:
        """The room for where the work stands, in estimated tokens."""
        return min(STATE_SHARE * self.window.tokens, LARGEST_STATE_TOKENS) / self.meter.ratio

    def _share(self, share: float | ByWindow) -> float:
        """A share of the window in tokens."""
        return in_window(share, self.window.tokens) * self.window.tokens

    def room_for_replacement(self, kept_tokens: float) -> float:
        """The room for a replacement when `kept_tokens` stay, by the policy's share for a compacted window."""
        room = self._share(self.policy.compacted_share) - kept_tokens
        return min(room, MOST_LEFT_SHARE * self.window.tokens, LARGEST_SUMMARY_TOKENS)

    def user_messages_for(
        self, messages: Sequence[ModelMessage], form: SummaryForm, room_tokens: float = math.inf
    ) -> user_messages.UserMessages:
        """What to keep with the summary: standing rules, and quotes if the form has a section for them; `room_tokens`
        is for both and the summary."""
        known, words = self._words
        if len(known) != len(messages) or not all(map(is_, known, messages)):
            words = user_messages.user_messages_in(messages)
            self._words = (list(messages), words)
        usual = USER_MESSAGES_SHARE * self.summary_tokens
        room = min(usual, USER_MESSAGES_SHARE * room_tokens)
        words = words if form is SummaryForm.FULL else user_messages.UserMessages(words.rules)
        return user_messages.fitting(words, room / self.meter.ratio, usual / self.meter.ratio)

    def fallback_plan(self, measured: Measured, plan: Plan) -> Plan | None:
        """The plan if there is no summary; None if everything is within the fallback's limits."""
        cut = fallback_cut(self.situation(measured), plan.cut)
        return plan._replace(cut=cut) if cut else None

    def replace(
        self, measured: Measured, plan: Plan, digest: Digest | None, *, extras: Mapping[str, str] | None = None
    ) -> Replacement:
        """The replacement for a plan; without a digest, a marker."""
        live = measured.live
        if plan.texts_only:
            return replacement.texts_only(live, self.user_messages_for(live, SummaryForm.PROMPT).rules)
        form = self.policy.form_for(plan.cut.trigger)
        words = self.user_messages_for([live[index] for index in plan.cut.replaced], form, plan.room_tokens)
        sent = sum(measured.origins[index] is not None for index in plan.cut.replaced)
        cut = plan.cut._replace(unsent=len(in_history(measured, plan.cut.replaced)) - sent)
        return replacement.build(form, live, cut, digest, words=words, extras=extras, pinned=measured.pinned)

    def frees_enough(self, measured: Measured, done: Replacement) -> bool:
        """Whether a rewrite frees a tenth of the conversation."""
        return self.freed(measured, done) >= LEAST_FREED * max(1, measured.reading.conversation_tokens)

    def freed(self, measured: Measured, done: Replacement) -> float:
        """How many tokens a rewrite frees."""
        held = sum(self.meter.tokens(measured.live[index]) for index in done.replaced)
        return held - sum(self.meter.tokens(message) for message in done.messages)

    def release(self, messages: Sequence[ModelMessage]) -> None:
        """Drop everything cached for other messages."""
        self.stages.release(messages)
        self.meter.release(messages)
        self._clipped.clear()
        self._situation = (None, None)
        self._words = ((), user_messages.user_messages_in(()))


def in_history(measured: Measured, indexes: Collection[int]) -> tuple[int, ...]:
    """Measured messages as indexes of the history, each with the messages after it that are never sent."""
    known = [origin for origin in measured.origins if origin is not None]
    next_known = dict(pairwise(known))
    origins = [origin for index in indexes if (origin := measured.origins[index]) is not None]
    return tuple(n for origin in origins for n in range(origin, next_known.get(origin, origin + 1)))


def _is_same(one: Sequence[ModelMessage], other: Sequence[ModelMessage]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
