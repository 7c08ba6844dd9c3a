"""What refusals and answers show of a model's window is remembered, and corrected by longer answers."""

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest

from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.context.measure.count import Window
from co_tui.session.history.learned_limits import LIMITS_FILE, MOST_MODELS, REFUSED_FOR_S, REPLY_CHARS, Learned, Limits
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.talks import LONG, MODEL, fill, served_environment, talk, talking

ASKED = RequestTarget("openai-chat:scripted", "http://localhost:1/v1")


def refusal(limit: int) -> Reply:
    message = f"This model's maximum context length is {limit} tokens. Please reduce the length of the messages."
    return Reply(status=400, body=json.dumps({"error": {"message": message, "code": "context_length_exceeded"}}))


def refused_with(message: str) -> Reply:
    return Reply(status=400, body=json.dumps({"error": {"message": message}}))


def test_a_smaller_limit_replaces_a_larger_one_and_never_the_other_way(tmp_path: Path) -> None:
    limits = Limits(tmp_path / "learnt.json")
    assert limits.known(ASKED) == Learned()
    for named, kept in ((8_000, 8_000), (9_000, 8_000), (8_001, 8_000), (4_000, 4_000), (8_000, 4_000)):
        assert limits.learn(ASKED, named, "the reply")
        known = limits.known(ASKED)
        assert known == Limits(tmp_path / "learnt.json").known(ASKED) == Learned(kept, "the reply")
    assert limits.known(RequestTarget("openai-chat:scripted", "http://elsewhere/v1")) == Learned()


def test_a_limit_no_one_could_work_in_is_not_kept(tmp_path: Path) -> None:
    limits = Limits(tmp_path / "learnt.json")
    assert not limits.learn(ASKED, 100) and limits.known(ASKED) == Learned()


def test_no_limit_is_learned_below_what_was_answered_and_a_longer_answer_lifts_one(tmp_path: Path) -> None:
    limits = Limits(tmp_path / "learnt.json")
    limits.answered(ASKED, 5_000)
    assert not limits.learn(ASKED, 2_013, "context window exceeds limit") and not limits.known(ASKED).limit_tokens
    assert limits.learn(ASKED, 8_000, "at most 8000 tokens")
    limits.answered(ASKED, 7_900)
    assert limits.known(ASKED).limit_tokens == 8_000
    limits.answered(ASKED, 8_001)
    assert limits.known(ASKED) == Learned(answered_tokens=8_001)


def test_a_refused_size_is_kept_once_a_shorter_request_is_answered(tmp_path: Path) -> None:
    limits = Limits(tmp_path / "learnt.json")
    limits.answered(ASKED, 6_000)
    assert limits.refused(ASKED, 18_000) == 12_000, "halfway"
    assert limits.known(ASKED).most_tokens is None, "it may have been refused for another reason"
    limits.answered(ASKED, 7_000)
    assert Limits(tmp_path / "learnt.json").known(ASKED).most_tokens == 12_500
    assert limits.refused(ASKED, 5_000) is None, "longer ones were answered"
    limits.answered(ASKED, 17_000)
    assert limits.known(ASKED).most_tokens == 17_000, "close enough to stop trying"
    limits.answered(ASKED, 18_000)
    assert limits.known(ASKED).most_tokens is None


def test_an_estimated_answer_bounds_refused_sizes_but_contradicts_no_named_limit(tmp_path: Path) -> None:
    limits = Limits(tmp_path / "learnt.json")
    assert limits.learn(ASKED, 8_000, "at most 8000 tokens")
    limits.answered(ASKED, 9_000, counted=False)
    assert limits.known(ASKED).limit_tokens == 8_000, "our estimate may be too high"
    assert limits.refused(ASKED, 8_500) is None and limits.refused(ASKED, 12_000) == 10_500
    limits.answered(ASKED, 5_000, counted=False)
    assert Limits(tmp_path / "learnt.json").known(ASKED).most_tokens == 10_500
    limits.answered(ASKED, 12_000, counted=False)
    assert limits.known(ASKED).most_tokens is None and limits.learn(ASKED, 7_000, "at most 7000 tokens")


def test_what_to_send_next_respects_a_refusal_at_once(tmp_path: Path) -> None:
    limits = Limits(tmp_path / "learnt.json")
    limits.answered(ASKED, 6_000)
    assert limits.longest_to_send(ASKED) is None
    limits.refused(ASKED, 18_000)
    assert limits.longest_to_send(ASKED) == 12_000
    limits.learn(ASKED, 11_000, "at most 11000 tokens")
    assert limits.longest_to_send(ASKED) == 11_000


