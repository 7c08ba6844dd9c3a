"""A reader that knows what is only here: events that wait to be handed over, sessions that the server never saw."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from co_tui.events import Event, UsageInfo
from co_tui.store.postgres.away.kept_here import KeptHere, KeptPlace
from co_tui.store.postgres.bulk import ALL_SEQS
from co_tui.store.postgres.read_connections import ReadConnections
from co_tui.store.postgres.reader import Reader
from co_tui.store.sqlite.reader import Reader as FileReader
from co_tui.store.store_errors import SessionNotFound
from co_tui.store.stored_values import FoundMessages, Preview, SessionRow


class KeptReader(Reader):
    """Asks the server, and the files here for what it does not have yet."""

    def __init__(self, connections: ReadConnections, kept: KeptHere) -> None:
        super().__init__(connections)
        self._kept = kept

    def _whole(self, session_id: str) -> Path | None:
        """The file of a session that is not on the server at all."""
        place = self._kept.place(session_id)
        return place.path if place is not None and place.base == 0 else None

    def session(self, name: str) -> SessionRow:
        for path in {place.path for place in self._kept.places().values()}:
            with suppress(SessionNotFound), FileReader(path) as reading:
                row = reading.session(name)
                if self._whole(row.id):
                    return row
        return super().session(self._kept.present_id(name))

    def events(self, session_id: str, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        place, kept = None, list[Event]()
        while True:
            name = self._kept.present_id(session_id)
            if (place := self._kept.place(name)) is not None:
                with FileReader(place.path) as reading:
                    kept = list(reading.events(name, max(after, place.base), upto))
            if self._is_unchanged(session_id, name, place):
                break
        last = ALL_SEQS if upto is None else upto
        if place is None:
            yield from super().events(name, after, upto)
            return
        if after < place.base:
            yield from super().events(name, after, min(place.base, last))
        yield from kept

    def _is_unchanged(self, session_id: str, name: str, place: KeptPlace | None) -> bool:
        """False when it was handed over while its file was read."""
        return self._kept.present_id(session_id) == name and self._kept.place(name) == place

    def last_events(self, session_id: str, count: int, before: int | None = None) -> list[Event]:
        name = self._kept.present_id(session_id)
        place = self._kept.place(name)
        if place is None:
            return super().last_events(name, count, before)
        with FileReader(place.path) as reading:
            kept = reading.last_events(name, count, before)
        if not self._is_unchanged(session_id, name, place):
            return self.last_events(session_id, count, before)
        if len(kept) == count or place.base == 0:
            return kept
        first = min(place.base + 1, before if before is not None else ALL_SEQS)
        return super().last_events(name, count - len(kept), first) + kept

    def preview(self, session_id: str, count: int = 6, chars: int = 1000) -> Preview:
        if path := self._whole(session_id):
            with FileReader(path) as reading:
                return reading.preview(session_id, count, chars)
        return super().preview(self._kept.present_id(session_id), count, chars)

    def messages_with(self, session_id: str, words: Sequence[str], *, except_tool: str | None = None) -> FoundMessages:
        if path := self._whole(session_id):
            with FileReader(path) as reading:
                return reading.messages_with(session_id, words, except_tool=except_tool)
        return super().messages_with(self._kept.present_id(session_id), words, except_tool=except_tool)

    def usage(self, session_id: str) -> UsageInfo | None:
        if path := self._whole(session_id):
            with FileReader(path) as reading:
                return reading.usage(session_id)
        return super().usage(self._kept.present_id(session_id))

    def partial_reply(self, session_id: str) -> list[str]:
        if path := self._whole(session_id):
            with FileReader(path) as reading:
                return list(reading.partial_reply(session_id))
        return super().partial_reply(self._kept.present_id(session_id))
