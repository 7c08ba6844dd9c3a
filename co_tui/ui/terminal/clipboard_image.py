"""Reads an image from the system's clipboard with a helper program; terminals only paste text."""

import base64
import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.git_guard import safe_path
from co_tui.agent.redact import without_secrets
from co_tui.events.images import MOST_IMAGE_BYTES, sendable_type

LONGEST_S: Final = 10.0
MOST_TYPES_BYTES: Final = 20_000
TYPES: Final = ("image/png", "image/jpeg", "image/webp", "image/gif")
"""What models accept, the best first."""
NO_CLIPBOARD: Final = "Nothing to paste: no clipboard here. Save an image on this machine, then attach it with @."
_INSTALL: Final = "Nothing to paste. To paste images, install {}; your terminal's own key pastes text."
NO_IMAGE: Final = "Nothing to paste: no image in the clipboard. Your terminal's own key pastes text."
TOO_LARGE: Final = f"The image in the clipboard is over {MOST_IMAGE_BYTES // 1_000_000} MB. Make it smaller."
_SLOW: Final = f"The clipboard did not answer within {LONGEST_S:g} s. Try again."
_UNUSABLE: Final = "The image in the clipboard is not a readable PNG, JPEG, GIF or WebP."
_APPLE_SCRIPT: Final = "the clipboard as «class PNGf»"
_POWERSHELL: Final = """
Add-Type -AssemblyName System.Windows.Forms, System.Drawing
$i = [Windows.Forms.Clipboard]::GetImage()
if ($i) {
  $m = New-Object IO.MemoryStream
  $i.Save($m, [Drawing.Imaging.ImageFormat]::Png)
  [Convert]::ToBase64String($m.ToArray())
}
"""


class ClipboardTrouble(Exception):
    """Why no image can be pasted, as a sentence."""


class ClipboardHelper(NamedTuple):
    """A program that reads the clipboard."""

    name: str
    program: str
    environ: Mapping[str, str]


def clipboard_helper(environ: Mapping[str, str], cwd: Path, platform: str) -> ClipboardHelper:
    """The helper for this desktop, never one from the folder. Raises `ClipboardTrouble`."""
    path = safe_path(environ.get("PATH", ""), cwd)
    wanted = _helpers(environ, platform)
    for name in wanted:
        if (program := shutil.which(name, path=path)) is not None:
            return ClipboardHelper(name, program, {**without_secrets(environ), "PATH": path})
    packages = {"wl-paste": "wl-clipboard", "xclip": "xclip"}
    install = " or ".join(packages[name] for name in wanted if name in packages)
    raise ClipboardTrouble(_INSTALL.format(install) if install else NO_CLIPBOARD)


def _helpers(environ: Mapping[str, str], platform: str) -> list[str]:
    if platform == "darwin":
        return ["pngpaste", "osascript"]
    found = ["powershell.exe"] if environ.get("WSL_DISTRO_NAME") else []
    found += ["wl-paste"] if environ.get("WAYLAND_DISPLAY") else []
    return [*found, "xclip"] if environ.get("DISPLAY") else found


def read_image(helper: ClipboardHelper) -> bytes | None:
    """The image in the clipboard; None if there is none. Waits for the helper: call it in a thread.

    Raises `ClipboardTrouble`.
    """
    try:
        data = _read(helper)
    except OSError as error:
        raise ClipboardTrouble(f"Cannot run {helper.name}: {error.strerror}.") from None
    if not data:
        return None
    if len(data) > MOST_IMAGE_BYTES:
        raise ClipboardTrouble(TOO_LARGE)
    if not sendable_type(data):
        raise ClipboardTrouble(_UNUSABLE)
    return data


def _read(helper: ClipboardHelper) -> bytes:
    match helper.name:
        case "wl-paste":
            kind = _kind(_output(helper, ["--list-types"], MOST_TYPES_BYTES))
            return _output(helper, ["--no-newline", "--type", kind]) if kind else b""
        case "xclip":
            clipboard = ["-selection", "clipboard", "-out", "-target"]
            kind = _kind(_output(helper, [*clipboard, "TARGETS"], MOST_TYPES_BYTES))
            return _output(helper, [*clipboard, kind]) if kind else b""
        case "pngpaste":
            return _output(helper, ["-"])
        case "osascript":
            written = _output(helper, ["-e", _APPLE_SCRIPT], 2 * MOST_IMAGE_BYTES + 100)
            return _decoded(written.partition(b"PNGf")[2].partition("»".encode())[0], bytes.fromhex)
        case _:
            options = ["-NoProfile", "-NonInteractive", "-STA", "-Command", _POWERSHELL]
            return _decoded(_output(helper, options, 2 * MOST_IMAGE_BYTES).strip(), base64.b64decode)


def _kind(listed: bytes) -> str:
    offered = listed.decode(errors="replace").split()
    return next((kind for kind in TYPES if kind in offered), "")


def _decoded(written: bytes, decode: Callable[[str], bytes]) -> bytes:
    try:
        return decode(written.decode("ascii"))
    except ValueError:
        raise ClipboardTrouble(_UNUSABLE) from None


def _output(helper: ClipboardHelper, arguments: Sequence[str], most_bytes: int = MOST_IMAGE_BYTES) -> bytes:
    """What the helper prints; empty when it fails, as most do without an image. Raises `ClipboardTrouble`."""
    is_late = threading.Event()
    with subprocess.Popen(
        [helper.program, *arguments],
        env=helper.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:

        def stop() -> None:
            is_late.set()
            _kill(process)

        timer = threading.Timer(LONGEST_S, stop)
        timer.start()
        try:
            assert process.stdout is not None
            data = process.stdout.read(most_bytes + 1)
            if len(data) > most_bytes:
                _kill(process)
                raise ClipboardTrouble(TOO_LARGE)
            code = process.wait()
        finally:
            timer.cancel()
    if is_late.is_set():
        raise ClipboardTrouble(_SLOW)
    return data if code == 0 else b""


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """With everything that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
