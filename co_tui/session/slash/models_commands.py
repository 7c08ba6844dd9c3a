"""The command that chooses the model."""

from co_tui.events.model_names import short_name
from co_tui.inert import one_line
from co_tui.session.slash.command_host import CommandFailed, CommandHost, WrongArguments, command


@command("model")
async def model(host: CommandHost, name: str) -> None:
    from co_tui.agent.wire.model_errors import KeyMissing

    if not name:
        raise WrongArguments("Name a model: /model MODEL. `co-tui context --models` lists them.")
    try:
        await switch_model(host, name)
    except KeyMissing as missing:
        raise CommandFailed(str(missing)) from None


async def switch_model(host: CommandHost, name: str, *, compact: bool = False) -> None:
    """Use a model; asks before the conversation is compacted to fit it. Raises `KeyMissing`."""
    from co_tui.agent.wire.model_errors import KeyMissing, ModelUnusable
    from co_tui.session.compaction.compactor import CompactionRefused
    from co_tui.session.runtime.runtime_switcher import WindowTooSmall

    try:
        await host.choose_model(name, compact=compact)
    except KeyMissing:
        raise
    except WindowTooSmall as small:
        if await host.confirm(f"{small.what} Compact it now, and use this model?"):
            await switch_model(host, name, compact=True)
    except (ModelUnusable, CompactionRefused) as error:
        host.show_busy()
        raise CommandFailed(str(error)) from None
    else:
        host.say(f"Now using {one_line(short_name(name), 60)}.")
