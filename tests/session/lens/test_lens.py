"""The lens shows what a model then gets: its messages are those of the next request, its total that of the gauge."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers, lists
from pydantic_ai.messages import ModelMessage, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls

from co_tui.context.measure.count import apportion
from co_tui.events import CompactionComplete, Truncation, UsageInfo
from co_tui.lab.outlook import outlook
from co_tui.paths import locate
from co_tui.session.compaction.model_summaries import ModelSummaries
from co_tui.session.file_references import named_files
from co_tui.session.history.request_scaffold import ScaffoldFile
from co_tui.session.lens.last_viewed import NEVER_VIEWED, LastViewFile
from co_tui.session.lens.request_rows import Fate, Kind, Lens
from co_tui.session.lens.snapshot import read_lens, source_of, stored_source
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings import Settings
from tests.context.request.test_pipeline import LOADED
from tests.support.counted import Talk
from tests.support.counts import Counts
from tests.support.environments import ScriptedModel, environment_for, facts
from tests.support.lens import LARGE, Asked, agrees, lens_of, plain, read_large, said
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (400).to_bytes(4) + (300).to_bytes(4) + b"\x08\x02\0\0\0" + b"\0" * 64
POLICIES = also_in_a_long_run(["balanced"], ["co-cli", "cowagent", "inkeep", "copilot", "off"])


@pytest.mark.parametrize("policy", POLICIES)
async def test_the_model_gets_what_the_lens_showed(home: Path, policy: str) -> None:
    model = Asked()
    async with opened(home, model, LOADED[policy]) as session:
        await said(session, "Hello", "read it", "What else?")
        for change in changes(session, home):
            await change()
            await session.settle(10)
            lens, before, compactions = lens_of(session), len(model.requests), len(session.state.compactions)
            agrees(session, lens)
            await said(session, "And now?")
            if len(session.state.compactions) == compactions and not lens.due:
                shown = [each.message for each in lens.messages]
                assert plain(shown) == plain(model.requests[before])[:-1]


def changes(session: Session, home: Path) -> list[Callable[[], Any]]:
    """All that people do to a history."""

    async def nothing() -> None: ...

    async def show_picture() -> None:
        home.joinpath("shot.png").write_bytes(PNG)
        prompt = "What is in @shot.png?"
        assert await session.submit(prompt, files=named_files(prompt, home).files) is Outcome.DONE

    async def pin() -> None:
        await session.edits.pin([session.state.history[1].ref])

    return [
        nothing,
        lambda: said(session, "read it again"),
        show_picture,
        pin,
        lambda: session.compact(),
        lambda: session.edits.undo(),
        lambda: session.edits.rewind(2),
        lambda: session.edits.clear(),
        lambda: session.edits.undo(),
        lambda: said(session, *["More words about src/main.py " * 80] * 3),
        lambda: session.switcher.switch_policy(LOADED["co-cli"]),
        lambda: session.run_command("echo hello"),
    ]


QUIET = LOADED["balanced"].but(recollection_share=0.0, summary_by="code")


@asynccontextmanager
async def opened(home: Path, model: Asked, settings: Settings, window: int = 60_000) -> AsyncIterator[Session]:
    environment = environment_for(home, ScriptedModel(model.script, window=window), tools=[read_large])
    environment.settings = settings
    session = await Session.start(environment, "scripted")
    try:
        yield session
    finally:
        await session.close()
        environment.store.close()


@pytest.mark.parametrize(("settings", "window"), [(LOADED["co-cli"], 60_000), (LOADED["off"], 20_000)])
async def test_resumed_under_another_policy_or_window_it_is_measured_anew(
    home: Path, settings: Settings, window: int
) -> None:
    model = Asked()
    async with opened(home, model, LOADED["off"]) as session:
        await said(session, "read it", "What else?")
    environment = environment_for(home, ScriptedModel(model.script, window=window), tools=[read_large])
    environment.settings = settings
    resumed = await Session.resume(environment, session.id)
    agrees(resumed, lens := lens_of(resumed))
    measured = read_lens(source_of(resumed.history, settings, is_own=False)).reading
    assert lens.total_json()["limit_tokens"] == window and lens.reading.current_tokens == measured.current_tokens
    await said(resumed, "And now?")
    assert plain([each.message for each in lens.messages]) == plain(model.requests[-1])[:-1]
    await resumed.close()
    environment.store.close()


@pytest.mark.parametrize(
    ("policy", "tools"),
    also_in_a_long_run([("balanced", [])], [("copilot", []), ("balanced", [read_large]), ("copilot", [read_large])]),
)
async def test_a_compaction_foresees_the_tools_that_it_brings(home: Path, policy: str, tools: list[Any]) -> None:
    environment = environment_for(home, ScriptedModel(Asked().script, window=60_000), tools=tools)
    environment.settings = LOADED[policy]
    session = await Session.start(environment, "scripted")
    await said(session, *(f"Tell me about src/module_{n}.py " * 120 for n in range(6)))
    before = session.state.usage
    done = await session.compact()
    agrees(session, lens_of(session))
    predicted_scaffold, meter = session.state.usage, session.history.governor.meter.copied()
    assert before is not None and predicted_scaffold is not None and done.success
    assert (before.current_tokens, done.post_tokens) == (done.pre_tokens, predicted_scaffold.current_tokens)
    seq, kept = session.state.seq, ScaffoldFile(environment.paths.session(session.id)).read()
    assert kept is not None
    if policy != "inkeep":  # which has a tool that others have not
        live = read_lens(source_of(session.history, LOADED["off"], is_own=False))
        stored = read_lens(stored_source(session.state, LOADED["off"], is_own=False)._replace(scaffold=kept))
        assert stored.reading == live.reading, "another process makes the same of it"
    await said(session, "Thanks?")
    with environment.store.reading() as reading:
        sent = facts(list(reading.events(session.id, after=seq)), UsageInfo)[0]
    assert sent.tool_definition_tokens == predicted_scaffold.tool_definition_tokens
    assert tools or predicted_scaffold.tool_definition_tokens > before.tool_definition_tokens
    assert "recall" in session.history.scaffold.tool_names and "recall" in kept.tool_names
    prompt = meter.tokens(session.history.messages[-2])
    note = session.state.recollection.tokens if session.state.recollection else 0
    assert sent.current_tokens == pytest.approx(predicted_scaffold.current_tokens + prompt + note, abs=3)
    await session.close()
    environment.store.close()


async def test_what_does_not_fit_is_listed_and_the_rest_is_what_is_sent(home: Path) -> None:
    model, alone = Asked(), LOADED["balanced"].but(compaction="none", recollection_share=0.0)
    async with opened(home, model, alone, window=2_000) as session:
        await said(session, *[f"Question {n}: " + "what about src/main.py? " * 90 for n in range(6)])
        lens = lens_of(session)
        agrees(session, lens)
        out = [each for each in lens.left if each.why == "does not fit"]
        assert out and out[0].beginning.startswith("Question 0") and facts(list(session.state.timeline), Truncation)
        assert len(out) + sum(each.ref is not None for each in lens.messages) == len(session.state.history)
        before = len(model.requests)
        await said(session, "ok?")
        assert plain([each.message for each in lens.messages]) == plain(model.requests[before])[:-1]


class LongAnswers(Asked):
    """Its answers grow, so that the history exceeds the window after a turn, too."""

    async def script(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        self.requests.append(list(messages))
        yield "a longer answer about it " * (100 + 60 * ((len(self.requests) - 1) % 4))


async def test_when_it_is_full_the_lens_shows_what_is_sent(home: Path) -> None:
    model, alone = LongAnswers(), LOADED["balanced"].but(compaction="none", recollection_share=0.0)
    async with opened(home, model, alone, window=3_000) as session:
        for n in range(8):
            await said(session, f"Question {n}: " + "what about src/main.py? " * 30)
            lens, meter = lens_of(session), session.history.governor.meter
            assert session.state.usage is not None
            assert lens.reading.current_tokens == session.state.usage.current_tokens
            assert lens.reading.share < 1 and sum(each.tokens for each in lens.messages) == lens.reading.current_tokens
            for each in lens.messages:
                assert each.message is None or each.tokens == pytest.approx(meter.tokens(each.message), abs=2)


async def test_a_reply_that_no_longer_fits_is_shown_as_the_next_request_while_its_tool_runs(home: Path) -> None:
    seen = list[tuple[Lens, UsageInfo | None]]()

    def look() -> str:
        """Look."""
        seen.append((lens_of(session), session.state.usage))
        return "nothing"

    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if "look" in str(messages[-1].parts[-1]) and isinstance(messages[-1].parts[-1], UserPromptPart):
            yield "a long reply about src/main.py " * 400
            yield {1: DeltaToolCall("look", "{}", tool_call_id="call")}
        else:
            yield "An answer about src/main.py. " * 30

    environment = environment_for(home, ScriptedModel(script, window=4_000), tools=[look])
    environment.settings = LOADED["balanced"].but(compaction="none", recollection_share=0.0)
    session = await Session.start(environment, "scripted")
    await said(session, "One?", "Two?", "Three? " * 100, "look")
    ((lens, usage),) = seen
    assert usage is not None and usage.output_tokens and usage.share <= 1
    assert lens.reading.current_tokens == usage.current_tokens and lens.reading.messages_count == usage.messages_count
    await session.close()
    environment.store.close()


async def test_after_an_undo_the_gauge_shows_what_fits(home: Path) -> None:
    settings = QUIET
    async with opened(home, Asked(), settings.but(compaction="none"), window=3_000) as session:
        await said(session, *[f"Question {n}: " + "what about src/main.py? " * 90 for n in range(6)])
        await session.switcher.apply_settings(settings)
        await session.compact()
        await session.edits.undo()
        lens, usage = lens_of(session), session.state.usage
        assert usage is not None and usage.share <= 1 and usage.current_tokens == lens.reading.current_tokens
        assert session.state.not_sent == sum(each.why == "does not fit" for each in lens.left) > 0


async def test_after_a_compaction_that_failed_the_gauge_shows_what_fits(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "a long answer about src/main.py " * (300 if "last" in str(messages[-1]) else 60)

    monkeypatch.setattr(ModelSummaries, "write", lambda *_: 1 / 0)
    environment = environment_for(home, ScriptedModel(script, window=3_000))
    environment.settings = QUIET
    session = await Session.start(environment, "scripted")
    await said(session, "One?", "Two?", "Three?", "The last?")
    lens, usage, (failed,) = (
        lens_of(session),
        session.state.usage,
        facts(list(session.state.timeline), CompactionComplete),
    )
    assert not failed.success and usage is not None and usage.share <= 1
    assert usage.current_tokens == lens.reading.current_tokens and session.state.not_sent
    await session.close()
    environment.store.close()


async def test_what_is_to_be_summarised_is_the_same_in_the_request_and_among_the_policies(home: Path) -> None:
    for words in range(40, 80, 3):  # with some, the restored history no longer fits
        async with opened(home / str(words), Asked(), QUIET, window=3_000) as session:
            await said(session, *[f"Question {n}: " + "what about src/main.py? " * words for n in range(12)])
            await session.compact()
            await session.edits.undo(None)
            lens, seen = lens_of(session), outlook(source_of(session.history, session.settings))
            if any(each.why == "does not fit" for each in lens.left) and not lens.is_compacted_first:
                assert sum(each.judgement.goes_next for each in lens.messages) == seen.summarised == 0
                assert Fate.TO_BE_SUMMARISED not in {each.judgement.fate for each in lens.messages}
                return
    pytest.fail("it always fits, or is always compacted first")


@pytest.mark.parametrize(
    ("policy", "fate", "why"),
    [
        ("co-cli", Fate.TRIMMED, "Only its beginning is kept: 2,"),
        ("balanced", Fate.TRIMMED, "Only its beginning and end are kept: 30,000 of "),
        ("inkeep", Fate.ARCHIVED, "The model sees a reference"),
    ],
)
async def test_each_message_says_what_becomes_of_it_and_why(home: Path, policy: str, fate: Fate, why: str) -> None:
    async with opened(home, Asked(), LOADED[policy]) as session:
        await said(session, "read it")
        result = next(each for each in lens_of(session).messages if each.kind is Kind.TOOL_RESULT)
        assert (result.judgement.fate, result.role) == (fate, "tool") and result.judgement.why.startswith(why)
        assert result.ref is not None and LARGE.startswith(result.text[:20] if policy != "inkeep" else "line")
        await session.edits.pin([result.ref])
        pinned = next(each for each in lens_of(session).messages if each.kind is Kind.TOOL_RESULT)
        assert pinned.judgement.fate is Fate.PINNED and pinned.text == LARGE, "and no stage makes it smaller"
        agrees(session, lens_of(session))
        assert {each.kind for each in lens_of(session).messages} >= {Kind.SYSTEM, Kind.TOOLS, Kind.USER, Kind.TOOL_CALL}


async def test_while_a_tool_runs_its_call_is_the_last_message_and_the_total_is_the_gauges(home: Path) -> None:
    model, seen = Asked(), list[Lens]()

    def read_large() -> str:
        """Read it all."""
        seen.append(lens_of(session))
        return LARGE

    environment = environment_for(home, ScriptedModel(model.script, window=60_000), tools=[read_large])
    environment.settings = LOADED["co-cli"]
    session = await Session.start(environment, "scripted")
    try:
        await said(session, "Hello", "read it")
        (lens,) = seen
        assert lens.messages[-1].kind is Kind.TOOL_CALL and lens.messages[-1].text == "read_large {}"
        assert lens.messages[-2].judgement.why == "The current prompt is always kept."
        assert sum(each.tokens for each in lens.messages) == lens.reading.current_tokens
        shown = plain([each.message for each in lens.messages])
        assert shown == plain(model.requests[-1])[: len(shown)], "its result is what follows"
    finally:
        await session.close()
        environment.store.close()


async def test_what_goes_with_every_request_can_be_read_by_another_process(home: Path) -> None:
    async with opened(home, Asked(), LOADED["balanced"]) as session:
        await said(session, "read it")
        folder = locate({"CO_TUI_HOME": str(home)}).session(session.id)
        kept, sent = ScaffoldFile(folder).read(), session.history.scaffold
        assert kept is not None and (kept.instructions, kept.tools_tokens) == (sent.instructions, sent.tools_tokens)
        lens = read_lens(stored_source(session.state, session.settings)._replace(scaffold=kept))
        tools = next(each for each in lens.messages if each.kind is Kind.TOOLS)
        assert "read_large\nRead it all." in tools.text and lens.messages[0].text == sent.instructions
        (file,) = folder.glob("*.json")
        assert file.stat().st_mode & 0o077 == 0
        file.write_text('{"tools": 7}')
        assert ScaffoldFile(folder).read() is None and ScaffoldFile(None).read() is None


async def test_what_the_next_compaction_summarises_is_what_it_then_replaces(home: Path) -> None:
    async with opened(home, Asked(), LOADED["balanced"], window=8_500) as session:
        await said(session, *[f"Question {n}: " + "what about src/main.py? " * 60 for n in range(5)])
        lens = lens_of(session)
        going = {each.ref for each in lens.messages if each.judgement.goes_next}
        assert going and {each.judgement.fate for each in lens.messages if each.ref in going} == {Fate.TO_BE_SUMMARISED}
        while not session.state.compactions:
            lens = lens_of(session)
            going = {each.ref for each in lens.messages if each.judgement.goes_next}
            await said(session, "More? " + "what about src/other.py? " * 60)
        replaced = set(session.state.compactions[0].fact.replaced)
        assert going <= replaced, "and what came since"
        after = lens_of(session)
        assert {each.ref for each in after.left} == replaced and {each.why for each in after.left} == {"summarised"}
        summary = next(each for each in after.messages if each.kind is Kind.SUMMARY)
        assert f"Replaces {len(replaced):,} earlier messages." == summary.judgement.why
        agrees(session, after)


async def test_what_came_back_is_a_row_of_its_own_that_says_from_where(home: Path) -> None:
    model = Asked()
    policy = LOADED["balanced"].but(recollection_share=0.03, summary_by="code")
    async with opened(home, model, policy, window=8_500) as session:
        row = "In src/{0}_{1}.py line {2} sets {0}_price_{1}_{2} = total_{2}(item_{1}_{2})."
        for n, part in enumerate(("cart", "order", "stock", "tax", "mail", "login")):
            await said(session, "\n".join(row.format(part, n, line) for line in range(30)))
        await session.compact()
        await said(session, "What is stock_price_2_17 in src/stock_2.py?")
        lens, fact = lens_of(session), session.state.recollection
        assert fact is not None and fact.sources, "lines restored"
        agrees(session, lens)
        place = next(n for n, each in enumerate(lens.messages) if each.kind is Kind.RECOLLECTED)
        note, asked = lens.messages[place], lens.messages[place + 1]
        assert (
            asked.text == "What is stock_price_2_17 in src/stock_2.py?" and asked.judgement.fate is not Fate.RECOLLECTED
        )
        assert note.text == fact.note and note.judgement.fate is Fate.RECOLLECTED and note.role == "user"
        assert note.tokens == lens.tokens_by_kind[Kind.RECOLLECTED] > asked.tokens > 0
        said_in = [session.state.entry(ref) for ref in fact.sources]
        assert all(str(each.seq) in note.judgement.why for each in said_in if each)
        turns = note.judgement.why.partition(" From turn ")[2].partition(":")[0]
        assert "3" in turns.split(", "), note.judgement.why
        assert lens.total_json()["messages"] == len(session.state.history), "it is no message of its own"
        before = len(model.requests)
        await said(session, "ok?")
        assert plain([each.message for each in lens.messages]) == plain(model.requests[before])[:-1]


async def test_what_left_since_the_last_look_is_reported_with_where_it_is(home: Path) -> None:
    looks = LastViewFile(home)
    async with opened(home, Asked(), LOADED["inkeep"]) as session:

        def seen() -> Lens:
            lens = read_lens(source_of(session.history, session.settings), looks.read())
            looks.write(lens.as_viewed("2026-01-01T10:00:00+00:00"))
            return lens

        await said(session, "Hello, what is in src/main.py? " * 30, "read it")
        (artifact,) = seen().left
        assert (artifact.why, artifact.turn) == ("archived", 2) and artifact.where.startswith("artifact-")
        assert artifact.tokens > 5_000 and artifact.beginning.startswith("read_large  line 0"), "whole, where it is"
        assert seen().left == [], "it was seen"
        await session.compact()
        lens = seen()
        gone = [each for each in lens.left if each.turn]
        assert {each.why for each in gone} == {"summarised"} and {each.turn for each in gone} <= {1, 2}
        assert gone[0].where == f"checkpoint 1, event {gone[0].ref[0]}" and gone[0].tokens > 100
        assert lens.total_json()["left_tokens"] == sum(each.tokens for each in lens.left) > 0
        assert seen().left == [] and read_lens(source_of(session.history, session.settings)).left == lens.left
        await session.edits.undo()
        assert seen().left == []
        file = home / "last-look.json"
        assert file.stat().st_mode & 0o077 == 0
        file.write_text('{"seq": []}')
        assert looks.read() == NEVER_VIEWED == LastViewFile(None).read()


async def test_a_request_that_failed_is_the_next_one_and_nothing_is_changed_by_looking(
    home: Path, provider: Provider
) -> None:
    talk = Talk(home, provider, Counts(1.7), max_retries=0)
    try:
        await talk.short(2)
        session = talk.session
        assert session is not None
        provider.script = [Reply(status=400, raw='{"error": {"message": "no"}}')]
        assert await session.submit("Is it?") is Outcome.FAILED
        seq, lens = session.state.seq, lens_of(session)
        agrees(session, lens)
        assert lens.messages[-1].text == "Is it?"
        estimate = [each for each in usages(talk) if each.input_tokens is None][-1]
        assert estimate.current_tokens == lens.reading.current_tokens, "what that request was told to be"
        for policy in POLICIES:
            read_lens(source_of(session.history, LOADED[policy], is_own=False))
        assert session.state.seq == seq and lens_of(session) == lens
    finally:
        await talk.close()


@given(total=integers(0, 10**6), weights=lists(floats(0, 10**5), max_size=40))
def test_shares_add_up(total: int, weights: list[float]) -> None:
    shares = apportion(total, weights)
    assert sum(shares) == (total if weights else 0) and len(shares) == len(weights) and min(shares, default=0) >= 0


@pytest.mark.parametrize(
    ("policy", "counts"),
    also_in_a_long_run([("balanced", Counts(1.7, 900))], [("co-cli", Counts(0.5)), ("copilot", Counts(2.5))]),
    ids=str,
)
async def test_the_total_is_the_gauges_however_the_provider_counts(
    home: Path, provider: Provider, policy: str, counts: Counts
) -> None:
    talk = Talk(home, provider, counts)
    talk.environment.settings = LOADED[policy]

    async def check() -> None:
        session = talk.session
        assert session is not None
        lens = lens_of(session)
        agrees(session, lens)
        source = source_of(session.history, session.settings, is_own=False)
        computed = read_lens(source).reading.current_tokens
        assert computed == pytest.approx(lens.reading.current_tokens, abs=2), "worked out anew, it is the same"
        meter, before = session.history.governor.meter.copied(), len(usages(talk))
        recollected = session.state.recollection
        await talk.short(1)
        first = usages(talk)[before]
        came_back = session.state.recollection is not recollected
        if not lens.due and not came_back and first.messages_count == lens.reading.messages_count + 1:
            prompt = meter.tokens(session.history.messages[-2])
            assert first.current_tokens == pytest.approx(computed + prompt, abs=2), "the next request's own estimate"

    try:
        await talk.short(2)
        await check()
        await talk.tools(2, lines=60)
        await check()
        await talk.paste(80)
        await check()
        await talk.does(lambda session: session.compact())
        await check()
        await talk.does(lambda session: session.edits.rewind(2))
        await check()
        await talk.does(lambda session: session.edits.undo())
        await check()
    finally:
        await talk.close()


def usages(talk: Talk) -> list[UsageInfo]:
    with talk.environment.store.reading() as reading:
        return facts(list(reading.events(talk.session_id)), UsageInfo)
