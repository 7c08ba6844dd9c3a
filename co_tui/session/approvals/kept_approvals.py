"""What the user allowed permanently for a project: in a file of the user's, never in the project."""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from co_tui.agent.permissions.older_answers import converted, read_rule
from co_tui.kept_file import kept_table
from co_tui.paths import path_text
from co_tui.session.approvals.marks import Marks, is_narrow
from co_tui.session.checkout import repository_of
from co_tui.session.synced_files import APPROVALS_FILE, SyncedFiles
from co_tui.session.workplace.host.address import is_stand_in
from co_tui.settings.permission_rules import Rule
from co_tui.store.sync.files.kinds import MARKS
from co_tui.store.sync.files.synced_file import LOCAL_FILES, OnChange, not_synced

MOST_RULES: Final = 200
"""For one project; the oldest are dropped."""
REPORTED: Final = "reported"
"""In place of a project: by project, the rules of other machines that were reported to the user."""


class KeptApprovals:
    """The rules of one project. Read each time, since other processes write them too."""

    def __init__(
        self,
        file: Path,
        project: Path,
        marks: Marks,
        *,
        keeps_more: bool = True,
        is_synced: bool = False,
        on_change: OnChange = not_synced,
    ) -> None:
        """Without `keeps_more` nothing is added. `marks` knows what was allowed on this machine; in a file of an
        earlier version all of it was, unless it `is_synced` with other machines."""
        self._marks = marks
        self._is_synced = is_synced
        self._keeps_more = keeps_more
        self._on_change = on_change
        self._file = kept_table(file)
        self._project = path_text(project.resolve())

    def rules(self) -> list[Rule]:
        """The project's rules that were allowed on this machine; none if the file cannot be read."""
        table = self._file.read_or_empty()
        return self._marked(self._project, table)

    def unmarked(self) -> list[Rule]:
        """The project's rules that another machine allowed: they do not count here until they are allowed again."""
        table = self._file.read_or_empty()
        counted = self._marked(self._project, table)
        return [rule for rule in _rules(table.get(self._project)) if rule not in counted]

    def report_unmarked(self) -> list[Rule]:
        """The same, each returned once, to be reported."""
        rules = self.unmarked()
        if not rules or not self._keeps_more:
            return rules
        now = [str(rule) for rule in rules]

        def reported(table: dict[str, Any]) -> dict[str, Any]:
            return {**table, REPORTED: {**_reported(table), self._project: now}}

        with contextlib.suppress(OSError):
            table, _ = self._file.change(reported)
            before = _reported(table).get(self._project, [])
            return [rule for rule in rules if str(rule) not in before]
        return rules

    def everywhere(self) -> dict[str, list[Rule]]:
        """The rules of every project that has some."""
        table = self._file.read_or_empty()
        return {project: rules for project in sorted(table) if (rules := self._marked(project, table))}

    def _marked(self, project: str, table: Mapping[str, Any]) -> list[Rule]:
        rules, marks = _rules(table.get(project)), table.get(MARKS)
        if marks is None and not self._is_synced:
            return rules
        known = marks if isinstance(marks, list) else ()
        return [rule for rule in rules if self._marks.has_rule(project, str(rule), known)]

    def add(self, rule: Rule) -> None:
        """Store a rule; if that fails, it holds for its session only."""
        rule = read_rule(str(rule)) or rule  # as it is read back
        if self._keeps_more:
            with contextlib.suppress(OSError):
                self._change(lambda rules: [*(each for each in rules if each != rule), rule][-MOST_RULES:], adds=rule)

    def remove(self, rule: Rule) -> None:
        """Remove a rule. Raises OSError if the file cannot be written."""
        self._change(lambda rules: [each for each in rules if each != rule])

    def remove_all(self) -> None:
        """Remove all rules of this project."""
        self._change(lambda rules: [])

    def drop_too_broad(self) -> list[str]:
        """Drop rules of an older version that are too broad, and return them, to be reported once."""
        entries = self._file.read_or_empty().get(self._project)
        dropped = [_older(each) for each in entries if _is_too_broad(each)] if isinstance(entries, list) else []
        if dropped and self._keeps_more:
            with contextlib.suppress(OSError):
                self._change(lambda rules: rules)
        return dropped

    def _change(self, change: Callable[[list[Rule]], list[Rule]], adds: Rule | None = None) -> None:
        """Change the rules of the project, counted or not; `adds` is allowed here by that."""

        def changed(table: dict[str, Any]) -> dict[str, Any]:
            counted = {project: self._marked(project, table) for project in table if project != MARKS}
            if adds is not None:
                counted[self._project] = [*counted.get(self._project, ()), adds]
            known = {**table, self._project: [str(rule) for rule in change(_rules(table.get(self._project)))]}
            known[MARKS] = sorted(
                self._marks.of_rule(project, str(rule))
                for project, rules in counted.items()
                for rule in _rules(known[project])
                if rule in rules
            )
            return known

        self._file.change(changed)
        self._on_change()


def kept_for(files: SyncedFiles, cwd: Path, *, keeps_more: bool = True) -> KeptApprovals:
    """The approvals of the project that contains a folder."""
    repository = "" if is_stand_in(files.paths.state, cwd) else repository_of(cwd)[0]
    project = Path(repository) if repository else cwd
    return KeptApprovals(
        files.paths.state / APPROVALS_FILE,
        project,
        Marks(files.paths.machine_key),
        keeps_more=keeps_more,
        is_synced=files.sync is not LOCAL_FILES,
        on_change=files.approvals_changed(cwd),
    )


def _reported(table: Mapping[str, Any]) -> dict[str, Any]:
    found = table.get(REPORTED)
    return found if isinstance(found, dict) else {}


def _rules(kept: object) -> list[Rule]:
    found = map(_rule, kept) if isinstance(kept, list) else ()
    return [rule for rule in found if rule is not None and is_narrow(rule)]


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
