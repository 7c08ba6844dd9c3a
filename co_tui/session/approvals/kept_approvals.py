"""What the user allowed permanently for a project: in a file of the user's, never in the project."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from co_tui.agent.permissions.older_answers import converted, read_rule
from co_tui.paths import path_text, read_small_text, write_atomically
from co_tui.session.checkout import repository_of
from co_tui.session.host.address import is_stand_in
from co_tui.session.synced_files import APPROVALS_FILE, SyncedFiles
from co_tui.settings.permission_rules import MCP, Rule
from co_tui.store.file_lock import file_lock
from co_tui.store.synced.synced_file import OnChange, not_synced

LIMIT_BYTES: Final = 1_000_000
MOST_RULES: Final = 200
"""For one project; the oldest are dropped."""


class KeptApprovals:
    """The rules of one project. Read each time, since other processes write them too."""

    def __init__(self, file: Path, project: Path, *, keeps_more: bool = True, on_change: OnChange = not_synced) -> None:
        """Without `keeps_more` nothing is added."""
        self._keeps_more = keeps_more
        self._on_change = on_change
        self._file = file
        self._project = path_text(project.resolve())

    def rules(self) -> list[Rule]:
        """The project's rules; none if the file cannot be read."""
        return _rules(self._read().get(self._project))

    def everywhere(self) -> dict[str, list[Rule]]:
        """The rules of every project that has some."""
        return {project: rules for project, kept in sorted(self._read().items()) if (rules := _rules(kept))}

    def add(self, rule: Rule) -> None:
        """Store a rule; if that fails, it holds for its session only."""
        if self._keeps_more:
            with contextlib.suppress(OSError):
                self._change(lambda rules: [*(each for each in rules if each != rule), rule][-MOST_RULES:])

    def remove(self, rule: Rule) -> None:
        """Remove a rule. Raises OSError if the file cannot be written."""
        self._change(lambda rules: [each for each in rules if each != rule])

    def remove_all(self) -> None:
        """Remove all rules of this project."""
        self._change(lambda rules: [])

    def drop_too_broad(self) -> list[str]:
        """Drop rules of an older version that are too broad, and return them, to be reported once."""
        entries = self._read().get(self._project)
        dropped = [_older(each) for each in entries if _is_too_broad(each)] if isinstance(entries, list) else []
        if dropped and self._keeps_more:
            with contextlib.suppress(OSError):
                self._change(lambda rules: rules)
        return dropped

    def _change(self, change: Callable[[list[Rule]], list[Rule]]) -> None:
        with file_lock(self._file.with_suffix(".lock")):
            rules = [str(rule) for rule in change(self.rules())]
            known = {**self._read(), self._project: rules}
            write_atomically(self._file, json.dumps(known, indent=1, sort_keys=True))
        self._on_change()

    def _read(self) -> dict[str, Any]:
        try:
            known = json.loads(read_small_text(self._file, LIMIT_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}


def kept_for(files: SyncedFiles, cwd: Path, *, keeps_more: bool = True) -> KeptApprovals:
    """The approvals of the project that contains a folder."""
    repository = "" if is_stand_in(files.paths.state, cwd) else repository_of(cwd)[0]
    project = Path(repository) if repository else cwd
    on_change = files.approvals_changed(cwd)
    return KeptApprovals(files.paths.state / APPROVALS_FILE, project, keeps_more=keeps_more, on_change=on_change)


def _rules(kept: object) -> list[Rule]:
    found = map(_rule, kept) if isinstance(kept, list) else ()
    # Never all calls of a tool: no question offers that.
    return [rule for rule in found if rule is not None and (rule.pattern or rule.tool.startswith(MCP))]


def _rule(entry: object) -> Rule | None:
    """A rule as text, or in an older version's format: a tool and a pattern."""
    if isinstance(entry, str):
        return read_rule(entry)
    if isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("tool", "pattern")):
        return converted(entry["tool"], entry["pattern"])
    return None


def _is_too_broad(entry: object) -> bool:
    return isinstance(entry, dict) and bool(entry.get("pattern")) and _rule(entry) is None


def _older(entry: Any) -> str:
    return f"{entry.get('tool')}: {entry.get('pattern')}"
