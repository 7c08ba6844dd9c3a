"""From the command line to the first paint."""

from co_tui.ui.garbage import search_rarely
from co_tui.ui.launch import Launch


def start(launch: Launch) -> int:
    """Run the app until it is left; returns the exit code."""
    from co_tui.ui.signals import exit_on_signals
    from co_tui.ui.terminal import look_at, unbuffered

    exit_on_signals()
    with unbuffered() as typed_before:
        from co_tui.ui.app import CoTui

        dark, typed = look_at(launch.environ.get("COLORFGBG", "")) if launch.settings.theme == "auto" else (True, "")
        app = CoTui(launch, dark=dark, typed_ahead=typed_before + typed)
        search_rarely()
        app.run()
    return app.return_code or 0
