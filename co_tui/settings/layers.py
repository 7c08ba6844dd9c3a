"""Layered settings: every value knows where it came from.

Strongest first: command line, environment (co-tui's variables, then the policy's), the resumed session's own choices,
the project's `.co-tui.toml`, the user's `config.toml`, the policy, the defaults. The process environment is passed
in by `cli`.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from co_tui.inert import one_line, shell_text
from co_tui.paths import (
    DEBUG_VARIABLE,
    HOME_VARIABLE,
    PROJECT_FILE,
    Paths,
    find_own_upwards,
    find_upwards,
    is_inside,
    path_text,
)
from co_tui.record import Record
from co_tui.settings.all_settings import USERS_OWN, Settings, check, rules, unknown_key
from co_tui.settings.consistency import (
    SUSPENDED,
    UNREADABLE,
    combined,
    contradictions,
    readable_rules,
    rule_warnings,
    with_source,
)
from co_tui.settings.files import read_table
from co_tui.settings.hook_entries import supported_hooks
from co_tui.settings.markdown.agent_files import AgentFiles, project_folder
from co_tui.settings.markdown.command_files import CommandFiles
from co_tui.settings.mcp_servers import McpServer
from co_tui.settings.policies.policy_files import (
    PolicyFile,
    UnknownPolicy,
    is_policy_path,
    may_set,
    read_policy,
    unknown_policy,
)
from co_tui.settings.rules import ENVIRONMENT_PREFIX, SANDBOXES, SettingsError, quoted
from co_tui.settings.trust_requests import (
    ProjectFiles,
    allowed_before_trust,
    own_agents,
    own_commands,
    own_instructions,
    read_project_files,
    trust_request,
    unused_below,
)
from co_tui.trust import Trust, TrustRequest

if TYPE_CHECKING:
    from co_tui.settings.policies.policy_code import PolicyCode

COMMAND_LINE: Final = "the command line"
ENVIRONMENT: Final = "the environment"
RESUMED: Final = "the resumed session"
ABOVE_RESUMED: Final = (COMMAND_LINE, ENVIRONMENT)
"""The layers that override a resumed session's choices."""
SOURCE_SEPARATOR: Final = " and "
"""Joins the sources of a value that several layers contribute to."""
MOST_WARNINGS: Final = 5
"""For one file, which may have thousands of unknown keys."""
SPENDING: Final = ("max_session_cost", "max_daily_cost")
"""Limits that a project may only lower."""
LEFT_OUT: Final = "Ignored."
"""Ends the sentence about a bad value in a project's file."""


class Origin(NamedTuple):
    """A value and the layer that set it."""

    value: object
    source: str


class Loaded(Record):
    """Settings with the origin of each, and the problems found while loading."""

    settings: Settings
    origins: Mapping[str, Origin]
    problems: tuple[str, ...]
    """About unusable values, which fall back to the next layer."""
    warnings: tuple[str, ...]
    """About ignored values: unknown keys, settings that need trust, and problems in the project's file."""
    folder_problems: tuple[str, ...] = ()
    """The warnings about the project's file; they never prevent startup."""
    unknown: tuple[str, ...] = ()
    """The warnings about unknown keys, and about rules without effect."""
    withheld: TrustRequest | None = None
    """What the project requests but does not get, because its folder is not trusted."""
    agents: AgentFiles = AgentFiles()
    """Agents to delegate to: the user's, and the project's once it is trusted."""
    commands: CommandFiles = CommandFiles()
    """Slash commands from files: the user's, and the project's once it is trusted."""

    @property
    def overriding_model(self) -> str:
        """The model from command line or environment, which overrides a resumed session's; empty without one."""
        return self.settings.model if self.origins["model"].source in ABOVE_RESUMED else ""


def load(
    *,
    paths: Paths,
    cwd: Path,
    environ: Mapping[str, str],
    command_line: Mapping[str, object] | None = None,
    resumed: Mapping[str, str] | None = None,
) -> Loaded:
    """Read all layers and merge them; `resumed` has the choices of a resumed session."""
    given = {key: value for key, value in (command_line or {}).items() if value is not None}
    own = {key: value for key, value in (resumed or {}).items() if value}
    faults: dict[str, str] = {}
    merge = _merged(paths, cwd, environ, given, own, faults)
    while found := merge.folder_faults():
        # Merge again without them, so that weaker layers apply.
        faults |= found
        merge = _merged(paths, cwd, environ, given, own, faults)
    settings = merge.settings
    agents = merge.agents.before(own_agents(paths, settings))
    commands = merge.commands.before(own_commands(paths, settings))
    unknown = (*merge.unknown, *rule_warnings(settings.permissions))
    instructions = own_instructions(paths, settings)
    own_problems = instructions.problems if instructions is not None else ()
    folder_problems = _limited([*merge.folder_problems, *dict.fromkeys(faults.values()), *own_problems])
    return Loaded(
        settings=settings,
        origins=merge.origins,
        problems=(*merge.problems, *contradictions(settings)),
        warnings=(*unknown, *merge.warnings, *folder_problems, *agents.problems, *commands.problems),
        unknown=unknown,
        folder_problems=folder_problems,
        withheld=merge.withheld,
        agents=agents,
        commands=commands,
    )


