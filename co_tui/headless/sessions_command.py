"""`co-tui sessions`: which of the things it does is asked for."""

from typing import TYPE_CHECKING

from co_tui.headless.output import WRONG_USAGE, CommandContext, say

if TYPE_CHECKING:
    from argparse import Namespace
    from types import SimpleNamespace


def sessions_command(context: CommandContext, options: "Namespace | SimpleNamespace") -> int:
    from co_tui.headless import prune_command

    if options.dry_run and not options.prune:
        say("--dry-run goes with --prune.")
        return WRONG_USAGE
    if options.prune:
        return prune_command.prune(context, dry_run=options.dry_run, as_json=options.json)
    if options.restore is not None:
        return prune_command.restore(context, options.restore)
    if options.delete is not None:
        return prune_command.delete(context, options.delete)
    if options.pin is not None:
        return prune_command.set_pinned(context, options.pin, pinned=True)
    if options.unpin is not None:
        return prune_command.set_pinned(context, options.unpin, pinned=False)
    from co_tui.headless.show_command import sessions

    return sessions(context, search=options.search, limit=options.limit, as_json=options.json, in_trash=options.trash)
