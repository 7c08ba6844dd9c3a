"""`co-tui lab`: recorded conversations under policies."""

import json
import re
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelResponse

from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import policy_of
from co_tui.exchange.openai_format import BadInput, load, to_chat, to_message
from co_tui.lab.details import Kept
from co_tui.lab.results import replay
from co_tui.lab.tally import Tally
from co_tui.paths import locate
from co_tui.session.history.learned_ratios import Ratios
from tests.context.request.test_pipeline import LOADED, POLICIES
from tests.support.here import Here
from tests.support.long_run import LONG_RUN, also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.shared import DATA, lines, needs_data

SHORT = 100
"""Messages of a conversation that all policies replay in a moment."""
CALL = {"name": "read", "arguments": '{"path": "src/config_loader.py"}'}
CHAT = [
    {"role": "system", "content": "Be exact."},
    {"role": "user", "content": "Read src/config_loader.py"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": CALL}]},
    {"role": "tool", "tool_call_id": "c1", "name": "read", "content": "def load_config(): return 4711\n" * 40},
    {
        "role": "assistant",
        "content": "load_config returns 4711.",
        "usage": {"prompt_tokens": 700, "completion_tokens": 9},
    },
    {"role": "user", "content": "Why 4711?"},
    {"role": "assistant", "content": "Because load_config in src/config_loader.py says so."},
]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"id": "talk/1 of 2", "messages": CHAT}) + "\n")
    return file


def test_chat_messages_come_back_as_they_were() -> None:
    back = to_chat(to_message(message) for message in CHAT)
    assert back == [{key: value for key, value in message.items() if key != "usage"} for message in CHAT]


async def test_every_reply_gets_a_request_and_is_judged_by_what_it_needed(recording: Path) -> None:
    (conversation,) = load(recording)
    off = policy_of(LOADED["off"])
    requests = [request async for request in replay(conversation, off, Window(tokens=8000, known=True))]
    assert [request.input_messages for request in requests] == [2, 4, 6]
    assert not any(request.is_long for request in requests) and requests[-1].details == Kept()
    small = [request async for request in replay(conversation, off, Window(tokens=40, known=True))]
    assert small[-1].is_long and small[-1].details.needed >= 2
    assert small[-1].details.in_context == small[-1].details.kept == small[-1].details.needed
    assert all(request.breaches == [] for request in requests)


def test_the_command_prints_a_table_or_json_and_dumps_requests(here: Here, recording: Path, tmp_path: Path) -> None:
    options = ["--input", str(recording), "--policy", "balanced", "--policy", "co-cli", "--window", "8000"]
    table = here("lab", *options)
    assert table.code == 0 and "balanced" in table.out and "co-cli" in table.out
    rows = here("lab", *options, "--json", "--dump", str(tmp_path / "dump")).objects
    assert [(row["policy"], row["requests"], row["breaches"]) for row in rows] == [("balanced", 3, 0), ("co-cli", 3, 0)]
    files = sorted((tmp_path / "dump" / "balanced").rglob("*.json"))
    assert [file.name for file in files] == ["00001.json", "00002.json", "00003.json"]
    assert files[0].parent.name == "1-talk_1_of_2"
    last = json.loads(files[-1].read_text())
    assert set(last) == {
        "id",
        "policy",
        "request",
        "input_messages",
        "limit_tokens",
        "tokens",
        "compactions",
        "truncated",
        "messages",
    }
    assert last["messages"][-1] == {"role": "user", "content": "Why 4711?"} and last["limit_tokens"] == 8000
    # 700 + 9 were reported; the question after them is estimated.
    assert 709 < last["tokens"] < 725


def test_as_assumes_what_was_learnt_about_a_models_tokens(here: Here, recording: Path, home: Path) -> None:
    def total(*options: str) -> int:
        (row,) = here("lab", "--input", str(recording), "--window", "8000", *options, "--json").objects
        return int(row["total_tokens"])

    plain = total()
    assert total("--as", "anthropic:claude-sonnet-5") == plain, "nothing learnt yet"
    Ratios(locate({"CO_TUI_HOME": str(home)}).state / "token-ratios.json").learn("anthropic:claude-sonnet-5", 1.5)
    assert total("--as", "anthropic:claude-sonnet-5") > plain
    assert total("--as", "openai:gpt-5") == plain, "learnt about another"


@pytest.mark.parametrize(
    "line", ["{", '{"id": 1}', '{"messages": [{"role": "oracle", "content": "?"}]}', '{"messages": [3]}', "[]"]
)
def test_a_line_that_is_no_conversation_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(json.dumps({"id": "ok", "messages": CHAT}) + "\n" + line + "\n")
    with pytest.raises(BadInput, match="line 2"):
        list(load(file))


