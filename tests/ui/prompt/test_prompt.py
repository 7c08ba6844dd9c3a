"""The prompt: every key counts, in the order of typing, whatever happens on the screen meanwhile."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.events import Key, Paste
from textual.pilot import Pilot
from textual.widgets import TextArea

from co_tui.store.prompt_drafts import new_session_draft
from co_tui.ui.app import CoTui
from co_tui.ui.dialogs.simple_dialogs import EditScreen
from co_tui.ui.dialogs.text_screen import PagerScreen
from co_tui.ui.prompt.pasting import FOLDED_FROM_LINES, PastedTexts
from co_tui.ui.signals import EXIT_CODE
from co_tui.ui.terminal.driver import QuietParser
from co_tui.ui.terminal.paste_reader import PROGRESS_FROM_CHARS, PasteArriving
from co_tui.ui.timeline.timeline_widget import Timeline
from co_tui.ui.widgets.safe_text_area import SafeTextArea
from tests.support.long_run import drawn
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, look_in_one_app, running, screen_text, transcript_text, until
from tests.support.stores import listed
from tests.support.waiting import PATIENCE_S

BURSTS = drawn(2)


class PlainEditor:
    """What an editor would hold."""

    def __init__(self) -> None:
        self.text, self.at = "", 0

    def press(self, key: str) -> None:
        line_start = self.text.rfind("\n", 0, self.at) + 1
        line_end = self.text.find("\n", self.at)
        line_end = len(self.text) if line_end < 0 else line_end
        match key:
            case "backspace":
                self._cut(max(0, self.at - 1), self.at)
            case "delete":
                self._cut(self.at, self.at + 1)
            case "left":
                self.at = max(0, self.at - 1)
            case "right":
                self.at = min(len(self.text), self.at + 1)
            case "home":  # the first word, then the margin
                line = self.text[line_start:line_end]
                first = line_start + (len(line) - len(line.lstrip()) if line.strip() else 0)
                self.at = first if self.at != first else line_start
            case "end":
                self.at = line_end
            case "ctrl+u":
                self._cut(line_start if self.at > line_start else max(0, self.at - 1), self.at)
            case "ctrl+j":
                self._insert("\n")
            case "space":
                self._insert(" ")
            case _:
                self._insert(key)

    def _insert(self, text: str) -> None:
        self.text = self.text[: self.at] + text + self.text[self.at :]
        self.at += len(text)

    def _cut(self, start: int, end: int) -> None:
        self.text, self.at = self.text[:start] + self.text[end:], start


KEYS = (
    *"abcdefghij",
    *("space",) * 3,
    *("backspace",) * 4,
    *("delete", "left", "left", "right", "home", "end", "ctrl+u", "ctrl+j", "ctrl+j"),
)


def at_once(app: CoTui, keys: Sequence[str]) -> None:
    """All keys in one burst, as a terminal hands them over: nothing is waited for in between."""
    for key in keys:
        character = {"space": " ", "ctrl+j": "\n"}.get(key, key if len(key) == 1 else None)
        app.post_message(Key(key, character))


async def typed(app: CoTui, pilot: Pilot[None], keys: Sequence[str]) -> str:
    """The prompt's text after a burst."""
    seen: list[str] = []
    at_once(app, [*keys, "ctrl+n"])  # bound to nothing: it only comes last
    arrived = asyncio.Event()
    original = app.chat.prompt._handle_key

    async def took(key: str) -> bool:
        if key == "ctrl+n":
            seen.append(app.chat.prompt.text)
            arrived.set()
            return True
        return await original(key)

    app.chat.prompt._handle_key = took
    try:
        await asyncio.wait_for(arrived.wait(), PATIENCE_S)
    finally:
        app.chat.prompt._handle_key = original
    return seen[0]


async def test_bursts_of_keys_while_text_streams_are_what_a_plain_editor_would_hold(
    home: Path, provider: Provider
) -> None:
    provider.default = Reply(text="some **words** and `code` " * 4000, delay_s=0.03)
    async with running(launch_for(home, provider)) as (app, pilot):
        app.chat.prompt.insert("talk")
        await pilot.press("enter")
        await until(pilot, lambda: "some" in transcript_text(app))
        for seed in range(BURSTS):
            draw = random.Random(seed)
            keys = draw.choices(KEYS, k=draw.randint(5, 60))
            editor = PlainEditor()
            for key in keys:
                editor.press(key)
            assert await typed(app, pilot, keys) == editor.text, (seed, keys)
            app.chat.prompt.text = ""
        await pilot.press("escape")


