"""Real files of Copilot CLI, Cline and Kimi, kind by kind: what is in the file, what is imported, what is left out.

What a file holds is counted here a second time, from its JSON alone.
"""

import json
from collections import Counter

from pydantic_ai.messages import ThinkingPart

from co_tui.events import CompactionComplete
from co_tui.exchange.importers import ImportedSession, load
from co_tui.session.state.derive import replay
from tests.exchange.test_foreign_files import files, json_lines
from tests.support.environments import facts
from tests.support.foreign import counts
from tests.support.shared import needs_data

pytestmark = needs_data


def parts_of(session: ImportedSession) -> Counter[str]:
    """What was imported, counted by the kinds of its parts."""
    found = counts(session.messages)
    found["thoughts"] = sum(isinstance(part, ThinkingPart) for message in session.messages for part in message.parts)
    return +found


def test_copilot_cli_event_by_event() -> None:
    (file,) = files("copilot-cli/*")
    events = json_lines(file)
    kinds = Counter(event["type"] for event in events)
    data = {kind: [event["data"] for event in events if event["type"] == kind] for kind in kinds}
    replies = data["assistant.message"]
    requested = {call["toolCallId"] for reply in replies for call in reply["toolRequests"]}
    started = {each["toolCallId"] for each in data["tool.execution_start"]}
    (session,) = load(file)
    assert parts_of(session) == {
        "prompts": kinds["user.message"],
        "replies": kinds["assistant.message"] + len(started - requested),
        "calls": len(requested | started),
        "results": kinds["tool.execution_complete"],
        "pairs": kinds["tool.execution_complete"],
        "thoughts": sum("reasoningText" in reply for reply in replies),
    }
    taken = {"session.start", "session.model_change", "user.message", "assistant.message", "tool.execution_start"}
    taken |= {"tool.execution_complete"}
    left = sum(kinds[kind] for kind in kinds.keys() - taken)
    assert sum(session.left_out.values()) == left and session.left_out["system prompts"] == kinds["system.message"]


def test_cline_block_by_block() -> None:
    for file in files("cline/*.*.json"):
        record = json.loads(file.read_text())
        blocks = [block for message in record["messages"] for block in message["content"]]
        kinds = Counter(block["type"] for block in blocks)
        roles = Counter(message["role"] for message in record["messages"])
        (session,) = load(file)
        found = parts_of(session)
        results = kinds["tool_result"]
        assert (found["calls"], found["results"], found["pairs"]) == (kinds["tool_use"], results, results)
        assert (found["prompts"], found["replies"]) == (roles["user"] - results, roles["assistant"])
        texts = "\n".join(str(part) for message in session.messages for part in message.parts)
        assert all(block["path"] in texts for block in blocks if block["type"] == "file")
        assert dict(session.left_out) == {"system prompts": 1} and session.skipped == 0


def test_kimi_record_by_record() -> None:
    (file,) = files("kimi/*")
    records = json_lines(file)
    kinds = Counter(record["type"] for record in records)
    events = Counter(
        f"{event['type']} {event.get('part', {}).get('type', '')}".strip()
        for record in records
        if (event := record.get("event"))
    )
    (session,) = load(file)
    assert parts_of(session) == {
        "prompts": kinds["context.append_message"],
        "replies": events["step.end"],
        "calls": events["tool.call"],
        "results": events["tool.result"],
        "pairs": events["tool.result"],
        "thoughts": events["content.part think"],
    }
    (compaction,) = facts(list(session.log), CompactionComplete)
    assert kinds["context.apply_compaction"] == 1 and compaction.pre_tokens == 15_912
    taken = {"metadata", "turn.prompt", "context.append_message", "context.append_loop_event"}
    taken |= {"context.apply_compaction"}
    left = sum(kinds[kind] for kind in kinds.keys() - taken)
    models = sum("modelAlias" in record for record in records if record["type"] == "config.update")
    assert sum(session.left_out.values()) + models == left
    assert len(replay(session.log).history) == 8 + 1, "what the user said, and the summary"
