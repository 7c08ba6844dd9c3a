"""What is said, as lines: how wide, with which signs, and where links go. No app is needed for it."""

import pytest
from rich.style import Style

from co_tui.inert import inert
from co_tui.ui.text.markdown_splitter import code_blocks
from co_tui.ui.text.text_rendering import CODE_COLUMNS, PROSE_COLUMNS, TextRenderer
from co_tui.ui.themes.themes import DARK, palette_of
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.block_rendering import BlockLayout
from co_tui.web_addresses import addresses_in, is_web_address

LOOK = TextRenderer(palette_of(DARK))


def shown(block: Block, width: int = 80) -> list[str]:
    laid = BlockLayout(block, LOOK, width)
    return [laid.text_of(n).rstrip() for n in range(laid.height)]


def reply(text: str, width: int = 80) -> list[str]:
    return [line for line in shown(Block("reply", text), width) if line]


@pytest.mark.parametrize("kind", ["user", "reply", "thinking", "note", "error"])
def test_words_are_no_wider_than_is_good_to_read(kind: str) -> None:
    block = Block(kind, "word " * 200, time="12:00", first_of_reply=True)
    assert 80 < max(map(len, shown(block, 240))) <= PROSE_COLUMNS
    assert max(map(len, shown(block, 50))) <= 50


def test_code_tables_and_outputs_may_be_wider() -> None:
    assert any(len(line) > 115 for line in reply(f"```\n{'x' * 160}\n```", 240))
    row = "cell " * 30
    assert any(len(line) > 150 for line in reply(f"| a | b |\n|---|---|\n| 1 | {row} |", 240))
    assert all(len(line) <= 60 for line in reply(f"- | a | b |\n  |---|---|\n  | 1 | {row} |", 60))
    tool = Block("tool", "{}", tool_name="shell", result="y" * 160)
    assert any(len(line) > 150 for line in shown(tool, 240))


def test_rules_lists_and_headings_look_as_people_write_them() -> None:
    lines = reply("# Title\n\n---\n\n" + "\n".join(f"{n}. item {n}" for n in range(1, 12)), 40)
    assert lines[0] == "Title" and lines[1] == "─" * 40
    assert lines[2] == "  1. item 1" and lines[12] == " 11. item 11"


def test_a_link_shows_where_it_goes_and_only_web_addresses_are_links() -> None:
    text = "[click me](https://evil.example/x) <https://plain.example> https://bare.example/a. README.md [f](a.md)"
    laid = BlockLayout(Block("reply", text), LOOK, 200)
    line = laid.line(1)
    assert line.text.strip() == (
        "click me (https://evil.example/x) https://plain.example https://bare.example/a. README.md f (a.md)"
    )
    links = {segment.text: segment.style.link for segment in line if segment.style and segment.style.link}
    assert links == {
        "click me": "https://evil.example/x",
        "https://plain.example": "https://plain.example",
        "https://bare.example/a": "https://bare.example/a",
    }
    assert reply("![a cat](https://x.example/cat.png)") == ["▣ a cat (https://x.example/cat.png)"]


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "file:///etc/passwd", "https://", "a.md", "https://x.y/\x1b]8;;", "http://a b", "ssh://x"],
)
def test_what_a_browser_should_not_get_is_no_address(address: str) -> None:
    assert not is_web_address(address)


STEPS = """\
1. First:

   ```python
   def f():
       return 1
   ```

   then check it.
   - nested
     ```sh
     ls
     ```
     and under it
2. Second
- [x] done
- [ ] open, in words that go on below
"""


def test_code_in_a_list_is_shown_and_copied_without_its_indent_and_boxes_are_boxes() -> None:
    assert reply(STEPS, 24) == [
        " 1. First:",
        "     def f():",
        "         return 1",
        "    then check it.",
        "     • nested",
        "       ls",
        "      and under it",
        " 2. Second",
        " ☑ done",
        " ☐ open, in words that",
        "   go on below",
    ]
    assert code_blocks(STEPS) == ["def f():\n    return 1", "ls"]


def test_addresses_are_found_without_the_sentence_around_them() -> None:
    text = "See (https://a.example/x_(y)), https://b.example/?q=1. And mailto:me@c.example! https://b.example/?q=1"
    assert addresses_in(text) == ["https://a.example/x_(y)", "https://b.example/?q=1", "mailto:me@c.example"]
    assert addresses_in(inert("\x1b]8;;http://d.example\x1b\\words")) == ["http://d.example"], "nor a sign for Escape"


