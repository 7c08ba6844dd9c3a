"""What every event of a session's life tells: where it takes place, and with what."""

from co_tui.paths import path_text
from co_tui.session.checkout import repository_of
from co_tui.session.environment import Environment


def place_of(environment: Environment, model: str, policy: str) -> dict[str, str]:
    """The fields of a `SessionOrigin`."""
    repository, branch = repository_of(environment.cwd)
    return {
        "model": model,
        "policy": policy,
        "cwd": path_text(environment.cwd),
        "repository": repository,
        "branch": branch,
    }
