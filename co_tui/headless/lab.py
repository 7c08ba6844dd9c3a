"""`co-tui lab`: what each policy would have done to recorded conversations."""

import json
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from co_tui.agent.messages import read_messages
from co_tui.context.count import FALLBACK_WINDOW_TOKENS, Window
from co_tui.context.offline_summary import Summarise, summarise_offline
from co_tui.exchange.chat import BadInput, Conversation, load, to_chat
from co_tui.headless.listing import load_state
from co_tui.headless.output import DONE, FAILED, CommandContext, put, put_json, say, table
from co_tui.lab.replay import ReplayedRequest, Tally, replay
from co_tui.paths import ensure_dir
from co_tui.session.ratios import Ratios
from co_tui.settings import Loaded

PROGRESS_EVERY_S = 1.0
RATIOS_FILE = "token-ratios.json"


def recorded(file: Path | None, session: str | None, context: CommandContext) -> Iterator[Conversation]:
    """The conversations of a file, or one stored session. Raises `BadInput` or `StoreError` when read."""
    if file is not None:
        yield from load(file)
    elif session is not None:
        state = load_state(context, session)
        messages = read_messages([entry.message for entry in state.transcript])
        yield Conversation(state.session_id, messages)


def window_of(tokens: int | None, model: str | None) -> Window:
    """The window that was asked for, else the named model's, else the usual assumption."""
    if tokens:
        return Window(tokens=tokens, known=True)
    if model:
        from co_tui.agent.models import recorded_window

        if (found := recorded_window(model)) is not None:
            return Window(tokens=found, known=True)
        say(f"Nobody recorded the window of {model}; {FALLBACK_WINDOW_TOKENS:,} tokens are assumed.")
    return Window(tokens=FALLBACK_WINDOW_TOKENS, known=False)


def ratio_of(model: str | None, context: CommandContext) -> float:
    """What was learnt about the named model's tokens; 1 for one that nobody has talked with yet."""
    return (Ratios(context.paths.state / RATIOS_FILE).of(model) if model else None) or 1.0


def lab(
    conversations: Iterable[Conversation],
    policies: list[tuple[str, Loaded]],
    window: Window,
    *,
    ratio: float = 1.0,
    summarise: Summarise = summarise_offline,
    dump: Path | None,
    as_json: bool,
) -> int:
    """Replay every conversation under every policy, and tell what came of it."""
    try:
        recordings = list(conversations)
        if not recordings:
            say("There is no conversation in the input.")
            return FAILED
        tallies = [_run(name, loaded, recordings, window, ratio, summarise, dump) for name, loaded in policies]
    except BadInput as error:
        say(str(error))
        return FAILED
    except OSError as error:
        say(f"{dump} cannot be written: {error.strerror or error}.")
        return FAILED
    if as_json:
        for tally in tallies:
            put_json({**asdict(tally), "details_kept_share": round(tally.kept_share, 4), "window": window.tokens})
    else:
        put(table(_HEADER, map(_row, tallies)))
    return DONE


_HEADER = ("POLICY", "REQUESTS", "PEAK", "TOTAL", "COMPACTIONS", "TRUNCATIONS", "WAITS", "DETAILS KEPT", "BREACHES")


def _row(tally: Tally) -> tuple[str, ...]:
    return (
        tally.policy,
        f"{tally.requests:,}",
        f"{tally.peak_tokens:,}",
        f"{tally.total_tokens:,}",
        f"{tally.compactions:,}",
        f"{tally.truncations:,}",
        f"{tally.waits:,}",
        f"{tally.kept_share:.1%} of {tally.details_needed:,}",
        f"{tally.breaches:,}",
    )


def _run(
    name: str,
    loaded: Loaded,
    recordings: list[Conversation],
    window: Window,
    ratio: float,
    summarise: Summarise,
    dump: Path | None,
) -> Tally:
    tally = Tally(name)
    told = time.monotonic()
    for number, conversation in enumerate(recordings, 1):
        tally.conversations += 1
        for request in replay(conversation, loaded.settings, window, ratio=ratio, summarise=summarise):
            tally.add(request)
            if dump is not None:
                _write(dump, name, number, conversation.id, request, window)
        if sys.stderr.isatty() and time.monotonic() - told > PROGRESS_EVERY_S:
            told = time.monotonic()
            say(f"{name}: {number} of {len(recordings)} conversations, {tally.requests:,} requests")
    return tally


def _write(folder: Path, policy: str, number: int, name: str, request: ReplayedRequest, window: Window) -> None:
    safe = re.sub(r"[^\w.-]+", "_", name)[:80]
    target = ensure_dir(folder / policy / f"{number}-{safe}") / f"{request.number:05}.json"
    record = {
        "id": name,
        "policy": policy,
        "request": request.number,
        "input_messages": request.input_messages,
        "limit_tokens": window.tokens,
        "tokens": request.prepared.reading.current_tokens,
        "compactions": request.compactions,
        "truncated": request.prepared.truncation is not None,
        "messages": to_chat(request.prepared.messages),
    }
    target.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8", errors="replace")
