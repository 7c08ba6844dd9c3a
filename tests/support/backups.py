"""Homes with sessions and files, to be backed up, restored and compared."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from co_tui.events import (
    ApprovalDecided,
    CompactionComplete,
    Event,
    Message,
    SessionPinned,
    SessionRename,
    SessionStart,
    SessionTrashed,
)
from co_tui.events.decisions import Border, Source
from co_tui.exchange.backup.archive import Backup, BackupWriter
from co_tui.exchange.backup.making import add_files, add_sessions, all_sessions
from co_tui.exchange.backup.restoring import Restored, RestoreOptions, Restoring
from co_tui.exchange.exporters import exported
from co_tui.paths import Paths, locate
from co_tui.store.port import Store
from tests.support.growing_files import said

FILES: Mapping[str, str] = {
    "data/sessions/one/checkpoints/001-start.md": "what was said",
    "data/sessions/one/workspace.yaml": "summary_count: 1",
    "data/memory/2026-01-02.md": "a day",
    "data/boards/repository.md": "a board",
    "state/drafts/one.txt": "an unsent prompt",
    "state/learnt-limits.json": "{}",
    "config/config.toml": 'theme = "dark"\nmodel = "anthropic:claude-sonnet-5"\n',
    "config/policies/mine.toml": "tool_output_trim_chars = 10\n",
}
"""That are restored without a yes."""
RUNNING: Mapping[str, str] = {
    "config/agents/helper.md": "---\nname: helper\ndescription: helps\n---\nHelp.",
    "config/commands/tidy.md": "!`ls`",
    "config/policies/mine.py": "print(1)",
    "config/skills/fly/run.sh": "#!/bin/sh",
    "state/approvals.json": "{}",
}
"""That need one."""
NEVER: Mapping[str, str] = {
    "state/keys.json": "a key",
    "state/trust.json": "{}",
    "state/terminals.json": "{}",
    "state/snapshots/one/x/restoring.json": "{}",
    "data/models/small.gguf": "weights",
    "data/boards/repository.lock": "",
    "data/memory/.lock": "",
}


UNDONE = "it says what a process left to be done."
AS_USUAL = RestoreOptions()


def paths_of(home: Path) -> Paths:
    return locate({"CO_TUI_HOME": str(home)})


def write_files(home: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def talk(text: str) -> Message:
    return Message(turn=1, message=said(text, by_user=True))


def fill(store: Store) -> None:
    """Sessions of several kinds: pinned, in the trash, with rules that hold, with odd characters."""
    log = store.writing().append
    start = SessionStart(cwd="/w", model="openai-chat:m@http://localhost:1/v1", surroundings={"note": "mine"})
    log("one", [start, talk("hello \u202e\x1b[31m 中文 \0"), SessionRename(title="Birds"), SessionPinned()]).result()
    allowed = ApprovalDecided(call_id="c", approved=True, scope="session", rules=("Bash(ls:*)",))
    compacted = CompactionComplete(success=True, trigger="manual", checkpoint_number=1, checkpoint_path="/c/001.md")
    log("two", [start, talk("x" * 20_000), allowed, compacted]).result()
    log("gone", [start, talk("no longer wanted"), SessionTrashed()]).result()
    log("empty", [SessionStart(cwd="/w")]).result()
    store.writing().save_reply("two", 0, '{"turn": 1}').result()
    half = {"turn": 1, "message": said("half a repl", by_user=False)}
    store.writing().save_reply("two", 1, json.dumps(half)).result()


def logs(store: Store) -> dict[str, str]:
    """The log of every session, those in the trash, too, as an export has it."""
    with store.reading() as reading:
        rows = [*reading.sessions(1_000), *reading.sessions(1_000, in_trash=True)]
        return {row.id: "".join(exported(reading.events(row.id), "jsonl")) for row in rows}


def rows(store: Store) -> dict[str, object]:
    """Sessions as they are listed."""
    with store.reading() as reading:
        found = [*reading.sessions(1_000), *reading.sessions(1_000, in_trash=True)]
        return {row.id: (row, list(reading.partial_reply(row.id))) for row in found}


def files_in(home: Path) -> dict[str, str]:
    """All files but the database's and those of processes."""
    found = (
        file
        for file in sorted(home.rglob("*"))
        if file.is_file() and "locks" not in file.parts and not file.name.endswith(".lock")
    )
    return {file.relative_to(home).as_posix(): file.read_text() for file in found if ".db" not in file.name}


def make_backup(store: Store, home: Path, file: Path, keys: tuple[str, ...] = (), *, snapshots: bool = False) -> Path:
    with file.open("wb") as stream, BackupWriter(stream, file.parent) as writer:
        troubles = [*add_sessions(writer, store, all_sessions(store), keys, lambda _: None)]
        troubles += add_files(writer, paths_of(home), keys, snapshots=snapshots)
        writer.finish()
    assert [each for each in troubles if not each.endswith("restoring.json is not in the backup: " + UNDONE)] == []
    return file


def all_marked(log: Iterable[Event], source: Source) -> Iterable[Event]:
    """As if this machine had marked all that the log decides."""
    return log


def restore(
    store: Store, home: Path, file: Path, options: RestoreOptions = AS_USUAL, border: Border = all_marked
) -> list[Restored]:
    with Backup(file) as backup:
        backup.check()
        return list(Restoring(store, paths_of(home), options, border).restore(backup))
