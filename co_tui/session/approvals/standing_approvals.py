"""The rules in force, where each is written, and how to revoke one."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from co_tui.events import ApprovalRevoked
from co_tui.paths import Paths
from co_tui.session.approvals.kept_approvals import KeptApprovals
from co_tui.session.approvals.permissions import THIS_PROJECT, THIS_SESSION
from co_tui.session.recorder import Recorder
from co_tui.settings.permission_rules import Rule, RuleInForce
from co_tui.settings.writing import remove_permission


class StandingRule(NamedTuple):
    """A rule, and whether it can be revoked here."""

    rule: RuleInForce
    revocable: bool


class StandingApprovals:
    """The rules of one session, or of the project before a session starts."""

    def __init__(
        self,
        recorder: Recorder | None,
        kept: KeptApprovals,
        written: Callable[[], Sequence[RuleInForce]],
        paths: Paths,
    ) -> None:
        """`written` returns the current rules of the settings."""
        self._recorder = recorder
        self._kept = kept
        self._written = written
        self._paths = paths

    def all(self) -> list[StandingRule]:
        """The rules from this session's answers, then the project's, then those in files."""
        kept = self._kept.rules()
        allowed = self._recorder.state.allowed if self._recorder is not None else ()
        own = str(self._paths.config_file)
        return [
            *(StandingRule(RuleInForce("allow", rule, THIS_SESSION), True) for rule in allowed if rule not in kept),
            *(StandingRule(RuleInForce("allow", rule, THIS_PROJECT), True) for rule in kept),
            *(StandingRule(each, each.source == own) for each in self._written()),
        ]

    def of_this_session(self) -> list[Rule]:
        """The rules that hold for this session alone; they do when it is resumed, too."""
        return [each.rule.rule for each in self.all() if each.rule.source == THIS_SESSION]

    def of_other_machines(self) -> list[str]:
        """The project's rules that were allowed on other machines and do not count here yet; each is returned once."""
        return [str(rule) for rule in self._kept.report_unmarked()]

    def drop_too_broad(self) -> list[str]:
        """Rules of an older version that are asked about again; returned once."""
        return self._kept.drop_too_broad()

    async def revoke(self, rule: RuleInForce) -> None:
        """Revoke a rule. Raises OSError and `SettingsError` if that cannot be written."""
        if rule.source == str(self._paths.config_file):
            remove_permission(rule, self._paths)
            return
        if rule.rule in self._kept.rules():
            self._kept.remove(rule.rule)
        if self._recorder is not None and rule.rule in self._recorder.state.allowed:
            await self._recorder.record(ApprovalRevoked(rule=str(rule.rule)))
