"""What the app is started with."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from co_tui.agent.models.catalogue import Choice, choose
from co_tui.paths import Paths
from co_tui.record import Record
from co_tui.session.workplace.workplace import Workplace
from co_tui.settings import COMMAND_LINE, RESUMED, Loaded, Origin, Settings, load, policy_names

if TYPE_CHECKING:
    from co_tui.session.synced_files import SyncedFiles
    from co_tui.store.port import Store

CHOSEN: Final = "this session"
"""Origin of a model or policy chosen in the app."""


class Launch(Record):
    """Folders, store, settings and command-line options."""

    paths: Paths
    store: "Store"
    loaded: Loaded
    environ: Mapping[str, str]
    workplace: Workplace
    session_id: str = ""
    """The session to open; empty starts a new one."""
    is_restored: bool = False
    """Whether the session to open was not asked for: the settings say so."""
    first_command: str = ""
    """The command to begin with, such as `sessions` or `example`."""
    model: str = ""
    """Named on the command line or in the environment: replaces a resumed session's own."""
    private: bool = False
    """Whether its sessions are not kept."""
    policy_path: str = ""
    """The policy file named on the command line."""

    @property
    def cwd(self) -> Path:
        """The folder of this machine; an empty one for work on another host."""
        return self.workplace.folder

    @property
    def branch(self) -> str:
        """The git branch of the folder; empty without one."""
        return self.workplace.repository[1]

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def files(self) -> "SyncedFiles":
        """The files of sessions, projects and the user."""
        from co_tui.session.synced_files import SyncedFiles

        return SyncedFiles(self.paths, self.store.sync.files)

    @property
    def program(self) -> str:
        """What starts co-tui in the user's shell."""
        import shutil
        import sys

        if "UV_RUN_RECURSION_DEPTH" in self.environ:  # `uv run` adds to PATH what the shell itself does not have
            return "uv run co-tui"
        return "co-tui" if shutil.which("co-tui", path=self.environ.get("PATH", "")) else f"{sys.executable} -m co_tui"

    @property
    def choice(self) -> Choice:
        """The model of a new session, and why it was chosen."""
        origin = self.loaded.origins["model"].source
        return choose(self.settings.model, origin, self.environ, self.settings.base_url, self.kept_keys)

    @property
    def kept_keys(self) -> frozenset[str]:
        """The providers whose key is kept by `co-tui login`."""
        if not self.paths.keys_file.exists():
            return frozenset()
        from co_tui.agent.keys.kept_keys import KeptKeys

        return KeptKeys(self.paths).providers(self.environ, self.settings.base_url)

    @property
    def policies(self) -> list[str]:
        """The policies to choose from; a file named on the command line is the last."""
        return [*policy_names(self.paths), *([self.policy_path] if self.policy_path else [])]

    def reloaded(self, *, policy: str = "", resumed: str = "", written: str = "") -> Loaded:
        """The settings read again, below command-line options and choices made in the app. `policy` is chosen now,
        `resumed` is the policy of a session resumed now, `written` the setting just written: it replaces an earlier
        choice."""
        given = self._set_by(COMMAND_LINE)
        chosen = {key: value for key, value in self._set_by(CHOSEN).items() if key != written}
        own = {key: str(value) for key, value in self._set_by(RESUMED).items() if key != written}
        if resumed:
            chosen.pop("policy", None)
            own = {"policy": resumed}
        chosen |= {"policy": policy} if policy else {}
        # A policy sets other values, so it must be known when the layers are read.
        given |= {key: value for key, value in chosen.items() if key == "policy"}
        loaded = load(paths=self.paths, cwd=self.cwd, environ=self.environ, command_line=given, resumed=own)
        if loaded.settings.policy != str(chosen.get("policy", loaded.settings.policy)):
            del chosen["policy"]  # its file is gone or broken: the settings are another policy's now
        return loaded if loaded.problems and (policy or resumed) else _with_chosen(loaded, chosen)

    def _set_by(self, source: str) -> dict[str, object]:
        return {key: origin.value for key, origin in self.loaded.origins.items() if origin.source == source}

    def in_folder(self, cwd: Path) -> "Launch":
        """The same launch in another folder, with the settings of that folder."""
        moved = self.but(workplace=self.workplace.in_folder(cwd))
        return moved.but(loaded=moved.reloaded())

    def with_model(self, model: str) -> "Launch":
        return self.but(loaded=_with_chosen(self.loaded, {"model": model}))


def _with_chosen(loaded: Loaded, chosen: Mapping[str, object]) -> Loaded:
    origins = {**loaded.origins, **{key: Origin(value, CHOSEN) for key, value in chosen.items()}}
    return loaded.but(settings=loaded.settings.but(**chosen), origins=origins)
