"""`co-tui run` works in the folder it is started in, and reports each step in a line."""

import json
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.delegates import SUBAGENT_VIEW
from co_tui.session.approvals.questions import NOT_APPROVED
from tests.support.here import Here
from tests.support.provider import Provider, Reply


def call(tool: str, **arguments: Any) -> Reply:
    return Reply(text="", tool=(tool, json.dumps(arguments)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "shop"
    place.mkdir()
    (place / "login.py").write_text("word = 'helo'\n")
    return place


@pytest.fixture
def here(home: Path, folder: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Here:
    monkeypatch.chdir(folder)
    provider.window = 60_000
    command = Here(home, folder)
    monkeypatch.setenv("CO_TUI_HOME", str(home))
    monkeypatch.setenv("CO_TUI_MODEL", "openai-chat:scripted")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    provider.script = [
        call("read_file", path="login.py"),
        call("edit_file", path="login.py", old_text="helo", new_text="hello"),
        call("run_command", command="cat login.py; exit 4"),
        call("write_plan", items=[{"content": "rest", "status": "in_progress"}]),
    ]
    return command


def test_with_yes_it_does_the_work(here: Here, folder: Path) -> None:
    done = here("run", "-p", "mend it", "--yes")
    assert done.code == 0 and done.out.strip() == "Hello from the provider."
    assert [line for line in done.err.splitlines() if line and not line.startswith("co-tui: Session ")] == [
        "co-tui: read login.py · 1 line",
        "co-tui: edit login.py · +1 −1",
        "co-tui: run cat login.py; exit 4 · exit 4",
        "co-tui: plan 0 of 1 ▶ rest",
    ]
    assert (folder / "login.py").read_text() == "word = 'hello'\n"


def test_without_leave_it_reads_and_says_what_it_may_not(here: Here, folder: Path, provider: Provider) -> None:
    done = here("run", "-p", "mend it")
    assert done.code == 1 and "2 calls denied: this run cannot ask for approval." in done.err
    assert done.err.count("needs approval; use --yes") == 2 and "read login.py · 1 line" in done.err
    told = [message["content"] for message in provider.requests[-1]["messages"] if message["role"] == "tool"]
    assert told[1] == told[2] == NOT_APPROVED and "helo" in (folder / "login.py").read_text()


def test_read_only_offers_nothing_else(here: Here, folder: Path, provider: Provider) -> None:
    provider.script = provider.script[:1]
    assert here("run", "-p", "look", "--read-only").code == 0
    offered = {tool["function"]["name"] for tool in provider.requests[0]["tools"]}
    assert "read_file" in offered and offered.isdisjoint({"write_file", "edit_file", "run_command"})


def test_a_turn_that_used_up_its_steps_says_so(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_TUI_AGENT_MAX_STEPS", "2")
    for options in ([], ["--json"]):
        done = here("run", "-p", "mend it", "--yes", *options)
        assert done.code == 1 and done.err.count("Stopped after 2 steps") == 1


def test_a_call_that_fails_again_and_again_stops_the_turn_and_says_how_to_continue(
    here: Here, provider: Provider
) -> None:
    provider.script = [call("read_file", file="login.py")] * 6
    done = here("run", "-p", "mend it")
    assert done.code == 1 and len(provider.requests) == 5
    assert (
        "co-tui: Stopped: the same call failed 5 times in a row: read login.py. Last error: path: Field "
        "required; file: Extra inputs are not permitted. `co-tui run --continue -p PROMPT` continues."
    ) in done.err
    assert "Cannot read" not in done.err
    provider.script = []
    assert here("run", "--continue", "-p", "try another way").code == 0


def test_what_the_model_is_told_about_delegation_is_true(here: Here, provider: Provider) -> None:
    provider.script = [call("delegate_task", agent_name="self", task="Read it")]
    assert here("run", "-p", "mend it").code == 0
    for request in provider.requests[:2]:  # of the main agent and of the delegate
        (tool,) = [each["function"] for each in request["tools"] if each["function"]["name"] == "delegate_task"]
        system = "".join(str(each["content"]) for each in request["messages"] if each["role"] == "system")
        for told in (tool["description"], system):
            assert SUBAGENT_VIEW.format("fresh") in told
        whole = json.dumps(tool) + system
        assert not any(word in whole for word in ("does not see", "fresh context", "everything it needs", "complete,"))
        assert "Available sub-agents:\n- self: A fresh run of this same agent" in system


def test_what_a_delegate_says_is_no_output_and_its_calls_are_reported_under_its_name(
    here: Here, provider: Provider
) -> None:
    provider.script = [
        call("delegate_task", agent_name="self", task="Read it"),
        Reply("I read now.", tool=("read_file", '{"path": "login.py"}')),
        Reply("It has one line."),
        Reply("One line."),
    ]
    done = here("run", "-p", "How long is it?")
    assert done.code == 0 and done.out.strip() == "One line."
    told = [line for line in done.err.splitlines() if line]
    assert told[0] == "co-tui: self 1: read login.py · 1 line" and told[1].startswith("co-tui: agent Read it")


def test_a_command_from_a_file_is_written_out_once_its_folder_is_trusted(
    here: Here, folder: Path, provider: Provider
) -> None:
    (folder / ".agents/commands").mkdir(parents=True)
    (folder / ".agents/commands/tell.md").write_text("Tell me about $1: !`cat login.py`")
    provider.script = []
    untrusted = here("run", "-p", "/tell words")
    assert "1 slash command of" in untrusted.err and "/tell) is ignored until you run `co-tui trust`" in untrusted.err
    assert (untrusted.code, provider.requests) == (2, []) and "Unknown command /tell." in untrusted.err
    trusted = here("trust")
    assert trusted.code == 0 and "/tell (" in trusted.out
    assert here("run", "-p", "/tell words").code == 0
    assert provider.requests[-1]["messages"][-1]["content"] == "Tell me about words: word = 'helo'"


def test_a_hook_that_refuses_the_prompt_is_one_sentence(here: Here, home: Path, provider: Provider) -> None:
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "config.toml").write_text("[hooks]\nUserPromptSubmit = 'echo not today >&2; exit 2'\n")
    refused = here("run", "-p", "hello")
    assert refused.code == 1 and provider.requests == []
    assert "A userPromptSubmit hook refused the prompt: not today" in refused.err


def test_it_works_in_further_folders_and_refuses_others(here: Here, folder: Path, provider: Provider) -> None:
    lib, other = folder.parent / "lib", folder.parent / "other"
    lib.mkdir()
    other.mkdir()
    (lib / "AGENTS.md").write_text("Library rule.")
    provider.script = [call("write_file", path="../lib/new.py", content="a = 1\n")]
    done = here("--add-dir", "../other", "run", "--add-dir", "../lib", "--mode", "edits", "-p", "write", "--json")
    assert done.code == 0 and (lib / "new.py").read_text() == "a = 1\n"
    logged = [json.loads(line) for line in done.out.splitlines()]
    added = [each["payload"]["added"] for each in logged if each["type"] == "session.folders_changed"]
    assert added == [[str(other)], [str(lib)]]
    assert f"1 instruction file of {lib} (AGENTS.md) is ignored until you run `co-tui trust {lib}`." in done.err
    other.rmdir()
    listed = here("run", "--continue", "-p", "/add-dir")
    assert f"Not added again: There is no folder {other}." in listed.err
    assert listed.out.splitlines() == [f"{folder} (this session's folder)", str(lib)]
    assert here("trust", str(lib)).code == 0
    assert "+++ " + str(lib / "new.py") in here("diff", logged[0]["session_id"]).out
    refused = here("run", "--add-dir", "nothing", "-p", "x")
    assert (refused.code, refused.err) == (2, "co-tui: There is no folder nothing.\n")
