"""How many shell calls of recorded conversations ask, in each mode: `python -m tests.benchmarks approvals`."""

import tempfile
from pathlib import Path

from tests.support.approval_day import Day, project, replayed, shell_calls

DATA = Path(__file__).parents[3] / "shared" / "data" / "conversations.jsonl"
MOST: int | None = None
"""How many of the conversations are replayed."""


def main() -> None:
    if not DATA.exists():
        print("The recorded conversations are not here.")
        return
    conversations = shell_calls(DATA)[:MOST]
    print("| mode | rules kept for | calls | free | asked | after ten answers |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        folder = project(Path(place) / "shop")
        for mode in ("ask", "edits", "auto"):
            for one_project in (True, False):
                day = replayed(conversations, folder, mode, one_project=one_project)
                print(_row(mode, "the project" if one_project else "one conversation", day))


def _row(mode: str, kept_for: str, day: Day) -> str:
    later = f"{day.later_asked} of {day.later_calls}, {day.later_share:.1%}" if day.later_calls else "-"
    return f"| {mode} | {kept_for} | {day.calls} | {day.free} | {day.asked}, {day.asked / day.calls:.1%} | {later} |"
