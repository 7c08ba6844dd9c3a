"""What to try when a provider refuses a request as too long (C10). Each step may lose more than the one before."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart

from co_tui.agent.wire.overflow import Overflow
from co_tui.context.compact.offline_summary import summarise_offline
from co_tui.context.compact.replacement import rules_note
from co_tui.context.indexed_history import REPLACEMENT, SYSTEM, IndexedHistory, holds_system, is_replacement
from co_tui.context.measure.count import Reading, Window
from co_tui.context.request.pipeline import Measured
from co_tui.context.request.tool_outputs import ends_of
from co_tui.events import CompactionComplete, CompactionStart, Pin
from co_tui.events.content import content_text, prompt_text
from co_tui.events.triggers import Trigger
from co_tui.events.wording import counted
from co_tui.session.compaction.compaction_files import CompactionFiles
from co_tui.session.compaction.compactor import CompactionRefused, Compactor
from co_tui.session.compaction.job import Compactable, since
from co_tui.session.history.clearing import cleared_except
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.learned_limits import Limits
from co_tui.session.history.standing_rules import holds_only_rules, missing_rules
from co_tui.session.state.parsed_messages import message_json
from co_tui.store.store_errors import StoreError

BUFFERS = (0.1, 0.25, 0.5)
"""How much shorter than the refused request the next try is, if the provider names no limit."""
EMERGENCY_CHARS = 10_000
EMERGENCY_TURNS = 5
EMERGENCY_SUMMARY_TOKENS = 4_000
SMALLEST_WINDOW = 128
SMALL_WINDOW_TOKENS = 8_000
"""The forced compaction assumes at least this window, however small the guess; further refusals shrink it."""


class Recovery:
    """The steps of one turn. The prompt stays in the history throughout, and tools are not run again."""

    def __init__(self, on: Compactable, compactor: Compactor, files: CompactionFiles, limits: Limits) -> None:
        self._on = on
        self._history = on.history
        self._files = files
        self._compactor = compactor
        self._limits = limits
        self._steps = [self._compact, *([self._shrink] * len(BUFFERS)), self._emergency, self._clear, self._clear_all]
        self._named = on.history.governor.window
        """The known window, below every refused size; smaller ones are tried in this turn only."""
        self._reported = self._named
        """The window before this turn's refusals, or the limit that one of them named."""
        self._shrunk = 0
        self._refused_tokens = 0
        self.begun = False

    async def next(self, found: Overflow | None, reply: str = "") -> str:
        """Take the next step that may help, and return what it was; empty if nothing is left to try.

        Without `found`, even the prompt alone is too long by our own count: only clipping it may help, unless the
        window was only guessed. `reply` is the start of the refusal, without keys.
        """
        self.begun = True
        if found is None and self._is_guessing:
            self._history.governor.window = self._named
            self._steps = [step for step in self._steps if step != self._shrink]
        elif found is None:
            self._steps = [step for step in self._steps if step == self._emergency and self._can_clip()]
        else:
            self._learn(found, reply)
        while self._steps:
            done = await self._steps.pop(0)()
            if done:
                return done
        self._history.governor.window = self._named
        return ""

    @property
    def _is_guessing(self) -> bool:
        return self._history.governor.window is not self._named

    def _can_clip(self) -> bool:
        """Whether the prompt or a result is longer than an emergency keeps."""
        messages = self._history.messages
        return any(a is not b for a, b in zip(messages, _clipped(messages), strict=True))

    def _learn(self, found: Overflow, reply: str) -> None:
        """Learn the limit and the request's size from the refusal."""
        governor, asked = self._history.governor, self._history.asked
        usage = self._history.usage
        self._refused_tokens = usage.current_tokens if usage else governor.window.tokens
        if found.requested_tokens:
            governor.meter.refused(found.requested_tokens)
            self._refused_tokens = found.requested_tokens
        limit = found.limit_tokens
        if limit and limit < governor.window.tokens and self._limits.learn(asked, limit, reply):
            self._named = self._reported = Window(tokens=limit, known=True)
            governor.window = self._named
        elif limit and limit < governor.window.tokens and found.requested_tokens:
            # Longer requests were answered before, so it is not stored; as the reply names both sizes, it is tried.
            governor.window = Window(tokens=limit, known=False)
        elif not limit and not self._carries_files():
            self._avoid(self._refused_tokens)

    def _avoid(self, refused_tokens: int) -> None:
        """Send no request of a refused size again; try one well below it."""
        governor = self._history.governor
        tokens = self._limits.refused(self._history.asked, refused_tokens)
        if tokens is None:
            return
        if refused_tokens <= self._named.tokens:
            self._named = Window(tokens=max(SMALLEST_WINDOW, refused_tokens - 1), known=False)
        if tokens < governor.window.tokens:
            governor.window = Window(tokens=tokens, known=False)

    def _carries_files(self) -> bool:
        """Whether a request may have been refused for the size of its files, not for its tokens."""
        parts = (part for message in self._history.messages for part in message.parts)
        contents = (part.content for part in parts if isinstance(part, UserPromptPart | ToolReturnPart))
        return any(isinstance(each, BinaryContent) for content in contents for each in _items(content))

    async def _compact(self) -> str:
        """Compact once. It keeps a share of the window: with a very small guess, it would lose nearly everything."""
        if self._compactor.running and await self._compactor.catch_up(self._history):
            return "compacted"
        governor = self._history.governor
        guessed = governor.window
        if guessed.tokens < SMALL_WINDOW_TOKENS < self._reported.tokens:
            governor.window = Window(tokens=SMALL_WINDOW_TOKENS, known=False)
        try:
            done = await self._compactor.compact(self._on, trigger=Trigger.CONTEXT_LIMIT)
        except CompactionRefused:
            return ""
        finally:
            governor.window = guessed
        return "compacted" if done.success else ""

    async def _shrink(self) -> str:
        """Assume a smaller window; the truncator fits requests into it."""
        governor = self._history.governor
        buffer = BUFFERS[self._shrunk]
        self._shrunk += 1
        tokens = int(min(governor.window.tokens, self._refused_tokens) * (1 - buffer))
        if tokens < SMALLEST_WINDOW:
            return ""
        governor.window = Window(tokens=tokens, known=False)
        return f"retrying with at most {tokens:,} tokens"

    async def _emergency(self) -> str:
        """Keep only the last turns, with texts and results clipped; the rest goes into a summary and the memory."""
        history = self._history
        measured = await history.measure()
        if not measured.live:
            return ""
        await history.recorder.record(_emergency_start(history, measured.reading))
        try:
            return await self._keep_last_turns(measured)
        except BaseException as error:
            await history.recorder.record_eventually(_emergency_failed(history, measured.reading, error))
            raise

    async def _keep_last_turns(self, measured: Measured) -> str:
        """Rewrite the history, and say how; what is pinned in the meantime is kept, too."""
        history, began = self._history, time.monotonic()
        summary = summarise_offline(measured.live, EMERGENCY_SUMMARY_TOKENS).text
        await self._files.remember(summary, Trigger.CONTEXT_LIMIT, trimmed=True)
        while True:
            pinned = history.state.pins
            measured = await history.measure()
            indexes = _kept_in_an_emergency(measured)
            whole = [measured.live[index] for index in indexes]
            kept = _clipped(whole)
            outcome = _emergency_outcome(measured.live, whole, kept)
            pins = [message for message, index in zip(kept, indexes, strict=True) if index in measured.pinned]
            kept = self._with_rules(kept)
            after = await history.reading_as(kept, pins, leaving={entry.ref for entry in history.entries})
            fact = _emergency_end(history, measured.reading, after, kept).but(
                note=f"Emergency: {outcome}.",
                summary=summary,
                summarised_by="offline",
                duration_ms=since(began),
                waited_ms=since(began),
            )
            async with self._compactor.rewriting:  # pins wait for it
                if history.state.pins is not pinned:
                    continue
                (done,) = await history.recorder.record(await self._files.with_checkpoint(fact))
                # Pinned messages are copies now, and stay pinned.
                copies = [(done.seq or 0, n) for n, each in enumerate(kept) if any(each is pin for pin in pins)]
                if copies and not history.agent:
                    await history.recorder.record_eventually(Pin(messages=tuple(copies)))
                return outcome

    def _with_rules(self, kept: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The messages, with the user's standing rules that are not in them after the system messages."""
        on, window = self._history, self._history.governor.window
        present = map(message_json, kept)
        rules = missing_rules(on.state, on.entries, present, agent=on.agent, window_tokens=window.tokens)
        first = next((n for n, message in enumerate(kept) if not holds_system(message)), len(kept))
        return [*kept[:first], *([rules_note(rules, kept[-1].timestamp)] if rules else ()), *kept[first:]]

    async def _clear(self) -> str:
        """Keep only system messages, summaries, pinned messages, standing rules and the latest prompt."""
        summaries = [index for index, message in enumerate(self._history.messages) if is_replacement(message)]
        return await self._clear_except(summaries, "cleared the context except the summary and the prompt")

    async def _clear_all(self) -> str:
        """Keep only system messages, pinned messages, standing rules and the latest prompt, without a summary."""
        rules = [index for index, entry in enumerate(self._history.entries) if holds_only_rules(entry.message)]
        return await self._clear_except(rules, "cleared the context except the prompt", with_summary=False)

    async def _clear_except(self, keep: Iterable[int], outcome: str, *, with_summary: bool = True) -> str:
        history = self._history
        window_tokens = history.governor.window.tokens
        clear = cleared_except(history.state, history.messages, keep, window_tokens, with_summary=with_summary)
        if clear is None:
            return ""
        await history.recorder.record(clear)
        return outcome


class DelegatedRecovery(Recovery):
    """The steps of a delegation: its own steps are compacted into a smaller window, and finally clipped. The session's
    conversation, of which it has a copy, is unchanged."""

    def __init__(self, on: Compactable, compactor: Compactor, files: CompactionFiles, limits: Limits) -> None:
        super().__init__(on, compactor, files, limits)
        self._steps = [*([self._shrink] * len(BUFFERS)), self._emergency]


def _emergency_start(history: GovernedHistory, before: Reading) -> CompactionStart:
    return CompactionStart(
        trigger=Trigger.CONTEXT_LIMIT,
        system_tokens=before.system_tokens,
        conversation_tokens=before.conversation_tokens,
        tool_definition_tokens=before.tool_definition_tokens,
        messages=len(history.entries),
        agent=history.agent,
    )


def _emergency_failed(history: GovernedHistory, before: Reading, error: BaseException) -> CompactionComplete:
    """The history is unchanged."""
    tokens, messages = before.current_tokens, len(history.entries)
    return CompactionComplete(
        success=False,
        cancelled=not isinstance(error, Exception),
        error=str(error).rstrip(".") if isinstance(error, StoreError) else type(error).__name__,
        trigger=Trigger.CONTEXT_LIMIT,
        pre_tokens=tokens,
        post_tokens=tokens,
        pre_messages=messages,
        post_messages=messages,
        model=history.model,
        agent=history.agent,
    )


def _emergency_end(
    history: GovernedHistory, before: Reading, after: Reading, kept: Sequence[ModelMessage]
) -> CompactionComplete:
    """All messages of the history are replaced by those that were kept."""
    entries, pre, post = history.entries, before.current_tokens, after.current_tokens
    return CompactionComplete(
        success=True,
        trigger=Trigger.CONTEXT_LIMIT,
        pre_tokens=pre,
        post_tokens=post,
        pre_messages=len(entries),
        post_messages=len(kept),
        tokens_removed=pre - post,
        messages_removed=len(entries) - len(kept),
        replaced=tuple(entry.ref for entry in entries),
        replacement=tuple(message_json(message) for message in kept),
        model=history.model,
        agent=history.agent,
    )


def _emergency_outcome(live: IndexedHistory, whole: Sequence[ModelMessage], kept: Sequence[ModelMessage]) -> str:
    """What an emergency did, for people."""
    turns, clipped = len(live.turn_starts), sum(a is not b for a, b in zip(whole, kept, strict=True))
    parts = (
        f"kept {EMERGENCY_TURNS} of {turns} turns" if len(whole) < len(live) else "",
        f"clipped {counted(clipped, 'message')} to {EMERGENCY_CHARS:,} characters" if clipped else "",
    )
    return " and ".join(filter(None, parts)) or "kept all turns: nothing was there to clip"


def _kept_in_an_emergency(measured: Measured) -> list[int]:
    """The last turns, pinned messages, and the summaries that carry the user's rules."""
    live = measured.live
    starts = live.turn_starts
    first = starts[-EMERGENCY_TURNS] if len(starts) > EMERGENCY_TURNS else 0
    kept = set(range(first, len(live)))
    kept.update(index for index, kind in enumerate(live.kinds) if kind & (REPLACEMENT | SYSTEM))
    return sorted(kept | live.steps_around(measured.pinned))


def _items(content: Any) -> Sequence[Any]:
    return content if isinstance(content, list | tuple) else (content,)


def _clipped(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    return [_clip(message) if isinstance(message, ModelRequest) else message for message in messages]


def _clip(message: ModelRequest) -> ModelRequest:
    parts: list[Any] = list(message.parts)
    for index, part in enumerate(parts):
        if isinstance(part, ToolReturnPart | UserPromptPart):
            text = prompt_text(part.content) if isinstance(part, UserPromptPart) else content_text(part.content)
            shorter = ends_of(text, EMERGENCY_CHARS)
            if shorter is not None:
                parts[index] = replace(part, content=shorter)
    changed = any(a is not b for a, b in zip(parts, message.parts, strict=True))
    return replace(message, parts=parts) if changed else message
