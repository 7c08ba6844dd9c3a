"""Entry point of `co-tui` and `python -m co_tui`."""

import contextlib
import os
import sys


def main() -> int:
    """Run the command line and return the exit code; every failure is one sentence and a code."""
    if os.name != "posix":
        print("co-tui: Runs on Linux and macOS. On Windows, use WSL.", file=sys.stderr)
        return 1
    from co_tui.shielding import shield_process

    shield_process()
    from co_tui.headless import stopping

    stopping.handle_signals()
    try:
        _reopen_closed_streams()
        if sys.argv[1:] == ["--version"] and _print_version():
            return 0
        # Imports create no garbage; collecting during them costs a tenth of the start.
        import atexit
        import gc

        gc.disable()
        # At exit, Python collects all modules several times, a fifth of a short command; it skips what is frozen.
        atexit.register(gc.freeze)
        from co_tui.cli import run

        return run(sys.argv[1:])
    except (KeyboardInterrupt, RuntimeError) as error:  # before the command line could handle it
        # Python wraps an interrupt inside of a class body that is being imported.
        if isinstance(error, RuntimeError) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        with contextlib.suppress(OSError):
            print("co-tui: Interrupted.", file=sys.stderr, flush=True)
        return 130
    finally:
        stopping.ignore_signals()


def _print_version() -> bool:
    """Print the version before anything else is imported; False when the output is lost."""
    from co_tui import __version__

    try:
        print(f"co-tui {__version__}", flush=True)
    except OSError:
        return False
    return True


def _reopen_closed_streams() -> None:
    """Point closed standard streams at the null device; otherwise the next file opened, such as the database, would
    get their number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDONLY)  # gets the lowest free number: this one
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))
        elif number:
            getattr(sys, name).reconfigure(errors="replace")  # a terminal that cannot show a character shows `?`


if __name__ == "__main__":
    sys.exit(main())
