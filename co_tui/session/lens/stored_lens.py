"""The next request of a session that is not open in this process, from its log and its stored scaffold. Read-only."""

from collections.abc import Iterator

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.agent.models.open_model import recorded_window
from co_tui.events import Event, Fact, SessionEnd, SessionError, SessionInterrupted, SessionResume
from co_tui.events.stored_messages import command_in
from co_tui.paths import Paths
from co_tui.session.history.learned_ratios import Ratios
from co_tui.session.history.request_scaffold import ScaffoldFile
from co_tui.session.history.restoring import restoring
from co_tui.session.lens.snapshot import LensSource, stored_source
from co_tui.session.state.derive import apply
from co_tui.session.state.session_state import SessionState, seq_of
from co_tui.session.synced_files import RATIOS_FILE, SyncedFiles
from co_tui.session.tools.own_tools import Offer, memory_use, predicted_scaffold
from co_tui.settings import Settings
from co_tui.store.notes.daily_memory import DailyMemory
from co_tui.store.port import Store
from co_tui.store.store_errors import StoreError

MAY_TAKE_NO_TOOLS = (EMBEDDED, "gguf", "ollama")
"""Whether these models take tools is unknown until they are opened."""


class StoredRequests:
    """The next requests of the sessions in one store."""

    def __init__(self, paths: Paths, store: Store) -> None:
        self._paths, self._store = paths, store
        self._refreshed: set[str] = set()

    def source(self, state: SessionState, settings: Settings) -> LensSource:
        """What the next request is made from under these settings."""
        if state.session_id not in self._refreshed:
            self._refreshed.add(state.session_id)
            SyncedFiles(self._paths, self._store.sync.files).refresh_session(state.session_id)
        is_open = self._is_open(state)
        source = stored_source(
            state,
            settings,
            ratio=Ratios(self._paths.state / RATIOS_FILE).of(state.model),
            recorded_window=recorded_window,
            is_own=settings.policy == state.policy or not state.policy,
            in_turn=is_open and _is_in_turn(state),
        )
        if not is_open:
            source = _reopened(source)
        scaffold = ScaffoldFile(self._paths.session(state.session_id)).read()
        if scaffold is not None:
            source = source._replace(scaffold=scaffold)
        return self._with_predicted_tools(source, settings) if source.awaits_prompt else source

    def _with_predicted_tools(self, source: LensSource, settings: Settings) -> LensSource:
        """With those of our tools that the next turn offers, if its model takes tools."""
        sent, state = source.scaffold, source.state
        if not sent.tool_names and state.model.partition(":")[0] in MAY_TAKE_NO_TOOLS:
            return source
        has_memory = DailyMemory(self._paths.memory).exists
        offer = Offer(source.policy, source.window.tokens, state.removed_chars, memory_use(settings), has_memory)
        return source._replace(scaffold=predicted_scaffold(sent, offer))

    def _is_open(self, state: SessionState) -> bool:
        """Whether a process has it open."""
        try:
            return state.session_id in self._store.claimed()
        except StoreError:
            return False


def _reopened(source: LensSource) -> LensSource:
    """The source after the session is resumed, which comes before its next request."""
    state = source.state
    fact = restoring(state, source.policy)
    if fact is None:
        return source
    event = Event(session_id=state.session_id, seq=state.seq + 1, timestamp="", fact=fact)
    return source._replace(state=apply(state, event))


def _is_in_turn(state: SessionState) -> bool:
    """Whether an open session is in the middle of a turn: then the next request follows without a prompt."""
    last = state.history[-1].message if state.history else {}
    parts = last.get("parts") or ()
    answered = last.get("kind") == "response" and not any(part.get("part_kind") == "tool-call" for part in parts)
    if not last or answered or command_in(last):
        return False
    return not any(map(_ends_turn, _facts_since(state, state.history[-1].seq)))


def _facts_since(state: SessionState, seq: int) -> Iterator[Fact]:
    for event in reversed(state.timeline):
        if seq_of(event) <= seq:
            return
        yield event.fact


def _ends_turn(fact: Fact) -> bool:
    """Whether the next request after it needs a prompt first."""
    if isinstance(fact, SessionError):
        return bool(fact.where) and fact.retry_in_s is None and not fact.agent
    return isinstance(fact, SessionResume | SessionEnd) or (isinstance(fact, SessionInterrupted) and not fact.agent)
