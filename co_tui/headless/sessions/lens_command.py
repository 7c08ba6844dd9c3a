"""`co-tui lens`: the next request of a stored session as it would be sent. Reads only; sends nothing."""

import shutil
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from co_tui.events.wording import percent
from co_tui.headless.output import DONE, CommandContext, json_line, put, put_json, say
from co_tui.headless.sessions.show_command import load_state
from co_tui.inert import one_line
from co_tui.session.lens.request_rows import Fate, Kind, LeftMessage, Lens
from co_tui.session.lens.snapshot import LensSource, read_lens
from co_tui.session.lens.stored_lens import StoredRequests
from co_tui.session.state.session_state import SessionState

LINE_CHARS = 400
LEAST_TEXT_COLUMNS = 8
BAR_COLUMNS, BAR_FROM_COLUMNS = 8, 80


def show_lens(context: CommandContext, name: str, *, as_json: bool) -> int:
    """Each message on its own, then what they add up to."""
    state = load_state(context, name)
    lens = stored_lens(context, state)
    if not state.history:
        say(f"The context of {state.session_id} is empty.")
    if as_json:
        for message in lens.messages:
            put(json_line(message.as_json()))
        put_json({"session_id": state.session_id, **lens.total_json()})
    else:
        _print(lens)
    return DONE


def stored_lens(context: CommandContext, state: SessionState) -> Lens:
    """The next request under the settings, from the log alone, and everything that ever left the context."""
    return read_lens(stored_source_of(context, state))


def stored_source_of(context: CommandContext, state: SessionState) -> LensSource:
    """What that is made from. A model of the command line or the environment would get the next request (K2)."""
    if imposed := context.loaded.overriding_model:
        state = state.but(model=imposed)
    return StoredRequests(context.paths, context.store).source(state, context.loaded.settings)


def _print(lens: Lens) -> None:
    columns = shutil.get_terminal_size((100, 24)).columns
    widths = (BAR_COLUMNS if columns >= BAR_FROM_COLUMNS else 0, max(map(len, Kind)), max(map(len, Fate)))
    if lens.messages:
        put(_line("TOKENS", ("", "KIND", "FATE"), widths, "TEXT", columns))
    most = max((each.tokens for each in lens.messages), default=0)
    for each in lens.messages:
        cells = ("▇" * round(widths[0] * each.tokens / max(1, most)), each.kind, each.judgement.fate)
        put(_line(f"{each.tokens:,}", cells, widths, one_line(each.beginning, LINE_CHARS), columns))
    _print_total(lens)


def _line(tokens: str, cells: Sequence[str], widths: Sequence[int], text: str, columns: int) -> str:
    """As wide as the terminal at most; the text takes what is left."""
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True) if width)
    start = "  ".join((f"{tokens:>9}", *padded))
    room = max(LEAST_TEXT_COLUMNS, columns - len(start) - 2)
    return f"{start}  {text if cell_len(text) <= room else set_cell_size(text, room - 1).rstrip() + '…'}".rstrip()


def _print_total(lens: Lens) -> None:
    reading = lens.reading
    mark = "" if reading.measured == "provider" else "~"
    limit = f"{reading.window.tokens:,}{'' if reading.window.known else ' (assumed)'}"
    kinds = " · ".join(f"{kind} {tokens:,}" for kind, tokens in lens.tokens_by_kind.items()) or "nothing"
    put(f"\n{mark}{reading.current_tokens:,} of {limit} tokens ({percent(reading.share)}) under {lens.policy}")
    put(kinds)
    if lens.due:
        put(lens.due)
    for why in dict.fromkeys(each.why for each in lens.left):
        put(_told_left([each for each in lens.left if each.why == why]))


def _told_left(left: Sequence[LeftMessage]) -> str:
    """What left for one reason, and where the first of it is."""
    count, tokens = len(left), sum(each.tokens for each in left)
    more = " …" if count > 1 else ""
    many = f"{count:,} message{'' if count == 1 else 's'} (~{tokens:,} tokens)"
    return f"{many} left the context: {left[0].why}, {left[0].where}{more}"
