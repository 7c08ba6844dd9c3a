"""Read another program's JSON files."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from co_tui.inert import one_line
from co_tui.paths import path_text, read_small_text
from co_tui.settings.rules import SettingsError

LIMIT_BYTES: Final = 256_000
"""Programs write these files, too, and some grow long."""
NAME_CHARS: Final = 60
"""Of a key in a sentence."""


def read_json(file: Path, inside: Path) -> Mapping[str, Any] | None:
    """The object in a JSON file; None without a file. Raises `SettingsError` that names the file and the problem."""
    if not os.path.lexists(file):
        return None
    try:
        found = json.loads(read_small_text(file, LIMIT_BYTES, inside=inside).removeprefix("\ufeff"))
    except OSError as error:
        raise SettingsError(f"Cannot read {path_text(file)}: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"Cannot read {path_text(file)}: it is not UTF-8 ({error.reason}).") from None
    except json.JSONDecodeError as error:
        raise SettingsError(f"Cannot read {path_text(file)}: line {error.lineno}: {error.msg}.") from None
    except RecursionError:
        raise SettingsError(f"Cannot read {path_text(file)}: it is nested too deeply.") from None
    except ValueError as error:
        raise SettingsError(f"Cannot read {path_text(file)}: {error}.") from None
    if not isinstance(found, Mapping):
        raise SettingsError(f"Cannot read {path_text(file)}: it is not a JSON object.")
    return found


def shown_key(*parts: object) -> str:
    """A key for a sentence."""
    return ".".join(one_line(str(part), NAME_CHARS) for part in parts)
