"""inkeep: compression at half of the window, results kept as artifacts, fixed limits without a summariser."""

from collections.abc import Iterator

import pytest

from co_tui.events import ArtifactStored
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.seeds.behaviours import says, shown_elsewhere
from tests.seeds.conversation import Conversation, conversing, results, text
from tests.support.loaded import LoadedProcesses
from tests.support.provider import Reply
from tests.support.stores import replayed
from tests.support.talks import talk

COMPRESSION, CONVERSATION = "How Compression Works", "Conversation-Level Compression"
DELEGATED, RESULTS, LIMITS = "Memory for Delegated Agents", "Tool Results in Memory", "Fixed Limits"
WINDOW = 12_000
RESULT = "\n".join(f"{n}: a line of the report on src/module.py" for n in range(300))


def look() -> str:
    """Read a long report."""
    return RESULT


async def _compresses(talking: Conversation, session: Session) -> None:
    talking.provider.script = [Reply(text="Let me", tool=("look", "{}"))]
    await talk(session, 1)
    await talk(session, 1)
    await talk(session, 7, words=400)
    await session.settle(30)
    talking.notes["state"] = session.state


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    """A long result, and a conversation that grows over half of its window."""
    with conversing(tmp_path_factory.mktemp("live"), "inkeep", context_window=WINDOW) as talking:
        yield talking.have(_compresses, tools=[look])


@says("inkeep", COMPRESSION, "A large result is stored as an artifact and replaced by a reference")
def test_results_are_archived(live: Conversation) -> None:
    (stored,) = live.facts(ArtifactStored)
    assert results(live.requests[1]) == [RESULT], "the current turn has it whole"
    (reference,) = results(live.requests[2])
    assert len(reference) < 2_000 and RESULT not in reference and "artifact" in reference
    assert stored


@says("inkeep", CONVERSATION, "The whole conversation becomes a summary, and artifacts stay")
def test_the_conversation_becomes_a_summary(live: Conversation) -> None:
    done = live.compactions[0]
    assert done.success and done.pre_tokens >= 0.5 * WINDOW * 0.9 and done.summary
    after = next(sent for sent in live.requests if "[Earlier conversation, summarised]" in text(sent))
    assert done.summary in after[0]["content"] and "Question 2:" not in text(after[2:])


@says("inkeep", COMPRESSION, "Below half of the window nothing is compressed")
def test_below_half_nothing_happens(live: Conversation) -> None:
    first = next(n for n, sent in enumerate(live.requests) if "[Earlier conversation, summarised]" in text(sent))
    assert first >= 4


@says("inkeep", RESULTS, "Results with their input are part of the history, so that work is not done twice")
def test_results_are_in_the_history(live: Conversation) -> None:
    (call,) = (call for message in live.requests[2] for call in message.get("tool_calls") or ())
    assert call["function"]["name"] == "look"


@says("inkeep", "Overview", "A resumed conversation has the same history, in a new process, too")
def test_resumed_in_a_new_process(live: Conversation, loaded: LoadedProcesses) -> None:
    assert replayed(live.home, live.session_id).history == live.notes["state"].history
    environ = {"CO_TUI_CONTEXT_WINDOW": "200000"}
    assert live.in_new_process(loaded, "run", "--resume", live.session_id, "-p", "And now?", **environ).code == 0
    assert text(live.requests[-1]).count("[Earlier conversation, summarised]") == 1


async def _no_summary(talking: Conversation, session: Session) -> None:
    talking.provider.summary = Reply(status=400, body='{"error": {"message": "no"}}')
    while not talking.provider.summary_requests:
        await talk(session, 1, words=400)
    await session.settle(30)
    talking.notes["outcome"] = await session.submit("and now?")


@says("inkeep", LIMITS, "Where no model can summarise, the fixed limits apply, and the conversation continues")
def test_the_fixed_limits(tmp_path_factory: pytest.TempPathFactory) -> None:
    changes = {"context_window": WINDOW, "fallback_messages": 4}
    with conversing(tmp_path_factory.mktemp("limits"), "inkeep", **changes) as talking:
        talking.have(_no_summary)
        done = talking.compactions[0]
        assert done.success and done.summary == "" and talking.notes["outcome"] is Outcome.DONE
        assert done.post_messages <= 1 + 4 and "summarised" not in done.outcome_sentence()
        sent = next(sent for sent in talking.requests if "[Earlier conversation trimmed" in text(sent))
        assert sent[0]["content"].startswith(f"[Earlier conversation trimmed — {len(done.replaced)} messages removed")


for where, test, *sentences in (
    (DELEGATED, "session/turns/test_delegations.py::test_two_at_once_see_the_conversation_and_their_own_results_only",
     "A delegated agent never sees results of another delegation"),
    ("Sub-Agent Generation Compression", "session/turns/test_delegations.py::"
     "test_its_own_steps_are_compressed_and_the_task_and_conversation_stay",
     "The task and the earlier conversation stay as they are"),
    ("How Compression Works", "headless/test_lens.py::test_where_a_policy_compacts_for_each_model",
     "Where a conversation (50 %) and the run of an agent (75 to 91 %) are compressed depends on the model's window"),
    ("Overview", "session/turns/test_transfers.py::test_the_model_hands_over_and_the_agent_hands_back",
     "Messages between agents at transfers are part of the history"),
    (RESULTS, "session/turns/test_transfers.py::test_the_model_hands_over_and_the_agent_hands_back",
     "An agent that the conversation is transferred to builds on the earlier results"),
    (RESULTS, "seeds/test_rows.py::test_t4_what_a_delegate_sees_and_the_main_agent_gets",
     "A result is written as `## Tool: name`, `**Input:**` and `**Output:**`"),
):  # fmt: skip
    shown_elsewhere("inkeep", where, test, *sentences)
shown_elsewhere(
    "inkeep",
    "Intelligent Compression",
    "seeds/test_boundaries.py::test_inkeep_g3b_compresses_at_half_of_the_window",
    "Older messages than the last 10,000 are not sent, also below half of the window",
    differs="they are sent as long as they fit: nothing leaves the context without a compaction that says so and can "
    "be undone. A summary considers the last 10,000",
)
shown_elsewhere(
    "inkeep",
    LIMITS,
    "seeds/test_boundaries.py::test_inkeep_g3b_compresses_at_half_of_the_window",
    "Without a summariser model, 50 messages and 8,000 tokens are the limit at any length",
    differs="they apply from half of the window on: below it everything fits, and nothing has to be forgotten",
)
