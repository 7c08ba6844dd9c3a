"""The table of the sources' behaviours in the README, made from the tests: `uv run python -m tests.seed_reference`."""

from importlib import import_module
from pathlib import Path

from tests.seeds.behaviours import BEHAVIOURS, SEEDS, Behaviour

README = Path(__file__).parents[1] / "README.md"
BEGIN = "<!-- sources: made by `uv run python -m tests.seed_reference` -->"
END = "<!-- end of sources -->"


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
    """The README with the table as it would be made now."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"the README has no {BEGIN} and {END}"
    return f"{before}{BEGIN}\n{reference()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_reference(README.read_text(encoding="utf-8")), encoding="utf-8")
