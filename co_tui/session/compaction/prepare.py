"""All that comes before a history is rewritten: asking, the start in the log, hooks, the summary, its review."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from co_tui.agent.models import ModelHandle
from co_tui.events import CompactionStart
from co_tui.inert import one_line
from co_tui.session.compaction import telemetry
from co_tui.session.compaction.apply import Job
from co_tui.session.compaction.hooks import run_hooks
from co_tui.session.compaction.summaries import OFFLINE, Summary, request_for, summarised

AUTOMATIC = frozenset({"background", "blocking", "window", "turns", "budget"})
"""Triggers that come from the policy, not from a person or an emergency."""
BACKGROUND_CHARS = 2_000
"""How much of its system prompt the summariser is told."""
BREAKDOWN = ("system_tokens", "conversation_tokens", "tool_definition_tokens")


class Asker(Protocol):
    """Somebody who can be asked while a compaction runs."""

    async def may_compact(self, trigger: str, messages: int, share: float) -> bool:
        """Whether an automatic compaction may begin."""
        ...

    async def review(self, summary: str) -> str | None:
        """The summary as it shall be applied; None not to apply it."""
        ...


class Stopped(Exception):
    """The compaction ended without a result, for a reason that is told."""


class Preparer:
    """Gets a compaction ready to be applied. Nothing has happened to the history when it is done, or when it fails."""

    def __init__(self, cwd: Path, asker: Asker | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._cwd = cwd
        self._asker = asker
        self._environ = environ or {}
        self._writers: dict[str, ModelHandle] = {}

    async def prepare(self, job: Job) -> None:
        """All that comes before the rewrite; the summary is left in the job."""
        runtime = job.runtime
        if not job.plan.texts_only and not await self._may(job):
            raise Stopped("you said no")
        await self._start(job)
        await self._run_hooks(job)
        if job.plan.texts_only:
            job.summary = Summary("", OFFLINE)
            return
        request = request_for(runtime.governor, job.messages, job.trigger)
        request.background = one_line(runtime.scaffold.instructions, BACKGROUND_CHARS)
        request.focus, request.pause_s, request.bill = job.focus, runtime.first_backoff_s, job.bill
        request.timeout_s = runtime.settings.compaction_timeout_s
        job.summary = await summarised(request, None if self._in_the_way(job) else lambda: self._writer(job))
        if runtime.settings.compaction_review == "on" and self._asker is not None and job.summary.text:
            await self._review(job, job.summary)

    async def _may(self, job: Job) -> bool:
        if job.trigger not in AUTOMATIC or job.runtime.settings.compaction_asks == "off" or self._asker is None:
            return True
        return await self._asker.may_compact(job.trigger, len(job.refs), job.reading.share)

    async def _start(self, job: Job) -> None:
        runtime = job.runtime
        breakdown = {name: getattr(job.reading, name) for name in BREAKDOWN}
        place = {"session_id": runtime.session_id, "model": runtime.model_handle.name}
        job.span = telemetry.start(job.trigger, {**place, **breakdown})
        job.started = True
        await runtime.recorder.record(
            CompactionStart(
                trigger=job.trigger, focus=job.focus, messages=len(job.refs), blocks=job.blocks, **breakdown
            )
        )

    async def _run_hooks(self, job: Job) -> None:
        runtime = job.runtime
        commands = runtime.settings.hooks.get("preCompact", ())
        if not commands:
            return
        payload = {
            "hook": "preCompact",
            "trigger": job.trigger,
            "session_id": runtime.session_id,
            "cwd": str(self._cwd),
            "focus": job.focus,
            "messages": len(job.refs),
            "share": round(job.reading.share, 4),
        }
        outcome = await run_hooks(
            "preCompact", commands, payload, cwd=self._cwd, timeout_s=runtime.settings.hook_timeout_s,
            secrets=runtime.model_handle.asked.secrets, environ=self._environ,
        )  # fmt: skip
        await runtime.recorder.record(*outcome.runs)
        if outcome.veto:
            raise Stopped(f"a preCompact hook said no: {outcome.reason}" if outcome.reason else "a hook said no")
        job.focus = "\n".join(filter(None, (job.focus, outcome.focus)))

    async def _review(self, job: Job, summary: Summary) -> None:
        assert self._asker is not None
        wished = await self._asker.review(summary.text)
        if wished is None or not wished.strip():
            raise Stopped("the summary was not accepted")
        summary.edited = wished.strip() != summary.text.strip()
        summary.text = wished.strip()

    def _in_the_way(self, job: Job) -> bool:
        """Whether a summary by the model that answers would take the only seat from the turn beside it."""
        runtime = job.runtime
        own = (
            not runtime.settings.summarization_model
            or runtime.settings.summarization_model == runtime.model_handle.name
        )
        return runtime.model_handle.one_seat and own and job.trigger in AUTOMATIC

    async def _writer(self, job: Job) -> ModelHandle:
        """Who writes the summary."""
        name = job.runtime.settings.summarization_model
        if job.with_primary or not name or name == job.runtime.model_handle.name:
            return job.runtime.model_handle
        if name not in self._writers:
            self._writers[name] = await job.runtime.open_model(name)
        return self._writers[name]

    async def close(self) -> None:
        for model_handle in self._writers.values():
            await model_handle.close()
        self._writers.clear()