def test_changes_of_files_carry_their_signs_and_have_grounds_of_their_own() -> None:
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new"
    laid = BlockLayout(Block("tool", "{}", tool_name="shell", result=diff), LOOK, 60)
    styles = {laid.text_of(n).strip(): [segment.style for segment in laid.line(n)][-1] for n in range(laid.height)}
    assert styles["+new"].bgcolor == LOOK.came.bgcolor and styles["-old"].bgcolor == LOOK.went.bgcolor
    assert LOOK.came.bgcolor != LOOK.went.bgcolor and styles["same"] is None
    lengths = {laid.line(n).cell_length for n in range(laid.height) if laid.text_of(n).strip() in ("+new", "-old")}
    assert lengths == {60}, "to the end of the line"


@pytest.mark.parametrize(
    ("status", "width", "shown"),
    [
        ("exit 1 · 2.1 s", 60, [("exit 1 · 2.1 s", LOOK.error)]),
        ("exit 0 · 2.1 s", 60, [("exit 0 · 2.1 s", LOOK.muted)]),
        ("denied", 60, [("denied", LOOK.warning)]),
        ("+3 −2", 60, [("+3", LOOK.reply), (" −2", LOOK.error)]),
        ("done · 9 calls · 41k · $0.02 · 38 s", 52, [("done · 38 s", LOOK.muted)]),
        ("done · 9 calls · 41k · $0.02 · 38 s", 90, [("done · 9 calls · 41k · $0.02 · 38 s", LOOK.muted)]),
    ],
)
def test_how_a_call_ended_stands_out_when_it_went_wrong_and_leaves_room_for_what_it_was_about(
    status: str, width: int, shown: list[tuple[str, Style]]
) -> None:
    block = Block("tool", '{"command": "find callers of open_store"}', folded=True, tool_name="run_command")
    block.status = status
    laid = BlockLayout(block, LOOK, width)
    title = laid.height - 1
    assert "find callers of open_store" in laid.text_of(title)
    assert [(each.text, each.style) for each in list(laid.line(title))[-len(shown) :]] == shown


def test_of_an_error_the_way_out_is_not_in_the_colour_of_what_went_wrong() -> None:
    laid = BlockLayout(Block("error", "No answer from x.example: refused. F9 tries again."), LOOK, 80)
    last = laid.line(laid.height - 1)
    colours = {segment.text: segment.style.color for segment in last if segment.style}
    assert colours["No answer from x.example: refused."] == LOOK.error.color
    assert colours[" F9 tries again."] == LOOK.text.color


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "漢" * 9_000, "👨‍👩‍👧‍👦" * 900, "🇫🇷" * 900, "e\u0301" * 900, "שלום " * 900]
)
@pytest.mark.parametrize("kind", ["user", "reply", "tool", "thinking", "note"])
def test_no_line_is_wider_than_the_screen_whatever_it_holds(kind: str, text: str) -> None:
    laid = BlockLayout(Block(kind, text, result=text if kind == "tool" else ""), LOOK, 60)
    assert max(laid.line(n).cell_length for n in range(laid.height)) <= 60


def test_a_long_prompt_shows_its_beginning_until_it_is_opened() -> None:
    block = Block("user", "\n".join(f"line {n}" for n in range(1, 101)))
    lines = shown(block)
    assert lines[-2:] == ["▌ line 8", "▌ … 92 more lines (Enter expands, v shows all)"]
    assert shown(Block("user", f"{block.text}\n"))[-1] == lines[-1], "its last line end begins no line"
    block.folded = False
    assert shown(block)[-1] == "▌ line 100" and not Block("user", "\n" * 19).foldable
    pasted = shown(Block("user", "word " * 1_000))
    assert len(pasted) < 20 and pasted[-1] == "▌ … 4,200 more characters (Enter expands, v shows all)"


def test_a_queued_prompt_is_one_line() -> None:
    lines = [line for line in shown(Block("user", "Fix the cart\n" * 30, status="queued", queued=True)) if line]
    assert len(lines) == 1 and lines[0].startswith("▌ Fix the cart  ") and lines[0].endswith("+29 lines  queued")


@pytest.mark.parametrize("width", [60, 120, 180])
def test_a_long_line_of_code_stays_in_its_block(width: int) -> None:
    code = "\n".join(["short = 1", f"long = {'x' * 300!r}", *["more = 2"] * 40])
    laid = BlockLayout(Block("reply", f"```python\n{code}\n```"), LOOK, width)
    widths = {laid.line(n).cell_length for n in range(1, laid.height) if laid.text_of(n)}
    assert widths == {min(width, CODE_COLUMNS)}