def load_resumed(
    policy: str,
    otherwise: Loaded,
    *,
    paths: Paths,
    cwd: Path,
    environ: Mapping[str, str],
    command_line: Mapping[str, object],
) -> tuple[Loaded, str]:
    """The settings under the policy of a stored session. If that cannot be used, `otherwise`, and a sentence that says
    why: its log may come from elsewhere, so it never names a file to run."""
    resumed = {"policy": policy}
    loaded = load(paths=paths, cwd=cwd, environ=environ, command_line=command_line, resumed=resumed)
    if not loaded.problems:
        return loaded, ""
    return otherwise, f"{loaded.problems[0]} Using {otherwise.settings.policy}."


def _merged(
    paths: Paths,
    cwd: Path,
    environ: Mapping[str, str],
    given: Mapping[str, object],
    resumed: Mapping[str, object],
    faults: Collection[str],
) -> "_Merge":
    merge = _Merge()
    merge.layer(COMMAND_LINE, given)
    merge.layer(ENVIRONMENT, _from_environment(environ), name=lambda key: ENVIRONMENT_PREFIX + key.upper())
    merge.layer(RESUMED, resumed)
    merge.project(cwd, Trust(paths.trust_file), without=faults)
    if paths.config_file.exists():
        merge.layer(str(paths.config_file), merge.table(paths.config_file, merge.problems))
    merge.policy(paths, cwd, environ)
    merge.narrow()
    return merge


def _limited(problems: Sequence[str]) -> tuple[str, ...]:
    """The first problems, and how many more there are."""
    more = len(problems) - MOST_WARNINGS
    return (*problems[:MOST_WARNINGS], *([f"{more:,} more invalid values."] if more > 0 else []))


