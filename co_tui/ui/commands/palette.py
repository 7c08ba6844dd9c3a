"""The commands in the palette."""

from collections.abc import Awaitable, Callable
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from co_tui.actions import COMMANDS, Command
from co_tui.ui.command_table import told_key


class CommandProvider(Provider):
    """Offers every row of the table."""

    async def discover(self) -> Hits:
        for row in COMMANDS:
            yield DiscoveryHit(self._title(row), self._run(row), help=row.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for row in COMMANDS:
            title = self._title(row)
            score = max(matcher.match(title), matcher.match(row.help))
            if score > 0:
                yield Hit(score, matcher.highlight(title), self._run(row), help=row.help)

    def _title(self, row: Command) -> str:
        bound = next((each for _, each in self.screen._bindings if each.id == f"command.{row.name}"), None)
        return f"{row.slash}  {told_key(bound.key)}" if bound is not None else row.slash

    def _run(self, row: Command) -> Callable[[], Awaitable[bool]]:
        return partial(self.app.run_action, row.action)
