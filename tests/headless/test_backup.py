"""`co-tui backup`, `co-tui restore` and `co-tui sessions --copy-to`, as people and scripts use them."""

import os
import tarfile
from pathlib import Path

import pytest

from co_tui.events import SessionRename, SessionTrashed, from_json
from co_tui.events.decisions import without_decisions
from co_tui.headless import backup_command
from co_tui.headless.output import CommandContext
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.settings import load
from co_tui.store.sqlite.reader import Reader
from tests.support.backups import RUNNING, fill, logs, paths_of, write_files
from tests.support.cases import each_case
from tests.support.here import Here
from tests.support.postgres import postgres_server, synced_store
from tests.support.stores import store_in

KEY = "sk-only-for-its-server"


@pytest.fixture
def filled(here: Here) -> Here:
    with store_in(here.home) as store:
        fill(store)
    write_files(here.home, {"data/memory/2026-01-02.md": "a day", **RUNNING})
    return here


def test_a_backup_is_one_file_that_brings_everything_to_another_home(filled: Here, tmp_path: Path) -> None:
    here, file = filled, tmp_path / "all.tgz"
    made = here("backup", str(file), "--json")
    assert made.code == 0
    assert made.err.startswith("co-tui: 4 sessions with 12 events and 7 files in ")
    (stated,) = made.objects
    assert (stated["sessions"], stated["events"], stated["files"]) == (4, 12, 7)
    assert file.stat().st_mode & 0o777 == 0o600
    exports = here("export", "one", "--format", "jsonl").out
    here.environ["CO_TUI_HOME"] = str(tmp_path / "new")
    planned = here("restore", str(file), "--dry-run")
    assert planned.code == 0 and "Nothing was restored: this was a dry run." in planned.err
    assert "Without --dry-run: 4 sessions restored" in planned.err
    assert not (tmp_path / "new").exists()
    done = here("restore", str(file))
    assert (done.code, done.out) == (0, "")
    assert "4 sessions restored, 1 file restored, 5 withheld, of 4 sessions with 12 events and 7 files." in done.err
    assert "config/agents/helper.md (can decide what runs)" in done.err
    assert "If you made this backup, restore them with --with-config." in done.err
    assert "without their models, modes and approvals" in done.err
    came = without_decisions(map(from_json, exports.splitlines()))
    assert list(map(from_json, here("export", "one", "--format", "jsonl").out.splitlines())) == list(came)
    assert "no longer wanted" in here("sessions", "--trash").out and "gone" not in here("sessions").out
    again = here("restore", str(file), "--with-config", "--json")
    assert {each["outcome"] for each in again.objects if "session_id" in each} == {"known"}
    assert {each["outcome"] for each in again.objects if "file" in each} == {"unchanged", "restored"}


def test_what_a_backup_adds_to_a_session_that_is_here_is_named(filled: Here, tmp_path: Path) -> None:
    here, file = filled, tmp_path / "all.tgz"
    assert here("backup", str(file)).code == 0
    other = tmp_path / "new"
    own, here.environ["CO_TUI_HOME"] = here.environ["CO_TUI_HOME"], str(other)
    assert here("restore", str(file)).code == 0
    with store_in(other) as store:
        store.writing().append("one", (SessionRename(title="Mine\x1b[0m"), SessionTrashed())).result()
    assert here("backup", str(file), "--force").code == 0
    here.environ["CO_TUI_HOME"] = own
    done = here("restore", str(file))
    assert "Session one: renamed to “Mine␛[0m”, moved to the trash." in done.err and "1 continued" in done.err


def test_a_backup_replaces_no_file_unless_it_is_forced(filled: Here, tmp_path: Path) -> None:
    file = tmp_path / "precious"
    file.write_text("precious")
    refused = filled("backup", str(file))
    assert refused.code == 1 and refused.err.endswith("exists. Name another file, or replace it with --force.\n")
    assert file.read_text() == "precious"
    assert filled("backup", str(tmp_path)).err == f"co-tui: {tmp_path} is a folder. Name a file.\n"
    missing = tmp_path / "typo"
    done = filled("backup", str(missing / "all.backup"))
    assert (done.code, done.err) == (1, f"co-tui: Folder {missing} does not exist. Create it first.\n")
    assert not missing.exists()
    assert filled("backup", str(file), "--force").code == 0 and file.read_bytes().startswith(b"\x1f\x8b")


