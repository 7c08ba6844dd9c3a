"""Commands about what the model does in the folder."""

from typing import TYPE_CHECKING

from co_tui.ui.commands.host import CommandHost, why_not_open
from co_tui.ui.commands.registry import command

if TYPE_CHECKING:
    from co_tui.session.approvals.standing_approvals import StandingApproval


@command("commands")
async def background_commands(host: CommandHost, _: str) -> None:
    from co_tui.ui.screens.background_commands import BackgroundCommandsScreen

    if (session := host.session) is None:
        host.fail(why_not_open(host))
        return
    await host.ask(lambda: BackgroundCommandsScreen(session.commands))


@command("approvals")
async def approvals(host: CommandHost, _: str) -> None:
    from co_tui.session.approvals.kept_approvals import kept_for
    from co_tui.session.approvals.standing_approvals import StandingApprovals
    from co_tui.ui.screens.approvals import ApprovalsScreen

    launch = host.settings.launch
    before_any = StandingApprovals(None, kept_for(launch.paths, launch.cwd))
    standing = host.session.approvals if host.session is not None else before_any

    async def revoke(approval: "StandingApproval") -> None:
        try:
            await standing.revoke(approval.rule)
        except OSError as error:
            host.fail(f"It is still allowed: {error.filename} cannot be written ({error.strerror}).")

    await host.ask(lambda: ApprovalsScreen(standing.all, revoke))
