"""The folder that the example's job is about: a small program that knows what is in a kitchen's pantry."""

README = """\
# pantry

Know what is in the kitchen, what runs low and what must be eaten soon.

    pantry add "rye flour" 2 kg --minimum 1 kg --best-before 2027-03-01
    pantry use "rye flour" 300 g
    pantry low                     # what to buy
    pantry soon --days 14          # what to eat first
    pantry import shopping.csv     # name;amount;unit;minimum;minimum unit;best before

Everything is in one file, `data/pantry.json`. The kitchen display reads it every minute, so its format is a promise:
a list of objects with `name`, `amount`, `unit`, `minimum`, `minimum_unit` and `best_before`.

Run the tests with `python -m pytest -q`.
"""

UNITS = '''\
"""Amounts of food, and how units relate to each other."""

from dataclasses import dataclass

BASE = {
    "g": ("g", 1.0),
    "kg": ("g", 1000.0),
    "mg": ("g", 0.001),
    "ml": ("ml", 1.0),
    "cl": ("ml", 10.0),
    "dl": ("ml", 100.0),
    "l": ("ml", 1000.0),
    "piece": ("piece", 1.0),
    "dozen": ("piece", 12.0),
}
"""Each unit as a number of the smallest unit of its kind."""


class UnknownUnit(ValueError):
    """A unit that is not in the table."""


class DifferentKinds(ValueError):
    """Grams and millilitres cannot be compared without knowing the food."""


@dataclass(frozen=True)
class Amount:
    """A number with its unit."""

    value: float
    unit: str

    def __post_init__(self) -> None:
        if self.unit not in BASE:
            known = ", ".join(BASE)
            raise UnknownUnit(f"Unknown unit {self.unit!r}. Known are {known}.")

    @property
    def kind(self) -> str:
        """What is measured: grams, millilitres or pieces."""
        return BASE[self.unit][0]

    @property
    def in_base(self) -> float:
        """The value in the smallest unit of its kind."""
        return self.value * BASE[self.unit][1]

    def to(self, unit: str) -> "Amount":
        """The same amount in another unit of its kind."""
        other = Amount(0, unit)
        if other.kind != self.kind:
            raise DifferentKinds(f"{self.unit} cannot be converted to {unit}.")
        return Amount(self.in_base / BASE[unit][1], unit)

    def __sub__(self, other: "Amount") -> "Amount":
        if other.kind != self.kind:
            raise DifferentKinds(f"{other.unit} cannot be taken from {self.unit}.")
        return Amount((self.in_base - other.in_base) / BASE[self.unit][1], self.unit)

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}"
'''

MODEL = '''\
"""What the pantry holds."""

from dataclasses import dataclass
from datetime import date

from pantry.units import Amount


@dataclass
class Item:
    """One kind of food."""

    name: str
    amount: Amount
    minimum: Amount | None = None
    """Below this, it should be bought."""
    best_before: date | None = None

    def to_json(self) -> dict:
        return {
            "name": self.name,
            "amount": self.amount.value,
            "unit": self.amount.unit,
            "minimum": self.minimum.value if self.minimum else None,
            "minimum_unit": self.minimum.unit if self.minimum else None,
            "best_before": self.best_before.isoformat() if self.best_before else None,
        }

    @classmethod
    def from_json(cls, found: dict) -> "Item":
        minimum, best_before = found.get("minimum"), found.get("best_before")
        return cls(
            name=found["name"],
            amount=Amount(found["amount"], found["unit"]),
            minimum=Amount(minimum, found.get("minimum_unit") or found["unit"]) if minimum is not None else None,
            best_before=date.fromisoformat(best_before) if best_before else None,
        )
'''

REPORT = '''\
"""What to buy, and what to eat first."""

from collections.abc import Iterable
from datetime import date, timedelta

from pantry.model import Item


def low(items: Iterable[Item]) -> list[Item]:
    """The items below their minimum, the scarcest first."""
    found = [item for item in items if item.minimum and item.amount.value < item.minimum.value]
    return sorted(found, key=lambda item: item.amount.value / item.minimum.value)


def soon(items: Iterable[Item], today: date, days: int = 7) -> list[Item]:
    """The items that must be eaten within so many days, the most urgent first; what is empty does not count."""
    last = today + timedelta(days=days)
    found = [item for item in items if item.best_before and item.best_before <= last and item.amount.value > 0]
    return sorted(found, key=lambda item: item.best_before)


def as_table(items: Iterable[Item]) -> str:
    """One line an item: name, amount, minimum, best before."""
    rows = [
        (
            item.name,
            str(item.amount),
            f"of {item.minimum}" if item.minimum else "",
            item.best_before.isoformat() if item.best_before else "",
        )
        for item in items
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
    return "\\n".join(lines)
'''

