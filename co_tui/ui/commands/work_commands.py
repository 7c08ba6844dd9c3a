"""The screens about what the model may do in the folder."""

from co_tui.ui.approvals.approvals_screen import ApprovalEditor, ApprovalsScreen
from co_tui.ui.approvals.background_commands import BackgroundCommandsScreen
from co_tui.ui.commands.host import CommandHost, command


@command("commands")
async def background_commands(host: CommandHost, _: str) -> None:
    session = host.opened()
    await host.ask(lambda: BackgroundCommandsScreen(session.commands))


@command("approvals")
async def approvals(host: CommandHost, words: str) -> None:
    await host.ask(lambda: ApprovalsScreen(ApprovalEditor(host), host.mode, words))
