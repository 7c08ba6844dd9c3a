"""Commands about what the model may do in the folder."""

import asyncio
from typing import TYPE_CHECKING, Final

from co_tui.events.facts.agents import MAIN_AGENT
from co_tui.events.tool_wording import plan_lines
from co_tui.events.wording import MODE_SENTENCES, mode_name
from co_tui.inert import one_line
from co_tui.session.slash.agent_list import agent_lines, speaker_lines
from co_tui.session.slash.command_host import CommandFailed, CommandHost, WrongArguments, command
from co_tui.session.slash.hook_list import hook_lines
from co_tui.settings import quoted
from co_tui.settings.rules import MODES

if TYPE_CHECKING:
    from co_tui.session.approvals.standing_approvals import StandingApprovals


@command("diff")
async def diff(host: CommandHost, _: str) -> None:
    session = host.opened()
    from co_tui.session.snapshots.file_restores import RestoreRefused

    try:
        changes = await session.edits.restores.changes()
    except RestoreRefused as refused:
        raise CommandFailed(str(refused)) from None
    if changes.files:
        await host.show_changes(changes)
    else:
        host.say("This session changed no files.")


NO_PLAN: Final = "No plan. The model writes one when a task has several steps."


@command("plan")
async def plan(host: CommandHost, _: str) -> None:
    steps = host.state.plan
    host.answer(plan_lines(steps)) if steps else host.say(NO_PLAN)


@command("mode")
async def mode(host: CommandHost, name: str) -> None:
    name = name.lower()
    if not name:
        host.answer(f"{_mode_list(host.mode)}\nSwitch with {host.mode_switch}.")
    elif name not in MODES:
        raise WrongArguments(f"Unknown mode {quoted(name)}. Use one of {', '.join(MODES)}.")
    else:
        await host.switch_mode(name)


def _mode_list(present: str) -> str:
    """All modes, with the one in force."""
    longest = max(len(mode_name(mode)) for mode in MODES)
    return "\n".join(
        f"{'●' if mode == present else '○'} {mode_name(mode):<{longest}}  {MODE_SENTENCES[mode]}" for mode in MODES
    )


@command("add-dir")
async def add_dir(host: CommandHost, words: str) -> None:
    from co_tui.folders import FolderRefused
    from co_tui.session.workplace.added_folders import AddedFolders, NextFolders, folder_lines

    workplace = host.launch.workplace
    session = host.opened() if words and host.session_id else host.session
    folders: AddedFolders | NextFolders
    folders = session.folders if session is not None else NextFolders(workplace, host.launch.paths)
    if not words:
        added = map(str, folders.now) if session is not None or not host.session_id else host.state.folders
        host.answer(folder_lines(workplace.text, [*added]))
        return
    if session is None and not host.starts_sessions:
        raise WrongArguments("Folders are for one run. Add --add-dir PATH to the run with your prompt.")
    is_removal = words.split(maxsplit=1)[0] == "--remove"
    written = words.removeprefix("--remove").strip() if is_removal else words
    if not (written := written.strip("'\"")):
        raise WrongArguments("Name the folder: /add-dir --remove PATH")
    try:
        folder = await (folders.remove(written) if is_removal else folders.add(written))
    except FolderRefused as refused:
        raise CommandFailed(str(refused)) from None
    if is_removal:
        workplace.add_dirs = tuple(each for each in workplace.add_dirs if each != str(folder))
    host.say(f"{'Removed' if is_removal else 'Added'} {one_line(str(folder), 200)}.")
    await host.folders_changed(None if is_removal else folder)


@command("review")
async def review(host: CommandHost, focus: str) -> None:
    from co_tui.session.review import branch_review
    from co_tui.session.workplace.branch_changes import ReviewRefused

    launch = host.launch
    try:
        if host.session_id:
            found = await host.opened().review(focus)
        else:
            found = await asyncio.to_thread(branch_review, launch.workplace, launch.environ, launch.settings, focus)
    except ReviewRefused as refused:
        raise CommandFailed(str(refused)) from None
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
    session = host.opened() if host.session_id else None
    if session is not None and "files" not in session.works:
        raise CommandFailed(NO_FILE_TOOLS.format(model=host.shortcut_for("model")))
    exists = (host.launch.cwd / "AGENTS.md").exists()
    if exists and not await host.confirm("AGENTS.md exists. Let the model improve it?"):
        return
    host.send("\n\n".join(filter(None, (INIT_PROMPT, IMPROVE if exists else "", words.strip()))))


@command("approvals")
async def approvals(host: CommandHost, words: str) -> None:
    rules = [each.rule for each in await asyncio.to_thread(standing_approvals(host).all)]
    lines = [f"{each.effect:<5}  {one_line(each.rule.shown, 200)}  {one_line(each.source, 200)}" for each in rules]
    found = [line for line in lines if words.lower() in line.lower()]
    nothing = (
        f"No rule has {one_line(words, 40)!r}." if lines else "No rules yet. What the mode does not allow asks first."
    )
    host.answer("\n".join(found)) if found else host.say(nothing)


def standing_approvals(host: CommandHost) -> "StandingApprovals":
    """The rules of the open session, or of the project before there is one."""
    from co_tui.session.approvals.kept_approvals import kept_for
    from co_tui.session.approvals.standing_approvals import StandingApprovals

    if host.session is not None:
        return host.session.approvals
    launch = host.launch
    kept = kept_for(launch.files, launch.cwd)
    return StandingApprovals(None, kept, lambda: launch.settings.permissions, launch.paths)


@command("agents")
async def agents(host: CommandHost, _: str) -> None:
    present = host.state.model or host.launch.choice.model
    # Which models a provider has is slow to load.
    lines = await asyncio.to_thread(lambda: list(agent_lines(host.launch, present)))
    host.answer("\n".join(lines))


@command("agent")
async def agent(host: CommandHost, name: str) -> None:
    """Without a name: who answers, and who could."""
    if not name:
        host.answer("\n".join(speaker_lines(host.launch, host.state.speaker or MAIN_AGENT)))
        return
    session = host.opened()
    from co_tui.session.runtime.transfers import TransferRefused

    try:
        await session.hand_to(name)
    except TransferRefused as refused:
        raise WrongArguments(str(refused)) from None
    host.say(f"{one_line(name, 60)} answers from now on.")


@command("hooks")
async def hooks(host: CommandHost, _: str) -> None:
    host.answer("\n".join(hook_lines(host.launch, host.state)))
