"""Judge a command line: every command, redirection and substitution by itself."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from co_tui.agent.permissions.command_kinds import (
    STARTS_OTHERS,
    WRITES_FILES,
    KeptUse,
    danger_text,
    dangers_in,
    dangers_of,
    kept_use,
    may_run_code,
    rule_to_keep,
    unwrapped,
    use_of,
)
from co_tui.agent.permissions.git_guard import git_only_reads, safe_path
from co_tui.agent.permissions.judged_words import JudgedWords, Part, examined, rewritten
from co_tui.agent.permissions.reading_commands import stays_inside
from co_tui.agent.permissions.verdict import LIKE_AN_OPTION, REFUSED_IN_PLAN, RUN, Rules, Verdict, asked_by, refused_by
from co_tui.agent.permissions.working_folders import LocatedCommand, expanded, located
from co_tui.settings.permission_rules import (
    BASH,
    EDIT,
    READ,
    Effect,
    Rule,
    RuleInForce,
    covers_command,
    covers_line,
    kept_words,
    prefix_of,
)
from co_tui.settings.rules import AUTO, PLAN
from co_tui.shell.syntax import NotUnderstood, Redirect, Statement, parse

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


def keeps_to(line: str, rules: Sequence[Rule], folder: Path, parse: Callable[[str], Statement] = parse) -> bool:
    """Whether rules cover every command of a line, and it writes no other file."""
    try:
        parts = [Part(*each) for each in located(parse(line), folder)]
    except NotUnderstood:
        return any(rule.pattern == line.strip() for rule in rules)
    if any(redirect.writes for part in parts for redirect in part.redirects):
        return False
    forms = [part.own_forms for part in parts if part.command is not None]
    return all(any(covers_command(rule, form) for rule in rules for form in each) for each in forms)


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
        self._parts = [examined(part, rules.home) for part in parts]
        self._in_background = in_background
        self._git_reads: dict[Path, bool] = {}
        """Whether git only reads in a folder, cached for the line."""
        self._protected: dict[int, str | None] = {}
        """A protected name in a part, cached for the line."""
        self._only_reads = [part.command is not None and self._only_reads_inside(part) for part in self._parts]
        """For each part: whether its command is free, ignoring redirections."""
        first = next((at for at in range(len(parts)) if not self._is_free(at)), len(parts))
        for at, part in enumerate(self._parts):  # a file that the first one makes could become an option
            self._only_reads[at] &= at <= first or part.can_expand_later
        all_free = all(map(self._is_free, range(len(parts))))
        all_read = all(self._only_reads[at] for at, part in enumerate(parts) if part.command is not None)
        reading = [(part, at > first) for at, part in enumerate(self._parts) if self._only_reads[at]]
        path = environ.get("PATH", os.defpath)
        path = safe_path(path, *rules.folders) if all_read else path
        judged = rewritten(line, reading, path, names_programs=all_read, guards_git=not all_free)
        self._judged = judged if reading else ""
        """What is run unless the user is asked; None when no such line can be written."""
        if self._judged is None:
            self._only_reads = [False for _ in parts]

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
            for each in dangers_of(part.bare, part.folders)
        ]
        danger = danger_text((*risks, *self._downloads()))
        shown = tuple(dict.fromkeys(self._parts[at].text for at in new))
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
            if (name := self._protected_in(at)) is not None:
                return f"{name} can make programs run. Changes to it always need approval."
            written = [each.target.text or "" for each in part.redirects if each.writes]
            if any(self._rules.names_option(path, folder) for path in written for folder in part.folders):
                return LIKE_AN_OPTION
            reading = part.readings[0] if part.command is not None else None
            if reading is None or self._only_reads[at]:
                continue
            if reading.whole_folders and (self._rules.of("ask", READ) or self._rules.of("deny", READ)):
                return "It could show files that your rules deny."
            if any(not stays_inside(path, part.folders[0], self._rules.folders) for path in reading.paths):
                return f"It reads outside {'these folders' if self._rules.added else 'this folder'}."
            if part.command is not None and unwrapped(part.bare)[0] == "git":
                return "This repository's configuration could make git run a program."
        return ""

    def _command_rule(self, effect: Effect) -> RuleInForce | None:
        """The first rule that covers a command of the line, including commands that others start, or the line."""
        if not (rules := self._rules.of(effect, BASH)):
            return None
        forms = [words for part in self._parts if part.command for words in part.forms()]
        covering = (each for each in rules if any(covers_command(each.rule, words) for words in forms))
        return next(covering, None) or next((each for each in rules if covers_line(each.rule, self._line)), None)

    def _path_rule(self, effect: Effect) -> RuleInForce | None:
        """A rule that covers a file this line reads or writes."""
        if not (self._rules.of(effect, READ) or self._rules.of(effect, EDIT)):
            return None
        for part in self._parts:
            for at, folder in enumerate(part.folders):
                for tool, path in part.paths_used(at):
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

    def _only_reads_inside(self, part: Part) -> bool:
        """Whether its command only reads, and only inside the folder, in every folder it may run in."""
        if any(each != part.words[0] for each in part.words):
            return False  # other names in another folder
        for folder, words, reading in zip(part.folders, part.words, part.readings, strict=True):
            if words is None or reading is None or not self._rules.holds(folder):
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
                shows_others = reading.whole_folders and _is_below_repository(self._rules.root_of(folder))
                if shows_others or not self._git_only_reads(folder):
                    return False
        return True

    def _git_only_reads(self, folder: Path) -> bool:
        if folder not in self._git_reads:
            path = safe_path(self._environ.get("PATH", os.defpath), *self._rules.folders)
            self._git_reads[folder] = git_only_reads(folder, {**self._environ, "PATH": path})
        return self._git_reads[folder]

    def _names_inside(self, words: JudgedWords, folder: Path) -> bool:
        """Whether wildcards match only files in the folder."""
        names = [
            name for word, texts in zip(words.written, words.texts, strict=True) if word.is_pattern for name in texts
        ]
        return all(stays_inside(name, folder, self._rules.folders) for name in names)

    def _may_read(self, path: str, folder: Path, file_only: bool = False, only_inside: bool = False) -> bool:
        real = self._rules.resolve(path, folder)
        if real is None or self._rules.about("ask", READ, real) is not None:
            return False
        inside = stays_inside(path, folder, self._rules.folders, file_only=file_only)
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
        rules = self._rules.of("allow", BASH)
        if dangers_of(part.bare, part.folders):
            rules = [each for each in rules if not each.for_turn]
        if part.is_fed and self._downloads():
            return False
        if part.is_fed:  # what the exact line `sh` does depends on its input
            rules = [each for each in rules if not each.rule.pattern or not _is_exact(each.rule)]
        if "/" in part.command.program and part.folders != (self._rules.folder,):
            return False  # `./x` is another program in another folder
        return self._is_covered(part, [each.rule for each in rules]) and self._protected_in(at) is None

    def _is_covered(self, part: Part, rules: Sequence[Rule]) -> bool:
        """Whether a rule allows a command. A rule allows a dangerous one only by naming what is dangerous about it, as
        `Bash(rm:*)` does; a written one allows variables in front only by naming them."""
        bare, use = unwrapped(part.bare), self._kept_use(part)
        forms = part.own_forms
        covering = [rule for rule in rules if any(covers_command(rule, form) for form in forms)]
        if may_run_code(bare) or (bare[0] in WRITES_FILES and use is None):
            covering = [rule for rule in covering if _is_exact(rule)]
        dangers = set(dangers_of(part.bare, part.folders))
        if not dangers and use is not None:
            covering += [rule for rule in rules if (kept := use_of(rule)) is not None and kept.covers(use)]
        named = (prefix_of(rule) or rule.pattern.split() for rule in covering)
        return any(dangers <= set(dangers_of(words, part.folders)) for words in named)

    def _kept_use(self, part: Part) -> KeptUse | None:
        """What its command does by the table of programs, if all its paths are in the folder."""
        words = part.kept_texts if part.has_harmless_variables else None
        if part.command is None or not words or (use := kept_use(unwrapped(words))) is None:
            return None
        *sources, target = use.paths if use.base == ("cp",) and use.paths else ("",)
        copies = [f"{target}/{name}" for each in sources for name in (each, PurePosixPath(each).name)]
        patterns = [word for word in part.command.words if word.is_pattern]
        for folder in part.folders:
            if (found := expanded(patterns, folder)) is None:
                return None
            paths = (*use.paths, *copies, *(name for names in found for name in names))
            if not all(stays_inside(path, folder, self._rules.folders) for path in paths):
                return None
            if any(self._rules.protected(folder / copy) for copy in copies):
                return None
        return use

    def _may_write(self, redirect: Redirect, folders: Sequence[Path]) -> bool:
        for folder in folders:
            real = self._written(redirect, folder)
            if real is None or self._rules.about("ask", EDIT, real) is not None:
                return False
            by_mode = self._rules.edits_freely and self._rules.holds(real)
            if not by_mode and self._rules.about("allow", EDIT, real) is None:
                return False
        return True

    def _written(self, redirect: Redirect, folder: Path) -> Path | None:
        """The file it writes; None when it is unknown, protected, or would be named like an option."""
        path = redirect.target.text
        if not path or self._rules.names_option(path, folder):
            return None
        real = self._rules.resolve(path, folder)
        return None if real is None or self._rules.protected(real, written=True) is not None else real

    def _protected_in(self, at: int) -> str | None:
        """A protected name among the words of a part or the files it writes."""
        if at not in self._protected:
            self._protected[at] = self._find_protected(self._parts[at])
        return self._protected[at]

    def _find_protected(self, part: Part) -> str | None:
        words = part.command.words[1:] if part.command is not None else ()
        texts = [word.text or "" for word in (*words, *(each.target for each in part.redirects if each.writes))]
        texts += [text.partition("=")[2] for text in texts if "=" in text]
        paths = [folder / text for text in texts if text for folder in part.folders]
        return next(filter(None, map(self._rules.protected, paths)), None)

    def _downloads(self) -> Sequence[str]:
        """The danger of running what is downloaded."""
        programs = [(part.command.program, part.is_fed) for part in self._parts if part.command is not None]
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
                    inside = [file for file in files if file is not None and self._rules.holds(file)]
                    if len(inside) < len(files):
                        return ()
                    offered = [self._rules.edit_rule(file) for file in inside]
                    if None in offered:
                        return ()
                    rules |= {rule: None for rule in offered if rule is not None}
            if part.command is None or (self._only_reads[at] and not self._in_background):
                continue
            rule = rule_to_keep(self._kept_use(part), part.exact_words)
            if rule is None or self._protected_in(at) is not None or (part.is_fed and _is_exact(rule)):
                return ()
            rules[rule] = None
        return tuple(rules)


def _is_below_repository(folder: Path) -> bool:
    """Whether the folder is inside a larger repository, of which git also shows the rest."""
    return not os.path.lexists(folder / ".git") and any(os.path.lexists(each / ".git") for each in folder.parents)


def _is_exact(rule: Rule) -> bool:
    """Whether a rule is about one line."""
    return prefix_of(rule) is None and kept_words(rule) is None
