"""The command line, as scripts and people use it."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

from co_tui import __version__
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.cli.cli_commands import COMMANDS
from co_tui.cli.commands import FUNCTIONS
from co_tui.session.history.learned_limits import LIMITS_FILE, Limits
from tests.support.cases import each_case
from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S


def test_run_streams_the_reply_to_standard_output(served_here: Here, provider: Provider) -> None:
    provider.script = [Reply(text="Paris, of course.")]
    done = served_here("run", "-p", "Capital of France?")
    assert (done.code, done.out.split()) == (0, ["Paris,", "of", "course."])
    assert re.fullmatch(r"co-tui: Session [0-9a-f-]+\.\n", done.err)
    assert provider.requests[0]["messages"][-1] == {"role": "user", "content": "Capital of France?"}


def test_json_is_the_log_itself_with_the_figures_of_the_server(served_here: Here, provider: Provider) -> None:
    provider.script = [Reply(prompt_tokens=321, completion_tokens=45), Reply(prompt_tokens=500, completion_tokens=5)]
    events = served_here("run", "-p", "hi", "--json").objects
    events += served_here("run", "--continue", "-p", "again", "--json").objects
    kinds = [event["type"] for event in events]
    turn = ["message", "session.usage_info", "request.billed", "message", "session.usage_info", "session.end"]
    assert kinds == ["session.start", *turn, "session.resume", *turn]
    usages = [event["payload"] for event in events if event["type"] == "session.usage_info"]
    assert [usage["is_initial"] for usage in usages] == [True, False, False, False]
    reported = [usage for usage in usages if usage["measured"] == "provider"]
    assert [(u["input_tokens"], u["output_tokens"], u["current_tokens"]) for u in reported] == [
        (321, 45, 366),
        (500, 5, 505),
    ]
    assert all(u["token_limit"] == 4096 and u["limit_known"] for u in usages)
    replies = [
        e["payload"]["message"]["usage"] for e in events if e["payload"].get("message", {}).get("kind") == "response"
    ]
    assert [(u["input_tokens"], u["output_tokens"]) for u in replies] == [(321, 45), (500, 5)]
    with sqlite3.connect(served_here.database) as connection:
        rows = connection.execute("SELECT session_id, seq, type, timestamp, version, payload FROM events ORDER BY seq")
        keys = ("session_id", "seq", "type", "timestamp", "version")
        logged = [{**dict(zip(keys, row, strict=False)), "payload": json.loads(row[5])} for row in rows]
    assert logged == events


def test_the_prompt_may_come_from_standard_input(served: CliCommand, provider: Provider) -> None:
    done = served("run", stdin="from a pipe\nwith two lines\n")
    assert (done.code, done.out.split()) == (0, ["Hello", "from", "the", "provider."])
    assert provider.requests[0]["messages"][-1]["content"] == "from a pipe\nwith two lines\n"


def test_a_session_is_continued_listed_shown_and_measured(served_here: Here, provider: Provider) -> None:
    provider.default = Reply(text="An answer with a needle.", prompt_tokens=50, completion_tokens=7)
    served_here("run", "-p", "First question")
    (listed,) = served_here("sessions", "--json").objects
    assert listed["title"] == "First question" and listed["messages"] == 2 and listed["tokens"] == 57
    assert served_here("run", "--resume", listed["id"][-6:], "-p", "Second question").code == 0
    assert [m["content"] for m in provider.requests[-1]["messages"][1:]][::2] == ["First question", "Second question"]
    shown = served_here("show", listed["id"], "--json").objects
    assert [set(entry) for entry in shown] == [{"seq", "turn", "message"}] * 4
    assert [entry["turn"] for entry in shown] == [1, 1, 2, 2]
    assert served_here("show", listed["id"], "--history", "--json").objects == shown
    text = served_here("show", listed["id"]).out
    assert text.index("First question") < text.index("needle") < text.index("Second question")
    (figures,) = served_here("context", listed["id"], "--json").objects
    assert (figures["current_tokens"], figures["token_limit"], figures["messages_count"]) == (57, 4096, 4)
    assert figures["system_tokens"] + figures["tool_definition_tokens"] + figures["conversation_tokens"] == 57
    assert "57 of 4,096" in served_here("context", listed["id"]).out
    assert [row["id"] for row in served_here("sessions", "--search", "needle", "--json").objects] == [listed["id"]]
    assert served_here("sessions", "--search", "haystack", "--json").out == ""
    assert "First question" in served_here("sessions").out


@each_case(
    ("arguments", "code", "words"),
    [
        (["run", "-p", ""], 2, "empty"),
        (["run", "-p", "x", "--session", "nope"], 1, "No session 'nope'"),
        (["run", "-p", "x", "--continue"], 1, "No session to continue"),
        (["run", "-p", "x", "--continue", "--session", "y"], 2, "not allowed with"),
        (["run", "-p", "x", "--session", "y", "--resume", "z"], 2, "--resume: not allowed with argument --session"),
        (["--resume", "y", "run", "-p", "x"], 2, "use `co-tui run --resume ID`"),
        (["run", "-p", "x", "--model", "anthropic:claude-sonnet-5"], 1, "ANTHROPIC_API_KEY"),
        (["run", "-p", "x", "--model", "nonsense"], 2, "model = 'nonsense' (the command line) is not allowed"),
        (["run", "-p", "x", "--model", "anthropic:nonsense"], 1, "ANTHROPIC_API_KEY"),
        (["run", "-p", "x", "--policy", "nonsense"], 2, "balanced"),
        (["show", "nope"], 1, "No session 'nope'"),
        (["context", "nope"], 1, "No session 'nope'"),
        (["run", "-p", "x", "--session", ""], 1, "No session ''. List them with `co-tui sessions`."),
        (["run", "-p", "x", "--resume="], 1, "No session ''"),
        (["run", "-p", "x", "--session", "", "--private"], 2, "--private starts a new session and cannot"),
        (["compact", ""], 1, "No session ''"),
        (["sessions", "--limit", "0"], 2, "--limit"),
        (["config", "modle"], 2, "Did you mean model"),
        (["config", "context_window", "big"], 2, "whole number"),
        (["frobnicate"], 2, "Unknown command 'frobnicate'. Commands: run, sessions"),
        (["sesions"], 2, "Did you mean sessions?"),
        (["why is the sky blue"], 2, "`co-tui run -p"),
        (["--modle", "x"], 2, "Unknown option --modle. Did you mean --model?"),
        (["-p", "x"], 2, "-p is an option of `co-tui run`"),
        (["run", "-p", "x", "--frobnicate"], 2, "Unknown option --frobnicate for `co-tui run`"),
        (["compact", "x"], 1, "No session 'x'"),
        (["lab"], 2, "--input"),
        (["lab", "--input", "nowhere.jsonl"], 1, "Cannot read"),
        (["lab", "--input", "x", "--policy", "nope"], 2, "balanced"),
        (["lab", "nope"], 1, "No session 'nope'"),
        (["export", "nope"], 1, "No session 'nope'"),
        (["export", "x", "--format", "pdf"], 2, "invalid choice"),
        (["import"], 2, "Name files to import"),
        (["import", "x"], 1, "Cannot read x: No such file"),
        (["import", "--from", "nobody"], 2, "invalid choice"),
    ],
)
def test_mistakes_are_a_sentence_and_a_code(here: Here, arguments, code, words) -> None:
    done = here(*arguments)
    assert done.code == code and words in done.err and done.out == ""


def test_an_option_with_an_empty_value_takes_no_command_for_it(here: Here) -> None:
    assert here("--model=", "sessions", "--json").code == 0


def test_a_server_whose_address_is_none_is_not_asked_again_and_again(here: Here) -> None:
    here.environ["OPENAI_BASE_URL"] = "localhost:8080/v1"
    done = here("run", "-p", "x", "--model", "openai-chat:some")
    assert done.code == 1 and "OPENAI_BASE_URL is 'localhost:8080/v1'" in done.err and "http://" in done.err


def test_a_bad_setting_stops_a_run_but_not_config_and_doctor(here: Here) -> None:
    here.environ["CO_TUI_CONTEXT_WINDOW"] = "big"
    assert here("run", "-p", "x").code == 2
    assert here("config").code == 0
    assert "CO_TUI_CONTEXT_WINDOW" in here("doctor").err


def test_no_edits_in_the_home_folder(served_here: Here, provider: Provider) -> None:
    served_here.environ["HOME"] = str(served_here.cwd)
    for mode in ("edits", "auto"):
        refused = served_here("run", "-p", "x", "--mode", mode)
        assert refused.code == 2 and f"Mode {mode} is not offered in the home folder" in refused.err
    assert provider.requests == []
    served_here.environ["CO_TUI_MODE"] = "edits"
    done = served_here("run", "-p", "x")
    assert done.code == 0 and "Mode edits is not offered in the home folder" in done.err, "it goes on in mode ask"


def test_config_shows_origins_and_writes_the_users_file(here: Here) -> None:
    assert here("config", "theme", "dark").code == 0
    line = next(line for line in here("config").out.splitlines() if line.startswith("theme"))
    assert line.split() == ["theme", "dark", str(here.home / "config" / "config.toml")]
    for empty in ("keys", "hooks", "mcp_servers", "tools"):
        assert "= none saved" in here("config", empty, "none").err, "as an empty one is shown"


def test_doctor_reports_model_reason_files_and_health(served_here: Here) -> None:
    served_here("run", "-p", "x")
    done = served_here("doctor")
    assert done.code == 0
    for word in (
        "openai-chat:scripted (set by the environment)",
        str(served_here.database),
        "ok,",
        "1 sessions",
        "pydantic-ai",
    ):
        assert word in done.out
    assert "sk-test" not in done.out + done.err and "OPENAI_API_KEY" in done.out


def test_doctor_shows_learned_limits_and_setting_the_window_forgets_them(served_here: Here) -> None:
    assert "learned limit" not in served_here("doctor").out
    limits = Limits(served_here.home / "state" / LIMITS_FILE)
    limits.learn(RequestTarget("openai-chat:scripted", "http://localhost:1/v1"), 8_192, "at most 8192 tokens\x1b[2J")
    limits.refused(RequestTarget("openai-chat:other"), 18_600)
    limits.answered(RequestTarget("openai-chat:other"), 9_000)
    shown = served_here("doctor").out
    assert (
        "openai-chat:scripted at http://localhost:1/v1: 8,192 tokens, from the provider's reply: at most 8192 tokens"
        in shown
    )
    assert "openai-chat:other: 18,600 tokens refused, 9,000 accepted" in shown and "\x1b" not in shown
    assert "co-tui config context_window 0" in shown
    assert "Learned limits were removed." in served_here("config", "context_window", "0").err
    assert "learned limit" not in served_here("doctor").out


def test_doctor_reports_whether_commands_are_sandboxed_and_why_they_cannot_be(
    served_here: Here, tmp_path: Path
) -> None:
    assert "not sandboxed (default)" in served_here("doctor").out
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    served_here.environ.update({"CO_TUI_COMMAND_SANDBOX": "bwrap", "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    done = served_here("doctor")
    assert done.code == 1 and "writes only in this folder, no network" in done.out and "no namespaces here" in done.err


def test_doctor_names_a_damaged_database_and_leaves_it(here: Here) -> None:
    here.database.parent.mkdir(parents=True)
    here.database.write_bytes(b"not a database" * 1000)
    for arguments in (["doctor"], ["sessions"], ["run", "-p", "x"]):
        done = here(*arguments)
        assert done.code == 1 and "damaged" in done.err and str(here.database) in done.err
    assert here.database.read_bytes() == b"not a database" * 1000


def test_version() -> None:
    done = subprocess.run([sys.executable, "-m", "co_tui", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"co-tui {__version__}\n"


def test_ctrl_c_keeps_what_came_and_exits_130(served: CliCommand, provider: Provider) -> None:
    provider.script = [Reply(text="word " * 200, delay_s=0.05, open_end=True)]
    process = served.start_loaded("run", "-p", "talk")
    assert process.stdout is not None
    process.stdout.read(10)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and "Traceback" not in err
    assert err.lower().count("session 2") == 1, "it is named once"
    last = served("show", served("sessions", "--json").objects[0]["id"], "--json").objects[-1]["message"]
    assert last["state"] == "interrupted" and last["parts"][0]["content"].startswith("word word")
    assert provider.closed_early.wait(PATIENCE_S)


def test_a_reader_that_leaves_ends_the_run_quietly(served: CliCommand, provider: Provider) -> None:
    provider.script = [Reply(text="word " * 100, delay_s=0.02)]
    process = served.start_loaded("run", "-p", "talk", "--json")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=PATIENCE_S) == 0
    assert process.stderr is not None and process.stderr.read() == ""
    process.stderr.close()


def test_escape_codes_of_a_model_are_shown_not_obeyed(served_here: Here, provider: Provider) -> None:
    provider.script = [Reply(text="\x1b[2J\x1b]0;gotcha\x07 and \u202e more")]
    out = served_here("run", "-p", "x").out
    assert "\x1b" not in out and "\x07" not in out and "\u202e" not in out and "gotcha" in out
    assert "\x1b" not in served_here("show", served_here("sessions", "--json").objects[0]["id"]).out


def test_failures_are_reported_on_standard_error_and_exit_1(served_here: Here, provider: Provider) -> None:
    provider.default = Reply(status=401, body='{"error": {"message": "Incorrect API key: sk-test-0123456789abcdef"}}')
    done = served_here("run", "-p", "x")
    assert done.code == 1 and done.out == "" and "rejected the key" in done.err and "sk-test" not in done.err
    with sqlite3.connect(served_here.database) as connection:
        dump = "\n".join(connection.iterdump())
    assert "sk-test-0123456789abcdef" not in dump


def test_a_session_open_elsewhere_is_refused(served: CliCommand, served_here: Here, provider: Provider) -> None:
    provider.script = [Reply(text="word " * 200, delay_s=0.1, open_end=True)]
    process = served.start_loaded("run", "-p", "talk")
    assert process.stdout is not None
    process.stdout.read(5)
    done = served_here("run", "--continue", "-p", "me too")
    assert done.code == 1 and str(process.pid) in done.err
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130


def test_the_model_of_a_session_can_be_changed_on_the_command_line(served_here: Here) -> None:
    served_here("run", "-p", "x")
    kinds = [
        e["type"] for e in served_here("run", "--continue", "-p", "y", "--model", "openai-chat:other", "--json").objects
    ]
    assert kinds[:2] == ["session.resume", "session.model_change"]


def test_run_attaches_the_files_that_its_prompt_names(served_here: Here, provider: Provider) -> None:
    served_here.cwd.joinpath("notes.md").write_text("the needle\n")
    assert served_here("run", "-p", "look at @notes.md").code == 0
    words, file = provider.requests[0]["messages"][-1]["content"]
    assert words["text"] == "look at @notes.md" and "the needle" in file["text"]
    (listed,) = served_here("sessions", "--json").objects
    assert listed["title"] == "look at @notes.md"
    assert "── Attached\n## Attached file: notes.md" in served_here("show", listed["id"]).out
    refused = served_here("run", "-p", "look at @gone.md")
    assert refused.code == 2 and "No file gone.md to attach." in refused.err and "backquotes" in refused.err
    assert served_here("run", stdin="a pipe may name @notes.md and @gone.md").code == 0
    assert provider.requests[-1]["messages"][-1]["content"].endswith("@gone.md"), "what is piped in is data"
    assert len(provider.requests) == 2


def test_every_command_of_the_table_has_its_function() -> None:
    assert {*FUNCTIONS, "help"} == {row.name for row in COMMANDS}, "help needs neither settings nor a store"
