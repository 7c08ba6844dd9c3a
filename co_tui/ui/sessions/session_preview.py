"""What the session browser tells of one session; everything said in it is inert."""

from collections.abc import Iterator
from typing import NamedTuple

from rich.style import Style
from rich.text import Text

from co_tui.inert import inert, one_line
from co_tui.store.search.message_search import Hit
from co_tui.store.stored_values import PreviewLine, SessionRow
from co_tui.ui.formatting import cost_text, counted, folder, tokens
from co_tui.ui.sessions.session_finder import Previewed

TITLE_CHARS = 120
FACT_CHARS = 80
SAID_CHARS = 500
_WHO = {"user": "You", "assistant": "co-tui"}


class PreviewLook(NamedTuple):
    """The styles of a preview."""

    muted: Style = Style(dim=True)
    match: Style = Style(bold=True)


def preview_text(row: SessionRow, previewed: Previewed, look: PreviewLook, *, note: str = "") -> Text:
    """Title and figures; then where it holds what is searched for, how it began, and what was said last."""
    text = Text.assemble((one_line(row.title, TITLE_CHARS) or "(no prompt yet)", "bold"), "\n")
    for line in filter(None, (_place(row), _figures(row), note)):
        text.append(f"{line}\n", look.muted)
    for hit in previewed.hits:
        text.append(f"\n{_who(hit)}\n", "bold")
        text.append_text(_snippet(hit, look.match)).append("\n")
    first, last = previewed.preview.first_prompt, previewed.preview.last
    if first.strip() and (not last or first != last[0].text):
        text.append("\nBegan with\n", "bold").append(f"{_cut(first)}\n")
    for said in _without_blank(last):
        text.append(f"\n{_WHO.get(said.role, said.role)}\n", "bold").append(f"{_cut(said.text)}\n")
    return text.append(f"\n{row.id}", look.muted)


def _place(row: SessionRow) -> str:
    named = (one_line(fact, FACT_CHARS) for fact in (row.branch, row.model, row.policy) if fact)
    return " · ".join(filter(None, (folder(row.cwd), *named)))


def _figures(row: SessionRow) -> str:
    figures = [counted(row.messages, "message")]
    if row.tokens:
        figures += [f"{tokens(row.tokens)} tokens", f"cost {cost_text(row.known_cost, model=row.model)}"]
    return " · ".join([*figures, *([f"{row.compactions} ◆"] if row.compactions else [])])


def _who(hit: Hit) -> str:
    return f"{_WHO.get(hit.role, one_line(hit.tool, 40) or hit.role.replace('_', ' '))} …"


def _snippet(hit: Hit, match: Style) -> Text:
    snippet = hit.snippet
    text = Text(snippet.text)
    for start, end in snippet.spans:
        text.stylize(match, start, end)
    before, after = ("…" if cut else "" for cut in (snippet.is_cut_before, snippet.is_cut_after))
    return Text.assemble(before, text, after)


def _without_blank(last: tuple[PreviewLine, ...]) -> Iterator[PreviewLine]:
    return (said for said in last if said.text.strip())


def _cut(said: str) -> str:
    said = said.strip()
    return inert(said[:SAID_CHARS]) + ("…" if len(said) > SAID_CHARS else "")
