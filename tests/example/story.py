"""The example's job: what the person asks, and what the model says and calls, step by step."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

Call = tuple[str, Mapping[str, Any]]
TESTS: Final = "python -m pytest -q -p no:cacheprovider"
TITLE: Final = "Example: make the pantry's reports right"


class Step(NamedTuple):
    """One reply: some words, and the tools it calls."""

    text: str
    calls: Sequence[Call] = ()


class Turn(NamedTuple):
    prompt: str
    steps: Sequence[Step]


def read(*paths: str) -> list[Call]:
    return [("read_file", {"path": path}) for path in paths]


def edit(path: str, old: str, new: str) -> Call:
    return ("edit_file", {"path": path, "old_text": old, "new_text": new})


def run(command: str = TESTS) -> Call:
    return ("run_command", {"command": command})


def plan(done: int, *steps: str) -> Call:
    """A plan with the first steps done, and the next one begun."""
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(steps)
    return ("write_plan", {"items": [{"content": c, "status": s} for c, s in zip(steps, states, strict=False)]})


LOW_PLAN: Final = ("Reproduce it with a test", "Compare in the same unit", "Sort by what is left", "Run everything")
SAFE_PLAN: Final = (
    "Write the file next to the old one",
    "Replace it in one step",
    "Test a crash while saving",
    "Keep what the display reads",
    "Run everything",
)

BEFORE: Final = (
    Turn(
        "`pantry low` does not list the rye flour, though there are only 300 g left and the minimum is 1 kg. Find out "
        "why, and write a failing test before you change anything. Never change the format of data/pantry.json: the "
        "kitchen display reads it.",
        (
            Step(
                "I'll look at the folder, and at the report, which decides what is low.",
                [("list_directory", {"path": "."}), *read("README.md", "pantry/report.py")],
            ),
            Step(
                "`low` compares `item.amount.value` with `item.minimum.value`, two numbers without their units. Let me "
                "see what an amount knows about units.",
                read("pantry/units.py", "pantry/model.py"),
            ),
            Step(
                "That is the cause: 300 (g) is not less than 1 (kg). Before I change it, a plan.",
                [plan(0, *LOW_PLAN), *read("tests/test_report.py")],
            ),
            Step(
                "",
                [
                    edit(
                        "tests/test_report.py",
                        "def test_without_a_minimum_nothing_is_low() -> None:\n",
                        "def test_amount_and_minimum_may_have_different_units() -> None:\n"
                        '    flour = Item("rye flour", Amount(300, "g"), minimum=Amount(1, "kg"))\n'
                        '    oil = Item("olive oil", Amount(1.5, "l"), minimum=Amount(750, "ml"))\n'
                        "    assert low([flour, oil]) == [flour]\n\n\n"
                        "def test_the_scarcest_comes_first_whatever_the_unit() -> None:\n"
                        '    flour = Item("rye flour", Amount(300, "g"), minimum=Amount(1, "kg"))\n'
                        '    rice = Item("rice", Amount(400, "g"), minimum=Amount(500, "g"))\n'
                        '    eggs = Item("eggs", Amount(1, "piece"), minimum=Amount(1, "dozen"))\n'
                        "    assert low([rice, flour, eggs]) == [eggs, flour, rice]\n\n\n"
                        "def test_without_a_minimum_nothing_is_low() -> None:\n",
                    ),
                    run(),
                ],
            ),
            Step(
                "They fail for the reason I expected. Now the change, in one place: `in_base` gives both numbers in "
                "the smallest unit of their kind.",
                [
                    plan(1, *LOW_PLAN),
                    edit(
                        "pantry/report.py",
                        "    found = [item for item in items if item.minimum and "
                        "item.amount.value < item.minimum.value]\n"
                        "    return sorted(found, key=lambda item: item.amount.value / item.minimum.value)\n",
                        "    found = [item for item in items if item.minimum and _share_left(item) < 1]\n"
                        "    return sorted(found, key=_share_left)\n\n\n"
                        "def _share_left(item: Item) -> float:\n"
                        '    """How much is left of the minimum, in the same unit; 1 is just enough."""\n'
                        "    return item.amount.in_base / item.minimum.in_base\n",
                    ),
                    run(),
                    plan(4, *LOW_PLAN),
                ],
            ),
            Step(
                "`pantry low` lists the rye flour now.\n\n"
                "**Cause.** `low` compared 300 with 1 and ignored that one is in grams and the other in kilograms. The "
                "order of the list was wrong for the same reason.\n\n"
                "**Change.** `report.py` compares both amounts in the smallest unit of their kind. The file format is "
                "untouched.\n\n"
                "One thing I noticed: a minimum of 0 would divide by zero. Shall I handle it?",
            ),
        ),
    ),
    Turn(
        "Yes, a minimum of 0 means that it is never low.",
        (
            Step(
                "",
                [
                    edit(
                        "tests/test_report.py",
                        "def test_without_a_minimum_nothing_is_low() -> None:\n"
                        '    assert low([Item("saffron", Amount(0, "g"))]) == []\n',
                        "def test_without_a_minimum_or_with_none_of_it_nothing_is_low() -> None:\n"
                        '    assert low([Item("saffron", Amount(0, "g"))]) == []\n'
                        '    assert low([Item("sugar", Amount(0, "g"), minimum=Amount(0, "kg"))]) == []\n',
                    ),
                    run(),
                ],
            ),
            Step(
                "It fails with a `ZeroDivisionError`, as I thought. A minimum of 0 is the same as none:",
                [
                    edit(
                        "pantry/report.py",
                        "if item.minimum and _share_left(item) < 1]",
                        "if item.minimum and item.minimum.value and _share_left(item) < 1]",
                    ),
                    run(),
                ],
            ),
            Step("Done: all tests pass, and a minimum of 0 means that it is never low."),
        ),
    ),
    Turn(
        "The shop's app exports numbers as 0,5 since its last update. The import refuses these lines. Do not guess "
        "wrongly about 1.000 though: I would rather have it refused.",
        (
            Step("", read("pantry/importer.py", "tests/test_importer.py")),
            Step(
                "`_number` is plain `float`. A comma followed by one or two digits is a decimal comma; a point "
                "followed by exactly three digits could be a thousand, so it has to be refused, and the sentence "
                "should say why. Tests first.",
                [
                    edit(
                        "tests/test_importer.py",
                        "def test_a_line_that_cannot_be_used",
                        "def test_a_decimal_comma_is_read(tmp_path: Path) -> None:\n"
                        '    file = tmp_path / "list.csv"\n'
                        '    file.write_text(HEADER + "butter;0,5;kg;250;g;\\nsalt;1.5;kg;;;\\n")\n'
                        "    butter, salt = read_list(file).items\n"
                        '    assert butter.amount == Amount(0.5, "kg") and salt.amount == Amount(1.5, "kg")\n\n\n'
                        "def test_a_number_that_could_mean_two_things_is_refused(tmp_path: Path) -> None:\n"
                        '    file = tmp_path / "list.csv"\n'
                        '    file.write_text(HEADER + "rice;1.000;g;;;\\nlentils;1,000;g;;;\\n")\n'
                        "    done = read_list(file)\n"
                        "    assert not done.items\n"
                        '    assert done.refused[0] == "Line 2: 1.000 may be one or a thousand. Write 1 or 1000."\n\n\n'
                        "def test_a_line_that_cannot_be_used",
                    ),
                    run(),
                ],
            ),
            Step(
                "",
                [
                    edit(
                        "pantry/importer.py",
                        "def _number(text: str) -> float:\n    return float(text.strip())\n",
                        "def _number(text: str) -> float:\n"
                        '    """A number with a decimal point or comma; refuses what may be one or a thousand."""\n'
                        "    text = text.strip()\n"
                        '    if re.fullmatch(r"\\d{1,3}[.,]000", text):\n'
                        "        one = text[:-4]\n"
                        '        raise ValueError(f"{text} may be one or a thousand. Write {one} or {one}000.")\n'
                        '    return float(text.replace(",", "."))\n',
                    ),
                    run(),
                ],
            ),
            Step(
                "I forgot the import of `re`.",
                [edit("pantry/importer.py", "import csv\nfrom", "import csv\nimport re\nfrom"), run()],
            ),
            Step(
                "The import reads `0,5` and `1.5`, and refuses `1.000` and `1,000` with a sentence that says what to "
                "write instead. `12,345` is read as 12.345: three digits that are not 000 are rarely a thousand on a "
                "shopping list, but tell me if you want those refused, too.",
            ),
        ),
    ),
    Turn(
        "Yesterday the power went off while pantry was saving, and the file was half empty afterwards. "
        "Make saving safe, with the standard library only.",
        (
            Step("", read("pantry/storage.py", "tests/test_storage.py")),
            Step(
                "`save` opens the file for writing, which empties it, and then writes. Whatever ends the program "
                "between these two leaves half a file. The usual remedy: write a new file next to it, flush it to the "
                "disk, and put it in place with `os.replace`, which happens completely or not at all.",
                [plan(0, *SAFE_PLAN)],
            ),
            Step(
                "",
                [
                    edit(
                        "tests/test_storage.py",
                        "def test_no_file_is_an_empty_pantry",
                        "def test_a_crash_while_saving_keeps_what_was_there(\n"
                        "    tmp_path: Path, monkeypatch: pytest.MonkeyPatch\n"
                        ") -> None:\n"
                        '    storage = Storage(tmp_path / "pantry.json")\n'
                        '    rice = Item("rice", Amount(200, "g"))\n'
                        "    storage.save([rice])\n\n"
                        "    def power_cut(*_: object, **__: object) -> None:\n"
                        "        raise KeyboardInterrupt\n\n"
                        '    monkeypatch.setattr("pantry.storage.json.dump", power_cut)\n'
                        "    with pytest.raises(KeyboardInterrupt):\n"
                        "        storage.save([])\n"
                        "    assert storage.load() == [rice]\n"
                        '    assert [file.name for file in tmp_path.iterdir()] == ["pantry.json"]\n\n\n'
                        "def test_no_file_is_an_empty_pantry",
                    ),
                    run(),
                ],
            ),
            Step(
                "The test shows it: the pantry is empty after the crash.",
                [
                    edit(
                        "pantry/storage.py",
                        '        with self.file.open("w", encoding="utf-8") as out:\n'
                        "            json.dump(items, out)\n",
                        "",
                    )
                ],
            ),
            Step(
                "I had the old lines wrong; I'll take them as they are in the file.",
                [
                    edit(
                        "pantry/storage.py",
                        '        """Replace the file."""\n'
                        "        self.file.parent.mkdir(parents=True, exist_ok=True)\n"
                        '        with self.file.open("w", encoding="utf-8") as out:\n'
                        "            json.dump([item.to_json() for item in items], out, indent=2, ensure_ascii=False)\n"
                        '            out.write("\\n")\n',
                        '        """Replace the file, completely or not at all: a reader never sees half of it."""\n'
                        "        self.file.parent.mkdir(parents=True, exist_ok=True)\n"
                        '        new = self.file.with_name(f".{self.file.name}.new")\n'
                        "        try:\n"
                        '            with new.open("w", encoding="utf-8") as out:\n'
                        "                json.dump([item.to_json() for item in items], out, "
                        "indent=2, ensure_ascii=False)\n"
                        '                out.write("\\n")\n'
                        "                out.flush()\n"
                        "                os.fsync(out.fileno())\n"
                        "            os.replace(new, self.file)\n"
                        "        finally:\n"
                        "            new.unlink(missing_ok=True)\n",
                    ),
                    edit("pantry/storage.py", "import json\nfrom", "import json\nimport os\nfrom"),
                    plan(2, *SAFE_PLAN),
                    run(),
                ],
            ),
            Step(
                "All green. The display must read the same as before, so I compare the bytes of old and new.",
                [
                    run(
                        'mkdir -p data && printf \'%s\' \'[{"name": "rye flour", "amount": 300, "unit": "g", '
                        '"minimum": 1, "minimum_unit": "kg", "best_before": "2027-03-01"}]\' > data/pantry.json && '
                        "python -m pantry.cli use 'rye flour' 50 g && cat data/pantry.json && ls -a data"
                    ),
                    plan(5, *SAFE_PLAN),
                ],
            ),
            Step(
                "Saving is safe now:\n\n"
                "| the power goes off | before | now |\n"
                "|---|---|---|\n"
                "| while writing | half a file | the old file, whole |\n"
                "| while replacing | – | the old or the new one, whole |\n"
                "| afterwards | the new file | the new file, on the disk |\n\n"
                "The content is written as before: same keys, same order, two spaces. No leftovers: the new file is "
                "removed when something goes wrong. If the program is killed outright, `.pantry.json.new` may stay; "
                "the next save replaces it.",
            ),
        ),
    ),
)
"""Compacted by the user after these."""

AFTER: Final = (
    Turn(
        "Good. My phone should show what to buy: add `pantry low --json`. Use the names that are in the file.",
        (
            Step(
                "I'll check who prints items before I touch it.",
                [
                    *read("pantry/report.py", "tests/test_report.py"),
                    ("search_files", {"pattern": "as_table|to_json", "path": "."}),
                ],
            ),
            Step(
                "`Item.to_json` has the names of the file already, so the command can print the same objects. "
                "There are no tests of the command line yet. I'll add some, through `main`, as a person would use it.",
                [
                    (
                        "write_file",
                        {
                            "path": "tests/test_cli.py",
                            "content": "import json\n"
                            "from pathlib import Path\n\n"
                            "import pytest\n"
                            "from pantry.cli import main\n\n\n"
                            "@pytest.fixture\n"
                            "def file(tmp_path: Path) -> str:\n"
                            '    """A pantry with little flour and enough oil."""\n'
                            '    file = str(tmp_path / "pantry.json")\n'
                            '    assert main(["--file", file, "add", "rye flour", "300", "g", '
                            '"--minimum", "1", "kg"]) == 0\n'
                            '    assert main(["--file", file, "add", "olive oil", "1", "l", '
                            '"--minimum", "500", "ml"]) == 0\n'
                            "    return file\n\n\n"
                            "def test_what_is_low_is_a_table(file: str, capsys: pytest.CaptureFixture[str]) -> None:\n"
                            '    assert main(["--file", file, "low"]) == 0\n'
                            '    assert capsys.readouterr().out == "rye flour  300 g  of 1 kg\\n"\n\n\n'
                            "def test_what_is_low_as_json_has_the_names_of_the_file(\n"
                            "    file: str, capsys: pytest.CaptureFixture[str]\n"
                            ") -> None:\n"
                            '    assert main(["--file", file, "low", "--json"]) == 0\n'
                            "    (flour,) = json.loads(capsys.readouterr().out)\n"
                            '    assert flour["name"] == "rye flour" and flour["minimum_unit"] == "kg"\n'
                            "    assert flour in json.loads(Path(file).read_text())\n\n\n"
                            "def test_nothing_low_is_an_empty_list(file: str, "
                            "capsys: pytest.CaptureFixture[str]) -> None:\n"
                            '    assert main(["--file", file, "add", "rye flour", "2", "kg"]) == 0\n'
                            '    assert main(["--file", file, "low", "--json"]) == 0\n'
                            "    assert json.loads(capsys.readouterr().out) == []\n\n\n"
                            "def test_food_that_is_not_there_cannot_be_used(\n"
                            "    file: str, capsys: pytest.CaptureFixture[str]\n"
                            ") -> None:\n"
                            '    assert main(["--file", file, "use", "caviar", "50", "g"]) == 1\n'
                            '    assert capsys.readouterr().err == "There is no caviar in the pantry.\\n"\n',
                        },
                    ),
                    run(),
                ],
            ),
            Step(
                "Two of them fail because `--json` is unknown, as they should. Now the option.",
                [
                    edit(
                        "pantry/cli.py",
                        "    print(as_table(low(items)))\n    return 0\n\n\ndef _soon",
                        "    found = low(items)\n"
                        "    print(as_json(found) if options.json else as_table(found))\n"
                        "    return 0\n\n\ndef _soon",
                    ),
                    edit(
                        "pantry/cli.py",
                        '        if name == "soon":\n',
                        '        if name == "low":\n'
                        '            command.add_argument("--json", action="store_true", '
                        'help="print objects as in the file")\n'
                        '        if name == "soon":\n',
                    ),
                    edit(
                        "pantry/cli.py",
                        "from pantry.report import as_table, low, soon",
                        "from pantry.report import as_json, as_table, low, soon",
                    ),
                    edit(
                        "pantry/report.py",
                        "def as_table(items: Iterable[Item]) -> str:",
                        "def as_json(items: Iterable[Item]) -> str:\n"
                        '    """The items as the file has them."""\n'
                        "    return json.dumps([item.to_json() for item in items], indent=2, ensure_ascii=False)\n\n\n"
                        "def as_table(items: Iterable[Item]) -> str:",
                    ),
                    edit("pantry/report.py", "from collections.abc", "import json\nfrom collections.abc"),
                    run(),
                ],
            ),
            Step(
                "`pantry low --json` works:\n\n"
                "```json\n"
                "[\n"
                "  {\n"
                '    "name": "rye flour",\n'
                '    "amount": 300,\n'
                '    "unit": "g",\n'
                '    "minimum": 1,\n'
                '    "minimum_unit": "kg",\n'
                '    "best_before": null\n'
                "  }\n"
                "]\n"
                "```\n\n"
                "The names are those of `data/pantry.json`, so your phone can use the code that reads the file. If "
                "nothing is low, it prints `[]`. I also added four tests of the command line; there were none.",
            ),
        ),
    ),
    Turn(
        "`pantry use eggs 20 piece` leaves me with -14 eggs. That should be refused, and say how many there are.",
        (
            Step("", read("pantry/units.py")),
            Step(
                "Two places could refuse it: `Amount.__sub__` or the command. An amount below zero makes sense as a "
                "difference, for example between two days; food below zero does not. So the command refuses it.",
                [
                    edit(
                        "tests/test_cli.py",
                        "def test_food_that_is_not_there_cannot_be_used(",
                        "def test_more_than_there_is_cannot_be_used(file: str, "
                        "capsys: pytest.CaptureFixture[str]) -> None:\n"
                        '    assert main(["--file", file, "use", "rye flour", "1", "kg"]) == 1\n'
                        '    assert capsys.readouterr().err == "There is only 300 g of rye flour.\\n"\n'
                        '    assert main(["--file", file, "use", "rye flour", "300", "g"]) == 0, "all of it is fine"\n'
                        "\n\n"
                        "def test_food_that_is_not_there_cannot_be_used(",
                    ),
                    run(),
                ],
            ),
            Step(
                "",
                [
                    edit(
                        "pantry/cli.py",
                        "    found.amount = found.amount - Amount(options.amount, options.unit)\n"
                        "    storage.save(items)\n",
                        "    left = found.amount - Amount(options.amount, options.unit)\n"
                        "    if left.value < 0:\n"
                        '        print(f"There is only {found.amount} of {found.name}.", file=sys.stderr)\n'
                        "        return 1\n"
                        "    found.amount = left\n"
                        "    storage.save(items)\n",
                    ),
                    run(),
                ],
            ),
            Step(
                "It is refused now, with exit code 1, and nothing is saved:\n\n"
                "```\n$ pantry use eggs 20 piece\nThere is only 6 piece of eggs.\n```\n\n"
                "The sentence reads badly for pieces. I would write `6 eggs` there, but plurals are a rabbit hole: "
                "`There is only 6 piece` is at least never wrong about the number. Say so if you want it nicer.",
            ),
        ),
    ),
    Turn(
        "Make it nicer for pieces only: “There are only 6 eggs.” Names are typed in the plural here.",
        (
            Step(
                "",
                [
                    edit(
                        "tests/test_cli.py",
                        "def test_food_that_is_not_there_cannot_be_used(",
                        "def test_pieces_are_counted_by_their_name(file: str, "
                        "capsys: pytest.CaptureFixture[str]) -> None:\n"
                        '    assert main(["--file", file, "add", "eggs", "0.5", "dozen"]) == 0\n'
                        '    assert main(["--file", file, "use", "eggs", "20", "piece"]) == 1\n'
                        '    assert capsys.readouterr().err == "There are only 6 eggs.\\n"\n\n\n'
                        "def test_food_that_is_not_there_cannot_be_used(",
                    ),
                    edit(
                        "pantry/cli.py",
                        '        print(f"There is only {found.amount} of {found.name}.", file=sys.stderr)\n',
                        "        print(_only(found), file=sys.stderr)\n",
                    ),
                    edit(
                        "pantry/cli.py",
                        "def _low(options",
                        "def _only(item: Item) -> str:\n"
                        '    """How much there is, in a sentence; pieces are counted by the name of the food."""\n'
                        '    if item.amount.kind == "piece":\n'
                        '        return f"There are only {item.amount.in_base:g} {item.name}."\n'
                        '    return f"There is only {item.amount} of {item.name}."\n\n\n'
                        "def _low(options",
                    ),
                    run(),
                ],
            ),
            Step("Done. Half a dozen is counted as 6, too."),
        ),
    ),
    Turn(
        "Write down in the README what changed for people who use it, and show me the final state of cli.py.",
        (
            Step(
                "",
                [
                    edit(
                        "README.md",
                        "    pantry low                     # what to buy\n",
                        "    pantry low                     # what to buy; --json for other programs\n",
                    ),
                    edit(
                        "README.md",
                        "Run the tests with",
                        "## What is new\n\n"
                        "- `pantry low` compares amounts in different units: 300 g is less than 1 kg.\n"
                        "- `pantry low --json` prints what to buy with the names of the file.\n"
                        "- `pantry import` reads a decimal comma, and refuses numbers such as 1.000 that may be one or "
                        "a thousand.\n"
                        "- `pantry use` refuses to take more than there is.\n"
                        "- A power cut while saving no longer damages the file.\n\n"
                        "Run the tests with",
                    ),
                    *read("pantry/cli.py"),
                ],
            ),
            Step(
                "The README has a section “What is new” with five lines. `cli.py` as it is now is above; the parts "
                "that changed:\n\n"
                "1. `_use` computes what would be left before it saves, and refuses less than nothing.\n"
                "2. `_only` says how much there is.\n"
                "3. `_low` prints a table, or objects with `--json`.\n\n"
                "All tests pass. Still open, if you like: `pantry import` replaces an item of the same name instead of "
                "adding to it. After a shopping trip that loses what was left at home.",
            ),
        ),
    ),
    Turn(
        "That last point is important. Look into it, but do not change anything yet.",
        (
            Step(
                "I'll read everything that has to do with it, as it is now.",
                [
                    *read("pantry/importer.py", "pantry/model.py", "pantry/storage.py", "tests/test_importer.py"),
                    ("search_files", {"pattern": "casefold", "path": "pantry"}),
                ],
            ),
            Step(
                "I tried it with a pantry of 300 g rye flour and a list with 2 kilo of it.",
                [
                    run(
                        "printf 'name;amount;unit;minimum;minimum unit;best before\\nrye flour;2;kilo;;;\\n' > list.csv"
                        " && python -m pantry.cli --file try.json add 'rye flour' 300 g --minimum 1 kg"
                        " && python -m pantry.cli --file try.json import list.csv && cat try.json"
                        " && rm list.csv try.json"
                    )
                ],
            ),
            Step(
                "Confirmed, and it is worse than I wrote. After the import there are 2 kg instead of 2.3 kg, and the "
                "**minimum is gone**: the list has none, so the new item has none, and `pantry low` will never name "
                "the rye flour again.\n\n"
                "I suggest that an imported line\n\n"
                "- adds its amount to what is there, converted to the unit in the pantry;\n"
                "- keeps the minimum, unless the line brings one;\n"
                "- keeps the earlier best-before date, since the older bag should be eaten first;\n"
                "- is refused with a sentence if the kinds differ, such as grams and pieces.\n\n"
                "`_add` in `cli.py` does most of this already, so both could share one function in `model.py`: "
                "`Item.add(amount, minimum, best_before)`. About 25 lines with tests. Shall I?",
            ),
        ),
    ),
)
