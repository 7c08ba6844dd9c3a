"""The screens that show and change settings."""

from collections.abc import Sequence

from co_tui import settings
from co_tui.paths import home_text
from co_tui.session.slash.settings_commands import SettingChanger, policy, settings_in_force, without_effect
from co_tui.ui.commands.host import CommandHost, command
from co_tui.ui.settings.setting_rows import SettingRow, setting_rows
from co_tui.ui.settings.settings_screen import SettingsScreen


class SettingsEditor(SettingChanger):
    """Changes settings for their screen."""

    def __init__(self, host: CommandHost) -> None:
        super().__init__(host)
        self._screen = host

    def rows(self) -> list[SettingRow]:
        host = self._screen
        return setting_rows(settings_in_force(host), without_effect(host), host.launch.paths)

    def preview(self, theme: str) -> None:
        """Show a theme before it is chosen; an empty name ends the preview."""
        self._screen.appearance.use(theme or self._screen.launch.settings.theme)

    @property
    def file(self) -> str:
        return config_path(self._screen)

    async def edit_file(self) -> str:
        return await self._screen.edit_config()


def config_path(host: CommandHost) -> str:
    return home_text(str(host.launch.paths.config_file))


@command("settings")
async def settings_screen(host: CommandHost, filter_text: str) -> None:
    await host.ask(lambda: SettingsScreen(SettingsEditor(host), filter_text))


@command("policy")
async def choose_policy(host: CommandHost, name: str) -> None:
    if name:
        await policy(host, name)
    elif chosen := await _chosen_policy(host, host.launch.policies):
        host.run("policy", chosen)


async def _chosen_policy(host: CommandHost, names: Sequence[str]) -> str:
    """The policy chosen in the picker; empty for none or the present one."""
    from co_tui.ui.commands.lens_source import OpenSubject
    from co_tui.ui.lens.policy_screen import PolicyScreen

    paths, session = host.launch.paths, host.session
    policies = {name: settings.policy_description(name, paths) for name in names}
    peers = settings.policy_groups(paths)[-1]
    subject = OpenSubject(host, session) if session is not None and host.state.turn else None
    present = host.state.policy or host.launch.settings.policy
    chosen = await host.ask(lambda: PolicyScreen(policies, present, subject, peers)) or ""
    return "" if chosen == present else chosen
