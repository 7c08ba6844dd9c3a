"""The files that the programs of a shell command change or read, by their names in the command."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from posixpath import join
from typing import Final, NamedTuple

from co_tui.context.journal.command_runs import is_same_path, program_and_rest
from co_tui.shell.programs import PYTHON, Simple, arguments, is_file_name

_PATCHED: Final = re.compile(
    r"^(?:(?:--- (?P<before>[^\t\n]++).*+\n)?\+\+\+ (?P<after>[^\t\n]+)"
    r"|\*\*\* (?P<how>Add|Update|Delete) File: (?P<named>.+)|\*\*\* Move to: (?P<target>.+))",
    re.MULTILINE,
)
_NO_FILE: Final = "/dev/null"
_FOR_TRIES: Final = ("/tmp/", "/var/tmp/", "/private/tmp/")
_OPENED: Final = re.compile(
    r"open\(\s*[rfbu]?[\"']([^\"'\n]+)[\"']\s*,\s*(?:mode\s*=\s*)?[\"'][rb]*[wax+]"
    r"|Path\(\s*[\"']([^\"'\n]+)[\"']\s*\)\s*\.write_"
)
_VARIABLE: Final = re.compile(r"^[ \t]*(\w+)\s*=\s*(?:Path\()?[rb]?[\"']([^\"'\n]+)[\"']", re.MULTILINE)
_OPENED_BY_VARIABLE: Final = re.compile(
    r"open\(\s*(\w+)\s*,\s*(?:mode\s*=\s*)?[\"'][rb]*[wax+]|\b(\w+)\.write_(?:text|bytes)\("
)
_RANGE: Final = re.compile(r"(\d+),(\d+)p")
_SED_INPLACE: Final = re.compile(r"-[a-zA-Z]*i.*|--in-place.*")
NOT_APPLIED: Final = frozenset(("--check", "--stat", "--numstat", "--summary", "--dry-run"))
_PATCHERS: Final = frozenset(("apply_patch", "applypatch"))
_NO_RESTORE: Final = frozenset(("--staged", "-b", "-B", "--orphan"))
_SWITCHED: Final = re.compile(
    r"^(?:Switched to|Already on|Note: (?:switching to|checking out)|HEAD is now at) ", re.MULTILINE
)


class Change(NamedTuple):
    """A file that a command changes."""

    path: str
    is_removed: bool = False
    is_restored: bool = False
    """Whether it is as it was before all edits."""
    is_whole: bool = False
    """Whether all of it is written, as when it is made."""
    source: str = ""
    """The file that it becomes a copy of."""
    is_unclear: bool = False
    """Whether it is not known what was changed, or if anything was."""


def changes_of(simple: Simple) -> list[Change]:
    """The files that a program changes if it succeeds."""
    found = [Change(path, is_whole=path not in simple.appended) for path in simple.written]
    program = simple.program
    if program in _CHANGES:
        found += _CHANGES[program](simple)
    elif PYTHON.fullmatch(program):
        found += map(Change, _opened(simple))
    if simple.folder.startswith(_FOR_TRIES):  # a file in a folder of the work may be called like it
        found = [change._replace(path=join(simple.folder, change.path)) for change in found]
    named = dict.fromkeys(change for change in found if is_file_name(change.path))
    return list(named) if simple.is_sure else [Change(change.path, is_unclear=True) for change in named]


def base_name(path: str) -> str:
    return path.rpartition("/")[2]


def patched_files(patch: str) -> list[Change]:
    """The files that a patch changes, in the forms of `diff` and `apply_patch`."""
    return list(dict.fromkeys(map(_patched, _PATCHED.finditer(patch))))


def _patched(found: re.Match[str]) -> Change:
    if after := found["after"]:
        before, is_removed = found["before"] or "", after.strip() == _NO_FILE
        path = before.removeprefix("a/") if is_removed else after.removeprefix("b/")
        return Change(path.strip(), is_removed, is_whole=before.strip() == _NO_FILE)
    path = (found["named"] or found["target"]).strip()
    return Change(path, found["how"] == "Delete", is_whole=found["how"] == "Add")


def _named(simple: Simple) -> Iterator[Change]:
    return map(Change, arguments(simple))


def _sed(simple: Simple) -> Iterator[Change]:
    return map(Change, edited_in_place(simple).files)


class InPlace(NamedTuple):
    """What `sed -i` is told."""

    scripts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    is_extended: bool = False
    """Whether brackets and braces in a pattern are operators."""


def edited_in_place(simple: Simple) -> InPlace:
    """What `sed` does to which files; nothing without `-i`."""
    options = [word for word in simple.words[1:] if word.startswith("-")]
    if not any(_SED_INPLACE.fullmatch(word) for word in options):
        return InPlace()
    rest = [word for word in arguments(simple, "-e", "-f", "--expression") if word]  # macOS: an empty suffix after -i
    is_extended = any(re.fullmatch(r"-\w*[Er]\w*|--regexp-extended", word) for word in options)
    given = zip(simple.words[1:], simple.words[2:], strict=False)
    scripts = [value for option, value in given if option in ("-e", "--expression")]
    if not scripts and "-f" not in options and not any(word.startswith("--expression") for word in options):
        scripts, rest = rest[:1], rest[1:]
    return InPlace(tuple(scripts), tuple(rest), is_extended)


def _perl(simple: Simple) -> Iterator[Change]:
    if not any(re.fullmatch(r"-\w*i\S*", word) for word in simple.words[1:]):
        return iter(())
    rest = arguments(simple)
    return map(Change, rest[1:])


def _moved(simple: Simple) -> Iterator[Change]:
    *sources, target = arguments(simple) or [""]
    yield from _copied(simple)
    if target:
        yield from (Change(source, is_removed=True) for source in sources)


def _copied(simple: Simple) -> Iterator[Change]:
    *sources, target = arguments(simple) or [""]
    into_folder = target.endswith("/") or target in (".", "..") or len(sources) > 1
    for source in sources:
        made = f"{target.rstrip('/')}/{source.rstrip('/').rpartition('/')[2]}" if into_folder else target
        yield Change(made, is_whole=True, source=source)


def _removed(simple: Simple) -> Iterator[Change]:
    return (Change(path, is_removed=True) for path in arguments(simple))


def _git(simple: Simple) -> Iterator[Change]:
    program, words = program_and_rest(simple)
    verb = program.removeprefix("git ")
    inner = Simple((verb, *words))
    if verb == "mv":
        yield from _moved(inner)
    elif verb == "rm":
        yield from _removed(inner)
    elif verb in ("apply", "am") and NOT_APPLIED.isdisjoint(words):
        yield from patched_files(simple.document)
    elif verb == "restore" or (verb == "checkout" and "--" in words):
        named = words[words.index("--") + 1 :] if "--" in words else arguments(inner, "-s", "--source")
        if "--staged" not in words or "--worktree" in words:
            yield from (Change(path, is_restored=True) for path in named)


def _patch(simple: Simple) -> Iterator[Change]:
    return iter(patched_files(simple.document) if NOT_APPLIED.isdisjoint(simple.words) else ())


def _patch_argument(simple: Simple) -> Iterator[Change]:
    return iter(patched_files(patch_of(simple)))


def patch_of(simple: Simple) -> str:
    """The patch that a program is given, as an argument or inline."""
    return "\n".join((simple.document, *simple.words[1:])) if simple.program in _PATCHERS else simple.document


def _downloaded(simple: Simple) -> Iterator[Change]:
    for option, value in zip(simple.words[1:], simple.words[2:], strict=False):
        if option in ("-o", "-O", "--output", "--output-document"):
            yield Change(value, is_whole=True)


def _opened(simple: Simple) -> Iterator[str]:
    """Files that inline Python code opens for writing."""
    return written_by(inline_code(simple))


def inline_code(simple: Simple) -> str:
    """The Python code that a program is given, as an argument or inline."""
    return simple.document or next(
        (text for flag, text in zip(simple.words[1:], simple.words[2:], strict=False) if flag == "-c"), ""
    )


def restored_by(line: Iterable[Simple], changed: Iterable[str], printed: str = "") -> list[str]:
    """Which of the changed files `git` brings back as they were committed, by a name, a folder, or as a whole."""
    paths = list(changed)
    found: list[str] = []
    for simple in line:
        program, rest = program_and_rest(simple)
        if program == "git reset" and "--hard" in rest:
            found += paths
        elif program in ("git checkout", "git restore") and _NO_RESTORE.isdisjoint(rest):
            are_files = "--" in rest or program == "git restore"
            if are_files or not _SWITCHED.search(printed):
                named = [word for word in rest if not word.startswith("-")]
                found += [path for path in paths if any(_is_named(path, name, are_files) for name in named)]
    return found


def stashed_by(line: Iterable[Simple], printed: str) -> int:
    """How many more times a command sets changes aside than it brings such back."""
    verbs = [(rest or ["push"])[0] for program, rest in map(program_and_rest, line) if program == "git stash"]
    back = sum(verb in ("pop", "apply") for verb in verbs)
    aside = sum(verb in ("push", "save") or verb.startswith("-") for verb in verbs)
    return 0 if "No local changes to save" in printed else aside - back


def _is_named(path: str, name: str, are_files: bool) -> bool:
    """Whether a file has this name, or is in the folder of this name, which may else be that of a branch."""
    name = name.removeprefix("./").rstrip("/")
    if name in (".", "") or is_same_path(path, name):
        return True
    is_below = path.removeprefix("./").startswith(f"{name}/") or (path.startswith("/") and f"/{name}/" in path)
    return are_files and is_below


def written_by(code: str) -> Iterator[str]:
    """The files that Python code opens for writing."""
    for found in _OPENED.finditer(code):
        yield found[1] or found[2]
    named = dict(_VARIABLE.findall(code))
    for found in _OPENED_BY_VARIABLE.finditer(code):
        if path := named.get(found[1] or found[2]):
            yield path


_CHANGES: Final[Mapping[str, Callable[[Simple], Iterator[Change]]]] = {
    "sed": _sed, "gsed": _sed, "perl": _perl, "tee": _named, "touch": _named, "truncate": _named,
    "mv": _moved, "cp": _copied, "install": _copied, "rm": _removed, "unlink": _removed, "git": _git, "patch": _patch,
    "apply_patch": _patch_argument, "applypatch": _patch_argument, "curl": _downloaded, "wget": _downloaded,
}  # fmt: skip
_SHOWS: Final = frozenset(("cat", "head", "tail", "less", "more", "bat", "nl", "batcat"))


def reads_of(line: list[Simple]) -> list[str]:
    """The files that a command line shows, with the lines when they are given."""
    found: list[str] = []
    for simple in line:
        if simple.is_filter:
            if found and simple.program == "sed" and (lines := _lines(simple)):
                found[-1] = f"{found[-1]}:{lines}"
        elif simple.written or simple.document:
            continue
        elif simple.program in _SHOWS:
            found += filter(is_file_name, arguments(simple, "-n", "-c", "--lines"))
        elif simple.program == "sed" and "-n" in simple.words:
            found += [f"{path}:{lines}" if (lines := _lines(simple)) else path for path in _shown_by_sed(simple)]
    return list(dict.fromkeys(found))


def _shown_by_sed(simple: Simple) -> list[str]:
    return [path for path in arguments(simple, "-e")[0 if "-e" in simple.words else 1 :] if is_file_name(path)]


def _lines(sed: Simple) -> str:
    for word in sed.words[1:]:
        if found := _RANGE.fullmatch(word.strip()):
            return f"{found[1]}-{found[2]}"
    return ""
