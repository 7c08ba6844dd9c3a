"""The README names what there is, and nothing that is not."""

import re
from pathlib import Path

from co_tui.cli import cli_commands
from co_tui.ui.keys.command_table import COMMANDS
from tests import lab_reference

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_two_commands_come_first() -> None:
    block = "pip install uv && uv run co-tui          # start\npip install uv && .ci/locked pytest      # test\n"
    assert 0 < README.index(block) < 1_000


def test_every_key_of_a_command_is_named() -> None:
    keys = [command.key for command in COMMANDS if command.key]
    written = {key: "+".join(part.capitalize() for part in key.split("+")) for key in keys}
    assert [key for key in keys if f"`{written[key]}`" not in README] == []


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"`/([a-z]+)[ `]", README))
    assert named - {"tmp"} <= {command.name for command in COMMANDS}
    blocks = "".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))
    called = set(re.findall(r"^co-tui ([a-z]+)", blocks, re.MULTILINE))
    assert {"run", "serve", "doctor"} <= called <= {row.name for row in cli_commands.COMMANDS}


def test_every_path_that_the_architecture_names_exists() -> None:
    parts = README[README.index("## Architecture") :]
    named = set(re.findall(r"`([\w.-]*/[\w./-]*|[\w-]+\.(?:py|toml))`", parts))
    named |= set(re.findall(r"(?:tests|\.ci)/[\w./-]*\w", parts))
    assert len(named) > 80
    assert [path for path in sorted(named) if not any((root / path).exists() for root in (ROOT, ROOT / "co_tui"))] == []


def test_pictures_are_ours_and_need_nothing_else() -> None:
    pictures = re.findall(r"(?:src|srcset)=\"([^\"]+)\"|!\[[^\]]*\]\(([^)]+)\)", README)
    files = {ROOT / (one or other) for one, other in pictures}
    assert {file.name for file in files} == {"co-tui-dark.svg", "co-tui-light.svg", "demo.svg"}
    for file in files:
        drawing = file.read_text()
        assert "<script" not in drawing and "/tmp" not in drawing and "/home" not in drawing
        assert set(re.findall(r"https?://[^\"' <]+", drawing)) <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"href=\"(?!#)|url\(", drawing)


def test_the_lab_measured_every_policy_in_both_windows() -> None:
    """The form only: figures change with the engine, and the recordings are not in the repository."""
    made = README.partition(lab_reference.BEGIN)[2].partition(lab_reference.END)[0].strip()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in made.splitlines() if line.startswith("|")]
    columns = 1 + len(lab_reference.WINDOWS) * len(lab_reference.COLUMNS)
    assert {len(row) for row in rows} == {columns}
    assert [row[0].strip("`") for row in rows[2:]] == [name for name, _ in lab_reference.built_in()]
    assert all(re.fullmatch(r"\d+\.\d( %|k)", cell) for row in rows[2:] for cell in row[1:])