async def a_command_typed_and_sent_in_one_burst_is_that_command(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    at_once(app, [*"junk", "ctrl+u", "/", *"history", "enter", *"next"])
    await until(pilot, lambda: "The model sees" in transcript_text(app) and app.chat.prompt.text == "next")
    app.chat.prompt.text = ""
    at_once(app, ["/", "h", "i", "s", "tab", "enter", *"abc", "backspace", "d"])
    await until(pilot, lambda: transcript_text(app).count("The model sees") == 2)
    await until(pilot, lambda: app.chat.prompt.text == "abd")
    app.chat.prompt.text = ""
    at_once(app, ["/", *"nosuch", "enter", *"xyz"])
    await until(pilot, lambda: "Unknown command /nosuch" in transcript_text(app))
    assert app.chat.prompt.text == "xyz", "what is typed after it does not join it"
    assert not provider.requests, "nothing of it was for the model"


async def test_what_is_typed_before_the_first_paint_is_kept_key_by_key(home: Path, provider: Provider) -> None:
    app = CoTui(launch_for(home, provider), typed_ahead="teh\x7f\x7fhe\n\nfox\x1b[D\x1b[Db")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.prompt.text == "the\n\nfbox")
        await app.action_quit()
    app = CoTui(launch_for(home, provider), typed_ahead="sent already\rand more")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: len(provider.requests) == 1)
        assert app.chat.prompt.text.endswith("and more")
        await app.action_quit()


async def test_ctrl_c_twice_before_the_chat_exists_leaves(home: Path, provider: Provider) -> None:
    app = CoTui(launch_for(home, provider), typed_ahead="\x03\x03")
    async with asyncio.timeout(PATIENCE_S):
        await app.run_async(headless=True, size=(100, 30))
    assert app.return_code == 0


