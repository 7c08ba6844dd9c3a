"""Which files a conversation changed, and what its edits of them come to."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from fnmatch import fnmatchcase
from itertools import islice
from posixpath import join, normpath
from typing import Final, NamedTuple

from co_tui.context.journal.calls import Begun
from co_tui.context.journal.command_runs import PathIndex, is_same_path
from co_tui.context.journal.net_changes import NetChanges
from co_tui.context.journal.originals import Originals
from co_tui.context.journal.shell_files import Change, changes_of, restored_by
from co_tui.shell.programs import Simple

MOST_SHOWN: Final = 64
"""Files of a patch whose changes are stated."""
RANGE_OF_LINES: Final = re.compile(r":(\d+-\d+)$")


class ChangedFile(NamedTuple):
    """A file that was changed."""

    times: int = 0
    is_removed: bool = False
    is_restored: bool = False
    is_new: bool = False
    is_unclear: bool = False
    """Whether it is not known if it was changed."""


class ChangedFiles:
    """The changed files, the one changed last at the end."""

    def __init__(self) -> None:
        self.net = NetChanges()
        self.changed_at = 0
        """How many calls had ended when a file was changed that was there before."""
        self._changed: dict[str, ChangedFile] = {}
        self._committed: set[str] = set()
        """Files whose changes were committed: what brings them back keeps those."""
        self._copies: dict[str, str] = {}
        """Copies → the files that they are copies of, as these were before all edits."""
        self._seen = PathIndex()
        """All files that were read."""
        self._made = PathIndex()
        """All files that are new, or were."""
        self._named: dict[str, dict[str, None]] = {}
        """The last two names in paths → all files so named that were changed."""
        self._originals = Originals()
        self._aside: list[tuple[dict[str, ChangedFile], NetChanges]] = []
        """What was set aside by `git stash`."""

    def as_restored(self, changes: Iterable[Change], line: Sequence[Simple], printed: str) -> tuple[Change, ...]:
        """The changes of a call, made by its programs in turn; a file that becomes the copy that was made of it before
        its edits is restored, and so are those that `git` brings back."""
        found: dict[str, list[Change]] = {}
        copies, own = dict(self._copies), set[Change]()
        runs_git = any(simple.program == "git" for simple in line)
        known = [path for path, of in self._changed.items() if runs_git and not of.is_new and not of.is_restored]
        for simple in line:
            for change in changes_of(simple):
                own.add(change)
                self._take(change, found, copies)
            if simple.program == "git":
                there = dict.fromkeys((*known, *(path for path, of in found.items() if not _is_made(of))))
                found |= {path: [Change(path, is_restored=True)] for path in restored_by([simple], there, printed)}
                if "commit" in simple.words[1:3]:
                    self._committed.update(there)
        for change in changes:
            if change not in own:
                self._take(change, found, copies)
        return tuple(
            change._replace(is_restored=False, is_whole=True)
            if change.is_restored and self._known(change.path) in self._committed
            else change
            for of_file in found.values()
            for change in of_file
        )

    def _take(self, change: Change, found: dict[str, list[Change]], copies: dict[str, str]) -> None:
        """Add a change to those that the call made before. If a copy replaces what they changed, what came of it is
        unclear."""
        path, source = self._known(change.path), normpath(change.source) if change.source else ""
        if source and copies.get(source) == path and all(each.source for each in found.get(source, ())):
            found[path] = [change._replace(is_restored=True, is_whole=False)]
        elif change.is_restored:
            found[path] = [change]
        elif source and path in found:
            found[path] = [Change(change.path, is_unclear=True)]
        else:
            if source and source not in self._changed and source not in found:
                copies[path] = source
            for each in self._with_files_below(change):
                of_file = found.setdefault(self._known(each.path), [])
                of_file += [each] if each not in of_file else []

    def _with_files_below(self, change: Change) -> list[Change]:
        """A change; of a folder or a pattern that is removed, of the changed files that it removes."""
        if not change.is_removed or self._known(change.path) in self._changed:
            return [change]
        pattern = normpath(change.path)
        below = [path for path in self._changed if path.startswith(f"{pattern}/") or fnmatchcase(path, pattern)]
        return [change._replace(path=path) for path in below] or ([] if "*" in pattern else [change])

    def set_aside(self) -> tuple[Change, ...]:
        """Keep the changes for when they are brought back; the files that are as before until then."""
        self._aside.append((dict(self._changed), deepcopy(self.net)))
        known = [path for path, of in self._changed.items() if not of.is_new and not of.is_restored]
        return tuple(Change(path, is_restored=True) for path in known if path not in self._committed)

    def bring_back(self, calls: int) -> None:
        """The changes that were set aside last are made again by a call, before which so many had ended."""
        if self._aside:
            changed, self.net = self._aside.pop()
            self._changed |= changed
            self.changed_at = calls + 1

    def was_there(self, path: str) -> None:
        """A file was read, or was there before it was written."""
        self._seen.note(RANGE_OF_LINES.sub("", path))

    def show_changes(self, at: int, patch: Mapping[str, Sequence[str]]) -> None:
        """A patch showed what was changed so far."""
        for name, lines in islice(patch.items(), MOST_SHOWN):
            if (path := self._known(name)) in self._changed:
                self.net.replace(path, at, lines)

    def saw(self, read: Sequence[str], text: str, folder: str, *, is_whole: bool) -> None:
        """A file was read as a whole, or lines of it; of several, no one knows which said what."""
        if len(read) == 1:
            path = self._known(RANGE_OF_LINES.sub("", read[0]))
            self.net.saw(path, text, is_whole=is_whole)
            if is_whole and path not in self._changed:
                self._originals.saw(path, text, folder)

    def change(self, change: Change, begun: Begun, at: int, calls: int, *, is_only: bool) -> None:
        """A call in message `at`, until which so many had ended, changed a file, perhaps as the only one."""
        path = self._known(change.path)
        edit = () if change.is_unclear else begun.edit_of(change.path, is_only=is_only)
        if change.is_whole and (change.path in begun.documents or change.source or not edit):
            source = self._known(change.source) if change.source else ""
            edit = self._originals.changes(path, begun.documents.get(change.path, ""), source, begun.folder)
        else:
            self._originals.edited(path)
        self._copies.pop(path, None)
        if change.source and not change.is_restored and (of := self._known(change.source)) not in self._changed:
            self._copies[path] = of
        if change.is_whole or change.is_removed or change.is_restored:
            self.net.forget(path, at)
        elif not edit:
            self.net.doubt(path, at)
        if edit and not change.is_removed and not change.is_restored:
            self.net.add(path, at, edit, is_sure=not begun.may_miss)
        before = self._changed.pop(path, None)
        is_new = before.is_new if before else change.is_whole and self._seen.find(path) < 0
        times = before.times + (not change.is_unclear) if before else 1
        is_unclear = change.is_unclear and (before is None or before.is_unclear)
        if change.source:
            self.was_there(change.source)
        if is_new:
            self._made.note(path)
        else:
            self._named.setdefault(_last_names(path), {})[path] = None
        self._changed[path] = ChangedFile(times, change.is_removed, change.is_restored, is_new, is_unclear)
        if not is_new or (edit and before and not change.is_whole):
            self.changed_at = calls

    def removed_after(self, path: str, number: int) -> set[str] | None:
        """The lines that edits removed from a file after a message; None if these edits are not known."""
        return self.net.removed_after(self._known(path), number)

    def _known(self, path: str) -> str:
        """The name under which a file is known: the whole path of one may be the other's, within its folder. A new one
        may be a copy."""
        path = normpath(path)
        alike = () if path in self._changed else self._named.get(_last_names(path), ())
        there = (known for known in alike if known in self._changed and _is_whole_of(known, path))
        return next(there, path)

    def undo(self, paths: Iterable[str], at: int) -> None:
        """A message undid an edit of these files."""
        for path in map(self._known, paths):
            if (known := self._changed.pop(path, None)) is not None and known.times > 1:
                self._changed[path] = known._replace(times=known.times - 1)
            self.net.undo(path, at)

    def restore(self, folder: str, as_before: Iterable[str], changed: Iterable[str], at: int) -> None:
        """The user restored files of a folder by a message: some are as before all changes, others are changed."""
        known = {_whole_path(folder, path): path for path in self._changed}
        for path in as_before:
            name = known.get(_whole_path(folder, path), "")
            self._changed.pop(name, None)
            self.net.forget(name, at)
        for path in changed:
            name = known.get(_whole_path(folder, path), path)
            self._changed.setdefault(name, ChangedFile(1))
            self._named.setdefault(_last_names(name), {})[name] = None

    def listed(self, *, is_new: bool) -> Iterator[tuple[str, ChangedFile]]:
        """The changed files that were there before, or the others, newest first."""
        return ((path, of) for path, of in reversed(self._changed.items()) if of.is_new == is_new)

    def is_new(self, targets: Sequence[str]) -> bool:
        """Whether the first of these is a file that was made on the way."""
        return bool(targets) and self._made.find(targets[0]) >= 0


def _is_made(changes: Iterable[Change]) -> bool:
    """Whether a call made a file, as far as is known."""
    return all(change.is_whole for change in changes)


def _last_names(path: str) -> str:
    return "/".join(path.split("/")[-2:])


def _is_whole_of(one: str, other: str) -> bool:
    """Whether one of two paths is whole and ends with the other, which names a folder, too."""
    whole, part = (one, other) if one.startswith("/") else (other, one)
    return whole.startswith("/") and not part.startswith("/") and "/" in part and is_same_path(whole, part)


def _whole_path(folder: str, path: str) -> str:
    return normpath(join(folder, path))
