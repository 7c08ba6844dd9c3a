"""Which commands only read, and which are asked about every time: tables, and how a command line is held against them.

A guard for people who want to be asked about what matters, no sandbox: whatever is not understood is asked about.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.git_config import runs_nothing

LONGEST_COMMAND: Final = 2_000
"""A longer one is asked about without a look at it."""


class OnlyReads(NamedTuple):
    """A program, or a part of one, that changes nothing as long as none of these options are given."""

    but: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    """When given: no other words than these."""


_GIT_OUTPUT: Final = ("--output", "--ext-diff")

READING_COMMANDS: Final[Mapping[str, OnlyReads]] = {
    "pwd": OnlyReads(),
    "true": OnlyReads(),
    "echo": OnlyReads(),
    "ls": OnlyReads(),
    "cat": OnlyReads(),
    "head": OnlyReads(),
    "tail": OnlyReads(("-f", "-F", "--follow", "--retry")),
    "wc": OnlyReads(("--files0-from",)),
    "stat": OnlyReads(),
    "file": OnlyReads(("-C", "--compile", "-m", "--magic-file", "-f", "--files-from")),
    "du": OnlyReads(("-L", "--dereference", "--files0-from")),
    "basename": OnlyReads(),
    "dirname": OnlyReads(),
    "realpath": OnlyReads(),
    "diff": OnlyReads(("--to-file", "--from-file")),
    "cmp": OnlyReads(),
    "grep": OnlyReads(("-R", "--dereference-recursive", "-f", "--file")),
    "rg": OnlyReads(
        ("--pre", "--hostname-bin", "-z", "--search-zip", "-L", "--follow", "-f", "--file", "--ignore-file")
    ),
    "find": OnlyReads(("-exec", "-ok", "-delete", "-fprint", "-fls", "-L", "-H", "-files0-from")),
    "git status": OnlyReads(),
    "git diff": OnlyReads((*_GIT_OUTPUT, "--no-index")),
    "git log": OnlyReads(_GIT_OUTPUT),
    "git show": OnlyReads(_GIT_OUTPUT),
    "git blame": OnlyReads(("--contents", "-S", "--ignore-revs-file")),
    "git ls-files": OnlyReads(("-X", "--exclude-from")),
    "git rev-parse": OnlyReads(),
    "git describe": OnlyReads(),
    "git shortlog": OnlyReads(_GIT_OUTPUT),
    "git branch": OnlyReads(only=("-a", "--all", "-r", "--remotes", "-v", "-vv", "--list", "--show-current")),
    "git tag": OnlyReads(only=("-l", "--list")),
    "git remote": OnlyReads(only=("-v", "--verbose")),
    "git stash list": OnlyReads(only=()),
}

ASKED_EVERY_TIME: Final = (
    "rm", "rmdir", "shred", "truncate", "dd", "mkfs", "fdisk", "mkswap", "wipefs",
    "sudo", "doas", "su", "pkexec", "chroot",
    "shutdown", "reboot", "halt", "poweroff", "kill", "killall", "pkill",
    "find -delete", "chmod -R", "chown -R", "chgrp -R", "crontab",
    "git push", "git clean", "git reset --hard", "git checkout -f", "git checkout --", "git checkout .", "git restore",
    "git switch -f", "git switch --discard-changes", "git branch -D", "git branch -d", "git tag -d",
    "git stash drop", "git stash clear", "git rebase", "git filter-branch", "git update-ref", "git reflog expire",
    "git gc", "git remote set-url", "git config", "git worktree remove",
    "npm publish", "yarn publish", "pnpm publish", "uv publish", "poetry publish", "cargo publish", "gem push",
    "twine upload", "docker push", "docker system prune", "docker volume rm", "kubectl delete", "terraform apply",
    "terraform destroy", "gh pr merge", "gh release", "gh repo delete", "dropdb",
)  # fmt: skip
"""Programs, with the words that have to be among theirs: what they do cannot be taken back, or reaches others."""

PROGRAMS_WITH_PARTS: Final[Mapping[str, int]] = {
    "git": 2, "npm": 2, "pnpm": 2, "yarn": 2, "cargo": 2, "go": 2, "pip": 2, "docker": 2, "gh": 2, "kubectl": 2,
    "poetry": 2, "make": 2, "just": 2, "uv": 3, "npx": 2, "uvx": 2,
}  # fmt: skip
"""So many words say what these do; one word says it of the others."""
RUN_ANYTHING: Final = frozenset(
    ("sh", "bash", "zsh", "dash", "fish", "python", "python3", "node", "deno", "ruby", "perl", "php", "lua", "awk",
     "env", "xargs", "eval", "exec", "time", "nohup", "timeout", "ssh", "command", "nice", "setsid", "watch")
)  # fmt: skip
"""Whose arguments are programs: allowing one call says nothing about the next."""


def only_reads(command: str, folder: Path) -> bool:
    """Whether a command line is one simple command that is known to change nothing and stays inside of the folder."""
    words = simple_words(command)
    if not words or (words[0] == "git" and not runs_nothing(folder)):
        return False
    for length in (3, 2, 1):
        rule = READING_COMMANDS.get(" ".join(words[:length])) if len(words) >= length else None
        if rule is not None:
            return _keeps_to(rule, words[length:], folder)
    return False


def is_asked_every_time(command: str) -> bool:
    """Whether a command line has something in it, however deep, that no earlier answer covers."""
    if len(command) > LONGEST_COMMAND:
        return True
    spoken = [" ".join(words) for words in _commands_in(command)]
    return any(_is_in(rule.split(), line.split()) for line in spoken for rule in ASKED_EVERY_TIME)


def pattern_for_command(command: str) -> str:
    """Commands like this one, with a star for what may differ; empty when that cannot be told."""
    words = simple_words(command)
    if not words or is_asked_every_time(command):
        return ""
    program = Path(words[0]).name
    if program in RUN_ANYTHING:
        return command.strip()
    said = command.split()[: PROGRAMS_WITH_PARTS.get(program, 1)]
    if said != words[: len(said)] or any(word.startswith("-") for word in said):
        return command.strip()  # quoted, or with an option where the part is expected
    return f"{' '.join(said)} *"


def simple_words(command: str) -> list[str] | None:
    """The words of one simple command; None as soon as the shell would do anything else than start it."""
    if len(command) > LONGEST_COMMAND or _steers_the_shell(command):
        return None
    try:
        return shlex.split(command)
    except ValueError:
        return None


def _steers_the_shell(command: str) -> bool:
    """Whether there is an operator, a substitution, a wildcard or an escape outside of the quotes that take its power.

    Read sign by sign: what is quoted depends on all that stands before it.
    """
    quote, before = "", " "
    for sign in command:
        if sign in "\n\r\0":
            return True
        if quote == "'":
            quote = "" if sign == "'" else quote
        elif quote == '"':
            if sign in "$`\\":
                return True
            quote = "" if sign == '"' else quote
        elif sign in "'\"":
            quote = sign
        elif sign in ";&|<>$`\\(){}*?[]#!" or (sign == "~" and before in " \t=:"):
            return True
        before = sign
    return bool(quote)


def _keeps_to(rule: OnlyReads, words: Sequence[str], folder: Path) -> bool:
    if rule.only is not None:
        return all(word in rule.only for word in words)
    return not any(_is_option(word, bad) for word in words for bad in rule.but) and all(
        _is_inside(word, folder) for word in words
    )


def _is_option(word: str, option: str) -> bool:
    """Whether a word is that option: shortened, with a value, or one letter among several."""
    if option.startswith("--"):
        given = word.partition("=")[0]
        return given.startswith("--") and len(given) > 2 and (option.startswith(given) or given.startswith(option))
    if len(option) == 2:
        return bool(re.match(r"-[^-]", word)) and option[1] in word[1:]
    return word.startswith(option)


def _is_inside(word: str, folder: Path) -> bool:
    """Whether a word, if it is a path, leads nowhere outside of the folder, by links neither."""
    if word.startswith("-"):
        return "/" not in word and ".." not in word
    try:
        return (folder / word).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # too long a name, or links that turn in circles
        return False


def _commands_in(command: str) -> Iterator[list[str]]:
    """Every list of words in a line that could be a command: after operators, inside of substitutions and quotes."""
    unquoted = re.sub(r"['\"\\]", "", command)  # `r''m` is rm
    for text in re.split(r"[;&|<>`(){}\n\r]|\$\(", f"{command}\n{unquoted}"):
        yield [Path(word).name or word for word in re.split(r"[\s'\"\\=]+", text) if word]


def _is_in(rule: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a program stands in the words, followed by all that the rule names; its options in any place."""
    program, *rest = rule
    for place, word in enumerate(words):
        if word == program or (program == "mkfs" and word.startswith("mkfs.")):
            after = words[place + 1 :]
            if all(any(_says(each, given) for given in after) for each in rest):
                return True
    return False


def _says(wanted: str, given: str) -> bool:
    if re.fullmatch(r"-[A-Za-z]", wanted):
        return bool(re.match(r"-[A-Za-z]", given)) and wanted[1] in given
    return given == wanted
