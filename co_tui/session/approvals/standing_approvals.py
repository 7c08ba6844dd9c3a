"""What need not be asked about again, and how it is taken back."""

from typing import NamedTuple

from co_tui.agent.approvals import AllowedCalls
from co_tui.events import ApprovalRevoked
from co_tui.session.approvals.kept_approvals import KeptApprovals
from co_tui.session.recorder import Recorder


class StandingApproval(NamedTuple):
    """One answer that reaches beyond the call it was about."""

    rule: AllowedCalls
    kept: bool
    """For the project, from session to session; else for this session."""


class StandingApprovals:
    """Those that hold in one session, or in the project before one has begun."""

    def __init__(self, recorder: Recorder | None, kept: KeptApprovals) -> None:
        self._recorder = recorder
        self._kept = kept

    def all(self) -> list[StandingApproval]:
        kept = self._kept.rules()
        allowed = self._recorder.state.allowed if self._recorder is not None else ()
        here = [StandingApproval(rule, kept=False) for rule in allowed if rule not in kept]
        return [*here, *(StandingApproval(rule, kept=True) for rule in kept)]

    async def revoke(self, rule: AllowedCalls) -> None:
        """From the next call on it is asked about again. Raises OSError when it cannot be written."""
        if rule in self._kept.rules():
            self._kept.remove(rule)
        if self._recorder is not None and rule in self._recorder.state.allowed:
            await self._recorder.record(ApprovalRevoked(tool=rule.tool, pattern=rule.pattern))
