"""Hooks at work in a session, as real small scripts."""

import asyncio
from pathlib import Path

import pytest

from co_tui.events import ApprovalDecided, ApprovalRequested, HookRun
from co_tui.events.stored_messages import note_source
from co_tui.session.approvals.questions import Unattended
from co_tui.session.hooks.session_hooks import MOST_STOPS_REFUSED, PromptRefused
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings.hook_entries import HookEntry
from co_tui.settings.permission_rules import RuleInForce, parse_rule
from tests.support.approving import YES, Person, left, log_of
from tests.support.environments import facts
from tests.support.hook_scripts import heard, hook, said, specific, user_texts, worked
from tests.support.waiting import until
from tests.support.working import Working, working_in

REFUSES_SECRETS = "tail -1 {}/prompt.jsonl | grep -q secret && {{ echo not that >&2; exit 2; }}\necho be brief"


async def test_a_hook_that_refuses_keeps_a_call_from_running_and_the_model_hears_why(folder: Path, home: Path) -> None:
    model = Working(("run_command", {"command": "touch made"}), ("read_file", {"path": "x"}))
    hooks = {"preToolUse": hook(folder, "echo no making >&2; exit 2", "Bash")}
    log, _ = await worked(folder, home, model, Unattended(yes=True), hooks=hooks)
    assert not (folder / "made").exists()
    assert "no making" in model.returned[0]
    (given,) = heard(folder)  # reading does not match
    assert (given["hook_event_name"], given["tool_name"], given["permission_mode"]) == ("PreToolUse", "Bash", "default")
    assert given["tool_input"]["command"] == "touch made" and given["cwd"] == str(folder)
    assert given["tool_use_id"] and given["session_id"]
    (decided,) = facts(log, ApprovalDecided)
    assert (decided.approved, decided.by) == (False, "hook")
    (run,) = facts(log, HookRun)
    assert (run.hook, run.decision, run.outcome) == ("preToolUse", "block", "Refused: no making")


async def test_an_allow_spares_a_question_but_no_ask_rule_and_no_danger(folder: Path, home: Path) -> None:
    model = Working(
        ("run_command", {"command": "touch made"}),
        ("run_command", {"command": "touch asked"}),
        ("run_command", {"command": "rm -rf made"}),
        ("run_command", {"command": "touch denied"}),
    )
    rules = (RuleInForce("ask", parse_rule("Bash(touch asked)")), RuleInForce("deny", parse_rule("Bash(touch denied)")))
    hooks = {"preToolUse": hook(folder, specific(permissionDecision="allow"))}
    person = Person(YES, YES)
    await worked(folder, home, model, person, hooks=hooks, permissions=rules)
    assert [each.arguments["command"] for each in person.asked] == ["touch asked", "rm -rf made"]
    assert (folder / "asked").exists() and not (folder / "made").exists() and not (folder / "denied").exists()


async def test_a_hook_may_demand_a_question_and_change_what_is_asked_about(folder: Path, home: Path) -> None:
    model = Working(("read_file", {"path": "a"}), ("write_file", {"path": "b", "content": "theirs"}))
    (folder / "a").write_text("content of a")
    asks = hook(folder, specific(permissionDecision="ask", permissionDecisionReason="secret?"), "Read", "asks")
    changes = hook(folder, specific(updatedInput={"content": "ours", "file_path": f"{folder}/c"}), "Write", "changes")
    person = Person(YES, YES)
    log, _ = await worked(folder, home, model, person, hooks={"preToolUse": (*asks, *changes)})
    assert person.asked[0].reason == "Asked because of a preToolUse hook: secret?" and person.asked[0].rules == ()
    assert person.asked[1].arguments == {"path": "c", "content": "ours"} and "ours" in person.asked[1].what
    assert (folder / "c").read_text() == "ours" and not (folder / "b").exists()
    assert facts(log, ApprovalRequested)[-1].is_changed
    assert len(heard(folder, "changes")) == 1, "not again after the answer"
    assert 'The input was changed to {"path":"c","content":"ours"}' in user_texts(model)[-1]


async def test_a_key_that_a_hook_puts_into_the_input_is_used_and_not_told_or_logged_by_the_hook(
    folder: Path, home: Path
) -> None:
    key = "sk-hook-1234567890"
    model = Working(("run_command", {"command": "true"}))
    command = f"printf %s {key} > made"
    changes = hook(folder, specific(permissionDecision="allow", updatedInput={"command": command, "x": [{key: key}]}))
    log, _ = await worked(folder, home, model, Unattended(yes=True), hooks={"preToolUse": changes})
    assert (folder / "made").read_text() == key
    assert key not in str(facts(log, HookRun)) and key not in str(user_texts(model))
    assert "printf %s [hidden] > made" in str(facts(log, HookRun)) and "[hidden]" in user_texts(model)[-1]


async def test_a_changed_input_that_the_tool_does_not_take_is_refused(folder: Path, home: Path) -> None:
    model = Working(("run_command", {"command": "touch made"}))
    hooks = {"preToolUse": hook(folder, specific(permissionDecision="allow", updatedInput={"command": 7}))}
    await worked(folder, home, model, hooks=hooks)
    assert "does not take" in model.returned[0] and not (folder / "made").exists()


async def test_after_a_call_a_hook_s_words_reach_the_model_are_logged_and_replayed(folder: Path, home: Path) -> None:
    (folder / "a").write_text("x")
    model = Working(("read_file", {"path": "a"}))
    output = {"decision": "block", "reason": "too short", "hookSpecificOutput": {"additionalContext": "see style.md"}}
    _, session = await worked(folder, home, model, hooks={"postToolUse": hook(folder, said(output))})
    texts = user_texts(model)
    assert any("see style.md" in text for text in texts) and any("too short" in text for text in texts)
    assert heard(folder)[0]["tool_response"]["content"].endswith("x\n")
    notes = [note_source(entry.message) for entry in session.state.history if note_source(entry.message)]
    assert len(notes) == 2 and all("postToolUse hook about `read  a`" in note for note in notes)
    assert session.state.turn == 1 and session.state.title == "go"


