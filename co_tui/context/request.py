"""Runs the stages before a model request, in their one order: repair, tool outputs, compact, truncate, measure."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart

from co_tui.context import cuts, replacement, user_words
from co_tui.context.count import Reading, Scaffold, Window
from co_tui.context.decide import LEAST_FREED, Plan, Situation, before_tail, decide, fallback_cut
from co_tui.context.meter import Meter
from co_tui.context.offline_summary import Summarise, summarise_offline
from co_tui.context.repair import Repaired, repair_traced
from co_tui.context.replacement import Replacement
from co_tui.context.tool_outputs import RECENT_MESSAGES, Memo, archive, keep_ends, trim
from co_tui.context.truncate import truncate
from co_tui.context.turns import latest_prompt
from co_tui.settings import Settings

LARGEST_SUMMARY_TOKENS = 20_000
USER_WORDS_SHARE = 0.4
"""Of what a compaction may leave behind: as much as this for the user's own words."""


class Compaction(NamedTuple):
    """A rewrite of the history."""

    replaced: tuple[int, ...]
    """The messages of the input that are gone; those that repair had added count for nothing."""
    replacement: list[ModelMessage]
    trigger: str
    summary: str
    pre_tokens: int
    post_tokens: int
    waited: bool
    """The request had to wait for it."""


class Truncated(NamedTuple):
    pre_tokens: int
    post_tokens: int
    pre_messages: int
    post_messages: int


class Measured(NamedTuple):
    """A history after repair and tool outputs, with its measurement; valid until the next one is measured."""

    live: list[ModelMessage]
    origins: list[int | None]
    """Which message of the history each one is; None for those that repair added."""
    request: list[ModelMessage]
    reading: Reading
    pinned: Collection[int] = ()
    """Indexes in `live` of what every stage keeps."""
    history_messages: int = 0
    """How many messages the history had, before repair."""


class Prepared(NamedTuple):
    """A request as it will be sent, its measurement, and what was done on the way."""

    messages: list[ModelMessage]
    reading: Reading
    history: list[ModelMessage]
    """The history as it stands now, repaired and compacted; valid until the next request is prepared."""
    compaction: Compaction | None = None
    truncation: Truncated | None = None
    overshoot_tokens: int = 0
    """By how much even the smallest request is too long; 0 when it fits."""


Keep = Callable[[ToolReturnPart, str], str]
"""Stores a tool result and gives the reference that stands for it."""


class _Past(NamedTuple):
    """What the request before this one leaves for it."""

    lineage: object = None
    repaired: list[ModelMessage] = []
    origins: list[int | None] = []
    request: list[ModelMessage] = []
    stable: tuple[int, int] | None = None
    """The last reply: its index in the history, and in the repaired one. What stands before it stays as it is."""
    final: int = 0
    """So many messages at the beginning of the request no stage will change any more."""

    @classmethod
    def after(
        cls, history: Sequence[ModelMessage], repaired: Repaired, request: list[ModelMessage], lineage: object
    ) -> "_Past":
        last = next((n for n in range(len(history) - 1, -1, -1) if isinstance(history[n], ModelResponse)), None)
        if last is None or lineage is None:
            return cls()
        place = next(n for n in range(len(repaired.origins) - 1, -1, -1) if repaired.origins[n] == last)
        prompt = latest_prompt(repaired.messages) or 0
        final = min(place, prompt, max(0, len(request) - RECENT_MESSAGES))
        return cls(lineage, repaired.messages, repaired.origins, request, (last, place), final)