def test_a_backup_names_every_file_that_it_leaves_out(filled: Here, tmp_path: Path) -> None:
    skills = filled.home / "config" / "skills"
    (skills / "pond" / ".git").mkdir(parents=True)
    (skills / "pond" / "SKILL.md").write_text("help")
    (skills / "pond" / ".git" / "HEAD").write_text("x")
    (skills / "pond" / ".env").write_text("x")
    (skills / "pond" / "uv.lock").write_text("x")
    (filled.home / "data" / "memory").mkdir(parents=True, exist_ok=True)
    (filled.home / "data" / "memory" / ".lock").touch()  # our own, which says nothing
    Path(os.fsdecode(bytes(skills) + b"/pond/caf\xe9.md")).write_text("x")
    (skills / "linked").symlink_to(tmp_path, target_is_directory=True)
    (skills / "lost.md").symlink_to(tmp_path / "nowhere")
    os.mkfifo(skills / "pipe")
    done = filled("backup", str(tmp_path / "all.tgz"))
    assert done.code == 0
    left = {line.partition(" is not in the backup: ")[::2] for line in done.err.splitlines()[:-1]}
    assert left == {
        (f"co-tui: {skills}/pond/.git", "its name begins with a dot."),
        (f"co-tui: {skills}/pond/.env", "its name begins with a dot."),
        (f"co-tui: {skills}/pond/uv.lock", "its name ends in .lock."),
        (f"co-tui: {skills}/pond/caf\\xe9.md", "its name is not in UTF-8."),
        (f"co-tui: {skills}/linked", "it is a link to a folder."),
        (f"co-tui: {skills}/lost.md", "its link leads nowhere."),
        (f"co-tui: {skills}/pipe", "it is not a regular file."),
    }
    with tarfile.open(tmp_path / "all.tgz") as tar:
        assert [name for name in tar.getnames() if "pond" in name] == ["config/skills/pond/SKILL.md"]


