"""From the command line to the first paint."""

from co_tui.session.launch import Launch
from co_tui.ui.heavy_imports import collect_rarely, keep_heap_compact, without_palette


def start(launch: Launch) -> int:
    """Run the app until it is left; returns the exit code."""
    from co_tui.ui.signals import exit_on_signals
    from co_tui.ui.terminal.before_app import ask_for_background, has_dark_background, typed_by_now, unbuffered

    keep_heap_compact()
    exit_on_signals()
    with unbuffered() as before:
        ask_for_background()  # the answer arrives while the libraries load
        with without_palette():
            from co_tui.ui.app import CoTui
            from co_tui.ui.terminal.terminal_facts import KnownTerminals

        typed = before.typed + typed_by_now()
        dark = has_dark_background(typed, launch.environ.get("COLORFGBG", ""))
        if dark is None:
            dark = KnownTerminals(launch.paths, launch.environ).is_dark()
        app = CoTui(launch, dark=dark is not False, typed_ahead=typed)
        app.terminal_before = before.attributes
        collect_rarely()
        app.run()
    return app.return_code or 0
