"""The kinds of synced files: how each is merged, which part of it is shared, and the lock that its writers hold."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.kept_file import LIMIT_BYTES, KeptFile, lock_of, parse_table, table_text, unless_blank
from co_tui.store.notes.daily_memory import FILE_BYTES
from co_tui.store.sync.files import merging
from co_tui.store.sync.files.merging import list_text, read_table

_ON_THIS_MACHINE: Final = re.compile(r" at \w+://(?:[^/@]*@)?(?:localhost|127\.|\[::1\]|0\.0\.0\.0)", re.IGNORECASE)
"""A model's name and address: another machine's server there is another one."""
MARKS: Final = "marks"
"""Of a file of approvals, in place of a project: the marks of this machine on its rules. They stay here."""
MOST_BYTES: Final = 10 * 1024 * 1024
"""A larger file stays on its machine."""
_WITH_PATH: Final = re.compile(r"\w+\(\s*[/~\\]")


def _whole(text: str, key: str) -> str:
    return text


def _replaced(text: str, key: str, shared: str) -> str:
    return shared


def _is_shared(rule: object) -> bool:
    """A rule about a path of this machine, or in an older version's format, holds here alone."""
    return isinstance(rule, str) and not _WITH_PATH.match(rule)


def _rules_of(text: str, project: str) -> str:
    kept = read_table(text).get(project)
    return list_text(list(filter(_is_shared, kept))) if isinstance(kept, list) else ""


def _with_rules(text: str, project: str, shared: str) -> str:
    table = read_table(text)
    kept, given = table.get(project), merging.read_json(shared)
    own = [rule for rule in kept if not _is_shared(rule)] if isinstance(kept, list) else []
    rules: list[Any] = [*own, *(filter(_is_shared, given) if isinstance(given, list) else ())]
    return table_text(dict(sorted({MARKS: [], **table, project: rules}.items())))


def _limits_elsewhere(text: str, key: str) -> str:
    return table_text({name: known for name, known in read_table(text).items() if not _ON_THIS_MACHINE.search(name)})


def _with_limits(text: str, key: str, shared: str) -> str:
    here = {name: known for name, known in read_table(text).items() if _ON_THIS_MACHINE.search(name)}
    return table_text({**read_table(shared), **here})


def lock_of_folder(file: Path) -> Path:
    """The lock of all files in a folder."""
    return file.parent / ".lock"


class Kind(NamedTuple):
    """How files of one kind are treated. Text that is empty is a file that does not exist."""

    merge: Callable[[str, str, str], str]
    """Of the text both started from, this machine's and the other's."""
    take: Callable[[str, str], str] = _whole
    """The shared part of a file's text, by key."""
    put: Callable[[str, str, str], str] = _replaced
    """The file's text with another shared part, by key."""
    lock: Callable[[Path], Path] | None = lock_of
    """Held by those who change such a file here; None if it has one writer."""
    limit_bytes: int = LIMIT_BYTES
    """Of the whole file: its readers refuse a larger one."""
    is_table: bool = False
    """Whether its readers refuse everything but a JSON object."""
    names: str = r"[^/]+"
    """Of files in a folder, below its name; none starts with a dot."""

    def kept(self, path: Path) -> KeptFile[str]:
        """The file as its readers here keep it."""

        def checked(text: str) -> str:
            if "\x00" in text:
                raise ValueError(f"{path.name} is no text")
            if self.is_table:
                parse_table(text)
            return text

        lock = self.lock(path) if self.lock is not None else None
        return KeptFile(path, parse=checked, written=unless_blank, limit_bytes=self.limit_bytes, lock=lock)


KINDS: Final = {
    "session": Kind(merging.other, lock=None, limit_bytes=MOST_BYTES, names=r"[^/]+(?:/[^/]+){0,2}"),
    "draft": Kind(merging.both, lock=lock_of_folder, limit_bytes=MOST_BYTES),
    "memory": Kind(merging.merge_memory, lock=lock_of_folder, limit_bytes=FILE_BYTES, names=r"\d{4}-\d\d-\d\d\.md"),
    "board": Kind(merging.merge_board),
    "approvals": Kind(merging.merge_rules, _rules_of, _with_rules, is_table=True),
    "limits": Kind(merging.merge_limits, _limits_elsewhere, _with_limits, is_table=True),
    "ratios": Kind(merging.merge_numbers, is_table=True),
}


def is_in_folder(kind: str, rest: str) -> bool:
    """Whether a name below a folder's is one that such a folder holds here. Names come from the database: none leads
    out of the folder."""
    parts = rest.split("/")
    is_plain = all(part and not part.startswith(".") and part.isprintable() and len(part) < 200 for part in parts)
    return is_plain and "\\" not in rest and re.fullmatch(KINDS[kind].names, rest) is not None
