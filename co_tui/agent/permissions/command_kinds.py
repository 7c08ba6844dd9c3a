"""Classify shell commands: those that run others, those that can be allowed permanently, and dangerous ones."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from co_tui.agent.permissions.program_options import Given, Use, read_words
from co_tui.agent.permissions.program_table import TAKES_VALUE, program_of
from co_tui.late_pattern import late_pattern
from co_tui.settings.permission_rules import BASH, Rule, kept_rule, kept_words
from co_tui.shell.syntax import commands_in_text

LONGEST_KEPT_CHARS: Final = 160
"""Longer lines are not offered as rules: they would be unreadable in a list."""

HARMLESS_VARIABLES: Final = frozenset(
    ("CI", "NODE_ENV", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8", "FORCE_COLOR",
     "NO_COLOR", "CLICOLOR", "TERM", "COLUMNS", "LINES", "LANG", "LC_ALL", "TZ", "RUST_BACKTRACE", "RUST_LOG",
     "CARGO_TERM_COLOR", "DEBUG", "VERBOSE", "LOG_LEVEL")
)  # fmt: skip
"""Variables that may precede a command without changing which programs it runs."""

PLAIN_WRAPPERS: Final[Mapping[str, str]] = {
    "timeout": r"(?:-[kspv]|--\S+)", "nice": r"-\S+", "stdbuf": r"-\S+", "nohup": r"(?!)", "time": r"-p",
    "command": r"(?!)",
}  # fmt: skip
"""Programs that run another one, with a pattern for their own options."""
_VALUED: Final = frozenset(("-k", "-s", "-n", "--signal", "--kill-after"))

RUNNERS: Final = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"),
    ("bundle", "exec"), ("pnpm", "exec"), ("npx",), ("uvx",), ("bunx",),
)  # fmt: skip
"""Prefixes that run a program of the project."""

_SAME_DANGERS: Final = {"podman": "docker"}
WRITES_FILES: Final = frozenset(("cp", "mkdir", "touch"))
"""Programs that rules cover only while all their paths are in the folder."""
_PYTHON: Final = late_pattern(r"python(\d+(\.\d+)*)?")
_TARGET: Final = late_pattern(r"[\w.%@/+][\w.:%@/+-]*")
_PACKAGE: Final = late_pattern(r"[^\s*?-][^\s*?]*")
_JQ_READS_MORE: Final = late_pattern(r"env|ENV|import|include|modulemeta|input_filename|\$__")
STARTS_OTHERS: Final = late_pattern(
    r"(ba|z|da|k|fi|c|tc)?sh|(python|pypy|node|nodejs|ruby|perl|php|lua|deno|bun|tclsh|Rscript)[\d.]*|[gmn]?awk|env|"
    r"xargs|parallel|eval|exec|source|\.|time|nohup|timeout|ssh|command|builtin|nice|ionice|setsid|watch|entr|stdbuf|"
    r"busybox|toybox|find|fd|sudo|doas|su|runuser|pkexec|chroot|unshare|nsenter|flock|strace|ltrace|gdb|script|expect|"
    r"prlimit|taskset|setarch|coproc|trap|chrt|tmux|screen|docker|podman|kubectl|uv|poetry|pipenv|pdm|hatch|rye|npx|pnpm|bunx|uvx|bundle|if|then|do|while|for|!"
)
"""Programs and keywords whose arguments may name another program."""

_RUNS_CODE: Final = late_pattern(
    r"--?(eval|init-hook|init-file|rcfile|rc|exec|toolexec|vettool|script-shell|shell|kubeconfig|config|config-file|"
    r"load-plugins|plugin|plugins|rulesdir|resolve-plugins-relative-to|upload-pack|receive-pack|template|"
    r"compress-program|use-compress-program|to-command|python-executable|ssh|editor|pager|in-place|i|p|C|c)(=|$)|"
    r"(SHELL|MAKEFLAGS|PATH|LD_\w+|PYTHON\w+|NODE_OPTIONS)="
)
"""Arguments that make otherwise harmless programs run other code or write files."""


def unwrapped(words: Sequence[str]) -> list[str]:
    """The command without wrappers such as `timeout 60`."""
    return list(words[wrapped_programs(words)[-1] :]) if words else []


def wrapped_programs(words: Sequence[str]) -> list[int]:
    """Where the programs of a command are among its words: wrappers, and last the one they run."""
    found = [0]
    while (at := _inner_program(words, found[-1])) is not None:
        found.append(at)
    return found


def _inner_program(words: Sequence[str], at: int) -> int | None:
    """Where the program is that a wrapper runs; None for other programs."""
    program = words[at]
    if (own := PLAIN_WRAPPERS.get(program)) is None:
        return None
    at += 1
    while at < len(words) and re.fullmatch(own, words[at]):
        at += 2 if words[at] in _VALUED else 1
    if program == "timeout":
        if at >= len(words) or not re.fullmatch(r"[\d.]+[smhd]?", words[at]):
            return None
        at += 1
    return at if at < len(words) and not words[at].startswith("-") else None


class KeptUse(NamedTuple):
    """What a kept rule is compared by: it covers commands that do no more than it shows."""

    base: tuple[str, ...]
    """Program, subcommand and targets."""
    more: frozenset[str] = frozenset()
    """Options with which it does more."""
    less: frozenset[str] = frozenset()
    """Options with which it does less."""
    paths: tuple[str, ...] = ()
    """Must be inside the folder."""

    def covers(self, other: "KeptUse") -> bool:
        return self.base == other.base and other.more <= self.more and self.less <= other.less


def kept_use(words: Sequence[str]) -> KeptUse | None:
    """What a command does by the table; None if an option or operand is not known to be harmless."""
    for runner in RUNNERS:
        if tuple(words[: len(runner)]) == runner:
            return _after(runner, words)
    if words and _PYTHON.fullmatch(words[0]) and tuple(words[1:2]) == ("-m",):
        return _after(words[:2], words)
    for size in (3, 2, 1):
        program = program_of(words[:size]) if len(words) >= size else None
        if program is not None and program.keeps is not None:
            return _kept(words[:size], program.keeps, words[size:])
    return None


def _after(start: Sequence[str], words: Sequence[str]) -> KeptUse | None:
    inner = kept_use(words[len(start) :])
    return inner._replace(base=(*start, *inner.base)) if inner is not None else None


def _kept(start: Sequence[str], use: Use, words: Sequence[str]) -> KeptUse | None:
    given = read_words(use, words)
    if given is None or (use.most is not None and len(given.operands) > use.most):
        return None
    if not all(_is_harmless(use.operands, at, each) for at, each in enumerate(given.operands)):
        return None
    targets = [text for each in given.options if each.kind == "target" for text in (each.name, each.value)]
    paths = [each.value for each in given.options if each.kind == "path" and each.value]
    operands = given.operands[1:] if use.operands == "filter" else given.operands
    if use.operands in ("targets", "packages"):
        targets = [*operands, *targets]
    elif use.operands not in ("text", "modules"):
        paths += operands
    # A path from the root of a repository, a file of further arguments, or after `--` a name like an option.
    if any(path.startswith(("@", ":")) for path in paths) or any(each.value[:1] == "@" for each in given.options):
        return None
    if any(each[:1] == "-" != each for each in given.operands):
        return None
    if use.operands == "tests":
        paths = [path.partition("::")[0] for path in paths]
    return KeptUse(
        (*start, *targets),
        frozenset(each.name for each in given.options if each.marker == "!"),
        frozenset(each.name for each in given.options if each.marker == "^"),
        tuple(paths),
    )


def _is_harmless(kind: str, at: int, operand: str) -> bool:
    match kind:
        case "none":
            return False
        case "targets":
            return _TARGET.fullmatch(operand) is not None
        case "packages":
            return _PACKAGE.fullmatch(operand) is not None
        case "modules":
            return re.fullmatch(r"[\w.]+", operand) is not None
        case "names":
            return re.search(r"[*?]", operand) is None
        case "text":
            return "://" not in operand
        case "filter" if at == 0:
            return _JQ_READS_MORE.search(operand) is None
        case _:
            return True


def rule_to_keep(use: KeptUse | None, words: Sequence[str] | None) -> Rule | None:
    """A rule for commands with this use and harmless options; without a use, for the exact words."""
    shown = shlex.join((*use.base, *sorted(use.more | use.less)) if use is not None else words or ())
    if not shown or "*" in shown or "\n" in shown or len(shown) > LONGEST_KEPT_CHARS:
        return None
    return kept_rule(shown) if use is not None else Rule(BASH, shown)


@cache
def use_of(rule: Rule) -> KeptUse | None:
    """What a kept rule shows; None for any other rule."""
    words = kept_words(rule)
    return kept_use(words) if words is not None else None


def may_run_code(words: Sequence[str]) -> bool:
    """Whether options name code to run, which a prefix does not cover."""
    if words[:1] in (["make"], ["just"], ["gradle"], ["mvn"], ["./gradlew"], ["./mvnw"]):
        return not all(re.fullmatch(r"[\w.:%/][\w.:%/-]*|-j\d*|-[ksBn]|-[qQ]", word) for word in words[1:])
    return any(_RUNS_CODE.match(word) for word in words[1:])


def dangers_of(words: Sequence[str], folders: Sequence[Path] = ()) -> list[str]:
    """Why a command cannot be undone or affects others, each reason once; empty if neither. It runs in one of the
    folders."""
    if words and (not re.fullmatch(r"[\w./+-]+", words[0])):
        return dangers_in(" ".join(words))  # the program is only known at run time
    name = PurePosixPath(words[0]).name if words else ""
    if STARTS_OTHERS.fullmatch(name) or (name == "git" and {"foreach", "run"} & set(words)):
        return dangers_in(shlex.join(words))
    return list(dict.fromkeys(_dangers(words, folders)))


def dangers_in(text: str) -> list[str]:
    """The same for text with commands anywhere: after operators, in substitutions and in quotes."""
    starts = (words[at:] for words in commands_in_text(text) for at in range(len(words)))
    return list(dict.fromkeys(why for words in starts for why in _dangers(words)))


def danger_text(dangers: Iterable[str]) -> str:
    """Several dangers in a few words, each once."""
    *others, last = list(dict.fromkeys(dangers)) or [""]
    return f"{', '.join(others)} and {last}" if others else last


def _dangers(words: Sequence[str], folders: Sequence[Path] = ()) -> Iterator[str]:
    """The dangers of a program and its subcommands, wherever those are among its options."""
    name = PurePosixPath(words[0]).name if words else ""
    name = _SAME_DANGERS.get(name, "mkfs" if name.startswith("mkfs.") else name)
    for start, rest in _subcommands([name], words[1:], frozenset(TAKES_VALUE.get(name, "").split())):
        program = program_of(start)
        if program is None:
            continue
        given = read_words(program.keeps or program.reads or Use(), rest, strict=False)
        here = folders if start[1:] == list(words[1 : len(start)]) else ()  # `git -C x` works elsewhere
        for why, when in program.dangers.items():
            if given is not None and (not when or any(_applies(each, given, here) for each in when.split())):
                yield why


def _subcommands(
    start: list[str], words: Sequence[str], valued: frozenset[str]
) -> Iterator[tuple[list[str], Sequence[str]]]:
    """A program with as many of its subcommands as there may be, and the words after them."""
    yield start, words
    if len(start) == 3:
        return
    at = 0
    while at < len(words):
        word = words[at]
        if word in valued:
            at += 2
        elif word.startswith(("-", "+")):  # `cargo +nightly`
            at += 1
            if at + 1 < len(words) and "=" not in word:  # it may take a value
                yield from _subcommands([*start, words[at + 1]], words[at + 2 :], valued)
        else:
            yield from _subcommands([*start, word], words[at + 1 :], valued)
            return


def _applies(when: str, given: Given, folders: Sequence[Path]) -> bool:
    """Whether a condition of the table holds. A program may take the beginning of a long option for all of it."""
    if when == "--":
        return given.after is not None
    if when == "FILE":
        return len(given.operands) > 1 or any(_is_file(each, folders) for each in given.operands)
    if when.startswith("/"):
        return any(re.fullmatch(when[1:], each) for each in given.operands)
    if when.startswith("--"):
        return any(len(name) > 2 and when.startswith(name) for name in given.names)
    return when in given.names


def _is_file(name: str, folders: Sequence[Path]) -> bool:
    """Whether git takes a name for a file rather than a branch."""
    if name.startswith(":") or re.search(r"[*?]", name) or name in (".", ".."):
        return True
    if not folders:
        return re.search(r"/|\.[a-z]{1,5}$", name) is not None
    return any(os.path.lexists(folder / name) for folder in folders)
