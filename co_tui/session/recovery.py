"""What to try next when a provider refuses a request as too long (C10). Each step may lose more than the one before."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart

from co_tui.context.count import Window
from co_tui.context.overflow import Overflow
from co_tui.context.shape import content_text, latest_prompt, turn_starts
from co_tui.context.summary import summarise_offline
from co_tui.context.tool_outputs import ends_of
from co_tui.events import Clear, CompactionComplete, CompactionStart
from co_tui.session.bench import Bench
from co_tui.session.compaction import CompactionRefused, Compactor
from co_tui.session.history import to_json
from co_tui.session.limits import Limits

BUFFERS = (0.1, 0.25, 0.5)
"""How much less than what was refused is tried, when the provider names no limit: growing, up to a maximum."""
EMERGENCY_CHARS = 10_000
EMERGENCY_TURNS = 5
EMERGENCY_SUMMARY_TOKENS = 4_000
RATIO_RANGE = (0.5, 4.0)
SMALLEST_WINDOW = 128


class Recovery:
    """The steps of one turn. The prompt stays in the history through all of them, and tools are not run again."""

    def __init__(self, bench: Bench, compactor: Compactor, limits: Limits) -> None:
        self._bench = bench
        self._compactor = compactor
        self._limits = limits
        self._steps = [self._compact, *([self._shrink] * len(BUFFERS)), self._emergency, self._clear]
        self._named = bench.governor.window
        """The window as far as anybody named it: what is guessed beyond that does not outlive a turn that fails."""
        self._shrunk = 0
        self._refused_tokens = 0
        self.begun = False

    async def next(self, found: Overflow | None) -> str:
        """Do the next thing that may help, and say what it was; empty when nothing is left to try.

        Without figures it was we who found that even the prompt alone is too long: only clipping it may help.
        """
        self.begun = True
        if found is None:
            self._steps = [step for step in self._steps if step == self._emergency and self._can_clip()]
        else:
            self._learn(found)
        while self._steps:
            done = await self._steps.pop(0)()
            if done:
                return done
        self._bench.governor.window = self._named
        return ""

    def _can_clip(self) -> bool:
        """Whether the prompt, or a result that goes with it, is longer than what an emergency leaves of it."""
        messages = self._bench.parsed.messages(self._bench.state)
        return any(a is not b for a, b in zip(messages, _clipped(messages), strict=True))

    def _learn(self, found: Overflow) -> None:
        """Take the provider's word for its limit, and for how many tokens the request had."""
        governor, asked = self._bench.governor, self._bench.answerer.asked
        usage = self._bench.state.usage
        self._refused_tokens = usage.current_tokens if usage else governor.window.tokens
        if found.requested_tokens and self._refused_tokens:
            low, high = RATIO_RANGE
            factor = min(high, max(low, found.requested_tokens / self._refused_tokens))
            governor.meter.ratio *= factor
            self._refused_tokens = found.requested_tokens
        if found.limit_tokens and found.limit_tokens < governor.window.tokens:
            governor.window = self._named = Window(tokens=found.limit_tokens, known=True)
            self._limits.learn(asked, found.limit_tokens)

    async def _compact(self) -> str:
        if self._compactor.running and await self._compactor.catch_up(self._bench):
            return "compacted"
        try:
            done = await self._compactor.compact(self._bench, trigger="context_limit")
        except CompactionRefused:
            return ""
        return "compacted" if done.success else ""

    async def _shrink(self) -> str:
        """A smaller budget for this session: the truncator keeps within it."""
        governor = self._bench.governor
        buffer = BUFFERS[self._shrunk]
        self._shrunk += 1
        tokens = int(min(governor.window.tokens, self._refused_tokens) * (1 - buffer))
        if tokens < SMALLEST_WINDOW:
            return ""
        governor.window = Window(tokens=tokens, known=False)
        return f"trying with at most {tokens:,} tokens"

    async def _emergency(self) -> str:
        """The last turns only, their texts and results clipped; what leaves goes into a summary and the memory."""
        bench = self._bench
        measured = await bench.measure()
        if not measured.live:
            return ""
        summary = summarise_offline(measured.live, EMERGENCY_SUMMARY_TOKENS)
        await self._compactor.remember(bench, summary, "Left the context in an emergency")
        kept = _clipped(_last_turns(measured.live, EMERGENCY_TURNS))
        after = await bench.measure_as(kept)
        history = bench.state.history
        pre, post = measured.reading.current_tokens, after.reading.current_tokens
        await bench.recorder.record(
            CompactionStart(trigger="context_limit", messages=len(history)),
            CompactionComplete(
                success=True,
                trigger="context_limit",
                error=f"Emergency: results and texts, the latest prompt included, were clipped to "
                f"{EMERGENCY_CHARS:,} characters, and {EMERGENCY_TURNS} turns kept.",
                pre_tokens=pre,
                post_tokens=post,
                pre_messages=len(history),
                post_messages=len(kept),
                tokens_removed=pre - post,
                messages_removed=len(history) - len(kept),
                replaced=tuple(entry.ref for entry in history),
                replacement=tuple(to_json(message) for message in kept),
                summary=summary,
                summarised_by="offline",
                model=bench.answerer.name,
            ),
        )
        return f"kept {EMERGENCY_TURNS} turns, clipped to {EMERGENCY_CHARS:,} characters each"

    async def _clear(self) -> str:
        """Nothing but the latest prompt."""
        bench = self._bench
        history = bench.state.history
        place = latest_prompt(bench.parsed.messages(bench.state))
        if place is None or len(history) == 1:
            return ""
        await bench.recorder.record(Clear(history=(history[place].ref,), messages_removed=len(history) - 1))
        return "cleared the context, but for the prompt"


def _last_turns(messages: Sequence[ModelMessage], count: int) -> list[ModelMessage]:
    starts = turn_starts(messages)
    return list(messages[starts[-count] :]) if len(starts) > count else list(messages)


def _clipped(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    return [_clip(message) if isinstance(message, ModelRequest) else message for message in messages]


def _clip(message: ModelRequest) -> ModelRequest:
    parts: list[Any] = list(message.parts)
    for index, part in enumerate(parts):
        if isinstance(part, ToolReturnPart | UserPromptPart):
            shorter = ends_of(content_text(part.content), EMERGENCY_CHARS)
            if shorter is not None:
                parts[index] = replace(part, content=shorter)
    changed = any(a is not b for a, b in zip(parts, message.parts, strict=True))
    return replace(message, parts=parts) if changed else message
