"""Slash commands of `co-tui run`: what the screen can do without a dialog, and nothing that is not a command."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from co_tui.actions import COMMANDS
from co_tui.paths import locate
from co_tui.session.slash.command_host import function_of
from tests.support.command import Result
from tests.support.here import Here
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for all tests: what is stored names it."""
    return tmp_path_factory.mktemp("place")


@pytest.fixture
def home(place: Path) -> Path:
    shutil.rmtree(place / "home", ignore_errors=True)
    return place / "home"


@pytest.fixture
def folder(place: Path) -> Path:
    shutil.rmtree(place / "project", ignore_errors=True)
    (place / "project").mkdir()
    return place / "project"


@pytest.fixture
def talked(served_here: Here, provider: Provider, place: Path) -> Here:
    """A folder with a session of two turns, which is made once."""
    provider.default = Reply(text="An answer.", prompt_tokens=50, completion_tokens=7)
    if not (kept := place / "kept").exists():
        assert served_here("run", "-p", "First question").code == 0
        assert served_here("run", "--continue", "-p", "Second question").code == 0
        shutil.copytree(served_here.home, kept)
        provider.requests.clear()
    shutil.copytree(kept, served_here.home, dirs_exist_ok=True)
    return served_here


def slash(here: Here, command: str, *options: str) -> Result:
    return here("run", "--continue", "-p", command, *options)


def facts(result: Result) -> list[dict[str, Any]]:
    """The events that a command appended, without those of opening and closing."""
    assert result.code == 0, result.err
    return [event for event in result.objects if event["type"] not in ("session.resume", "session.end")]


def test_every_command_runs_without_a_screen_or_says_what_to_use() -> None:
    assert all(bool(command.instead) or function_of(command) for command in COMMANDS)


def test_an_unknown_command_is_wrong_usage_and_not_a_prompt(served_here: Here, provider: Provider) -> None:
    for given in ({"arguments": ("-p", "/cleer all")}, {"stdin": "/cleer all\n"}):
        done = served_here("run", *given.get("arguments", ()), stdin=str(given.get("stdin", "")))
        assert (done.code, done.out, done.err) == (2, "", "co-tui: Unknown command /cleer. Did you mean /clear?\n")
    assert served_here("run", "-p", "/xyzzy").err == "co-tui: Unknown command /xyzzy. See /help.\n"
    assert served_here("run", "-p", "/mcp__nothing__here").code == 2
    assert provider.requests == [] and served_here("sessions", "--json").objects == []


@pytest.mark.parametrize(
    "prompt", ["/usr/bin/x is missing", "// a comment", "/etc/hosts", "/cleer\nwith a second line"]
)
def test_a_path_or_a_longer_text_is_a_prompt(served_here: Here, provider: Provider, prompt: str) -> None:
    assert served_here("run", "-p", prompt).code == 0
    assert provider.requests[0]["messages"][-1]["content"] == prompt


def test_a_command_of_a_folder_runs_once_it_is_trusted(served_here: Here, provider: Provider) -> None:
    file = served_here.cwd / ".claude/commands/deploy.md"
    file.parent.mkdir(parents=True)
    file.write_text("Deploy to $1.")
    skill = served_here.cwd / ".claude/skills/ship/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndisable-model-invocation: true\n---\nShip $0.")
    done = served_here("run", "-p", "/deploy north")
    assert (done.code, done.out) == (2, "") and "Unknown command /deploy." in done.err
    assert "/deploy" in done.err.splitlines()[0] and "co-tui trust" in done.err, "what would help is named"
    assert provider.requests == []
    served_here("trust")
    assert served_here("run", "-p", "/deploy north").code == 0
    assert provider.requests[0]["messages"][-1]["content"] == "Deploy to north."
    assert "Did you mean /deploy?" in served_here("run", "-p", "/deplyo").err
    assert served_here("run", "-p", "/ship it").code == 0
    assert provider.requests[-1]["messages"][-1]["content"].endswith("Ship it.")


def test_a_command_that_needs_a_dialog_says_what_to_use(talked: Here, provider: Provider) -> None:
    done = slash(talked, "/lens")
    assert (done.code, done.err) == (2, "co-tui: /lens needs the screen. Use `co-tui lens ID`.\n")
    assert (slash(talked, "/settings").code, slash(talked, "/quit").code) == (2, 2)
    for command in ("/model", "/policy", "/rename", "/rewind", "/pin", "/theme"):
        done = slash(talked, command)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1) and command in done.err
    assert provider.requests == []


