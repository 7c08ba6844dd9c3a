"""The hooks of the settings, each with how it last ended in this session."""

from collections.abc import Iterator

from co_tui.agent.redact import redact
from co_tui.events import Event, HookRun
from co_tui.events.wording import clock
from co_tui.inert import inert, one_line
from co_tui.paths import home_text, path_text
from co_tui.session.launch import Launch
from co_tui.session.state.session_state import SessionState
from co_tui.settings.hook_entries import HOOKS, HookEntry

COMMAND_CHARS = 200
"""As in the log."""
NONE = "No hooks. Add `[hooks]` with an event and a command to {}. Events: {}."
WAITING = "! The hooks of {} are ignored until you run `co-tui trust`."
INDENT = " " * 4


def hook_lines(launch: Launch, state: SessionState) -> Iterator[str]:
    """Up to three lines for each hook: event and command; its last outcome; its file."""
    hooks = launch.settings.hooks
    last = {_key(event.fact): event for event in state.timeline if isinstance(event.fact, HookRun)}
    for name in HOOKS:
        for entry in hooks.get(name, ()):
            yield from _lines(name, entry, last.get((f"{name} hook", one_line(redact(entry.command), COMMAND_CHARS))))
    if not hooks:
        yield inert(NONE.format(home_text(path_text(launch.paths.config_file)), ", ".join(HOOKS)))
    for file in launch.loaded.withheld.values("hooks") if launch.loaded.withheld is not None else ():
        yield inert(WAITING.format(path_text(file)))


def _key(run: HookRun) -> tuple[str, str]:
    return run.what, run.where


def _lines(name: str, entry: HookEntry, last: Event | None) -> Iterator[str]:
    matcher = f" {one_line(entry.matcher, 60)}" if entry.matcher else ""
    yield f"{name}{matcher}  {one_line(redact(entry.command), COMMAND_CHARS)}"
    if last is None or not isinstance(last.fact, HookRun):
        outcome = "not run yet"
    else:
        outcome = f"{clock(last.timestamp)} {one_line(last.fact.outcome, 300)}"
    yield inert(f"{INDENT}{outcome}")
    if entry.source:
        yield inert(f"{INDENT}set in {entry.source}")