async def test_what_is_typed_before_the_chat_exists_is_a_draft_after_a_signal(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launch_for(home, provider)
    app = CoTui(launch, typed_ahead="not lost")
    monkeypatch.setattr(CoTui, "on_load", CoTui._asked_to_leave)
    monkeypatch.setattr("co_tui.ui.app.TYPED_BEFORE_S", 0.0)
    async with asyncio.timeout(PATIENCE_S):
        await app.run_async(headless=True, size=(100, 30))
    assert app.return_code == EXIT_CODE
    assert launch.store.prompt_drafts.read(new_session_draft(launch.cwd)) == "not lost"


def keys_of(*chunks: str) -> str:
    parser = QuietParser()
    messages = [message for chunk in chunks for message in (*parser.feed(chunk), *parser.tick())]
    return "".join(message.character or f"<{message.key}>" for message in messages if isinstance(message, Key))


def test_keys_that_look_like_the_beginning_of_an_answer_still_arrive() -> None:
    assert keys_of("\x1b[A\x1b[Bx") == "<up><down>x"
    assert keys_of("a\x1b\rb") == keys_of("a\x1b", "\rb") == keys_of("a\x1b[13;3ub") == "a<alt+enter>b"


def test_keys_that_cannot_be_end_nothing() -> None:
    assert keys_of("a\x1b[99999999999ub\x1b[55296uc\x1b[97;1;1114112ud\x1b[97ue") == "abcdae"
    assert keys_of("a\x1b[48;0;0;0;0t\x1b[<0;5;5Mb") == "ab"


def pasted_of(*chunks: str) -> list[str]:
    """What a terminal's bytes mean: pastes, and the keys around them."""
    parser = QuietParser()
    messages = [message for chunk in chunks for message in parser.feed(chunk)]
    told = {
        Paste: lambda each: f"<{each.text}>",
        Key: lambda each: each.character,
        PasteArriving: lambda each: each.chars,
    }
    return [told[type(message)](message) for message in messages]


def test_a_paste_is_taken_in_whatever_it_holds_and_wherever_it_is_parted() -> None:
    text = "one\ntwo \x1b[31mred\x1b[0m \x1b]11;rgb:0000/0000/0000\x1b\\ 日本"
    sent = f"a\x1b[200~{text}\x1b[201~b"
    assert pasted_of(sent) == ["a", f"<{text}>", "b"]
    for at in range(1, len(sent)):
        if sent[at - 1 : at + 1] not in ("\x1b[", "a\x1b"):  # an Escape alone may be a key, which the library waits for
            assert pasted_of(sent[:at], sent[at:]) == ["a", f"<{text}>", "b"], at


def test_a_long_paste_shows_that_it_is_coming_and_when_it_is_there() -> None:
    piece = "x" * 4_096
    told = pasted_of("\x1b[200~", *[piece] * 50, "\x1b[201~c")
    first, *_, paste, there, key = told
    assert isinstance(first, int) and PROGRESS_FROM_CHARS <= first < PROGRESS_FROM_CHARS + 2 * len(piece)
    assert (paste, there, key) == (f"<{piece * 50}>", 0, "c")


async def test_alt_enter_gives_what_was_written_to_the_turn_that_runs(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="slow words " * 400, delay_s=0.05, open_end=True)
    async with running(launch_for(home, provider)) as (app, pilot):
        app.chat.prompt.insert("talk")
        await pilot.press("enter")
        await until(pilot, lambda: "slow" in transcript_text(app))
        assert "Alt+Enter adds to this turn" in screen_text(app)
        at_once(app, [*"later", "enter", *"now", "alt+enter", *"more"])
        await until(pilot, lambda: app.chat.prompt.text == "more" and "added to this turn" in screen_text(app))
        assert [(each.text, each.steers) for each in app.controller.session.queue.prompts] == [
            ("now", True),
            ("later", False),
        ]
        await pilot.press("escape")
        await until(pilot, lambda: app.controller.idle)
        assert [each.held for each in app.controller.session.queue.prompts] == [True, True], "none is lost"


def shown(app: CoTui) -> str:
    """The prompt as it is read; its markers hold no-break spaces."""
    return app.chat.prompt.text.replace("\u00a0", " ")


async def test_a_long_paste_folds_is_sent_whole_and_can_be_opened(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("co_tui.ui.app.MAX_EDITED_CHARS", 100)
    (home.parent / "notes.txt").write_text("named in what is pasted, which names no file to send")
    pasted = "\n".join(f"line {n} of @notes.txt" if n == 9 else f"line {n}" for n in range(5000))
    provider.window = 200_000
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("a", "space")
        app.post_message(Paste(pasted))
        await until(pilot, lambda: shown(app) == "a [pasted 5,000 lines]")
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "line 1" in screen_text(app) and "Pasted" in screen_text(app))
        app.post_message(Paste("y" * 101))
        await until(pilot, lambda: "yyy" in app.screen.query_one(TextArea).text)
        assert app.screen.query_one(TextArea).text.count("y") == 100, "more would take long to lay out"
        await pilot.press("escape", "y")
        await until(pilot, lambda: app.screen is app.chat)
        await pilot.press("space", "b", "enter")
        await until(pilot, lambda: len(provider.requests) == 1)
        assert provider.requests[0]["messages"][-1]["content"] == f"a {pasted} b"
        await until(pilot, lambda: app.controller.idle)
        await pilot.press("up")
        assert app.chat.prompt.whole == f"a {pasted} b" and len(app.chat.prompt.text) < 100


async def test_a_folded_paste_goes_as_one_and_survives_as_a_draft(home: Path, provider: Provider) -> None:
    line = "x" * 200_000
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "hello")
        app.post_message(Paste("1\n" * FOLDED_FROM_LINES + "1"))
        await until(pilot, lambda: shown(app) == "[pasted 11 lines]")
        await pilot.press("backspace")
        assert app.chat.prompt.text == ""
        app.post_message(PasteArriving(123_456))
        await until(pilot, lambda: "reading your paste, 123,456 characters" in screen_text(app))
        app.post_message(Paste(line))
        app.post_message(PasteArriving(0))
        await until(pilot, lambda: shown(app) == "[pasted 200,000 characters]")
        assert "reading your paste" not in screen_text(app)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: isinstance(app.screen, EditScreen))
        await pilot.press("escape", "backspace")
        app.post_message(Paste("word " * 200_000))
        await until(pilot, lambda: shown(app) == "[pasted 1,000,000 characters]")
        await pilot.press("ctrl+t")
        await until(pilot, lambda: isinstance(app.screen, PagerScreen))
        await pilot.press("escape", "backspace")
        app.post_message(Paste(line))
        await until(pilot, lambda: shown(app) == "[pasted 200,000 characters]")
        session_id = app.controller.session_id
    async with running(launch_for(home, provider, session_id=session_id)) as (app, _):
        assert app.chat.prompt.whole == line and len(app.chat.prompt.text) < 100


