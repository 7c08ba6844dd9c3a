"""Build the runtime of a session for each model and policy it uses."""

from functools import partial

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.agent.models.open_model import ModelHandle
from co_tui.context.measure.count import Window, estimated_window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.events.model_names import EXAMPLE_MODEL
from co_tui.session.compaction.compaction_files import Remembered
from co_tui.session.compaction.job import Compactable, no_skills
from co_tui.session.environment import Environment
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.request_scaffold import ScaffoldFile
from co_tui.session.hooks.notifying import NotifyingQuestions
from co_tui.session.hooks.session_hooks import SessionHooks
from co_tui.session.hooks.transcript import Transcript
from co_tui.session.pending_notes import PendingNotes
from co_tui.session.recorder import Recorder
from co_tui.session.runtime.agent_roster import AgentRoster
from co_tui.session.runtime.compaction_parts import CompactionParts
from co_tui.session.runtime.delegated_runs import DelegatedRuns
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.runtime.tool_parts import ToolParts
from co_tui.session.runtime.transfers import Transfers
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.tools.archive import Archive
from co_tui.session.tools.kept_output import KeptOutputs
from co_tui.session.tools.memory_search import MemorySearch
from co_tui.session.tools.own_tools import OwnTools
from co_tui.session.tools.recall import Recall
from co_tui.session.turns.spending import Spending
from co_tui.settings import Settings


class RuntimeFactory:
    """What all runtimes of one session share, and how to make one."""

    def __init__(self, environment: Environment, recorder: Recorder) -> None:
        self._environment = environment
        self._recorder = recorder
        KeptKeys(environment.paths).hide_soon()
        self._spending = Spending(environment.store, recorder)
        self.parsed = ParsedMessages()
        folder = environment.paths.session(recorder.session_id)
        session_changed = environment.files.session_changed(recorder.session_id)
        outputs = KeptOutputs(folder, recorder, session_changed, private=environment.private)
        self._archive = Archive(recorder, self.parsed, outputs)
        kept_in = None if environment.private else folder
        self.scaffold_file = ScaffoldFile(kept_in, session_changed)
        transcript = Transcript(environment.store, recorder.session_id, kept_in, environment.cwd)
        self.roster = AgentRoster(
            environment.paths, environment.cwd, environment.settings, environment.open_model, environment.window
        )
        self.transfers = Transfers(recorder, self.roster)
        memory = environment.files.memory
        self.compaction = CompactionParts(environment, recorder, memory, transcript)
        recall = Recall(environment.store, recorder.session_id, lambda: recorder.state, outputs.all)
        own = OwnTools(self._archive, self.compaction.compactor, recall, MemorySearch(memory), lambda: recorder.state)
        self.hooks = SessionHooks(
            environment.cwd, environment.environ, environment.settings, recorder, PendingNotes(), transcript
        )
        self._questions = NotifyingQuestions(environment.questions, self.hooks)
        self.tools = ToolParts(environment, recorder, own, outputs, self.transfers, self.hooks, self._questions)
        self.hooks.command = self.compaction.hook_command = self.tools.workplace.hook_command
        self.delegated_runs = DelegatedRuns(environment, recorder, self.roster, self.compaction)

    def make(
        self, model_handle: ModelHandle, settings: Settings, window: Window, meter: Meter | None = None
    ) -> Runtime:
        environment, name = self._environment, model_handle.name
        self.compaction.files.remembered = Remembered(settings.daily_memory)
        self.hooks.use(settings, model_handle.asked.secrets)
        self.tools.commands.variables = settings.env
        self._recorder.keys.add(settings.env)
        self.tools.workplace.use(settings)
        meter = meter or Meter(environment.ratios.of(name), provider=name.partition(":")[0])
        permissions = self.tools.permissions(settings)
        fits = estimated_window(window.tokens, meter.ratio)
        works = self.tools.working(settings, fits, permissions) if model_handle.takes_tools else None
        instructions = self.tools.instructions(name, settings, works)
        policy = policy_of(settings)
        if name in (EMBEDDED, EXAMPLE_MODEL):
            policy = policy.but(writes_notes=False)
        governor = Governor(policy, window, meter=meter, keep=self._archive.keep)
        speaker = self.roster.find(self._recorder.state.speaker)
        whole = "\n\n".join(filter(None, (instructions, speaker.instructions if speaker else "")))
        history = GovernedHistory(self._recorder, self.parsed, governor, model_handle.asked, instructions=whole)
        history.keep_scaffold = self.scaffold_file.keep
        history.on_answered = partial(environment.limits.answered, model_handle.asked)
        if model_handle.takes_tools:
            history.predict = self.tools.predict(history, settings)
        summaries = self.compaction.summaries(model_handle, settings)
        hooks = self.compaction.hooks(model_handle, settings)
        return Runtime(
            model_handle=model_handle,
            settings=settings,
            instructions=instructions,
            toolkit=self.tools.toolkit(history, works, settings, permissions),
            questions=self._questions,
            archive=self._archive,
            scaffold_file=self.scaffold_file,
            compactable=Compactable(history, summaries, hooks, works.read_skills if works else no_skills),
            permissions=permissions,
            hooks=self.hooks,
            outcomes=self.tools.files.outcomes,
            spending=self._spending,
            find_agent=self.roster.find,
            speaker=speaker,
            works=works.given if works else (),
            first_backoff_s=environment.first_backoff_s,
        )

    async def close(self) -> None:
        """Stop compactions and commands, and close the models opened for summaries and delegates."""
        await self.tools.commands.close()
        await self.compaction.close()
        await self.roster.close()