class _Merge:
    """Collects values from the strongest layer to the weakest."""

    def __init__(self) -> None:
        self.found: dict[str, Origin] = {}
        self.problems: list[str] = []
        self.unknown: list[str] = []
        self.warnings: list[str] = []
        self.folder_problems: list[str] = []
        self.withheld: TrustRequest | None = None
        self.agents = AgentFiles()
        self.commands = CommandFiles()
        self._folder = Path()
        """The project's."""
        self._folder_file = ""
        self._folder_files: set[str] = set()
        """With those for other programs."""
        self._bad_policy = ""
        self._policy_code: PolicyCode | None = None
        self._narrowing: dict[str, Origin] = {}
        """Values of the project's file that may only restrict weaker layers."""

    @property
    def origins(self) -> dict[str, Origin]:
        defaults = Settings()
        return {name: self.found.get(name, Origin(getattr(defaults, name), "default")) for name in rules()}

    @property
    def settings(self) -> Settings:
        values: dict[str, Any] = {key: origin.value for key, origin in self.origins.items()}
        if values["env"]:
            servers = values["mcp_servers"].items()
            values["mcp_servers"] = {name: each.but(variables=values["env"]) for name, each in servers}
        return Settings(**values, policy_code=self._policy_code)

    def folder_faults(self) -> dict[str, str]:
        """Values of the project's file that would prevent startup, each with a sentence: an unknown policy, and
        contradictions with other values."""
        if not self._folder_file:
            return {}
        if self._bad_policy:
            return {"policy": f"{self._bad_policy} {LEFT_OUT}"}
        own = [key for key, origin in self.origins.items() if origin.source == self._folder_file]
        faults: dict[str, str] = {}
        for sentence in contradictions(self.settings):
            named = [key for key in own if key in sentence.split()] or [key for key in own if key == "policy"]
            faults |= dict.fromkeys(named, f"{self._folder_file}: {sentence} {LEFT_OUT}")
        return faults

    def layer(self, source: str, values: Mapping[str, object], *, name: Callable[[str], str] = lambda key: key) -> None:
        unknown = [key for key in values if key not in rules()]
        self.unknown += [f"{source}: {unknown_key(key, name)}" for key in unknown[:MOST_WARNINGS]]
        if len(unknown) > MOST_WARNINGS:
            self.unknown.append(f"{source}: {len(unknown) - MOST_WARNINGS:,} more unknown settings.")
        for key in rules():
            if key in values:
                value = self._supported(values[key], source) if key == "hooks" else values[key]
                try:
                    self._add(key, check(key, value, named=name(key), source=source), source)
                except SettingsError as error:
                    self._refuse(key, value, error, source)

    def _supported(self, hooks: object, source: str) -> object:
        """The hooks without those that only other programs know, which are named."""
        if not isinstance(hooks, Mapping):
            return hooks
        supported = supported_hooks(hooks)
        self.unknown += [f"{source}: hooks.{each}. {LEFT_OUT}" for each in supported.unused[:MOST_WARNINGS]]
        return supported.table

    def _add(self, key: str, value: object, source: str) -> None:
        if key == "mcp_servers" and isinstance(value, Mapping) and source in self._folder_files:
            value = {name: each.but(is_project=True) for name, each in value.items() if isinstance(each, McpServer)}
        if key == "add_dirs" and isinstance(value, tuple) and source in self._folder_files:
            value = self._further_folders(value, source)
        self.found[key] = _combined(key, self.found.get(key), Origin(with_source(key, value, source), source))

    def _further_folders(self, named: Sequence[str], source: str) -> tuple[str, ...]:
        """Those of a project's file: they begin at the project's folder, and no link in it may lead out, since trust is
        about what is written."""
        found: list[str] = []
        for each in named:
            with suppress(RuntimeError):  # of a user who does not exist
                each = os.path.normpath(Path(self._folder, Path(each).expanduser()))
            if Path(each).is_relative_to(self._folder) and not is_inside(each, Path(os.path.realpath(self._folder))):
                self.folder_problems.append(f"{source}: {one_line(each, 200)} is a link out of the project. {LEFT_OUT}")
            else:
                found.append(each)
        return tuple(found)

    def _refuse(self, key: str, value: object, error: SettingsError, source: str) -> None:
        is_folder = source in self._folder_files
        problems = self.folder_problems if is_folder else self.problems
        if key == "permissions":
            self._add(key, readable_rules(value), source)
            problems.insert(0, f"{error} {SUSPENDED}")  # the last of many are not shown
        else:
            problems.append(f"{error} {LEFT_OUT}" if is_folder else str(error))

    def project(self, cwd: Path, trust: Trust, *, without: Collection[str]) -> None:
        """Add the layer of the project's file, without some of its values."""
        file = find_own_upwards(PROJECT_FILE, cwd)
        if (nearest := find_upwards(PROJECT_FILE, cwd)) != file:
            self.folder_problems.append(f"{nearest} belongs to another user. {LEFT_OUT}")
        self._folder = project_folder(cwd)
        found = read_project_files(self._folder)
        self.folder_problems += unused_below(cwd, found.folder)
        if file is not None:
            self._folder_file = str(file)
            self._folder_files.add(str(file))
        table = self.table(file, self.folder_problems) if file is not None else {}
        for key in [key for key in USERS_OWN if table.pop(key, None) is not None]:
            self.folder_problems.append(f"{file}: {key} can only be set in your own settings. {LEFT_OUT}")
        request = trust_request(table, found)
        is_trusted = not request.requested or trust.has(request)
        if is_trusted:
            self.agents, self.commands = found.agents, found.commands
        else:
            from co_tui.settings.trust_texts import withheld_warnings  # most folders need no trust

            self.withheld = request
            self.warnings += withheld_warnings(request)
            table = allowed_before_trust(table)
        if file is not None:
            self.layer(str(file), {key: value for key, value in table.items() if key not in without})
        self._program_files(found, is_trusted=is_trusted)
        for key in ("tools", "command_sandbox", *SPENDING):
            if (narrowing := self.found.get(key)) is not None and narrowing.source == str(file):
                self._narrowing[key] = self.found.pop(key)

    def _program_files(self, found: ProjectFiles, *, is_trusted: bool) -> None:
        """Add a layer for each of the project's settings files for other programs. A broken one may deny something."""
        if found.claude is None:
            return
        for name, sentence in found.claude.broken.items():
            may_deny = name != ".mcp.json"
            self.folder_problems.append(f"{sentence} {SUSPENDED if may_deny else LEFT_OUT}")
            if may_deny:
                self._add("permissions", (UNREADABLE,), path_text(found.folder / name))
        self.folder_problems += found.claude.instructions.problems
        for each in found.claude.files:
            source = path_text(found.folder / each.name)
            self._folder_files.add(source)
            self.layer(source, each.settings if is_trusted else allowed_before_trust(each.settings))

    def narrow(self) -> None:
        """Apply the project's file to tools, sandbox and limits on spending: it may only remove tools, make the
        sandbox stricter, and lower limits."""
        for key, narrowing in self._narrowing.items():
            current = self.found.get(key, Origin(getattr(Settings(), key), "default"))
            narrower = _narrower_tools if key == "tools" else _lower if key in SPENDING else _stricter
            self.found[key] = narrower(current, narrowing)
            if self.found[key].value != narrowing.value and key != "tools":
                self.warnings.append(
                    f"{narrowing.source}: {key} = {quoted(narrowing.value)} is ignored; yours is stricter."
                )

    def policy(self, paths: Paths, cwd: Path, environ: Mapping[str, str]) -> None:
        """Add the layers of the policy and of its variables. One that cannot be used is reported, and the default
        takes its place."""
        chosen = self.found.get("policy", Origin(Settings().policy, "default"))
        name, source = str(chosen.value), chosen.source
        try:
            policy = read_policy(name, paths, folder=cwd if source == COMMAND_LINE else None)
            if policy.code is not None:
                policy.code.function()
        except SettingsError as error:
            self._refuse_policy(error, chosen, paths)
            policy = read_policy(Settings().policy, paths)
        else:
            if "policy" in self.found:
                self.found["policy"] = Origin(policy.name, source)
        self._add_variables(policy.variables, environ)
        self._add_policy(policy)

    def _add_policy(self, policy: PolicyFile) -> None:
        source = f"policy {policy.name}"
        self.warnings += [f"{source}: {key} is not for a policy to set. Ignored." for key in _not_for_policies(policy)]
        numbers = {key: value for key, value in policy.settings.items() if key not in rules() or may_set(key)}
        if policy.code is not None:
            self._policy_code = policy.code
            numbers = {"compaction": "python"} | numbers
        self.layer(source, numbers)

    def _add_variables(self, variables: Mapping[str, str], environ: Mapping[str, str]) -> None:
        """Add the values of the policy's own variables, below the command line and co-tui's variables only."""
        for key, variable in variables.items():
            if not (value := environ.get(variable)):
                continue
            weaker = self.found.get(key)
            if weaker is not None and weaker.source in ABOVE_RESUMED:
                continue
            self.found.pop(key, None)
            self.layer(f"{ENVIRONMENT} ({variable})", {key: shell_text(value)}, name=variables.__getitem__)
            if weaker is not None:
                self.found.setdefault(key, weaker)

    def _refuse_policy(self, error: SettingsError, chosen: Origin, paths: Paths) -> None:
        name, source = str(chosen.value), chosen.source
        is_unknown = isinstance(error, UnknownPolicy)
        problem = unknown_policy(chosen.value, paths, source) if is_unknown else str(error)
        if is_unknown and source == RESUMED:
            problem = _gone(name)
        if source == self._folder_file:
            self._bad_policy = problem
        else:
            self.problems.append(problem)
        self.found.pop("policy", None)

    def table(self, file: Path, problems: list[str]) -> dict[str, Any]:
        """The table in a file. One that cannot be read may deny something."""
        try:
            return read_table(file)
        except SettingsError as error:
            problems.append(f"{error} {SUSPENDED}")
            self._add("permissions", (UNREADABLE,), str(file))
            return {}


