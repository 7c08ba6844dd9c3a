"""`co-tui import --from claude-code --permissions`: take over the user's own permission rules."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from co_tui.exchange.importers.default_folders import claude_code_folder
from co_tui.headless.output import DONE, FAILED, put, put_json, say
from co_tui.inert import one_line
from co_tui.paths import Paths, path_text, read_small_text
from co_tui.settings.permission_rules import EFFECTS, NO_EFFECT, Effect, RuleInForce, rule_for
from co_tui.settings.rules import SettingsError
from co_tui.settings.writing import add_permissions

LIMIT_BYTES: Final = 1_000_000
SHOWN_CHARS: Final = 100


def import_permissions(paths: Paths, environ: Mapping[str, str], home: Path, *, as_json: bool) -> int:
    """Write the rules into the user's settings. Rules that mean nothing here are named, and left out."""
    file = claude_code_folder(environ, home) / "settings.json"
    try:
        settings = _permissions_in(json.loads(read_small_text(file, LIMIT_BYTES)))
        rules, unknown = _rules_in(settings)
        added = add_permissions(rules, paths)
    except FileNotFoundError:
        say(f"No permissions to import: {path_text(file)} does not exist.")
        return FAILED
    except (OSError, ValueError, RecursionError) as error:
        say(f"Cannot read {path_text(file)}: {one_line(str(error), SHOWN_CHARS)}.")
        return FAILED
    except SettingsError as error:
        say(str(error))
        return FAILED
    for each in added:
        put_json({"effect": each.effect, "rule": str(each.rule)}) if as_json else put(f"{each.effect} {each.rule}")
    for text in unknown:
        say(f"Skipped (not supported): {one_line(text, SHOWN_CHARS)}")
    known = len(rules) - len(added)
    say(f"Added {len(added)} rules to {path_text(paths.config_file)}; {known} already there, {len(unknown)} skipped.")
    if settings.get("defaultMode") not in (None, "default"):
        say("The default mode is not imported. Set it with, for example, `co-tui config mode edits`.")
    return DONE


def _permissions_in(settings: Any) -> Mapping[str, Any]:
    table = settings.get("permissions") if isinstance(settings, Mapping) else None
    return table if isinstance(table, Mapping) else {}


def _rules_in(table: Mapping[str, Any]) -> tuple[list[RuleInForce], list[str]]:
    """The rules of a table, and those that are not understood."""
    rules: list[RuleInForce] = []
    unknown: list[str] = []
    for effect in EFFECTS:
        texts = table.get(effect, [])
        for text in texts if isinstance(texts, list) else []:
            try:
                rules.append(_rule(effect, text))
            except (ValueError, TypeError, AttributeError):
                unknown.append(f"{effect} {text}")
    return list(dict.fromkeys(rules)), unknown


def _rule(effect: Effect, text: str) -> RuleInForce:
    rule = rule_for(effect, text)
    if rule.tool in NO_EFFECT:
        raise ValueError(text)
    return RuleInForce(effect, rule)
