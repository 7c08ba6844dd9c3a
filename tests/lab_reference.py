"""The table of measured policies in the help page of the lab, made by the lab: `uv run python -m tests.lab_reference`.

Needs the open conversations beside the checkout; takes a minute for each policy.
"""

import os
import tempfile
from collections.abc import Sequence
from typing import Any

from co_tui.context.measure.count import Window
from co_tui.exchange.openai_format import load
from co_tui.headless.lab_jobs import Progress, Replays, run_in_processes
from co_tui.paths import HOME_VARIABLE, Paths, locate
from co_tui.settings import Settings, policy_names
from co_tui.settings import load as load_settings
from tests.help_tables import HELP, in_order, with_table
from tests.support.shared import DATA

PAGE = HELP / "lab.md"
NAME, MAKER = "lab", "tests.lab_reference"
WINDOWS = (8_000, 32_000)
COLUMNS = ("kept", "in context", "state", "reused", "sent")


def table(records: Sequence[Sequence[dict[str, Any]]]) -> str:
    """Each policy's figures: one record for each window."""
    heads = [f"{window // 1000}k: {name}" if name == COLUMNS[0] else name for window in WINDOWS for name in COLUMNS]
    rows = [f"| policy | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for of_policy in records:
        cells = [cell for record in of_policy for cell in _cells(record)]
        rows.append(f"| `{of_policy[0]['policy']}` | {' | '.join(cells)} |")
    first = records[0]
    long = " and ".join(f"{record['long_requests']:,}" for record in first)
    rows += ["", f"{first[0]['conversations']} conversations, {first[0]['requests']:,} requests, {long} of them long."]
    return "\n".join(rows)


def _cells(record: dict[str, Any]) -> list[str]:
    shares = ("details_kept_share", "details_in_context_share", "state_share", "prefix_reused_share")
    return [*(f"{record[name] * 100:.1f} %" for name in shares), f"{record['mean_tokens'] / 1000:.1f}k"]


def built_in() -> list[tuple[str, Settings]]:
    """All policies of a new user, `balanced` first and `off` last."""
    with tempfile.TemporaryDirectory() as empty:
        paths = locate({HOME_VARIABLE: empty})
        return [(name, _settings(name, paths)) for name in in_order(policy_names(paths))]


def _settings(name: str, paths: Paths) -> Settings:
    return load_settings(paths=paths, cwd=paths.config, environ={}, command_line={"policy": name}).settings


def main() -> None:
    recordings = list(load(DATA / "conversations.jsonl"))
    by_window = []
    for tokens in WINDOWS:
        window = Window(tokens=tokens, known=True)
        replays = Replays(recordings, built_in(), window)
        with Progress(replays.total) as progress:
            results = run_in_processes(replays, os.cpu_count() or 1, progress.step)
        by_window.append([result.record(window) for result in results])
    made = table(list(zip(*by_window, strict=True)))
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), NAME, made, MAKER), encoding="utf-8")


if __name__ == "__main__":
    main()
