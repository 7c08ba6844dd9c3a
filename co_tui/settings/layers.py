"""Layered settings: every value knows where it came from.

Strongest first: command line, environment, what a resumed session chose, the project's `.co-tui.toml`, the user's
`config.toml`, the policy, the defaults. Nothing here reads the process environment by itself: `cli` hands it in.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.inert import one_line, shell_text
from co_tui.paths import HOME_VARIABLE, PROJECT_FILE, Paths, find_upwards
from co_tui.record import Record
from co_tui.settings.agent_files import AgentFiles, project_folder, read_agents, read_project_agents
from co_tui.settings.all_settings import Settings, SettingsError, check, needs_trust, rules, unknown_key
from co_tui.settings.consistency import contradictions
from co_tui.settings.files import policy_file, policy_names, read_table
from co_tui.settings.rules import SANDBOXES, SHOWN_CHARS, shown
from co_tui.trust import AGENTS, Trust, Wish

ENVIRONMENT_PREFIX: Final = "CO_TUI_"
COMMAND_LINE: Final = "the command line"
ENVIRONMENT: Final = "the environment"
RESUMED: Final = "the resumed session"
DEBUG_VARIABLE: Final = "CO_TUI_DEBUG"
"""Not a setting: it makes failures of co-tui itself show where they happened."""
BOTH: Final = " and "
"""Between the sources of a value that has parts from several."""
AGENTS_CHARS: Final = 200
MOST_WARNINGS: Final = 5
"""Of one file: one with thousands of odd keys is told of in a few lines."""
LEFT_OUT: Final = "It is left out."
"""What becomes of a value of the folder that cannot be used."""


class Origin(NamedTuple):
    """A value and the layer that set it."""

    value: object
    source: str


class Loaded(Record):
    """Settings with the origin of each, and what was wrong on the way."""

    settings: Settings
    origins: Mapping[str, Origin]
    problems: tuple[str, ...]
    """Values that cannot be used; the next layer's value stands in for them."""
    warnings: tuple[str, ...]
    """What is ignored: keys nobody knows, what a folder may not set, and what is wrong in its file."""
    folder_problems: tuple[str, ...] = ()
    """The last of these: whatever came with a folder keeps nothing from starting."""
    unknown: tuple[str, ...] = ()
    """Of the warnings, those about keys nobody knows."""
    withheld: Wish | None = None
    """What the project wants and does not get, because its folder is not trusted."""
    agents: AgentFiles = AgentFiles()
    """Whom work can be given to: the agents of the user's own files, and those of the project once it is trusted."""

    @property
    def imposed_model(self) -> str:
        """The model that replaces a resumed session's own: that of command line or environment; empty without one."""
        return self.settings.model if self.origins["model"].source in (COMMAND_LINE, ENVIRONMENT) else ""


def load(
    *,
    paths: Paths,
    cwd: Path,
    environ: Mapping[str, str],
    command_line: Mapping[str, object] | None = None,
    resumed: Mapping[str, str] | None = None,
) -> Loaded:
    """Read every layer and merge them; `resumed` is what a resumed session chose."""
    given = {key: value for key, value in (command_line or {}).items() if value is not None}
    own = {key: value for key, value in (resumed or {}).items() if value}
    faults: dict[str, str] = {}
    merge = _merged(paths, cwd, environ, given, own, faults)
    while found := merge.folder_faults():
        # Without them: what they stood before counts again.
        faults |= found
        merge = _merged(paths, cwd, environ, given, own, faults)
    agents = merge.agents.before(read_agents(paths.agents))
    folder_problems = _few([*merge.folder_problems, *dict.fromkeys(faults.values())])
    return Loaded(
        settings=merge.settings,
        origins=merge.origins,
        problems=(*merge.problems, *contradictions(merge.settings)),
        warnings=(*merge.unknown, *merge.warnings, *folder_problems, *agents.problems),
        unknown=tuple(merge.unknown),
        folder_problems=folder_problems,
        withheld=merge.withheld,
        agents=agents,
    )


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
    merge.policy(paths)
    merge.narrow()
    return merge


def _few(problems: Sequence[str]) -> tuple[str, ...]:
    """Each in a line, and of many how many more there are."""
    more = len(problems) - MOST_WARNINGS
    return (*problems[:MOST_WARNINGS], *([f"{more:,} more of its values cannot be used."] if more > 0 else []))


def project_wish(folder: Path) -> Wish | None:
    """What the project around `folder` wants that needs trust; None when it has neither settings nor agents.

    Raises `SettingsError` for a file that cannot be read.
    """
    file = find_upwards(PROJECT_FILE, folder)
    wish = _wish(folder, read_table(file) if file is not None else {}, read_project_agents(project_folder(folder)))
    return wish if file is not None or wish.wanted else None


