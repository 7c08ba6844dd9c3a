"""Real files of other programs: each is imported with all it holds, or refused for the right reason.

What a file holds is counted here a second time, from its JSON alone.
"""

import json
import sqlite3
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from co_tui.context.request.repair import repair
from co_tui.exchange.importers import ImportRefused, load
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.session.state.derive import replay
from tests.support.cases import each_case
from tests.support.foreign import counts, write_lines
from tests.support.foreign_counts import COUNTS, imported, left_out
from tests.support.long_run import LONG_RUN
from tests.support.shared import DATA, lines, needs_data

pytestmark = needs_data
FOREIGN = DATA / "foreign"
OPENCODE = FOREIGN / "opencode" / "agent-sessions"


def files(pattern: str) -> list[Path]:
    return sorted(file for file in FOREIGN.glob(pattern) if file.is_file())


def names(file: Path) -> str:
    return str(file.relative_to(FOREIGN))


def json_lines(file: Path) -> list[dict[str, Any]]:
    found = []
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return [each for each in found if isinstance(each, dict)]


Step = tuple[str, str | None]
"""A call or a result, and its id, if any."""


def paired(steps: list[Step]) -> Counter[str]:
    """Each result takes one open call of its id; those without an id go by their number."""
    found, open_calls = Counter(kind for kind, _ in steps), Counter[str | None]()
    for kind, id in steps:
        if kind == "calls":
            open_calls[id] += 1
        elif open_calls[id]:
            open_calls[id] -= 1
            found["pairs"] += 1
    return found


def claude_pairs(file: Path) -> Counter[str]:
    whole = json.loads(file.read_text()) if file.suffix == ".json" else {"loglines": json_lines(file)}
    rows = [row for row in whole["loglines"] if row.get("type") in ("user", "assistant")]
    rows = [row for row in rows if isinstance(row.get("message"), dict) and row["message"].get("content")]
    rows = [row for row in rows if not row.get("isSidechain")] or rows
    blocks = [block for row in rows for block in row["message"]["content"] if isinstance(block, dict)]
    steps: list[Step] = []
    for block in blocks:
        steps += [("calls", block.get("id"))] if block["type"] == "tool_use" else []
        steps += [("results", block.get("tool_use_id"))] if block["type"] == "tool_result" else []
    return +paired(steps)


def codex_counts(file: Path) -> Counter[str]:
    rows = json_lines(file)
    items = [row["payload"] if row.get("type") == "response_item" else row for row in rows]
    kinds = {"calls": ("tool_call", "function_call", "search_call"), "results": ("_output", "tool_result")}
    steps = [
        (kind, item.get("call_id"))
        for item in items
        for kind, ends in kinds.items()
        if item.get("type", "").endswith(ends) and item["type"] != "web_search_call"
    ]
    return +(Counter(prompts=sum(item.get("role") == "user" for item in items)) + paired(steps))


def gemini_counts(file: Path) -> Counter[str]:
    records = json_lines(file) if file.suffix == ".jsonl" else json.loads(file.read_text())["messages"]
    replies = [each for each in records if each.get("type") in ("gemini", "model")]
    calls = [call for each in replies for call in each.get("toolCalls", [])]
    answered = [call for call in calls if call.get("result")]
    prompts = [each for each in records if each.get("type") == "user"]
    return +Counter(
        prompts=len(prompts), replies=len(replies), calls=len(calls), results=len(answered), pairs=len(answered)
    )


def check_replayed(session: ImportedSession) -> None:
    """It replays to what was said, and no pair is lost on the way to a model."""
    assert replay(session.log).title == session.title
    before, after = counts(session.messages), counts(repair(session.messages))
    assert after["calls"] == after["results"] == after["pairs"] == before["calls"]
    kept = sum("Interrupted by user." not in str(m) for m in repair(session.messages))
    assert kept >= len(session.messages) - (before["results"] - before["pairs"]) - before["calls"]


@pytest.mark.parametrize("file", files("claude-code/*"), ids=names)
def test_claude_code(file: Path) -> None:
    (session,) = load(file)
    found = counts(session.messages)
    assert session.source == "claude-code"
    assert {kind: found[kind] for kind in ("calls", "results", "pairs") if found[kind]} == claude_pairs(file)


@pytest.mark.parametrize("file", files("codex/agent*") + files("codex/session*"), ids=names)
def test_codex(file: Path) -> None:
    (session,) = load(file)
    found = counts(session.messages)
    del found["replies"]  # items of one reply have nothing that says so
    assert session.source == "codex" and found == codex_counts(file)


@pytest.mark.parametrize("file", files("gemini-cli/*"), ids=names)
def test_gemini_cli(file: Path) -> None:
    (session,) = load(file)
    assert session.source == "gemini-cli" and counts(session.messages) == gemini_counts(file)


