"""`co-tui lab`: what each policy would have done to recorded conversations."""

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from co_tui.agent.model_messages import read_messages
from co_tui.agent.models.open_model import ModelConfig
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.context.measure.count import FALLBACK_WINDOW_TOKENS, Window
from co_tui.context.policy import policy_of
from co_tui.events.wording import percent
from co_tui.exchange.openai_format import BadInput, Conversation, load, to_chat
from co_tui.headless.output import DONE, FAILED, CommandContext, put, put_json, say, table
from co_tui.headless.sessions.show_command import load_state
from co_tui.lab.replayed_conversation import replay
from co_tui.lab.tally import ReplayedRequest, Tally, means, summed
from co_tui.paths import ensure_dir
from co_tui.session.compaction.job import SummaryWriter
from co_tui.session.history.learned_ratios import Ratios
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
        from co_tui.agent.models.open_model import recorded_window

        if (found := recorded_window(model)) is not None:
            return Window(tokens=found, known=True)
        say(f"The window of {model} is unknown; assuming {FALLBACK_WINDOW_TOKENS:,} tokens.")
    return Window(tokens=FALLBACK_WINDOW_TOKENS, known=False)


def ratio_of(model: str | None, context: CommandContext) -> float:
    """What was learnt about the named model's tokens; 1 for one that was never used."""
    return (Ratios(context.paths.state / RATIOS_FILE).of(model) if model else None) or 1.0


def lab(
    conversations: Iterable[Conversation],
    policies: list[tuple[str, Loaded]],
    window: Window,
    *,
    ratio: float = 1.0,
    model: str = "",
    config: ModelConfig | None = None,
    dump: Path | None,
    as_json: bool,
) -> int:
    """Replay every conversation under every policy, and tell what came of it; `model` writes the summaries, if any."""
    try:
        recordings = list(conversations)
        if not recordings:
            say("The input contains no conversation.")
            return FAILED
        replays = _Replays(recordings, window, ratio, dump)
        results = asyncio.run(_results(replays, policies, model, config))
    except (BadInput, ModelUnusable) as error:
        say(str(error))
        return FAILED
    except OSError as error:
        say(f"Cannot write {dump}: {error.strerror or error}.")
        return FAILED
    if as_json:
        for result in results:
            put_json(_record(result, window))
    else:
        put(table(_HEADER, map(_row, results)))
    return DONE


class _Replays(NamedTuple):
    """What is replayed, and as if by which model."""

    recordings: list[Conversation]
    window: Window
    ratio: float
    dump: Path | None


async def _results(
    replays: _Replays, policies: list[tuple[str, Loaded]], model: str, config: ModelConfig | None
) -> list["_Result"]:
    if not model or config is None:
        return [await _run(name, loaded, replays) for name, loaded in policies]
    from co_tui.headless.lab_model import CountedSummaries

    summaries = await CountedSummaries.open(model, config, policies[0][1].settings.compaction_timeout_s)
    try:
        return [await _run(name, loaded, replays, summaries) for name, loaded in policies]
    finally:
        say(summaries.report())
        await summaries.close()


class _Result(NamedTuple):
    """The figures of one policy: of each conversation, and of all together."""

    policy: str
    conversations: list[Tally]

    @property
    def total(self) -> Tally:
        return summed(self.policy, self.conversations)


def _record(result: _Result, window: Window) -> dict[str, Any]:
    total = result.total
    record = {**asdict(total), **total.shares(), "window": window.tokens}
    for name, mean in means(result.conversations).items():
        record[f"{name}_mean"] = round(mean.mean, 4)
        record[f"{name}_interval"] = [round(mean.low, 4), round(mean.high, 4)]
        record[f"{name}_conversations"] = mean.conversations
    return record


_HEADER = (
    "POLICY", "REQUESTS", "MEAN", "COMPACTIONS", "WAITS", "LONG", "DETAILS", "IN CONTEXT", "STATE", "JOINED", "REUSED",
    "PRICE", "BREACHES",
)  # fmt: skip


def _row(result: _Result) -> tuple[str, ...]:
    total = result.total
    shares = total.shares()
    return (
        total.policy,
        f"{total.requests:,}",
        f"{shares['mean_tokens']:,}",
        f"{total.compactions:,}",
        f"{total.waits:,}",
        f"{total.long_requests:,}",
        percent(shares["details_kept_share"], 1),
        percent(shares["details_in_context_share"], 1),
        percent(shares["state_share"], 1),
        percent(shares["joined_share"], 1),
        percent(shares["prefix_reused_share"], 1),
        f"${total.summary_cost:.2f}",
        f"{total.breaches:,}",
    )


async def _run(name: str, loaded: Loaded, replays: _Replays, summaries: SummaryWriter | None = None) -> _Result:
    tallies, policy = list[Tally](), policy_of(loaded.settings)
    recordings, window = replays.recordings, replays.window
    reported = time.monotonic()
    for number, conversation in enumerate(recordings, 1):
        tally = Tally(name, conversations=1)
        tallies.append(tally)
        async for request in replay(conversation, policy, window, ratio=replays.ratio, summaries=summaries):
            tally.add(request)
            if replays.dump is not None:
                _write(replays.dump, name, number, conversation.id, request, window)
        if sys.stderr.isatty() and time.monotonic() - reported > PROGRESS_EVERY_S:
            reported = time.monotonic()
            say(f"{name}: {number} of {len(recordings)} conversations")
    return _Result(name, tallies)


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