def test_a_refused_size_is_forgotten_after_a_week(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(tmp_path / "learnt.json")
    limits.refused(ASKED, 18_000)
    limits.answered(ASKED, 7_000)
    later = time.time() + REFUSED_FOR_S + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert limits.known(ASKED) == Learned(answered_tokens=7_000)


@pytest.mark.parametrize("kept", ["2013", '"x"', "[]", '{"limit_tokens": "many"}', '{"limit_tokens": 1e400}', "null"])
def test_a_file_of_anything_else_counts_for_nothing(tmp_path: Path, kept: str) -> None:
    """Also a plain number: it was learned before anybody kept the reply it came from."""
    file = tmp_path / "learnt.json"
    file.write_text(f'{{"{ASKED.model} at {ASKED.address}": {kept}}}', encoding="utf-8")
    assert Limits(file).known(ASKED) == Learned()


def test_what_cannot_be_written_is_kept_in_the_process(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    limits = Limits(tmp_path / "file" / "learnt.json")
    limits.learn(ASKED, 8_000, "reply")
    private = Limits(tmp_path / "private.json", writes=False)
    private.learn(ASKED, 8_000, "reply")
    assert limits.known(ASKED).limit_tokens == private.known(ASKED).limit_tokens == 8_000
    assert not (tmp_path / "private.json").exists()


@only_in_a_long_run
def test_the_file_stays_small(tmp_path: Path) -> None:
    limits = Limits(tmp_path / "learnt.json")
    for number in range(MOST_MODELS + 5):
        limits.learn(RequestTarget(f"openai-chat:{number}"), 8_000, "long " * 1_000)
    assert len(limits.all()) == MOST_MODELS
    assert all(len(learned.reply) <= REPLY_CHARS for learned in limits.all().values())
    assert limits.known(RequestTarget(f"openai-chat:{MOST_MODELS + 4}")).limit_tokens == 8_000


async def test_an_error_code_bricks_no_model(home: Path, provider: Provider) -> None:
    provider.default, provider.window = LONG, 32_000
    async with talking(home, provider) as session:
        await fill(session, 14)
        provider.script = [refused_with("invalid params, context window exceeds limit (2013)")]
        assert await session.submit("and now?") is Outcome.DONE
        assert await session.submit("and later?") is Outcome.DONE
    again = await Session.resume(served_environment(home, provider), session.id)
    assert again.history.governor.window.tokens > 2_500
    await again.close()


async def test_a_limit_below_what_was_answered_is_not_kept_but_the_turn_is_answered(
    home: Path, provider: Provider
) -> None:
    provider.default, provider.window = LONG, 32_000
    async with talking(home, provider) as session:
        await fill(session, 14)
        answered = provider.counted[-1]
        provider.script = [refusal(answered // 2)]
        assert await session.submit("and now?") is Outcome.DONE
        assert session.history.governor.window.tokens >= answered
    kept = (home / "state" / LIMITS_FILE).read_text(encoding="utf-8")
    assert json.loads(kept)[f"{MODEL} at {provider.url}"]["limit_tokens"] == 0


async def test_the_file_names_the_reply_without_keys(home: Path, provider: Provider) -> None:
    provider.default = LONG
    async with talking(home, provider) as session:
        await fill(session, 3)
        message = "This model's maximum context length is 2000 tokens. Your key sk-abcdefgh12345678 sent 5000 tokens."
        provider.script = [refused_with(message)]
        assert await session.submit("and now?") is Outcome.DONE
        assert session.history.governor.window == Window(tokens=2_000, known=True)
    kept = (home / "state" / LIMITS_FILE).read_text(encoding="utf-8")
    assert "maximum context length is 2000 tokens" in kept and "sk-abcdefgh" not in kept


async def test_the_users_window_wins_and_a_longer_answer_lifts_what_was_learned(home: Path, provider: Provider) -> None:
    provider.default = LONG
    Limits(home / "state" / LIMITS_FILE).learn(RequestTarget(MODEL, provider.url), 1_000, "at most 1000 tokens")
    async with talking(home, provider, context_window=8_000) as session:
        await fill(session, 8)
        assert session.history.governor.window == Window(tokens=8_000, known=True)
    assert not Limits(home / "state" / LIMITS_FILE).known(RequestTarget(MODEL, provider.url)).limit_tokens


@only_in_a_long_run
async def test_a_size_refused_without_a_number_is_not_sent_again(home: Path, provider: Provider) -> None:
    provider.default, provider.window, provider.refusal = LONG, 32_000, "413"
    provider.real_window = 2_500
    async with talking(home, provider) as session:
        await talk(session, 9, words=130)
        sent_first, refused_first = len(provider.counted), provider.refused
    again = await Session.resume(served_environment(home, provider), session.id)
    await talk(again, 5, words=130)
    await again.close()
    refused = [size for size in provider.counted if size > provider.real_window]
    assert refused == sorted(refused, reverse=True) and len(set(refused)) == len(refused), "never as long again"
    assert 1 <= refused_first <= 4 and provider.refused <= refused_first + 1, (refused, sent_first)


@pytest.mark.parametrize(
    "message",
    also_in_a_long_run(["prompt exceeds the context window"], ["prompt is too long: at most 900 tokens"]),
)
async def test_a_refused_summary_request_is_shortened_or_given_up(home: Path, provider: Provider, message: str) -> None:
    provider.default, provider.window = LONG, 32_000
    async with talking(home, provider, backoff_s=0.0) as session:
        await fill(session, 8)
        provider.summaries = [refused_with(message)] * 3
        done = await session.compact()
        lengths = [len(json.dumps(request["messages"])) for request in provider.summary_requests]
        assert done.success and done.summarised_by == "offline" and len(lengths) >= 2
        assert all(after < before for before, after in pairwise(lengths))


async def test_a_refusal_that_names_a_larger_window_makes_ours_no_larger(home: Path, provider: Provider) -> None:
    provider.default, provider.window = LONG, 4_000
    async with talking(home, provider, compaction="none") as session:
        await fill(session, 4)
        provider.script = [refusal(50_000)]
        assert await session.submit("and now?") is Outcome.DONE
        assert session.state.usage is not None and session.state.usage.token_limit <= 4_000
        provider.script = [refusal(1_500)]
        assert await session.submit("and now?") is Outcome.DONE
        assert session.state.usage.token_limit == 1_500
    again = await Session.resume(served_environment(home, provider), session.id)
    assert await again.submit("and?") is Outcome.DONE and again.state.usage is not None
    assert again.state.usage.token_limit == 1_500, "what was named last and least"
    await again.close()
