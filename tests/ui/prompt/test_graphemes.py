"""Characters of several code points in the prompt: the cursor passes them, and Backspace takes them, as one."""

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.strip import Strip

from co_tui.ui.prompt.prompt_area import Prompt, with_whole_characters

SEEN_AS_ONE = ["❤️", "👨‍👩‍👧‍👦", "👍🏽", "é", "日", "x"]


class PromptApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Prompt()


async def test_the_cursor_goes_by_what_people_see() -> None:
    app = PromptApp()
    async with app.run_test(size=(60, 10)) as pilot:
        prompt = app.query_one(Prompt)
        for one in SEEN_AS_ONE:
            prompt.set_text(f"ab{one}")
            await pilot.press("left", "left", "right")
            assert prompt.cursor_location == (0, 2), one
            await pilot.press("delete")
            assert prompt.text == "ab", one
            prompt.set_text(f"a\n{one}b")
            await pilot.press("left", "backspace", "backspace")
            assert prompt.text == "ab", one


@pytest.mark.parametrize("one", SEEN_AS_ONE[:-1])
def test_a_cursor_upon_a_character_does_not_change_its_width(one: str) -> None:
    under_cursor = Style(reverse=True)
    strip = Strip([Segment("ab "), Segment(one[0], under_cursor), Segment(f"{one[1:]}| ")])
    whole = with_whole_characters(strip, 20)
    assert whole.cell_length == 20 == cell_len(whole.text)
    assert [segment.text for segment in whole if segment.style == under_cursor] == [one]


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e", "\x07", "\x1b", "\x9b"])
async def test_the_cursor_is_where_the_text_is_drawn_after_characters_without_a_width(hidden: str) -> None:
    app = PromptApp()
    async with app.run_test(size=(20, 10)) as pilot:
        prompt = app.query_one(Prompt)
        prompt.set_text(f"ab{hidden * 3}")
        await pilot.press("c", "d", "left")
        assert prompt.text == f"ab{hidden * 3}cd", "the text is as it was pasted"
        drawn = prompt.render_line(0).text
        assert drawn[prompt.cursor_screen_offset.x - prompt.content_region.x] == "d"
        await pilot.press("left", "left", "backspace")
        assert prompt.text == f"ab{hidden * 2}cd", "each of them is one character"
        await pilot.click(Prompt, offset=(4 + prompt.content_region.x - prompt.region.x, 0))
        await pilot.press("x")
        assert prompt.text == f"ab{hidden * 2}xcd"
        prompt.set_text(f"{hidden * 30}end")
        assert prompt.wrapped_document.height == 2 and "end" in prompt.render_line(1).text