def test_reports_are_data(talked: Here, provider: Provider) -> None:
    done = slash(talked, "/history")
    assert (done.code, done.out, done.err) == (0, "2 turns. The model sees 4 of 4 messages.\n", "")
    context = slash(talked, "/context")
    assert context.code == 0 and "messages      4" in context.out and "tokens" in context.out
    assert "/context takes nothing" in (wrong := slash(talked, "/context all")).err and wrong.code == 2
    refused = slash(talked, "/compact --dep the files")
    assert refused.code == 2 and "/compact has no option '--dep'. Use --deep, or begin with the focus." in refused.err
    assert "theme" in slash(talked, "/config").out and "mode = ask" in slash(talked, "/config mode").out
    assert "No hooks." in slash(talked, "/hooks").out
    assert "/compact [--deep] [FOCUS]" in (listed := slash(talked, "/help").out) and "/lens" not in listed
    assert "No MCP servers." in slash(talked, "/mcp").out
    assert "● ask" in (modes := slash(talked, "/mode").out) and "Switch with --mode MODE." in modes
    assert provider.requests == []


def test_with_json_the_events_alone_are_on_standard_output(talked: Here) -> None:
    done = slash(talked, "/history", "--json")
    assert facts(done) == [] and "2 turns." in done.err
    cleared = facts(slash(talked, "/clear", "--json"))[0]
    assert (cleared["type"], cleared["payload"]["messages_removed"]) == ("session.clear", 4)


def test_undo_says_what_does_not_fit(served_here: Here, provider: Provider) -> None:
    provider.default = Reply(text="An answer. " * 600)
    assert served_here("config", "compaction", "none").code == 0
    for n in range(3):
        served_here("run", *(["--continue"] if n else []), "-p", f"Question {n}")
    assert served_here("config", "context_window", "4000").code == 0
    assert slash(served_here, "/clear").code == 0
    said = slash(served_here, "/undo").err
    assert "messages, the model sees " in said and said.endswith(" do not fit.\n")


def test_clear_and_undo(talked: Here) -> None:
    done = slash(talked, "/context clear")
    assert (done.code, done.out, done.err) == (0, "", "co-tui: Cleared. The model sees 0 messages. /undo goes back.\n")
    assert "already empty" in slash(talked, "/clear").err
    assert "The model sees 0 of 4 messages." in slash(talked, "/history").out
    assert "Clearing undone. The model sees all 4 messages again." in slash(talked, "/undo").err
    assert "The model sees 4 of 4 messages." in slash(talked, "/history").out
    refused = slash(talked, "/undo")
    assert (refused.code, refused.err) == (1, "co-tui: Nothing to undo: all changes are undone already.\n")
    assert slash(talked, "/undo 999").err.startswith("co-tui: No event 999. This session has ")


def test_a_compaction_that_would_free_nothing_is_a_failure(talked: Here) -> None:
    done = slash(talked, "/compact")
    assert (done.code, done.err) == (1, "co-tui: Nothing to compact: it would not free any room.\n")


def test_model_policy_mode_and_title_of_a_session(talked: Here, provider: Provider) -> None:
    (changed,) = [e for e in facts(slash(talked, "/policy copilot", "--json")) if e["type"] == "session.policy_change"]
    assert changed["payload"]["to"] == "copilot"
    assert "Unknown policy" in (wrong := slash(talked, "/policy nothing")).err and wrong.code == 2
    done = slash(talked, "/model openai-chat:other", "--json")
    assert "Now using openai-chat:other." in done.err
    assert "openai-chat:other" in [e["payload"].get("to") for e in facts(done) if e["type"] == "session.model_change"]
    done = slash(talked, "/mode plan")
    said = "co-tui: A mode is for one run. Add --mode plan to the run with your prompt.\n"
    assert (done.code, done.out, done.err) == (2, "", said)
    assert slash(talked, "/mode nonsense").code == 2
    assert "A new title" in slash(talked, "/rename A new title").err
    (listed,) = talked("sessions", "--json").objects
    assert listed["title"] == "A new title"
    assert provider.requests == []


