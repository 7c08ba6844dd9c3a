"""Entry point of `co-tui` and `python -m co_tui`."""

import sys


def main() -> int:
    """Run the command line; returns the exit code."""
    if sys.argv[1:] == ["--version"]:
        # Scripts ask for the version often: answer before anything else is imported.
        from co_tui import __version__

        print(f"co-tui {__version__}")
        return 0
    import gc

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character shows a sign
    # Nothing of what is imported is garbage; looking for some takes a tenth of the time.
    gc.disable()
    try:
        from co_tui.cli import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