async def test_a_prompt_may_be_refused_or_get_context_and_a_session_starts_with_some(folder: Path, home: Path) -> None:
    hooks = {
        "sessionStart": hook(folder, "echo on branch main", name="start"),
        "userPromptSubmit": hook(folder, REFUSES_SECRETS.format(folder.parent), name="prompt"),
    }
    model = Working()
    environment = working_in(folder, home, model, Unattended(), hooks=hooks)
    session = await Session.start(environment, "scripted")
    with pytest.raises(PromptRefused, match="not that"):
        await session.submit("a secret")
    assert session.state.turn == 0 and not model.requests
    assert await session.submit("hello") is Outcome.DONE
    texts = user_texts(model)
    assert texts[0] == "hello" and any("on branch main" in text for text in texts) and "be brief" in texts[-1]
    assert heard(folder, "start")[0]["source"] == "startup"
    assert [each["prompt"] for each in heard(folder, "prompt")] == ["a secret", "hello"]
    await left(environment, session)


async def test_the_first_turn_waits_for_what_the_session_starts_with(folder: Path, home: Path) -> None:
    wait = "touch begun; while [ ! -e ready ]; do sleep 0.02; done; echo on branch main"
    model = Working()
    environment = working_in(folder, home, model, Unattended(), hooks={"sessionStart": hook(folder, wait)})
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("hello"))
    await until((folder / "begun").exists)
    (folder / "ready").touch()
    assert await turn is Outcome.DONE
    assert any("on branch main" in text for text in user_texts(model))
    await left(environment, session)


async def test_a_stop_hook_makes_the_model_continue_and_is_ignored_when_it_never_agrees(
    folder: Path, home: Path
) -> None:
    model = Working()
    hooks = {
        "stop": hook(folder, said({"decision": "block", "reason": "run the tests"})),
        "sessionEnd": hook(folder, "", name="end"),
    }
    log, session = await worked(folder, home, model, hooks=hooks)
    assert len(model.requests) == 1 + MOST_STOPS_REFUSED
    assert "run the tests" in user_texts(model)[-1]
    assert [each["stop_hook_active"] for each in heard(folder)] == [False] + [True] * MOST_STOPS_REFUSED
    assert facts(log, HookRun)[-1].outcome.startswith("Refused to stop")
    assert session.state.turn == 1
    assert heard(folder, "end")[0]["hook_event_name"] == "SessionEnd"


async def test_a_delegate_is_kept_going_by_its_own_hook_and_told_what_hooks_add(folder: Path, home: Path) -> None:
    (folder / "a").write_text("x")
    task = {"agent_name": "self", "task": "look at a"}
    model = Working(("delegate_task", task), ("read_file", {"path": "a"}))
    script = f"test $(wc -l < {folder.parent}/sub.jsonl) = 1 && {said({'decision': 'block', 'reason': 'look again'})}"
    hooks = {
        "subagentStop": hook(folder, f"{script}; exit 0", name="sub"),
        "postToolUse": hook(folder, specific(additionalContext="mind the gap"), "Read", "read"),
    }
    _, session = await worked(folder, home, model, hooks=hooks)
    (given, again) = heard(folder, "sub")
    assert (given["stop_hook_active"], again["stop_hook_active"], given["agent_type"]) == (False, True, "self")
    (delegation,) = session.state.delegations.values()
    notes = [note_source(entry.message) for entry in delegation.history if note_source(entry.message)]
    assert len(notes) == 2 and delegation.status == "done"
    assert not any(note_source(entry.message) for entry in session.state.history)


async def test_a_question_notifies_and_escape_ends_a_hook_that_hangs(folder: Path, home: Path) -> None:
    model = Working(("run_command", {"command": "touch made"}))
    hooks = {
        "notification": hook(folder, "", name="told"),
        "stop": (HookEntry(f"touch {folder.parent}/hangs; sleep 600"),),
    }
    environment = working_in(folder, home, model, Person(YES), hooks=hooks, hook_timeout_s=600.0)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: (folder.parent / "hangs").exists())
    await until(lambda: heard(folder, "told"))
    assert heard(folder, "told")[0]["message"] == "co-tui needs your permission to use run."
    assert session.interrupt()
    assert await turn is Outcome.INTERRUPTED
    await left(environment, session)


@pytest.mark.parametrize(
    ("command", "own_s", "limit_s"), [("env > ../env", None, 60.0), ("sleep 600", None, 0.1), ("sleep 600", 0.1, 60.0)]
)
async def test_hooks_get_no_keys_and_one_that_hangs_is_reported(
    folder: Path, home: Path, command: str, own_s: float | None, limit_s: float
) -> None:
    hooks = {"userPromptSubmit": (HookEntry(command, timeout_s=own_s),)}
    environment = working_in(folder, home, Working(), Unattended(), hooks=hooks, hook_timeout_s=limit_s)
    environment.environ = {"OPENAI_API_KEY": "sk-secret-1234567890", "PATH": "/usr/bin:/bin", "HOME": str(home)}
    session = await Session.start(environment, "scripted")
    assert await session.submit("hello") is Outcome.DONE
    (run,) = facts(log_of(environment, session), HookRun)
    if command.startswith("env"):
        assert "PATH=" in (folder.parent / "env").read_text()
        assert "sk-secret" not in (folder.parent / "env").read_text()
    else:
        assert run.outcome == "Timed out after 0.1 s."
    await left(environment, session)
