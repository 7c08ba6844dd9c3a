"""A known key in a tool's result reaches neither the log, the model nor any file."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent import redact
from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.events.event import event_json
from co_tui.paths import locate
from co_tui.session.approvals.questions import Unattended
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.approving import left, log_of
from tests.support.working import Call, Working, working_in

KEY, PASSWORD, KEPT = "sk-live-0123456789abcdef", "pass-0123456789", "gsk-kept-0123456789"
SPLIT = f"printf 'a {KEY[:9]}'; sleep 0.3; printf '{KEY[9:]} b\\n'"


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "_remembered", set())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in (".env", "app.ini"):
        (folder / name).write_text(f"OPENAI_API_KEY={KEY}\nDB_PASS={PASSWORD}\nGROQ_API_KEY={KEPT}\n")
    return folder


async def seen(
    folder: Path, home: Path, *steps: Call, prompt: str = "go", **settings: Any
) -> tuple[Working, str, list]:
    """The model, all that was announced and logged, and the log."""
    model = Working(*steps)
    paths = locate({"CO_TUI_HOME": str(home)})
    paths.state.mkdir(parents=True, exist_ok=True)
    paths.keys_file.write_text(json.dumps({"version": 1, "keys": {"groq@api.groq.com": {"key": KEPT}}}))
    assert KeptKeys(paths).all()
    environment = working_in(folder, home, model, Unattended(yes=True), **settings)
    environment.environ = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": KEY, "DB_PASS": PASSWORD}
    session = await Session.start(environment, "scripted")
    listener = session.events()
    said = session.run_command(prompt[1:]) if prompt.startswith("!") else session.submit(prompt)
    assert await said is Outcome.DONE
    log = log_of(environment, session)
    await left(environment, session)
    announced = [event async for event in listener]
    paths.keys_file.unlink()
    return model, str([event.fact for event in announced]), log


def holding(home: Path, key: str) -> list[Path]:
    """The files of co-tui that hold a key; a snapshot has the folder's files as they are."""
    files = [file for file in home.rglob("*") if file.is_file() and "snapshots" not in file.parts]
    return [file for file in files if key.encode() in file.read_bytes()]


STEPS: dict[str, Call] = {
    "a file": ("read_file", {"path": ".env"}),
    "a search": ("search_files", {"pattern": "_", "path": ".env"}),
    "a command": ("run_command", {"command": "cat .env"}),
    "an error": ("run_command", {"command": "cat .env >&2; exit 1"}),
    "pieces": ("run_command", {"command": f"cat .env; {SPLIT}"}),
    "long output": ("run_command", {"command": "for n in $(seq 3000); do cat .env; done"}),
    "an edit": ("edit_file", {"path": "app.ini", "old_text": "OPENAI", "new_text": "OTHER"}),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
async def test_no_result_holds_a_known_key(folder: Path, home: Path, step: Call) -> None:
    model, announced, log = await seen(folder, home, step)
    calls = json.dumps(step[1])
    for key in (KEY, PASSWORD, KEPT):
        logged = "\n".join(map(event_json, log)).replace(json.dumps(calls)[1:-1], "")
        assert key not in logged and key not in str(model.returned) and key not in announced
        assert holding(home, key) == []
    if step[0] == "edit_file":
        assert "OTHER_API_KEY" in (folder / "app.ini").read_text() and "-OPENAI_API_KEY=[OPENAI_API" in announced
    else:
        names = ("[OPENAI_API_KEY removed]", "[DB_PASS removed]", "[key of groq removed]")
        assert all(name in str(model.returned) for name in names)


async def test_a_background_command_shows_no_key(folder: Path, home: Path) -> None:
    steps = [("start_command", {"command": f"cat .env; {SPLIT}"}), ("run_command", {"command": "sleep 1"})]
    model, announced, log = await seen(folder, home, *steps)
    logged = "\n".join(map(event_json, log))
    assert PASSWORD not in logged and PASSWORD not in announced and PASSWORD not in str(model.requests)


async def test_the_output_of_the_users_command_holds_no_key(folder: Path, home: Path) -> None:
    _, announced, log = await seen(folder, home, prompt="!cat .env")
    logged = "\n".join(map(event_json, log))
    assert KEY not in logged and KEY not in announced and "[OPENAI_API_KEY removed]" in logged


async def test_what_the_user_types_stays(folder: Path, home: Path) -> None:
    _, _, log = await seen(folder, home, prompt=f"my key is {KEY}")
    assert KEY in "\n".join(map(event_json, log))


NO_KEY = "this file does not hold that key"
REMOVED = "OPENAI_API_KEY=[OPENAI_API_KEY removed]\nDB_PASS=[DB_PASS removed]\nGROQ_API_KEY=[key of groq removed]\n"
NEXT = "GROQ_API_KEY=[key of groq removed]"
CHANGES: dict[str, Call] = {
    "write": ("write_file", {"path": "app.ini", "content": f"{REMOVED}PORT=2\n"}),
    "edit": ("edit_file", {"path": "app.ini", "old_text": f"{NEXT}\n", "new_text": f"{NEXT}\nPORT=2\n"}),
    "several": (
        "edit_files",
        {
            "files": [
                {
                    "path": "app.ini",
                    "replacements": [
                        {"old_text": f"{NEXT}\n", "new_text": ""},
                        {"old_text": "DB_PASS=[DB_PASS removed]\n", "new_text": "DB_PASS=[DB_PASS removed]\n" + NEXT},
                        {"old_text": NEXT, "new_text": f"{NEXT}\nPORT=2\n"},
                    ],
                },
                {"path": "copy.ini", "content": REMOVED},
            ]
        },
    ),
}


@pytest.mark.parametrize("mode", ["ask", "edits"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_what_the_model_was_not_shown_stays_in_the_file(
    folder: Path, home: Path, change: Call, mode: str
) -> None:
    before = (folder / "app.ini").read_text()
    (folder / "copy.ini").write_text(before)
    model, announced, log = await seen(folder, home, ("read_file", {"path": "app.ini"}), change, mode=mode)
    assert (folder / "app.ini").read_text() == f"{before}PORT=2\n", model.returned
    assert (folder / "copy.ini").read_text() == before
    for key in (KEY, PASSWORD, KEPT):
        logged = "\n".join(map(event_json, log))
        assert key not in logged and key not in announced and key not in str(model.requests)
        assert holding(home, key) == []


REFUSED: dict[str, Call] = {
    "a new file": ("write_file", {"path": "new.env", "content": REMOVED}),
    "another file": ("edit_file", {"path": "other.txt", "old_text": "b", "new_text": "[DB_PASS removed]"}),
    "several files": ("edit_files", {"files": [{"path": "other.txt", "content": "[DB_PASS removed]"}]}),
}


@pytest.mark.parametrize("mode", ["ask", "edits"])
@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
async def test_a_removed_key_is_not_written_as_text(folder: Path, home: Path, change: Call, mode: str) -> None:
    (folder / "other.txt").write_text("a b c\n")
    model, _, _ = await seen(folder, home, change, mode=mode)
    assert NO_KEY in str(model.requests) and not (folder / "new.env").exists()
    assert (folder / "other.txt").read_text() == "a b c\n"
