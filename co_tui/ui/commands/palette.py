"""The commands in the palette."""

from collections.abc import Awaitable, Callable
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from co_tui.ui.command_table import COMMANDS, Command


class CommandProvider(Provider):
    """Offers every row of the table."""

    async def discover(self) -> Hits:
        for row in COMMANDS:
            yield DiscoveryHit(_title(row), self._run(row), help=row.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for row in COMMANDS:
            title = _title(row)
            score = max(matcher.match(title), matcher.match(row.help))
            if score > 0:
                yield Hit(score, matcher.highlight(title), self._run(row), help=row.help)

    def _run(self, row: Command) -> Callable[[], Awaitable[bool]]:
        return partial(self.app.run_action, row.action)


def _title(row: Command) -> str:
    key = f"  {row.key}" if row.key else ""
    return f"{row.slash}{key}"
