"""The next request of a session that is not open here, by its log and what was kept beside it. Nothing is written."""

from co_tui.agent.models import recorded_window
from co_tui.paths import Paths
from co_tui.session.history.ratios import Ratios
from co_tui.session.history.sent_beside import SentBeside
from co_tui.session.lens.look import LensSource, stored_source
from co_tui.session.state.session_state import SessionState
from co_tui.settings import Settings
from co_tui.store.errors import StoreError
from co_tui.store.port import Store


class StoredRequests:
    """Of the sessions that are kept in one place."""

    def __init__(self, paths: Paths, store: Store) -> None:
        self._paths, self._store = paths, store

    def source(self, state: SessionState, settings: Settings) -> LensSource:
        """What the next request is made from, under these settings."""
        source = stored_source(
            state,
            settings,
            ratio=Ratios(self._paths.state / "token-ratios.json").of(state.model),
            recorded_window=recorded_window,
            is_own=settings.policy == state.policy or not state.policy,
            in_turn=self._is_in_turn(state),
        )
        sent_beside = SentBeside(self._paths.session(state.session_id)).read()
        return source._replace(scaffold=sent_beside) if sent_beside is not None else source

    def _is_in_turn(self, state: SessionState) -> bool:
        """Whether another process is in the middle of a turn: then the next request follows without a prompt."""
        last = state.history[-1].message if state.history else {}
        parts = last.get("parts") or ()
        answered = last.get("kind") == "response" and not any(part.get("part_kind") == "tool-call" for part in parts)
        if not last or answered:
            return False
        try:
            return state.session_id in self._store.claimed()
        except StoreError:
            return False
