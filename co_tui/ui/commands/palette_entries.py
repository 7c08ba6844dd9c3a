"""The settings and approval rules that the palette finds, with the commands that open them."""

from co_tui.inert import one_line
from co_tui.session.slash.settings_commands import settings_in_force, without_effect
from co_tui.session.slash.work_commands import standing_approvals
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.formatting import folder
from co_tui.ui.help.palette import FurtherEntry
from co_tui.ui.settings.setting_rows import setting_rows

MOST_CHARS = 60


def further_entries(host: CommandHost) -> list[FurtherEntry]:
    """The rules come first: there are few, and each was kept by the user."""
    return [*_rules(host), *_settings(host)]


def _rules(host: CommandHost) -> list[FurtherEntry]:
    if not host.is_ready:
        return []  # reading them would import much of the engine
    found = []
    for effect, rule, source, _ in (each.rule for each in standing_approvals(host).all()):
        shown = one_line(rule.shown, MOST_CHARS)
        where = folder(source, MOST_CHARS) or "the settings"
        words = f"{effect} rule permission {rule} {shown}"
        found.append(FurtherEntry(shown, f"{effect}, {where}", "rule", f"approvals {rule}", words))
    return found


def _settings(host: CommandHost) -> list[FurtherEntry]:
    rows = setting_rows(settings_in_force(host), without_effect(host), host.launch.paths)
    values = [(row, f"{row.name} = {one_line(row.shown, MOST_CHARS)}") for row in rows]
    return [FurtherEntry(row.label, value, "setting", f"settings {row.name}", row.searched) for row, value in values]
