"""Runs the stages before a model request, in their one order: repair, tool outputs, compact, truncate, measure."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart

from co_tui.context import cuts, replacement
from co_tui.context.count import Reading, Scaffold, Window
from co_tui.context.cuts import Cut
from co_tui.context.meter import Meter
from co_tui.context.repair import Repaired, repair_traced
from co_tui.context.shape import cut_before, latest_prompt, turn_starts
from co_tui.context.summary import Summarise, summarise_offline
from co_tui.context.tool_outputs import RECENT_MESSAGES, Memo, archive, keep_ends, trim
from co_tui.context.truncate import truncate
from co_tui.settings import Settings

LARGEST_SUMMARY_TOKENS = 20_000
LARGEST_QUOTE_CHARS = 600
"""How much of each original user message a compaction keeps."""
LEAST_FREED = 0.1
"""A compaction that frees less of the history than this is not worth its loss."""


class Compaction(NamedTuple):
    """A rewrite of the history: messages `start` to `stop` became `replacement`."""

    start: int
    stop: int
    replaced: tuple[int, ...]
    """The messages of the input that are gone; those between that repair had added count for nothing."""
    replacement: list[ModelMessage]
    trigger: str
    summary: str
    pre_tokens: int
    post_tokens: int
    waited: bool
    """The request had to wait for it."""


class Truncation(NamedTuple):
    pre_tokens: int
    post_tokens: int
    pre_messages: int
    post_messages: int


class Prepared(NamedTuple):
    """A request as it will be sent, its measurement, and what was done on the way."""

    messages: list[ModelMessage]
    reading: Reading
    history: list[ModelMessage]
    """The history as it stands now, repaired and compacted; valid until the next request is prepared."""
    compaction: Compaction | None = None
    truncation: Truncation | None = None
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
    """Governs one conversation's context under a policy's settings."""

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
        self._started_at: int | None = None
        """How long the history was when a background compaction began; it is applied before the next request."""
        self._resist: int = 0
        """No automatic compaction until the history is longer than this: the last one freed too little."""

    def prepare(self, history: Sequence[ModelMessage], scaffold: Scaffold, lineage: object = None) -> Prepared:
        """The next request, from the history as it is now.

        Histories of the same `lineage` only ever grow at their end: then this costs what was added since
        the last request, not what the whole is long.
        """
        self._learn(history)
        past = self._past if lineage is not None and self._past.lineage is lineage else _Past()
        repaired = self._repaired(history, past)
        request = self._tool_outputs(repaired.messages, past)
        reading = self.meter.read(request, scaffold, self.window, same=past.final)
        self._past = _Past.after(history, repaired, request, lineage)
        live = repaired.messages
        compaction = self._compact(live, request, reading)
        if compaction is not None:
            live = [*live[: compaction.start], *compaction.replacement, *live[compaction.stop :]]
            request = self._tool_outputs(live, _Past())
            reading = self.meter.read(request, scaffold, self.window)
            gone = (index for index in repaired.origins[compaction.start : compaction.stop] if index is not None)
            compaction = compaction._replace(post_tokens=reading.current_tokens, replaced=tuple(gone))
            self._past = _Past()
        request, reading, truncation, overshoot = self._truncate(request, reading, scaffold)
        if truncation is not None:
            self._past = _Past()  # what was measured last is not what the next request begins with
        request = list(request)  # the next request will be made in what is ours
        self.meter.sent(request, scaffold)
        return Prepared(request, reading, live, compaction, truncation, overshoot)

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

    def _learn(self, history: Sequence[ModelMessage]) -> None:
        """The reply to the last request is the newest one; what follows it are results and prompts."""
        for message in reversed(history):
            if isinstance(message, ModelResponse):
                self.meter.reported(message)
                return

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

    # Compaction

    def _compact(self, history: list[ModelMessage], request: list[ModelMessage], reading: Reading) -> Compaction | None:
        if len(history) <= self._resist or len(history) < self.settings.min_compaction_messages:
            return None
        found = self._choose(history, request, reading)
        if found is None:
            return None
        cut, waited = found
        compaction = self._replace(history, cut, waited, reading)
        freed = sum(self.meter.tokens(message) for message in history[compaction.start : compaction.stop])
        freed -= sum(self.meter.tokens(message) for message in compaction.replacement)
        guarded = self.settings.compaction in ("background", "compress")
        if guarded and freed < LEAST_FREED * max(1, reading.conversation_tokens):
            self._resist = len(history) + self.settings.min_compaction_messages
            return None
        return compaction

    def _choose(
        self, history: list[ModelMessage], request: list[ModelMessage], reading: Reading
    ) -> tuple[Cut, bool] | None:
        """What is to be summarised now, and whether the request waits for it."""
        settings = self.settings
        share = reading.current_tokens / max(1, self.window.tokens)
        cut: Cut | None = None
        match settings.compaction:
            case "window":
                cut = cuts.window_cut(history, settings.max_history_messages)
                return (cut, True) if cut else None
            case "compress":
                if share >= settings.compression_threshold:
                    cut = cuts.share_cut(history, "blocking", keep_from=self._fallback_start(history))
                return (cut, True) if cut else None
            case "turns":
                return self._choose_turns(history, reading)
            case "background":
                return self._choose_background(history, share)
            case _:
                return None

    def _fallback_start(self, history: list[ModelMessage]) -> int | None:
        """Without a summariser, the newest messages within fixed limits stay; with one, only the current turn does."""
        if self._summarise is not None:
            return None
        start, tokens = len(history), 0.0
        while start > 0 and len(history) - start < self.settings.fallback_messages:
            tokens += self.meter.tokens(history[start - 1])
            if tokens > self.settings.fallback_tokens:
                break
            start -= 1
        return start

    def _choose_background(self, history: list[ModelMessage], share: float) -> tuple[Cut, bool] | None:
        settings = self.settings
        if self._started_at is not None:
            started, self._started_at = self._started_at, None
            cut = self._before_tail(history[:started], "background", history)
            return (cut, False) if cut else None
        if share >= settings.buffer_exhaustion_threshold:
            cut = self._before_tail(history, "blocking", history)
            return (cut, True) if cut else None
        if share >= settings.background_compaction_threshold:
            self._started_at = len(history)
        return None

    def _before_tail(self, considered: list[ModelMessage], trigger: str, history: list[ModelMessage]) -> Cut | None:
        """Everything but the newest messages that fit into the share kept word for word."""
        room = self.settings.keep_recent_share * self.window.tokens
        if not room:
            return cuts.share_cut(history, trigger)
        start = len(history)
        while start > 0 and (room := room - self.meter.tokens(history[start - 1])) >= 0:
            start -= 1
        border = min(cut_before(history, start), len(considered))
        return cuts.share_cut(history, trigger, keep_from=border)

    def _choose_turns(self, history: list[ModelMessage], reading: Reading) -> tuple[Cut, bool] | None:
        settings = self.settings
        cut = cuts.turns_cut(history, settings.agent_max_context_turns)
        if (
            cut is None
            and settings.agent_max_context_tokens < reading.current_tokens
            and settings.agent_max_context_tokens
        ):
            if len(turn_starts(history)) < settings.few_turns:
                cut = cuts.share_cut(history, "budget")
            else:
                cut = cuts.oldest_half(history, "budget")
        return (cut, False) if cut else None

    def _replace(self, history: list[ModelMessage], cut: Cut, waited: bool, reading: Reading) -> Compaction:
        settings = self.settings
        few = cut.trigger == "budget" and len(turn_starts(history)) < settings.few_turns
        if few:
            summary, rewritten = "", cuts.first_and_last_texts(history)
        else:
            found = self._summary([history[index] for index in cut.replaced])
            summary, rewritten = found or "", self._rewritten(history, cut, found)
        start, stop, stop_after = _difference(history, rewritten)
        return Compaction(
            start=start,
            stop=stop,
            replaced=(),
            replacement=rewritten[start:stop_after],
            trigger=cut.trigger,
            summary=summary,
            pre_tokens=reading.current_tokens,
            post_tokens=0,
            waited=waited,
        )

    def _summary(self, messages: list[ModelMessage]) -> str | None:
        """None when nobody can summarise; a summariser that fails is nobody."""
        if self._summarise is None:
            return None
        budget = int(min(self.settings.summary_share * self.window.tokens, LARGEST_SUMMARY_TOKENS))
        try:
            return self._summarise(messages, budget).strip() or None
        except Exception:
            return None

    def _rewritten(self, history: list[ModelMessage], cut: Cut, summary: str | None) -> list[ModelMessage]:
        if summary is None:
            return replacement.one_message(history, cut, replacement.window_marker(len(cut.replaced), None))
        match self.settings.summary_form:
            case "marker":
                return replacement.one_message(history, cut, replacement.window_marker(len(cut.replaced), summary))
            case "pair":
                return replacement.two_messages(history, cut, summary)
            case "prompt":
                return replacement.into_first_prompt(history, cut, summary)
            case _:
                return replacement.one_message(history, cut, f"{replacement.EARLIER}\n{summary}")

    # Truncation

    def _truncate(
        self, request: list[ModelMessage], reading: Reading, scaffold: Scaffold
    ) -> tuple[list[ModelMessage], Reading, Truncation | None, int]:
        limit = self.window.tokens
        if self.settings.truncation == "off" or reading.current_tokens <= limit:
            return request, reading, None, max(0, reading.current_tokens - limit)
        target = limit * (1 - self.settings.truncation_headroom)
        room = target - sum(self.meter.fixed(scaffold)) - self.meter.unseen
        shorter = truncate(request, int(room), self.meter.tokens, self._clipped)
        after = self.meter.read(shorter.messages, scaffold, self.window)
        told = Truncation(reading.current_tokens, after.current_tokens, len(request), len(shorter.messages))
        return shorter.messages, after, told, max(0, after.current_tokens - limit)


def _difference(before: Sequence[ModelMessage], after: Sequence[ModelMessage]) -> tuple[int, int, int]:
    """Where two histories begin to differ, and where each is the same again."""
    start = 0
    while start < min(len(before), len(after)) and before[start] is after[start]:
        start += 1
    same = 0
    while same < min(len(before), len(after)) - start and before[-1 - same] is after[-1 - same]:
        same += 1
    return start, len(before) - same, len(after) - same


def _reference(part: ToolReturnPart, text: str) -> str:
    """Without a store: the beginning, and that there was more."""
    return f"[{part.tool_name}: {len(text)} chars archived]\n{text[:400]}"
