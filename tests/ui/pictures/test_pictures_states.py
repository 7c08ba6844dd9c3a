"""The main screen in its states, as pictures: questions, what is being done, what went wrong, what is looked at."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.events import (
    CompactionComplete,
    CompactionUndone,
    Event,
    Fact,
    Message,
    SessionError,
    SessionInterrupted,
    SessionStart,
    StreamDelta,
    ToolActivity,
    Truncation,
    UsageInfo,
)
from co_tui.exchange.importers import default_folders
from co_tui.exchange.intake import import_files
from co_tui.exchange.intake.import_files import FileImport
from co_tui.session.approvals.questions import CompactionQuestion, SummaryQuestion
from co_tui.session.queue import WaitingPrompt
from co_tui.store.store_errors import SessionAbandoned, SessionBusy, SessionOfAnother
from co_tui.trust import TrustRequest
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.chat.transcript_feed import QUEUED, STEERING, WaitingShown
from co_tui.ui.control import import_offer
from co_tui.ui.control.dialog_questions import DialogQuestions
from co_tui.ui.control.hints import COMPACTED, FOLDS, Hints
from co_tui.ui.control.resume_questions import ResumeQuestions
from co_tui.ui.control.trust_question import ask_for_trust
from co_tui.ui.gauge import gauge_widget
from co_tui.ui.prompt import prompt_status
from co_tui.ui.prompt.queue_screen import QueueScreen
from co_tui.ui.timeline.timeline_widget import Timeline
from tests.support.installed import without_the_embedded_model
from tests.support.pictures import Pictures, Scene, Stored, logged
from tests.support.provider import Provider
from tests.support.screen import launch_for, screen_text, until
from tests.ui.pictures.test_pictures import Frozen, shown


class AskedWhenNeeded(Frozen):
    """Asks nothing by itself."""

    def folder_changed(self) -> None:
        pass


def asking(question: Callable[[Any], Coroutine[Any, Any, object]]) -> Scene:
    """A question above the prompt, once the one before it is gone."""

    async def scene(pilot: Pilot[None]) -> None:
        app: Any = pilot.app
        await shown(pilot)
        await withdrawn(pilot)
        app.asking = asyncio.create_task(question(app))
        await until(pilot, lambda: app.chat.query(QuestionPanel))
        panel = app.chat.query_one(QuestionPanel)
        await until(pilot, lambda: panel.has_focus or panel.question.waits)

    return scene


async def withdrawn(pilot: Pilot[None]) -> None:
    """Until nothing is asked any more."""
    app: Any = pilot.app
    if hasattr(app, "asking"):
        app.asking.cancel()
    for panel in app.chat.query(QuestionPanel):
        app.chat.end_question(panel)
    await until(pilot, lambda: not app.chat.query(QuestionPanel))


WISH = TrustRequest(
    file=Path("/clones/new-thing/.co-tui.toml"),
    requested={
        "model": "openai:gpt-6-sol",
        "hooks": {"preCompact": ["make notes"]},
        "mcp_servers": {"search": {"command": "npx some-server"}},
    },
)


async def trust(app: Any) -> None:
    ask_for_trust(app, app.chat, app.controller)


def resuming(app: Any) -> ResumeQuestions:
    return ResumeQuestions(DialogQuestions(app, app.chat).choose)


async def another_folder(app: Any) -> None:
    await resuming(app).folder("/srv/shop", "anthropic:claude-sonnet-5", Path("/srv/garden"))


async def open_elsewhere(app: Any) -> None:
    await resuming(app).elsewhere(SessionBusy("It is open.", "4711"))


async def left_open(app: Any) -> None:
    until = datetime(2026, 3, 1, 12, 3).astimezone()
    await resuming(app).elsewhere(SessionAbandoned("It was not closed.", "blue-laptop", until))


async def of_another(app: Any) -> None:
    await resuming(app).elsewhere(SessionOfAnother("It is shared.", "alice"))


async def another_model(app: Any) -> None:
    why = "anthropic:claude-sonnet-5 needs a key. Run `co-tui login anthropic`."
    await resuming(app).another_model("anthropic:claude-sonnet-5", why, EMBEDDED)


async def may_compact(app: Any) -> None:
    question = CompactionQuestion(trigger="background", messages=32, share=0.81)
    await DialogQuestions(app, app.chat).may_compact(question)


async def review(app: Any) -> None:
    await DialogQuestions(app, app.chat).review(SummaryQuestion(summary="## Decisions\n- " + "word " * 180))


async def test_questions(pictures: Pictures, home: Path, provider: Provider) -> None:
    asked = (trust, another_folder, open_elsewhere, left_open, of_another, another_model, may_compact, review)
    scenes = {question.__name__.replace("_", " "): asking(question) for question in asked}
    launch = launch_for(home, provider)
    await pictures.of_each(AskedWhenNeeded(launch.but(loaded=launch.loaded.but(withheld=WISH))), scenes)


class FirstStart(Stored):
    events: Sequence[Event] = ()


async def test_embedded_model(pictures: Pictures, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_the_embedded_model(monkeypatch)

    async def fetch(fetched: Path, environ: object, progressed: Callable[[float], None]) -> None:
        progressed(0.42)
        await asyncio.Event().wait()

    monkeypatch.setattr("co_tui.agent.local.embedded_fetch.fetch", fetch)

    async def offered(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "No model yet" in screen_text(pilot.app))
        await until(pilot, lambda: pilot.app.chat.query_one(QuestionPanel).has_focus)

    async def fetching(pilot: Pilot[None]) -> None:
        await pilot.press("f")
        await until(pilot, lambda: "42 %" in screen_text(pilot.app))
        await until(pilot, lambda: pilot.app.chat.query_one(QuestionPanel).has_focus)

    await pictures.of_each(FirstStart(launch_for(home)), {"offered": offered, "fetching": fetching})


async def test_import_offer(
    pictures: Pictures, home: Path, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"claude-code": [tmp_path / f"{number}.jsonl" for number in range(312)], "codex": [tmp_path / "x"] * 40}
    monkeypatch.setattr(default_folders, "files_of_all", lambda environ, home: found)
    monkeypatch.setattr(import_files, "import_files", lambda store, files: iter(map(FileImport, files[:130])))
    waiting = import_offer.in_thread

    async def up_to_there(work: Callable[..., Any], *args: Any) -> Any:
        done = await waiting(work, *args)
        return done if done is not None else await asyncio.Event().wait()

    monkeypatch.setattr(import_offer, "in_thread", up_to_there)

    async def offered(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "on this machine" in screen_text(pilot.app))
        await until(pilot, lambda: pilot.app.chat.query_one(QuestionPanel).has_focus)

    async def importing(pilot: Pilot[None]) -> None:
        await pilot.press("i")
        await until(pilot, lambda: "130 of 352 files" in screen_text(pilot.app))
        await until(pilot, lambda: pilot.app.chat.query_one(QuestionPanel).has_focus)

    launch = launch_for(home, provider, environ={"HOME": str(tmp_path)})
    await pictures.of_each(FirstStart(launch), {"offered": offered, "importing": importing})


class Clock:
    """Shows what it is set to."""

    now = 1_000.0

    def monotonic(self) -> float:
        return self.now


def hear(app: Any, *facts: Fact) -> None:
    for fact in facts:
        app.chat.apply_event(
            Event(session_id="s", seq=None, timestamp="2026-01-01T14:30:00", fact=fact), app.controller.state
        )


async def test_what_is_being_done(
    pictures: Pictures, home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(prompt_status, "time", clock)
    monkeypatch.setattr(prompt_status, "SKIPPED", 1)
    monkeypatch.setattr(gauge_widget, "MOVE_S", 1e9)
    waiting = [
        WaitingPrompt(1, "and then run the whole suite", held=False),
        WaitingPrompt(
            2, "Write down in the changelog what was wrong, and since which release people had it.", held=False
        ),
    ]

    async def asked(pilot: Pilot[None]) -> None:
        await shown(pilot)
        pilot.app.chat.set_busy(True)
        clock.now += 2

    async def answering(pilot: Pilot[None]) -> None:
        hear(pilot.app, StreamDelta(turn=2, part=0, kind="text", text="You are welcome. The same mistake is made in "))
        clock.now += 12
        hear(
            pilot.app,
            StreamDelta(
                turn=2, part=0, kind="text", text="`tests/test_logout.py`: " + "it opens the store early. " * 9
            ),
        )

    async def silent(pilot: Pilot[None]) -> None:
        clock.now += 9

    async def tool(pilot: Pilot[None]) -> None:
        call = '{"command": "uv run pytest -x tests/test_logout.py"}'
        started = ToolActivity(turn=2, stage="started", tool_name="run_command", tool_call_id="c9", text=call)
        hear(
            pilot.app,
            StreamDelta(turn=2, part=1, kind="tool_call", tool_name="run_command", tool_call_id="c9", text=call),
            started,
        )
        clock.now += 6
        told = [WaitingShown(waiting[0].text, STEERING), WaitingShown(waiting[1].text, QUEUED)]
        pilot.app.chat.show_waiting(told)

    async def queue(pilot: Pilot[None]) -> None:
        class Queue:
            prompts = tuple(waiting)

        await pilot.app.push_screen(QueueScreen(Queue()))

    scenes = {"asked": asked, "answering": answering, "silent": silent, "tool": tool, "queue": queue}
    await pictures.of_each(Frozen(launch_for(home, provider)), scenes)


def said(kind: str, part: str, text: str, turn: int = 1) -> Message:
    return Message(turn=turn, message={"kind": kind, "parts": [{"part_kind": part, "content": text}]})


def troubled() -> list[Event]:
    usage = UsageInfo(
        token_limit=8_192, current_tokens=8_000, messages_count=9, system_tokens=400, conversation_tokens=7_600,
        tool_definition_tokens=0, limit_known=False, measured="estimate",
    )  # fmt: skip
    compacted = CompactionComplete(
        success=True, trigger="manual", pre_tokens=6_100, post_tokens=2_300, pre_messages=8, post_messages=3,
        tokens_removed=3_800, messages_removed=5, replaced=tuple((2, n) for n in range(6)), summary="- It rains.",
        replacement=({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "[Summary] It rains."}]},),
        summarised_by="offline", checkpoint_number=1, duration_ms=40, note="the model's summary repeated itself",
    )  # fmt: skip
    facts = [
        SessionStart(model="openai-chat:scripted", policy="balanced", branch="main"),
        said("request", "user-prompt", "What is the weather in Bern, and will it stay so until the weekend?"),
        said("response", "text", "It rains."),
        compacted,
        CompactionUndone(compaction_seq=4, what="compaction", history=((2, 0), (3, 0))),
        said("request", "user-prompt", "And tomorrow?", 2),
        SessionError(
            what="openai-chat:scripted is rate limiting: Rate limit reached for requests.", kind="rate_limit",
            outcome="retrying in 8 s", attempt=1, attempts=4, retry_in_s=8.0,
        ),
        SessionError(
            what="openai-chat:scripted rejected the key in OPENAI_API_KEY: Incorrect API key provided. "
            "Set the right key and restart co-tui, or choose another model with /model or --model.",
            outcome="the turn ended", kind="authentication", status=401,
        ),
        said("request", "user-prompt", "And the day after?", 3),
        SessionError(
            what="Cannot reach openai-chat:scripted at http://127.0.0.1:9/v1: connection refused. Is the server "
            "running, and is base_url or OPENAI_BASE_URL right?",
            outcome="the turn ended", kind="unreachable",
        ),
        said("request", "user-prompt", "On Friday?", 4),
        Truncation(
            pre_tokens=8_000, post_tokens=6_900, pre_messages=9, post_messages=7, tokens_removed=1_100,
            messages_removed=2, performed_by="balanced",
        ),
        SessionInterrupted(what="stopped by you", outcome="partial reply kept"),
        usage,
    ]  # fmt: skip
    return logged(facts)


class Troubled(Stored):
    events = troubled()


async def test_what_went_wrong(pictures: Pictures, home: Path, provider: Provider) -> None:
    async def told(pilot: Pilot[None]) -> None:
        await shown(pilot)
        retry = SessionError(
            what="openai-chat:scripted is rate limiting: Rate limit reached for requests.", outcome="trying again",
            kind="rate_limit", attempt=2, attempts=4, retry_in_s=8.0,
        )  # fmt: skip
        hear(pilot.app, retry)
        pilot.app.chat.feed.note(
            "The disk with /home/ada/.local/share/co-tui is full. Nothing is saved until there is space.",
            "error",
        )

    async def timeline(pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+l")
        await until(pilot, lambda: pilot.app.chat.query_one(Timeline).has_focus)

    async def filtered(pilot: Pilot[None]) -> None:
        await timeline(pilot)  # another size may have hidden it
        await pilot.press("f", "f")

    await pictures.of_each(
        Troubled(launch_for(home, provider)), {"told": told, "timeline": timeline, "filtered": filtered}
    )


async def test_what_is_looked_for_and_pointed_out(pictures: Pictures, home: Path, provider: Provider) -> None:
    async def hints(pilot: Pilot[None]) -> None:
        await shown(pilot)
        told = Hints(pilot.app.chat, pilot.app.launch.paths.hints, dict)
        for hint in (FOLDS, COMPACTED):
            pilot.app.chat.feed.note(told._wording(hint))
        pilot.app.notify("Draft cleared. ↑ or Ctrl+Z brings it back.", timeout=1e6)

    async def found(pilot: Pilot[None]) -> None:
        pilot.app.clear_notifications()
        await pilot.press("ctrl+f", *"store")
        await until(pilot, lambda: " of 2" in screen_text(pilot.app))

    async def nothing_found(pilot: Pilot[None]) -> None:
        await pilot.press("x")
        await until(pilot, lambda: "nothing found" in screen_text(pilot.app))

    scenes = {"hints": hints, "found": found, "nothing found": nothing_found}
    await pictures.of_each(Frozen(launch_for(home, provider)), scenes)
