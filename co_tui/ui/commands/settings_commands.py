"""Commands that show and change settings."""

from collections.abc import Mapping, Sequence

from co_tui import settings
from co_tui.events.model_names import short_name
from co_tui.inert import one_line
from co_tui.settings import RESUMED, Loaded, Origin
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.commands.registry import command
from co_tui.ui.launch import CHOSEN
from co_tui.ui.settings.setting_rows import SettingRow, setting_rows


@command("config")
async def config(host: CommandHost, arguments: str) -> None:
    loaded = _in_force(host)
    key, _, value = arguments.partition(" ")
    if not key:
        host.say(_all(loaded, _without_effect(host)))
    elif settings.setting_of(key) not in loaded.origins:
        host.fail(settings.unknown_key(key))
    elif not value:
        host.say(_one(loaded, settings.setting_of(key), _without_effect(host)))
    else:
        await _set(host, key, value.strip())


def _in_force(host: CommandHost) -> Loaded:
    """The settings; model and policy as the shown session has them."""
    loaded, state = host.settings.launch.loaded, host.state
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


def _without_effect(host: CommandHost) -> Mapping[str, str]:
    """Settings that have no effect at present, each with the reason."""
    launch = host.settings.launch
    unused = settings.unused(launch.settings)
    ignored = _ignored_effort(host, host.state.model or launch.choice.model)
    return {**unused, "reasoning_effort": ignored} if ignored else unused


def _ignored_effort(host: CommandHost, model: str) -> str:
    if not host.sessions.backend.ready:
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
    try:
        host.say(await SettingChanger(host).change(key, value))
    except settings.SettingsError as error:
        host.fail(str(error))


class SettingChanger:
    """Writes settings to the user's file and applies them; returns a sentence that says when they take effect."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host

    def rows(self) -> list[SettingRow]:
        launch = self._host.settings.launch
        return setting_rows(_in_force(self._host), _without_effect(self._host), launch.paths)

    async def change(self, key: str, value: str) -> str:
        """Raises `SettingsError`, with nothing changed."""
        launch = self._host.settings.launch
        kept = settings.write(key, value, launch.paths, launch.settings)
        return await self._applied(key, f"{key} = {settings.value_text(kept)} saved to {launch.paths.config_file}.")

    async def reset(self, key: str) -> str:
        """Remove the setting from the user's file. Raises `SettingsError`."""
        launch = self._host.settings.launch
        settings.remove(key, launch.paths)
        return await self._applied(key, f"{key} removed from {launch.paths.config_file}.")

    def preview(self, theme: str) -> None:
        """Show a theme before it is chosen; an empty name ends the preview."""
        self._host.appearance.use(theme or self._host.settings.launch.settings.theme)

    async def _applied(self, key: str, sentence: str) -> str:
        host = self._host
        launch, setting = host.settings.launch, settings.setting_of(key)
        changed = launch.reloaded(written=setting)
        for problem in changed.problems:
            host.fail(problem)
        if setting == "context_window":
            from co_tui.session.history.learned_limits import forget_limits

            sentence += forget_limits(launch.paths.state, launch.files.limits_changed)
        holds = await host.settings.apply(setting, changed)
        host.appearance.follow(changed.settings)
        caveat = settings.caveat(key, changed, launch.paths)
        if not caveat and key == "reasoning_effort" and (ignored := _without_effect(host).get(key)):
            caveat = f" It is {ignored}."
        return sentence + (caveat or f" It applies {holds}.")


@command("settings")
async def settings_screen(host: CommandHost, filter_text: str) -> None:
    from co_tui.ui.settings.settings_screen import SettingsScreen

    await host.ask(lambda: SettingsScreen(SettingChanger(host), filter_text))


@command("policy")
async def policy(host: CommandHost, name: str) -> None:
    launch = host.settings.launch
    names = launch.policies
    if not name:
        if chosen := await _chosen_policy(host, names):
            host.run("policy", chosen)
        return
    if name not in names:
        if settings.is_policy_path(name):
            host.fail(f"Policy {settings.quoted(name)} was not named at the start. Use `co-tui --policy PATH`.")
        else:
            host.fail(f"Unknown policy {settings.quoted(name)}. Use one of {', '.join(names)}.")
        return
    changed = launch.reloaded(policy=name)
    if changed.problems:
        host.fail(" ".join(changed.problems))
        return
    await host.settings.choose_policy(changed)
    host.say(f"Policy is now {settings.policy_label(name)}, for this session and new ones until you quit.")


async def _chosen_policy(host: CommandHost, names: Sequence[str]) -> str:
    """The policy chosen in the picker; empty for none or the present one."""
    from co_tui.ui.commands.lens_source import OpenSubject
    from co_tui.ui.lens.policy_screen import PolicyScreen

    paths, session = host.settings.launch.paths, host.session
    policies = {name: settings.policy_description(name, paths) for name in names}
    peers = settings.policy_groups(paths)[-1]
    subject = OpenSubject(host, session) if session is not None and host.state.turn else None
    present = host.state.policy or host.settings.launch.settings.policy
    chosen = await host.ask(lambda: PolicyScreen(policies, present, subject, peers)) or ""
    return "" if chosen == present else chosen
