"""A call that fails again and again, on the screen."""

from pathlib import Path

from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, screen_text, transcript_text, until
from tests.ui.chat.test_working import call


@only_in_a_long_run
async def test_the_same_failing_call_stops_the_turn_with_the_key_that_continues(home: Path, provider: Provider) -> None:
    provider.window = 60_000
    provider.script = [call("read_file", file="login.py")] * 5 + [Reply(text="all done")]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("look")
        await until(pilot, lambda: "same call failed" in screen_text(app) and app.controller.idle)
        seen = " ".join(transcript_text(app).split())
        assert "F9 continues, or type a correction." in seen and "Cannot read" not in seen
        await pilot.press("f9")
        await until(pilot, lambda: "all done" in screen_text(app) and app.controller.idle)
