"""What the lens looks at in the app: the open session, under its own policy or any other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from co_tui.context.marks import marks
from co_tui.context.policy import policy_of
from co_tui.events import Ref
from co_tui.session.lens.look import LensSource, source_of
from co_tui.settings import policy_names
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.widgets.gauge_reading import GaugeReading

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
    def gauge(self) -> GaugeReading:
        usage, policy = self._session.state.usage, policy_of(self._session.settings)
        return GaugeReading(usage=usage, marks=marks(policy, usage.token_limit)) if usage else GaugeReading()

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
