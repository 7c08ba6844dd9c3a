"""The screens about what the model may do in the folder."""

from typing import TYPE_CHECKING

from co_tui.session.slash.work_commands import standing_approvals
from co_tui.settings import SettingsError
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.commands.registry import command

if TYPE_CHECKING:
    from co_tui.session.approvals.standing_approvals import StandingRule
    from co_tui.settings.permission_rules import Effect, RuleInForce


@command("commands")
async def background_commands(host: CommandHost, _: str) -> None:
    from co_tui.ui.approvals.background_commands import BackgroundCommandsScreen

    session = host.opened()
    await host.ask(lambda: BackgroundCommandsScreen(session.commands))


@command("approvals")
async def approvals(host: CommandHost, _: str) -> None:
    from co_tui.ui.approvals.approvals_screen import ApprovalsScreen

    await host.ask(lambda: ApprovalsScreen(ApprovalEditor(host), host.mode))


class ApprovalEditor:
    """Lists, adds and revokes approval rules; a change applies to the open session, too."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host

    def rules(self) -> "list[StandingRule]":
        return standing_approvals(self._host).all()

    async def add(self, effect: "Effect", rule: str) -> str:
        """Write a rule to the user's file; returns when it takes effect. Raises `SettingsError`."""
        from co_tui.settings.writing import add_permission

        launch = self._host.launch
        added = add_permission(effect, rule, launch.paths)
        return f"Added: {effect} {added.rule}. It applies {await self._reload()}."

    async def revoke(self, rule: "RuleInForce") -> str:
        """Raises `SettingsError`."""
        try:
            await standing_approvals(self._host).revoke(rule)
        except OSError as error:
            raise SettingsError(f"Not revoked: cannot write {error.filename} ({error.strerror}).") from None
        if rule.source == str(self._host.launch.paths.config_file):
            await self._reload()
        return f"Revoked {rule.rule.shown}."

    async def _reload(self) -> str:
        changed = self._host.launch.reloaded(written="permissions")
        for problem in changed.problems:
            self._host.fail(problem)
        return await self._host.apply("permissions", changed)
