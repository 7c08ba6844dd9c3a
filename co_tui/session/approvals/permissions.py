"""Decide about the calls of one session, by the rules and the mode in force."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from co_tui.agent.permissions.agent_limits import LIMITS
from co_tui.agent.permissions.judge import Judge, is_judged
from co_tui.agent.permissions.sandbox import refusal_in, sandbox_label
from co_tui.agent.permissions.verdict import Verdict
from co_tui.agent.tool_names import COMMAND_TOOLS
from co_tui.agent.toolkit import AsksFirst, never_asks
from co_tui.paths import is_inside
from co_tui.session.approvals.kept_approvals import KeptApprovals
from co_tui.session.recorder import Recorder
from co_tui.session.state.session_state import SessionState
from co_tui.settings.consistency import usable_rules
from co_tui.settings.permission_rules import READ, Rule, RuleInForce
from co_tui.settings.rules import ASK, AUTO, SANDBOX, SANDBOX_OFF, offered_modes

CO_TUI: Final = "co-tui"
THIS_SESSION: Final = "this session"
THIS_PROJECT: Final = "this project"


class Permissions:
    """Decides about calls; mode and rules are read each time, since they may change."""

    def __init__(
        self,
        judge: Judge,
        recorder: Recorder,
        written: Sequence[RuleInForce] = (),
        kept: KeptApprovals | None = None,
        *,
        sandbox: str = SANDBOX_OFF,
        asks_first: AsksFirst = never_asks,
        secret_files: Sequence[Path] = (),
        at_home: bool = False,
    ) -> None:
        """`written` are the rules of the settings; `sandbox` is where commands run unless the mode says otherwise;
        `asks_first` decides which calls of other tools need approval; `secret_files` are never read for the model."""
        self._judge = judge
        self._recorder = recorder
        self._of_settings = written
        self._secret_files = secret_files
        self._asks_first = asks_first
        self.kept = kept
        self.modes = offered_modes(at_home=at_home)
        """The modes that the folder allows, whatever was logged."""
        self._sandbox = sandbox
        self._for_turn: Sequence[RuleInForce] = ()
        self._refused_by_sandbox: dict[str, str] = {}

    @property
    def state(self) -> SessionState:
        """The session's."""
        return self._recorder.state

    @property
    def mode(self) -> str:
        """A mode that the folder does not allow counts as `ask`."""
        return self.allowed_mode(self._recorder.state.mode)

    def allowed_mode(self, mode: str) -> str:
        return mode if mode in self.modes else ASK

    @property
    def sandbox(self) -> str:
        """Where commands run now; mode `auto` always uses a sandbox."""
        return SANDBOX if self.mode == AUTO and self._sandbox == SANDBOX_OFF else self._sandbox

    def where(self, tool: str, verdict: Verdict) -> str:
        """Where a command would run, in a few words; empty for other calls."""
        if tool not in COMMAND_TOOLS:
            return ""
        kind = SANDBOX_OFF if verdict.outside_sandbox else self.sandbox
        return f"{self._judge.where} · {sandbox_label(kind)}"

    async def verdict(self, tool: str, arguments: Mapping[str, Any]) -> Verdict:
        for each in LIMITS.get():
            rules = each.only.get(tool)
            if rules and not await asyncio.to_thread(self._judge.keeps_to, tool, arguments, rules):
                return each.refused(tool)
        if self._asks_first(tool, arguments):
            return Verdict("ask", new=(tool,))
        written = [*self._in_force(), *(rule for each in LIMITS.get() for rule in each.denied)]
        verdict = await asyncio.to_thread(self._judge.verdict, tool, arguments, self.mode, written)
        line = str(arguments.get("command", ""))
        refused = self._refused_by_sandbox.get(line) if tool in COMMAND_TOOLS and self.mode == AUTO else None
        if refused is None or verdict.action == "refuse" or verdict.only_reads:
            return verdict
        reason = f"The sandbox seems to have blocked it: {refused}. If allowed, it runs outside the sandbox."
        return Verdict("ask", reason, new=(line,), danger=verdict.danger, outside_sandbox=True)

    async def about_question(self, tool: str, arguments: Mapping[str, Any]) -> Verdict:
        """The verdict about a call that needs approval, also if its tool asks by itself."""
        verdict = await self.verdict(tool, arguments)
        return verdict if is_judged(tool) or verdict.action != "run" else Verdict("ask", new=(tool,))

    @property
    def limits_reading(self) -> bool:
        """Whether reading some files needs approval."""
        return bool(self._reading_limits)

    def hides(self, path: Path) -> bool:
        """Whether reading a file needs approval: then searches leave it out."""
        return self._judge.hides(path, self._reading_limits)

    def outside_reader(self) -> Callable[[Path], bool]:
        """Returns whether a rule in force now lets a resolved path outside of the folder be read."""
        return self._judge.outside_reader(self._in_force())

    @property
    def _written(self) -> Sequence[RuleInForce]:
        """The rules of the settings; in a folder that holds the user's keys, such as their home, also one of ours."""
        folders = (self._judge.folder.resolve(), *self._judge.added)
        files = [file for file in self._secret_files if file.exists()]
        found = [file.resolve() for file in files if any(is_inside(file, folder) for folder in folders)]
        return [*self._of_settings, *(RuleInForce("deny", Rule(READ, f"/{file}"), CO_TUI) for file in found)]

    @property
    def _reading_limits(self) -> list[RuleInForce]:
        return [each for each in self._written if each.effect != "allow" and each.rule.tool == READ]

    @contextmanager
    def allowing(self, rules: Sequence[RuleInForce]) -> Iterator[None]:
        """While open, these rules apply, too: those of a slash command, for its turn."""
        self._for_turn = rules
        try:
            yield
        finally:
            self._for_turn = ()

    def refused_by_sandbox(self, line: str, output: str) -> str:
        """Why the sandbox blocked a command, empty if it did not. If it did, ask when the same command comes again."""
        judge = self._judge
        if why := refusal_in(output, judge.home, (judge.folder, judge.folder.resolve(), *judge.added)):
            self._refused_by_sandbox[line] = why
        return why

    def _in_force(self) -> list[RuleInForce]:
        kept = self.kept.rules() if self.kept is not None else ()
        return usable_rules(
            [
                *self._written,
                *(RuleInForce("allow", rule, THIS_SESSION) for rule in self._recorder.state.allowed),
                *(RuleInForce("allow", rule, THIS_PROJECT) for rule in kept),
                *self._for_turn,
            ]
        )