async def test_the_words_around_a_paste_stay_visible_in_the_chat_and_as_the_title(
    home: Path, provider: Provider
) -> None:
    pasted = "".join(f"2026-01-{n:02} a line of the log\n" for n in range(1, 31))
    async with running(launch_for(home, provider)) as (app, pilot):
        app.post_message(Paste(pasted))
        await until(pilot, lambda: shown(app) == "[pasted 30 lines]")
        app.chat.prompt.insert("what went wrong here?")
        await pilot.press("enter")
        await until(pilot, lambda: len(provider.requests) == 1 and app.controller.idle)
        assert provider.requests[0]["messages"][-1]["content"] == f"{pasted}what went wrong here?"
        assert app.controller.state.title == "what went wrong here?" == listed(home)[0].title
        text = screen_text(app)
        assert (
            "turn 1 · what went" in text
            and "[pasted 30 lines]" in text
            and "what went wrong here?" in text
            and "a line of the log" not in text
        )
        (block,) = (block for block in app.chat.transcript.blocks if block.kind == "user")
        app.chat.transcript._toggle(block)
        await until(pilot, lambda: "2026-01-30 a line of the log" in screen_text(app))
        await pilot.press("up")
        assert shown(app) == "[pasted 30 lines]what went wrong here?", "it comes back as it was written"
        app.chat.prompt.clear()
        session_id = app.controller.session_id
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        await until(pilot, lambda: "[pasted 30 lines]" in screen_text(app))
        assert "what went wrong here?" in screen_text(app) and "a line of the log" not in screen_text(app)


def test_a_text_that_comes_back_has_its_pastes_folded_and_nothing_else() -> None:
    pasted = PastedTexts()
    log, other = "a line\n" * 20, "b\n" * 12
    written = f"explain {pasted.fold(log)} and then {pasted.fold(other)}please"
    again = PastedTexts(pasted.seen)
    whole = pasted.unfold(written)
    assert again.fold_if_slow(whole) == written and again.unfold(written) == whole
    assert [whole[start:end] for start, end in again.spans_in(written)] == [log, other]


def test_a_draft_of_another_run_keeps_its_first_and_last_line_in_sight() -> None:
    pasted = PastedTexts()
    log = "a long line of a log\n" * 900
    draft = f"explain this:\n{log}and be brief"
    folded = pasted.fold_if_slow(draft)
    assert pasted.unfold(folded) == draft
    first, *_, last = folded.split("\n")
    assert first == "explain this:" and last == "and be brief" and len(folded) < 60
    assert pasted.fold_if_slow("x" * 20_000).startswith("[pasted")


def test_two_pastes_of_the_same_size_are_distinguished() -> None:
    pasted = PastedTexts()
    one, two = "a\n" * 20, "b\n" * 20
    markers = [pasted.fold(one), pasted.fold(two)]
    assert len(set(markers)) == 2 and pasted.fold(one) == markers[0]
    assert pasted.unfold(f"{markers[1]} and {markers[0]}") == f"{two} and {one}"
    assert pasted.unfold("[pasted 7 lines]") == "[pasted 7 lines]", "typed by hand, it means itself"


def test_the_words_of_a_marker_stay_words_when_they_are_typed_or_pasted() -> None:
    pasted, old = PastedTexts(), "a\n" * 11
    marker = pasted.fold(old)
    assert pasted.unfold(f"[pasted 11 lines] {marker}") == f"[pasted 11 lines] {old}"
    quoting = f"{marker}\n" + "b\n" * 12
    assert pasted.unfold(pasted.fold(quoting)) == quoting, "long enough to be folded"
    assert pasted.unfold(pasted.fold(f"It shows {marker}.")) == f"It shows {marker}."


def test_every_one_of_many_pastes_is_sent() -> None:
    pasted = PastedTexts()
    texts = [f"{n}\n" * 20 for n in range(60)]
    assert pasted.unfold("".join(map(pasted.fold, texts))) == "".join(texts)


