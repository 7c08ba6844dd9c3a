"""What the user allowed for a project once and for all: in a small file of the user's own, never in the project."""

import contextlib
import json
from pathlib import Path
from typing import Any, Final

from co_tui.agent.approvals import AllowedCalls
from co_tui.paths import Paths, path_text, read_small_text, write_atomically
from co_tui.session.checkout import repository_of

LIMIT_BYTES: Final = 1_000_000
MOST_RULES: Final = 200
"""For one project; the oldest go."""


class KeptApprovals:
    """The patterns of one project. Read anew each time: other processes write them, too, and people take them back."""

    def __init__(self, file: Path, project: Path, *, keeps_more: bool = True) -> None:
        """Without `keeps_more` nothing is added to them."""
        self._keeps_more = keeps_more
        self._file = file
        self._project = path_text(project.resolve())

    def rules(self) -> list[AllowedCalls]:
        """A file that cannot be read allows nothing."""
        return _rules(self._read().get(self._project))

    def everywhere(self) -> dict[str, list[AllowedCalls]]:
        """Those of every project that has some."""
        return {project: rules for project, kept in sorted(self._read().items()) if (rules := _rules(kept))}

    def add(self, rule: AllowedCalls) -> None:
        """Keep it from now on; one that cannot be written holds for its session only."""
        if not self._keeps_more:
            return
        others = [each for each in self.rules() if each != rule]
        entries = [each._asdict() for each in (*others, rule)][-MOST_RULES:]
        with contextlib.suppress(OSError):
            self._write(entries)

    def remove(self, rule: AllowedCalls) -> None:
        """Keep it no longer. Raises OSError when that cannot be written."""
        self._write([each._asdict() for each in self.rules() if each != rule])

    def remove_all(self) -> None:
        """The same for all of this project's."""
        self._write([])

    def _write(self, entries: list[dict[str, Any]]) -> None:
        write_atomically(self._file, json.dumps({**self._read(), self._project: entries}, indent=1, sort_keys=True))

    def _read(self) -> dict[str, Any]:
        try:
            known = json.loads(read_small_text(self._file, LIMIT_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}


def kept_for(paths: Paths, cwd: Path, *, keeps_more: bool = True) -> KeptApprovals:
    """Those of the project around a folder."""
    repository, _ = repository_of(cwd)
    return KeptApprovals(paths.state / "approvals.json", Path(repository) if repository else cwd, keeps_more=keeps_more)


def _rules(kept: object) -> list[AllowedCalls]:
    entries = kept if isinstance(kept, list) else []
    return [AllowedCalls(each["tool"], each["pattern"]) for each in entries if _is_rule(each)]


def _is_rule(entry: object) -> bool:
    """A pattern is never empty: that would be every call of the tool."""
    return isinstance(entry, dict) and all(
        isinstance(entry.get(key), str) and entry[key] for key in ("tool", "pattern")
    )
