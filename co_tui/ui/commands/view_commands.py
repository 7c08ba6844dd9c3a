"""Commands that change the view, or quit."""

from co_tui.session.slash.settings_commands import config
from co_tui.session.slash.view_commands import named
from co_tui.settings import rules
from co_tui.ui.commands.host import CommandHost, command
from co_tui.ui.help.help_screen import HelpScreen, page_screen


@command("help")
async def show_help(host: CommandHost, topic: str) -> None:
    if topic:
        found = named(topic)
        await host.ask(lambda: page_screen(found, host.view.size.width))
        return
    here, chosen = host.view.keys_here(), host.launch.settings.keys
    await host.ask(lambda: HelpScreen(here, chosen, host.view.own_commands))


@command("side")
async def side(host: CommandHost, _: str) -> None:
    host.view.toggle_side()


@command("timeline")
async def timeline(host: CommandHost, _: str) -> None:
    host.view.go_to_timeline()


@command("folds")
async def folds(host: CommandHost, _: str) -> None:
    host.view.transcript.toggle_all()


@command("find")
async def find(host: CommandHost, text: str) -> None:
    await host.view.find(text)


@command("theme")
async def theme(host: CommandHost, name: str) -> None:
    """A name is saved as a setting; without one, switch between dark and light until exit and list all themes."""
    if name:
        await config(host, f"theme {name}")
        return
    now = "light" if host.is_dark else "dark"
    host.appearance.use(now)
    setting, names = host.launch.settings.theme, rules()["theme"].choices
    host.say(
        f"{now.capitalize()} for this run only (saved: {setting}).\n/theme NAME saves a theme; "
        f"/settings theme previews them:\n{', '.join(names)}."
    )


@command("copy-reply")
async def copy_reply(host: CommandHost, _: str) -> None:
    if not host.view.transcript.action_copy():
        host.say("Nothing to copy yet.")


@command("quit")
async def leave(host: CommandHost, _: str) -> None:
    await host.quit()
