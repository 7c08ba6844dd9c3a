"""`co-tui export`: a stored session as a text for others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.redact import keys_in
from co_tui.exchange.exporters import UnknownEnding, exported, format_of
from co_tui.headless.output import DONE, FAILED, WRONG_USAGE, CommandContext, put, say
from co_tui.headless.sessions.show_command import load_state
from co_tui.paths import link_target, path_text, write_atomically, wrong_target

NAMES: Final = {"markdown": "Markdown", "jsonl": "JSONL", "html": "HTML"}


def export(
    context: CommandContext, name: str, *, form: str | None, file: Path | None, environ: Mapping[str, str]
) -> int:
    """Write it to a file, or to standard output; the file's name tells the format when nothing else does."""
    session_id = load_state(context, name).session_id
    try:
        form = form or (format_of(file.name) if file is not None else "markdown")
    except UnknownEnding as unknown:
        say(f"{unknown} --format writes any name.")
        return WRONG_USAGE
    if file is not None and (wrong := wrong_target(file)):
        say(wrong)
        return FAILED
    KeptKeys(context.paths).hide_all()
    with context.store.reading() as reading:
        text = "".join(exported(reading.events(session_id), form, keys_in(environ)))
    if file is None:
        put(text.removesuffix("\n"))
        return DONE
    write_atomically(link_target(file), text)
    say(f"Exported {session_id} to {path_text(file)} as {NAMES[form]}.")
    return DONE
