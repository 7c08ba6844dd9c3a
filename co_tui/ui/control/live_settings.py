"""The settings of the running app: a change takes effect as soon as it can."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from co_tui.session.launch import Launch
from co_tui.session.slash.applying import apply_setting
from co_tui.settings import Loaded
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.backend import Backend

if TYPE_CHECKING:
    from co_tui.session.session import Session


class LiveSettings:
    """Passes every change to the backend, the open session and the chat."""

    def __init__(self, backend: Backend, chat: ChatScreen, session: "Callable[[], Session | None]") -> None:
        """`session` returns the open one."""
        self._backend, self._chat, self._session = backend, chat, session

    @property
    def launch(self) -> Launch:
        """What new sessions start with."""
        return self._backend.launch

    def show(self) -> None:
        self._chat.show_launch(self.launch)

    def prefer(self, model: str) -> None:
        """Use this model for new sessions."""
        if model and model != self.launch.choice.model:
            self._backend.prefer(model)
            self.show()

    def adopt_policy(self, name: str) -> str:
        """Use the policy of the session about to be shown, unless a stronger layer sets one. Returns why it cannot be
        used, and which one is; empty otherwise."""
        if not name or name == self.launch.settings.policy:
            return ""
        loaded = self.launch.reloaded(resumed=name)
        if loaded.problems:
            return f"{loaded.problems[0]} Using {self.launch.settings.policy}."
        self._backend.use_settings(loaded)
        self.show()
        return ""

    async def move(self, folder: Path) -> None:
        """Work in another folder, with that folder's settings."""
        launch = await self._backend.move(folder)
        self._chat.show_folder(launch)

    async def apply(self, key: str, loaded: Loaded) -> str:
        """Apply changed settings; returns when the change of this key takes effect."""
        self._backend.use_settings(loaded)
        session = self._session()
        holds = await apply_setting(key, loaded, session)
        if key == "mcp_servers":
            self._backend.start_servers(session.state.model if session is not None else self.launch.choice.model)
        self.show()
        return holds

    async def renew(self, loaded: Loaded) -> None:
        """Use settings that may change the model, for new sessions."""
        await self._backend.renew(loaded)
        self.show()
