"""The table of settings in the README, made from their definitions: `uv run python -m tests.config_reference`."""

import tempfile
from pathlib import Path

from co_tui.paths import HOME_VARIABLE, locate
from co_tui.settings import GROUPS, about, load, rules, value_text

README = Path(__file__).parents[1] / "README.md"
BEGIN = "<!-- settings: made by `uv run python -m tests.config_reference` -->"
END = "<!-- end of settings -->"


def reference() -> str:
    """A table of all settings, group by group: name, what a new user has, what it does, what is allowed."""
    rows = ["The defaults are what a new user has, under the policy `balanced`.", ""]
    rows += ["| setting | default | what it does | allowed |", "|---|---|---|---|"]
    defaults = _of_a_new_user()
    for group in GROUPS:
        rows.append(f"| **{group}** | | | |")
        for name, rule in rules().items():
            if about(name).group == group:
                cells = (f"`{name}`", f"`{defaults[name]}`", about(name).sentence, rule.allowed)
                rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows)


def _of_a_new_user() -> dict[str, str]:
    """Every value without any file or variable, under the policy that is the default."""
    with tempfile.TemporaryDirectory() as empty:
        loaded = load(paths=locate({HOME_VARIABLE: empty}), cwd=Path(empty), environ={})
    return {name: value_text(origin.value) for name, origin in loaded.origins.items()}


def with_reference(text: str) -> str:
    """The README with the table as it would be made now."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"the README has no {BEGIN} and {END}"
    return f"{before}{BEGIN}\n{reference()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_reference(README.read_text(encoding="utf-8")), encoding="utf-8")
