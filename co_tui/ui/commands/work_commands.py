"""The screens about what the model does and may do in the folder."""

from co_tui.events.tool_wording import plan_lines, plan_progress
from co_tui.session.slash.command_host import CommandFailed
from co_tui.session.slash.work_commands import NO_PLAN
from co_tui.ui.approvals.approvals_screen import ApprovalEditor, ApprovalsScreen
from co_tui.ui.commands.host import CommandHost, command
from co_tui.ui.timeline.detail_screen import TextScreen
from co_tui.ui.work.tasks_screen import TasksScreen, tasks_of
from co_tui.ui.work.work_strip import PLAN


@command("tasks")
@command("commands")
async def tasks(host: CommandHost, key: str) -> None:
    """Open the list of tasks, at the one with this key."""
    session = host.opened()
    await host.ask(lambda: TasksScreen(host.sessions.work, lambda: tasks_of(session), key))


async def open_work(host: CommandHost, key: str) -> None:
    """Open a line of the strip above the prompt."""
    await (plan(host, "") if key == PLAN else tasks(host, key))


@command("background")
async def background(host: CommandHost, _: str) -> None:
    try:
        moved = await host.session.commands.move() if host.session is not None else ()
    except OSError as error:
        raise CommandFailed(f"The command stays in the foreground: {error.strerror or error}.") from error
    if moved is None:
        return
    if not moved:
        host.notice("No running command can be moved to the background.")
    host.view.look_at_work()


@command("plan")
async def plan(host: CommandHost, _: str) -> None:
    if not (steps := host.state.plan):
        host.say(NO_PLAN)
        return
    figures, _, _ = plan_progress(steps).partition("  ")
    await host.ask(lambda: TextScreen(f"Plan  {figures}", plan_lines(steps)))


@command("approvals")
async def approvals(host: CommandHost, words: str) -> None:
    await host.ask(lambda: ApprovalsScreen(ApprovalEditor(host), host.mode, words))