def test_pi() -> None:
    (file,) = files("pi/*")
    said = [row["message"] for row in json_lines(file) if row["type"] == "message"]
    replies = [each for each in said if each["role"] == "assistant" and each["content"]]
    calling = [
        ("calls", block["id"]) if each["role"] == "assistant" else ("results", each["toolCallId"])
        for each in said
        for block in (each["content"] if each["role"] == "assistant" else [each])
        if each["role"] == "toolResult" or (each["role"] == "assistant" and block["type"] == "toolCall")
    ]
    (session,) = load(file)
    assert counts(session.messages) == Counter(
        prompts=sum(each["role"] == "user" for each in said),
        replies=len(replies),
    ) + paired(calling)
    models = {each["model"] for each in replies}
    assert {message.model_name for message in session.messages if message.kind == "response"} == models


@pytest.mark.parametrize("file", files("llm/*.db"), ids=names)
def test_llm(file: Path) -> None:
    with sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True) as database:
        asked = dict(
            database.execute("SELECT conversation_id, count(nullif(trim(prompt), '')) FROM responses GROUP BY 1")
        )
        answered = dict(
            database.execute("SELECT conversation_id, count(nullif(response, '')) FROM responses GROUP BY 1")
        )
    found = [counts(session.messages) for session in load(file)]
    assert [each["prompts"] for each in found] == list(asked.values())
    assert [each["replies"] for each in found] == list(answered.values())


@each_case("storage", ["storage_v2", "storage_legacy"])
def test_opencode(storage: str) -> None:
    folder = OPENCODE / storage
    parts = [json.loads(file.read_text()) for file in (folder / "part").rglob("*.json")]
    roles = Counter(json.loads(file.read_text())["role"] for file in (folder / "message").rglob("*.json"))
    sessions = load(folder)
    infos = sorted((folder / "session").rglob("*.json"))
    assert [session.title for session in sessions] == [json.loads(file.read_text())["title"] for file in infos]
    assert [load(file)[0].log for file in infos] == [session.log for session in sessions]
    found = sum((counts(session.messages) for session in sessions), Counter())
    assert found["prompts"] == roles["user"]
    assert found["pairs"] == found["calls"] == sum(part["type"] == "tool" for part in parts)


def test_openai_style_conversations_with_their_reused_ids(tmp_path: Path) -> None:
    """Every fourth of them; all in a long run."""
    raw = lines("conversations.jsonl")[:: 1 if LONG_RUN else 4]
    file = write_lines(tmp_path / "conversations.jsonl", raw)
    sessions = load(file)
    assert len(sessions) == len(raw)
    assert imported(sessions) + left_out(sessions) == COUNTS["openai"](file)
    for session, record in zip(sessions, raw, strict=True):
        said = record["messages"]
        steps: list[Step] = []
        for each in said:
            steps += [("calls", call["id"]) for call in each.get("tool_calls") or ()]
            steps += [("results", each["tool_call_id"])] if each["role"] == "tool" else []
        check_replayed(session)
        found = counts(session.messages)
        assert {kind: found[kind] for kind in ("calls", "results", "pairs")} == {
            kind: paired(steps)[kind] for kind in ("calls", "results", "pairs")
        }, record["id"]


REFUSED = {
    "cline/session.json": "only part of a Cline session",
    "codex/codex_05*": "an empty Codex CLI session",
    "llm/*.sql": "lines is a JSON object",
    "opencode/agent-sessions/storage_*/message/*/*": "part of an opencode session",
    "opencode/agent-sessions/storage_*/part/**/*.json": "part of an opencode session",
    "opencode/agent-sessions/storage_v2/migration": "lines is a JSON object",
}


@each_case("pattern", REFUSED)
def test_what_is_none_of_them_is_refused_by_name_and_reason(pattern: str) -> None:
    assert files(pattern)
    for file in files(pattern):
        with pytest.raises(ImportRefused) as refused:
            load(file)
        assert str(file) in str(refused.value) and REFUSED[pattern] in str(refused.value)


def test_every_file_is_looked_at_by_some_test_above() -> None:
    read = [
        "claude-code/*",
        "codex/agent*",
        "codex/session*",
        "gemini-cli/*",
        "pi/*",
        "llm/*.db",
        "opencode/*/*/session/*/*",
        "cline/*.*.json",
        "copilot-cli/*",
        "kimi/*",
    ]
    known = {file for pattern in (*read, *REFUSED) for file in files(pattern)}
    assert {file for file in FOREIGN.rglob("*") if file.is_file()} == known


def test_each_replays_to_what_was_said_and_loses_no_pair_on_the_way_to_a_model() -> None:
    for file in [*files("[cgkp]*/*.json*"), *files("llm/*.db"), OPENCODE / "storage_v2"]:
        with suppress(ImportRefused):
            for session in load(file):
                check_replayed(session)
