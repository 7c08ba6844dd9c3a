"""The tables of the lab's report."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final

from co_tui.events.wording import percent

Record = dict[str, Any]
Column = tuple[str, Callable[[Record], str]]


def _share(key: str) -> Callable[[Record], str]:
    return lambda record: percent(record[key], 1)


def _count(key: str) -> Callable[[Record], str]:
    return lambda record: f"{record[key]:,}"


def _mean(key: str) -> Callable[[Record], str]:
    """The mean over conversations with its interval."""

    def cell(record: Record) -> str:
        if f"{key}_mean" not in record:
            return "–"
        low, high = record[f"{key}_interval"]
        return f"{percent(record[f'{key}_mean'], 1)} ({low * 100:.1f}–{high * 100:.1f})"

    return cell


SENT: Final[Sequence[Column]] = (
    ("mean tokens", _count("mean_tokens")),
    ("peak", _count("peak_tokens")),
    ("compactions", _count("compactions")),
    ("truncations", _count("truncations")),
    ("waits", _count("waits")),
    ("uncached tokens", _count("uncached_tokens")),
    ("summary tokens", lambda record: f"{record['summary_input_tokens'] + record['summary_output_tokens']:,}"),
    ("price", lambda record: f"${record['summary_cost']:.2f}"),
    ("breaches", _count("breaches")),
)
KEPT: Final[Sequence[Column]] = (
    ("details kept", _share("details_kept_share")),
    ("mean (95 %)", _mean("details_kept")),
    ("in context", _share("details_in_context_share")),
    ("mean (95 %)", _mean("details_in_context")),
    ("prefix reused", _share("prefix_reused_share")),
    ("mean (95 %)", _mean("prefix_reused")),
    ("in whole blocks", _share("block_reused_share")),
)
STATE: Final[Sequence[Column]] = (
    ("state stated", _share("state_share")),
    ("mean (95 %)", _mean("state")),
    ("files changed", _share("files_stated_share")),
    ("failing commands", _share("failing_stated_share")),
    ("conclusions", _share("conclusions_stated_share")),
)


def _if_replaced(cell: Callable[[Record], str]) -> Callable[[Record], str]:
    return lambda record: cell(record) if record["replaced_requests"] else "–"


READABILITY: Final[Sequence[Column]] = (
    ("joined or marked", lambda record: percent(record["joined_share"], 1) if record["line_pairs"] else "–"),
    ("lone words", _if_replaced(_share("lone_words_share"))),
    ("repeated", _if_replaced(_share("repeated_share"))),
    ("headers a request", _if_replaced(lambda record: f"{record['headers_per_request']:.2f}")),
    ("lists of names", _if_replaced(_share("lists_share"))),
)


def table(records: Sequence[Record], columns: Sequence[Column]) -> str:
    """One row a policy."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name, _ in columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(record["policy"])}</th>'
        + "".join(f"<td>{escape(cell(record))}</td>" for _, cell in columns)
        + "</tr>"
        for record in records
    )
    head = f'<thead><tr><th scope="col">policy</th>{head}</tr></thead>'
    return f'<div class="scroll"><table>{head}<tbody>{rows}</tbody></table></div>'
