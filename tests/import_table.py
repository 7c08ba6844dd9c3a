"""`python -m tests.import_table`: for each program, what its files hold and what became of it, kind by kind.

Counted twice: the files by `tests.support.foreign_counts`, the sessions as they were imported.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from co_tui.exchange.importers import ImportRefused, load
from tests.exchange import test_import_accounts, test_program_accounts
from tests.support import foreign_counts
from tests.support.foreign_counts import BOOKKEEPING, imported, left_out
from tests.support.foreign_samples import SAMPLES
from tests.support.program_counts import PROGRAM_COUNTS

COUNTS = foreign_counts.COUNTS | PROGRAM_COUNTS
FILES = test_import_accounts.FILES + test_program_accounts.FILES


def rows(program: str, files: list[Path]) -> Iterator[tuple[str, int, int, int]]:
    """Each kind: in the files, imported, left out; bookkeeping is read and needs no place of its own."""
    held: Counter[str] = Counter()
    came: Counter[str] = Counter()
    gone: Counter[str] = Counter()
    for file in files:
        try:
            sessions = load(file)
        except ImportRefused:  # nothing was said in it
            continue
        held += COUNTS[program](file)
        came += imported(sessions)
        gone += left_out(sessions)
    came[BOOKKEEPING] = held[BOOKKEEPING]
    for kind in sorted(held | came | gone, key=lambda kind: (not came[kind], kind)):
        yield kind, held[kind], came[kind], gone[kind]
    yield "all", held.total(), came.total(), gone.total()


def main() -> int:
    equal = True
    with tempfile.TemporaryDirectory() as folder:
        found = [(program, file) for program, file in FILES]
        for name, (program, write) in (SAMPLES | test_program_accounts.SAMPLES).items():
            (place := Path(folder, name.replace(" ", "-"))).mkdir()
            found.append((program, write(place)))
        for program in COUNTS:
            files = [file for name, file in found if name == program]
            print(f"\n{program}, {len(files)} files\n{'':40}{'in the files':>14}{'imported':>10}{'left out':>10}")
            for kind, held, came, gone in rows(program, files):
                equal = equal and held == came + gone
                print(f"{kind:40}{held:14,}{came:10,}{gone:10,}{'' if held == came + gone else '  NOT EQUAL'}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
