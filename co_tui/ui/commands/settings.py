"""Commands that show and change settings."""

from collections.abc import Mapping

from co_tui import settings
from co_tui.agent.catalogue import short_name
from co_tui.inert import one_line
from co_tui.settings import Loaded
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.commands.registry import command


@command("config")
async def config(host: CommandHost, arguments: str) -> None:
    loaded = host.settings.launch.loaded
    key, _, value = arguments.partition(" ")
    if not key:
        host.say(_all(loaded, _idle(host)))
    elif settings.setting_of(key) not in loaded.origins:
        host.fail(settings.unknown_key(key))
    elif not value:
        host.say(_one(loaded, settings.setting_of(key), _idle(host)))
    else:
        await _set(host, key, value.strip())


def _idle(host: CommandHost) -> Mapping[str, str]:
    """Settings that nothing reads as things stand, each with why."""
    launch = host.settings.launch
    idle = settings.unused(launch.settings)
    ignored = _ignored_effort(host, host.state.model or launch.choice.model)
    return {**idle, "reasoning_effort": ignored} if ignored else idle


def _ignored_effort(host: CommandHost, model: str) -> str:
    if not host.sessions.engine_is_loaded:
        return ""
    from co_tui.agent.reasoning import ignores_effort

    return f"ignored by {one_line(short_name(model), 60)}" if ignores_effort(model) else ""


def _all(loaded: Loaded, idle: Mapping[str, str]) -> str:
    width = max(map(len, loaded.origins))
    return "\n".join(
        f"{name.ljust(width)}  {settings.told(origin.value):<12} {origin.source}"
        + (f"; {idle[name]}" if name in idle else "")
        for name, origin in loaded.origins.items()
    )


def _one(loaded: Loaded, key: str, idle: Mapping[str, str]) -> str:
    origin = loaded.origins[key]
    reason = idle.get(key)
    why = f"; {reason}" if reason else ""
    return f"{key} = {settings.told(origin.value)}   from {origin.source}{why}"


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
    holds = await host.settings.apply(settings.setting_of(key), changed)
    host.appearance.follow(changed.settings)
    caveat = settings.caveat(key, changed, launch.paths)
    if not caveat and key == "reasoning_effort" and (ignored := _idle(host).get(key)):
        caveat = f" It is {ignored}."
    host.say(
        f"{key} = {settings.told(kept)} written to {launch.paths.config_file}." + (caveat or f" It holds {holds}.")
    )


@command("policy")
async def policy(host: CommandHost, name: str) -> None:
    launch = host.settings.launch
    names = settings.policy_names(launch.paths)
    if not name:
        host.say(f"{_policy_numbers(launch.loaded)}\nAll policies: {', '.join(names)}. /policy NAME chooses one.")
        return
    if name not in names:
        host.fail(f"There is no policy {settings.shown(name)}; choose one of {', '.join(names)}.")
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
        f"  {key} = {settings.told(origin.value)}"
        for key, origin in loaded.origins.items()
        if origin.source == f"policy {present}"
    )
    return f"Policy {present}:\n{numbers}"
