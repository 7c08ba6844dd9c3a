"""What a turn works with: the model that answers, what it is told, and the history it gets."""

from dataclasses import dataclass

from pydantic_ai.settings import ModelSettings

from co_tui.agent.models.open_model import ModelHandle
from co_tui.agent.models.request_settings import with_effort
from co_tui.agent.toolkit import Toolkit
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.approvals.questions import Questions
from co_tui.session.compaction.job import Compactable
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.request_scaffold import SentBeside
from co_tui.session.tools.archive import Archive
from co_tui.settings import Settings

FIRST_BACKOFF_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """One for each model and policy a session has had; a turn keeps the one it began with."""

    model_handle: ModelHandle
    settings: Settings
    instructions: str
    toolkit: Toolkit
    questions: Questions
    archive: Archive
    sent_beside: SentBeside
    """What went with the last request, for whoever looks at it later."""
    compactable: Compactable
    """What is made smaller when it grows too long."""
    permissions: Permissions
    """What may run without a question."""
    works: tuple[str, ...] = ()
    """The kinds of tools for the folder that it offers."""
    first_backoff_s: float = FIRST_BACKOFF_S

    @property
    def request_settings(self) -> ModelSettings:
        """What the model is asked with, as the settings are now."""
        return with_effort(self.model_handle.settings, self.settings.reasoning_effort)

    @property
    def history(self) -> GovernedHistory:
        return self.compactable.history
