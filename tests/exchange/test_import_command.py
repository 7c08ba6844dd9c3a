"""`co-tui import`: files of other programs become sessions like any other."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from co_tui.context.request.repair import repair
from co_tui.exchange.importers import load
from co_tui.exchange.intake import import_files
from co_tui.headless.sessions import import_command
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for
from tests.support.foreign import claude_call, claude_result, claude_row, counts, write_lines
from tests.support.here import Here
from tests.support.long_run import LONG_RUN
from tests.support.provider import Provider, Reply
from tests.support.shared import DATA, needs_data
from tests.support.stores import replayed
from tests.support.waiting import HANGING_S

ROWS = [
    claude_row("user", "Where is the heron?", 1),
    claude_row("assistant", [claude_call("c", path="pond.txt")], 2, message={"model": "claude-x"}),
    claude_row("user", [claude_result("c", "a heron stands there")], 3),
    claude_row("assistant", "At the pond.", 4, message={"model": "claude-x"}),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "talk.jsonl", ROWS)


def test_an_imported_session_is_listed_with_its_times_found_shown_and_stored_once(here: Here, file: Path) -> None:
    done = here("import", str(file))
    assert done.code == 0 and "Where is the heron?  (4 messages)" in done.out and done.err == ""
    (row,) = here("sessions", "--json").objects
    assert (row["title"], row["messages"], row["cwd"]) == ("Where is the heron?", 4, "/work")
    assert (row["created"], row["updated"]) == ("2025-03-01T10:00:01.000000Z", "2025-03-01T10:00:04.000000Z")
    assert [each["id"] for each in here("sessions", "--search", "stands", "--json").objects] == [row["id"]]
    shown = here("show", row["id"]).out
    assert shown.index("── read\n") < shown.index("a heron stands there") < shown.index("At the pond.")
    again = here("import", str(file), "--json")
    assert again.code == 0 and again.objects == [
        {
            "file": str(file),
            "session_id": row["id"],
            "source": "claude-code",
            "title": "Where is the heron?",
            "messages": 4,
            "skipped": 0,
            "left_out": {},
            "imported": False,
        }
    ]
    assert len(here("sessions", "--json").objects) == 1
    assert here("import", str(file)).out.endswith("(4 messages, already imported)\n")
    here("sessions", "--delete", row["id"])
    assert here("import", str(file)).out.endswith("(4 messages, already imported, restored from the trash)\n")
    assert len(here("sessions", "--json").objects) == 1
    write_lines(file, [*ROWS, claude_row("user", "And the egret?", 9)])
    assert here("import", str(file)).out.endswith("(5 messages, continued with 1 message)\n")


def test_continuing_sends_everything_in_pairs(served_here: Here, provider: Provider, file: Path) -> None:
    write_lines(file, [*ROWS, claude_row("assistant", [claude_call("lost")], 5)])
    (imported,) = served_here("import", str(file), "--json").objects
    provider.script = [Reply(text="It flew away.")]
    assert served_here("run", "--session", imported["session_id"], "-p", "And now?").code == 0
    sent = provider.requests[0]["messages"]
    assert [each["role"] for each in sent if each["role"] != "system"] == [
        *("user", "assistant", "tool", "assistant"),
        *("assistant", "tool", "user"),
    ]
    assert [each["content"] for each in sent if each["role"] == "tool"] == [
        "a heron stands there",
        "Interrupted by user.",
    ]
    called = [call["id"] for each in sent for call in each.get("tool_calls") or ()]
    assert called == [each["tool_call_id"] for each in sent if each["role"] == "tool"]
    (row,) = served_here("sessions", "--json").objects
    assert row["model"] == "openai-chat:scripted", "it named nobody, so who usually answers does"


def test_a_folder_is_gone_through_with_progress_and_survives_what_is_no_session(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_command, "PROGRESS_EVERY_S", 0.0)
    folder = tmp_path / "old"
    (folder / "deep").mkdir(parents=True)
    for number in range(30):
        write_lines(folder / "deep" / f"{number}.jsonl", [claude_row("user", f"talk {number}", sessionId=f"s{number}")])
    for number in range(25):
        (folder / f"bad{number}.json").write_text("{")
    (folder / "note.txt").write_text("no session")
    done = here("import", str(folder))
    assert done.code == 0 and len(done.out.splitlines()) == 30
    assert "40 of 55 files" in done.err and "30 sessions imported, 25 files not imported." in done.err
    assert done.err.count("Cannot import ") == import_command.MAX_REFUSALS_SHOWN
    assert "30 already imported" in here("import", str(folder)).err


def test_a_named_file_that_is_none_is_a_failure_and_the_others_are_imported(here: Here, file: Path) -> None:
    bad = file.with_name("bad.jsonl")
    bad.write_text("Dear diary,\n")
    done = here("import", str(bad), str(file), "--json")
    assert done.code == 1 and "bad.jsonl" in done.err
    assert ["refused" in each for each in done.objects] == [True, False]


@pytest.mark.parametrize(
    ("program", "place"),
    [
        ("claude-code", ".claude/projects/-work/s.jsonl"),
        ("codex", ".codex/sessions/2025/03/01/rollout-1.jsonl"),
        ("gemini-cli", ".gemini/tmp/abc/chats/session-1.jsonl"),
        ("pi", ".pi/agent/sessions/--work--/1.jsonl"),
    ],
)
def test_a_programs_own_files_are_found(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, place: str
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    none = here("import", "--from", program)
    assert (none.code, none.out) == (1, "") and f"No sessions of {program}" in none.err
    (tmp_path / place).parent.mkdir(parents=True)
    write_lines(tmp_path / place, ROWS)  # told apart by what it holds, not by where it lies
    assert here("import", "--from", program).out.startswith("claude-code-")


@needs_data
def test_a_folder_of_opencode_is_its_sessions(here: Here) -> None:
    done = here("import", str(DATA / "foreign" / "opencode"))
    assert (done.code, len(done.out.splitlines())) == (0, 3) and "3 sessions imported." in done.err


# Like any other


@pytest.mark.parametrize("source", ["claude-code", "openai", "co-tui"])
def test_an_imported_session_is_compacted_before_its_first_request(
    served_here: Here, provider: Provider, tmp_path: Path, source: str
) -> None:
    long = "The heron stands in the reeds by the water. " * 20
    said = [("user" if n % 2 == 0 else "assistant", f"{n}: {long}") for n in range(24)]
    provider.summary = Reply("Title: Herons\n## Decisions and outcomes\n- The heron stands in the reeds.")
    if source == "claude-code":
        rows = [claude_row(role, text, n + 1) for n, (role, text) in enumerate(said)]
        talk = write_lines(tmp_path / "talk.jsonl", rows)
    else:
        talk = tmp_path / "talk.json"
        talk.write_text(json.dumps({"messages": [{"role": role, "content": text} for role, text in said]}))
    (row,) = served_here("import", str(talk), "--json").objects
    if source == "co-tui":  # what was imported there is exported, and imported elsewhere
        log = tmp_path / "log.jsonl"
        log.write_text(served_here("export", row["session_id"], "--format", "jsonl").out)
        served_here("sessions", "--delete", row["session_id"])
        served_here("sessions", "--empty-trash")
        (row,) = served_here("import", str(log), "--json").objects
    done = served_here("compact", row["session_id"])
    assert done.code == 0 and "Conversation Compacted" in done.err, done.err
    assert not provider.requests and provider.summary_requests
    assert len(replayed(served_here.home, row["session_id"]).history) < len(said)


@needs_data
async def test_a_long_imported_session_resumes_compacts_and_keeps_its_pairs(home: Path) -> None:
    (imported,) = load(DATA / "foreign" / "pi" / "large-session.jsonl")
    seen: list[int] = []

    async def script(messages, info):  # type: ignore[no-untyped-def]
        found = counts(messages)
        assert found["calls"] == found["results"] == found["pairs"] and repair(messages) == messages
        seen.append(len(messages))
        yield "Noted."

    environment = environment_for(home, ScriptedModel(script, window=2_000_000))
    environment.store.writing().import_log(imported.log).result()
    session = await Session.resume(environment, imported.session_id, "scripted")
    assert len(session.state.history) == len(imported.messages)
    assert await session.submit("What was this about?") is Outcome.DONE
    assert seen[0] > 800
    done = await session.compact()
    await session.close()
    environment.store.close()
    assert done.success and done.messages_removed > 700
    state = replayed(home, imported.session_id)
    assert len(state.history) < 200 and len(state.transcript) == len(imported.messages) + 2


NEXT = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "More."}]}


def test_a_file_with_ones_own_session_and_more_says_what_it_adds_and_decides_nothing(
    served_here: Here, provider: Provider, tmp_path: Path
) -> None:
    provider.script = [Reply(text="At the pond.")]
    assert served_here("run", "-p", "Where is the heron?").code == 0
    (row,) = served_here("sessions", "--json").objects
    lines = served_here("export", row["id"], "--format", "jsonl").out.splitlines()
    last = json.loads(lines[-1])

    def grown(*added: tuple[str, dict[str, Any]]) -> Path:
        log = [json.loads(line) for line in lines]
        for kind, payload in added:
            log.append({**last, "seq": len(log) + 1, "type": kind, "payload": payload})
        file = tmp_path / "grown.jsonl"
        write_lines(file, log)
        return file

    rename = ("session.rename", {"title": "Mine\x1b[31m now"})
    pinned = ("session.pinned", {"pinned": True})
    assert "(2 messages, already imported)" in served_here("import", str(grown())).out
    assert "(2 messages, 1 event added)" in served_here("import", str(grown(pinned))).out
    done = served_here("import", str(grown(pinned, rename)), "--json").objects
    assert [(each["renamed"], each["continued"], each["added_events"]) for each in done] == [("Mine\x1b[31m now", 0, 1)]
    said = ("message", {"turn": 2, "message": NEXT})
    asked = ("approval.requested", {"call_id": "1", "tool": "run_command", "arguments": {"command": "touch x"}})
    allowed = ("approval.decided", {"call_id": "1", "approved": True, "scope": "session", "rules": ["Bash(touch:*)"]})
    again = ("session.rename", {"title": "Theirs"})
    out = served_here("import", str(grown(pinned, rename, asked, allowed, said, again))).out
    assert "continued with 1 message, renamed to “Theirs”" in out
    provider.script = [Reply(text="Yes.")]
    ran = served_here("run", "--session", row["id"], "-p", "Still there?")
    assert ran.code == 0 and "Still allowed" not in ran.err and "touch" not in ran.err


def test_what_takes_long_is_said_while_it_does(here: Here, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One step holds until its sentence is there, as a very long file would."""
    said = threading.Condition()
    sentences: list[str] = []

    def say(sentence: str) -> None:
        with said:
            sentences.append(sentence)
            said.notify_all()

    def held(step: Callable[..., Any], begins: str) -> Callable[..., Any]:
        def work(*given: Any, **options: Any) -> Any:
            with said:
                assert said.wait_for(lambda: any(each.startswith(begins) for each in sentences), HANGING_S)
            return step(*given, **options)

        return work

    monkeypatch.setattr(import_command, "LONG_S", 0.001)
    monkeypatch.setattr(import_command, "say", say)
    monkeypatch.setattr(import_files, "load", held(import_files.load, f"Reading {file}, "))
    monkeypatch.setattr(import_files, "take_in", held(import_files.take_in, f"Storing 4 messages of {file}, "))
    assert here("import", str(file)).code == 0


@pytest.mark.parametrize(
    "results",
    [
        pytest.param(lambda n: [claude_call("same") for _ in range(n)], id="one id"),
        pytest.param(lambda n: [{**claude_call(""), "id": None} for _ in range(n)], id="no id"),
    ],
)
def test_many_calls_of_one_reply_cost_no_more_each(tmp_path: Path, results: Callable[[int], list[Any]]) -> None:
    """A result finds its call among as many as there may be, whatever their ids are."""
    calls = results(200_000 if LONG_RUN else 500)
    rows = [claude_row("user", "go", 1), claude_row("assistant", calls, 2)]
    rows += [claude_row("user", [claude_result(each["id"] or "", f"{n}")], 3) for n, each in enumerate(calls)]
    (session,) = load(write_lines(tmp_path / "talk.jsonl", rows))
    assert counts(session.messages)["pairs"] == len(calls)
    returned = [str(part.content) for message in session.messages[2:] for part in message.parts]
    assert returned == [str(number) for number in range(len(calls))]
