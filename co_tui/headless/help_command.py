"""`co-tui help`: the topics, or a page."""

import shutil
import sys

from co_tui.headless.output import DONE, WRONG_USAGE, put, say
from co_tui.help import TOPICS, no_topic, page, topic_named

HINT = "`co-tui help TOPIC` prints one. `co-tui --help` lists commands and options."


def print_help(name: str) -> int:
    """Print a topic: rendered in a terminal, else as Markdown; without a name, list them."""
    if not name:
        width = max(len(each.name) for each in TOPICS)
        put("\n".join([*(f"{each.name.ljust(width)}  {each.line}" for each in TOPICS), "", HINT]))
        return DONE
    if (topic := topic_named(name)) is None:
        say(no_topic(name))
        return WRONG_USAGE
    text = page(topic)
    if sys.stdout.isatty():
        from co_tui.help.render import rendered

        text = rendered(text, shutil.get_terminal_size().columns, styled=True)
    put(text.rstrip("\n"))
    return DONE
