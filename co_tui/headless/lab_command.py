"""`co-tui lab`: what each policy would have done to recorded conversations."""

import asyncio
import errno
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from co_tui.agent.model_messages import read_messages
from co_tui.agent.models.open_model import ModelConfig, ModelHandle, open_model, recorded_window
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.context.measure.count import FALLBACK_WINDOW_TOKENS, Window
from co_tui.events.triggers import Trigger
from co_tui.events.wording import percent
from co_tui.exchange.openai_format import BadInput, Conversation, load
from co_tui.headless.lab_jobs import Progress, ReplayFailed, Replays, run_in_processes
from co_tui.headless.output import DONE, FAILED, WRONG_USAGE, CommandContext, put, put_json, say, table
from co_tui.headless.sessions.show_command import load_state
from co_tui.lab.report.page import Replayed, report_page
from co_tui.lab.results import PolicyResult
from co_tui.paths import Paths, link_target, write_atomically
from co_tui.session.compaction.model_summaries import ModelSummaries
from co_tui.session.compaction.summaries import OFFLINE, Summary, SummaryRequest
from co_tui.session.history.learned_ratios import Ratios
from co_tui.session.state.history_edits import said
from co_tui.session.synced_files import RATIOS_FILE
from co_tui.settings import Loaded, Settings, policy_label
from co_tui.settings import load as load_settings


def recorded(file: Path | None, session: str | None, context: CommandContext) -> Iterator[Conversation]:
    """The conversations of a file, or one stored session. Raises `BadInput` or `StoreError` when read."""
    if file is not None:
        yield from load(file)
    elif session is not None:
        state = load_state(context, session)
        messages = read_messages([entry.message for entry in said(state)])
        yield Conversation(state.session_id, messages)


def window_of(tokens: int | None, model: str | None) -> Window:
    """The window that was asked for, else the named model's, else the usual assumption."""
    if tokens:
        return Window(tokens=tokens, known=True)
    if model:
        if (found := recorded_window(model)) is not None:
            return Window(tokens=found, known=True)
        say(f"The window of {model} is unknown; assuming {FALLBACK_WINDOW_TOKENS:,} tokens.")
    return Window(tokens=FALLBACK_WINDOW_TOKENS, known=False)


def ratio_of(model: str | None, context: CommandContext) -> float:
    """What was learnt about the named model's tokens; 1 for one that was never used."""
    return (Ratios(context.paths.state / RATIOS_FILE).of(model) if model else None) or 1.0


def named_policies(
    names: Sequence[str], paths: Paths, cwd: Path, environ: Mapping[str, str]
) -> list[tuple[str, Loaded]] | None:
    """The settings under each policy, by its name in tables and folders; None when one is refused, which is said."""
    policies: dict[str, Loaded] = {}
    for name in names:
        loaded = load_settings(paths=paths, cwd=cwd, environ=environ, command_line={"policy": name})
        if loaded.problems:
            for problem in loaded.problems:
                say(problem)
            return None
        policies[_label(name, policies)] = loaded
    return list(policies.items())


def _label(name: str, known: Container[str]) -> str:
    """A policy's name; files of the same name are numbered."""
    label, number = policy_label(name), 1
    while label in known:
        number += 1
        label = f"{policy_label(name)} ({number})"
    return label


class LabOptions(NamedTuple):
    """How the lab replays, and what it writes."""

    window: Window
    ratio: float = 1.0
    model: str = ""
    """Writes the summaries, if any; otherwise the offline summariser does."""
    config: ModelConfig | None = None
    dump: Path | None = None
    as_json: bool = False
    jobs: int = 1
    report: Path | None = None
    source: str = ""
    """Where the recordings come from, for the report."""


