"""Commands that show and change settings."""

from co_tui import settings
from co_tui.settings import Loaded
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.commands.registry import command


@command("config")
async def config(host: CommandHost, arguments: str) -> None:
    loaded = host.settings.launch.loaded
    key, _, value = arguments.partition(" ")
    if not key:
        host.say(_all(loaded))
    elif key not in loaded.origins:
        host.fail(settings.unknown_key(key))
    elif not value:
        host.say(_one(loaded, key))
    else:
        await _set(host, key, value.strip())


def _all(loaded: Loaded) -> str:
    width = max(map(len, loaded.origins))
    idle = settings.unused(loaded.settings)
    return "\n".join(
        f"{name.ljust(width)}  {str(origin.value) or '(empty)':<12} {origin.source}"
        + (f"; {idle[name]}" if name in idle else "")
        for name, origin in loaded.origins.items()
    )


def _one(loaded: Loaded, key: str) -> str:
    origin = loaded.origins[key]
    reason = settings.unused(loaded.settings).get(key)
    why = f"; {reason}" if reason else ""
    return f"{key} = {str(origin.value) or '(empty)'}   from {origin.source}{why}"


async def _set(host: CommandHost, key: str, value: str) -> None:
    launch = host.settings.launch
    try:
        kept = settings.write(key, value, launch.paths, launch.settings)
    except settings.SettingsError as error:
        host.fail(str(error))
        return
    changed = launch.reloaded(written=key)
    for problem in changed.problems:
        host.fail(problem)
    holds = await host.settings.apply(key, changed)
    if key == "theme":
        host.set_theme(changed.settings.theme)
        holds = "from now on"
    caveat = settings.caveat(key, changed, launch.paths)
    host.say(f"{key} = {kept} written to {launch.paths.config_file}." + (caveat or f" It holds {holds}."))


@command("policy")
async def policy(host: CommandHost, name: str) -> None:
    launch = host.settings.launch
    if not name:
        names = ", ".join(settings.policy_names(launch.paths))
        host.say(f"{_policy_numbers(launch.loaded)}\nAll policies: {names}. /policy NAME chooses one.")
        return
    changed = launch.reloaded(policy=name)
    if changed.problems:
        host.fail(" ".join(changed.problems))
        return
    await host.settings.choose_policy(changed)
    host.say(f"Policy {name} governs the context from now on.")


def _policy_numbers(loaded: Loaded) -> str:
    present = loaded.settings.policy
    numbers = "\n".join(
        f"  {key} = {origin.value}" for key, origin in loaded.origins.items() if origin.source == f"policy {present}"
    )
    return f"Policy {present}:\n{numbers}"
