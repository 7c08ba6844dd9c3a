"""What compacts a session: the compactor with its files, and the summaries and hooks of each runtime."""

from co_tui.agent.models.open_model import ModelHandle
from co_tui.agent.redact import keys_in
from co_tui.session.compaction.applying import Applier
from co_tui.session.compaction.compaction_files import CompactionFiles
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.compaction.hooks import Hooks
from co_tui.session.compaction.job import Compactable
from co_tui.session.compaction.model_summaries import ModelSummaries, SummaryModels
from co_tui.session.compaction.recovery import Recovery
from co_tui.session.environment import Environment
from co_tui.session.hooks.hook_process import HookCommand, unconfined
from co_tui.session.hooks.transcript import Transcript
from co_tui.session.recorder import Recorder
from co_tui.settings import Settings
from co_tui.settings.hook_entries import PRE_COMPACT
from co_tui.store.notes.daily_memory import DailyMemory


class CompactionParts:
    """One for a session, shared by its runtimes."""

    def __init__(
        self, environment: Environment, recorder: Recorder, memory: DailyMemory, transcript: Transcript
    ) -> None:
        self._environment = environment
        self._transcript = transcript
        self.hook_command: HookCommand = unconfined
        self.summary_models = SummaryModels(environment.open_model)
        checkpoints = environment.checkpoints(recorder.session_id)
        remembered = None if environment.private else memory
        self._session_id = recorder.session_id
        self.files = CompactionFiles(recorder, checkpoints, remembered, keys_in(environment.environ))
        self.compactor = Compactor(Applier(self.files), environment.questions)

    def summaries(self, model_handle: ModelHandle, settings: Settings) -> ModelSummaries:
        return ModelSummaries(
            model_handle,
            self.summary_models,
            settings.summarization_model,
            settings.compaction_timeout_s,
            self._environment.first_backoff_s,
            limits=self._environment.limits,
            session_id=self._session_id,
        )

    def hooks(self, model_handle: ModelHandle, settings: Settings) -> Hooks:
        environment, entries = self._environment, settings.hooks.get(PRE_COMPACT, ())
        return Hooks(
            PRE_COMPACT,
            entries,
            environment.cwd,
            settings.hook_timeout_s,
            model_handle.asked.secrets,
            environment.environ,
            self._transcript,
            settings.env,
            self.hook_command,
            settings.command_sandbox,
        )

    def recovery(self, on: Compactable) -> Recovery:
        """What to try in a turn whose request is refused as too long."""
        return Recovery(on, self.compactor, self.files, self._environment.limits)

    async def close(self) -> None:
        await self.compactor.close()
        await self.summary_models.close()
