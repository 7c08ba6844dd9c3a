"""`co-tui compact`, and compaction during `co-tui run`: as scripts see them."""

import asyncio
from pathlib import Path

import pytest

from co_tui.context.compact.note import INTRO
from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.talks import LONG, talk, talking

SUMMARY = "Title: Modules\n## Decisions and outcomes\n- The question about src/module.py and its function was answered."


def talked(served_here: Here, provider: Provider, turns: int = 3, reply: Reply = LONG) -> str:
    """A stored session, made in this process since that is quicker."""
    provider.default, provider.window, provider.summary = reply, 100_000, Reply(text=SUMMARY)

    async def converse() -> str:
        async with talking(served_here.home, provider) as session:
            await talk(session, turns)
            return session.id

    return asyncio.run(converse())


def test_a_stored_session_is_compacted_and_its_log_says_so(served_here: Here, provider: Provider) -> None:
    session = talked(served_here, provider, turns=9)
    done = served_here("compact", session, "--focus", "file names", "--json")
    assert done.code == 0
    start = next(event for event in done.objects if event["type"] == "session.compaction_start")
    complete = next(event for event in done.objects if event["type"] == "session.compaction_complete")
    assert start["payload"]["trigger"] == "manual" and start["payload"]["focus"] == "file names"
    payload = complete["payload"]
    assert payload["success"] and payload["tokens_removed"] > 0 and payload["replaced"] and payload["replacement"]
    assert payload["checkpoint_number"] == 1 and payload["checkpoint_path"].endswith("001-modules.md")
    history = served_here("show", session, "--history", "--json").objects
    assert len(history) == payload["post_messages"]
    assert len(served_here("show", session, "--json").objects) == 18, "the transcript keeps everything"


def test_a_session_stays_in_its_folder(
    served_here: Here, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = talked(served_here, provider, turns=9)
    (row,) = served_here("sessions", "--json").objects
    own, other = Path(row["cwd"], ".co-tui.toml"), tmp_path / ".co-tui.toml"
    for file in (own, other):
        file.write_text('mode = "auto"\n')
    monkeypatch.chdir(tmp_path)
    done = served_here("compact", session)
    assert done.code == 0 and "now works in" not in done.err
    assert f"{own} wants to set mode" in done.err and str(other) not in done.err, "its folder's settings are used"
    (after,) = served_here("sessions", "--json").objects
    assert (after["cwd"], after["branch"]) == (row["cwd"], row["branch"]) and row["cwd"] != str(tmp_path)


@pytest.mark.parametrize("command", [["compact"], ["run", "-p", "/compact", "--session"]])
def test_a_failure_is_a_sentence_beside_the_events(served_here: Here, provider: Provider, command: list[str]) -> None:
    session = talked(served_here, provider, turns=9)
    provider.summaries = [Reply(text=" ")] * 3
    served_here.environ["CO_TUI_SUMMARY_FALLBACK"] = "fail"
    done = served_here(*command, session, "--json")
    (failed,) = (event["payload"] for event in done.objects if event["type"] == "session.compaction_complete")
    assert done.code == 1 and not failed["success"]
    assert done.err.count(f"Compaction failed, nothing changed: {failed['error']}.") == 1


def test_the_slash_command_compacts_too(served_here: Here, provider: Provider) -> None:
    session = talked(served_here, provider, turns=9)
    done = served_here("run", "--session", session, "-p", "/compact file names", "--json")
    start = next(event for event in done.objects if event["type"] == "session.compaction_start")
    assert (done.code, start["payload"]["focus"]) == (0, "file names")
    assert "001-modules.md" in served_here("run", "--session", session, "-p", "/session checkpoints").out
    assert "Compaction undone. The model sees all " in served_here("run", "--session", session, "-p", "/undo").err


def test_a_deep_compaction_keeps_the_newest_step_alone(served_here: Here, provider: Provider) -> None:
    by_option, by_slash = (talked(served_here, provider, turns=9) for _ in range(2))
    done = [
        served_here("compact", by_option, "--deep", "--focus", "file names", "--json"),
        served_here("run", "--session", by_slash, "-p", "/compact --deep file names", "--json"),
    ]
    for each in done:
        payload = next(event for event in each.objects if event["type"] == "session.compaction_complete")["payload"]
        assert each.code == 0 and payload["pre_messages"] - len(payload["replaced"]) == 1
        assert payload["focus"] == "file names"


def test_what_replaces_messages_is_the_same_wherever_it_is_shown(served_here: Here, provider: Provider) -> None:
    session = talked(served_here, provider, turns=9)
    assert served_here("compact", session).code == 0
    first, second, *_ = served_here("show", session, "--history", "--json").objects
    past, state = (each["message"]["parts"][0]["content"] for each in (first, second))
    assert past.startswith(f"[Earlier conversation, summarised]\n{INTRO}\n\n## Decisions and outcomes\n")
    assert state.startswith("[What is under way]\n## What the user said\n- Question 1: ")
    shown = served_here("show", session, "--history").out
    assert f"── Summary\n{past}\n" in shown and f"── In progress\n{state}\n" in shown
    assert f"{past}\n\n{state}" in served_here("export", session, "--format", "markdown").out
    sent = [each.get("text") for each in served_here("lens", session, "--json").objects]
    assert past in sent and state in sent


def test_nothing_to_compact_is_a_sentence(served_here: Here, provider: Provider) -> None:
    longer = Reply(text=LONG.text * 5, prompt_tokens=-1, completion_tokens=550)
    session = talked(served_here, provider, turns=1, reply=longer)
    assert served_here("compact", session).code == 0
    again = served_here("compact", session)
    assert again.code == 1 and "Nothing to compact" in again.err and again.out == ""


def test_a_compaction_without_a_summary_fails_under_co_cli(
    served_here: Here, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = talked(served_here, provider, turns=3)
    provider.summary = Reply(status=400, body='{"error": {"message": "no"}}')
    monkeypatch.setenv("CO_TUI_POLICY", "co-cli")
    before = served_here("show", session, "--history").out
    done = served_here("compact", session)
    assert done.code == 1 and "summarised" not in done.err
    assert "Compaction failed, nothing changed: no summary could be written: " in done.err
    assert served_here("show", session, "--history").out == before


def test_run_waits_for_the_compaction_it_started(served_here: Here, provider: Provider) -> None:
    session = talked(served_here, provider, turns=5)
    provider.window, provider.summary = 1_500, Reply(text=SUMMARY, wait_s=0.5)
    asked = "Question about src/module.py " * 6
    done = served_here("run", "--session", session, "--policy", "copilot", "-p", asked, "--json")
    assert done.code == 0
    kinds = [event["type"] for event in done.objects]
    assert kinds.index("session.compaction_start") < kinds.index("session.compaction_complete")
    complete = next(event for event in done.objects if event["type"] == "session.compaction_complete")
    assert complete["payload"]["success"]
