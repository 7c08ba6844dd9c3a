"""What the lens shows: the session in the chat, under its own policy or any other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from co_tui.context.compact.thresholds import thresholds_of
from co_tui.context.policy import policy_of
from co_tui.events import Ref
from co_tui.session.lens.last_viewed import LastView, LastViewFile
from co_tui.session.lens.request_rows import Lens
from co_tui.session.lens.snapshot import LensSource, on_whole_conversation, source_of
from co_tui.session.lens.stored_lens import StoredRequests
from co_tui.session.state.derive import apply
from co_tui.session.state.session_state import SessionState
from co_tui.settings import Settings, policy_description
from co_tui.store.timestamps import now
from co_tui.ui.background import in_thread
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.gauge.gauge_reading import GaugeReading

if TYPE_CHECKING:
    from co_tui.session.session import Session


class _Subject:
    """Shared by open and read-only sessions."""

    def __init__(self, host: CommandHost, session_id: str, *, is_kept: bool) -> None:
        self._host = host
        launch = host.launch
        folder = launch.paths.session(session_id) if is_kept else None
        self._views = LastViewFile(folder, launch.files.session_changed(session_id))
        self.last_view: LastView = self._views.read()

    @property
    def policies(self) -> Sequence[str]:
        return self._host.launch.policies

    @property
    def set_window(self) -> int:
        return self._host.launch.settings.context_window

    def describe(self, policy: str) -> str:
        return policy_description(policy, self._host.launch.paths)

    def remember_view(self, lens: Lens) -> None:
        self._views.write(lens.as_viewed(now()))

    def _settings_under(self, policy: str) -> Settings:
        return self._host.launch.reloaded(policy=policy).settings


def _gauge(state: SessionState, settings: Settings) -> GaugeReading:
    usage = state.usage
    if usage is None:
        return GaugeReading()
    return GaugeReading(usage=usage, marks=thresholds_of(policy_of(settings), usage.token_limit, usage.fixed_tokens))


class OpenSubject(_Subject):
    """The lens on the open session, read when asked."""

    read_only = ""

    def __init__(self, host: CommandHost, session: "Session") -> None:
        super().__init__(host, session.id, is_kept=session.is_kept)
        self._session = session

    @property
    def version(self) -> object:
        return self._session.state

    @property
    def gauge(self) -> GaugeReading:
        return _gauge(self._session.state, self._session.settings)

    @property
    def policy(self) -> str:
        return self._session.settings.policy

    async def source(self, policy: str) -> LensSource:
        session = self._session
        if policy in ("", self.policy):
            source = source_of(session.history, session.settings)
        else:
            source = source_of(session.history, self._settings_under(policy), is_own=False)
        return on_whole_conversation(source) if policy else source

    async def pin(self, ref: Ref, *, pinned: bool) -> None:
        await self._session.edits.pin([ref], pinned=pinned)


class StoredSubject(_Subject):
    """The lens on a session that another process writes, read from its log. Writes nothing."""

    def __init__(self, host: CommandHost) -> None:
        super().__init__(host, host.session_id, is_kept=True)
        self._session_id = host.session_id
        launch = host.launch
        self._store, self._requests = launch.store, StoredRequests(launch.paths, launch.store)
        self._state = SessionState()

    @property
    def read_only(self) -> str:
        return self._host.why_not_open

    @property
    def version(self) -> object:
        return self._host.state

    @property
    def gauge(self) -> GaugeReading:
        return _gauge(self._host.state, self._settings_under(self.policy))

    @property
    def policy(self) -> str:
        return self._host.state.policy or self._host.launch.settings.policy

    async def source(self, policy: str) -> LensSource:
        settings = self._settings_under(policy or self.policy)
        source = await in_thread(lambda: self._requests.source(self.read(), settings))
        return on_whole_conversation(source) if policy else source

    def read(self) -> SessionState:
        """The state by now; reads only what was logged since the last call."""
        with self._store.reading() as reading:
            for event in reading.events(self._session_id, after=self._state.seq):
                self._state = apply(self._state, event)
        return self._state

    async def pin(self, ref: Ref, *, pinned: bool) -> None:
        raise PermissionError(self.read_only)
