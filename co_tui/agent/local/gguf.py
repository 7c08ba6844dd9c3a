"""GGUF files on this machine, named in a model string."""

from pathlib import Path
from typing import Final

from co_tui.agent.local.embedded import RUNTIME_PACKAGE, find_runtime
from co_tui.agent.local.weights_server import Weights
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.inert import one_line
from co_tui.settings.rules import GGUF

MAGIC: Final = b"GGUF"
ALIAS_CHARS: Final = 60
SHOWN_CHARS: Final = 200


def gguf_weights(name: str, fetched: Path, window_tokens: int) -> Weights:
    """The weights that `gguf:PATH` names. Raises `ModelUnusable`."""
    file = _checked(name.removeprefix(f"{GGUF}:").strip())
    if not find_runtime(fetched):
        raise ModelUnusable(
            f"{one_line(name, SHOWN_CHARS)} needs a package to run weights. "
            f"Run `pip install {RUNTIME_PACKAGE}`, or `co-tui doctor`."
        )
    alias = one_line(file.stem, ALIAS_CHARS)
    return Weights(file=file, alias=alias, called=f"{GGUF}:{file.name}", window_tokens=window_tokens, runtime=fetched)


def _checked(path: str) -> Path:
    """The file's absolute path: a session may be resumed in another folder."""
    if not path:
        raise ModelUnusable(f"{GGUF}: needs a file path, such as {GGUF}:~/models/NAME.gguf.")
    try:
        file = Path(path).expanduser().resolve()
        with file.open("rb") as opened:
            magic = opened.read(len(MAGIC))
    except FileNotFoundError:
        raise ModelUnusable(f"No file {one_line(path, SHOWN_CHARS)}. {GGUF}: needs a file path.") from None
    except IsADirectoryError:
        raise ModelUnusable(f"{one_line(path, SHOWN_CHARS)} is a folder. Name a .gguf file.") from None
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in the path, or `~` of an unknown user
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelUnusable(f"Cannot read {one_line(path, SHOWN_CHARS)}: {reason}.") from None
    if magic != MAGIC:
        raise ModelUnusable(f"{one_line(path, SHOWN_CHARS)} is not a GGUF file.")
    return file
