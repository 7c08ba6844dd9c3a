"""Everything sessions share: files, settings, the store, and how to reach models."""

import asyncio
import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import AbstractToolset

from co_tui.agent.known_keys import KnownKeys
from co_tui.agent.mcp.confined_server import ServerSandbox
from co_tui.agent.mcp.servers import McpServers
from co_tui.agent.models.known_models import assumed
from co_tui.agent.models.native_answers import plausible_window
from co_tui.agent.models.open_model import ModelHandle
from co_tui.agent.permissions.session_programs import SessionPrograms
from co_tui.agent.toolkit import AsksFirst, never_asks
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.context.measure.count import CATALOGUE, FALLBACK_WINDOW_TOKENS, Window
from co_tui.events.decisions import Source
from co_tui.paths import Paths
from co_tui.session.approvals.kept_approvals import KeptApprovals, kept_for
from co_tui.session.approvals.marks import Marks, source_of, uncounted_rules
from co_tui.session.approvals.questions import Questions, Unattended
from co_tui.session.approvals.server_forms import fill_in
from co_tui.session.history.learned_limits import LIMITS_FILE, Limits
from co_tui.session.history.learned_ratios import Ratios
from co_tui.session.recorder import Recorder
from co_tui.session.repository_identity import repository_id_of
from co_tui.session.runtime.runtime import FIRST_BACKOFF_S
from co_tui.session.state.derive import replay
from co_tui.session.state.session_state import SessionState
from co_tui.session.synced_files import RATIOS_FILE, SyncedFiles
from co_tui.session.workplace.workplace import Workplace
from co_tui.settings import Settings
from co_tui.store.notes.checkpoints import Checkpoints, InMemoryCheckpoints, Shelf
from co_tui.store.notes.context_board import ContextBoard
from co_tui.store.port import Store

if TYPE_CHECKING:
    from co_tui.session.tools.folder.session_folder import WrapFolder

OpenModel = Callable[[str], Awaitable[ModelHandle]]


class StoredLog(NamedTuple):
    """What a stored log says here."""

    state: SessionState
    asked_again: tuple[str, ...]
    """Approvals that do not count, named once: they were given on another machine, in another folder, or to
    an earlier version."""
    source: Source


