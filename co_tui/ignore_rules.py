"""Rules of `.gitignore` files, applied without git. A hostile folder's rules cannot stall the app."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

MOST_RULES: Final = 2_000
"""Of one file."""
LONGEST_RULE_CHARS: Final = 1_000
SLOW_RULE_S: Final = 0.1
SLOW_RULES_S: Final = 0.5
"""Slower rules, for one name or a whole folder, are dropped."""
_VARIABLE: Final = re.compile(r"\[\^/\][*+]|\.\+")
_DIR_MARK: Final = "(?P<ps_d>/)"
"""pathspec's marker for the end of a folder in a rule."""


class _Rule(NamedTuple):
    pattern: str
    ignores: bool
    """False for a rule that begins with `!`."""
    by_name: bool
    """Whether it matches the name alone, in any folder: it has no `/` before its end."""

    @property
    def is_linear(self) -> bool:
        """Whether matching is always fast. Other rules need `regex`, which has a time limit and releases the GIL."""
        return len(_VARIABLE.findall(self.pattern)) <= 1


class IgnoreRules:
    """The rules of one file.

    `folder` is relative to the file's own and ends with a slash, or is empty; names of folders end with a slash.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        parsed = [rule for line in lines[:MOST_RULES] if (rule := _parsed(line)) is not None]
        compiled = [(rule, _compiled(rule)) for rule in reversed(parsed)]
        self._rules = [(rule, each) for rule, each in compiled if each is not None]
        self._unions = [
            (by_name, linear, union)
            for by_name in (True, False)
            for linear in (True, False)
            if (union := _union([rule for rule, _ in self._rules], by_name=by_name, linear=linear)) is not None
        ]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def may_match(self, folder: str, names: Sequence[str]) -> bool:
        """Whether any rule may match an entry of a folder: a quick check that is mostly negative."""
        lines = "\n".join(names)
        paths = f"{folder}{lines}".replace("\n", f"\n{folder}")
        try:
            return any(
                union.search(lines if by_name else paths, **_limits(linear, SLOW_RULES_S))
                for by_name, linear, union in self._unions
            )
        except TimeoutError:
            self._drop_slow_rules()
            return self.may_match(folder, names)

    def verdict(self, folder: str, name: str) -> bool | None:
        """Whether an entry, whose parents are not ignored, is ignored; None when no rule matches it."""
        try:
            for rule, compiled in self._rules:
                if _matches(rule, compiled, name if rule.by_name else f"{folder}{name}"):
                    return rule.ignores
        except TimeoutError:
            self._drop_slow_rules()
            return self.verdict(folder, name)
        return None

    def _drop_slow_rules(self) -> None:
        self._rules = [(rule, compiled) for rule, compiled in self._rules if rule.is_linear]
        self._unions = [(by_name, linear, union) for by_name, linear, union in self._unions if linear]


def _limits(linear: bool, longest_s: float) -> dict[str, Any]:
    return {} if linear else {"timeout": longest_s, "concurrent": True}


def _parsed(line: str) -> _Rule | None:
    from pathspec.patterns.gitignore import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    if len(line) > LONGEST_RULE_CHARS:
        return None
    try:
        pattern, ignores = GitIgnoreSpecPattern.pattern_to_regex(line)
    except GitIgnorePatternError:
        return None
    if pattern is None or ignores is None:
        return None
    by_name = "/" not in line.strip().removesuffix("/")
    if pattern == _DIR_MARK:  # `*/`, `**/` and `**/*/`: any folder
        pattern, by_name = f"[^/]+{_DIR_MARK}", True
    elif pattern.endswith("/"):  # `a/**` matches what is in `a`, not `a`
        pattern += "."
    return _Rule(pattern.removeprefix("^").removeprefix("(?:.+/)?" if by_name else ""), ignores, by_name)


def _compiled(rule: _Rule) -> Any:
    import regex

    try:
        return (re if rule.is_linear else regex).compile(rule.pattern)
    except (re.error, regex.error, RecursionError, OverflowError):
        return None


def _union(rules: Iterable[_Rule], *, by_name: bool, linear: bool) -> Any:
    """One pattern for all these rules, to search lines of names or paths."""
    import regex

    chosen = [rule.pattern for rule in rules if (rule.by_name, rule.is_linear) == (by_name, linear)]
    text = "|".join(chosen).replace(_DIR_MARK, "/").replace("[^/]", r"[^/\n]")
    return (re if linear else regex).compile(f"^(?:{text})", re.MULTILINE) if chosen else None


def _matches(rule: _Rule, compiled: Any, text: str) -> bool:
    match = compiled.match(text, **_limits(rule.is_linear, SLOW_RULE_S))
    # A folder rule also matches inside the folder, where the folder itself was already decided.
    return match is not None and not (match.groupdict().get("ps_d") and match.end() < len(text))
