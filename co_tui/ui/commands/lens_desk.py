"""What the lens looks at in the app: the open session, under its own policy or any other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from co_tui.events import Ref
from co_tui.session.lens.look import LensSource, source_of
from co_tui.settings import policy_names
from co_tui.ui.commands.host import CommandHost

if TYPE_CHECKING:
    from co_tui.session.session import Session


class SessionDesk:
    """The session as it is at the moment of asking."""

    def __init__(self, host: CommandHost, session: "Session") -> None:
        self._host, self._session = host, session

    @property
    def version(self) -> object:
        return self._session.state

    @property
    def policy(self) -> str:
        return self._session.settings.policy

    @property
    def policies(self) -> Sequence[str]:
        return policy_names(self._host.settings.launch.paths)

    def source(self, policy: str) -> LensSource:
        session = self._session
        if policy in ("", self.policy):
            return source_of(session.history, session.settings)
        settings = self._host.settings.launch.reloaded(policy=policy).settings
        return source_of(session.history, settings, is_own=False)

    async def pin(self, ref: Ref, *, pinned: bool) -> None:
        await self._session.pin([ref], pinned=pinned)