@dataclass(slots=True, kw_only=True)
class Environment:
    """Everything sessions share: files, settings, the store, and how to reach models."""

    paths: Paths
    settings: Settings
    store: Store
    open_model: OpenModel
    workplace: Workplace
    """Where its tools work. One on another host is closed by the creator of this environment."""
    toolsets: Sequence[AbstractToolset[Any]] = ()
    capabilities: Sequence[AbstractCapability[Any]] = ()
    asks_first: AsksFirst = never_asks
    """Which calls of any tool need approval before they run."""
    works_in_folder: bool = False
    """Whether agents get the tools for the working directory that the settings name."""
    read_only: bool = False
    """Whether these tools only read."""
    more_instructions: str = ""
    """What the user adds to the instructions of this run."""
    own_instructions: str = ""
    """What the user gives in place of ours."""
    wrap_folder: "WrapFolder | None" = None
    """Puts something else between these tools and the folder, such as an editor's unsaved texts."""
    first_backoff_s: float = FIRST_BACKOFF_S
    questions: Questions = field(default_factory=Unattended)
    """Answers the questions of sessions."""
    names_sessions: bool = False
    """Whether the summarization model writes titles for new sessions."""
    private: bool = False
    """Whether sessions store nothing: no memory, no board, no file."""
    checkpoint_shelf: Shelf = field(default_factory=dict)
    """The checkpoints of private sessions."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """The environment of the user's own commands; keys are removed first."""
    mcp_servers: McpServers = field(default_factory=McpServers)
    """The running servers; closed by the creator of this environment."""
    keeps_mode: bool = True
    """Whether a resumed session keeps a mode that is tighter than the settings'; not if the user names a mode."""
    marks: Marks = field(init=False)
    """Marks what this machine decides, and checks what logs decide."""
    limits: Limits = field(init=False)
    """What refusals and answers revealed about the models' windows."""
    _reported_windows: dict[tuple[str, str], int | None] = field(init=False, default_factory=dict)
    """By model and address, once a model was asked."""

    def __post_init__(self) -> None:
        self.marks = Marks(None if self.private else self.paths.machine_key)
        limits = self.paths.state / LIMITS_FILE
        self.limits = Limits(limits, writes=not self.private, on_change=self.files.limits_changed)
        self.mcp_servers.ask = lambda form: fill_in(form, self.questions)
        self.mcp_servers.sandbox = ServerSandbox(lambda: self.workplace.folders, self.paths, self._programs)

    def _programs(self) -> dict[Path, str]:
        """What co-tui itself runs of the session's folders."""
        programs = SessionPrograms(self.workplace.folders, self.environ)
        programs.use(self.settings)
        return programs.paths

    @property
    def cwd(self) -> Path:
        """The folder of this machine; an empty one for work on another host."""
        return self.workplace.folder

    async def stored_state(self, session_id: str, upto: int | None = None) -> SessionState:
        """The state of a session at the end of its log, or at a seq; read in a thread."""

        return (await self.stored_log(session_id, upto)).state

    async def stored_log(self, session_id: str, upto: int | None = None) -> "StoredLog":
        """The same, and the approvals of the log that do not count here."""

        def read() -> StoredLog:
            with self.store.reading() as reading:
                log = list(reading.events(session_id, upto=upto))
                source = source_of(reading, session_id) if log else Source.OTHERS
            counted = list(self.marks.counted(log, source))
            state = replay(counted)
            here = self.workplace.text
            there = () if here == state.cwd else state.allowed
            elsewhere = [str(rule) for rule in there if rule not in state.allowed_elsewhere.get(here, ())]
            return StoredLog(state, (*uncounted_rules(log, counted, state), *elsewhere), source)

        return await asyncio.to_thread(read)

    def recorder(self, session_id: str, state: SessionState) -> Recorder:
        """Writes a session in this state."""
        return Recorder(session_id, self.store.writing(), state, marks=self.marks, keys=KnownKeys(self.environ))

    @property
    def files(self) -> SyncedFiles:
        """The files of sessions, projects and the user, and what keeps them equal on other machines."""
        return SyncedFiles(self.paths, self.store.sync.files)

    @property
    def ratios(self) -> Ratios:
        return Ratios(self.paths.state / RATIOS_FILE, self.files.ratios_changed)

    def checkpoints(self, session_id: str) -> Checkpoints:
        """The checkpoints of a session, in files unless it is private."""
        if self.private:
            return InMemoryCheckpoints(self.checkpoint_shelf, self.paths.session(session_id))
        return self.files.checkpoints(session_id)

    @property
    def board(self) -> ContextBoard:
        """The board of the working directory's current repository and branch."""
        return self.files.board(self.cwd)

    @property
    def kept_approvals(self) -> KeptApprovals:
        """What the user allowed for the working directory's project."""
        return kept_for(self.files, self.cwd, keeps_more=not self.private)

    def origin(self, model: str, policy: str) -> dict[str, str]:
        """The fields of a `SessionOrigin`: what a session runs with, and where."""
        repository, branch = self.workplace.repository
        return {
            "model": model,
            "policy": policy,
            "cwd": self.workplace.text,
            "repository": repository,
            "branch": branch,
            "repository_id": repository_id_of(self.cwd),
            "host": platform.node(),
        }

    async def window(self, model_handle: ModelHandle, settings: Settings | None = None) -> Window:
        """The setting, else what the model or its server reports or refusals revealed, else a default."""
        set_tokens = (settings or self.settings).context_window
        if set_tokens:
            return Window(tokens=set_tokens, known=True)
        reported, asked = await model_handle.window_tokens(), model_handle.asked
        self._reported_windows[asked.model, asked.address] = reported
        return self._learned_window(asked, reported)

    def window_now(self, asked: RequestTarget, settings: Settings) -> Window | None:
        """The same without asking the model again, including what was learned since; None if it was never asked."""
        if settings.context_window:
            return Window(tokens=settings.context_window, known=True)
        known = self._reported_windows
        key = (asked.model, asked.address)
        return self._learned_window(asked, known[key]) if key in known else None

    def _learned_window(self, asked: RequestTarget, reported: int | None) -> Window:
        learned = self.limits.known(asked)
        tokens = min(filter(None, (reported, learned.limit_tokens)), default=None)
        window = Window(tokens=tokens or FALLBACK_WINDOW_TOKENS, known=tokens is not None)
        if tokens is None and (published := plausible_window(assumed(asked.model).window_tokens)):
            window = Window(tokens=published, known=False, source=CATALOGUE)
        if learned.most_tokens is not None and learned.most_tokens < window.tokens:
            return Window(tokens=learned.most_tokens, known=False)
        return window
