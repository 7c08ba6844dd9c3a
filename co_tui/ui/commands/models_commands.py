"""Commands that choose the model."""

from co_tui.events.model_names import short_name
from co_tui.inert import one_line
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.commands.registry import command
from co_tui.ui.models.model_list import RecentModels


@command("model")
async def model(host: CommandHost, name: str) -> None:
    if name:
        await _switch(host, name)
    elif chosen := await _chosen(host):
        host.run("model", chosen)


@command("fetch")
async def fetch(host: CommandHost, _: str) -> None:
    if host.embedded_model.is_installed:
        host.say("The embedded model is already installed.")
    else:
        host.embedded_model.fetch()


async def _chosen(host: CommandHost) -> str:
    from co_tui.ui.models.models_screen import ModelScreen, ModelsKnown

    launch = host.settings.launch
    present = host.state.model or launch.choice.model
    known = ModelsKnown(
        environ=launch.environ,
        present=present,
        recent=RecentModels(launch.paths).read(),
        base_url=launch.settings.base_url,
    )
    chosen = await host.ask(lambda: ModelScreen(known)) or ""
    return "" if chosen == present and host.session is not None else chosen


async def _switch(host: CommandHost, name: str, *, compact: bool = False) -> None:
    if not host.sessions.backend.ready:
        host.fail("Still starting. Choose the model again in a moment.")
        return
    from co_tui.agent.wire.model_errors import ModelUnusable
    from co_tui.session.compaction.compactor import CompactionRefused
    from co_tui.session.runtime.runtime_switcher import WindowTooSmall

    try:
        if host.session is not None:
            await host.session.switcher.switch_model(name, compact=compact)
        else:
            await host.sessions.choose_model(name)
    except WindowTooSmall as small:
        if await host.confirm(f"{small} Compact now, then switch?"):
            await _switch(host, name, compact=True)
    except (ModelUnusable, CompactionRefused) as error:
        host.fail(str(error))
        host.show_busy()
    else:
        RecentModels(host.settings.launch.paths).note(name)
        host.say(f"Now using {one_line(short_name(name), 60)}.")
