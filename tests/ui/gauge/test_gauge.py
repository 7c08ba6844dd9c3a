"""The gauge shows what fills the window, names the mark of the policy in force, and forecasts from the pace."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage
from rich.console import Console
from rich.style import Style
from rich.text import Text

from co_tui.agent.models.prices import price_of, saved_by_cache
from co_tui.context.compact.thresholds import Thresholds, thresholds_of
from co_tui.context.policy import policy_of
from co_tui.events import Event, Message, StreamDelta, StreamReset, UsageInfo
from co_tui.session.event_wording import cost_text
from co_tui.session.session import Session
from co_tui.session.state.context_report import context_report
from co_tui.session.state.derive import apply, replay
from co_tui.session.state.pace import Fill
from co_tui.session.state.session_state import SessionState
from co_tui.store.stored_values import SessionRow
from co_tui.ui.control.stored_transcript import StoredTranscript
from co_tui.ui.gauge.gauge_reading import GaugeReading, reading_of
from co_tui.ui.gauge.gauge_widget import MARKER, Gauge, MiniGauge, StreamedReply, bar_cells, cells_by_part, sparkline
from co_tui.ui.sessions.session_finder import Previewed
from co_tui.ui.sessions.session_preview import PreviewLook, preview_text
from tests.context.request.test_pipeline import LOADED
from tests.support.environments import ScriptedModel, environment_for, says
from tests.support.here import Here
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, until
from tests.support.stores import listed, stored_events
from tests.support.talks import LONG, talk, talking

LIMIT = 100_000


def usage(tokens: int, messages: int = 10) -> UsageInfo:
    return UsageInfo(
        token_limit=LIMIT, current_tokens=tokens, messages_count=messages,
        system_tokens=0, conversation_tokens=tokens, tool_definition_tokens=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "outlook"),
    [
        ("balanced", "compacts at 80 %, ≈ 25 turns"),
        ("copilot", "compacts at 80 %, ≈ 25 turns"),
        ("inkeep", "compacts at 50 %, ≈ 10 turns"),
        ("co-cli", "compacts over 40 messages, ≈ 8 turns"),
        ("cowagent", "compacts over 20 turns, ≈ 5 turns"),
        ("off", "never compacts"),
    ],
)
def test_each_policy_has_its_own_mark(policy: str, outlook: str) -> None:
    reading = GaugeReading(
        usage(20_000, messages=12),
        tokens_per_turn=2_400,
        messages_per_turn=4,
        turns=16,
        marks=thresholds_of(policy_of(LOADED[policy]), LIMIT),
    )
    if policy == "inkeep":
        reading = reading._replace(tokens_per_turn=3_000)
    assert reading.outlook == outlook


def test_before_anything_is_measured_the_gauge_says_what_is_true() -> None:
    assert reading_of(SessionState(), LOADED["balanced"]).empty_text == "Nothing sent yet."
    said = [Message(turn=1, message={"kind": "request", "parts": []})] * 2
    imported = replay(Event(session_id="s", seq=n, timestamp="t", fact=fact) for n, fact in enumerate(said, 1))
    reading = reading_of(imported, LOADED["balanced"])
    assert reading.empty_text == "Not measured yet: 2 messages in context. The next request counts them."
    assert reading.short_empty_text == "context: 2 messages, not measured yet"


def test_marks_are_drawn_once_the_window_is_known() -> None:
    gauge = Gauge()
    gauge.style_of = lambda level: Style()  # type: ignore[method-assign] # the colours need an app
    gauge.set_reactive(Gauge.reading, reading_of(SessionState(), LOADED["balanced"]))
    assert MARKER not in gauge.bar(30).plain, "where they are depends on the window"
    gauge.set_reactive(Gauge.reading, gauge.reading._replace(usage=usage(1_000)))
    assert gauge.bar(30).plain.count(MARKER) == 2


@pytest.mark.parametrize("policy", ["balanced", "off"])
def test_the_colour_changes_as_a_mark_is_reached(policy: str) -> None:
    colours = {"normal": "green", "warning": "yellow", "error": "red", "mark": "white", "muted": "blue"}
    marks = thresholds_of(policy_of(LOADED[policy]), LIMIT)
    seen = []
    for tokens in (79_999, 80_000, 94_999, 95_000):
        for gauge in (Gauge(), MiniGauge()):
            gauge.style_of = lambda level: Style(color=colours[level])  # type: ignore[method-assign]
            gauge.set_reactive(Gauge.reading, GaugeReading(usage(tokens), marks=marks))
            drawn = gauge.render()
            seen.append((gauge.reading.level, drawn_in(drawn, "▒"), drawn_in(drawn, gauge.reading.percent)))
    levels = [("normal", "green"), ("warning", "yellow"), ("warning", "yellow"), ("error", "red")]
    assert seen == [(level, colour, colour) for level, colour in levels for _ in range(2)]


def drawn_in(text: Text, words: str) -> str:
    """The colour of the first of these words."""
    style = text.get_style_at_offset(Console(), text.plain.index(words))
    return style.color.name if style.color is not None else ""


def test_the_nearest_mark_is_named() -> None:
    cowagent = policy_of(LOADED["cowagent"])
    reading = GaugeReading(usage(49_000), tokens_per_turn=1_000, turns=3, marks=thresholds_of(cowagent, LIMIT))
    assert reading.outlook == "compacts at 50 %", "one turn alone says little about the next"
    assert reading._replace(recent=((1_000, 2), (1_200, 2))).outlook == "compacts at 50 %, next turn"
    assert reading._replace(recent=((300, 2), (1_200, 2))).outlook == "compacts at 50 %, 1–4 turns"
    assert reading._replace(recent=((0, 2), (1_200, 2))).outlook == "compacts at 50 %"
    assert reading._replace(tokens_per_turn=1.0, turns=0).outlook == "compacts over 20 turns, ≈ 21 turns"
    far = GaugeReading(usage(20_000), tokens_per_turn=1.0, marks=thresholds_of(policy_of(LOADED["copilot"]), LIMIT))
    assert far.outlook == "compacts at 80 % (100+ turns left)"
    small = thresholds_of(cowagent, 20_000)
    assert small.share == 1.0, "a budget beyond the window is the window"


@only_in_a_long_run
async def test_a_rewrite_is_no_growth_and_the_pace_continues(home: Path, provider: Provider) -> None:
    provider.default, provider.window = LONG, 100_000
    async with talking(home, provider) as session:
        await talk(session, 4)
        pace = session.state.pace.tokens_per_turn
        for rewrite in (session.compact, session.edits.undo, lambda: session.edits.rewind(3), session.edits.clear):
            await rewrite()
            assert session.state.pace.tokens_per_turn == pytest.approx(pace, rel=0.25)
            await talk(session, 3)
            assert session.state.pace.tokens_per_turn == pytest.approx(pace, rel=0.25)
            assert session.state.pace.messages_per_turn == pytest.approx(2, rel=0.2)
        replayed = replay(stored_events(home, session.id))
        readings = [reading_of(state, session.settings) for state in (replayed, session.state)]
        assert readings[0] == readings[1], "the same after a resume"
        assert [fill.compacted for fill in replayed.pace.fills].count(True) == 1


def filled(system: int, tools: int, conversation: int) -> UsageInfo:
    total = system + tools + conversation
    return usage(total).but(
        system_tokens=system, tool_definition_tokens=tools, conversation_tokens=conversation, current_tokens=total
    )


@pytest.mark.parametrize(
    ("tokens", "bar"),
    [
        ((0, 0, 0), "░░░░░░░┆░┆"),
        ((100, 0, 0), "█░░░░░░┆░┆"),
        ((10_000, 20_000, 30_000), "█▓▓▒▒▒░┆░┆"),
        ((100, 100, 59_800), "█▓▒▒▒▒░┆░┆"),
        ((0, 0, 100_000), "▒▒▒▒▒▒▒┆▒┆"),
        ((10_000, 10_000, 900_000), "█▓▒▒▒▒▒┆▒┆"),
    ],
)
def test_the_bar_shows_what_fills_it_and_where_the_policy_acts(tokens: tuple[int, int, int], bar: str) -> None:
    assert "".join(cell.symbol for cell in bar_cells(filled(*tokens), (0.8, 0.97), 10)) == bar


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7), st.integers(4, 60))
def test_the_parts_fill_as_much_as_the_whole(system: int, tools: int, conversation: int, width: int) -> None:
    whole = filled(system, tools, conversation)
    cells = cells_by_part(whole, width)
    assert min(cells) >= 0
    assert sum(cells) == (min(width, max(1, round(whole.share * width))) if whole.current_tokens else 0)


def test_the_last_turns_as_small_bars() -> None:
    fills = (Fill(1, 100), Fill(2, 800), Fill(2, 100, compacted=True), Fill(3, 400))
    assert sparkline(fills, 20, 800) == "▂█◆▂▅"
    assert sparkline(fills, 4, 800) == "█◆▂▅"
    assert sparkline(fills, 2, 800) == "▅", "a sign never stands without its turn"
    assert sparkline(fills, 20, 8_000) == "▁▂◆▁▁", "as high as the share of the window"
    assert sparkline((Fill(1, 900),), 2, 800) == "█"
    assert sparkline((), 20, 800) == "" and sparkline((Fill(1, 0),), 5, 0) == "▁"


async def test_one_figure_of_what_a_session_cost(home: Path) -> None:
    priced = ScriptedModel(says("The function in src/module.py returns early, as the tests say."), name="gpt-4o")
    environment = environment_for(home, priced)
    session = await Session.start(environment, "gpt-4o")
    for n in range(3):
        await session.submit(f"Question {n} about src/module.py and the function? " + "more words " * 100)
    await session.compact()
    state = session.state
    assert state.cost > 0 and state.summary_cost > 0 and state.total_cost == state.cost + state.summary_cost
    figures = context_report(state)
    (row,) = listed(home)
    assert figures["cost"] == pytest.approx(row.known_cost, abs=1e-6)
    assert figures["summary_cost"] == pytest.approx(state.summary_cost, abs=1e-6)
    await session.close()
    preview = StoredTranscript(environment.store, session.id).preview_state()
    shown = [reading_of(each, environment.settings) for each in (preview, state)]
    assert [(each.cost, each.summary_cost, each.fills, each.outlook) for each in shown[:1]] == [
        (pytest.approx(shown[1].cost), pytest.approx(shown[1].summary_cost), shown[1].fills, shown[1].outlook)
    ], "before the engine has read the log, too"
    environment.store.close()


def test_what_has_no_price_is_unknown_everywhere(served_here: Here) -> None:
    served_here("run", "-p", "hi")
    (row,) = served_here("sessions", "--json").objects
    (figures,) = served_here("context", row["id"], "--json").objects
    assert row["cost"] is None and figures["cost"] is None
    assert "unknown" in served_here("sessions").out and "cost unknown" in served_here("context", row["id"]).out


def test_what_the_cache_took_off_the_price() -> None:
    def reply(**usage: int) -> ModelResponse:
        return ModelResponse(
            parts=[],
            usage=RequestUsage(input_tokens=100_000, output_tokens=10, **usage),
            model_name="claude-sonnet-4-5",
            provider_name="anthropic",
        )

    paid_in_full = price_of(reply())
    cached = reply(cache_read_tokens=90_000)
    assert paid_in_full and saved_by_cache(cached) == pytest.approx(paid_in_full - (price_of(cached) or 0))
    filling = saved_by_cache(reply(cache_write_tokens=90_000))
    assert filling is not None and filling < 0, "filling the cache costs more than not having one"
    assert saved_by_cache(reply()) is None
    state = SessionState()
    for saved in (filling, saved_by_cache(cached)):
        told = usage(100_000).but(cached_tokens=90_000, cache_saved=saved)
        state = apply(state, Event(session_id="s", seq=state.seq + 1, timestamp="t", fact=told))
    assert state.cached_tokens == 180_000 and 0 < state.cache_saved < (saved_by_cache(cached) or 0)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [(96_000, "past 95 %: almost full"), (100_100, "full"), (108_000, "8 % over: summarised before sending")],
)
def test_more_than_full_is_not_nearly_full(tokens: int, words: str) -> None:
    assert GaugeReading(usage(tokens)).outlook == words
    assert GaugeReading(usage(108_000), marks=Thresholds()).outlook == "8 % over", "nothing is summarised"


def test_the_outlook_has_as_many_words_as_there_is_room() -> None:
    window = GaugeReading(usage(20_000), messages_per_turn=4, marks=thresholds_of(policy_of(LOADED["co-cli"]), LIMIT))
    assert window.outlook_in(40) == "compacts over 40 messages, ≈ 8 turns"
    assert window.outlook_in(32) == "◆ over 40 messages, ≈ 8 turns" and window.outlook_in(12) == "≈ 8 turns"
    share = GaugeReading(
        usage(20_000), tokens_per_turn=10_000, marks=thresholds_of(policy_of(LOADED["balanced"]), LIMIT)
    )
    assert share.outlook_in(23) == "compacts in ≈ 6 turns" and share.outlook_in(9) == "≈ 6 turns"
    soon = share._replace(tokens_per_turn=60_000)
    assert soon._replace(recent=((60_000, 2),)).outlook_in(23) == "compacts next turn"
    assert soon._replace(recent=((30_000, 2),)).outlook_in(23) == "compacts in 1–2 turns"
    assert GaugeReading(usage(96_000)).outlook_in(20) == "almost full"
    assert window._replace(summarising=32).outlook_in(32) == "summarising 32 in the background"
    assert GaugeReading(usage(85_000)).outlook_in(32) == "past 80 %: compacting soon"
    for forms in (window.outlooks, window._replace(summarising=132).outlooks, GaugeReading(usage(119_000)).outlooks):
        assert any(len(form) <= 32 for form in forms), "beside the chat there are so many columns"


def test_a_model_that_runs_here_has_no_unknown_price() -> None:
    here = ("embedded", "gguf:/models/a.gguf", "openai-chat:qwen3@http://127.0.0.1:11434/v1")
    proxy, cloud = "openai-chat:some@http://localhost:4000/v1", "openai-chat:glm:cloud@http://localhost:11434/v1"
    elsewhere = ("openai-chat:some", proxy, cloud, "openai-chat:some@http://192.168.0.7:8000/v1", "openai:gpt-6-sol")
    assert {cost_text(None, model=model) for model in here} == {"nothing"}
    assert {cost_text(None, model=model) for model in elsewhere} == {"unknown"}
    assert cost_text(0.2, model="embedded") == "$0.20", "somebody else answered before"


def test_the_browser_shows_it_as_the_gauge_does() -> None:
    named = dict.fromkeys(("id", "title", "created", "updated", "policy", "cwd", "repository", "branch"), "")
    figures = dict.fromkeys(("last_seq", "turns", "messages", "compactions", "token_limit"), 4)
    row = SessionRow(**named, **figures, model="embedded", tokens=378, cost=0.0)  # type: ignore[arg-type]  # by name
    assert "378 tokens · cost nothing" in preview_text(row, Previewed(), PreviewLook()).plain


async def test_the_gauge_grows_with_a_reply_and_settles_on_the_providers_figure(home: Path, provider: Provider) -> None:
    words = "The moon pulls at the water. " * 40
    provider.window, provider.default = 10_000, Reply(text=words, prompt_tokens=-1, completion_tokens=290, delay_s=0.02)
    async with running(launch_for(home, provider, environ={"CO_TUI_TOOLS": "none"})) as (app, pilot):
        gauge, seen = app.chat.query_one("#gauge", Gauge), list[GaugeReading]()
        gauge.watch(gauge, "reading", lambda reading: seen.append(reading), init=False)
        await ask(app, pilot, "Why are there tides?")
        await until(pilot, lambda: gauge.reading.is_measured)
        amounts = [reading.usage.current_tokens for reading in seen if reading.usage is not None]
        assert len(set(amounts)) > 3 and amounts[:-1] == sorted(amounts[:-1]), "it only grows while the reply comes"
        growing = [reading for reading in seen if reading.usage is not None and not reading.is_measured]
        assert all(reading.amount.startswith("~") for reading in growing)
        assert gauge.reading.usage == app.controller.state.usage, "nothing of the estimate is left"


def test_what_a_delegate_or_a_failed_attempt_streams_does_not_count() -> None:
    reply = StreamedReply()
    assert reply.apply(StreamDelta(turn=1, part=0, kind="text", text="x" * 400), 1.0) and reply.tokens == 100
    assert not reply.apply(StreamDelta(turn=1, part=0, kind="text", text="x" * 400, agent="a"), 2.0)
    assert not reply.apply(StreamDelta(turn=1, part=0, kind="text", text="x" * 40), 1.1), "not for every word"
    assert reply.tokens == 110
    assert reply.apply(StreamReset(turn=1), 1.2) and reply.tokens == 0
    assert GaugeReading(usage(1_000)).with_reply(500).amount == "~1.5k of 100k?"


@pytest.mark.parametrize(
    ("session", "day", "width", "shown"),
    [
        (0.0, 0.0, 30, "$0.42 · summaries $0.03"),
        (1.0, 0.0, 30, "$0.42 of $1.00"),
        (1.0, 5.0, 40, "$0.42 of $1.00 · today $3.10 of $5.00"),
        (1.0, 5.0, 30, "$0.42 · today $3.10 of $5.00"),
        (0.0, 5.0, 30, "$0.42 · today $3.10 of $5.00"),
        (1.0, 5.0, 21, "$0.42 · today $3.10"),
        (1.0, 5.0, 16, "$0.42 of $1.00"),
    ],
)
def test_limits_on_spending_are_shown_as_far_as_there_is_room(
    session: float, day: float, width: int, shown: str
) -> None:
    reading = GaugeReading(cost=0.42, summary_cost=0.03, model="openai:gpt-6-sol")
    limited = reading._replace(most_cost=session, most_day_cost=day, day_cost=3.1 if day else None)
    assert limited.cost_in(width) == shown


def test_a_limit_on_spending_does_not_turn_an_unknown_cost_into_none() -> None:
    reading = GaugeReading(cost=None, model="openai-chat:own", most_cost=1.0)
    assert reading.cost_in(30) == "cost unknown, limit $1.00"


def test_what_a_limit_on_spending_counts_includes_assumed_prices() -> None:
    reading = GaugeReading(cost=0.5, assumed_cost=0.4, model="openai-chat:gpt-4o", most_cost=1.0)
    assert reading.cost_in(30) == "~$0.90 of $1.00"
