"""What a turn works with: the model, its instructions and tools, and the history."""

from collections.abc import Callable
from typing import NamedTuple

from pydantic_ai.settings import ModelSettings

from co_tui.agent.models.open_model import ModelHandle
from co_tui.agent.models.request_settings import with_cache_key, with_effort
from co_tui.agent.toolkit import Toolkit
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.approvals.questions import Questions
from co_tui.session.call_facts import CallOutcomes
from co_tui.session.compaction.job import Compactable
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.request_scaffold import ScaffoldFile
from co_tui.session.hooks.session_hooks import SessionHooks
from co_tui.session.tools.archive import Archive
from co_tui.session.turns.spending import Spending
from co_tui.settings import AgentFile, Settings

FIRST_BACKOFF_S = 0.5


class Runtime(NamedTuple):
    """One for each combination of model and policy in a session; a turn keeps the one it started with."""

    model_handle: ModelHandle
    settings: Settings
    instructions: str
    toolkit: Toolkit
    questions: Questions
    archive: Archive
    scaffold_file: ScaffoldFile
    """Where the instructions and tools of the last request are stored."""
    compactable: Compactable
    """The history and what compacts it."""
    permissions: Permissions
    """Which calls run without asking."""
    hooks: SessionHooks
    """The user's commands at events, and the notes for the model."""
    outcomes: CallOutcomes
    """What is known of calls whose results are not logged yet."""
    spending: Spending
    """Stops turns at the limits on spending."""
    find_agent: Callable[[str], AgentFile | None]
    """The agent of a name, as its file is now."""
    speaker: AgentFile | None = None
    """The agent of a file that answers in place of the main agent."""
    works: tuple[str, ...] = ()
    """The kinds of tools for the working directory that it offers."""
    first_backoff_s: float = FIRST_BACKOFF_S

    @property
    def speaker_name(self) -> str:
        """Empty for the main agent."""
        return self.speaker.name if self.speaker is not None else ""

    @property
    def request_settings(self) -> ModelSettings:
        """The model's request settings, with the current reasoning effort and the session's cache key."""
        return self.settings_for(self.model_handle)

    def settings_for(self, model_handle: ModelHandle) -> ModelSettings:
        """The same for another model."""
        settings = with_effort(model_handle.settings, self.settings.reasoning_effort)
        return with_cache_key(settings, self.history.session_id)

    @property
    def history(self) -> GovernedHistory:
        return self.compactable.history
