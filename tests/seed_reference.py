"""The table of the sources' behaviours in the help, made from the tests: `uv run python -m tests.seed_reference`."""

from importlib import import_module
from pathlib import Path

from tests.help_tables import HELP, with_table
from tests.seeds.behaviours import BEHAVIOURS, SEEDS, Behaviour

PAGE = HELP / "sources.md"


def behaviours() -> list[Behaviour]:
    """All of them, by source; in each in the order of the source's parts."""
    for file in sorted((Path(__file__).parent / "seeds").glob("test_*.py")):
        import_module(f"tests.seeds.{file.stem}")
    found = list(dict.fromkeys(BEHAVIOURS))
    parts = list(dict.fromkeys((each.seed, each.where) for each in found))
    return sorted(found, key=lambda each: (SEEDS.index(each.seed), parts.index((each.seed, each.where))))


def reference() -> str:
    rows = ["| behaviour | part of the source | here |", "|---|---|---|"]
    seed = ""
    for each in behaviours():
        if each.seed != seed:
            seed = each.seed
            rows.append(f"| **`{seed}`** | | |")
        here = f"differs: {each.differs}" if each.differs else "exact"
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in (each.sentence, each.where, here))} |")
    return "\n".join(rows)


def with_reference(text: str) -> str:
    """The page with the table as it would be made now."""
    return with_table(text, "sources", reference(), "tests.seed_reference")


if __name__ == "__main__":
    PAGE.write_text(with_reference(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
