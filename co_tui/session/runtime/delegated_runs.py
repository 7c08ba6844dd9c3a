"""Create the runs of delegated tasks, on the runtime's model or on the agent's own."""

from functools import partial

from co_tui.context.measure.meter import Meter
from co_tui.context.request.pipeline import Governor
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
        present = runtime.model_handle.name
        opened = await self._roster.own_model(asked.name, present, self._recorder, agent=asked.agent)
        own, window = opened or (None, runtime.history.governor.window)
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
