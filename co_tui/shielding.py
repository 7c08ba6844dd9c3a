"""Protect this process's memory and environment, which hold keys, from the user's other programs."""

import sys

_PR_SET_DUMPABLE = 4


def shield_process() -> None:
    """Stop other processes of this user from reading our environment and memory, and write no core dump.

    Linux then refuses `/proc/PID/environ`, `/proc/PID/mem`, `/proc/PID/fd` and debuggers to all but root. Child
    processes are not affected: `exec` resets the flag. Elsewhere only core dumps can be switched off.
    """
    try:
        import resource

        # Only the soft limit: a command that needs core dumps of its own can raise it again.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if sys.platform == "linux":
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (ImportError, OSError, ValueError, AttributeError):
        pass  # best effort: platforms without these calls offer no alternative
