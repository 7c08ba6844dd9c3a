"""The model: chosen in the app, and kept until another is chosen."""

from pathlib import Path

from textual.pilot import Pilot

from co_tui.ui.app import CoTui
from co_tui.ui.models.model_list import RecentModels
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import (
    ask,
    launch_for,
    look_in_one_app,
    running,
    screen_text,
    transcript_text,
    type_text,
    until,
)


async def a_model_chosen_before_the_first_prompt_outlives_other_changes(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    await type_text(pilot, "/model openai-chat:other\n")
    await until(pilot, lambda: "Now using openai-chat:other" in transcript_text(app))
    await type_text(pilot, "/config max_retries 2\n")
    await until(pilot, lambda: "Retries: 2 (saved)" in transcript_text(app))
    await type_text(pilot, "/policy co-cli\n")
    await until(pilot, lambda: "Policy is now co-cli" in transcript_text(app))
    title = screen_text(app).splitlines()[0]
    assert "openai-chat:other" in title and "co-cli" in title
    await ask(app, pilot, "hi")
    assert provider.requests[-1]["model"] == "other"
    await pilot.press("f7")
    await until(pilot, lambda: not app.controller.session_id)
    await ask(app, pilot, "hello again")
    assert provider.requests[-1]["model"] == "other", "in the next session, too"


async def test_a_model_written_to_the_settings_replaces_the_one_chosen_before(home: Path, provider: Provider) -> None:
    environ = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test"}
    async with running(launch_for(home, environ=environ)) as (app, pilot):
        await type_text(pilot, "/model openai-chat:other\n")
        await until(pilot, lambda: "Now using openai-chat:other" in transcript_text(app))
        await type_text(pilot, "/config model openai-chat:written\n")
        await until(pilot, lambda: "Model: openai-chat:written (saved)" in transcript_text(app))
        await ask(app, pilot, "hi")
        assert provider.requests[-1]["model"] == "written"


async def the_effort_is_in_the_title_and_config_says_when_the_model_ignores_it(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    await type_text(pilot, "/config reasoning_effort high\n")
    await until(pilot, lambda: "Reasoning effort: high (saved)" in transcript_text(app))
    assert "It is ignored by openai-chat:scripted." in transcript_text(app)
    assert "openai-chat:scripted · balanced" in screen_text(app).splitlines()[0], "it is not asked to think"
    await type_text(pilot, "/config reasoning_effort\n")
    await until(pilot, lambda: "; ignored by openai-chat:scripted" in transcript_text(app))
    await type_text(pilot, "/config reasoning_effort most\n")
    await until(pilot, lambda: "or one of low, medium, high" in transcript_text(app))


async def test_a_model_and_its_effort_are_chosen(home: Path, provider: Provider) -> None:
    await look_in_one_app(
        home,
        provider,
        the_effort_is_in_the_title_and_config_says_when_the_model_ignores_it,
        a_model_chosen_before_the_first_prompt_outlives_other_changes,
    )


async def test_config_says_nothing_of_the_sort_about_a_model_that_thinks(home: Path, provider: Provider) -> None:
    environ = {"CO_TUI_MODEL": "openai-chat:o3"}
    async with running(launch_for(home, provider, environ=environ)) as (app, pilot):
        await type_text(pilot, "/config reasoning_effort low\n")
        await until(pilot, lambda: "Reasoning effort: low (saved)" in transcript_text(app))
        assert "ignored" not in transcript_text(app)
        await until(pilot, lambda: "· low effort · balanced" in screen_text(app).splitlines()[0])


@only_in_a_long_run
async def test_a_model_that_does_not_exist_changes_nothing(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/model nosuch:thing\n")
        await until(pilot, lambda: "Unknown model 'nosuch:thing'" in transcript_text(app))
        provider.script = [Reply(text="slow words " * 10, delay_s=0.05)]
        app.send("talk")
        await until(pilot, lambda: "slow" in transcript_text(app))
        await type_text(pilot, "/model nosuch:other\n")
        await until(pilot, lambda: "Unknown model 'nosuch:other'" in transcript_text(app))
        await until(pilot, lambda: app.controller.idle and app.controller.state.turn == 1)
        assert "openai-chat:scripted" in screen_text(app).splitlines()[0]
        assert "✂ interrupted" not in screen_text(app) and "Esc stop" not in screen_text(app)
        await ask(app, pilot, "and now?")
        assert provider.requests[-1]["model"] == "scripted"
        assert RecentModels(app.launch.paths).read() == ()
