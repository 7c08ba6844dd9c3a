"""Commands about what the model may do in the folder."""

import asyncio
from typing import TYPE_CHECKING, Final

from co_tui.settings import SettingsError
from co_tui.ui.approvals.modes import mode_list
from co_tui.ui.commands.host import CommandHost, why_not_open
from co_tui.ui.commands.registry import command

if TYPE_CHECKING:
    from co_tui.session.approvals.standing_approvals import StandingApprovals, StandingRule
    from co_tui.settings.permission_rules import Effect, RuleInForce


@command("commands")
async def background_commands(host: CommandHost, _: str) -> None:
    from co_tui.ui.approvals.background_commands import BackgroundCommandsScreen

    if (session := host.session) is None:
        host.fail(why_not_open(host))
        return
    await host.ask(lambda: BackgroundCommandsScreen(session.commands))


@command("diff")
async def diff(host: CommandHost, _: str) -> None:
    from co_tui.session.snapshots.file_restores import RestoreRefused
    from co_tui.ui.files.changes_screen import ChangesScreen

    if (session := host.session) is None:
        host.say(why_not_open(host))
        return
    try:
        changes = await session.edits.restores.changes()
    except RestoreRefused as refused:
        host.say(str(refused))
        return
    if not changes.files:
        host.say("This session changed no files.")
    else:
        await host.ask(lambda: ChangesScreen(changes))


@command("mode")
async def mode(host: CommandHost, name: str) -> None:
    from co_tui.ui.control.session_mode import ModeUnavailable

    modes = host.sessions.modes
    if not name:
        host.say(f"{mode_list(modes.current)}\nSwitch with {host.view.shortcut_for('next_mode')} or /mode MODE.")
        return
    try:
        await modes.switch(name.lower())
    except ModeUnavailable as unavailable:
        host.fail(str(unavailable))


@command("review")
async def review(host: CommandHost, focus: str) -> None:
    from co_tui.session.review import ReviewRefused, branch_review

    launch, session = host.settings.launch, host.session
    if session is None and host.sessions.session_id:
        host.fail(why_not_open(host))
        return
    try:
        if session is not None:
            found = await session.review(focus)
        else:
            found = await asyncio.to_thread(branch_review, launch.cwd, launch.environ, launch.settings, focus)
    except ReviewRefused as refused:
        host.say(str(refused))
    else:
        host.send(found.prompt, (found.changes,))


INIT_PROMPT: Final = (
    "Write AGENTS.md for this folder: instructions for agents that work here. "
    "First read the README, build and package files, tests and CI. "
    "Also read instructions for other programs: CLAUDE.md, .cursorrules, .github/copilot-instructions.md. "
    "Say what the project is, and give the exact commands to build, run, test and check it. "
    "Say where things are, and what is not obvious: conventions and pitfalls. "
    "Write only facts that you saw, nothing that is true of every project, and at most 60 lines."
)
IMPROVE: Final = "AGENTS.md exists: keep what is right in it, correct what is not, and add what is missing."
NO_FILE_TOOLS: Final = "This model has no tools for files. Choose another with {model}."


@command("init")
async def init(host: CommandHost, words: str) -> None:
    """Send the prompt that writes AGENTS.md; the change itself is asked about like any other."""
    if host.session is None and host.sessions.session_id:
        host.fail(why_not_open(host))
        return
    if host.session is not None and "files" not in host.session.works:
        host.fail(NO_FILE_TOOLS.format(model=host.view.shortcut_for("model")))
        return
    exists = (host.settings.launch.cwd / "AGENTS.md").exists()
    if exists and not await host.confirm("AGENTS.md exists. Let the model improve it?"):
        return
    host.send("\n\n".join(filter(None, (INIT_PROMPT, IMPROVE if exists else "", words.strip()))))


@command("approvals")
async def approvals(host: CommandHost, _: str) -> None:
    from co_tui.ui.approvals.approvals_screen import ApprovalsScreen

    await host.ask(lambda: ApprovalsScreen(ApprovalEditor(host), host.sessions.modes.current))


@command("hooks")
async def hooks(host: CommandHost, _: str) -> None:
    from co_tui.ui.commands.hook_list import hook_lines

    host.say("\n".join(hook_lines(host.settings.launch, host.state)))


class ApprovalEditor:
    """Lists, adds and revokes approval rules; a change applies to the open session, too."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host

    @property
    def _standing(self) -> "StandingApprovals":
        from co_tui.session.approvals.kept_approvals import kept_for
        from co_tui.session.approvals.standing_approvals import StandingApprovals

        if self._host.session is not None:
            return self._host.session.approvals
        launch = self._host.settings.launch
        kept = kept_for(launch.files, launch.cwd)
        return StandingApprovals(None, kept, lambda: launch.settings.permissions, launch.paths)

    def rules(self) -> "list[StandingRule]":
        return self._standing.all()

    async def add(self, effect: "Effect", rule: str) -> str:
        """Write a rule to the user's file; returns when it takes effect. Raises `SettingsError`."""
        from co_tui.settings.writing import add_permission

        launch = self._host.settings.launch
        added = add_permission(effect, rule, launch.paths)
        return f"Added: {effect} {added.rule}. It applies {await self._reload()}."

    async def revoke(self, rule: "RuleInForce") -> str:
        """Raises `SettingsError`."""
        try:
            await self._standing.revoke(rule)
        except OSError as error:
            raise SettingsError(f"Not revoked: cannot write {error.filename} ({error.strerror}).") from None
        if rule.source == str(self._host.settings.launch.paths.config_file):
            await self._reload()
        return f"Revoked {rule.rule}."

    async def _reload(self) -> str:
        changed = self._host.settings.launch.reloaded(written="permissions")
        for problem in changed.problems:
            self._host.fail(problem)
        return await self._host.settings.apply("permissions", changed)
