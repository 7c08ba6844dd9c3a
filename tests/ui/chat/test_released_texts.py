"""What left the context is held packed by the chat and the timeline, too, and reads as before."""

import json
from pathlib import Path

import pytest

from co_tui.session.state.released import _LZMA, BLOCK_CHARS, _Block, _compressed, _decompressed, is_event_packed
from co_tui.ui.app import CoTui
from co_tui.ui.timeline.timeline_log import EVERYTHING
from co_tui.ui.timeline.timeline_widget import Timeline
from co_tui.ui.transcript.block import PACKED_CHARS, Block, PackedText
from co_tui.ui.transcript.block_rendering import estimated_height
from co_tui.ui.transcript.transcript import Transcript
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, until

TURNS = 4
SUMMARY = "Title: Files\n## Decisions and outcomes\n- The files were read."


def _content(number: int) -> str:
    return "\n".join(f"value_{number}_{line} = {line}  # caf\u00e9 \x1b[1m" for line in range(40))


def _calls(app: CoTui) -> list[Block]:
    return [block for block in app.chat.transcript.blocks if block.tool_name == "read_file"]


async def test_results_that_left_the_context_are_packed_and_read_as_before(home: Path, provider: Provider) -> None:
    provider.window = 100_000
    provider.summary = Reply(text=SUMMARY, prompt_tokens=400, completion_tokens=40)
    async with running(launch_for(home, provider)) as (app, pilot):
        transcript = app.query_one(Transcript)
        for number in range(TURNS):
            (home.parent / f"file_{number}.py").write_text(_content(number))
            call = ("read_file", json.dumps({"path": f"file_{number}.py"}))
            provider.script = [Reply(text="I read it.", tool=call), Reply(text=f"It is file {number}.\n" * 40)]
            await ask(app, pilot, f"What is in file {number}?")
        session = app.controller.session
        assert session is not None
        app.run_command("compact", "")
        await until(pilot, lambda: app.controller.state.rewrites and app.controller.idle)
        before = [(block.text, block.result, block.plain, block.whole) for block in transcript.blocks]
        rows = transcript.virtual_size.height
        session.history.release_memory()
        await until(pilot, lambda: _calls(app)[0].is_packed)

        assert app.controller.state is session.state
        assert len(_calls(app)[0].result) > PACKED_CHARS
        assert not _calls(app)[-1].is_packed, "the model still sees it"
        said = [block for block in transcript.blocks if block.kind == "reply" and len(block.text) > PACKED_CHARS]
        assert said[0].is_packed and not said[-1].is_packed
        assert [(block.text, block.result, block.plain, block.whole) for block in transcript.blocks] == before
        assert transcript.virtual_size.height == rows
        held = app.query_one(Timeline)._log.of(EVERYTHING)
        assert is_event_packed(held[1]) and any(held[1] is each for each in app.controller.state.timeline)

        assert transcript.find("value_0_37"), "it is opened where it is found"
        await pilot.pause()
        assert "value_0_37 = 37  # caf\u00e9 \u241b[1m" in screen_text(app)
        call = _calls(app)[0]
        older = Block("tool", "{}", result=call.result, seq=call.seq, result_seq=call.result_seq)
        transcript.prepend([older])
        assert older.is_packed, "a page that is read later, too"
        session.history.release_memory()  # again, while it is open
        await pilot.pause()
        assert "value_0_37 = 37" in screen_text(app)


def test_a_text_that_its_message_does_not_have_stays_as_it_is() -> None:
    part = {"part_kind": "tool-return", "tool_call_id": "c", "content": "as logged " * 100}
    message = _Block().add(json.dumps({"kind": "request", "parts": [part]}))
    same, other = (Block("tool", "{}", result=text * 100) for text in ("as logged ", "with more "))
    for block in (same, other):
        block.pack(message)
    assert (same.is_packed, other.is_packed) == (True, False)
    assert (same.is_packable, other.is_packable) == (False, True)
    assert (same.result, other.result) == ("as logged " * 100, "with more " * 100)
    same.result += "and more"
    assert same.result == "as logged " * 100 + "and more" and not same.is_packed


def test_a_long_prompt_is_packed_and_stays_folded_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "A pasted line.\n" * 400
    message = _Block().add(json.dumps({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}))
    block = Block("user", text)
    block.pack(message)
    assert block.is_packed and block.text == text
    monkeypatch.setattr(PackedText, "unpacked", lambda _: pytest.fail("it was unpacked"))
    assert block.is_long_prompt and block.foldable and not Block("user", "short").is_long_prompt


def test_the_height_of_a_packed_reply_is_estimated_without_unpacking_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "## Part\n\nIt says so. " * 40
    message = _Block().add(json.dumps({"kind": "response", "parts": [{"part_kind": "text", "content": text}]}))
    block = Block("reply", text)
    before = [estimated_height(block, width) for width in (40, 80)]
    block.pack(message)
    assert block.is_packed and block.text == text
    monkeypatch.setattr(PackedText, "unpacked", lambda _: pytest.fail("it was unpacked"))
    assert [estimated_height(block, width) for width in (40, 80)] == before


def test_a_message_with_an_image_is_packed_alone_and_quickly() -> None:
    block, long = _Block(), "x" * BLOCK_CHARS
    block.add("{}")
    assert block.has_room_for("{}") and not block.has_room_for(long)
    for text in ("{}", f'"{long}"'):
        assert _decompressed(_compressed(text.encode())) == [text]
    assert _compressed(b"{}").startswith(_LZMA) and not _compressed(f'"{long}"'.encode()).startswith(_LZMA)
