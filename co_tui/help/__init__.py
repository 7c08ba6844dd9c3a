"""The pages people read, one Markdown file a topic: for `co-tui help`, `F1` and `/help`."""

import re
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.inert import one_line
from co_tui.nearest import nearest

_FOLDER: Final = Path(__file__).parent
MOST_NAMED: Final = 5
_COMMENT: Final = re.compile(r"<!--.*?-->\n?", re.DOTALL)


class Topic(NamedTuple):
    """A page of the help."""

    name: str
    line: str
    """What it is about."""
    other_names: tuple[str, ...] = ()
    """Under which people look for it, too."""


TOPICS: Final = (
    Topic("chat", "Prompt and chat: queue, files, images, selection, timeline", ("prompt", "queue", "timeline")),
    Topic("keys", "Every key, and how to change one", ("shortcuts",)),
    Topic("commands", "Slash commands, and commands of your own", ("slash",)),
    Topic("context", "See how full the window is and what the model gets", ("gauge", "lens", "window")),
    Topic("compaction", "What happens when the window fills up, and how to undo it", ("compact", "undo", "summary")),
    Topic("policies", "Choose how the context is managed, or write your own rules", ("policy",)),
    Topic("sources", "co-cli, inkeep, copilot and cowagent, behaviour by behaviour", ("behaviours",)),
    Topic("lab", "Compare policies on recorded conversations"),
    Topic(
        "approvals",
        "What runs without asking: answers, rules, modes, the sandbox",
        ("permissions", "rules", "mode", "modes", "sandbox"),
    ),
    Topic("files", "See what changed in your folder, and go back", ("rewind", "diff", "snapshots")),
    Topic("tools", "What the model can do: tools, agents, skills, instructions", ("agents", "skills", "web")),
    Topic("hooks", "Run your own programs at events"),
    Topic("mcp", "Add the tools of MCP servers", ("servers",)),
    Topic("models", "Choose a model, keep keys, limit costs", ("model", "login", "cost", "costs", "providers")),
    Topic("sessions", "Come back, search, clean up, memory, private sessions", ("session", "search", "memory")),
    Topic(
        "machines", "Carry sessions to another machine, or work on another host", ("sync", "host", "ssh", "postgresql")
    ),
    Topic("import", "Import sessions of other programs, export, back up", ("export", "backup", "restore")),
    Topic(
        "claude-code",
        "Coming from Claude Code: which of its files are used here",
        ("claude", "codex", "claude.md", "settings.json", ".mcp.json"),
    ),
    Topic("scripts", "The command line and the Python library", ("run", "library", "cli")),
    Topic("browser", "Use the app in a browser", ("serve",)),
    Topic("editors", "Use the agent in your editor", ("acp", "editor", "zed")),
    Topic("settings", "Every setting, where it comes from, trusted folders", ("config", "trust", "telemetry")),
    Topic("changes", "What is new, by version", ("new", "version", "changelog")),
)


def topic_named(name: str) -> Topic | None:
    """The topic of that name, or that people look for under it."""
    wanted = name.strip().lower()
    return next((each for each in TOPICS if wanted in (each.name, *each.other_names)), None)


def all_names() -> list[str]:
    """The names of the topics, and those that people look for them under."""
    return [name for topic in TOPICS for name in (topic.name, *topic.other_names)]


def no_topic(name: str) -> str:
    """The sentence for a name without a topic: the pages that mention it, or the nearest name."""
    wanted = name.strip().lower()
    if said_in := [each.name for each in TOPICS if wanted and wanted in page(each).lower()][:MOST_NAMED]:
        return f"No topic {one_line(name, 40)!r}. Mentioned in: {', '.join(said_in)}."
    close = nearest(wanted, all_names())
    advice = f"Did you mean {close}?" if close else "F1 and `co-tui help` list the topics."
    return f"No help about {one_line(name, 40)!r}. {advice}"


def page(topic: Topic) -> str:
    """The text of a topic, as Markdown."""
    return _COMMENT.sub("", (_FOLDER / f"{topic.name}.md").read_text(encoding="utf-8"))
