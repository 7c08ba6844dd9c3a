"""A message of the chat is marked, copied, changed and sent again, forked from, pinned, read whole; by keys alone."""

from pathlib import Path

from textual.events import Paste
from textual.pilot import Pilot

from co_tui.events import Message, SessionStart
from co_tui.ui.app import CoTui
from co_tui.ui.chat.link_dialog import LinksScreen
from co_tui.ui.dialogs.text_screen import PagerScreen
from co_tui.ui.text.long_text import Pager
from co_tui.ui.widgets.find_bar import FindBar
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, look_in_one_app, running, screen_text, transcript_text, until
from tests.ui.prompt.test_prompt import at_once

CODE = "Look at https://example.com/a:\n\n```python\nx = 1\n```\n\nand\n\n```\ny\n```"


async def marked(app: CoTui, pilot: Pilot[None], *keys: str) -> str:
    """Go to the chat and press keys there; returns what is marked then."""
    if not app.chat.transcript.has_focus:
        await pilot.press("tab")
        await until(pilot, lambda: app.chat.transcript.has_focus)
    await pilot.press(*keys)
    block = app.chat.transcript.marked_block
    return block.text.strip() if block is not None else ""


async def a_message_is_marked_and_copied_whole_or_its_code(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    provider.script = [Reply(text=CODE), Reply(text="second answer")]
    await ask(app, pilot, "first question")
    await ask(app, pilot, "second question")
    app.chat.feed.note("A word of ours")
    assert await marked(app, pilot) == "second answer", "what was said, not our note below it"
    await pilot.press("c")
    await until(pilot, lambda: app.clipboard == "second answer")
    assert any(note.message.startswith("Copied ") for note in app._notifications), "said how much"
    assert await marked(app, pilot, "up", "up") == CODE
    await pilot.press("y")
    await until(pilot, lambda: app.clipboard == "x = 1")
    await pilot.press("y")
    await until(pilot, lambda: app.clipboard == "y")
    await marked(app, pilot, "shift+down", "shift+down", "c")
    await until(pilot, lambda: app.clipboard.count("\n\n") >= 2)
    assert app.clipboard == f"scripted:\n{CODE}\n\nYou:\nsecond question\n\nscripted:\nsecond answer"
    assert await marked(app, pilot, "home") == "first question"
    await pilot.press("escape")
    assert app.chat.prompt.has_focus and app.chat.transcript.marked_block is None
    await pilot.press("alt+up")
    assert app.chat.transcript.top.block <= 2, "from the prompt, to the turn before"


async def a_prompt_is_changed_and_sent_again_and_nothing_is_lost(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    await ask(app, pilot, "first question")
    await ask(app, pilot, "second question")
    assert await marked(app, pilot, "home") == "first question"
    await pilot.press("e")
    await until(pilot, lambda: app.chat.prompt.text == "first question")
    assert not app.controller.state.history and len(app.controller.state.transcript) == 4
    await until(pilot, lambda: "/undo goes back" in transcript_text(app))
    await pilot.press("escape", "!", "enter")
    await until(pilot, lambda: len(provider.requests) == 3 and app.controller.idle)
    said = [message["content"] for message in provider.requests[-1]["messages"] if message["role"] == "user"]
    assert said == ["first question!"], "what followed is not sent"
    assert "second question" in transcript_text(app), "and is still there"


async def a_fork_begins_at_the_message_and_a_pin_holds_it(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    await ask(app, pilot, "first question")
    await ask(app, pilot, "second question")
    source = app.controller.session_id
    await marked(app, pilot, "home", "p")
    await until(pilot, lambda: "◉ pinned" in first_line_of_chat(app))
    assert screen_text(app).count("◉ pinned") == 1
    assert "p Unpin" in screen_text(app).splitlines()[-1]
    assert await marked(app, pilot, "home", "down", "down") == "second question"
    assert "p Pin" in screen_text(app).splitlines()[-1]
    await pilot.press("f")
    await until(pilot, lambda: app.controller.session_id != source and app.controller.idle)
    await until(pilot, lambda: app.chat.prompt.text == "second question")
    assert len(app.controller.state.transcript) == 2
    await pilot.press("enter")
    await until(pilot, lambda: len(provider.requests) == 3 and app.controller.idle)
    await app.controller.switch_session(source)
    await until(pilot, lambda: app.controller.idle and len(app.controller.state.transcript) == 4)
    await until(pilot, lambda: "◉ pinned" in first_line_of_chat(app))
    (pinned,) = app.controller.state.pins
    assert app.controller.session is not None
    await app.controller.session.edits.pin([pinned], pinned=False)  # as the lens does
    await until(pilot, lambda: "◉ pinned" not in screen_text(app))


def first_line_of_chat(app: CoTui) -> str:
    return next(line for line in screen_text(app).splitlines() if "You" in line)


async def links_show_where_they_go_and_long_outputs_open_whole(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    provider.script = [Reply(text=CODE + "\n[here](https://evil.example/?q=[bold]x) " + "word " * 50_000)]
    await ask(app, pilot, "talk")
    opened: list[str] = []

    async def open_address(address: str) -> bool:
        opened.append(address)
        return True

    app.open_address = open_address
    await marked(app, pilot, "o")
    await until(pilot, lambda: isinstance(app.screen, LinksScreen))
    assert "https://example.com/a" in screen_text(app) and not opened
    await pilot.press("enter")
    await until(pilot, lambda: app.screen is app.chat)
    assert opened == ["https://example.com/a"]
    await pilot.press("v")
    await until(pilot, lambda: isinstance(app.screen, PagerScreen) and app.screen.query(Pager))
    assert "1. word" not in screen_text(app) and "Look at https" in screen_text(app)
    await pilot.press("end")
    await until(pilot, lambda: screen_text(app).count("word word word") > 10)
    await pilot.press("home", "slash", *"WORD ")
    await until(pilot, lambda: "Find · 1 of 50,000" in screen_text(app))
    await pilot.press("up")
    await until(pilot, lambda: "Find · 50,000 of 50,000" in screen_text(app))
    await pilot.press("enter", "n", "n", "N", "n")
    await until(pilot, lambda: "Find · 2 of 50,000" in screen_text(app) and "n N Next" in screen_text(app))
    await pilot.press("ctrl+f", *"nowhere")
    await until(pilot, lambda: "nothing found" in screen_text(app))
    app.post_message(Paste("x" * 1_000_000))
    await until(pilot, lambda: len(app.screen.query_one(FindBar).value) == len("nowhere") + 2_000)
    await pilot.press("escape")
    assert isinstance(app.screen, PagerScreen) and not app.screen.query(FindBar)
    await pilot.press("escape")
    assert app.chat.transcript.marked_block is not None, "back where one was"


async def finding_counts_marks_and_goes_both_ways_while_typing(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    provider.script = [Reply(text="apple apple pie"), Reply(text="an Apple")]
    await ask(app, pilot, "one")
    await ask(app, pilot, "two")
    await pilot.press("ctrl+f", *"apple")
    await until(pilot, lambda: "Find · 3 of 3" in screen_text(app))
    assert "Esc closes" in screen_text(app)
    await pilot.press("up")
    await until(pilot, lambda: "Find · 2 of 3" in screen_text(app))
    strips = app.screen._compositor.render_strips(app.size)
    found = [each.style for strip in strips for each in strip if each.text.lower() == "apple" and each.style]
    assert [bool(style.underline) for style in found[:3]] == [False, True, False], "of two in a line, one"
    await pilot.press("enter", "down", "down", "down")
    await until(pilot, lambda: "Find · 1 of 3" in screen_text(app))
    await pilot.press("z")
    await until(pilot, lambda: "nothing found" in screen_text(app))
    await pilot.press("escape")
    assert not app.chat.query(FindBar) and app.chat.prompt.has_focus and not app.chat.transcript.search.needle
    provider.default = Reply(text="slow words " * 400, delay_s=0.05, open_end=True)
    app.chat.prompt.insert("talk")
    await pilot.press("enter")
    await until(pilot, lambda: "slow" in transcript_text(app))
    await marked(app, pilot, "escape")
    assert app.chat.prompt.has_focus and app.controller.busy, "who leaves the chat does not stop the turn"
    await pilot.press("escape")
    await until(pilot, lambda: app.controller.idle)


async def test_messages_are_marked_changed_forked_opened_and_found(home: Path, provider: Provider) -> None:
    await look_in_one_app(
        home,
        provider,
        a_message_is_marked_and_copied_whole_or_its_code,
        a_prompt_is_changed_and_sent_again_and_nothing_is_lost,
        a_fork_begins_at_the_message_and_a_pin_holds_it,
        links_show_where_they_go_and_long_outputs_open_whole,
        finding_counts_marks_and_goes_both_ways_while_typing,
    )


async def test_what_is_not_loaded_yet_is_found_and_counted_however_fast_one_types(
    home: Path, provider: Provider
) -> None:
    launch = launch_for(home, provider, session_id="long")
    facts = [
        Message(turn=n, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"plum {n}"}]})
        for n in range(1, 400)
    ]
    launch.store.writing().append("long", [SessionStart(model="openai-chat:scripted"), *facts]).result()
    async with running(launch) as (app, pilot):
        loaded = len(app.chat.transcript.blocks)
        await app.chat.find("")
        at_once(app, [*"plum", "space", *"2"])
        await until(pilot, lambda: "Find · 111 of 111" in screen_text(app))
        assert loaded < 100 and len(app.chat.transcript.blocks) >= 399
        await pilot.press("f7")
        await until(pilot, lambda: not app.chat.query(FindBar) and app.chat.prompt.has_focus)


@only_in_a_long_run
async def test_the_find_bar_closes_with_its_session(home: Path, provider: Provider) -> None:
    provider.script = [Reply(text="apple pie")]
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "one")
        await pilot.press("ctrl+f", *"apple")
        await until(pilot, lambda: "Find · 1 of 1" in screen_text(app))
        await pilot.press("f7")
        await until(pilot, lambda: "apple" not in transcript_text(app), 20)
        await until(pilot, lambda: not app.chat.query(FindBar), 20)
        assert app.chat.prompt.has_focus
        await pilot.press(*"hello")
        assert app.chat.prompt.text == "hello"
