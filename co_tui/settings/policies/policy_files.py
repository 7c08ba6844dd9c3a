"""Find, list and read policies: those that come with co-tui, and the user's own, as TOML or Python (G11)."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from co_tui.inert import one_line
from co_tui.paths import Paths, path_text
from co_tui.settings.all_settings import about, rules
from co_tui.settings.files import read_table, read_text
from co_tui.settings.rules import SettingsError, quoted

if TYPE_CHECKING:
    from co_tui.settings.policies.policy_code import PolicyCode

BUILT_IN: Final = Path(__file__).parents[2] / "context" / "policies"
PEERS: Final = BUILT_IN / "peers"
"""The ways of other programs."""
TOML: Final = ".toml"
PYTHON: Final = ".py"
SUFFIXES: Final = (TOML, PYTHON)
DESCRIPTION_CHARS: Final = 120
_ALSO_SET: Final = frozenset(("agent_max_steps", "retention_days", "daily_memory", "memory_search"))
"""Settings outside of the context that a policy may set; nothing that runs, pays or sends anything."""


class UnknownPolicy(SettingsError):
    """There is no policy of that name."""


class PolicyFile(NamedTuple):
    """A policy as its file says."""

    name: str
    """As chosen: a name, or the path that was named."""
    settings: Mapping[str, object]
    description: str = ""
    code: "PolicyCode | None" = None
    variables: Mapping[str, str] = {}
    """Settings, and the environment variables of the program it follows that set them. Built-in policies only: a
    variable may hold a secret."""


class PolicyGroup(NamedTuple):
    """Policies that are listed together."""

    title: str
    names: tuple[str, ...]


def policy_groups(paths: Paths) -> tuple[PolicyGroup, ...]:
    """The policies to choose from: co-tui's and the user's own, then those of other programs."""
    peers = _names_in(PEERS)
    own = sorted((_names_in(BUILT_IN) | _names_in(paths.policies)) - peers)
    return PolicyGroup("", tuple(own)), PolicyGroup("As other programs do", tuple(sorted(peers)))


def built_in_names() -> frozenset[str]:
    """The policies that come with co-tui."""
    return frozenset(_names_in(BUILT_IN) | _names_in(PEERS))


def policy_names(paths: Paths) -> list[str]:
    """The available policies, in the order they are shown."""
    return [name for group in policy_groups(paths) for name in group.names]


def _names_in(folder: Path) -> set[str]:
    try:
        return {file.stem for file in folder.iterdir() if file.suffix in SUFFIXES and not file.name.startswith(".")}
    except OSError:
        return set()


def policy_description(name: str, paths: Paths) -> str:
    """The description in a policy's file, on one line; empty without one. Nothing is run."""
    try:
        return read_policy(name, paths, folder=Path.cwd() if is_policy_path(name) else None).description
    except SettingsError:
        return ""


def is_policy_path(name: str) -> bool:
    """Whether this names a file rather than a policy in one of the folders."""
    return "/" in name or "\\" in name or name.endswith(SUFFIXES)


def policy_label(name: str) -> str:
    """A policy's name for people; of a path, the file's."""
    return path_text(Path(Path(name).name)) if is_policy_path(name) else name


def read_policy(name: str, paths: Paths, *, folder: Path | None = None) -> PolicyFile:
    """The policy of that name. With `folder`, the user named it on the command line there, and it may be a path.

    Python is not run, only read. Raises `SettingsError` that names the file and the problem, `UnknownPolicy` if there
    is none.
    """
    if is_policy_path(name):
        file = _named_file(name, paths, folder)
        name = str(file)
    else:
        file = _file_of(name, paths)
    if file.suffix == PYTHON:
        from co_tui.settings.policies.policy_code import PolicyCode, read_code, refuse_others

        if BUILT_IN not in file.parents:
            refuse_others(file)
        text = read_text(file)
        read = read_code(text, file)
        code = PolicyCode(str(file), text, read.compacts_at)
        return PolicyFile(name, _table_of(read.settings, file), one_line(read.description, DESCRIPTION_CHARS), code)
    table = read_table(file)
    description = table.get("description", "")
    text = one_line(description, DESCRIPTION_CHARS) if isinstance(description, str) else ""
    variables = _table_of(table.get("variables", {}), file) if BUILT_IN in file.parents else {}
    named = {key: str(variable) for key, variable in variables.items()}
    return PolicyFile(name, _table_of(table.get("settings", {}), file), text, variables=named)


def may_set(key: str) -> bool:
    """Whether a policy may set this: the numbers of the context, and a few that belong to a program's way."""
    return key in _ALSO_SET or (key in rules() and key != "policy" and about(key).group == "context")


def unknown_policy(name: object, paths: Paths, source: str = "") -> str:
    """The sentence about a name that is not a policy's."""
    where = f" ({source})" if source else ""
    hint = " Give a path with --policy on the command line." if is_policy_path(str(name)) else ""
    return f"policy = {quoted(name)}{where} is not allowed. Use one of {', '.join(policy_names(paths))}.{hint}"


def _named_file(name: str, paths: Paths, folder: Path | None) -> Path:
    if folder is None or "\0" in name:
        raise UnknownPolicy(unknown_policy(name, paths))
    try:
        file = (folder / Path(name).expanduser()).absolute()
    except RuntimeError:  # `~name` of an unknown user
        file = (folder / name).absolute()
    if file.suffix not in SUFFIXES:
        raise SettingsError(f"{path_text(file)} is not a policy: its name must end in .toml or .py.")
    return file


def _file_of(name: str, paths: Paths) -> Path:
    """A policy's file; the user's own comes before one of the same name that is built in."""
    if name and "\0" not in name and not name.startswith("."):
        candidates = (folder / f"{name}{suffix}" for folder in (paths.policies, BUILT_IN, PEERS) for suffix in SUFFIXES)
        try:
            found = next((file for file in candidates if file.exists()), None)
        except OSError:  # a name too long for a file
            found = None
        if found is not None:
            return found
    raise UnknownPolicy(unknown_policy(name, paths))


def _table_of(value: object, file: Path) -> Mapping[str, object]:
    """The `settings` of a policy. Raises `SettingsError`."""
    if not isinstance(value, Mapping):
        raise SettingsError(f"{file} is not a policy: `settings` must be a table.")
    return value
