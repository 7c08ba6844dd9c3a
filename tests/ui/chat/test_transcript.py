"""The transcript: what it lays out, keeps still, finds, folds and copies."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from co_tui.ui.text.markdown_splitter import MarkdownSplitter
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import DARK, palette_of
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.block_rendering import BlockLayout
from co_tui.ui.transcript.blocks import BlockBuilder
from co_tui.ui.transcript.matches import Search
from co_tui.ui.transcript.selected_text import with_selection
from co_tui.ui.transcript.transcript import Transcript
from tests.support.long_run import LONG_RUN, drawn
from tests.support.screen import until

LOOK = TextRenderer(palette_of(DARK))


class Shell(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.clicked: list[str] = []

    def on_transcript_link_clicked(self, event: Transcript.LinkClicked) -> None:
        self.clicked.append(event.address)

    def compose(self) -> ComposeResult:
        yield Transcript()

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)


@asynccontextmanager
async def shell(
    blocks: list[Block], size: tuple[int, int] = (60, 20)
) -> AsyncIterator[tuple[Shell, Transcript, object]]:
    app = Shell()
    async with app.run_test(size=size) as pilot:
        app.transcript.set_renderer(LOOK)
        app.transcript.show(blocks)
        app.transcript.focus()
        await pilot.pause()
        yield app, app.transcript, pilot


def lines(transcript: Transcript) -> list[str]:
    """Without the gutter on the left."""
    return [transcript.render_line(y).text[1:].rstrip() for y in range(transcript.size.height)]


def talk(count: int) -> list[Block]:
    return [Block("user", f"message {n}\n" + "more words " * (n % 40), time="12:00") for n in range(count)]


async def test_the_end_is_shown_and_only_what_is_near_is_laid_out() -> None:
    async with shell(talk(5000)) as (_, transcript, _):
        assert "message 4999" in "\n".join(lines(transcript))
        assert transcript.layout_of_blocks.laid_count < 50


async def test_scrolling_up_line_by_line_skips_and_repeats_nothing() -> None:
    blocks = [Block("user", f"line {n}\n" + "word " * (n * 7 % 60)) for n in range(18)]
    async with shell(blocks) as (_, transcript, pilot):
        seen = lines(transcript)
        above: list[str] = []
        for _ in range(800):
            before = lines(transcript)
            transcript.scroll_relative(y=-1, animate=False)
            await pilot.pause()
            after = lines(transcript)
            if after == before:
                break
            assert after[1:] == before[:-1]
            above.insert(0, after[0])
        whole = "\n".join([*above, *seen])
        assert [f"line {n}" for n in range(18)] == [
            line for line in whole.replace("▌ ", "").splitlines() if line.startswith("line ")
        ]


async def test_the_reader_s_place_stays_while_text_streams_in_below() -> None:
    blocks = talk(100)
    async with shell(blocks) as (_, transcript, pilot):
        transcript.scroll_relative(y=-40, animate=False)
        await pilot.pause()
        before = lines(transcript)
        assert not transcript.following and transcript.border_subtitle
        open_block = Block("reply", "", first_of_reply=True)
        transcript.append(open_block)
        for n in range(50):
            transcript.grow(open_block, f"word{n} ")
        await pilot.pause(0.2)
        assert lines(transcript) == before
        transcript.follow_end()
        await pilot.pause()
        assert "word49" in "\n".join(lines(transcript)) and not transcript.border_subtitle


async def test_streaming_follows_the_end() -> None:
    async with shell(talk(10)) as (_, transcript, pilot):
        block = Block("reply", "", first_of_reply=True)
        transcript.append(block)
        for n in range(200):
            transcript.grow(block, f"w{n} ")
        await until(pilot, lambda: "w199" in "\n".join(lines(transcript)))
        assert transcript.following


async def test_older_blocks_do_not_move_what_is_read() -> None:
    async with shell(talk(50)) as (_, transcript, pilot):
        transcript.scroll_relative(y=-30, animate=False)
        await pilot.pause()
        before = lines(transcript)
        transcript.prepend(talk(80))
        await pilot.pause()
        assert lines(transcript) == before


async def test_resizing_keeps_the_block_at_the_top() -> None:
    async with shell(talk(200), (80, 20)) as (_, transcript, pilot):
        transcript.scroll_relative(y=-300, animate=False)
        await pilot.pause()
        top = transcript.top.block
        await pilot.resize_terminal(50, 20)
        await pilot.pause()
        assert transcript.top.block == top


async def test_folding_opens_in_place_and_all_at_once() -> None:
    builder = BlockBuilder()
    builder.user("run it", "12:00")
    builder.tool("shell", '{"command": "ls"}', "c1")
    builder.result("c1", "one\ntwo\nthree")
    builder.part("thinking", "a long thought\nof two lines")
    async with shell(builder.blocks) as (_, transcript, pilot):
        closed = "\n".join(lines(transcript))
        assert "▸ run  ls" in closed and "3 lines" in closed and "three" not in closed and "▸ thinking" in closed
        await pilot.press("left_square_bracket", "enter")
        opened = "\n".join(lines(transcript))
        assert "▾ run" in opened and "three" in opened and "▸ thinking" in opened
        transcript.toggle_all()
        assert "of two lines" in "\n".join(lines(transcript))
        transcript.toggle_all()
        assert "three" not in "\n".join(lines(transcript))


async def test_clicking_a_fold_opens_it() -> None:
    builder = BlockBuilder()
    builder.tool("read", '{"path": "a.py"}', "c1")
    builder.result("c1", "the\ncontent")
    async with shell(builder.blocks) as (_, transcript, pilot):
        row = next(y for y, line in enumerate(lines(transcript)) if "▸ read" in line)
        await pilot.click(Transcript, offset=(3, row))
        await pilot.pause()
        assert "content" in "\n".join(lines(transcript))


async def test_searching_goes_up_wraps_and_marks() -> None:
    needles = [Block("user", "the Needle here"), Block("tool", "{}", folded=True, result="漢字 needle, needle")]
    async with shell([needles[0], *talk(30), needles[1], *talk(30)]) as (_, transcript, pilot):
        seen = []
        for _ in range(5):
            assert transcript.find("needle")
            seen.append((transcript.search.match.block, transcript.search.match.nth))
        assert seen == [(needles[1], 1), (needles[1], 0), (needles[0], 0), (needles[1], 1), (needles[1], 0)]
        assert not needles[1].folded, "opened, for it holds it"
        transcript.search.count(transcript.blocks)
        assert (transcript.search.match_number(transcript.layout_of_blocks), transcript.search.total) == (2, 3)
        assert transcript.find("needle")
        await pilot.pause()
        row = next(line for line in range(20) if "Needle" in transcript.render_line(line).text)
        assert any(
            each.style and each.style.bgcolor == LOOK.current_match.bgcolor for each in transcript.render_line(row)
        )
        assert not transcript.find("haystack")


def highlighted(transcript: Transcript, style: Style) -> str:
    """The text in view that is drawn on the background of a style."""
    strips = [transcript.render_line(y) for y in range(transcript.size.height)]
    return "|".join(
        each.text for strip in strips for each in strip if each.style and each.style.bgcolor == style.bgcolor
    )


async def test_a_phrase_that_is_wrapped_is_found_and_marked() -> None:
    prose = "word " * 20
    code = f"```\nrun {'x' * 60} --first --second\n```"
    blocks = [Block("user", f"{prose}alpha beta {prose}"), Block("reply", f"{prose}alpha\nbeta {prose}\n\n{code}")]
    for width in range(30, 60) if LONG_RUN else (30, 37, 46, 55):
        async with shell(blocks, (width, 40)) as (_, transcript, _):
            for _ in range(2):
                assert transcript.find("alpha beta")
                found = highlighted(transcript, LOOK.current_match)
                assert found.replace("|", " ") == "alpha beta", width
            assert highlighted(transcript, LOOK.found).replace("|", " ") == "alpha beta"
            assert transcript.find("xx --first --sec")
            assert highlighted(transcript, LOOK.current_match).replace("|", "") == "xx --first --sec", width


async def test_what_is_found_beyond_the_shown_part_is_said_where_it_ends() -> None:
    beyond = "needle " + "hay " * 20_000 + "needle needle"
    tool = Block("tool", "{}", tool_name="run_command", result=beyond, folded=True)
    async with shell([Block("reply", beyond), tool, Block("user", "next")]) as (_, transcript, _):
        for shown in ("more characters (v shows all)", "more characters (v shows all)", "needle") * 2:
            assert transcript.find("needle")
            assert highlighted(transcript, LOOK.current_match).endswith(shown)


async def test_what_was_found_stays_in_view_however_the_terminal_is_resized() -> None:
    long = " ".join(f"word{n}" for n in range(400))
    async with shell([*talk(8), Block("reply", long), *talk(2)], size=(80, 20)) as (_, transcript, pilot):
        assert transcript.find("word250") and transcript.find("word250")
        for size in ((30, 10), (120, 40), (60, 8), (80, 20)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: any("word250" in line for line in lines(transcript)))
            row = next(n for n, line in enumerate(lines(transcript)) if "word250" in line)
            looked_at = [each for each in transcript.render_line(row) if each.text == "word250"]
            assert (
                all(each.style and each.style.bgcolor == LOOK.current_match.bgcolor for each in looked_at) and looked_at
            )


@settings(max_examples=drawn(60))
@given(
    st.lists(st.text("abA ", max_size=12), max_size=6),
    st.text("ab", max_size=3),
    st.text("ab", min_size=1, max_size=4),
    st.integers(0, 5),
)
def test_a_text_that_is_typed_letter_by_letter_is_found_as_often_as_at_once(
    texts: list[str], before: str, needle: str, grows: int
) -> None:
    blocks = [Block("reply", text) for text in texts]
    typed, at_once = Search(), Search()
    typed.set_needle(before)
    typed.count(blocks)
    for end in range(1, len(needle) + 1):
        typed.set_needle(needle[:end])
        typed.count(blocks)
        if end == 1 and grows < len(blocks):
            blocks[grows].text += needle
            typed.forget(blocks[grows])
    at_once.set_needle(needle)
    for search in (typed, at_once):
        search.count(blocks)
    assert typed.total == at_once.total == sum(block.text.lower().count(needle) for block in blocks)


async def test_what_streams_in_while_one_searches_is_found() -> None:
    block = Block("reply", "nothing yet")
    async with shell([*talk(3), block]) as (_, transcript, _):
        assert not transcript.find("needle")
        transcript.grow(block, " and a needle")
        transcript.draw_streamed()
        assert transcript.find("needle") and transcript.search.match.block is block


def test_a_selection_covers_wide_characters_as_they_are_copied() -> None:
    selection = Selection(Offset(1, 0), Offset(3, 0))
    drawn = with_selection(Strip([Segment("日本語abc")]), selection, 0, Style(bgcolor="red"))
    assert [segment.text for segment in drawn if segment.style] == [selection.extract("日本語abc")] == ["本語"]


async def test_selected_text_can_be_copied() -> None:
    async with shell([Block("user", "alpha beta\ngamma delta")]) as (_, transcript, _):
        rows = [y for y, line in enumerate(lines(transcript)) if "alpha" in line or "gamma" in line]
        text, _ = transcript.get_selection(Selection(Offset(8, rows[0]), Offset(7, rows[1])))
        assert text == "beta\ngamma"


async def copied_from(text: str, first: str, last: str, *, size: tuple[int, int] = (40, 30)) -> str:
    """What the mouse copies from the beginning of one line to the end of another."""
    async with shell([Block("reply", text), Block("user", "next")], size) as (_, transcript, _):
        rows = [next(y for y, line in enumerate(lines(transcript)) if each in line) for each in (first, last)]
        copied, _ = transcript.get_selection(Selection(Offset(0, rows[0]), Offset(60, rows[1])))
        return copied


async def test_code_copied_with_the_mouse_is_as_it_was_written() -> None:
    long = "    print('" + "a few words and 日本語 " * 5 + "', 'end')  "
    code = f"def run():\n{long}\n\n\tmake\tit\n    return 1"
    for text in (f"Try:\n\n```python\n{code}\n```\n", f"Try:\n\n```python\n{code}\n```", f"Try:\n\n```python\n{code}"):
        assert await copied_from(text, "def run", "return") == code
        assert await copied_from(text, "return", "next") == "    return 1\n\nYou\nnext"
    listed = "1. Try:\n   ```python\n" + "\n".join(f"   {line}" for line in code.split("\n")) + "\n   ```\n2. Done"
    assert await copied_from(listed, "def run", "return") == code


async def test_a_very_long_line_of_code_is_copied_as_one() -> None:
    line = f"first {'0123456789' * 480} last"
    copied = await copied_from(f"```\n{line}\n```\n", "first", "last", size=(120, 60))
    assert copied == line


async def test_a_part_of_a_line_of_code_is_copied_alone() -> None:
    async with shell([Block("reply", "```\nalpha beta gamma\n```")]) as (_, transcript, _):
        row = next(y for y, line in enumerate(lines(transcript)) if "beta" in line)
        copied, _ = transcript.get_selection(Selection(Offset(7, row), Offset(11, row)))
        assert copied == "beta"


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "# Title",
            "some *words* here",
            "",
            "- item",
            "1. one",
            "   words of it",
            "   ```",
            "  - [x] within",
            "```python",
            "x = 1",
            "```",
            "| a | b |",
            "|---|---|",
            "> quote",
            "漢字",
        ]
    ),
    max_size=30,
).map("\n".join)


@settings(max_examples=drawn(40), deadline=None)
@given(MARKDOWN, st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_streamed_markdown_ends_up_as_if_it_had_come_at_once(text: str, steps: list[int]) -> None:
    def shown(laid: BlockLayout) -> list[str]:
        return [laid.line(n).text.rstrip() for n in range(laid.height)]

    whole = BlockLayout(Block("reply", text), LOOK, 40)
    grown = BlockLayout(Block("reply", ""), LOOK, 40)
    at = 0
    while at < len(text):
        step = steps[at % len(steps)]
        grown.grow(text[at : at + step])
        at += step
    assert shown(grown) == shown(whole)


@given(MARKDOWN)
def test_no_text_is_lost_in_cutting(text: str) -> None:
    splitter = MarkdownSplitter()
    pieces = [piece for character in text for piece in splitter.feed(character)]
    tail = splitter.tail
    joined = "".join(piece.text for piece in [*pieces, *([tail] if tail else [])])
    assert [word for word in joined.split() if word.isalnum()] == [
        word
        for line in text.split("\n")
        if not line.lstrip().startswith("```")
        for word in line.split()
        if word.isalnum()
    ]


async def test_clicking_a_link_opens_nothing_but_says_where_it_goes() -> None:
    async with shell([Block("reply", "see [the docs](https://docs.example/a) there")]) as (app, transcript, pilot):
        row = next(y for y, line in enumerate(lines(transcript)) if "the docs" in line)
        await pilot.click(Transcript, offset=(6, row))
        await until(pilot, lambda: app.clicked)
        assert app.clicked == ["https://docs.example/a"]
        await pilot.click(Transcript, offset=(1, row))
        await pilot.pause()
        assert len(app.clicked) == 1
