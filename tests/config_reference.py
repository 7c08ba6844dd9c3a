"""The table of settings in the README, made from their definitions: `uv run python -m tests.config_reference`."""

from pathlib import Path

from co_tui.settings import GROUPS, Settings, about, rules, told

README = Path(__file__).parents[1] / "README.md"
BEGIN = "<!-- settings: made by `uv run python -m tests.config_reference` -->"
END = "<!-- end of settings -->"


def reference() -> str:
    """A table of all settings, group by group: name, default, what it does, what is allowed."""
    rows = ["| setting | default | what it does | allowed |", "|---|---|---|---|"]
    defaults = Settings()
    for group in GROUPS:
        rows.append(f"| **{group}** | | | |")
        for name, rule in rules().items():
            if about(name).group == group:
                cells = (f"`{name}`", f"`{told(getattr(defaults, name))}`", about(name).sentence, rule.allowed)
                rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows)


def with_reference(text: str) -> str:
    """The README with the table as it would be made now."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"the README has no {BEGIN} and {END}"
    return f"{before}{BEGIN}\n{reference()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_reference(README.read_text(encoding="utf-8")), encoding="utf-8")
