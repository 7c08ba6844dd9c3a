"""Keep what this process holds, keys above all, from the other programs of the same user."""

import sys

_PR_SET_DUMPABLE = 4


def shield_process() -> None:
    """Stop other processes of this user from reading our environment and memory, and write no core dump.

    Linux then refuses `/proc/PID/environ`, `/proc/PID/mem`, `/proc/PID/fd` and debuggers to all but root. Programs we
    start are not affected: the flag ends with their `exec`. Elsewhere only core dumps can be switched off.
    """
    try:
        import resource

        # The soft limit alone: a command that wants a core dump of its own program can raise it again.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if sys.platform == "linux":
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (ImportError, OSError, ValueError, AttributeError):
        pass  # co-tui works without it
