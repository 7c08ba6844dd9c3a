"""A private window: everything works in it, and nothing is kept."""

from pathlib import Path

from co_tui.store.sqlite.in_memory import InMemoryStore
from tests.headless.test_private import MARKER, traces
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, type_text, until
from tests.support.talks import GOOD, LONG


async def test_a_private_window_compacts_undoes_exports_and_leaves_nothing(home: Path, provider: Provider) -> None:
    provider.default, provider.summary, provider.window = LONG, GOOD, 32_000
    launch = launch_for(home, provider).but(store=InMemoryStore(), private=True)
    async with running(launch) as (app, pilot):
        assert " private · " in screen_text(app).split("\n")[0]
        for number in range(3):
            await ask(app, pilot, f"What about {MARKER}_{number} in src/module.py? " + "more words " * 30)
        await type_text(pilot, "/compact\n")
        await until(pilot, lambda: app.controller.state.compactions)
        await type_text(pilot, "/session checkpoints\n")
        await until(pilot, lambda: "in memory/001-function-talk.md" in transcript_text(app))
        await type_text(pilot, "/undo\n")
        await until(pilot, lambda: not app.controller.state.rewrites)
        await type_text(pilot, "/subconscious run\n")
        await until(pilot, lambda: "This session is private" in transcript_text(app))
        first = app.controller.session_id
        await type_text(pilot, "/fork\n")
        await until(pilot, lambda: app.controller.session_id != first and app.controller.idle)
        await type_text(pilot, "/export talk.md\n")
        await until(pilot, (home.parent / "talk.md").exists)
        assert MARKER in (home.parent / "talk.md").read_text()
        app.chat.prompt.insert(f"half a prompt about {MARKER}")
        await pilot.pause(1.2)  # a draft would be saved by now
    assert not app.controller.resume_hint
    assert not traces(home)