def agents_in_force(paths: Paths, cwd: Path) -> AgentFiles:
    """Whom work can be given to, as the files and the user's trust are now."""
    own, found = read_agents(paths.agents), read_project_agents(project_folder(cwd))
    if not found.agents:
        return found.before(own)
    try:
        file = find_upwards(PROJECT_FILE, cwd)
        wish = _wish(cwd, read_table(file) if file is not None else {}, found)
    except SettingsError:
        return own
    return found.before(own) if Trust(paths.trust_file).has(wish) else own


def _wish(cwd: Path, table: Mapping[str, object], agents: AgentFiles) -> Wish:
    wanted = {key: _after_trust(key, value) for key, value in sorted(table.items()) if needs_trust(key)}
    wanted = {key: value for key, value in wanted.items() if value is not None}
    if agents.agents:
        wanted[AGENTS] = [agent.asked_for for agent in agents.agents]
    return Wish(
        file=project_folder(cwd) / PROJECT_FILE,
        wanted=wanted,
        agents=tuple(f"{agent.name} on {agent.model}" if agent.model else agent.name for agent in agents.agents),
        agent_files=tuple(agent.file for agent in agents.agents),
    )


class _Merge:
    """Collects values from the strongest layer to the weakest."""

    def __init__(self) -> None:
        self.found: dict[str, Origin] = {}
        self.problems: list[str] = []
        self.unknown: list[str] = []
        self.warnings: list[str] = []
        self.folder_problems: list[str] = []
        self.withheld: Wish | None = None
        self.agents = AgentFiles()
        self._folder_file = ""
        self._bad_policy = ""
        self._narrowing: dict[str, Origin] = {}
        """What the project's file says where it may only take away."""

    @property
    def origins(self) -> dict[str, Origin]:
        defaults = Settings()
        return {name: self.found.get(name, Origin(getattr(defaults, name), "default")) for name in rules()}

    @property
    def settings(self) -> Settings:
        values: dict[str, Any] = {key: origin.value for key, origin in self.origins.items()}
        return Settings(**values)

    def folder_faults(self) -> dict[str, str]:
        """Values of the folder's file with which nothing could begin, each with a sentence: a policy that is not
        there, and what contradicts other values."""
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
        is_folder = source == self._folder_file
        unknown = [key for key in values if key not in rules()]
        self.unknown += [f"{source}: {unknown_key(key, name)}" for key in unknown[:MOST_WARNINGS]]
        if len(unknown) > MOST_WARNINGS:
            self.unknown.append(f"{source}: {len(unknown) - MOST_WARNINGS:,} more keys are no settings.")
        for key in rules():
            if key in values:
                try:
                    value = check(key, values[key], named=name(key), source=source)
                    self.found[key] = _combined(key, self.found.get(key), Origin(_from(key, value, source), source))
                except SettingsError as error:
                    (self.folder_problems if is_folder else self.problems).append(
                        f"{error} {LEFT_OUT}" if is_folder else str(error)
                    )

    def project(self, cwd: Path, trust: Trust, *, without: Collection[str]) -> None:
        """The layer of the folder itself, without some of its values."""
        file, agents = find_upwards(PROJECT_FILE, cwd), read_project_agents(project_folder(cwd))
        table = self.table(file, self.folder_problems) if file is not None else {}
        wish = _wish(cwd, table, agents)
        if wish.wanted and not trust.has(wish):
            self.withheld = wish
            self.warnings += told_withheld(wish)
            table = {key: left for key, value in table.items() if (left := _before_trust(key, value)) is not None}
        else:
            self.agents = agents
        if file is None:
            return
        self._folder_file = str(file)
        self.layer(str(file), {key: value for key, value in table.items() if key not in without})
        for key in ("tools", "command_sandbox"):
            if (wanted := self.found.get(key)) is not None and wanted.source == str(file):
                self._narrowing[key] = self.found.pop(key)

    def narrow(self) -> None:
        """A project's file may leave out tools that weaker layers have and ask for a stricter sandbox, and never give
        more than they do."""
        for key, wanted in self._narrowing.items():
            present = self.found.get(key, Origin(getattr(Settings(), key), "default"))
            self.found[key] = _narrower_tools(present, wanted) if key == "tools" else _stricter(present, wanted)
            if self.found[key].value != wanted.value and key != "tools":
                self.warnings.append(f"{wanted.source}: {key} = {shown(wanted.value)} is ignored: yours is stricter.")

    def policy(self, paths: Paths) -> None:
        name = self.found.get("policy", Origin(Settings().policy, "default"))
        file = policy_file(str(name.value), paths)
        if file is None:
            told = (
                f"policy = {shown(name.value)} ({name.source}) is not allowed: one of {', '.join(policy_names(paths))}."
            )
            if name.source == self._folder_file:
                self._bad_policy = told
            else:
                self.problems.append(told)
            self.found.pop("policy", None)
            file = policy_file(Settings().policy, paths)
        if file is not None:
            numbers = self.table(file, self.problems).get("settings", {})
            if isinstance(numbers, Mapping):
                self.layer(f"policy {file.stem}", numbers)
            else:
                self.problems.append(f"{file} is no policy: `settings` must be a table.")

    def table(self, file: Path, problems: list[str]) -> dict[str, Any]:
        try:
            return read_table(file)
        except SettingsError as error:
            problems.append(str(error))
            return {}


