"""Files whose content a snapshot already has, recognised without reading them; kept for the next process."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from co_tui.paths import write_atomically
from co_tui.session.snapshots.entries import FileEntry

KNOWN_FILE: Final = "known.jsonl"
WORTH_KEEPING: Final = 500
"""Only if this many files had to be read."""
Signature: TypeAlias = tuple[int, int, int, int, int, int]
"""Changes with the file."""
KnownFiles: TypeAlias = Mapping[str, tuple[Signature, FileEntry]]


def signature(status: os.stat_result) -> Signature:
    return (
        status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev,
    )  # fmt: skip


def keep_known(folder: Path, known: KnownFiles) -> None:
    """Raises OSError."""
    # Line by line: the encoder lets no other thread run, and a key would wait for it.
    lines = [json.dumps([path, *seen, *entry]) for path, (seen, entry) in known.items()]
    write_atomically(folder / KNOWN_FILE, "\n".join(lines))


def read_known(folder: Path, entries: Mapping[str, FileEntry]) -> KnownFiles:
    """Those that are still what a snapshot has; none if there is no such file, or it is damaged."""
    try:
        lines = (folder / KNOWN_FILE).read_bytes().splitlines()
        found = (json.loads(line) for line in lines)
        known = {path: (tuple(seen), FileEntry(mode, oid)) for path, *seen, mode, oid in found}
    except (OSError, ValueError, TypeError):
        return {}
    return {path: each for path, each in known.items() if entries.get(path) == each[1]}
