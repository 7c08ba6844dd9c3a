"""The model signs its replies with its name."""

from pathlib import Path

import pytest

from co_tui.ui.transcript.blocks import BlockBuilder, speaker
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, screen_text, type_text, until


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai-chat:walker@http://127.0.0.1:8765/v1", "walker"),
        ("openrouter:anthropic/claude-sonnet-5", "claude-sonnet-5"),
        ("embedded", "SmolLM2 135M"),
    ],
)
def test_a_model_signs_with_its_short_name(model: str, name: str) -> None:
    assert speaker(model).startswith(name)


def test_the_name_and_the_minute_are_one_text_for_all_replies() -> None:
    builder = BlockBuilder()
    for _ in range(2):
        builder.program = "".join(("wal", "ker"))
        builder.part("reply", "It is so.", ":".join(("12", "30")))
    one, other = builder.blocks
    assert one.speaker is other.speaker and one.time is other.time and (one.speaker, one.time) == ("walker", "12:30")


async def test_each_reply_is_signed_by_the_model_that_wrote_it_also_after_resume(
    home: Path, provider: Provider
) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "one")
        await type_text(pilot, "/model openai-chat:other\n")
        await until(pilot, lambda: app.controller.state.model == "openai-chat:other")
        await ask(app, pilot, "two")
        names = [block.speaker_name for block in app.chat.transcript.blocks if block.kind == "reply"]
        assert names == ["scripted", "other"]
        assert "│ scripted " in screen_text(app) and "│ other " in screen_text(app)
        session_id = app.controller.session_id
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        await until(pilot, lambda: "│ other " in screen_text(app) and "│ scripted " in screen_text(app))