def _not_for_policies(policy: PolicyFile) -> list[str]:
    return [key for key in policy.settings if key in rules() and not may_set(key)][:MOST_WARNINGS]


def _gone(name: str) -> str:
    """The sentence about a resumed session's policy that cannot be used."""
    if is_policy_path(name):
        return f"The policy of this session is a file: name it again with --policy {one_line(name, 300)} to use it."
    return f"The policy of this session, {quoted(name)}, no longer exists."


def _narrower_tools(current: Origin, narrowing: Origin) -> Origin:
    assert isinstance(narrowing.value, tuple) and isinstance(current.value, tuple)
    return Origin(tuple(each for each in current.value if each in narrowing.value), narrowing.source)


def _lower(current: Origin, narrowing: Origin) -> Origin:
    """The lower limit on spending; 0 is none."""
    return min(narrowing, current, key=lambda origin: float(str(origin.value)) or float("inf"))


def _stricter(current: Origin, narrowing: Origin) -> Origin:
    return max(current, narrowing, key=lambda origin: SANDBOXES.index(str(origin.value)))


def _combined(key: str, stronger: Origin | None, weaker: Origin) -> Origin:
    """The stronger value, or both where those of several layers are combined."""
    if stronger is None:
        return weaker
    both = combined(key, stronger.value, weaker.value)
    return stronger if both is None else Origin(both, f"{stronger.source}{SOURCE_SEPARATOR}{weaker.source}")


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    return {
        variable.removeprefix(ENVIRONMENT_PREFIX).lower(): shell_text(value)
        for variable, value in environ.items()
        if variable.startswith(ENVIRONMENT_PREFIX) and variable not in (HOME_VARIABLE, DEBUG_VARIABLE)
    }
