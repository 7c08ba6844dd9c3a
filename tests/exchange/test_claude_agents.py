"""Files of Claude Code's agents: delegations of the session that asked them, wherever they are kept."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import DelegationStart, Message, Rewind
from co_tui.exchange.importers import ImportedSession, ImportRefused, load
from co_tui.exchange.importers.default_folders import files_in, files_of
from co_tui.exchange.intake.take_in import Outcome, take_in
from co_tui.session.state.derive import replay
from co_tui.store.session_counts import SessionCounters
from co_tui.store.sqlite.in_memory import InMemoryStore
from tests.support.foreign import claude_call, claude_result, claude_row, write_lines

Rows = list[dict[str, Any]]


def agent_rows(id: str, task: str, *said: Any) -> Rows:
    rows = [claude_row("user", task, 3, uuid=f"{id}-0", agentId=id, isSidechain=True)]
    for number, content in enumerate(said, 1):
        kind = "user" if isinstance(content, list) and content[0]["type"] == "tool_result" else "assistant"
        message = {"id": f"{id}-m{number}"} if kind == "assistant" else {}
        row = claude_row(
            kind, content, 3 + number, uuid=f"{id}-{number}", agentId=id, isSidechain=True, message=message
        )
        rows.append(row)
    return rows


CALL = claude_call("t1", "Task", prompt="find a", subagent_type="Explore")
ASKED = [
    claude_row("user", "look twice", 1, uuid="1"),
    claude_row(
        "assistant",
        [
            claude_call("t1", "Task", prompt="find a", subagent_type="Explore"),
            claude_call("t2", "Agent", prompt="find b"),
        ],
        2,
        uuid="2",
        message={"id": "m1"},
    ),
]
ANSWERED = [
    claude_row("user", [claude_result("t1", "a is here")], 20, uuid="3"),
    claude_row("user", [claude_result("t2", "b is there")], 21, uuid="4", toolUseResult={"agentId": "bb"}),
    claude_row("assistant", "Both found.", 22, uuid="5", message={"id": "m2"}),
]
FIRST = agent_rows(
    "aa", "find a", [claude_call("t9", "Agent", prompt="deeper")], [claude_result("t9", "ok")], "a is here"
)
SECOND = agent_rows("bb", "another wording", "b is there")
NESTED = agent_rows("cc", "deeper", "ok")
PLACES = {"next to it": lambda folder: folder, "in its folder": lambda folder: folder / "s-1" / "subagents"}


def project(home: Path, place: str, rows: Rows, **agents: Rows) -> Path:
    folder = home / ".claude" / "projects" / "-work"
    (where := PLACES[place](folder)).mkdir(parents=True, exist_ok=True)
    for id, said in agents.items():
        write_lines(where / f"agent-{id}.jsonl", said)
    return write_lines(folder / "s-1.jsonl", rows)


def tasks(session: ImportedSession) -> dict[str, tuple[str, str, int]]:
    """Of each delegation: what it was asked, by which call, and how much was said in it."""
    found = {event.fact.agent: event.fact for event in session.log if isinstance(event.fact, DelegationStart)}
    said = [event.fact.agent for event in session.log if isinstance(event.fact, Message)]
    return {agent: (start.task, start.call_id, said.count(agent)) for agent, start in found.items()}


@pytest.mark.parametrize("place", PLACES)
def test_agents_are_delegations_of_their_call_and_no_sessions(tmp_path: Path, place: str) -> None:
    """By what their own file, a result or their task says; one that another asked belongs to that one."""
    file = project(tmp_path, place, [*ASKED, *ANSWERED], aa=FIRST, bb=SECOND, cc=NESTED)
    assert files_in(tmp_path) == files_of("claude-code", {}, tmp_path) == [file]
    (session,) = load(file)
    assert tasks(session) == {
        "Explore aa": ("find a", "t1", 4),
        "Explore aa/agent cc": ("deeper", "t9", 2),
        "agent bb": ("another wording", "t2", 2),
    }
    state = replay(session.log)
    assert {each.status for each in state.delegations.values()} == {"done"}
    assert len(state.history) == len(session.messages) == 5 and session.message_count == 13


def test_an_agents_own_file_names_its_call(tmp_path: Path) -> None:
    file = project(tmp_path, "in its folder", [*ASKED, *ANSWERED], dd=agent_rows("dd", "other words", "found"))
    about = {"agentType": "general-purpose", "toolUseId": "t1"}
    (file.with_suffix("") / "subagents" / "agent-dd.meta.json").write_text(json.dumps(about))
    assert files_in(tmp_path) == [file]
    assert tasks(load(file)[0]) == {"general-purpose dd": ("other words", "t1", 2)}


def test_an_agent_without_a_call_comes_where_it_began_and_the_programs_own_are_counted(tmp_path: Path) -> None:
    late = [claude_row("user", "and now?", 30, uuid="6")]
    agents = {"ee": agent_rows("ee", "warm up", "ready"), "acompact-1": FIRST}
    (session,) = load(project(tmp_path, "in its folder", [*ASKED, *ANSWERED, *late], **agents))
    assert tasks(session) == {"agent ee": ("warm up", "", 2)}
    assert session.left_out == {"agents of the program's own": 1}
    kinds = [event.type for event in session.log]
    assert kinds.index("delegation.start") == kinds.index("message") + 4, "before the reply that came later"


def test_agents_of_one_call_or_one_name_are_each_there_once(tmp_path: Path) -> None:
    """Two of the same call, two whose ids end alike, and one that is in both places."""
    agents = {id: agent_rows(id, f"task of {id}", "ok") for id in ("1-same-end", "2-same-end", "aa", "bb")}
    project(tmp_path, "in its folder", ASKED, **agents)
    file = project(tmp_path, "next to it", ASKED, aa=agents["aa"])
    for id in ("aa", "bb"):
        (file.parent / f"s-1/subagents/agent-{id}.meta.json").write_text('{"toolUseId": "t1"}')
    found = tasks(load(file)[0])
    assert sorted(task for task, *_ in found.values()) == sorted(f"task of {id}" for id in agents)
    assert {messages for *_, messages in found.values()} == {2}


def test_an_agent_without_its_session_is_a_session(tmp_path: Path) -> None:
    project(tmp_path, "next to it", [*ASKED], aa=FIRST).unlink()
    (file,) = files_of("claude-code", {}, tmp_path)
    assert files_in(tmp_path) == [file]
    assert load(file)[0].title == "find a"


def test_agents_that_grow_continue_the_session(tmp_path: Path) -> None:
    """One that said more, and one that came later; the history is that of the file at the end."""
    store = InMemoryStore()
    half = claude_row("assistant", "Both", 22, uuid="5", message={"id": "m2"})
    steps: list[Callable[[], Path]] = [
        lambda: project(tmp_path, "next to it", ASKED),
        lambda: project(tmp_path, "next to it", ASKED, aa=FIRST[:2]),
        lambda: project(tmp_path, "next to it", [*ASKED, *ANSWERED[:1]], aa=FIRST, bb=SECOND[:1]),
        lambda: project(tmp_path, "next to it", [*ASKED, *ANSWERED[:2], half], aa=FIRST, bb=SECOND, cc=NESTED),
        lambda: project(tmp_path, "next to it", [*ASKED, *ANSWERED], aa=FIRST, bb=SECOND, cc=NESTED),
    ]
    outcomes = [take_in(store, load(step())[0]).outcome for step in steps]
    assert outcomes == [Outcome.NEW, *[Outcome.CONTINUED] * 4]
    (whole,) = load(tmp_path / ".claude/projects/-work/s-1.jsonl")
    with store.reading() as reading:
        log = list(reading.events(whole.session_id))
    now, once = replay(log), replay(whole.log)
    in_tasks = {event.seq for event in log if isinstance(event.fact, Message) and event.fact.agent}
    rewinds = [event.fact for event in log if isinstance(event.fact, Rewind)]
    assert rewinds and not any(seq in in_tasks for rewind in rewinds for seq, _ in rewind.history)
    assert [entry.message for entry in now.history] == [entry.message for entry in once.history]
    assert {agent: len(task.history) for agent, task in now.delegations.items()} == {
        agent: len(task.history) for agent, task in once.delegations.items()
    }


def test_as_many_messages_are_reported_as_are_listed(tmp_path: Path) -> None:
    """Summaries are none, and those of agents count."""
    summary = claude_row("user", "So far.", 23, uuid="7", isCompactSummary=True)
    (session,) = load(project(tmp_path, "next to it", [*ASKED, *ANSWERED, summary], bb=SECOND))
    listed = SessionCounters()
    for event in session.log:
        listed.count(event)
    assert session.message_count == listed.messages == 7 and listed.compactions == 1


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([{"type": "summary", "summary": "Ponds\nand reeds", "leafUuid": "x"}], "the title “Ponds and reeds”"),
        ([{"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}], "notes"),
    ],
)
def test_a_file_without_a_conversation_is_refused_by_what_it_has(tmp_path: Path, rows: Rows, what: str) -> None:
    with pytest.raises(ImportRefused, match=f"has only {what} of a Claude Code session"):
        load(write_lines(tmp_path / "s.jsonl", rows))
