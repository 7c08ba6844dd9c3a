"""More of a long session than its end, brought into the chat when the reader comes near it."""

import asyncio
from typing import TYPE_CHECKING, Any

from textual.app import App

from co_tui.store.store_errors import StoreError
from co_tui.ui.chat.chat_screen import ChatScreen

if TYPE_CHECKING:
    from co_tui.ui.control.stored_session import StoredSession


class OlderMessages:
    """Of the stored session that is shown."""

    def __init__(self, host: App[Any], chat: ChatScreen) -> None:
        self._host, self._chat = host, chat
        self.stored: StoredSession | None = None
        self._reading = asyncio.Lock()
        """Held while older events are read beside the screen: each page is brought once."""

    def load(self) -> None:
        """Some more, when the reader comes near the loaded beginning."""
        stored = self.stored
        if stored is None or self._reading.locked():
            return
        try:
            blocks = stored.older()
        except StoreError as error:
            self._cannot_load(error)
            return
        if blocks:
            self._chat.show_older(blocks)

    async def load_back_to(self, seq: int) -> None:
        """All from an event on, read beside the screen; what is being read for somebody else comes first."""
        async with self._reading:
            if (stored := self.stored) is None:
                return
            try:
                blocks = await asyncio.to_thread(stored.back_to, seq)
            except StoreError as error:
                self._cannot_load(error)
                return
            if blocks and stored is self.stored:
                self._chat.show_older(blocks)

    def _cannot_load(self, error: StoreError) -> None:
        self.stored = None
        self._host.notify(str(error), severity="error", markup=False)
