"""The verdict on a call, and the rules it is based on."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from co_tui.agent.permissions.obeyed import holds_obeyed, obeyed_name
from co_tui.settings.permission_rules import EDIT, LONGEST_RULE_CHARS, READ, Effect, Rule, RuleInForce
from co_tui.settings.rules import ASK, AUTO, EDITS

PLAN_REFUSAL: Final = (
    "Plan mode: nothing is changed and only commands that read are run. Look around, then call `present_plan`."
)
MCP_IN_PLAN: Final = "An MCP tool is run only if a rule allows it and its server marks it as read-only."
PRIVATE_ADDRESS: Final = "on this machine or a private network"
LIKE_AN_OPTION: Final = "Its name begins with -, so commands can take it for an option."
Action: TypeAlias = Literal["run", "ask", "refuse"]


class Verdict(NamedTuple):
    """What happens to a call, and what the question about it shows."""

    action: Action
    reason: str = ""
    """A sentence on why it is refused, or needs approval despite other rules."""
    new: tuple[str, ...] = ()
    """The parts that no rule allows yet."""
    rules: tuple[Rule, ...] = ()
    """Rules that would allow these parts permanently; empty when it can only be allowed once."""
    danger: str = ""
    """Why it is destructive or affects others, in a few words."""
    only_reads: bool = False
    """Whether it is a command that only reads, and so runs with git guarded."""
    by: str = ""
    """The rule that refused it."""
    outside_sandbox: bool = False
    """Whether it would run outside the sandbox of mode `auto`."""
    judged_line: str = ""
    """The command line to run in place of the given one: what only reads as it was judged, with nothing left to
    expand."""
    protected: bool = False
    """Whether it changes what makes programs run, so that only the user can allow it."""

    @property
    def is_plain_question(self) -> bool:
        """Whether it is asked about only because nothing allows it yet: no ask rule, danger or protected name."""
        special = self.reason or self.danger or self.outside_sandbox or self.protected
        return self.action == "ask" and not special

    @property
    def can_be_allowed(self) -> bool:
        """Whether a rule could allow it permanently."""
        return bool(self.rules) and self.is_plain_question


RUN: Final = Verdict("run")
VERDICT: ContextVar[Verdict] = ContextVar("the verdict under which a call runs", default=RUN)


@contextmanager
def reading_only() -> Iterator[None]:
    """While open, commands only read, with git guarded."""
    token = VERDICT.set(Verdict("run", only_reads=True))
    try:
        yield
    finally:
        VERDICT.reset(token)


def no_programs() -> Mapping[Path, str]:
    """For folders of which nothing is run unasked."""
    return {}


class Rules(NamedTuple):
    """The mode and rules that calls are judged by."""

    mode: str = ASK
    written: Sequence[RuleInForce] = ()
    folder: Path = Path()
    """Resolved."""
    home: Path = Path()
    """Resolved."""
    own: Sequence[Path] = ()
    """co-tui's own folders, resolved."""
    added: Sequence[Path] = ()
    """Further folders to work in, resolved."""
    programs: Callable[[], Mapping[Path, str]] = no_programs
    """What co-tui itself runs of these folders, each with its name for people."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """All folders to work in."""
        return (self.folder, *self.added)

    def root_of(self, path: Path) -> Path:
        """The folder that a resolved path is in; the first one for a path elsewhere."""
        return next((each for each in self.added if path.is_relative_to(each)), self.folder)

    def holds(self, path: Path) -> bool:
        """Whether a resolved path is in one of the folders."""
        return path.is_relative_to(self.root_of(path))

    def protected(self, path: Path, *, written: bool = False) -> str | None:
        """The protected name of a path: one that can make programs run, or change co-tui itself. `written`: the path is
        surely written, not only named by a command."""
        if self.own:
            real = self.resolve(str(path))
            if real is not None and any(real.is_relative_to(each) for each in self.own):
                return "co-tui's own folder"
        if (name := self._program(path, written=written)) is not None:
            return name
        if not written and holds_obeyed(path):
            return path.name
        try:
            return obeyed_name(path, self.folder, self.home, written=written, others=self.added)
        except (OSError, ValueError, RuntimeError):  # not a path, but a much longer text
            return None

    def _program(self, path: Path, *, written: bool) -> str | None:
        """The name of what co-tui itself runs that `path` is or is inside of; unless it is surely written, also of what
        is inside of `path`: a command may replace that."""
        programs = self.programs()
        real = self.resolve(str(path)) if programs else None
        for each in (path, real) if real is not None else ():
            for program, name in programs.items():
                inside = not written and program.is_relative_to(each) and each not in self.folders
                if each.is_relative_to(program) or inside:
                    return name
        return None

    def names_option(self, path: str, folder: Path | None = None) -> bool:
        """Whether writing a path creates a name that begins with `-`."""
        real = self.resolve(path, folder)
        named = Path(os.path.normpath(self.start(path, folder)))
        above = (each for start in (named, real) if start is not None for each in (start, *start.parents))
        return any(each.name.startswith("-") and not os.path.lexists(each) for each in above)

    @property
    def edits_freely(self) -> bool:
        return self.mode in (EDITS, AUTO)

    def of(self, effect: Effect, tool: str) -> list[RuleInForce]:
        return [each for each in self.written if each.effect == effect and each.rule.tool == tool]

    def about(self, effect: Effect, tool: str, path: Path) -> RuleInForce | None:
        """The first rule that covers a resolved path."""
        return next((each for each in self.of(effect, tool) if self.covers(each, path)), None)

    def covers(self, rule: RuleInForce, path: Path) -> bool:
        """Whether a rule covers a resolved path. In an added folder, a path that a rule allows is one of the first."""
        if rule.covers(path, self.folder, self.home):
            return True
        is_about_first = rule.effect == "allow" and "/" in rule.rule.pattern.rstrip("/")
        return not is_about_first and rule.covers(path, self.root_of(path), self.home)

    def limits(self, effect: Effect, tool: str, path: str, folder: Path | None = None) -> RuleInForce | None:
        """The first deny or ask rule that covers a path, as written or with all links resolved."""
        if not self.of(effect, tool) or (real := self.resolve(path, folder)) is None:
            return None
        written = Path(os.path.normpath(self.start(path, folder)))
        return self.about(effect, tool, real) or self.about(effect, tool, written)

    def reads_outside(self, path: Path) -> bool:
        """Whether a rule lets a resolved path outside of the folder be read; never one of co-tui's own files."""
        if any(path.is_relative_to(each) for each in self.own) or self.about("allow", READ, path) is None:
            return False
        return self.about("deny", READ, path) is None and self.about("ask", READ, path) is None

    def resolve(self, path: str, folder: Path | None = None) -> Path | None:
        """The path with all links resolved; None when that fails."""
        try:
            return self.start(path, folder).resolve()
        except (OSError, ValueError, RuntimeError):
            return None

    def start(self, path: str, folder: Path | None = None) -> Path:
        """The path as it is meant, nothing resolved."""
        return self.home / path[2:] if path.startswith("~/") else (folder or self.folder) / path

    def edit_rule(self, path: Path) -> Rule | None:
        """A rule for edits in the folder of a resolved path inside ours; None when it cannot be expressed."""
        root = self.root_of(path)
        above = str(path.relative_to(root).parent)
        start = "" if root == self.folder else f"/{root}/"
        rule = Rule(EDIT, f"{start or './'}*" if above == "." else f"{start}{above}/**")
        plain = not re.search(r"[*?~\[\]()]|^/|^\s|\s$|\n", above) and not re.search(r"[*?~\[\]()\n]|\s$", start)
        return rule if plain and len(above) < LONGEST_RULE_CHARS // 2 else None


REFUSED_IN_PLAN: Final = Verdict("refuse", PLAN_REFUSAL, by="plan mode")


def refused_by(found: RuleInForce) -> Verdict:
    return Verdict("refuse", f"Denied by rule {found.rule} in {found.source}.", by=str(found.rule))


def asked_by(found: RuleInForce, new: tuple[str, ...]) -> Verdict:
    return Verdict("ask", f"Asked because of rule {found.rule} in {found.source}.", new=new)
