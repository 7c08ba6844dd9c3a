"""The page itself: self-contained, readable without scripts, light or dark as the reader prefers."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final, NamedTuple

from co_tui.context.measure.count import Window
from co_tui.events.wording import percent
from co_tui.lab.report.plots import fill_of, kept_against_tokens, kept_by_age, telling_conversations
from co_tui.lab.report.svg import STYLES
from co_tui.lab.results import PolicyResult

Record = dict[str, Any]
Column = tuple[str, Callable[[Record], str]]

_CSS: Final = """
:root { color-scheme: light dark; --ink: #1d2330; --quiet: #5b6475; --paper: #ffffff; --rule: #d9dde5;
  --c0: #0b62c4; --c1: #b3470b; --c2: #1a7a3c; --c3: #8a2fb0; --c4: #b0123f; --c5: #00727a;
  --c6: #7a5c00; --c7: #4b5563; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --quiet: #a2abba; --paper: #14171d; --rule: #343a46;
  --c0: #74b0ff; --c1: #ff9d62; --c2: #6fd08c; --c3: #d59bf2; --c4: #ff8aa5; --c5: #5fd0d8;
  --c6: #e3c04f; --c7: #c3cad6; } }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .2rem; overflow-wrap: anywhere; }
p, dd { max-width: 46rem; } p.quiet, .quiet, dd { color: var(--quiet); }
dd { margin: 0 0 .6rem; } dt { font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; margin-top: .8rem; font-size: .8125rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th[scope=row], thead th:first-child { text-align: left; position: sticky; left: 0; background: var(--paper); }
thead th { color: var(--quiet); font-weight: 600; vertical-align: bottom; }
svg { display: block; width: 100%; min-width: 36rem; max-width: 60rem; height: auto; font-size: 12px; }
svg text { fill: var(--ink); stroke: none; } svg text.quiet { fill: var(--quiet); }
.axis { stroke: var(--quiet); } .grid { stroke: var(--rule); }
.series { fill: none; stroke-width: 1.8; stroke-linejoin: round; } .dashed.series { stroke-dasharray: 5 3; }
.hollow { fill: var(--paper); stroke-width: 1.8; }
"""
_SERIES: Final = "".join(
    f".s{n} {{ stroke: var(--c{n}); }} .point.s{n} {{ fill: var(--c{n}); stroke: var(--paper); }}\n"
    f"svg text.s{n} {{ fill: var(--c{n}); stroke: none; font-weight: 600; }}\n"
    for n in range(STYLES)
)
_DEFINITIONS: Final = (
    (
        "details kept",
        "Paths, identifiers, numbers and names that the next six messages use and that were said before. "
        "The figure is the share that is anywhere in the request.",
    ),
    ("in context", "The same, with the three words before and after it, or on its whole original line."),
    (
        "state stated",
        "The mean of three shares, of those that apply. Files changed: by the last two names of their path. "
        "Failing commands: the five newest that did not run well since, by their head and error line. "
        "Conclusions: the assistant's five newest, in their words or with 80 % of them on a line.",
    ),
    (
        "joined or marked",
        "Measured on the text that replaces the past, where one original line follows another. "
        "The share that did so in the conversation, or whose gap is marked.",
    ),
    ("lone words", "Lines of one word or number without a neighbour from the conversation."),
    ("repeated", "Original lines that are in the same text twice."),
    ("headers a request", "How often a request says that a summary follows."),
    ("lists of names", "The share of characters in lines that only list names."),
    (
        "prefix reused",
        "The share of tokens before the first difference to the last request. "
        "Most providers read them from their cache; some only in whole blocks.",
    ),
    (
        "mean (95 %)",
        "The mean over conversations, each with the same weight. "
        "The interval holds 95 % of the means when conversations are drawn again. "
        "Shares without it are over all requests together.",
    ),
    ("price", "Of all summaries, at $3 and $15 per million tokens where no price is known."),
    (
        "breaches",
        "Requests that lose a system message or the latest prompt, part a call from its result, or are too long.",
    ),
)


class Replayed(NamedTuple):
    """What was replayed, and how."""

    source: str
    window_tokens: int
    ratio: float
    summariser: str


def report_page(results: Sequence[PolicyResult], replayed: Replayed) -> str:
    """The page for one run of the lab."""
    window = Window(tokens=replayed.window_tokens, known=True)
    records = [result.record(window) for result in results]
    parts = [
        "<h1>Context policies compared</h1>",
        f"<p>{escape(_what(records[0], replayed))}</p>",
        "<h2>Details kept against tokens sent</h2>",
        _quiet("Filled: in context; hollow: anywhere in the request. Up and to the left is better."),
        kept_against_tokens(results, replayed.window_tokens),
        table(records, KEPT),
        "<h2>What was sent</h2>",
        table(records, SENT),
        "<h2>Details kept by age</h2>",
        _quiet("What a policy forgets first: needed details by how many messages ago they were last said."),
        kept_by_age(results),
        "<h2>Where the work stands</h2>",
        table(records, STATE),
        "<h2>Readability of summaries and journals</h2>",
        table(records, READABILITY),
        *_fills(results, replayed.window_tokens),
        "<h2>What the figures mean</h2>",
        "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(words)}</dd>" for name, words in _DEFINITIONS) + "</dl>",
    ]
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>Context policies compared</title>"
        f"<style>{_CSS}{_SERIES}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )
    return page.encode(errors="replace").decode()


def _what(record: dict[str, float], replayed: Replayed) -> str:
    ratio = f" Token counts are multiplied by {replayed.ratio:g}." if replayed.ratio != 1 else ""
    return (
        f"{record['conversations']:,} recorded conversations from {replayed.source}, replayed request by request. "
        f"The window is {replayed.window_tokens:,} tokens; {replayed.summariser} wrote the summaries. "
        f"Before {record['long_requests']:,} of {record['requests']:,} requests the conversation no longer fits. "
        f"Details, state, readability and reuse are measured on these.{ratio}"
    )


def _fills(results: Sequence[PolicyResult], window: int) -> list[str]:
    numbers = telling_conversations(results)
    if not numbers:
        return []
    parts = [
        "<h2>Fill over a conversation</h2>",
        _quiet("The tokens of each request, up to the window. ◆ marks a compaction."),
    ]
    for number in numbers:
        parts += [f"<h3>{escape(results[0].conversations[number].id)}</h3>", fill_of(results, number, window)]
    return parts


def _quiet(words: str) -> str:
    return f'<p class="quiet">{escape(words)}</p>'


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
    ("calls without a result", lambda record: percent(record["bare_heads_share"], 1) if record["heads"] else "–"),
    ("passages of one line", _if_replaced(_share("short_passages_share"))),
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
