"""The runtime a session has now, and changing it while the session goes on: another model, policy or settings."""

from collections.abc import Awaitable, Callable
from typing import Any

from co_tui.agent.models.open_model import ModelHandle
from co_tui.context.measure.count import Scaffold, Window
from co_tui.events import CompactionComplete, ModelChange, PolicyChange, SessionError
from co_tui.events.triggers import Trigger
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.environment import Environment
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.queue import Work
from co_tui.session.recorder import Recorder
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.runtime.runtime_factory import RuntimeFactory
from co_tui.settings import Settings
from co_tui.settings.by_window import in_window

MUCH_MORE = 1.1
"""Times our estimate: what is counted less far off is not worth naming."""


class WindowTooSmall(Exception):
    """The conversation does not fit the window of the model it shall go on with."""

    def __init__(self, model: str, tokens: int, window_tokens: int) -> None:
        super().__init__(
            f"The conversation takes {tokens:,} tokens, the window of {model} has {window_tokens:,}: "
            "it has to be compacted first."
        )


class RuntimeSwitcher:
    """A turn that runs keeps the runtime it began with."""

    def __init__(
        self, environment: Environment, recorder: Recorder, factory: RuntimeFactory, is_busy: Callable[[], bool]
    ) -> None:
        self._environment = environment
        self._recorder = recorder
        self._factory = factory
        self._compactor = factory.compactor
        self._is_busy = is_busy
        self._retired: list[ModelHandle] = []
        """Models that were replaced while they may still be answering."""
        self._report_missed = False
        """Whether the runtime changed while something ran that may still report under the one before."""

    def begin(self, model_handle: ModelHandle, window: Window) -> None:
        self.runtime: Runtime = self._factory.make(model_handle, self._environment.settings, window)

    async def switch_model(self, name: str, compacting: Callable[[Work], Awaitable[Any]] | None) -> None:
        """Raises `ModelUnusable`, changing nothing. `compacting` does the work of making the conversation fit the new
        model's window, when nothing else is under way; without it, one that is too long raises `WindowTooSmall`."""
        model_handle = await self._environment.open_model(name)
        try:
            window = await self._environment.window(model_handle)
            # In the tokens of the model it shall go on with.
            measured = await self._made_for(model_handle, window).history.measure()
            if self._is_too_long(measured.reading.most_tokens, window):
                if compacting is None:
                    raise WindowTooSmall(model_handle.name, measured.reading.most_tokens, window.tokens)
                await self._make_fit(window, compacting)
        except BaseException:
            await model_handle.close()
            raise
        await self._compactor.discard("another model answers from now on")
        before = self.runtime
        self.learn()
        self.runtime = self._made_for(model_handle, window)
        self._retired.append(before.model_handle)
        if not self._is_busy():
            await self.close_retired()
        self._report_missed |= self._is_busy()
        await self.record_model_change(before.model_handle.name, before.history.governor.window.tokens)
        await self.runtime.history.report_now()

    def _made_for(self, model_handle: ModelHandle, window: Window) -> Runtime:
        """A runtime that goes on with what goes with every request now, as far as that stays the same."""
        before = self.runtime.history
        made = self._factory.make(model_handle, self.runtime.settings, window)
        self.go_on_with(made, before.scaffold, before.governor.estimated_window_tokens)
        return made

    def go_on_with(self, runtime: Runtime, sent: Scaffold, window_tokens: int) -> None:
        """Let a runtime know what went with the requests before it, in a window of so many tokens as we estimate
        them."""
        scaffold = self._factory.beside(runtime, sent, window_tokens)
        if scaffold is not None:
            runtime.history.scaffold = scaffold

    def _is_too_long(self, tokens: int, window: Window) -> bool:
        history = self.runtime.history
        most = window.tokens * in_window(history.policy.buffer_exhaustion_threshold, window.tokens)
        return bool(history.state.history) and tokens > most

    async def _make_fit(self, window: Window, compacting: Callable[[Work], Awaitable[Any]]) -> None:
        done: CompactionComplete = await compacting(lambda: self._compact_for(window))
        if not done.success:
            raise CompactionRefused(f"The model was not changed: {done.error or 'the compaction was cancelled'}.")

    async def _compact_for(self, window: Window) -> CompactionComplete:
        """By the model that still answers, but so that the result fits another one's window."""
        governor = self.runtime.history.governor
        own = governor.window
        await self._compactor.discard("the model changes")
        governor.use_window(Window(tokens=min(own.tokens, window.tokens), known=window.known))
        try:
            return await self._compactor.compact(self.runtime.compactable, trigger=Trigger.MODEL_SWITCH)
        finally:
            governor.use_window(own)

    async def switch_policy(self, settings: Settings) -> None:
        before = self.runtime
        await self._compactor.discard("another policy governs from now on")
        governor = before.history.governor
        self.runtime = self._factory.make(before.model_handle, settings, governor.window, governor.meter)
        self.runtime.history.scaffold = before.history.scaffold
        await self.record_policy_change(before.settings.policy, governor.window.tokens)
        await self._report()

    async def apply_settings(self, settings: Settings) -> None:
        before = self.runtime
        await self._compactor.discard("the settings changed")
        if settings.context_window != before.settings.context_window:
            self._environment.limits.forget_unwritten()
        window = await self._environment.window(before.model_handle, settings)
        self.runtime = self._factory.make(before.model_handle, settings, window, before.history.governor.meter)
        self.runtime.history.scaffold = before.history.scaffold
        await self._report()

    async def fit_tools(self) -> bool:
        """Stop offering tools that the window has no room for, now that it is known how the model counts; whether that
        was so. Tools never come back by this: a session does not switch to and fro."""
        before = self.runtime
        surplus = self._factory.surplus_tools(before)
        if not surplus or self._compactor.running:
            return False
        history, governor = before.history, before.history.governor
        self.runtime = self._factory.make(before.model_handle, before.settings, governor.window, governor.meter)
        await self._recorder.record(
            SessionError(
                what=f"The window of {governor.window.tokens:,} tokens has no room for all tools{_counted(history)}. "
                f"Left out: {', '.join(surplus)}. A model with a larger window gets them.",
                kind="tools_left_out",
                outcome="requests go out without them",
            )
        )
        return True

    async def _report(self) -> None:
        """What the next request is now, as soon as no turn runs: the gauge shows it."""
        self._report_missed = True
        if not self._is_busy():
            await self.report_missed()

    async def report_missed(self) -> None:
        """Report under the current runtime if it changed while something ran. Nothing before the first request."""
        while self._report_missed:
            self._report_missed = False  # another change during the measurement sets it again
            if self._recorder.state.usage is not None:
                await self.runtime.history.report_now()

    async def record_model_change(self, before: str, window_before: int | None) -> None:
        """Nothing when it is the same model."""
        history = self.runtime.history
        if before and before != history.model:
            window_after = history.governor.window.tokens
            await self._recorder.record(
                ModelChange(from_=before, to=history.model, window_before=window_before, window_after=window_after)
            )

    async def record_policy_change(self, before: str, window_before: int | None) -> None:
        """Nothing when it is the same policy."""
        now, window_after = self.runtime.settings.policy, self.runtime.history.governor.window.tokens
        if before and before != now:
            await self._recorder.record(
                PolicyChange(
                    from_=before, to=now, window_before=window_before or window_after, window_after=window_after
                )
            )

    def learn(self) -> None:
        """Keep what was learnt about the model's tokens for later sessions."""
        history = self.runtime.history
        self._environment.ratios.learn(history.model, history.governor.meter.learnt_ratio)

    async def close_retired(self) -> None:
        while self._retired:
            await self._retired.pop().close()


def _counted(history: GovernedHistory) -> str:
    """How the model counts, where that is why there is no room."""
    ratio = history.governor.meter.ratio
    return f": {history.model} counts {ratio:.1f} times as many tokens as we estimate" if ratio >= MUCH_MORE else ""
