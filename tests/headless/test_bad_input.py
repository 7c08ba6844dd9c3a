"""Whatever is on the command line, in a recording or in a folder: a sentence and a code, never a traceback."""

import errno
import json
import os
import pwd
import shutil
from pathlib import Path

import pytest

from co_tui import cli
from co_tui.cli import settled
from co_tui.events import SessionStart
from co_tui.paths import locate, path_text, recorded_path
from co_tui.store.sqlite.writer import Writer
from tests.support.cases import each_case
from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.provider import Provider, Reply


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With one session in it."""
    file = tmp_path_factory.mktemp("stored") / "co-tui.db"
    writer = Writer(file)
    writer.append("a-session", [SessionStart(model="m")]).result()
    writer.close()
    return file


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["sessions", "--search", "\udcff"], 0),
        (["sessions", "--limit", "9" * 26], 2),
        (["sessions", "--limit", "9" * 5_000], 2),
        (["sessions", "--limit", "²"], 2),
        (["show", "\udcff"], 1),
        (["context", "\udcff"], 1),
        (["compact", "\udcff", "--focus", "\udcff"], 1),
        (["run", "-p", "x", "--session", "\udcff"], 1),
        (["run", "-p", "x", "--model", "\udcff"], 2),
        (["run", "-p", "x", "--policy", "\udcff"], 2),
        (["run", "-p", "x", "--policy", "\0"], 2),
        (["run", "-p", "x", "--policy", "x" * 5_000], 2),
        (["config", "model", "\udcff"], 2),
        (["config", "\udcff"], 2),
        (["config", "context_window", "9" * 25], 2),
        (["config", "context_window", "9" * 5_000], 2),
        (["config", "hooks", "[" * 30_000], 2),
        (["\udcff"], 2),
        (["--resume", "\udcff"], 2),
        (["lab", "--input", "\udcff"], 1),
        (["lab", "--input", "x", "--window", "9" * 26], 2),
        (["lab", "--input", "."], 1),
        (["trust", "\udcff"], 1),
        (["trust", "nowhere"], 1),
    ],
)
def test_odd_arguments(here: Here, database: Path, arguments: list[str], code: int) -> None:
    (here.home / "data").mkdir(parents=True)
    shutil.copy(database, here.home / "data")
    done = here(*arguments)
    assert done.code == code and done.err.startswith("co-tui: ") and len(done.err) < 2_000


def test_bytes_in_a_real_command_line_and_folder(served: CliCommand, served_here: Here, provider: Provider) -> None:
    folder = os.fsencode(served.cwd) + b"/caf\xe9"
    os.mkdir(folder)  # noqa: PTH102  a name of bytes
    served.cwd = Path(os.fsdecode(folder))
    done = served("run", "--json", "-p", os.fsdecode(b"say \xff"))
    assert (done.code, done.err) == (0, "")
    assert provider.requests[0]["messages"][-1]["content"] == "say \ufffd"
    assert done.objects[0]["payload"]["cwd"].endswith("caf\\xe9")
    os.chdir(folder)
    again = served_here("run", "--continue", "-p", "say \udcff")
    assert (again.code, again.err) == (0, "")


def test_a_folder_whose_name_is_no_text_is_found_again(
    served_here: Here, provider: Provider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """From elsewhere too: its changes are shown and undone there, and it does not count as deleted."""
    monkeypatch.setenv("CO_TUI_CONTEXT_WINDOW", "32000")
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    (file := folder / "a.txt").write_text("one\n")
    monkeypatch.chdir(folder)
    write = ("write_file", json.dumps({"path": "a.txt", "content": "two\n"}))
    provider.script = [Reply(text="", tool=write), Reply(text="done"), Reply(text="done")]
    assert served_here("run", "--yes", "-p", "Write it").code == 0 and file.read_text() == "two\n"
    monkeypatch.chdir(tmp_path)
    (row,) = served_here("sessions", "--json").objects
    assert "-one\n+two\n" in served_here("diff", row["id"]).out
    elsewhere = served_here("run", "--session", row["id"], "-p", "Go on").err
    assert "worked in" in elsewhere and "(deleted)" not in elsewhere
    monkeypatch.chdir(folder)
    assert served_here("run", "--session", row["id"], "-p", "Go on here").code == 0
    assert served_here("rewind", row["id"], "1", "--files").code == 0 and file.read_text() == "one\n"


@pytest.mark.parametrize("name", ["plain", "caf\\xe9", os.fsdecode(b"caf\xe9"), os.fsdecode(b"\xff\\x41")])
def test_a_recorded_path_is_the_path_again(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert recorded_path(path_text(tmp_path / name)) == tmp_path / name
    assert recorded_path("/no/such\\xe9") == Path("/no/such\\xe9")


def test_an_environment_that_is_no_text(here: Here) -> None:
    here.environ["CO_TUI_THEME"] = "\udcff"
    assert "CO_TUI_THEME = '\ufffd' (the environment) is not allowed" in here("doctor").err


@pytest.mark.parametrize("home", [None, "somewhere"])
@pytest.mark.parametrize("arguments", [["sessions"], ["config"], ["doctor"], ["import", "--all", "--dry-run"]])
def test_without_a_home_folder_it_says_what_to_set(
    here: Here, monkeypatch: pytest.MonkeyPatch, home: str | None, arguments: list[str]
) -> None:
    """As in a container whose user is only a number."""

    def unknown(_user: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("HOME")
    if home is not None:
        monkeypatch.setenv("HOME", home)
    done = here(*arguments)
    assert done.code == 1 and done.err.startswith("co-tui: The home folder: ")
    assert done.err.endswith(". Set HOME to a folder of yours.\n") and done.err.count("\n") == 1


@pytest.mark.parametrize("name", ["home/config/config.toml", "project/.co-tui.toml"])
def test_settings_may_begin_with_a_byte_order_mark(here: Here, name: str) -> None:
    file = {"home": here.home, "project": here.cwd}[name.partition("/")[0]] / name.partition("/")[2]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b'\xef\xbb\xbfpolicy = "cowagent"\r\n')
    assert here("config", "policy").out.split()[-3:-1] == ["policy", "cowagent"]
    if name.startswith("home"):
        assert here("config", "theme", "light").code == 0
        assert {"cowagent", "light"} < {*here("config").out.split()}


def test_a_folder_that_was_deleted_is_named(here: Here) -> None:
    here.cwd.rmdir()
    done = here("sessions")
    assert done.code == 1 and "current folder" in done.err


def test_what_no_one_thought_of_is_one_sentence_unless_asked_for(
    here: Here, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: object) -> None:
        raise ZeroDivisionError("by nothing\nat all")

    monkeypatch.setattr(settled, "locate", fails)
    assert cli.run(["sessions"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "ZeroDivisionError: by nothing at all" in line and "CO_TUI_DEBUG=1" in line
    monkeypatch.setenv("CO_TUI_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        cli.run(["sessions"])


def test_asking_for_tracebacks_is_no_unknown_setting(here: Here) -> None:
    here.environ["CO_TUI_DEBUG"] = "1"
    assert "debug" not in here("sessions").err.lower()


GOOD = '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]}'
USAGE = '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x", "usage": %s}]}'


@each_case(
    ("line", "words"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 30_000, "nested too deeply"),
        (b'{"messages": [' + b"[" * 30_000, "nested too deeply"),
        (USAGE % '{"prompt_tokens": 1e999}', "1e999 is not a number"),
        (USAGE % '{"prompt_tokens": NaN}', "NaN is not a number"),
        (USAGE % '{"prompt_tokens": -Infinity}', "-Infinity is not a number"),
        (USAGE % '{"prompt_tokens": "12"}', 'prompt_tokens is "12"'),
        (USAGE % '{"completion_tokens": -5}', "completion_tokens is -5"),
        (USAGE % '{"prompt_tokens": 1e30}', "prompt_tokens is 1e+30"),
        (USAGE % '{"prompt_tokens": [1]}', "prompt_tokens is [1]"),
        (USAGE % f'{{"prompt_tokens": {"9" * 5_000}}}', "digits"),
        (USAGE % "[1]", "usage must be an object"),
        ("5", "it must be an object"),
        ("{}", "'messages' is missing"),
        ('{"messages": 5}', "messages must be a list"),
        ('{"messages": [5]}', "a message must be an object"),
        ('{"messages": [{"role": ["x"]}]}', "unknown role"),
        ('{"messages": [{"role": "assistant", "tool_calls": 5}]}', "tool_calls must be a list"),
        ('{"messages": [{"role": "assistant", "tool_calls": [{"function": "x"}]}]}', "function must be an object"),
    ],
)
def test_a_bad_recording_is_named_by_file_and_line(here: Here, line: str | bytes, words: str) -> None:
    file = here.cwd / "talks.jsonl"
    file.write_bytes(GOOD.encode() + b"\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    done = here("lab", "--input", "talks.jsonl")
    assert done.code == 1 and "talks.jsonl, line 2" in done.err and words in done.err and len(done.err) < 500


def test_halves_of_characters_in_a_recording_become_signs(here: Here) -> None:
    call = {"id": "\ud800", "function": {"name": "\ud800", "arguments": {"a": "\ud800"}}}
    messages = [
        {"role": "user", "content": "\ud800"},
        {"role": "assistant", "content": "\udc00", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "\ud800", "name": "\ud800", "content": [{"text": "\ud800"}]},
        {"role": "assistant", "content": "done"},
    ]
    (here.cwd / "talks.jsonl").write_text(json.dumps({"id": "\ud800", "messages": messages}))
    done = here("lab", "--input", "talks.jsonl", "--json", "--dump", "out")
    assert done.code == 0 and done.objects[0]["requests"] == 2 and len(list(here.cwd.rglob("*.json"))) == 2


@pytest.mark.timeout(60)
def test_a_pipe_in_the_folder_keeps_no_one_waiting(here: Here) -> None:
    os.mkfifo(here.cwd / ".co-tui.toml")
    (here.cwd / ".git").mkdir()
    os.mkfifo(here.cwd / ".git" / "HEAD")
    done = here("sessions")
    assert done.code == 0 and "not a regular file" in done.err
    assert here("config").code == 0 and "not a regular file" in here("doctor").err


ODD = ("policy", "summary_share", "few_turns", "context_window", "summary_fallback", "keep_recent_share", "compaction")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('policy = "theirs"', "policy = 'theirs' ({file}) is not allowed. Use one of balanced, "),
        ("policy = 5", "policy = 5 ({file}) is not allowed"),
        ("context_window = -1", "context_window = -1 ({file}) is not allowed"),
        (
            "background_compaction_threshold = 0.9\nbuffer_exhaustion_threshold = 0.2",
            "{file}: background_compaction_threshold = 0.9 must not be above buffer_exhaustion_threshold = 0.2",
        ),
        ("run_compression_low = 0.99", "{file}: run_compression_low = 0.99 must not be above run_compression_high"),
        ("policy = [", "Cannot read {file}"),
        ("\n".join(f"{key} = []" for key in ODD), "2 more invalid values."),
    ],
)
def test_a_broken_file_of_the_folder_is_reported_and_keeps_nothing_from_starting(
    here: Here, text: str, told: str
) -> None:
    own = locate(os.environ).config_file
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('policy = "cowagent"\ntool_output_trim_chars = 77\n')
    file = here.cwd / ".co-tui.toml"
    file.write_text(f"max_history_messages = 33\n{text}\n")
    done = here("sessions")
    assert done.code == 0 and told.format(file=file) in done.err and done.err.count("must not be above") <= 1
    values = here("config").out
    assert "cowagent" in values and " 77 " in values, "yours counts where the folder's does not"
    assert (" 33 " in values) is ("Cannot read" not in done.err), "and so does the rest of the folder's"


def test_a_bad_value_of_the_users_own_is_still_refused(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_TUI_POLICY", "theirs")
    refused = here("sessions")
    assert refused.code == 2 and "policy = 'theirs' (the environment) is not allowed" in refused.err


def test_a_full_disk_is_not_called_the_output(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk_is_full(*file: str) -> None:
        def locate(_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device", *file)

        monkeypatch.setattr(settled, "locate", locate)

    room = "is full. Nothing is saved until there is space.\n"
    disk_is_full("/x/notes.md")
    assert here("sessions").err == f"co-tui: The disk with /x/notes.md {room}"
    disk_is_full()
    assert here("sessions").err == f"co-tui: The disk {room}"


def test_trust_is_given_shown_listed_and_revoked(here: Here) -> None:
    (here.cwd / ".co-tui.toml").write_text('model = "openai:theirs"\ncontext_window = 9000\n')
    assert "openai:theirs" not in here("sessions").err, "a list uses no model"
    warned = here("context", "none")
    assert warned.code == 1 and "model = 'openai:theirs'" in warned.err and "`co-tui trust`" in warned.err
    row = here("config", "model").out.splitlines()[1]
    assert "(empty)" in row and "requests 'openai:theirs' (not trusted)" in row
    assert "not trusted to set model" in here("doctor").out
    given = here("trust")
    assert given.code == 0 and str(here.cwd) in given.err and "model = 'openai:theirs'" in given.out
    assert here("trust", "--list").out == f"{here.cwd}\n"
    assert "openai:theirs" in here("config", "model").out and "trust" not in here("sessions").err
    assert here("trust", "--revoke", str(here.cwd)).code == 0 and here("trust", "--list").out == ""
    assert "`co-tui trust`" in here("context", "none").err


def test_what_is_always_allowed_is_listed_and_revoked_with_the_trust(here: Here) -> None:
    (here.cwd / ".git").mkdir()
    (here.cwd / "src").mkdir()
    file = here.home / "state" / "approvals.json"
    file.parent.mkdir(parents=True)
    kept = [{"tool": "run_command", "pattern": "npm test *"}]
    file.write_text(json.dumps({str(here.cwd): kept, "/elsewhere": kept}))
    told = here("trust", "--list")
    assert told.out == "" and f"Always allowed in {here.cwd}: npm test, harmless options" in told.err
    assert "1 always-allow rule revoked" in here("trust", "--revoke", "src").err
    left = json.loads(file.read_text())
    assert len(left.pop("marks")) == 1 and left == {str(here.cwd): [], "/elsewhere": kept}


def test_trusting_a_folder_without_requests_or_with_a_bad_file_is_a_sentence(here: Here) -> None:
    assert here("trust").code == 0 and f"Nothing in {here.cwd} needs trust" in here("trust").err
    assert "No trusted folders" in here("trust", "--list").err
    (here.cwd / ".co-tui.toml").write_text("model = [")
    done = here("trust")
    assert done.code == 1 and "Nothing was trusted" in done.err
