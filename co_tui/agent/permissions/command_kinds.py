"""Classify shell commands: those that run others, those that can be allowed permanently, and dangerous ones."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from co_tui.settings.permission_rules import BASH, Rule

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

WRITES_FILES: Final = frozenset(("cp", "mkdir", "touch"))
"""Programs that rules cover only while all their paths are in the folder."""
_TARGETS: Final = ("*",)
KEPT_PROGRAMS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("pytest", "mypy", "ruff", "black", "isort", "flake8", "pylint", "pyright", "pyflakes", "bandit", "yapf",
         "autopep8", "sphinx-build", "mkdocs", "eslint", "tsc", "prettier", "biome", "oxlint", "stylelint",
         "jest", "vitest", "mocha", "ctest", "rspec", "rubocop", "phpunit", "phpstan", "gofmt", "rustfmt",
         "clang-format", "shellcheck", "hadolint", "markdownlint", "mkdir", "touch", "cp", "jq", "yq", "tidy"), ()),
    "git": ("add", "commit", "checkout", "switch", "branch", "tag", "merge", "stash", "mv", "cherry-pick", "revert",
            "notes"),
    "npm": ("test", "t", "install", "i", "ci", "run *", "ls", "outdated", "audit"),
    "yarn": ("test", "install", "add", "build", "lint", "run *"),
    "pnpm": ("test", "install", "add", "build", "lint", "run *"),
    "bun": ("test", "install", "add", "run *"),
    "cargo": ("build", "check", "test", "clippy", "fmt", "doc", "bench", "run", "tree", "add", "update"),
    "go": ("build", "test", "vet", "fmt", "mod", "list", "get"),
    "pip": ("install", "list", "show", "freeze", "check"), "pip3": ("install", "list", "show", "freeze", "check"),
    "uv": ("sync", "add", "remove", "lock", "tree", "build", "pip install", "pip list"),
    "poetry": ("install", "add", "update", "lock", "show", "check", "build"),
    "docker": ("build", "ps", "images", "logs", "compose up", "compose down", "compose build", "compose ps",
               "compose logs"),
    "kubectl": ("get", "describe", "logs"),
    "gh": ("pr view", "pr list", "pr diff", "pr checks", "issue view", "issue list", "run view", "run list"),
    "make": _TARGETS, "just": _TARGETS, "mvn": _TARGETS, "gradle": _TARGETS, "./gradlew": _TARGETS, "./mvnw": _TARGETS,
    "dotnet": ("build", "test", "restore", "format"),
    "mix": ("test", "compile", "format", "deps.get"), "swift": ("build", "test"), "composer": ("install", "update"),
    "bundle": ("install",), "terraform": ("plan", "validate", "fmt", "init"), "tox": (), "nox": (),
}  # fmt: skip
"""Programs that can be allowed with any further arguments, and the subcommands that decide what they do. All others run
whatever their arguments name, or are unknown: only the exact line can be allowed."""
KEPT_MODULES: Final = frozenset(
    ("pytest", "unittest", "mypy", "ruff", "black", "isort", "flake8", "pylint", "pyright", "compileall", "json.tool",
     "build", "venv", "sphinx", "mkdocs")
)  # fmt: skip
"""Modules that can be allowed after `python -m` with any further arguments."""
_PYTHON: Final = re.compile(r"python(\d+(\.\d+)*)?")
STARTS_OTHERS: Final = re.compile(
    r"(ba|z|da|k|fi|c|tc)?sh|(python|pypy|node|nodejs|ruby|perl|php|lua|deno|bun|tclsh|Rscript)[\d.]*|[gmn]?awk|env|"
    r"xargs|parallel|eval|exec|source|\.|time|nohup|timeout|ssh|command|builtin|nice|ionice|setsid|watch|entr|stdbuf|"
    r"busybox|toybox|find|fd|sudo|doas|su|runuser|pkexec|chroot|unshare|nsenter|flock|strace|ltrace|gdb|script|expect|"
    r"prlimit|taskset|setarch|coproc|trap|chrt|tmux|screen|docker|podman|kubectl|uv|poetry|pipenv|pdm|hatch|rye|npx|pnpm|bunx|uvx|bundle|if|then|do|while|for|!"
)
"""Programs and keywords whose arguments may name another program."""

_RUNS_CODE: Final = re.compile(
    r"--?(eval|init-hook|init-file|rcfile|rc|exec|toolexec|vettool|script-shell|shell|kubeconfig|config|config-file|"
    r"load-plugins|plugin|plugins|rulesdir|resolve-plugins-relative-to|upload-pack|receive-pack|template|"
    r"compress-program|use-compress-program|to-command|python-executable|ssh|editor|pager|in-place|i|p|C|c)(=|$)|"
    r"(SHELL|MAKEFLAGS|PATH|LD_\w+|PYTHON\w+|NODE_OPTIONS)="
)
"""Arguments that make otherwise harmless programs run other code or write files."""

DANGERS: Final[Mapping[str, tuple[str, ...]]] = {
    "deletes files": ("rsync --delete", "rm", "rmdir", "shred", "unlink", "find -delete", "git clean", "git rm"),
    "overwrites data": ("truncate", "dd", "mkfs", "fdisk", "mkswap", "wipefs", "dropdb"),
    "runs as another user": ("sudo", "doas", "su", "pkexec", "chroot"),
    "stops processes": ("shutdown", "reboot", "halt", "poweroff", "kill", "killall", "pkill"),
    "changes many permissions": ("chmod -R", "chown -R", "chgrp -R"),
    "changes scheduled jobs": ("crontab",),
    "changes git's configuration": ("git config", "git remote set-url", "git remote add"),
    "discards work": (
        "git reset --hard", "git checkout -f", "git checkout --", "git checkout .", "git restore", "git switch -f",
        "git switch --discard-changes", "git branch -D", "git branch -d", "git branch -M", "git branch -f",
        "git tag -d", "git stash drop",
        "git stash clear", "git rebase", "git filter-branch", "git filter-repo", "git update-ref",
        "git reflog expire", "git reflog delete", "git gc", "git prune", "git worktree remove",
        "docker system prune", "docker volume rm", "kubectl delete", "terraform destroy",
    ),
    "overwrites the remote's history": (
        "git push --force", "git push -f", "git push --force-with-lease", "git push --mirror",
    ),
    "publishes or sends to others": (
        "git push", "git send-email", "npm publish", "yarn publish", "pnpm publish", "bun publish", "uv publish",
        "poetry publish", "cargo publish", "gem push", "twine upload", "docker push", "terraform apply",
        "kubectl apply", "gh pr merge", "gh pr create", "gh release", "gh repo delete", "gh repo create", "gh secret",
    ),
}  # fmt: skip
"""Commands that cannot be undone or affect others: a program, with words its arguments must contain."""


def _by_program() -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for why, kinds in DANGERS.items():
        for kind in kinds:
            program, *required = kind.split()
            found.setdefault(program, []).append((why, tuple(required)))
    return found


_DANGERS_BY_PROGRAM: Final = _by_program()


def unwrapped(words: Sequence[str]) -> list[str]:
    """The command without wrappers such as `timeout 60`."""
    rest = list(words)
    while rest and (own := PLAIN_WRAPPERS.get(rest[0])) is not None:
        program, *after = rest
        while after and re.fullmatch(own, after[0]):
            after = after[2:] if after[0] in _VALUED else after[1:]
        if program == "timeout" and after and re.fullmatch(r"[\d.]+[smhd]?", after[0]):
            after = after[1:]
        elif program == "timeout":
            return list(words)
        if not after or after[0].startswith("-"):
            return list(words)
        rest = after
    return rest


def rule_to_keep(words: Sequence[str], *, any_arguments: bool = True) -> Rule | None:
    """A rule for commands like this one: with any arguments if the program allows it, else the exact line."""
    prefix = _kept_prefix(unwrapped(words)) if any_arguments else []
    if prefix:
        return Rule(BASH, f"{' '.join(prefix)}:*")
    line = shlex.join(words)
    is_plain = "*" not in line and "\n" not in line and len(line) <= LONGEST_KEPT_CHARS
    return Rule(BASH, line) if is_plain else None


def _kept_prefix(words: Sequence[str]) -> list[str]:
    """The first words if they determine what the command does; else empty."""
    for runner in RUNNERS:
        if tuple(words[: len(runner)]) == runner:
            inner = _kept_prefix(words[len(runner) :])
            return [*runner, *inner] if inner else []
    if not words or not all(re.fullmatch(r"[\w./@:+-]+", word) for word in words[:1]):
        return []
    program = words[0]
    if _PYTHON.fullmatch(program):
        is_module = words[1:2] == ["-m"] and len(words) > 2
        if is_module and words[2] == "pip":
            inner = _kept_prefix(words[2:])
            return [program, "-m", *inner] if inner else []
        return list(words[:3]) if is_module and words[2] in KEPT_MODULES else []
    if program not in KEPT_PROGRAMS:
        return []
    parts = KEPT_PROGRAMS[program]
    if not parts:
        return [program]
    for part in parts:
        expected = part.split()
        given = list(words[1 : 1 + len(expected)])
        named = len(given) == len(expected) and all(re.fullmatch(r"[\w.:@][\w./:@-]*", each) for each in given)
        if named and all(want in ("*", each) for want, each in zip(expected, given, strict=True)):
            return [program, *given]
    return []


def may_run_code(words: Sequence[str]) -> bool:
    """Whether options name code to run, which a rule for any arguments does not cover."""
    if words[:1] in (["make"], ["just"], ["gradle"], ["mvn"], ["./gradlew"], ["./mvnw"]):
        return not all(re.fullmatch(r"[\w.:%/][\w.:%/-]*|-j\d*|-[ksBn]|-[qQ]", word) for word in words[1:])
    return any(_RUNS_CODE.match(word) for word in words[1:])


def dangers_of(words: Sequence[str]) -> list[str]:
    """Why a command cannot be undone or affects others, each reason once; empty if neither."""
    if words and (not re.fullmatch(r"[\w./+-]+", words[0])):
        return dangers_in(" ".join(words))  # the program is only known at run time
    if words and STARTS_OTHERS.fullmatch(PurePosixPath(words[0]).name):
        return dangers_in(shlex.join(words))
    return list(dict.fromkeys(_dangers(words)))


def dangers_in(text: str) -> list[str]:
    """The same for text with commands anywhere: after operators, in substitutions and in quotes."""
    starts = (words[at:] for words in commands_in_text(text) for at in range(len(words)))
    return list(dict.fromkeys(why for words in starts for why in _dangers(words)))


def danger_text(dangers: Iterable[str]) -> str:
    """Several dangers in a few words, each once."""
    *others, last = list(dict.fromkeys(dangers)) or [""]
    return f"{', '.join(others)} and {last}" if others else last


def _dangers(words: Sequence[str]) -> Iterator[str]:
    """The dangers of a program whose arguments contain all words of one of its entries, in any order."""
    program = PurePosixPath(words[0]).name if words else ""
    kinds = _DANGERS_BY_PROGRAM.get("mkfs" if program.startswith("mkfs.") else program, ())
    for why, required in kinds:
        if all(any(_matches(each, word) for word in words[1:]) for each in required):
            yield why


def commands_in_text(text: str) -> Iterator[list[str]]:
    unquoted = re.sub(r"['\"\\]", "", text)  # `r''m` is rm
    for part in re.split(r"[;&|<>`(){}\n\r]|\$\(", f"{text}\n{unquoted}"):
        yield [PurePosixPath(word).name or word for word in re.split(r"[\s'\"\\=]+", part) if word]


def _matches(required: str, given: str) -> bool:
    if re.fullmatch(r"-[A-Za-z]", required):
        return bool(re.match(r"-[A-Za-z]", given)) and required[1] in given
    return given == required
