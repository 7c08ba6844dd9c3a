"""Create the runs of delegated tasks, on the runtime's model or on the agent's own."""

from functools import partial

from co_tui.agent.models.open_model import ModelHandle
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.context.measure.count import Window
from co_tui.context.measure.meter import Meter
from co_tui.context.request.pipeline import Governor
from co_tui.events import SessionError
from co_tui.session.compaction.applying import Applier
from co_tui.session.compaction.compaction_files import CompactionFiles
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.compaction.recovery import DelegatedRecovery, Recovery
from co_tui.session.environment import Environment
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.recorder import Recorder
from co_tui.session.runtime.agent_roster import AgentRoster
from co_tui.session.runtime.compaction_parts import CompactionParts
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.turns.classify_failure import classify
from co_tui.session.turns.delegations import DelegatedRun, DelegatedTask
from co_tui.session.turns.governed_requests import GovernedRequests
from co_tui.session.turns.governed_run import StepBudget


class DelegatedRuns:
    """Each run has its own history and compactor; its context is governed as the session's."""

    def __init__(
        self, environment: Environment, recorder: Recorder, roster: AgentRoster, compaction: CompactionParts
    ) -> None:
        self._environment = environment
        self._recorder = recorder
        self._roster = roster
        self._compaction = compaction

    def context_of(self, runtime: Runtime, name: str) -> str:
        """What an agent sees unless the call chooses: by its file, else by the policy."""
        return self._roster.context_of(name) or runtime.settings.delegation_context

    async def new(self, runtime: Runtime, asked: DelegatedTask, turn: int, steps: StepBudget) -> DelegatedRun:
        """The run of a delegated task, on the runtime's model or on the agent's own."""
        own, window = await self._own_model(asked, runtime)
        handle, main = own or runtime.model_handle, runtime.history
        ratio = main.governor.meter.ratio if own is None else self._environment.ratios.of(handle.name)
        meter = Meter(ratio, provider=handle.name.partition(":")[0])
        governor = Governor(main.policy.for_delegation(), window, meter=meter)
        history = GovernedHistory(self._recorder, ParsedMessages(), governor, handle.asked, agent=asked.agent)
        history.in_turn = True
        history.on_answered = partial(self._environment.limits.answered, handle.asked)
        files = CompactionFiles(self._recorder, None, None)
        compactor = Compactor(Applier(files), runtime.questions)
        on = runtime.compactable._replace(
            history=history, summaries=self._compaction.summaries(handle, runtime.settings)
        )

        def new_recovery() -> Recovery:
            return DelegatedRecovery(on, compactor, files, self._environment.limits)

        return DelegatedRun(GovernedRequests(on, compactor), new_recovery, runtime, turn, steps, own)

    async def _own_model(self, asked: DelegatedTask, runtime: Runtime) -> tuple[ModelHandle | None, Window]:
        """The model named in an agent's file, if it differs and can be opened, and its window; else None and the
        runtime's."""
        name = self._roster.model_of(asked.name)
        if name not in ("", runtime.model_handle.name):
            try:
                own = await self._roster.model(name)
                return own, await self._environment.window(own)
            except ModelUnusable as unusable:
                trouble = str(unusable)
            except Exception as error:
                trouble = classify(error, RequestTarget(name))[0].sentence
            instead = f"{asked.name} uses {runtime.model_handle.name} instead"
            await self._recorder.record(SessionError(what=trouble, kind="unusable", outcome=instead, agent=asked.agent))
        return None, runtime.history.governor.window