STORAGE = '''\
"""The file with everything: `data/pantry.json`."""

import json
from pathlib import Path

from pantry.model import Item

DEFAULT = Path("data/pantry.json")


class DamagedFile(Exception):
    """The file is there, but cannot be read."""


class Storage:
    """Reads and writes all items at once; there are a few hundred at most."""

    def __init__(self, file: Path = DEFAULT) -> None:
        self.file = file

    def load(self) -> list[Item]:
        """All items, in the order of the file; none if there is no file yet."""
        if not self.file.exists():
            return []
        try:
            found = json.loads(self.file.read_text(encoding="utf-8"))
            return [Item.from_json(each) for each in found]
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFile(f"{self.file} cannot be read: {error}") from error

    def save(self, items: list[Item]) -> None:
        """Replace the file."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("w", encoding="utf-8") as out:
            json.dump([item.to_json() for item in items], out, indent=2, ensure_ascii=False)
            out.write("\\n")

    def find(self, items: list[Item], name: str) -> Item | None:
        """The item of that name, whatever its capitals."""
        wanted = name.casefold()
        return next((item for item in items if item.name.casefold() == wanted), None)
'''

IMPORTER = '''\
"""Read a shopping list: a file with one item a line, as the shop's app exports it."""

import csv
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from pantry.model import Item
from pantry.units import Amount, UnknownUnit

COLUMNS = ("name", "amount", "unit", "minimum", "minimum unit", "best before")
UNITS = {"Stück": "piece", "pcs": "piece", "litre": "l", "gram": "g", "kilo": "kg"}
"""What the app calls some units."""


@dataclass
class Imported:
    """What a file held."""

    items: list[Item] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """A sentence for each line that could not be used."""


def read_list(file: Path) -> Imported:
    """All lines that can be used; the others are named, and stop nothing."""
    done = Imported()
    with file.open(encoding="utf-8-sig", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines, delimiter=";"), 2):
            try:
                done.items.append(_item(row))
            except (ValueError, KeyError) as error:
                done.refused.append(f"Line {number}: {error}")
    return done


def _item(row: dict) -> Item:
    unit = _unit(row["unit"])
    minimum = row.get("minimum") or ""
    return Item(
        name=row["name"].strip(),
        amount=Amount(_number(row["amount"]), unit),
        minimum=Amount(_number(minimum), _unit(row.get("minimum unit") or unit)) if minimum.strip() else None,
        best_before=date.fromisoformat(row["best before"]) if row.get("best before") else None,
    )


def _number(text: str) -> float:
    return float(text.strip())


def _unit(text: str) -> str:
    text = text.strip()
    return UNITS.get(text, text)
'''

CLI = '''\
"""The command line."""

import argparse
import sys
from datetime import date
from pathlib import Path

from pantry.importer import read_list
from pantry.model import Item
from pantry.report import as_table, low, soon
from pantry.storage import DamagedFile, Storage
from pantry.units import Amount


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    options = _parser().parse_args(arguments)
    storage = Storage(options.file)
    try:
        items = storage.load()
    except DamagedFile as error:
        print(error, file=sys.stderr)
        return 1
    try:
        return options.run(options, storage, items)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2


def _add(options: argparse.Namespace, storage: Storage, items: list[Item]) -> int:
    found = storage.find(items, options.name)
    amount = Amount(options.amount, options.unit)
    if found is None:
        items.append(Item(options.name, amount, _minimum(options), options.best_before))
    else:
        found.amount = Amount(found.amount.value + amount.to(found.amount.unit).value, found.amount.unit)
        found.best_before = options.best_before or found.best_before
    storage.save(items)
    return 0


def _use(options: argparse.Namespace, storage: Storage, items: list[Item]) -> int:
    found = storage.find(items, options.name)
    if found is None:
        print(f"There is no {options.name} in the pantry.", file=sys.stderr)
        return 1
    found.amount = found.amount - Amount(options.amount, options.unit)
    storage.save(items)
    return 0


def _low(options: argparse.Namespace, storage: Storage, items: list[Item]) -> int:
    print(as_table(low(items)))
    return 0


def _soon(options: argparse.Namespace, storage: Storage, items: list[Item]) -> int:
    print(as_table(soon(items, date.today(), options.days)))
    return 0


def _import(options: argparse.Namespace, storage: Storage, items: list[Item]) -> int:
    done = read_list(options.list)
    for sentence in done.refused:
        print(sentence, file=sys.stderr)
    known = {item.name.casefold(): item for item in items}
    for item in done.items:
        known[item.name.casefold()] = item
    storage.save(list(known.values()))
    print(f"{len(done.items)} items imported, {len(done.refused)} lines refused.")
    return 0


def _minimum(options: argparse.Namespace) -> Amount | None:
    return Amount(float(options.minimum[0]), options.minimum[1]) if options.minimum else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pantry", description="Know what is in the kitchen.")
    parser.add_argument("--file", type=Path, default=Path("data/pantry.json"))
    commands = parser.add_subparsers(required=True)
    for name, run, help_text in (
        ("add", _add, "add food, or more of it"),
        ("use", _use, "take food out"),
        ("low", _low, "list what is below its minimum"),
        ("soon", _soon, "list what must be eaten soon"),
        ("import", _import, "add a shopping list"),
    ):
        command = commands.add_parser(name, help=help_text)
        command.set_defaults(run=run)
        if name in ("add", "use"):
            command.add_argument("name")
            command.add_argument("amount", type=float)
            command.add_argument("unit")
        if name == "add":
            command.add_argument("--minimum", nargs=2, metavar=("AMOUNT", "UNIT"))
            command.add_argument("--best-before", type=date.fromisoformat)
        if name == "soon":
            command.add_argument("--days", type=int, default=7)
        if name == "import":
            command.add_argument("list", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())
'''

