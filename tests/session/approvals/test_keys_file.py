"""The file of kept keys is never read for the model, also where its folder is the working directory."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from co_tui.agent.permissions.judge import Judge
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.session import Session
from tests.support.approving import Person, left
from tests.support.working import Working, working_in


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "state/keys.json"}),
        ("read_file", {"path": "link.json"}),
        ("run_command", {"command": "cat state/keys.json"}),
        ("run_command", {"command": "cat < state/keys.json"}),
        ("run_command", {"command": "grep -r sk- ."}),
    ],
)
async def test_reading_it_is_denied_or_asked(tmp_path: Path, tool: str, arguments: dict[str, str]) -> None:
    recorder: Any = SimpleNamespace(state=SimpleNamespace(mode="ask", allowed=()))
    file = tmp_path / "state" / "keys.json"
    judge = Judge(folder=tmp_path, home=tmp_path, environ={"PATH": "/usr/bin:/bin"})
    permissions = Permissions(judge, recorder, secret_files=[file])
    file.parent.mkdir()
    (tmp_path / "link.json").symlink_to(file)
    assert (await permissions.verdict("run_command", {"command": "grep -r x ."})).action == "run"
    assert not permissions.limits_reading
    file.write_text("{}")
    assert (await permissions.verdict(tool, arguments)).action in ("refuse", "ask")
    assert permissions.hides(file.resolve()) and not permissions.hides(tmp_path / "state" / "other.json")
    elsewhere = Permissions(judge.but(folder=tmp_path / "project"), recorder, secret_files=[file])
    assert not elsewhere.limits_reading, "outside of the folder nothing is free anyway"


async def test_a_session_in_the_folder_of_its_own_files_does_not_read_them(tmp_path: Path) -> None:
    model = Working(("read_file", {"path": "data/machine.key"}), ("run_command", {"command": "cat data/machine.key"}))
    environment = working_in(tmp_path, tmp_path, model, Person())
    session = await Session.start(environment, "scripted")
    assert environment.paths.machine_key.is_file(), "it marked what the session starts with"
    await session.submit("go")
    assert all("Denied by rule Read(" in text and "machine.key" in text for text in model.returned)
    await left(environment, session)
