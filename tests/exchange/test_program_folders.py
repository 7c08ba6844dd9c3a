"""Where further programs keep their sessions, and programs whose files are only known by name."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from co_tui.exchange.importers import ImportRefused, load
from co_tui.exchange.importers.default_folders import FINDERS, files_of
from tests.support.cases import each_case
from tests.support.foreign import write_lines
from tests.support.foreign_programs import (
    MS,
)


@each_case(
    ("record", "name"),
    [
        ({"v": 3, "id": "T-1", "created": MS, "messages": []}, "Amp"),
        ({"sessionId": "s", "title": "t", "workspaceDirectory": "/w", "history": []}, "Continue"),
        ({"name": "c", "messages": [{"versions": [], "currentlySelected": 0}]}, "LM Studio"),
        ({"id": "c", "chat": {"history": {"messages": {}, "currentId": "x"}}}, "Open WebUI"),
        ({"type": "session_start", "id": "s", "title": "t"}, "Droid"),
        ({"id": "c", "inserted_at": "x", "mapping": {"root": {}}}, "DeepSeek"),
        ({"requesterUsername": "a", "responderUsername": "b", "requests": []}, "Copilot in VS Code"),
        ({"runSettings": {}, "chunkedPrompt": {}}, "Google AI Studio"),
        ({"conversation_id": "c", "history": [], "transcript": []}, "Amazon Q"),
        ({"event": "launched", "properties": {"aider_version": "1"}, "user_id": "u", "time": 1}, "aider"),
        ({"ts": MS, "type": "say", "say": "text", "text": "x"}, "api_conversation_history.json"),
    ],
)
def test_other_programs_are_refused_by_name(tmp_path: Path, record: dict[str, Any], name: str) -> None:
    file = write_lines(tmp_path / "other.json", [record])
    with pytest.raises(ImportRefused) as refused:
        load(file)
    assert name in str(refused.value).split("Supported")[0]


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("cursorDiskKV (key, value)", "Cursor"),
        ("ItemTable (key, value)", "VS Code"),
        ("threads (id, summary, updated_at, data_type, data)", "Zed"),
        ("messages (id, session_id, role, parts, model, finished_at)", "Crush"),
    ],
)
def test_databases_of_other_programs_are_refused_by_name(tmp_path: Path, table: str, name: str) -> None:
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute(f"CREATE TABLE {table}")
    connection.close()
    with pytest.raises(ImportRefused, match=f"database of {name}"):
        load(tmp_path / "other.db")


PLACES = {
    "copilot-cli": ".copilot/session-state/s/events.jsonl",
    "cline": ".cline/data/sessions/1_a/1_a.messages.json",
    "kimi": ".kimi-code/sessions/wd_x/session_s/agents/main/wire.jsonl",
    "goose": ".local/share/goose/sessions/20250301_100000.jsonl",
    "aider": "work/project/.aider.chat.history.md",
    "qwen-code": ".qwen/projects/p/chats/s.jsonl",
}


@pytest.mark.parametrize("name", PLACES)
def test_the_sessions_of_a_program_are_found_where_it_keeps_them(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    file = tmp_path / PLACES[name]
    file.parent.mkdir(parents=True)
    file.touch()
    assert {program: files_of(program, {}, tmp_path) for program in FINDERS} == {
        program: [file] if program == name else [] for program in FINDERS
    }


def test_the_database_of_goose_stands_for_its_older_files(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "sessions"
    folder.mkdir(parents=True)
    for name in ("sessions.db", "20250301_100000.jsonl"):
        (folder / name).touch()
    assert files_of("goose", {"GOOSE_PATH_ROOT": str(tmp_path)}, tmp_path) == [folder / "sessions.db"]


@pytest.mark.parametrize(
    ("platform", "settings_folder"),
    [("linux", ".config"), ("darwin", "Library/Application Support"), ("win32", "AppData/Roaming")],
)
def test_cline_is_found_in_the_editor_on_each_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, settings_folder: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    kept = "Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/api_conversation_history.json"
    file = tmp_path / settings_folder / kept
    file.parent.mkdir(parents=True)
    file.touch()
    assert files_of("cline", {}, tmp_path) == [file]
