"""Judge a command line: every command, redirection and substitution by itself."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from co_tui.agent.permissions.command_kinds import (
    HARMLESS_VARIABLES,
    STARTS_OTHERS,
    WRITES_FILES,
    KeptUse,
    commands_in_text,
    danger_text,
    dangers_in,
    dangers_of,
    kept_use,
    may_run_code,
    rule_to_keep,
    unwrapped,
    use_of,
)
from co_tui.agent.permissions.git_guard import git_only_reads
from co_tui.agent.permissions.judged_words import JudgedWords, rewritten
from co_tui.agent.permissions.reading_commands import Reading, read_by, stays_inside
from co_tui.agent.permissions.shell_syntax import NotUnderstood, Piece, Redirect, ShellCommand, Statement, parse
from co_tui.agent.permissions.verdict import REFUSED_IN_PLAN, RUN, Rules, Verdict, asked_by, refused_by
from co_tui.agent.permissions.working_folders import LocatedCommand, expanded, located
from co_tui.settings.permission_rules import (
    BASH,
    EDIT,
    READ,
    Effect,
    Rule,
    RuleInForce,
    covers_command,
    kept_words,
    prefix_of,
)
from co_tui.settings.rules import AUTO, PLAN

_PLAIN_PATTERN: Final = re.compile(r"\w(?!.*/\.)[\w./*?-]*")
NOT_READ: Final = "Parts of this line are known only when it runs, so it can only be allowed once."


def judge_line(
    line: str,
    rules: Rules,
    environ: Mapping[str, str],
    *,
    in_background: bool = False,
    parse: Callable[[str], Statement] = parse,
) -> Verdict:
    """The verdict on a line. `environ` is used to run git; a line in the background is never free."""
    try:
        parts = located(parse(line), rules.folder)
    except NotUnderstood:
        return _not_understood(line, rules)
    return _Line(line, parts, rules, environ, in_background=in_background).verdict()


def _not_understood(line: str, rules: Rules) -> Verdict:
    """Judge a line that cannot be parsed: only rules about the whole line apply."""
    for each in rules.of("deny", BASH):
        named = prefix_of(each.rule) or each.rule.pattern.split()
        if not named or named[0].strip("*") in re.sub(r"['\"\\]", "", line):
            return refused_by(each)
    if rules.mode == PLAN:
        return REFUSED_IN_PLAN
    danger = danger_text(dangers_in(line))
    if asked := rules.of("ask", BASH):
        return asked_by(asked[0], (line,))._replace(danger=danger)
    allowed = any(each.rule.pattern in ("", line.strip()) for each in rules.of("allow", BASH))
    limits = any(each.effect != "allow" and each.rule.tool in (READ, EDIT) for each in rules.written)
    if not danger and not limits and (allowed or rules.mode == AUTO):
        return RUN
    return Verdict("ask", NOT_READ, new=(line,), danger=danger)


class _Part(NamedTuple):
    """A part of a line, with what its command reads in each of its folders."""

    located: LocatedCommand
    words: tuple[JudgedWords | None, ...] = ()
    readings: tuple[Reading | None, ...] = ()

    @property
    def command(self) -> ShellCommand | None:
        return self.located.command

    @property
    def folders(self) -> tuple[Path, ...]:
        return self.located.folders

    @property
    def redirects(self) -> tuple[Redirect, ...]:
        return self.located.redirects


def _examined(located: LocatedCommand, home: Path) -> _Part:
    """Expand its words, once: what is judged is what runs."""
    command = located.command
    if command is None:
        return _Part(located)
    at_home = _at_home(command, home).words
    texts = [None if command.assignments else expanded(at_home, folder) for folder in located.folders]
    words = tuple(None if each is None else JudgedWords(command.words, each) for each in texts)
    is_known = bool(command.program) and not any(word.is_under_home for word in at_home)
    readings = (read_by(unwrapped(each.flat)) if each is not None and is_known else None for each in words)
    return _Part(located, words, tuple(readings))


class _Line:
    """A parsed line."""

    def __init__(
        self,
        line: str,
        parts: Sequence[LocatedCommand],
        rules: Rules,
        environ: Mapping[str, str],
        *,
        in_background: bool,
    ) -> None:
        self._line, self._rules, self._environ = line, rules, environ
        self._parts = [_examined(part, rules.home) for part in parts]
        self._in_background = in_background
        self._git_reads: dict[Path, bool] = {}
        """Whether git only reads in a folder, cached for the line."""
        self._only_reads = [part.command is not None and self._only_reads_inside(part) for part in self._parts]
        """For each part: whether its command is free, ignoring redirections."""
        only_reads = all(map(self._is_free, range(len(parts))))
        self._judged = self._rewritten(guards_git=not only_reads) if any(self._only_reads) else ""
        if self._judged is None:
            self._only_reads = [False for _ in parts]

    def _rewritten(self, *, guards_git: bool) -> str | None:
        """The line as it is run, unless its user is asked."""
        read = [part.words[0] for at, part in enumerate(self._parts) if self._only_reads[at]]
        words = [each for each in read if each is not None]
        return rewritten(self._line, words, self._environ, self._rules.folder, guards_git=guards_git)

    def verdict(self) -> Verdict:
        if (denied := self._command_rule("deny") or self._path_rule("deny")) is not None:
            return refused_by(denied)
        asked = self._command_rule("ask") or self._path_rule("ask")
        new = [at for at, part in enumerate(self._parts) if not self._is_free(at) and not self._is_allowed(at)]
        only_reads = all(map(self._is_free, range(len(self._parts))))
        if asked is None and only_reads:
            return Verdict("run", only_reads=True, judged_line=self._judged or "")
        if self._rules.mode == PLAN:
            return REFUSED_IN_PLAN
        risks = [
            each
            for part in (self._parts[at] for at in new)
            if part.command is not None
            for each in dangers_of(_bare(part.command), part.folders)
        ]
        danger = danger_text((*risks, *self._downloads()))
        shown = tuple(dict.fromkeys(_text(self._parts[at]) for at in new))
        if asked is not None:
            return asked_by(asked, shown)._replace(danger=danger)
        if not new:
            return RUN._replace(judged_line="" if self._in_background else self._judged or "")
        if self._rules.mode == AUTO and not danger:
            return RUN
        rules = () if danger else self._rules_to_keep(new)
        return Verdict("ask", self._reason(new), new=shown, rules=rules, danger=danger)

    def _reason(self, new: Sequence[int]) -> str:
        """Why approval is needed, where that is not obvious."""
        for at in new:
            part = self._parts[at]
            if (name := self._protected_in(part)) is not None:
                return f"{name} can make programs run. Changes to it always need approval."
            reading = part.readings[0] if part.command is not None else None
            if reading is None or self._only_reads[at]:
                continue
            if reading.whole_folders and (self._rules.of("ask", READ) or self._rules.of("deny", READ)):
                return "It could show files that your rules deny."
            if any(not stays_inside(path, part.folders[0], self._rules.folder) for path in reading.paths):
                return "It reads outside this folder."
            if part.command is not None and unwrapped(_bare(part.command))[0] == "git":
                return "This repository's configuration could make git run a program."
        return ""

    def _command_rule(self, effect: Effect) -> RuleInForce | None:
        """The first rule that covers a command of the line, including commands that others start."""
        forms = [words for part in self._parts if part.command for words in _forms(part.command)]
        rules = self._rules.of(effect, BASH)
        return next((each for each in rules if any(covers_command(each.rule, words) for words in forms)), None)

    def _path_rule(self, effect: Effect) -> RuleInForce | None:
        """A rule that covers a file this line reads or writes."""
        if not (self._rules.of(effect, READ) or self._rules.of(effect, EDIT)):
            return None
        for part in self._parts:
            for at, folder in enumerate(part.folders):
                for tool, path in _paths_used(part, at):
                    if (found := self._rules.limits(effect, tool, path, folder)) is not None:
                        return found
        return None

    def _is_free(self, at: int) -> bool:
        part = self._parts[at]
        return (
            not self._in_background
            and (part.command is None or self._only_reads[at])
            and all(self._reads_inside(each, part.folders) for each in part.redirects)
        )

    def _reads_inside(self, redirect: Redirect, folders: Sequence[Path]) -> bool:
        if redirect.writes or redirect.operator != "<":
            return not redirect.writes
        path = redirect.target.text
        known = path is not None and not redirect.target.is_under_home
        return known and all(self._may_read(path or "", folder) for folder in folders)

    def _only_reads_inside(self, part: _Part) -> bool:
        """Whether its command only reads, and only inside the folder, in every folder it may run in."""
        if any(each != part.words[0] for each in part.words):
            return False  # other names in another folder
        for folder, words, reading in zip(part.folders, part.words, part.readings, strict=True):
            if words is None or reading is None or not folder.is_relative_to(self._rules.folder):
                return False
            if reading.whole_folders and (self._rules.of("ask", READ) or self._rules.of("deny", READ)):
                return False  # it may show a file that rules protect
            # What it finds by itself outside of the folder may be a link, or a file that no rule allows.
            only_inside = reading.files_only or reading.whole_folders
            if not all(self._may_read(path, folder, reading.files_only, only_inside) for path in reading.paths):
                return False
            if not self._names_inside(words, folder):
                return False
            if unwrapped(words.flat)[0] == "git":
                shows_others = reading.whole_folders and _is_below_repository(self._rules.folder)
                if shows_others or not self._git_only_reads(folder):
                    return False
        return True

    def _git_only_reads(self, folder: Path) -> bool:
        if folder not in self._git_reads:
            self._git_reads[folder] = git_only_reads(folder, self._environ)
        return self._git_reads[folder]

    def _names_inside(self, words: JudgedWords, folder: Path) -> bool:
        """Whether wildcards match only files in the folder."""
        names = [
            name for word, texts in zip(words.written, words.texts, strict=True) if word.is_pattern for name in texts
        ]
        return all(stays_inside(name, folder, self._rules.folder) for name in names)

    def _may_read(self, path: str, folder: Path, file_only: bool = False, only_inside: bool = False) -> bool:
        real = self._rules.resolve(path, folder)
        if real is None or self._rules.about("ask", READ, real) is not None:
            return False
        inside = stays_inside(path, folder, self._rules.folder, file_only=file_only)
        return inside or (not only_inside and self._rules.reads_outside(real))

    def _is_allowed(self, at: int) -> bool:
        """Whether rules or the mode allow a part that is not free: its command and its redirections."""
        part = self._parts[at]
        if not all(self._may_write(each, part.folders) for each in part.redirects if each.writes):
            return False
        if not all(self._reads_inside(each, part.folders) for each in part.redirects if not each.writes):
            return False
        if part.command is None or (self._only_reads[at] and not self._in_background):
            return True
        rules = [each.rule for each in self._rules.of("allow", BASH)]
        if part.located.is_fed and self._downloads():
            return False
        if part.located.is_fed:  # what the exact line `sh` does depends on its input
            rules = [rule for rule in rules if not rule.pattern or not _is_exact(rule)]
        if "/" in part.command.program and part.folders != (self._rules.folder,):
            return False  # `./x` is another program in another folder
        return self._is_covered(part, part.command, rules) and self._protected_in(part) is None

    def _is_covered(self, part: _Part, command: ShellCommand, rules: Sequence[Rule]) -> bool:
        """Whether a rule allows a command. A rule allows a dangerous one only by naming what is dangerous about it, as
        `Bash(rm:*)` does."""
        forms = [_words(command)]
        if _harmless_variables(command):
            forms += [_bare(command), unwrapped(_bare(command))]
        covering = [rule for rule in rules if any(covers_command(rule, form) for form in forms)]
        bare = unwrapped(_bare(command))
        use = self._kept_use(part)
        if may_run_code(bare) or (bare[0] in WRITES_FILES and use is None):
            covering = [rule for rule in covering if _is_exact(rule)]
        if use is not None and _harmless_variables(command):
            covering += [rule for rule in rules if (kept := use_of(rule)) is not None and kept.covers(use)]
        dangers = set(dangers_of(_bare(command), part.folders)) if covering else set()
        named = (kept_words(rule) or prefix_of(rule) or rule.pattern.split() for rule in covering)
        return any(dangers <= set(dangers_of(words, part.folders)) for words in named)

    def _kept_use(self, part: _Part) -> KeptUse | None:
        """What its command does by the table of programs, if all its paths are in the folder."""
        words = _kept_texts(part.command) if part.command is not None else None
        use = kept_use(unwrapped(words)) if words else None
        return use if use is not None and self._is_inside(use, part.folders) else None

    def _is_inside(self, use: KeptUse, folders: Sequence[Path]) -> bool:
        return all(stays_inside(path, folder, self._rules.folder) for path in use.paths for folder in folders)

    def _may_write(self, redirect: Redirect, folders: Sequence[Path]) -> bool:
        for folder in folders:
            real = self._written(redirect, folder)
            if real is None or self._rules.about("ask", EDIT, real) is not None:
                return False
            by_mode = self._rules.edits_freely and real.is_relative_to(self._rules.folder)
            if not by_mode and self._rules.about("allow", EDIT, real) is None:
                return False
        return True

    def _written(self, redirect: Redirect, folder: Path) -> Path | None:
        """The file it writes; None when it is unknown or protected."""
        real = self._rules.resolve(redirect.target.text, folder) if redirect.target.text else None
        return None if real is None or self._rules.protected(real) is not None else real

    def _protected_in(self, part: _Part) -> str | None:
        """A protected name among its words or the files it writes."""
        words = part.command.words[1:] if part.command is not None else ()
        texts = [word.text or "" for word in (*words, *(each.target for each in part.redirects if each.writes))]
        texts += [text.partition("=")[2] for text in texts if "=" in text]
        paths = [folder / text for text in texts if text for folder in part.folders]
        return next(filter(None, map(self._rules.protected, paths)), None)

    def _downloads(self) -> Sequence[str]:
        """The danger of running what is downloaded."""
        programs = [(part.command.program, part.located.is_fed) for part in self._parts if part.command is not None]
        fetches = any(program in ("curl", "wget") for program, _ in programs)
        runs = any(is_fed and STARTS_OTHERS.fullmatch(program) for program, is_fed in programs)
        return ("runs what it downloads",) if fetches and runs else ()

    def _rules_to_keep(self, new: Sequence[int]) -> tuple[Rule, ...]:
        """A rule for each new part; empty when one of them cannot have a rule."""
        rules: dict[Rule, None] = {}
        for at in new:
            part = self._parts[at]
            for redirect in part.redirects:
                if redirect.writes and not self._may_write(redirect, part.folders):
                    files = [self._written(redirect, folder) for folder in part.folders]
                    inside = [file for file in files if file is not None and file.is_relative_to(self._rules.folder)]
                    if len(inside) < len(files):
                        return ()
                    offered = [self._rules.edit_rule(file) for file in inside]
                    if None in offered:
                        return ()
                    rules |= {rule: None for rule in offered if rule is not None}
            if part.command is None or (self._only_reads[at] and not self._in_background):
                continue
            rule = self._rule_to_keep(part, part.command)
            if rule is None or self._protected_in(part) is not None or (part.located.is_fed and _is_exact(rule)):
                return ()
            rules[rule] = None
        return tuple(rules)

    def _rule_to_keep(self, part: _Part, command: ShellCommand) -> Rule | None:
        has_values = all(value.text is not None for _, value in command.assignments)
        words = _kept_texts(command) if has_values else None
        if words is None:
            return None
        words = words if _harmless_variables(command) else _words(command)
        is_pattern = any(word.text is None for word in command.words)
        rule = rule_to_keep(words, is_inside=lambda use: self._is_inside(use, part.folders))
        return None if rule is not None and is_pattern and _is_exact(rule) else rule


def _paths_used(part: _Part, at: int) -> Iterator[tuple[str, str]]:
    """How a part may use which paths in one of its folders: a reading command reads them, any other may also write
    them."""
    for redirect in part.redirects:
        tools = (EDIT, READ) if redirect.writes else (READ,)
        yield from ((tool, redirect.target.text or "") for tool in tools)
    if part.command is None:
        return
    words, reading = part.words[at], part.readings[at]
    if reading is not None:
        yield from ((READ, path) for path in reading.paths)
        return
    for word in words.flat[1:] if words is not None else _bare(part.command)[1:]:
        yield from ((tool, word) for tool in (READ, EDIT))


def _at_home(command: ShellCommand, home: Path) -> ShellCommand:
    """The command with the home folder in place of each plain `~/`."""
    words = tuple(
        word._replace(source=(path := f"{home}{word.text[1:]}"), pieces=(Piece(path, quoted=True),))
        if word.is_under_home and word.text is not None
        else word
        for word in command.words
    )
    return command._replace(words=words)


def _is_below_repository(folder: Path) -> bool:
    """Whether the folder is inside a larger repository, of which git also shows the rest."""
    return not os.path.lexists(folder / ".git") and any(os.path.lexists(each / ".git") for each in folder.parents)


def _is_exact(rule: Rule) -> bool:
    """Whether a rule is about one line."""
    return prefix_of(rule) is None and kept_words(rule) is None


def _kept_texts(command: ShellCommand) -> list[str] | None:
    """The words that a kept rule is compared with; a wildcard as written, unless it could become an option or lead out
    of the folder."""
    texts = [word.source if _PLAIN_PATTERN.fullmatch(word.source) else word.text for word in command.words]
    if any(word.is_under_home for word in command.words):
        return None
    return None if None in texts else [text for text in texts if text is not None]


def _harmless_variables(command: ShellCommand) -> bool:
    return all(name in HARMLESS_VARIABLES for name, _ in command.assignments)


def _words(command: ShellCommand) -> list[str]:
    """A command's words, with its variables in front; words computed at run time as written."""
    before = [f"{name}={value.source if value.text is None else value.text}" for name, value in command.assignments]
    return [*before, *_bare(command)]


def _bare(command: ShellCommand) -> list[str]:
    return [word.source if word.text is None else word.text for word in command.words]


def _forms(command: ShellCommand) -> Iterator[list[str]]:
    """The forms that deny and ask rules are compared with: the command itself, and any it may start."""
    bare = _bare(command)
    yield _words(command)
    for at, word in enumerate(bare):
        yield [PurePosixPath(word).name or word, *bare[at + 1 :]]
        if at and " " in word:
            for inner in commands_in_text(word):
                yield from (inner[start:] for start in range(len(inner)))
    if bare[0] == "git":  # options may precede its subcommand
        yield ["git", *(word for word in bare[1:] if not word.startswith("-"))]


def _text(part: _Part) -> str:
    """A part as shown in a question."""
    source = part.command.source if part.command is not None else ""
    writes = [f"{each.operator} {each.target.source}" for each in part.redirects if each.writes]
    return " ".join(filter(None, (source, *writes)))
