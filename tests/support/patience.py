"""Time limits of the product that a loaded machine could reach, lengthened for all tests, and pauses, shortened.

A test of such a limit sets its own.
"""

import importlib
from collections.abc import Mapping

from tests.support.waiting import PATIENCE_S

LIMITS = {
    "co_tui.agent.models.server_counting.COUNT_TIMEOUT_S": PATIENCE_S,
    "co_tui.agent.keys.login.CHECK_S": PATIENCE_S,
    "co_tui.agent.local.local_models.ASK_SERVER_TIMEOUT_S": PATIENCE_S,
    "co_tui.agent.mcp.server_prompts.LISTING_S": PATIENCE_S,
    "co_tui.agent.mcp.server_tools.LISTING_S": PATIENCE_S,
    "co_tui.agent.mcp.servers.LOADING_S": PATIENCE_S,
    "co_tui.agent.mcp.servers.START_WAIT_S": PATIENCE_S,
    "co_tui.agent.models.native_answers.native_answer.timeout_s": PATIENCE_S,
    "co_tui.agent.models.nearby_servers.TIMEOUT_S": PATIENCE_S,
    "co_tui.agent.permissions.git_guard.READING_S": PATIENCE_S,
    "co_tui.agent.permissions.git_guard.TIMEOUT_S": PATIENCE_S,
    "co_tui.agent.permissions.git_state.TIMEOUT_S": PATIENCE_S,
    "co_tui.agent.permissions.sandbox.STARTING_S": PATIENCE_S,
    "co_tui.agent.models.served_models.list_models.timeout_s": PATIENCE_S,
    "co_tui.agent.models.usual_servers.CONNECT_S": PATIENCE_S,
    "co_tui.agent.models.usual_servers.USUAL_SERVERS": (),  # what runs on the machine of the tests is no part of them
    "co_tui.agent.wire.http.READ_S": 0.0,  # each streamed reply would wait
    "co_tui.agent.web.download.CONNECT_S": PATIENCE_S,
    "co_tui.agent.web.fetch.CONVERT_S": PATIENCE_S,
    "co_tui.ui.compaction.compact_offer.HELD_S": 0.0,
    "co_tui.ui.approvals.lone_letters.ALONE_S": 0.0,  # each answer would wait
    "co_tui.ui.chat.focus_rule.MOMENT_S": 0.0,  # a loaded machine shows a question late
    "co_tui.session.workplace.here.local_workplace.LONGEST_S": PATIENCE_S,
    "co_tui.store.sync.server.server_sync.CLOSE_S": PATIENCE_S,
    "co_tui.store.sync.server.server_sync.REFRESH_S": PATIENCE_S,
    # How often it looks, where nothing reports a change: a test waits for the next look.
    "co_tui.session.tools.command_watch.LOOK_S": 0.02,
    "co_tui.session.tools.running_commands.SHOW_EVERY_S": 0.02,
    "co_tui.session.workplace.host.host_commands.LOOK_S": 0.05,
}
"""Constants of modules, and defaults of functions."""


def set_constants(values: Mapping[str, object]) -> None:
    """Set constants of modules, and defaults of their functions, by name."""
    for name, value in values.items():
        place, _, last = name.rpartition(".")
        try:
            module = importlib.import_module(place)
        except ModuleNotFoundError:
            in_module, _, function = place.rpartition(".")
            defaults = getattr(importlib.import_module(in_module), function).__kwdefaults__
            assert last in defaults, name
            defaults[last] = value
        else:
            assert hasattr(module, last), name
            setattr(module, last, value)