def test_a_stored_session_can_be_replayed(served_here: Here) -> None:
    served_here("run", "-p", "one")
    served_here("run", "--continue", "-p", "two")
    session = served_here("sessions", "--json").objects[0]["id"]
    (row,) = served_here("lab", session, "--policy", "balanced", "--json").objects
    assert row["requests"] == 2 and row["breaches"] == 0


def test_a_model_may_summarise(served_here: Here, provider: Provider, tmp_path: Path) -> None:
    talk = []
    for n in range(60):
        talk += [{"role": "user", "content": f"Question {n} about src/module_{n}.py? " + "more words " * 20}]
        talk += [{"role": "assistant", "content": f"The function in src/module_{n}.py answers the question."}]
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"id": "talk", "messages": talk}))
    provider.window = 8_000
    provider.summary = Reply(
        text="Title: Modules\n## Decisions and outcomes\n- The function answers the question in src."
    )
    done = served_here("lab", "--input", str(file), "--window", "1500", "--model", "openai-chat:scripted", "--json")
    assert done.code == 0 and done.objects[0]["breaches"] == 0
    compactions = done.objects[0]["compactions"]
    row = done.objects[0]
    assert row["summary_input_tokens"] == len(provider.summary_requests) * provider.summary.prompt_tokens
    assert row["summary_output_tokens"] == len(provider.summary_requests) * provider.summary.completion_tokens
    assert row["summary_cost"] == pytest.approx(
        (row["summary_input_tokens"] * 3 + row["summary_output_tokens"] * 15) / 1e6
    )
    offline = served_here("lab", "--input", str(file), "--window", "1500", "--json").objects[0]
    assert 0 < offline["summaries"] < offline["compactions"] and offline["summary_cost"] > 0, "a journal only grew"
    written = re.search(r"(\d+) summaries by openai-chat:scripted", done.err)
    # A long one is asked for in parts.
    assert written and 0 < int(written[1]) <= len(provider.summary_requests) and int(written[1]) <= compactions
    refused = served_here("lab", "--input", str(file), "--model", "nosuch:model")
    assert refused.code == 1 and "nosuch:model" in refused.err


@needs_data
@pytest.mark.parametrize("window", also_in_a_long_run([8_000], [32_000]))
async def test_no_policy_breaks_an_invariant_on_real_conversations(window: int) -> None:
    """Some short conversations, in a long run some long ones, too; the benchmark `lab` runs them all."""
    some = list(load(DATA / "conversations.jsonl"))[:: 24 if LONG_RUN else 48]
    conversations = [each for each in some if LONG_RUN or len(each.messages) < SHORT]
    assert conversations
    tallies = {}
    for name in POLICIES:
        tally = tallies[name] = Tally(name)
        for conversation in conversations:
            async for request in replay(conversation, policy_of(LOADED[name]), Window(tokens=window, known=True)):
                tally.add(request)
        assert tally.breaches == 0, name
    assert tallies["off"].shares()["details_in_context_share"] == 1.0
    balanced, off = tallies["balanced"], tallies["off"]
    assert balanced.total_tokens < off.total_tokens or off.peak_tokens < window / 2


def errors_on_real_counts() -> list[float]:
    """How far each measurement was from what its provider then reported, from the second request on."""
    conversations = {conversation.id: conversation for conversation in load(DATA / "conversations.jsonl")}
    rows: dict[tuple[str, str], list[dict]] = {}
    for row in lines("token_counts.jsonl"):
        rows.setdefault((row["conversation"], row["model"]), []).append(row)
    errors = []
    for (name, _), reported in rows.items():
        messages, meter = list(conversations[name].messages), Meter()
        for number, row in enumerate(sorted(reported, key=lambda row: row["upto_index"])):
            upto = row["upto_index"]
            request, reply = messages[:upto], messages[upto]
            counted = meter.read(request, Scaffold(), Window(tokens=1_000_000, known=True)).current_tokens
            if number:
                errors.append(counted / row["prompt_tokens"] - 1)
            meter.sent(request, Scaffold())
            assert isinstance(reply, ModelResponse)
            usage = {"prompt_tokens": row["prompt_tokens"], "completion_tokens": row["completion_tokens"]}
            messages[upto] = answer = to_message({**to_chat([reply])[0], "usage": usage})
            assert isinstance(answer, ModelResponse)
            meter.reported(answer)
    return errors


@needs_data
def test_counts_follow_what_providers_reported() -> None:
    errors = errors_on_real_counts()
    middle = sorted(map(abs, errors))[len(errors) // 2]
    assert middle <= 0.0005 and min(errors) >= -0.067 and max(errors) <= 0.212