async def a_paste_that_ends_in_a_backslash_is_sent(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    pasted = "run this \\\n" * 12 + "\\"
    app.post_message(Paste(pasted))
    await until(pilot, lambda: shown(app) == "[pasted 13 lines]")
    await pilot.press("enter")
    await until(pilot, lambda: len(provider.requests) == 1)
    assert provider.requests[0]["messages"][-1]["content"] == pasted


async def a_paste_is_opened_as_it_is_and_drawn_inert(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    odd = "red \x1b[31m, page \x0c, next \x85, line \u2028, hidden \u200b\u202e, byte \x1c"
    pasted = f"{odd}\n" * 12
    app.post_message(Paste(pasted))
    await until(pilot, lambda: shown(app) == "[pasted 12 lines]")
    await pilot.press("ctrl+t")
    await until(pilot, lambda: isinstance(app.screen, EditScreen))
    assert "red ␛[31m, page ␌" in screen_text(app) and "\x1b[31m" not in screen_text(app)
    await pilot.press("ctrl+s")
    await until(pilot, lambda: app.screen is app.chat)
    assert app.chat.prompt.whole == pasted, "accepted, it is the same"
    await pilot.press("ctrl+t")
    await until(pilot, lambda: isinstance(app.screen, EditScreen))
    app.post_message(Paste("\x1b one\rtwo "))
    await until(pilot, lambda: app.screen.query_one(TextArea).text == f"\x1b one\ntwo {pasted}")
    await pilot.press("ctrl+s")
    await until(pilot, lambda: shown(app) == "[pasted 13 lines]")
    await pilot.press("ctrl+z")
    assert app.chat.prompt.whole == pasted, "undone, it is what it was"


async def a_marker_that_is_cut_in_one_prompt_is_its_text_in_the_next(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    pasted = "1\n" * 20
    app.post_message(Paste(pasted))
    await until(pilot, lambda: shown(app) == "[pasted 20 lines]")
    app.chat.prompt.select_all()
    app.chat.prompt.action_cut()
    assert app.clipboard == pasted and not app.chat.prompt.text
    await ask(app, pilot, "hello")
    await pilot.press("ctrl+v")
    await until(pilot, lambda: shown(app) == "[pasted 20 lines]")
    assert app.chat.prompt.whole == pasted


@pytest.mark.parametrize("line_end", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_text_area_changes_no_character(line_end: str) -> None:
    area = SafeTextArea(f"a{line_end}b\n{line_end}")
    area.replace(f"{line_end}\n\n", (0, 1), (0, 2))
    assert area.text == f"a{line_end}\n\nb\n{line_end}"
    area.undo()
    assert area.text == f"a{line_end}b\n{line_end}"


async def typing_goes_to_the_prompt_wherever_the_focus_is(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    await ask(app, pilot, "hello")
    await pilot.click("#transcript")
    at_once(app, [*"catch", "space", *"it"])
    await until(pilot, lambda: app.chat.prompt.text == "catch it")
    app.chat.query_one(Timeline).focus()
    at_once(app, [*"more"])
    await until(pilot, lambda: app.chat.prompt.text == "catch itmore")
    app.chat.query_one(Timeline).focus()
    await pilot.press("home", "enter")
    await until(pilot, lambda: app.screen is not app.chat)
    await pilot.press("escape")
    await until(pilot, lambda: app.screen is app.chat)
    assert app.chat.query_one(Timeline).has_focus, "back where one was"


async def test_pastes_and_bursts_of_keys_are_taken_as_they_are(home: Path, provider: Provider) -> None:
    await look_in_one_app(
        home,
        provider,
        a_command_typed_and_sent_in_one_burst_is_that_command,
        a_paste_that_ends_in_a_backslash_is_sent,
        a_paste_is_opened_as_it_is_and_drawn_inert,
        a_marker_that_is_cut_in_one_prompt_is_its_text_in_the_next,
        typing_goes_to_the_prompt_wherever_the_focus_is,
    )


async def test_deleting_a_line_takes_all_of_it_however_it_is_wrapped(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(60, 20)) as (app, pilot):
        app.chat.prompt.insert("first\n" + "many words " * 12)
        await pilot.press("ctrl+u")
        assert app.chat.prompt.text == "first\n"
        await pilot.press("ctrl+u")
        assert app.chat.prompt.text == "first", "then the line before it"