def test_a_setting_is_written(talked: Here) -> None:
    done = slash(talked, "/config theme light")
    assert done.code == 0 and "Theme: light (saved)" in done.err
    assert slash(talked, "/config theme purple").code == 2 and slash(talked, "/config theem").code == 2
    assert slash(talked, "/config theme").out.startswith("theme = light")


def test_fork_pin_rewind_and_export(talked: Here, tmp_path: Path) -> None:
    assert slash(talked, "/fork 1").err == "co-tui: Event 1 is not a message of this session.\n"
    assert slash(talked, "/fork 999").err.startswith("co-tui: No event 999. This session has ")
    copy = slash(talked, "/fork")
    assert copy.code == 0 and len(talked("sessions", "--json").objects) == 2
    assert talked("show", copy.out.strip(), "--json").code == 0
    assert facts(slash(talked, "/pin last", "--json"))[0]["type"] == "session.pin"
    assert "Rewound to before turn 2." in slash(talked, "/rewind 2").err
    assert "The model sees 2 of 4 messages." in slash(talked, "/history").out
    file = tmp_path / "said.md"
    assert slash(talked, f"/export {file}").code == 0 and "First question" in file.read_text()
    again = slash(talked, f"/export {file}")
    assert again.code == 1 and "Add --yes to do it." in again.err
    (link := tmp_path / "link.md").symlink_to(new := tmp_path / "new.md")
    assert "Replace" in slash(talked, f"/export {link}").err and not new.exists()
    assert slash(talked, f"/export {link}", "--yes").code == 0 and link.is_symlink() and new.is_file()
    assert slash(talked, f"/export {file}", "--yes").code == 0
    for wrong, why in ((tmp_path / "no" / "x.md", "no does not exist"), (tmp_path / "x.pdf", ".pdf is not a format")):
        refused = slash(talked, f"/export {wrong}")
        assert refused.code == 2 and why in refused.err and not wrong.parent.joinpath("x.pdf").exists()
    assert not (tmp_path / "no").exists()


WRONG_WORDS = {
    "/undo abc": "nothing or an event number, not 'abc'",
    "/clear now": "no arguments: leave out 'now'",
    "/history extra": "no arguments: leave out 'extra'",
    "/hooks all": "no arguments: leave out 'all'",
}


def test_words_that_a_command_does_not_take_are_wrong_usage(talked: Here) -> None:
    assert slash(talked, "/rewind 2").code == 0, "so that there is something to undo"
    for command, takes in WRONG_WORDS.items():
        done = slash(talked, command)
        name = command.split()[0]
        assert (done.code, done.out, done.err) == (2, "", f"co-tui: {name} takes {takes}.\n")
    assert "The model sees 2 of 4 messages." in slash(talked, "/history").out


def test_a_rewind_that_restores_no_file_offers_no_undo(talked: Here) -> None:
    done = slash(talked, "/rewind 1 files")
    assert (done.code, done.err) == (0, "co-tui: No files to restore.\n")
    assert slash(talked, "/undo").code == 1


def test_diff_rewind_and_undo_of_files(served_here: Here, provider: Provider) -> None:
    provider.window = 100_000
    write = ("write_file", json.dumps({"path": "a.txt", "content": "one"}))
    provider.script = [Reply(text="", tool=write), Reply(text="Written.")]
    assert served_here("run", "-p", "Write it", "--yes").code == 0
    file = served_here.cwd / "a.txt"
    done = slash(served_here, "/diff")
    assert (done.code, "+one" in done.out, "1 file changed" in done.err) == (0, True, True), done
    refused = slash(served_here, "/rewind 1 files", "--read-only")
    assert refused.code == 2 and file.read_text() == "one"
    done = slash(served_here, "/rewind 1 both")
    assert done.code == 0 and "1 file restored." in done.err and not file.exists()
    assert "Rewind undone." in slash(served_here, "/undo").err and file.read_text() == "one"
    done = slash(served_here, "/rewind 1")
    assert done.code == 0 and "`/rewind 1 files` restores them, too." in done.err and file.exists()