def _narrower_tools(present: Origin, wanted: Origin) -> Origin:
    assert isinstance(wanted.value, tuple) and isinstance(present.value, tuple)
    return Origin(tuple(each for each in present.value if each in wanted.value), wanted.source)


def _stricter(present: Origin, wanted: Origin) -> Origin:
    return max(present, wanted, key=lambda origin: SANDBOXES.index(str(origin.value)))


def _from(key: str, value: object, source: str) -> object:
    """A value that names its source; each permission rule does, since rules of several files count together."""
    if key != "permissions":
        return value
    assert isinstance(value, tuple)
    return tuple(each._replace(source=source) for each in value)


def _before_trust(key: str, value: object) -> object | None:
    """What a project's file may set before its folder is trusted: of permissions only what is stricter."""
    if not needs_trust(key):
        return value
    if key == "permissions" and isinstance(value, Mapping):
        return {effect: rules for effect, rules in value.items() if effect != "allow"} or None
    return None


def _after_trust(key: str, value: object) -> object | None:
    """What of a value waits for trust."""
    if key != "permissions" or not isinstance(value, Mapping):
        return value
    return {"allow": value["allow"]} if value.get("allow") else None


def _combined(key: str, stronger: Origin | None, weaker: Origin) -> Origin:
    """The strongest value counts; but MCP servers and permission rules of several files count together."""
    if stronger is None:
        return weaker
    source = f"{stronger.source}{BOTH}{weaker.source}"
    if key == "permissions" and isinstance(stronger.value, tuple) and isinstance(weaker.value, tuple):
        return Origin((*stronger.value, *weaker.value), source)
    if key == "mcp_servers" and isinstance(stronger.value, Mapping) and isinstance(weaker.value, Mapping):
        return Origin({**weaker.value, **stronger.value}, source)
    return stronger


def told_withheld(wish: Wish) -> list[str]:
    """The sentences about what a folder does not get."""
    told = []
    if wish.settings:
        told.append(
            f"{wish.file} wants to set {told_wish(wish)}: ignored until you trust this folder with `co-tui trust`."
        )
    if wish.agents:
        told.append(told_waiting(wish))
    return told


def told_waiting(wish: Wish) -> str:
    """The sentence about the agents of a folder that is not trusted."""
    waits = "wait" if len(wish.agents) > 1 else "waits"
    return f"{told_agents(wish)} {waits} until you trust this folder with `co-tui trust`."


def told_wish(wish: Wish) -> str:
    """The settings it wants."""
    return ", ".join(f"{key} = {wished(key, value)}" for key, value in wish.settings.items())


def wished(key: str, value: object) -> str:
    """A value that a folder's file wants, as it is quoted in a sentence; of servers the names alone: keys may stand
    anywhere else."""
    if key == "mcp_servers" and isinstance(value, Mapping):
        return one_line(", ".join(map(str, value)), SHOWN_CHARS)
    if key == "permissions" and isinstance(value, Mapping):
        rules = value.get("allow")
        return one_line(f"allow {', '.join(map(str, rules)) if isinstance(rules, list) else rules}", SHOWN_CHARS)
    return shown(value)


def told_agents(wish: Wish) -> str:
    """How many agents it defines, and which."""
    count = len(wish.agents)
    named = one_line(", ".join(wish.agents), AGENTS_CHARS)
    return f"{count} agent{'s' if count > 1 else ''} of {wish.folder} ({named})"


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    return {
        variable.removeprefix(ENVIRONMENT_PREFIX).lower(): shell_text(value)
        for variable, value in environ.items()
        if variable.startswith(ENVIRONMENT_PREFIX) and variable not in (HOME_VARIABLE, DEBUG_VARIABLE)
    }
