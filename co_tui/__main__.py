"""Entry point of `co-tui` and `python -m co_tui`."""

import contextlib
import os
import sys


def main() -> int:
    """Run the command line; returns the exit code. Whatever happens, people get a sentence and scripts a code."""
    if os.name != "posix":
        print("co-tui: It runs on Linux and macOS; on Windows, run it in WSL.", file=sys.stderr)
        return 1
    from co_tui.shielding import shield_process

    shield_process()
    from co_tui.headless import stopping

    stopping.heed_signals()
    try:
        _reopen_closed_streams()
        if sys.argv[1:] == ["--version"] and _told_version():
            return 0
        # Nothing of what is imported is garbage; looking for some takes a tenth of the time.
        import gc

        gc.disable()
        _hush_libraries()
        from co_tui.cli import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # before the command line was there to say it
        with contextlib.suppress(OSError):
            print("co-tui: Interrupted.", file=sys.stderr, flush=True)
        return 130
    finally:
        stopping.ignore_signals()


def _told_version() -> bool:
    """Scripts ask for it often: it is answered before anything else is imported. False when it does not arrive."""
    from co_tui import __version__

    try:
        print(f"co-tui {__version__}", flush=True)
    except OSError:
        return False
    return True


def _reopen_closed_streams() -> None:
    """What was started with a stream closed gets one that is empty, or takes nothing: otherwise the next file that
    is opened, such as the database, would be taken for it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDONLY)  # takes the lowest number that is free: this one
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))
        elif number:
            getattr(sys, name).reconfigure(errors="replace")  # a terminal that cannot show a character shows a sign


def _hush_libraries() -> None:
    """Warnings of libraries are for who develops with them; on standard error they hide what is for the user."""
    import logging
    import warnings

    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())  # without any, Python prints to standard error


if __name__ == "__main__":
    sys.exit(main())