def test_a_file_that_others_changed_is_left_and_named(served_here: Here, provider: Provider) -> None:
    provider.window = 100_000
    write = ("write_file", json.dumps({"path": "a.txt", "content": "one"}))
    provider.script = [Reply(text="", tool=write), Reply(text="Written.")]
    served_here("run", "-p", "Write it", "--yes")
    (served_here.cwd / "a.txt").write_text("mine")
    done = slash(served_here, "/rewind 1 both")
    assert done.code == 0 and "Left as they are, changed by others since: a.txt." in done.err
    assert (served_here.cwd / "a.txt").read_text() == "mine"


def test_read_only_refuses_commands_that_write(talked: Here) -> None:
    for command in ("/config theme light", "/export", "/share", "/subconscious run"):
        done = slash(talked, command, "--read-only")
        assert done.code == 2 and "--read-only" in done.err
    assert slash(talked, "/config theme", "--read-only").code == 0


def test_a_command_that_needs_no_session_starts_none(here: Here, provider: Provider) -> None:
    """There is not even a model."""
    assert here("run", "-p", "/config theme light").code == 0
    assert here("run", "-p", "/history").out == "0 turns. The model sees 0 of 0 messages.\n"
    assert "Nothing sent yet" in here("run", "-p", "/context").err
    assert here("run", "-p", "/approvals").code == here("run", "-p", "/memory").code == 0
    assert here("sessions", "--json").objects == []


def test_one_that_needs_a_session_starts_one(served_here: Here) -> None:
    done = served_here("run", "-p", "/rename Plans", "--json")
    assert [event["type"] for event in done.objects] == ["session.start", "session.rename", "session.end"]
    assert done.code == 0


def test_continue_and_init_send_a_prompt(talked: Here, provider: Provider) -> None:
    assert "finished" in slash(talked, "/continue").err and provider.requests == []
    provider.window = 100_000
    done = slash(talked, "/init in German")
    assert (done.code, done.out.strip()) == (0, "An answer."), done.err
    assert provider.requests[0]["messages"][-1]["content"].endswith("in German")


def test_other_names_work_without_a_screen(talked: Here) -> None:
    shown = slash(talked, "/cost")
    assert shown.code == 0 and "conversation" in shown.out and "today" in shown.out
    left = slash(talked, "/exit")
    assert left.code == 2 and "/quit needs the screen. Use `co-tui`." in left.err


@only_in_a_long_run
def test_the_doctor_works_without_a_screen(talked: Here) -> None:
    checked = slash(talked, "/doctor")
    assert checked.code == 0 and "embedded model" in checked.out


def test_the_conversation_is_handed_to_another_agent(talked: Here, provider: Provider) -> None:
    agents = locate({"CO_TUI_HOME": str(talked.home)}).agents
    agents.mkdir(parents=True)
    (agents / "reviewer.md").write_text("---\ndescription: Reads code.\n---\nYou review.")
    (agents / "main.md").write_text("---\ndescription: Not the main agent.\n---\nYou are another.")
    provider.window = 60_000
    wrong = slash(talked, "/agent nobody")
    assert (wrong.code, wrong.err) == (2, "co-tui: Unknown agent 'nobody'. Use one of reviewer.\n")
    assert slash(talked, "/agent reviewer").code == 0
    assert slash(talked, "Third question").code == 0
    assert "You review." in json.dumps(provider.requests[-1]["messages"][0])
    assert slash(talked, "/agent").out.startswith("○ main      the session's own agent\n● reviewer  Reads code.\n")
    provider.script = [Reply("", tool=("transfer_to_agent", '{"agent_name": "main"}')), Reply("Main again.")]
    provider.requests.clear()
    done = slash(talked, "Hand it back.", "--json")
    assert done.code == 0 and [each["payload"]["to"] for each in done.objects if each["type"] == "agent.transfer"] == [
        "main"
    ]
    assert ["You review." in json.dumps(each["messages"][0]) for each in provider.requests] == [True, False]
    wrong = talked("run", "-p", "A new one", "--agent", "nobody")
    assert wrong.code == 2 and wrong.err.startswith("co-tui: Unknown agent 'nobody'. Use one of reviewer.\n")
    assert talked("run", "-p", "A new one", "--agent", "reviewer").code == 0
    assert "You review." in json.dumps(provider.requests[-1]["messages"][0])