TEST_REPORT = """\
from datetime import date

from pantry.model import Item
from pantry.report import as_table, low, soon
from pantry.units import Amount


def test_what_is_below_its_minimum_is_low() -> None:
    rice = Item("rice", Amount(200, "g"), minimum=Amount(500, "g"))
    salt = Item("salt", Amount(900, "g"), minimum=Amount(500, "g"))
    assert low([rice, salt]) == [rice]


def test_without_a_minimum_nothing_is_low() -> None:
    assert low([Item("saffron", Amount(0, "g"))]) == []


def test_the_most_urgent_comes_first_and_what_is_empty_is_left_out() -> None:
    milk = Item("milk", Amount(1, "l"), best_before=date(2026, 11, 4))
    eggs = Item("eggs", Amount(6, "piece"), best_before=date(2026, 11, 3))
    gone = Item("cream", Amount(0, "ml"), best_before=date(2026, 11, 3))
    assert soon([milk, eggs, gone], date(2026, 11, 2)) == [eggs, milk]


def test_the_table_is_aligned() -> None:
    rice = Item("rice", Amount(200, "g"), minimum=Amount(500, "g"))
    milk = Item("oat milk", Amount(1, "l"))
    assert as_table([rice, milk]) == "rice      200 g  of 500 g\\noat milk  1 l"
"""

TEST_IMPORTER = """\
from pathlib import Path

from pantry.importer import read_list
from pantry.units import Amount

HEADER = "name;amount;unit;minimum;minimum unit;best before\\n"


def test_a_list_is_read(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text(HEADER + "rye flour;2;kilo;1;kg;2027-03-01\\neggs;10;Stück;6;;\\n")
    flour, eggs = read_list(file).items
    assert flour.amount == Amount(2, "kg") and flour.minimum == Amount(1, "kg")
    assert eggs.amount == Amount(10, "piece") and eggs.minimum == Amount(6, "piece")


def test_a_line_that_cannot_be_used_is_named_and_stops_nothing(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text(HEADER + "tea;many;g;;;\\nhoney;450;g;;;\\n")
    done = read_list(file)
    assert [item.name for item in done.items] == ["honey"]
    assert done.refused == ["Line 2: could not convert string to float: 'many'"]
"""

TEST_STORAGE = """\
from pathlib import Path

import pytest
from pantry.model import Item
from pantry.storage import DamagedFile, Storage
from pantry.units import Amount


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    storage = Storage(tmp_path / "data" / "pantry.json")
    rice = Item("rice", Amount(200, "g"), minimum=Amount(500, "g"))
    storage.save([rice])
    assert storage.load() == [rice]


def test_no_file_is_an_empty_pantry(tmp_path: Path) -> None:
    assert Storage(tmp_path / "none.json").load() == []


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "pantry.json"
    file.write_text("[{")
    with pytest.raises(DamagedFile):
        Storage(file).load()
"""

FILES = {
    "README.md": README,
    "pantry/__init__.py": "",
    "pantry/units.py": UNITS,
    "pantry/model.py": MODEL,
    "pantry/report.py": REPORT,
    "pantry/storage.py": STORAGE,
    "pantry/importer.py": IMPORTER,
    "pantry/cli.py": CLI,
    "tests/test_report.py": TEST_REPORT,
    "tests/test_importer.py": TEST_IMPORTER,
    "tests/test_storage.py": TEST_STORAGE,
}
