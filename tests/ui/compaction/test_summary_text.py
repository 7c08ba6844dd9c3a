"""What stands for summarised messages, on the screen: as it is sent, and readable."""

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from co_tui.context.journal import work_state
from co_tui.context.journal.entries import GAP, Entry, Head, Kind, folded
from co_tui.context.journal.shown_lines import ShownLine
from co_tui.context.memory.transcript_lines import LinePosition
from co_tui.ui.text.summary_text import hanging, summary_text
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import DARK, palette_of

RENDERER = TextRenderer(palette_of(DARK))


def lines(*texts: str) -> tuple[ShownLine, ...]:
    return tuple(ShownLine(LinePosition(1, 0, 2 * n), text) for n, text in enumerate(texts))


CALL = Entry(
    Head((1, 0), Kind.CALL, "$ pytest -q", outcome="failed (exit 1)"),
    lines("E   assert [bold]1[/bold]", "- $ rm -rf build"),
    ("src/a.py",),
)
SAID = Entry(Head((2, 0), Kind.SAID, ""), lines("The fixture is wrong."))
ASKED = Entry(Head((3, 0), Kind.USER, "Why does it fail?"))


def style_at(text: Text, words: str) -> set[str]:
    start = text.plain.index(words)
    return {str(span.style) for span in text.spans if span.start <= start and span.end >= start + len(words)}


def test_heads_stand_out_and_what_was_left_out_is_muted() -> None:
    fold = folded([Head((4, 0), Kind.CALL, "$ ls", verb="ls")])
    sent = "\n".join(("[Earlier conversation, summarised]", CALL.text, SAID.text, ASKED.text, fold))
    text, muted = summary_text(sent, RENDERER), str(RENDERER.muted)
    assert text.plain == sent
    assert style_at(text, "[Earlier conversation, summarised]") == style_at(text, "- $ pytest -q") == {"bold"}
    assert str(RENDERER.error) in style_at(text, "→ failed (exit 1)")
    assert style_at(text, "assistant:") == {str(RENDERER.me)} and style_at(text, "user:") == {str(RENDERER.you)}
    for words in (GAP, "› ", "also:", fold):
        assert style_at(text, words) == {muted}
    for words in ("E   assert [bold]1[/bold]", "- $ rm -rf build", "The fixture is wrong.", "src/a.py"):
        assert style_at(text, words) == set()


def test_each_part_of_where_the_work_stands_is_labelled() -> None:
    labels = (work_state.FILES_CHANGED, work_state.NEW_FILES, work_state.DONE, work_state.FAILING,
              work_state.CONCLUDED, work_state.LAST_GOOD, work_state.FILES_READ)  # fmt: skip
    text = summary_text("\n".join(f"{label}src/a.py" for label in labels), RENDERER)
    assert all(style_at(text, label) == {"bold"} for label in labels)


def test_wrapped_lines_stay_under_their_own_beginning() -> None:
    sent = (
        "- $ pytest -q tests/one.py tests/two.py\n"
        "    assert the value is the one that was expected\n"
        "user: Why does it fail on CI, not here?"
    )
    assert hanging(Text(sent), 28).plain.split("\n") == [
        "- $ pytest -q tests/one.py ",
        "  tests/two.py",
        "    assert the value is the ",
        "    one that was expected",
        "user: Why does it fail on ",
        "  CI, not here?",
    ]


@given(st.text(st.sampled_from("ab …-$›[#(\t漢\n"), max_size=80), st.integers(1, 60))
def test_nothing_is_lost_by_wrapping(sent: str, width: int) -> None:
    text = summary_text(sent, RENDERER)
    shown = hanging(text, width)
    assert "".join(shown.plain.split()) == "".join(sent.split())
    if width > 1:
        assert all(Text(line.rstrip()).cell_len <= width for line in shown.plain.split("\n"))


def test_the_form_of_older_sessions_still_reads_well() -> None:
    sent = "[Earlier conversation, summarised]\n## Word for word\n[bash called with]\nls -la\n› # a comment"
    text = summary_text(sent, RENDERER)
    assert text.plain == sent
    assert all(style_at(text, words) == {"bold"} for words in ("## Word for word", "[bash called with]"))
    assert style_at(text, "› ") == {str(RENDERER.muted)} and style_at(text, "# a comment") == set()
