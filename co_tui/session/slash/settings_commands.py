"""Commands that show and change settings."""

from collections.abc import Mapping

from co_tui import settings
from co_tui.events.model_names import short_name
from co_tui.inert import one_line
from co_tui.session.launch import CHOSEN
from co_tui.session.slash.applying import NOW
from co_tui.session.slash.command_host import CommandFailed, CommandHost, WrongArguments, command
from co_tui.settings import RESUMED, Loaded, Origin, writing
from co_tui.settings.consistency import SUSPENDED


@command("config")
async def config(host: CommandHost, arguments: str) -> None:
    loaded = settings_in_force(host)
    key, _, value = arguments.partition(" ")
    if not key:
        host.answer(_all(loaded, without_effect(host)))
    elif writing.setting_of(key) not in loaded.origins:
        raise WrongArguments(settings.unknown_key(key))
    elif not value:
        host.answer(_one(loaded, writing.setting_of(key), without_effect(host)))
    else:
        await _set(host, key, value.strip())


def settings_in_force(host: CommandHost) -> Loaded:
    """The settings; model and policy as the session has them."""
    loaded, state = host.launch.loaded, host.state
    was_resumed = host.session is None or bool(host.session.resumed_from.turn)
    first = state if host.session is None else host.session.resumed_from
    own: dict[str, Origin] = {}
    for key, value, at_first in (("model", state.model, first.model), ("policy", state.policy, first.policy)):
        layer = loaded.origins[key]
        overrides = layer.value and layer.source in (*settings.ABOVE_RESUMED, CHOSEN)
        if value != at_first and value != layer.value:
            own[key] = Origin(value, CHOSEN)
        elif value and value == at_first and was_resumed and not overrides:
            own[key] = Origin(value, RESUMED)
    return loaded.but(origins={**loaded.origins, **own})


def without_effect(host: CommandHost) -> Mapping[str, str]:
    """Settings that have no effect at present, each with the reason."""
    launch = host.launch
    unused = settings.unused(launch.settings)
    ignored = _ignored_effort(host, host.state.model or launch.choice.model)
    return {**unused, "reasoning_effort": ignored} if ignored else unused


def _ignored_effort(host: CommandHost, model: str) -> str:
    if not host.is_ready:
        return ""
    from co_tui.agent.models.request_settings import ignores_effort

    return f"ignored by {one_line(short_name(model), 60)}" if ignores_effort(model) else ""


def _all(loaded: Loaded, unused: Mapping[str, str]) -> str:
    width = max(map(len, loaded.origins))
    return "\n".join(
        f"{name.ljust(width)}  {settings.value_text(origin.value):<12} {origin.source}"
        + (f"; {unused[name]}" if name in unused else "")
        for name, origin in loaded.origins.items()
    )


def _one(loaded: Loaded, key: str, unused: Mapping[str, str]) -> str:
    origin = loaded.origins[key]
    reason = unused.get(key)
    why = f"; {reason}" if reason else ""
    return f"{key} = {settings.value_text(origin.value)}   from {origin.source}{why}"


async def _set(host: CommandHost, key: str, value: str) -> None:
    host.require_writable()
    try:
        changer = SettingChanger(host)
        host.say(await (changer.reset(key) if writing.resets(key, value) else changer.change(key, value)))
    except settings.SettingsError as error:
        raise WrongArguments(str(error)) from None


class SettingChanger:
    """Writes settings to the user's file and applies them; returns a sentence that says when they take effect."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host

    async def change(self, key: str, value: str) -> str:
        """Raises `SettingsError`, with nothing changed."""
        launch = self._host.launch
        kept = writing.write(key, value, launch.paths, launch.settings)
        shown = settings.rules()[writing.setting_of(key)].shown(kept)
        return await self._applied(key, f"{writing.setting_label(key)}: {shown} (saved)")

    async def reset(self, key: str) -> str:
        """Remove the setting from the user's file. Raises `SettingsError`."""
        launch = self._host.launch
        writing.remove(key, launch.paths)
        before = settings.rules()[key].shown(launch.reloaded(written=key).origins[key].value)
        return await self._applied(key, f"{writing.setting_label(key)}: {before} (your value removed)")

    async def _applied(self, key: str, done: str) -> str:
        host = self._host
        launch, setting = host.launch, writing.setting_of(key)
        changed = launch.reloaded(written=setting)
        for problem in changed.problems:
            host.fail(problem)
        more = ""
        if setting == "context_window":
            from co_tui.session.history.learned_limits import forget_limits

            more = forget_limits(launch.paths.state, launch.files.limits_changed)
        holds = await host.apply(setting, changed)
        caveat = writing.caveat(key, changed, launch.paths)
        if not caveat and key == "reasoning_effort" and (ignored := without_effect(host).get(key)):
            caveat = f" It is {ignored}."
        more += caveat or (f" Applies {holds}." if holds != NOW else "")
        return f"{done}.{more}" if more else done


async def read_again(host: CommandHost) -> str:
    """Apply what changed in the user's file; returns a sentence that names it. Raises `SettingsError` for a file that
    cannot be used: then the settings in force stay as they are."""
    before = host.launch.loaded
    after = host.launch.reloaded()
    problems = [each for each in after.problems if each not in before.problems]
    if problems:
        raise settings.SettingsError(f"{problems[0].removesuffix(SUSPENDED).rstrip()} Your settings are unchanged.")
    changed = [key for key, origin in after.origins.items() if origin.value != before.origins[key].value]
    for key in changed:
        await host.apply(key, after)
    unknown = [each for each in after.unknown if each not in before.unknown]
    named = ", ".join(writing.setting_label(key) for key in changed)
    return " ".join([f"Read again: {named}." if named else "Read again; no setting changed.", *unknown[:1]])


@command("policy")
async def policy(host: CommandHost, name: str) -> None:
    launch = host.launch
    names = launch.policies
    if name not in names:
        if settings.is_policy_path(name):
            raise WrongArguments(
                f"Policy {settings.quoted(name)} was not named at the start. Use `co-tui --policy PATH`."
            )
        unknown = f"Unknown policy {settings.quoted(name)}." if name else "Name a policy: /policy POLICY."
        raise WrongArguments(f"{unknown} Use one of {', '.join(names)}.")
    changed = launch.reloaded(policy=name)
    if changed.problems:
        raise CommandFailed(" ".join(changed.problems))
    await host.apply("policy", changed)
    host.say(f"Policy is now {settings.policy_label(name)}, for {host.policy_scope}.")
