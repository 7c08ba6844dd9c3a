"""The tables in the help pages, made from what they list: `uv run python -m tests.help_tables`."""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from co_tui.actions import COMMANDS, KEY_SCOPES, KEYS
from co_tui.cli import cli_commands
from co_tui.help import TOPICS
from co_tui.key_names import key_name
from co_tui.paths import HOME_VARIABLE, locate
from co_tui.settings import GROUPS, about, load, policy_description, policy_names, rules, value_text

ROOT: Final = Path(__file__).parents[1]
HELP: Final = ROOT / "co_tui" / "help"
MAKER: Final = "tests.help_tables"


def marked(name: str, maker: str = MAKER) -> tuple[str, str]:
    """What is before and after a table in its page."""
    return f"<!-- {name}: made by `uv run python -m {maker}` -->", f"<!-- end of {name} -->"


def with_table(text: str, name: str, made: str, maker: str = MAKER) -> str:
    """A page with its table as it was made now."""
    begin, end = marked(name, maker)
    before, begins, rest = text.partition(begin)
    _, ends, after = rest.partition(end)
    assert begins and ends, f"the page has no {begin} and {end}"
    return f"{before}{begin}\n{made}\n{end}{after}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return "\n".join([f"| {' | '.join(header)} |", "|---" * len(header) + "|", *lines])


def settings() -> str:
    """All settings, group by group: name, what a new user has, what it does, what is allowed."""
    defaults = _of_a_new_user()
    rows: list[tuple[str, ...]] = []
    for group in GROUPS:
        rows.append((f"**{group}**", "", "", ""))
        for name, rule in rules().items():
            if about(name).group == group:
                rows.append((f"`{name}`", f"`{defaults[name]}`", about(name).sentence, rule.allowed))
    made = table(("setting", "default", "what it does", "allowed"), rows)
    return f"The defaults are what a new user has, under the policy `balanced`.\n\n{made}"


def _of_a_new_user() -> dict[str, str]:
    """Every value without any file or variable, under the policy that is the default."""
    with tempfile.TemporaryDirectory() as empty:
        loaded = load(paths=locate({HOME_VARIABLE: empty}), cwd=Path(empty), environ={})
    return {name: value_text(origin.value) for name, origin in loaded.origins.items()}


def keys() -> str:
    """The keys of commands, then those of each part of the screen, with their names in the setting `keys`."""
    leader = key_name(next(row.key for row in KEYS if row.name == "leader"))
    rows: list[tuple[str, ...]] = [("**commands**", "", "", "")]
    for row in COMMANDS:
        if row.key or row.letter:
            letter = f"`{leader}`, `{row.letter}`" if row.letter else ""
            rows.append((_keys(row.key), letter, row.key_help, f"`{row.name}`"))
    for scope, words in KEY_SCOPES.items():
        rows.append((f"**{words}**", "", "", ""))
        rows += [(_keys(row.key), "", row.help, f"`{row.name}`") for row in KEYS if row.where == scope]
    return table(("key", "without F-keys", "what it does", "name"), rows)


def _keys(key: str) -> str:
    return " ".join(f"`{each}`" for each in key_name(key).split())


def commands() -> str:
    rows = ((f"`{f'{row.slash} {row.arguments}'.rstrip()}`", row.described) for row in COMMANDS)
    return table(("command", "what it does"), rows)


def command_line() -> str:
    return table(("command", "what it does"), ((f"`co-tui {row.name}`", row.help) for row in cli_commands.COMMANDS))


def policies() -> str:
    """The policies of a new user, `balanced` first and `off` last."""
    with tempfile.TemporaryDirectory() as empty:
        paths = locate({HOME_VARIABLE: empty})
        rows = [(f"`{name}`", policy_description(name, paths)) for name in in_order(policy_names(paths))]
    return table(("policy", "what it does"), rows)


def in_order(names: Iterable[str]) -> list[str]:
    order = {"balanced": -1, "off": 1}
    return sorted(names, key=lambda name: order.get(name, 0))


def topics() -> str:
    """For README, with links."""
    return table(
        ("topic", "what it is about"), ((f"[{each.name}](co_tui/help/{each.name}.md)", each.line) for each in TOPICS)
    )


TABLES: Final[Mapping[str, tuple[Path, Callable[[], str]]]] = {
    "settings": (HELP / "settings.md", settings),
    "keys": (HELP / "keys.md", keys),
    "commands": (HELP / "commands.md", commands),
    "command line": (HELP / "scripts.md", command_line),
    "policies": (HELP / "policies.md", policies),
    "topics": (ROOT / "README.md", topics),
}
"""Each table with its page, and what makes it."""


if __name__ == "__main__":
    for name, (file, made) in TABLES.items():
        file.write_text(with_table(file.read_text(encoding="utf-8"), name, made()), encoding="utf-8")