def test_a_backup_follows_a_link_and_leaves_a_pipe_alone(filled: Here, tmp_path: Path) -> None:
    link, file, pipe = tmp_path / "latest", tmp_path / "disk" / "all.tgz", tmp_path / "pipe"
    file.parent.mkdir()
    link.symlink_to(file)
    assert filled("backup", str(link)).code == 1 and not file.exists()
    assert filled("backup", str(link), "--force").code == 0
    assert link.is_symlink() and file.read_bytes().startswith(b"\x1f\x8b")
    os.mkfifo(pipe)
    refused = filled("backup", str(pipe), "--force")
    assert (refused.code, refused.err) == (1, f"co-tui: {pipe} is a pipe or a device. Name a file.\n")
    assert pipe.is_fifo()
    agent = filled.home / "config" / "agents" / "helper.md"
    (dotfile := tmp_path / "helper.md").write_text("changed")
    agent.unlink()
    agent.symlink_to(dotfile)
    assert filled("restore", str(file), "--force", "--with-config").code == 0
    assert agent.is_symlink() and "helps" in dotfile.read_text()


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interrupted_backup_leaves_nothing_behind(
    filled: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    def interrupted(*_: object) -> None:
        raise failure

    monkeypatch.setattr(Reader, "partial_reply", interrupted)
    folder, paths = tmp_path / "backups", paths_of(filled.home)
    folder.mkdir()
    with store_in(filled.home) as store, pytest.raises(type(failure)):
        backup_command.backup(
            CommandContext(
                paths,
                load(paths=paths, cwd=filled.cwd, environ={}, command_line={}),
                store,
                LocalWorkplace(filled.cwd),
            ),
            folder / "a.tgz",
            {},
        )
    assert list(folder.iterdir()) == []


def test_an_interrupted_restore_says_how_far_it_came_and_the_same_command_continues(
    filled: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.tgz"
    filled("backup", str(file))
    filled.environ["CO_TUI_HOME"] = str(tmp_path / "new")
    from co_tui.exchange.backup import restoring

    take_in, calls = restoring.import_unchanged, []

    def once(*given: object) -> object:
        calls.append(given)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return take_in(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(restoring, "import_unchanged", once)
        done = filled("restore", str(file))
    assert done.code == 130
    assert "Stopped: 1 session restored, 0 files restored. The same command continues." in done.err
    assert "3 sessions restored, 1 already there" in filled("restore", str(file)).err


def test_what_is_no_backup_is_one_sentence(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "x.tgz"
    assert here("restore", str(file)).err == f"co-tui: Cannot read {file}: No such file or directory.\n"
    file.write_text("hello")
    done = here("restore", str(file))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"co-tui: Cannot restore {file}: ") and done.err.count("\n") == 1
    assert not here.database.exists()


def test_no_key_of_the_user_is_in_a_backup(filled: Here, tmp_path: Path) -> None:
    import gzip

    filled.environ["ANTHROPIC_API_KEY"] = KEY
    write_files(filled.home, {"data/memory/2026-01-03.md": f"{KEY} was typed"})
    file = tmp_path / "a.tgz"
    assert filled("backup", str(file)).code == 0
    assert KEY.encode() not in gzip.decompress(file.read_bytes())


def test_a_long_backup_says_how_far_it_is(filled: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup_command, "PROGRESS_EVERY_S", 0)
    assert "co-tui: 4 of 4 sessions, 2" in filled("backup", str(tmp_path / "a.tgz")).err


def test_sessions_are_copied_to_a_database_and_back(filled: Here, tmp_path: Path) -> None:
    here, url = filled, postgres_server().new_database()
    planned = here("sessions", "--copy-to", url, "--dry-run")
    assert "4 sessions copied: from " in planned.err and "Nothing was copied: this was a dry run." in planned.err
    assert "1 session copied: from " in here("sessions", "--copy-to", url, "one").err
    copied = here("sessions", "--copy-to", url, "--json")
    assert copied.code == 0 and [each["outcome"] for each in copied.objects].count("new") == 3
    with store_in(here.home) as store, synced_store(tmp_path / "far", url) as far:
        far.sync.complete()
        assert logs(far) == logs(store)
    here.environ["CO_TUI_HOME"] = str(tmp_path / "new")
    assert "4 sessions copied: from " in here("sessions", "--copy-from", url).err
    here.environ["CO_TUI_DATABASE"] = url
    assert "0 sessions copied, 4 already there: from " in here("sessions", "--copy-to", "sqlite:").err
    same = here("sessions", "--copy-to", url)
    assert (same.code, same.err) == (2, "co-tui: Both are the same database. Name another one.\n")


def test_only_what_is_found_is_copied(filled: Here) -> None:
    url = postgres_server().new_database()
    assert "1 session copied: " in filled("sessions", "--copy-to", url, "--search", "hello").err


@each_case(
    ("arguments", "code", "sentence"),
    [
        (("--copy-to", "mysql://x"), 2, "--copy-to = "),
        (("--copy-to", "postgresql://me:secret99@h/x"), 2, "a URL with a password"),
        (("--copy-to", "postgresql://me@localhost:1/db"), 1, "cannot be reached"),
        (("one",), 2, "IDs work only with --copy-to or --copy-from."),
        (("--copy-to", "sqlite:"), 2, "Both are the same database."),
        (("--dry-run",), 2, "--dry-run works only with --prune, --copy-to or --copy-from."),
    ],
)
def test_a_copy_that_cannot_be_made_is_one_sentence(
    filled: Here, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    done = filled("sessions", *arguments)
    assert done.code == code and sentence in done.err and "secret99" not in done.err


def test_the_files_of_sessions_go_to_the_database_and_back_in_copies_and_backups(filled: Here, tmp_path: Path) -> None:
    here, url = filled, postgres_server().new_database()
    write_files(here.home, {"data/sessions/one/checkpoints/001-start.md": "the start"})
    assert here("sessions", "--copy-to", url).code == 0
    checkpoint = "data/sessions/one/checkpoints/001-start.md"
    here.environ["CO_TUI_HOME"] = str(tmp_path / "copied")
    assert here("sessions", "--copy-from", url).code == 0
    assert (tmp_path / "copied" / checkpoint).read_text() == "the start"
    here.environ["CO_TUI_HOME"], here.environ["CO_TUI_DATABASE"] = str(tmp_path / "far"), url
    assert here("backup", str(tmp_path / "all.tgz")).code == 0
    here.environ["CO_TUI_DATABASE"] = other = postgres_server().new_database()
    here.environ["CO_TUI_HOME"] = str(tmp_path / "restored")
    assert here("restore", str(tmp_path / "all.tgz")).code == 0
    for name, database in (("last", other), ("local", "")):
        here.environ["CO_TUI_HOME"], here.environ["CO_TUI_DATABASE"] = str(tmp_path / name), database
        assert here("sessions", *(() if database else ("--copy-from", other))).code == 0
        assert here("backup", str(tmp_path / f"{name}.tgz")).code == 0
        assert (tmp_path / name / checkpoint).read_text() == "the start"
        assert (tmp_path / name / "data/memory/2026-01-02.md").read_text() == "a day"
