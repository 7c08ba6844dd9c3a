"""Hints appear at the right moment, one at a time, and disappear."""

import json
from pathlib import Path

from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, type_text, until
from tests.support.waiting import HANGING_S

SIDE = "F4 shows context usage"
FOLDS = "Ctrl+O expands tool output"


async def test_a_hint_goes_with_the_next_prompt_and_for_good_once_it_was_heeded(home: Path, provider: Provider) -> None:
    kept = home / "state" / "hints.json"
    async with running(launch_for(home, provider), size=(80, 24)) as (app, pilot):
        assert "Work with agents" in screen_text(app)
        await ask(app, pilot, "hello")
        assert transcript_text(app).count(SIDE) == 1 and "Work with agents" not in screen_text(app)
        provider.script = [Reply(tool=("list_directory", '{"path": "."}')), Reply(text="Nothing there.")]
        provider.default = Reply(text="Yes.")
        await ask(app, pilot, "what is here?")
        assert SIDE not in transcript_text(app) and transcript_text(app).endswith(f"{FOLDS}.")
        await until(pilot, lambda: kept.exists() and json.loads(kept.read_text()).get("side") == 1)
        await pilot.press("f4")
        await until(pilot, lambda: json.loads(kept.read_text()).get("side") == 99)
        app.run_command("folds", "")
        await until(pilot, lambda: FOLDS not in transcript_text(app))  # what was heeded has been said
    async with running(launch_for(home, provider), size=(80, 24)) as (app, pilot):
        await ask(app, pilot, "hello again")
        assert SIDE not in transcript_text(app)
        provider.default = Reply(wait_s=HANGING_S)
        await type_text(pilot, "and now?\n")
        await until(pilot, lambda: app.controller.busy)
        await pilot.press("escape")
        await until(pilot, lambda: "F9 continues" in transcript_text(app))