def lab(conversations: Iterable[Conversation], policies: list[tuple[str, Loaded]], options: LabOptions) -> int:
    """Replay every conversation under every policy, and report the figures."""
    if options.model and options.jobs > 1:
        say("Use --jobs without --model: one model writes all summaries, one after the other.")
        return WRONG_USAGE
    try:
        if options.report is not None:
            require_writable(options.report)
    except OSError as error:
        say(f"Cannot write {options.report}: {error.strerror or error}.")
        return FAILED
    try:
        replays = Replays(
            list(conversations),
            [(name, loaded.settings) for name, loaded in policies],
            options.window,
            options.ratio,
            options.dump,
        )
        if not replays.recordings:
            say("The input contains no conversation.")
            return FAILED
        results = _results(replays, options)
    except (BadInput, ModelUnusable, ReplayFailed) as error:
        say(str(error))
        return FAILED
    except OSError as error:
        say(f"Cannot write {options.dump}: {error.strerror or error}.")
        return FAILED
    if options.as_json:
        for result in results:
            put_json(result.record(options.window))
    else:
        put(table(_HEADER, map(_row, results)))
    _report_too_long(results, options.window)
    for failure in dict.fromkeys(each.failure for result in results for each in result.conversations if each.failure):
        say(f"{failure} {Settings().policy} decided where it failed.")
    return _write_report(results, options) if options.report is not None else DONE


def _report_too_long(results: Sequence[PolicyResult], window: Window) -> None:
    """Say that the window is too small for these recordings, which explains the figures."""
    most = max((result.total for result in results), key=lambda total: total.too_long)
    if most.too_long:
        how_many = f"{most.too_long:,} of {most.requests:,} requests"
        say(f"{how_many} do not fit {window.tokens:,} tokens: try a larger --window.")


def _results(replays: Replays, options: LabOptions) -> list[PolicyResult]:
    with Progress(replays.total) as progress:
        if options.jobs > 1 and replays.total > 1:
            return run_in_processes(replays, options.jobs, progress.step)
        return asyncio.run(_run_here(replays, options, progress))


async def _run_here(replays: Replays, options: LabOptions, progress: Progress) -> list[PolicyResult]:
    summaries: CountedSummaries | None = None
    if options.model and options.config is not None:
        timeout_s = replays.policies[0][1].compaction_timeout_s
        summaries = await CountedSummaries.open(options.model, options.config, timeout_s)
    results = []
    try:
        for number in range(replays.total):
            results.append(await replays.run(number, summaries))
            progress.step()
    finally:
        if summaries is not None:
            say(summaries.report())
            await summaries.close()
    return replays.in_order(results)


def _write_report(results: Sequence[PolicyResult], options: LabOptions) -> int:
    assert options.report is not None
    summariser = options.model or "the offline summariser"
    page = report_page(results, Replayed(options.source, options.window.tokens, options.ratio, summariser))
    try:
        write_atomically(link_target(options.report), page)
    except OSError as error:
        say(f"Cannot write {options.report}: {error.strerror or error}.")
        return FAILED
    say(f"Report: {options.report}")
    return DONE


def require_writable(file: Path) -> None:
    """Raises `OSError` if a report cannot be written there; leaves nothing behind."""
    if file.exists() and not file.is_file():
        raise OSError(errno.EINVAL, "it is a folder, a pipe or a device")
    with tempfile.TemporaryFile(dir=link_target(file).parent):
        pass


_HEADER = (
    "POLICY", "REQUESTS", "MEAN", "COMPACTIONS", "WAITS", "LONG", "KEPT", "IN CONTEXT", "STATE", "JOINED", "REUSED",
    "PRICE", "BREACHES",
)  # fmt: skip


def _row(result: PolicyResult) -> tuple[str, ...]:
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


class CountedSummaries:
    """Summaries by a model, with what came of them."""

    def __init__(self, model: ModelHandle, timeout_s: float) -> None:
        self._model = model
        self._summaries = ModelSummaries(model, timeout_s=timeout_s, is_in_use=False)
        self._by_model = self._offline = 0
        self._cost = 0.0
        self._note = ""

    @classmethod
    async def open(cls, name: str, config: ModelConfig, timeout_s: float) -> "CountedSummaries":
        """Raises `ModelUnusable`."""
        return cls(await open_model(name, config), timeout_s)

    async def write(self, request: SummaryRequest, trigger: Trigger) -> Summary:
        summary = await self._summaries.write(request, trigger)
        if summary.by == OFFLINE:
            self._offline, self._note = self._offline + 1, summary.note or self._note
        else:
            self._by_model += 1
        self._cost += request.bill.cost or 0.0
        return summary

    def report(self) -> str:
        """What came of it, in a sentence."""
        why = f" (last: {self._note})" if self._note else ""
        offline = f", {self._offline} by the offline summariser{why}" if self._offline else ""
        price = f" Cost: ${self._cost:.4f}." if self._cost else ""
        return f"{self._by_model} summaries by {self._model.name}{offline}.{price}"

    async def close(self) -> None:
        await self._model.close()
