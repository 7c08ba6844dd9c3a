"""Tables of programs that only read, and the options that keep it so.

Only what is listed here is free. Any other option makes its command ask.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

NUMBER: Final = r"[+-]?\d+[bkKMGT]?"
ANY: Final = r"(?s:.*)"


class Reader(NamedTuple):
    """A program that only reads when it is used with these options."""

    flags: str = ""
    """One-letter options without a value."""
    long: tuple[str, ...] = ()
    """Long options; one that ends in `=` may have a value, which is not a file."""
    valued: Mapping[str, str] = {}
    """Options with a value, which may be the next word, and the pattern it must match."""
    operands: str = "paths"
    """What the other words are: `paths`, `text`, `anything` (options too), `none`, `expression` (one, then paths),
    `revisions` (of git, or paths), or the name of a check."""
    most: int | None = None
    """The maximum number of operands."""
    digits: bool = False
    """Whether `-5` is an option."""
    form: Literal["joined", "glued", "apart"] = "joined"
    """How short options are written: `-rn`; `-n5` but no joined letters; or never joined."""
    finds_files: tuple[str, ...] = ()
    """Options that make it read files it finds by itself; `*` for always."""


_SUMS: Final = Reader("bt", ("--binary", "--text", "--tag", "--zero"))
_GREP: Final = Reader(
    "acEFGHhiIlLnoPqrsvwxyZ",
    ("--color=", "--colour=", "--count", "--extended-regexp", "--fixed-strings", "--basic-regexp", "--perl-regexp",
     "--files-with-matches", "--files-without-match", "--ignore-case", "--no-ignore-case", "--include=", "--exclude=",
     "--exclude-dir=", "--invert-match", "--line-number", "--no-filename", "--no-messages", "--only-matching",
     "--quiet", "--recursive", "--text", "--with-filename", "--word-regexp", "--line-regexp", "--max-count=",
     "--context=", "--after-context=", "--before-context=", "--null"),
    {"-e": ANY, "--regexp": ANY, "-A": NUMBER, "-B": NUMBER, "-C": NUMBER, "-m": NUMBER, "--include": ANY,
     "--exclude": ANY, "--exclude-dir": ANY, "--max-count": NUMBER, "--context": NUMBER, "--after-context": NUMBER,
     "--before-context": NUMBER},
    "expression", digits=True, finds_files=("-r", "--recursive"),
)  # fmt: skip

READERS: Final[Mapping[str, Reader]] = {
    "pwd": Reader("LP", operands="none"),
    "true": Reader(operands="anything"),
    "false": Reader(operands="anything"),
    ":": Reader(operands="anything"),
    "echo": Reader(operands="anything"),
    "printf": Reader(operands="text"),
    "whoami": Reader(operands="none"),
    "id": Reader("gGnru", operands="none"),
    "uname": Reader("asnrvmpio", operands="none"),
    "nproc": Reader(operands="none"),
    "arch": Reader(operands="none"),
    "hostname": Reader("sfid", operands="none"),
    "date": Reader("uR", ("--utc", "--iso-8601="), operands="date"),
    "sleep": Reader(operands="number"),
    "seq": Reader("w", operands="number"),
    "which": Reader("a", operands="text"),
    "ls": Reader(
        "1AaBCcdFfGghiklmNnopQqRrSstTUuvXxZ",
        ("--all", "--almost-all", "--color=", "--directory", "--full-time", "--group-directories-first",
         "--human-readable", "--inode", "--numeric-uid-gid", "--recursive", "--reverse", "--size", "--sort=",
         "--time=", "--time-style=", "--classify=", "--hide=", "--ignore="),
        {"-I": ANY, "-w": NUMBER},
    ),
    "tree": Reader("adfpughiDFrtQNSnCAJXvc", ("--noreport", "--dirsfirst", "--gitignore", "--prune", "--du", "--si"),
                   {"-L": NUMBER, "-I": ANY, "-P": ANY, "--filelimit": NUMBER, "--charset": r"[\w-]*"}, form="apart"),
    "cat": Reader("AbEensTtuv", ("--number", "--show-all", "--show-ends", "--show-tabs", "--squeeze-blank")),
    "tac": Reader(),
    "rev": Reader(),
    "nl": Reader("p", (), {"-b": r"[atn]", "-w": NUMBER, "-s": ANY, "-v": NUMBER, "-n": r"[lnrz]{2}"}),
    "head": Reader("qvz", ("--quiet", "--verbose", "--lines=", "--bytes="), {"-n": NUMBER, "-c": NUMBER,
                   "--lines": NUMBER, "--bytes": NUMBER}, digits=True),
    "tail": Reader("qvz", ("--quiet", "--verbose", "--lines=", "--bytes="), {"-n": NUMBER, "-c": NUMBER,
                   "--lines": NUMBER, "--bytes": NUMBER}, digits=True),
    "wc": Reader("clLmw", ("--bytes", "--chars", "--lines", "--words", "--max-line-length")),
    "stat": Reader("ft", ("--terse", "--file-system", "--format="), {"-c": ANY, "--format": ANY}),
    "file": Reader("bhiN", ("--brief", "--mime", "--mime-type", "--mime-encoding", "--no-dereference", "--no-pad")),
    "du": Reader("0abchkmsSxP", ("--all", "--apparent-size", "--bytes", "--total", "--human-readable", "--summarize",
                 "--max-depth=", "--exclude=", "--si", "--one-file-system"), {"-d": NUMBER, "--max-depth": NUMBER,
                 "--exclude": ANY}),
    "basename": Reader("az", ("--multiple", "--suffix="), {"-s": ANY}, "text"),
    "dirname": Reader("z", operands="text"),
    "realpath": Reader("emLPqsz", ("--canonicalize-existing", "--canonicalize-missing", "--no-symlinks")),
    "readlink": Reader("efmnqsvz", ("--canonicalize",)),
    "cmp": Reader("bls", ("--print-bytes", "--verbose", "--silent", "--quiet"), {"-n": NUMBER}),
    "diff": Reader("abBcdEiNpqstTuwyZ", ("--brief", "--color=", "--ignore-all-space", "--ignore-blank-lines",
                   "--ignore-case", "--ignore-space-change", "--minimal", "--new-file", "--no-dereference",
                   "--report-identical-files", "--side-by-side", "--strip-trailing-cr", "--suppress-common-lines",
                   "--text", "--unified=", "--width="), {"-U": NUMBER, "-C": NUMBER, "-W": NUMBER}, "files"),
    "comm": Reader("123z", ("--check-order", "--nocheck-order", "--total", "--output-delimiter=")),
    "sort": Reader("bcCdfghiMmnrRsuVz", ("--check=", "--debug", "--dictionary-order", "--field-separator=",
                   "--general-numeric-sort", "--human-numeric-sort", "--ignore-case", "--ignore-leading-blanks",
                   "--key=", "--month-sort", "--numeric-sort", "--reverse", "--stable", "--unique", "--version-sort"),
                   {"-k": ANY, "-t": ANY, "--key": ANY, "--field-separator": ANY}),
    "uniq": Reader("cdDiuz", ("--count", "--repeated", "--unique", "--ignore-case"), {"-f": NUMBER, "-s": NUMBER,
                   "-w": NUMBER}, most=1),
    "cut": Reader("nsz", ("--complement", "--only-delimited", "--delimiter=", "--fields=", "--characters=", "--bytes=",
                  "--output-delimiter="), {"-d": ANY, "-f": ANY, "-c": ANY, "-b": ANY, "--delimiter": ANY,
                  "--fields": ANY}),
    "tr": Reader("cCdst", ("--complement", "--delete", "--squeeze-repeats", "--truncate-set1"), operands="text"),
    "fold": Reader("bs", ("--spaces", "--bytes", "--width="), {"-w": NUMBER}),
    "paste": Reader("sz", ("--serial", "--delimiters="), {"-d": ANY}),
    "column": Reader("txn", ("--table",), {"-s": ANY, "-o": ANY, "-c": NUMBER}),
    "expand": Reader("i", (), {"-t": ANY}),
    "md5sum": _SUMS, "sha1sum": _SUMS, "sha256sum": _SUMS, "sha512sum": _SUMS, "cksum": Reader(),
    "xxd": Reader("abeEipuC", (), {"-c": NUMBER, "-g": NUMBER, "-l": NUMBER, "-s": NUMBER}, most=1, form="apart"),
    "od": Reader("abcdfhiloxv", (), {"-A": r"[doxn]", "-t": r"\w+", "-N": NUMBER, "-j": NUMBER}),
    "grep": _GREP, "egrep": _GREP, "fgrep": _GREP,
    "rg": Reader(
        "abcFiIlnNopPqsSuUvVwxHh0.",
        ("--count", "--count-matches", "--color=", "--column", "--no-column", "--context=", "--after-context=",
         "--before-context=", "--files", "--files-with-matches", "--files-without-match", "--fixed-strings", "--glob=",
         "--heading", "--no-heading", "--hidden", "--no-hidden", "--ignore-case", "--iglob=", "--json",
         "--line-number", "--no-line-number", "--max-count=", "--max-depth=", "--max-columns=", "--multiline",
         "--no-filename", "--no-ignore", "--no-ignore-vcs", "--no-messages", "--only-matching", "--pretty",
         "--quiet", "--smart-case", "--sort=", "--sortr=", "--stats", "--trim", "--type=", "--type-not=",
         "--type-list", "--vimgrep", "--with-filename", "--word-regexp", "--no-config", "--case-sensitive"),
        {"-e": ANY, "--regexp": ANY, "-A": NUMBER, "-B": NUMBER, "-C": NUMBER, "-m": NUMBER, "-d": NUMBER, "-g": ANY,
         "--glob": ANY, "--iglob": ANY, "-t": r"\w+", "-T": r"\w+", "--type": r"\w+", "--type-not": r"\w+", "-j":
         NUMBER, "-M": NUMBER, "--max-count": NUMBER, "--max-depth": NUMBER, "--sort": r"\w+", "-r": ANY,
         "--replace": ANY, "--context": NUMBER, "--color": r"\w+"},
        "expression", finds_files=("*",),
    ),
    "find": Reader(operands="find"),
    "sed": Reader("nErsz", ("--quiet", "--silent", "--regexp-extended"), operands="sed"),
    "test": Reader(operands="test"),
    "cd": Reader(),
}  # fmt: skip

_DIFF_LONG: Final = (
    "--abbrev=", "--cached", "--staged", "--check", "--color=", "--no-color", "--color-words=", "--compact-summary",
    "--cumulative", "--diff-algorithm=", "--diff-filter=", "--dirstat=", "--exit-code", "--find-copies=",
    "--find-renames=", "--full-index", "--function-context", "--histogram", "--ignore-all-space",
    "--ignore-blank-lines", "--ignore-space-at-eol", "--ignore-space-change", "--ignore-submodules=",
    "--inter-hunk-context=", "--merge-base", "--minimal", "--name-only", "--name-status", "--no-ext-diff",
    "--no-patch", "--no-prefix", "--no-renames", "--no-textconv", "--numstat", "--patch", "--patch-with-stat",
    "--patience", "--pickaxe-all", "--pickaxe-regex", "--quiet", "--raw", "--relative", "--shortstat", "--stat=",
    "--summary", "--text", "--unified=", "--word-diff=", "--word-diff-regex=", "-z",
)  # fmt: skip
_LOG_LONG: Final = (
    *_DIFF_LONG, "--abbrev-commit", "--no-abbrev-commit", "--after=", "--since=", "--until=", "--before=", "--all",
    "--all-match", "--author=", "--committer=", "--ancestry-path", "--boundary", "--branches=", "--cherry",
    "--cherry-mark", "--cherry-pick", "--children", "--cc", "--date=", "--date-order", "--author-date-order",
    "--topo-order", "--decorate=", "--no-decorate", "--decorate-refs=", "--dense", "--sparse", "--extended-regexp",
    "--first-parent", "--fixed-strings", "--follow", "--full-diff", "--full-history", "--format=", "--pretty=",
    "--graph", "--grep=", "--invert-grep", "--left-right", "--left-only", "--right-only", "--max-count=",
    "--max-parents=", "--merges", "--no-merges", "--min-parents=", "--notes", "--no-notes", "--oneline", "--parents",
    "--perl-regexp", "--regexp-ignore-case", "--relative-date", "--remotes=", "--reverse", "--simplify-by-decoration",
    "--simplify-merges", "--skip=", "--source", "--tags=", "--walk-reflogs", "--reflog", "--no-walk=", "--show-pulls",
)  # fmt: skip
FORMAT: Final = r"(?:(?!%[-+ ]?G|signature)(?s:.))*"
"""Excludes `%G…` and `%(signature)`, which start another program."""
_DIFF_VALUES: Final = {"-U": NUMBER, "-S": ANY, "-G": ANY, "--diff-filter": r"\w+", "--unified": NUMBER}
_LOG_VALUES: Final = {
    **_DIFF_VALUES, "-n": NUMBER, "-L": ANY, "--since": ANY, "--until": ANY, "--after": ANY, "--before": ANY,
    "--author": ANY, "--committer": ANY, "--grep": ANY, "--max-count": NUMBER, "--skip": NUMBER, "--date": ANY,
}  # fmt: skip
_LOG: Final = Reader(
    "pusmcbwtzRWqaigEFP", _LOG_LONG, _LOG_VALUES, "revisions", digits=True, form="glued", finds_files=("*",)
)

GIT_READERS: Final[Mapping[str, Reader]] = {
    "status": Reader("sbuvz", ("-uno", "-uall", "-unormal", "--short", "--branch",
                     "--show-stash", "--porcelain=", "--long", "--verbose",
                     "--untracked-files=", "--ignore-submodules=", "--ignored=", "--ahead-behind", "--no-ahead-behind",
                     "--renames", "--no-renames", "--column=", "--no-column"), operands="revisions",
                     finds_files=("-v", "--verbose")),
    "diff": Reader("abpqRsuwzMCDBW", _DIFF_LONG, _DIFF_VALUES, "revisions", form="glued", finds_files=("*",)),
    "log": _LOG,
    "show": _LOG,
    "whatchanged": _LOG,
    "reflog": _LOG._replace(operands="reflog"),
    "rev-list": Reader("n", (*_LOG_LONG, "--count", "--objects"), _DIFF_VALUES, "revisions", digits=True,
                       form="glued"),
    "shortlog": Reader("nsec", ("--numbered", "--summary", "--email", "--since=", "--until=", "--no-merges", "--all"),
                       {"--since": ANY, "--until": ANY}, "revisions", form="glued"),
    "blame": Reader("clteswfnbp", ("--porcelain", "--line-porcelain", "--show-name", "--show-number", "--show-email",
                    "--date=", "--since=", "--color-lines", "--color-by-age", "--abbrev="), {"-L": ANY,
                    "--date": ANY}, "revisions", finds_files=("*",)),
    "ls-files": Reader("cdmosutvzk", ("--cached", "--deleted", "--modified", "--others", "--stage", "--unmerged",
                       "--exclude-standard", "--full-name", "--error-unmatch", "--ignored", "--directory",
                       "--deduplicate", "--eol", "--exclude="), {"-x": ANY, "--exclude": ANY}, "revisions"),
    "ls-tree": Reader("drtlz", ("--name-only", "--name-status", "--full-name", "--full-tree", "--long", "--abbrev="),
                      operands="revisions"),
    "rev-parse": Reader("q", ("--short=", "--abbrev-ref=", "--verify", "--quiet", "--show-toplevel", "--show-prefix",
                        "--show-cdup", "--git-dir", "--git-common-dir", "--absolute-git-dir", "--is-inside-work-tree",
                        "--is-inside-git-dir", "--is-bare-repository", "--is-shallow-repository", "--all",
                        "--branches=", "--tags=", "--remotes=", "--symbolic", "--symbolic-full-name",
                        "--show-superproject-working-tree", "--show-object-format="), operands="revisions"),
    "describe": Reader("", ("--all", "--tags", "--contains", "--abbrev=", "--always", "--long", "--dirty=", "--broken=",
                       "--exact-match", "--candidates=", "--match=", "--exclude=", "--first-parent"), {"--match": ANY,
                       "--abbrev": NUMBER}, "revisions"),
    "merge-base": Reader("a", ("--all", "--octopus", "--is-ancestor", "--fork-point"), operands="revisions"),
    "name-rev": Reader("", ("--name-only", "--tags", "--always", "--refs="), operands="revisions"),
    "cat-file": Reader("tsep", (), operands="revisions", finds_files=("*",)),
    "show-ref": Reader("dsq", ("--heads", "--branches", "--tags", "--head", "--hash=", "--verify", "--abbrev="),
                       operands="revisions"),
    "for-each-ref": Reader("", ("--count=", "--sort=", "--format=", "--merged=", "--no-merged=", "--contains=",
                           "--points-at="), {"--format": FORMAT, "--sort": r"-?(?!signature)[\w:-]+",
                           "--count": NUMBER},
                           "revisions", finds_files=("*",)),
    "count-objects": Reader("vH", ("--verbose", "--human-readable"), operands="none"),
    "check-ignore": Reader("qvn", ("--quiet", "--verbose", "--no-index"), operands="revisions"),
    "branch": Reader("arv", ("--all", "--remotes", "--list", "--show-current", "--verbose", "--no-color", "--color=",
                     "--merged", "--no-merged", "--sort="), operands="listing"),
    "tag": Reader("l", ("--list", "--sort="), operands="listing"),
    "remote": Reader("v", ("--verbose",), operands="none"),
    "stash": Reader(operands="stash", finds_files=("*",)),
    "worktree": Reader(operands="list"),
    "version": Reader(operands="none"),
}  # fmt: skip
FIND_TESTS: Final = {
    **dict.fromkeys(("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname",
                     "-printf", "-group", "-user"), ANY),
    **dict.fromkeys(("-maxdepth", "-mindepth", "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin",
                     "-links", "-inum", "-depth"), r"[+-]?\d+[bcwkMG]?"),
    "-type": r"[bcdpfls](,[bcdpfls])*", "-perm": r"[\w/+=,-]+", "-regextype": r"[\w-]+",
}  # fmt: skip
FIND_ALONE: Final = frozenset(
    ("-print", "-print0", "-ls", "-prune", "-not", "-a", "-and", "-o", "-or", "-empty", "-true", "-false", "-readable",
     "-writable", "-executable", "-mount", "-xdev", "-nouser", "-nogroup", "-quit", "!", "(", ")", "-P", "-noleaf",
     "-daystart")
)  # fmt: skip
FOUND_READERS: Final = frozenset(
    ("cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "ls", "stat", "file", "md5sum", "sha1sum", "sha256sum",
     "basename", "dirname", "echo")
)  # fmt: skip
TEST_OPERATORS: Final = frozenset(
    ("-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-p", "-r", "-s", "-S", "-u", "-w", "-x", "-z", "=",
     "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "!", "-a", "-o")
)  # fmt: skip
