"""`/export`: the same exports as on the command line, from inside the app."""

from pathlib import Path

from co_tui.exchange.importers import load
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, transcript_text, type_text, until


async def test_the_session_is_written_where_it_was_asked_for(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/export\n")
        await until(pilot, lambda: "No session yet" in transcript_text(app))
        await ask(app, pilot, "one")
        cwd, session_id = app.launch.cwd, app.controller.session_id
        await type_text(pilot, "/export jsonl\n")
        await until(pilot, lambda: (cwd / f"co-tui-{session_id}.jsonl").exists())
        (cwd / f"co-tui-{session_id}.md").symlink_to(cwd / "nowhere.md")
        (cwd / f"co-tui-{session_id}-2.md").write_text("mine")
        await type_text(pilot, "/export\n")
        await until(pilot, lambda: f"co-tui-{session_id}-3.md" in transcript_text(app).replace("\n", ""))
        assert (cwd / f"co-tui-{session_id}-3.md").read_text().startswith("#")
        assert (cwd / f"co-tui-{session_id}-2.md").read_text() == "mine" and not (cwd / "nowhere.md").exists()
        (again,) = load(cwd / f"co-tui-{session_id}.jsonl")
        assert again.session_id == session_id and len(again.messages) == 2
        await type_text(pilot, "/export my page.html\n")
        await until(pilot, lambda: "Exported to" in transcript_text(app) and (cwd / "my page.html").exists())
        assert (cwd / "my page.html").read_text().startswith("<!doctype html>")
        (cwd / "kept.md").write_text("mine")
        await type_text(pilot, "/export kept.md\n")
        await until(pilot, lambda: len(app.screen_stack) > 1)
        await pilot.press("n")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert (cwd / "kept.md").read_text() == "mine"
        await type_text(pilot, "/export pdf\n")
        await until(pilot, lambda: "Unknown format 'pdf'" in transcript_text(app))
        assert not (app.launch.cwd / "pdf").exists()
        await type_text(pilot, "/export nowhere/at/all/\n")
        await type_text(pilot, f"/export {home}\n")
        await until(pilot, lambda: "is a folder. Name a file" in transcript_text(app))
