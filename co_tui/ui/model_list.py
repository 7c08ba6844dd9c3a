"""Every model the library knows, with its window. Slow to import; meant for a thread."""

from co_tui.agent.catalogue import EMBEDDED, PROVIDERS


def known_models() -> list[tuple[str, int | None]]:
    """Model strings of the providers we name, each with its window in tokens where anybody recorded one."""
    from co_tui.agent.models import known_names, recorded_window

    prefixes = {provider.prefix for provider in PROVIDERS} - {"openai-chat"}
    names = [name for name in known_names() if name.partition(":")[0] in prefixes]
    return [(EMBEDDED, 8192), *((name, recorded_window(name)) for name in names)]
