"""Commands for the draft in the prompt."""

from co_tui.ui.commands.host import CommandHost, command
from co_tui.ui.prompt.earlier_prompts import EarlierPromptsScreen
from co_tui.ui.prompt.external_editor import EditorError


@command("editor")
async def editor(host: CommandHost, _: str) -> None:
    before = host.view.prompt.whole
    try:
        after = await host.edit_elsewhere(before)
    except EditorError as trouble:
        host.fail(str(trouble))
        return
    if after != before:
        host.view.set_draft(after)


@command("prompts")
async def earlier_prompts(host: CommandHost, _: str) -> None:
    """Choosing one replaces the draft, which stays in the prompt history."""
    launch = host.launch
    chosen = await host.ask(lambda: EarlierPromptsScreen(launch.store, launch.workplace.text))
    if chosen is not None:
        host.view.set_draft(chosen)
