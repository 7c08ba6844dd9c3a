"""Whether a shell started this as one of its jobs, and could bring it back once it is stopped."""

import os


def is_job() -> bool:
    """A shell with job control gives each job a process group of its own, beside that of the session's leader."""
    return os.getpgrp() != os.getsid(0)
