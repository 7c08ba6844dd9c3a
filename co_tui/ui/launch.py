"""What the app is started with."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from co_tui.agent.catalogue import Choice, choose
from co_tui.paths import Paths
from co_tui.record import Record
from co_tui.settings import COMMAND_LINE, Loaded, Origin, Settings, load

if TYPE_CHECKING:
    from co_tui.store.port import Store

CHOSEN: Final = "this session"
"""Where a model came from that was chosen in the app."""


class Launch(Record):
    """Folders, what is kept, settings and wishes of the command line."""

    paths: Paths
    store: "Store"
    loaded: Loaded
    environ: Mapping[str, str]
    cwd: Path
    session_id: str = ""
    """The session to open; empty begins a new one."""
    browse: bool = False
    """Begin with the session browser."""
    model: str = ""
    """Named on the command line: replaces a resumed session's own."""

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def choice(self) -> Choice:
        """Who answers in a new session, and why."""
        origin = self.loaded.origins["model"].source
        return choose(self.settings.model, origin, self.environ, self.settings.base_url)

    def reloaded(self, *, policy: str = "", written: str = "") -> Loaded:
        """The settings as they are now, under what the command line said, the model chosen in the app, and the policy
        of this session or another. `written` is the setting that was just written: a choice made before gives way."""
        given = {key: origin.value for key, origin in self.loaded.origins.items() if origin.source == COMMAND_LINE}
        given |= {"policy": policy} if policy else {}
        loaded = load(paths=self.paths, cwd=self.cwd, environ=self.environ, command_line=given)
        chosen = self.loaded.origins["model"]
        if chosen.source == CHOSEN and written != "model":
            return _with_model(loaded, str(chosen.value))
        return loaded

    def with_model(self, model: str) -> "Launch":
        return self.but(loaded=_with_model(self.loaded, model))


def _with_model(loaded: Loaded, model: str) -> Loaded:
    origins = {**loaded.origins, "model": Origin(model, CHOSEN)}
    return loaded.but(settings=loaded.settings.but(model=model), origins=origins)
