"""The commands: see the package."""

import argparse
import sys
import tempfile
from pathlib import Path

from co_tui.context.measure.count import Window
from co_tui.context.policy import policy_of
from co_tui.exchange.openai_format import load
from co_tui.paths import locate
from co_tui.settings import load as load_settings
from tests.readers.cases import write_cases
from tests.readers.sheets import BadSheet, table, write_marks, write_sheets

POLICIES = ("balanced", "codex", "claude-code")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.readers", description="Blind cases for readers of requests.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("cases", "sheets", "marks", "table"):
        commands.add_parser(name).add_argument("folder", type=Path)
    cases, sheets = commands.choices["cases"], commands.choices["sheets"]
    cases.add_argument("--input", type=Path, required=True, help="recorded conversations, as for `co-tui lab`")
    cases.add_argument("--policy", action="append", help=f"one of the conditions (default: {', '.join(POLICIES)})")
    cases.add_argument("--points", type=int, default=20)
    cases.add_argument("--window", type=int, default=8_000)
    sheets.add_argument("--readers", type=int, default=4)
    given = parser.parse_args(arguments)
    try:
        match given.command:
            case "cases":
                print(f"{_cases(given)} points. Fill in questions.json from points/, then write the sheets.")
            case "sheets":
                print(f"{write_sheets(given.folder, given.readers)} sheets. Keep key.json from readers and graders.")
            case "marks":
                print(f"{write_marks(given.folder)} answers to mark in marks.json.")
            case _:
                print(table(given.folder))
    except BadSheet as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _cases(given: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as home:
        paths = locate({"CO_TUI_HOME": home})
        loaded = {
            name: load_settings(paths=paths, cwd=Path(home), environ={}, command_line={"policy": name})
            for name in given.policy or POLICIES
        }
    policies = {name: policy_of(each.settings) for name, each in loaded.items()}
    window = Window(tokens=given.window, known=True)
    return write_cases(given.folder, list(load(given.input)), policies, window, given.points)


if __name__ == "__main__":
    sys.exit(main())