class Governor:
    """Governs one conversation's context under a policy's settings.

    A live session asks for each step by itself, since its summaries take time: `measure`, `decide`, `fit`.
    `prepare` does them all in one go, with a summariser that answers at once.
    """

    def __init__(
        self,
        settings: Settings,
        window: Window,
        *,
        summarise: Summarise | None = summarise_offline,
        keep: Keep | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.settings = settings
        self.window = window
        self.meter = meter or Meter()
        self._summarise = summarise
        self._keep = keep or _reference
        self._memos: dict[str, Memo] = {"trim": {}, "ends": {}, "archive": {}}
        self._clipped: dict[int, Memo] = {}
        self._past = _Past()
        self._pinned: list[ModelMessage] = []
        self._started_at: int | None = None
        """How long the history was when a background compaction began; it is applied before the next request."""
        self._asked_at = -1
        """How long the history was from which the last request was made: there the reply to it will stand."""
        self._resist = range(0)
        """No automatic compaction while the history is so long: the last one was not worth it, or not wanted."""

    def prepare(
        self,
        history: Sequence[ModelMessage],
        scaffold: Scaffold,
        lineage: object = None,
        pinned: Collection[int] = (),
    ) -> Prepared:
        """The next request, from the history as it is now; with it comes the reply to the one before."""
        self._learn(history)
        measured = self.measure(history, scaffold, lineage, pinned)
        found = self._due_now(measured)
        done = self._compact(measured, found) if found else None
        if done is None:
            return self.fit(measured, scaffold)
        live = done.applied(measured.live)
        before = measured
        kept = {id(before.live[index]) for index in before.pinned}
        measured = self.measure(live, scaffold, pinned=[n for n, message in enumerate(live) if id(message) in kept])
        compaction = Compaction(
            replaced=self.replaced_of(before, done),
            replacement=done.messages,
            trigger=found.cut.trigger if found else "",
            summary=user_words.earlier_summary(done.messages),
            pre_tokens=before.reading.current_tokens,
            post_tokens=measured.reading.current_tokens,
            waited=found is not None and found.waits,
        )
        return self.fit(measured, scaffold)._replace(compaction=compaction)

    # The steps

    def measure(
        self,
        history: Sequence[ModelMessage],
        scaffold: Scaffold,
        lineage: object = None,
        pinned: Collection[int] = (),
    ) -> Measured:
        """Repair the history, make its tool outputs smaller, and measure the request that gives.

        Histories of the same `lineage` only ever grow at their end: then this costs what was added since
        the last request, not what the whole is long.
        """
        past = self._past if lineage is not None and self._past.lineage is lineage else _Past()
        repaired = self._repaired(history, past)
        kept = self._pin(repaired, pinned)
        if kept is None:
            past, kept = _Past(), {n for n, origin in enumerate(repaired.origins) if origin in pinned}
        request = self._tool_outputs(repaired.messages, past)
        reading = self.meter.read(request, scaffold, self.window, same=past.final)
        self._past = _Past.after(history, repaired, request, lineage)
        return Measured(repaired.messages, repaired.origins, request, reading, kept, len(history))

    def decide(self, measured: Measured) -> Plan | None:
        """What the policy wants summarised now."""
        return decide(self.situation(measured)) if len(measured.live) not in self._resist else None

    def situation(self, measured: Measured) -> Situation:
        return Situation(
            measured.live,
            measured.reading,
            self.settings,
            self.meter.tokens,
            measured.pinned,
            summarises=self._summarise is not None,
        )

    def resist(self, messages: int) -> None:
        """Leave a conversation of that length alone until something was added to it, or it was cut."""
        self._resist = range(messages, messages + self.settings.min_compaction_messages + 1)

    @property
    def summary_tokens(self) -> int:
        """How much a compaction may leave behind."""
        return int(min(self.settings.summary_share * self.window.tokens, LARGEST_SUMMARY_TOKENS))

    def words_of(self, messages: Sequence[ModelMessage], form: str = "") -> user_words.UserWords | None:
        """What of the user's words goes on beside the summary, when the policy's form has a place for them."""
        if (form or self.settings.summary_form) != "full":
            return None
        return user_words.within(
            user_words.user_words_in(messages), USER_WORDS_SHARE * self.summary_tokens / self.meter.ratio
        )

    def fallback_cut(self, measured: Measured, found: Plan) -> Plan | None:
        """What is replaced when there is no summary; None when all of it stays within the fallback's limits."""
        cut = fallback_cut(self.situation(measured), found.cut)
        return found._replace(cut=cut) if cut else None

    @property
    def prompt_limit(self) -> int:
        """The longest request that may be sent."""
        return min(self.settings.max_prompt_tokens or self.window.tokens, self.window.tokens)

    def form_of(self, trigger: str) -> str:
        """What stands where messages stood, for a compaction of that trigger."""
        wished = self.settings.on_demand_form
        return wished if trigger == "manual" and wished != "as set" else self.settings.summary_form

    def replace(
        self,
        live: Sequence[ModelMessage],
        found: Plan,
        summary: str | None,
        *,
        extras: Mapping[str, str] | None = None,
        pinned: Collection[int] = (),
    ) -> Replacement:
        """What stands in place of what is due, with that summary."""
        if found.texts_only:
            return replacement.difference(live, cuts.first_and_last_texts(live))
        form = self.form_of(found.cut.trigger)
        words = self.words_of([live[index] for index in found.cut.replaced], form)
        return replacement.build(form, live, found.cut, summary, words=words, extras=extras, pinned=pinned)

    def frees_enough(self, measured: Measured, done: Replacement) -> bool:
        """A compaction that frees less than a tenth is not worth its loss."""
        return self.freed(measured, done) >= LEAST_FREED * max(1, measured.reading.conversation_tokens)

    def freed(self, measured: Measured, done: Replacement) -> float:
        """By how many tokens a rewrite makes the history smaller."""
        held = sum(self.meter.tokens(measured.live[index]) for index in done.replaced)
        return held - sum(self.meter.tokens(message) for message in done.messages)

    @staticmethod
    def replaced_of(measured: Measured, done: Replacement) -> tuple[int, ...]:
        """The replaced messages as indexes of the history that was measured."""
        gone = (measured.origins[index] for index in done.replaced)
        return tuple(index for index in gone if index is not None)

    def fit(self, measured: Measured, scaffold: Scaffold) -> Prepared:
        """The last guard: what does not fit is left out of this request."""
        limit = self.prompt_limit
        request, reading, truncation = measured.request, measured.reading, None
        if self.settings.truncation == "on" and reading.most_tokens > limit:
            # By so much the messages have to become smaller, whatever goes with them; the doubt shrinks with them.
            excess = reading.most_tokens - limit * (1 - self.settings.truncation_headroom)
            room = sum(map(self.meter.tokens, request)) - excess * reading.current_tokens / reading.most_tokens
            shorter = truncate(request, int(room), self.meter.tokens, self._clipped, measured.pinned)
            if not _is_same(shorter.messages, request):
                before, reading = reading, self.meter.read(shorter.messages, scaffold, self.window)
                truncation = Truncated(
                    before.current_tokens, reading.current_tokens, len(request), len(shorter.messages)
                )
                request = shorter.messages
                self._past = _Past()  # what was measured last is not what the next request begins with
        request = list(request)  # the next request will be made in what is ours
        self.meter.sent(request, scaffold)
        self._asked_at = measured.history_messages
        over = max(0, reading.current_tokens - limit)
        return Prepared(request, reading, measured.live, None, truncation, over)

    # Inside

    def _repaired(self, history: Sequence[ModelMessage], past: _Past) -> Repaired:
        """Only what follows the last reply of the request before can have changed."""
        if not past.stable:
            return repair_traced(history)
        start, place = past.stable
        tail = repair_traced(history[start:])
        # In place: copying what did not change would cost what the whole is long.
        past.repaired[place:] = tail.messages
        past.origins[place:] = [None if index is None else index + start for index in tail.origins]
        return Repaired(past.repaired, past.origins)

    def _pin(self, repaired: Repaired, pinned: Collection[int]) -> Collection[int] | None:
        """Where the pinned messages stand, known to all stages; None when that changed what was known before."""
        if not pinned and not self._pinned:
            return ()
        kept = {n for n, origin in enumerate(repaired.origins) if origin in pinned}
        messages = [repaired.messages[n] for n in sorted(kept)]
        if len(messages) == len(self._pinned) and all(a is b for a, b in zip(messages, self._pinned, strict=True)):
            return kept
        for memo in self._memos.values():
            for message in self._pinned:
                memo.pop(id(message), None)
            memo.update({id(message): (message, message) for message in messages})  # no stage makes it shorter
        self._pinned = messages
        return None

    def _learn(self, history: Sequence[ModelMessage]) -> None:
        """The reply to the last request stands where the history ended then; any other answers another request."""
        if 0 <= self._asked_at < len(history):
            reply, self._asked_at = history[self._asked_at], -1
            if isinstance(reply, ModelResponse):
                self.meter.reported(reply)

    def _tool_outputs(self, messages: list[ModelMessage], past: _Past) -> list[ModelMessage]:
        """Old tool results made smaller; what is final from the request before is taken over as it is."""
        settings = self.settings
        rest = messages[past.final :]
        upto = latest_prompt(rest) or 0
        # First of all, since a reference names the result as it is in the log.
        rest = archive(rest, settings.archive_over_chars, self._keep, upto, self._memos["archive"])
        rest = trim(rest, settings.tool_output_trim_chars, self._memos["trim"])
        rest = keep_ends(rest, settings.head_tail_chars, self._memos["ends"])
        if not past.final:
            return rest
        past.request[past.final :] = rest
        return past.request

    # Compaction at once, with a summariser that does not keep anyone waiting

    def _due_now(self, measured: Measured) -> Plan | None:
        """What is applied before this request: what waits, and what began beside the request before."""
        if self._started_at is not None:
            started, self._started_at = self._started_at, None
            situation = self.situation(measured)
            cut = before_tail(situation, "background")
            early = tuple(index for index in cut.replaced if index < started) if cut else ()
            return Plan(cuts.Cut(early, "background"), waits=False) if early else None
        found = self.decide(measured)
        if found and not found.waits and self.settings.compaction == "background":
            self._started_at = len(measured.live)
            return None
        return found

    def _compact(self, measured: Measured, found: Plan) -> Replacement | None:
        summary = None if found.texts_only else self._summary([measured.live[index] for index in found.cut.replaced])
        if summary is None and not found.texts_only:
            short = self.fallback_cut(measured, found)
            if short is None:
                self.resist(len(measured.live))
                return None
            found = short
        done = self.replace(measured.live, found, summary, pinned=measured.pinned)
        guarded = self.settings.compaction in ("background", "compress")
        if not done.replaced or (guarded and not self.frees_enough(measured, done)):
            self.resist(len(measured.live))
            return None
        return done

    def _summary(self, messages: list[ModelMessage]) -> str | None:
        """None when nobody can summarise, and the policy does not leave it to the offline summariser."""
        if self._summarise is None:
            return None
        messages = messages[-self.settings.considered_messages :]
        words = self.words_of(messages)
        budget = int(self.summary_tokens / self.meter.ratio)  # who summarises counts as we do
        if words is not None:
            budget -= user_words.words_tokens(words)
        try:
            text = self._summarise(messages, budget, user_words=words is None).strip()
        except Exception:
            text = ""
        if not text and self.settings.summary_fallback == "offline":
            return summarise_offline(messages, budget, user_words=words is None)
        return text or None


def _is_same(one: Sequence[ModelMessage], other: Sequence[ModelMessage]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _reference(part: ToolReturnPart, text: str) -> str:
    """Without a store: the beginning, and that there was more."""
    return f"[{part.tool_name}: {len(text)} chars archived]\n{text[:400]}"
