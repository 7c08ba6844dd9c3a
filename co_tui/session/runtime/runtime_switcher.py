"""The current runtime of a session, and how to replace it: another model, policy or settings."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from co_tui.agent.models.model_families import model_named
from co_tui.agent.models.open_model import ModelHandle
from co_tui.context.measure.count import Scaffold, Window
from co_tui.events import AgentTransfer, CompactionComplete, ModelChange, PolicyChange, SessionError
from co_tui.events.facts.agents import MAIN_AGENT
from co_tui.events.model_names import EXAMPLE_MODEL
from co_tui.events.triggers import Trigger
from co_tui.inert import one_line
from co_tui.session.approvals.modes import switch_mode
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.environment import Environment
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.queue import Work
from co_tui.session.recorder import Recorder
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.runtime.runtime_factory import RuntimeFactory
from co_tui.session.runtime.transfers import NAME_CHARS
from co_tui.session.turns.scaffold_probe import probe_scaffold
from co_tui.settings import AgentFile, Settings
from co_tui.settings.rules import in_window

MUCH_MORE = 1.1
"""A model that counts this many times our estimate is named in the notice about tools left out."""


class WindowTooSmall(Exception):
    """The context may not fit the window of the model to switch to; `tokens` is its size as the gauge shows it."""

    def __init__(self, model: str, tokens: int, window_tokens: int) -> None:
        window = f"the window of {model} only {window_tokens:,}"
        if tokens <= window_tokens:
            window = f"{model} may count more, and its window is {window_tokens:,}"
        self.what = f"The context has {tokens:,} tokens; {window}."
        super().__init__(f"{self.what} Compact first.")


class RuntimeSwitcher:
    """Replaces the runtime; a running turn keeps the one it started with."""

    def __init__(
        self,
        environment: Environment,
        recorder: Recorder,
        factory: RuntimeFactory,
        rewriting: asyncio.Lock,
        *,
        is_busy: Callable[[], bool],
        in_order: Callable[[Work], Awaitable[Any]],
    ) -> None:
        """`rewriting` keeps out the user's changes to the history; `in_order` runs work after everything that was
        queued before it."""
        self._environment = environment
        self._recorder = recorder
        self._factory = factory
        self._compactor = factory.compaction.compactor
        self._rewriting = rewriting
        self._switching = asyncio.Lock()
        """Held while the runtime is replaced. The running work may need it, so no holder waits for that."""
        self._is_busy = is_busy
        self._in_order = in_order
        self._retired: list[ModelHandle] = []
        """Replaced models that may still be answering; closed when the session is idle."""
        self._report_missed = False
        """Whether the runtime changed while something ran that may still report under the one before."""

    def begin(self, model_handle: ModelHandle, window: Window) -> None:
        self.runtime: Runtime = self._factory.make(model_handle, self._environment.settings, window)

    async def switch_model(self, name: str, *, compact: bool = False, for_agent: str = "") -> None:
        """Switch to another model from the next turn on. Raises `ModelUnusable`, changing nothing. `for_agent`: see
        `ModelChange`.

        A conversation too long for the new model's window raises `WindowTooSmall`; with `compact` the current model
        compacts it first.
        """
        model_handle = await self._environment.open_model(name)
        try:
            window = await self._environment.window(model_handle)
            # In the new model's tokens.
            made = self._made_for(model_handle, window)
            await self._find_scaffold(made)
            reading = (await made.history.measure()).reading
            if self._is_too_long(reading.most_tokens, window):
                if not compact:
                    shown = self.runtime.history.usage
                    tokens = shown.current_tokens if shown is not None else reading.current_tokens
                    raise WindowTooSmall(model_handle.name, tokens, window.tokens)
                await self._make_fit(window)
        except BaseException:
            await model_handle.close()
            raise
        await run_to_completion(self._use(model_handle, window, for_agent))

    async def leave_recording(self) -> None:
        """Let the configured model answer in a session of the example's model. Raises `ModelUnusable`.

        Without a question: a conversation too long for its window is compacted before the first request.
        """
        if self.runtime.model_handle.name == EXAMPLE_MODEL:
            model_handle = await self._environment.open_model("")
            try:
                window = await self._environment.window(model_handle)
            except BaseException:
                await model_handle.close()
                raise
            await run_to_completion(self._use(model_handle, window))

    async def _use(self, model_handle: ModelHandle, window: Window, for_agent: str = "") -> None:
        async with self._switching:
            await self._replace_model(model_handle, window, for_agent=for_agent)

    async def follow_speaker(self) -> None:
        """Let the agent answer that the conversation was handed to, with its instructions, tools and model; the main
        agent if its file is gone, which is logged."""
        async with self._switching:
            before, name = self.runtime, self._recorder.state.speaker
            speaker = self._factory.roster.find(name)
            if name and speaker is None:
                await self._recorder.record(*_agent_gone(name))
            returns = speaker is None and bool(self._recorder.state.main_model)
            is_other = returns or (speaker.name if speaker else "") != before.speaker_name
            opened = await self._model_for(speaker) if is_other or self._recorder.state.awaits_model else None
            if opened is not None:
                present = self._recorder.state.main_model or before.model_handle.name
                own = speaker.name if speaker is not None and model_named(speaker.model, present) else ""
                await run_to_completion(self._replace_model(*opened, for_agent=own))
                return
            if speaker == before.speaker:
                return
            await self._compactor.discard("the agent changed")
            governor = before.history.governor
            self.runtime = self._factory.make(before.model_handle, before.settings, governor.window, governor.meter)
            self.runtime.history.scaffold = before.history.scaffold
            await self._report()

    async def _model_for(self, speaker: AgentFile | None) -> tuple[ModelHandle, Window] | None:
        """The model that an agent brings with it, or to which the conversation returns; None for the present one, also
        if it cannot be opened, which is logged."""
        present, roster, open_model = self.runtime.model_handle.name, self._factory.roster, self._environment.open_model
        main = self._recorder.state.main_model
        if speaker is not None and await roster.wanted(speaker.name, main or present, self._recorder):
            return await roster.own_model(speaker.name, present, self._recorder, open_model)
        if main in ("", present):
            return None
        return await roster.opened(main, self._recorder, "model not changed back", open_model)

    async def _replace_model(self, model_handle: ModelHandle, window: Window, *, for_agent: str = "") -> None:
        await self._compactor.discard("the model changed")
        before = self.runtime
        self.learn()
        self.runtime = self._made_for(model_handle, window)
        self._retired.append(before.model_handle)
        if not self._is_busy():
            await self.close_retired()
        self._report_missed |= self._is_busy()
        await self.record_model_change(before.model_handle.name, before.history.governor.window.tokens, for_agent)
        await self._find_scaffold(self.runtime)
        await self.runtime.history.report_now()

    async def _find_scaffold(self, runtime: Runtime) -> None:
        """Give a runtime that offers other tools than the one before it what its next request sends, so that the gauge
        counts all of it. A session without requests has no figures yet."""
        history = runtime.history
        if not history.scaffold.was_sent and self._recorder.state.usage is not None and not self._is_busy():
            history.scaffold = await probe_scaffold(runtime) or history.scaffold

    def _made_for(self, model_handle: ModelHandle, window: Window) -> Runtime:
        """A runtime that keeps the scaffold of the current one as far as it stays the same."""
        before = self.runtime.history
        made = self._factory.make(model_handle, self.runtime.settings, window)
        self.continue_with(made, before.scaffold, before.governor.estimated_window_tokens)
        return made

    def continue_with(self, runtime: Runtime, sent: Scaffold, window_tokens: int) -> None:
        """Give a runtime the scaffold sent before it, in a window of `window_tokens` by our estimate."""
        scaffold = self._factory.tools.scaffold_for(runtime, sent, window_tokens)
        if scaffold is not None:
            runtime.history.scaffold = scaffold

    def _is_too_long(self, tokens: int, window: Window) -> bool:
        history = self.runtime.history
        most = window.tokens * in_window(history.policy.buffer_exhaustion_threshold, window.tokens)
        return bool(history.state.history) and tokens > most

    async def _make_fit(self, window: Window) -> None:
        done: CompactionComplete = await self._in_order(lambda: self._compact_for(window))
        if not done.success:
            raise CompactionRefused(f"Model not changed: {done.error or 'the compaction was cancelled'}.")

    async def _compact_for(self, window: Window) -> CompactionComplete:
        """Compact with the current model, but so that the result fits another model's window."""
        governor = self.runtime.history.governor
        own = governor.window
        await self._compactor.discard("the model changes")
        governor.window = Window(tokens=min(own.tokens, window.tokens), known=window.known)
        try:
            return await self._compactor.compact(self.runtime.compactable, trigger=Trigger.MODEL_SWITCH)
        finally:
            governor.window = own

    async def switch_policy(self, settings: Settings) -> None:
        """Switch to another policy from the next request on."""
        async with self._rewriting, self._switching:
            await self._switch_policy(settings)

    async def _switch_policy(self, settings: Settings) -> None:
        await self._compactor.discard("the policy changed")
        before = self.runtime
        governor = before.history.governor
        self.runtime = self._factory.make(before.model_handle, settings, governor.window, governor.meter)
        self.runtime.history.scaffold = before.history.scaffold
        await self.record_policy_change(before.settings.policy, governor.window.tokens)
        await self._report()

    async def switch_mode(self, mode: str) -> None:
        """Change which calls run without asking, from the next call on. Raises `ModeRefused`."""
        await switch_mode(self._recorder, mode, at_home=self._environment.workplace.at_home)

    async def apply_settings(self, settings: Settings) -> None:
        """Apply changed settings from the next request on, or from the next turn if one runs."""
        async with self._rewriting, self._switching:
            await self._apply_settings(settings)

    async def _apply_settings(self, settings: Settings) -> None:
        await self._compactor.discard("the settings changed")
        before = self.runtime
        if settings.context_window != before.settings.context_window:
            self._environment.limits.forget_unwritten()
        window = await self._environment.window(before.model_handle, settings)
        self.runtime = self._factory.make(before.model_handle, settings, window, before.history.governor.meter)
        self.runtime.history.scaffold = before.history.scaffold
        await self.record_policy_change(before.settings.policy, window.tokens)  # another one if its file is gone
        await self._report()

    async def fit_tools(self) -> bool:
        """Stop offering tools that do not fit the window, now that the model's token ratio is known; whether any were
        dropped. They are never offered again by this, so that a session does not switch back and forth."""
        before = self.runtime
        surplus = self._factory.tools.surplus_tools(before)
        if not surplus or self._compactor.running:
            return False
        history, governor = before.history, before.history.governor
        self.runtime = self._factory.make(before.model_handle, before.settings, governor.window, governor.meter)
        await self._recorder.record(
            SessionError(
                what=f"The window of {governor.window.tokens:,} tokens is too small for all tools{_counted(history)}. "
                f"Left out: {', '.join(surplus)}.",
                kind="tools_left_out",
                outcome="requests are sent without them",
            )
        )
        return True

    async def _report(self) -> None:
        """Measure the next request as soon as no turn runs, for the gauge."""
        self._report_missed = True
        if not self._is_busy():
            await self.report_missed()

    async def report_missed(self) -> None:
        """Report under the current runtime if it changed while something ran. Nothing before the first request."""
        while self._report_missed:
            self._report_missed = False  # another change during the measurement sets it again
            if self._recorder.state.usage is not None:
                await self._find_scaffold(self.runtime)
                await self.runtime.history.report_now()

    async def record_model_change(self, before: str, window_before: int | None, for_agent: str = "") -> None:
        """Log the change, unless it is the same model."""
        history = self.runtime.history
        if before and before != history.model:
            window_after = history.governor.window.tokens
            change = ModelChange(from_=before, to=history.model, for_agent=for_agent)
            await self._recorder.record(change.but(window_before=window_before, window_after=window_after))

    async def record_model_back(self, before: Runtime, for_agent: str) -> None:
        """Log that the session, which is being left, continues with the model of an earlier runtime."""
        now, then = self.runtime.history, before.history
        window_before, window_after = now.governor.window.tokens, then.governor.window.tokens
        back = ModelChange(from_=now.model, to=then.model, for_agent=for_agent)
        await self._recorder.record(back.but(window_before=window_before, window_after=window_after))

    async def record_policy_change(self, before: str, window_before: int | None) -> None:
        """Log the change, unless it is the same policy."""
        now, window_after = self.runtime.settings.policy, self.runtime.history.governor.window.tokens
        if before and before != now:
            await self._recorder.record(
                PolicyChange(
                    from_=before, to=now, window_before=window_before or window_after, window_after=window_after
                )
            )

    def learn(self) -> None:
        """Store the model's learned token ratio for later sessions."""
        history = self.runtime.history
        self._environment.ratios.learn(history.model, history.governor.meter.learnt_ratio)

    async def close_retired(self) -> None:
        while self._retired:
            await self._retired.pop().close()


def _agent_gone(name: str) -> tuple[SessionError, AgentTransfer]:
    what = f"The agent {one_line(name, NAME_CHARS)} is no longer among the agents of this folder."
    gone = SessionError(what=what, kind="agent_gone", outcome="the main agent answers")
    return gone, AgentTransfer(from_=name, to=MAIN_AGENT, by="co-tui")


def _counted(history: GovernedHistory) -> str:
    """The model's token ratio, if that is why there is no room."""
    ratio = history.governor.meter.ratio
    return f": {history.model} counts {ratio:.1f} times as many tokens as estimated" if ratio >= MUCH_MORE else ""
