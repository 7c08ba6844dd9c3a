"""One table of programs: how each only reads, what a kept rule for it admits, and what is dangerous about it.

Only what is listed is free or admitted: an option that loads code, writes or sends is simply not listed, so it asks.

See `Use` for how options are written.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from co_tui.agent.permissions.git_table import GIT_READS
from co_tui.agent.permissions.program_options import Use


class Program(NamedTuple):
    """A program, or one of its subcommands."""

    reads: Use | None = None
    keeps: Use | None = None
    """What a kept rule admits besides the words it shows; None to keep only exact lines."""
    dangers: Mapping[str, str] = {}
    """Why it cannot be undone or affects others → when: always, with one of these options, `--`, a FILE, or an operand
    that matches a pattern after `/`."""


DELETES: Final = "deletes files"
OVERWRITES: Final = "overwrites data"
BECOMES: Final = "runs as another user"
STOPS: Final = "stops processes"
CHANGES_MODES: Final = "changes many permissions"
CONFIGURES_GIT: Final = "changes git's configuration"
DISCARDS: Final = "discards work"
REWRITES: Final = "overwrites the remote's history"
SENDS: Final = "publishes or sends to others"


def _reads(options: str = "", operands: str = "paths", **more: object) -> Program:
    return Program(reads=Use(options, operands, **more))  # type: ignore[arg-type]


def _keeps(options: str = "", operands: str = "paths", **more: object) -> Program:
    return Program(keeps=Use(options, operands, **more))  # type: ignore[arg-type]


def _always(why: str, *names: str) -> dict[str, Program]:
    return dict.fromkeys(names, Program(dangers={why: ""}))


_PRINTS = "--help --version --no-color --color:?word"
_GREP: Final = _reads(
    "-acEFGHhiIlLnoPqrsvwxyZ --color= --colour= --count --extended-regexp --fixed-strings --basic-regexp --perl-regexp"
    " --files-with-matches --files-without-match --ignore-case --no-ignore-case --invert-match --line-number"
    " --no-filename --no-messages --only-matching --quiet --recursive --text --with-filename --word-regexp"
    " --line-regexp --null -e:any --regexp:any -A:number -B:number -C:number -m:number --include:any --exclude:any"
    " --exclude-dir:any --max-count:number --context:number --after-context:number --before-context:number",
    "expression", digits=True, finds_files="-r --recursive",
)  # fmt: skip
_SUMS: Final = _reads("-bt --binary --text --tag --zero")
_LINES: Final = _reads("-qvz --quiet --verbose -n:number -c:number --lines:number --bytes:number", digits=True)
_READING: Final[Mapping[str, Program]] = {
    "pwd": _reads("-LP", "none"),
    **dict.fromkeys(("true", "false", ":", "echo"), _reads(operands="anything")),
    "printf": _reads(operands="text"),
    **dict.fromkeys(("whoami", "nproc", "arch"), _reads(operands="none")),
    "id": _reads("-gGnru", "none"),
    "uname": _reads("-asnrvmpio", "none"),
    "hostname": _reads("-sfid", "none"),
    "date": _reads("-uR --utc --iso-8601=", "date"),
    "sleep": _reads(operands="number"),
    "seq": _reads("-w", "number"),
    "which": _reads("-a", "text"),
    "command": _reads("-vV", "text"),
    "ls": _reads(
        "-1AaBCcdFfGghiklmNnopQqRrSstTUuvXxZ --all --almost-all --color= --directory --full-time"
        " --group-directories-first --human-readable --inode --numeric-uid-gid --recursive --reverse --size --sort="
        " --time= --time-style= --classify= --hide= --ignore= -I:any -w:number"
    ),
    "tree": _reads(
        "-a -d -f -p -u -g -h -i -D -F -r -t -Q -N -S -n -C -A -J -X -v -c --noreport --dirsfirst --gitignore --prune"
        r" --du --si -L:number -I:any -P:any --filelimit:number --charset:[\w-]*", form="apart",
    ),
    "cat": _reads("-AbEensTtuv --number --show-all --show-ends --show-tabs --squeeze-blank"),
    **dict.fromkeys(("tac", "rev", "cksum", "cd"), _reads()),
    "nl": _reads("-p -b:[atn] -w:number -s:any -v:number -n:[lnrz]{2}"),
    "head": _LINES, "tail": _LINES,
    "wc": _reads("-clLmw --bytes --chars --lines --words --max-line-length"),
    "stat": _reads("-ft --terse --file-system -c:any --format:any"),
    "file": _reads("-bhiN --brief --mime --mime-type --mime-encoding --no-dereference --no-pad"),
    "du": _reads(
        "-0abchkmsSxP --all --apparent-size --bytes --total --human-readable --summarize --si --one-file-system"
        " -d:number --max-depth:number --exclude:any"
    ),
    "basename": _reads("-az --multiple --suffix= -s:any", "text"),
    "dirname": _reads("-z", "text"),
    "realpath": _reads("-emLPqsz --canonicalize-existing --canonicalize-missing --no-symlinks"),
    "readlink": _reads("-efmnqsvz --canonicalize"),
    "cmp": _reads("-bls --print-bytes --verbose --silent --quiet -n:number"),
    "diff": _reads(
        "-abBcdEiNpqstTuwyZ --brief --color= --ignore-all-space --ignore-blank-lines --ignore-case"
        " --ignore-space-change --minimal --new-file --no-dereference --report-identical-files --side-by-side"
        " --strip-trailing-cr --suppress-common-lines --text --unified= --width= -U:number -C:number -W:number",
        "files",
    ),
    "comm": _reads("-123z --check-order --nocheck-order --total --output-delimiter="),
    "sort": _reads(
        "-bcCdfghiMmnrRsuVz --check= --debug --dictionary-order --general-numeric-sort --human-numeric-sort"
        " --ignore-case --ignore-leading-blanks --month-sort --numeric-sort --reverse --stable --unique --version-sort"
        " -k:any -t:any --key:any --field-separator:any"
    ),
    "uniq": _reads("-cdDiuz --count --repeated --unique --ignore-case -f:number -s:number -w:number", most=1),
    "cut": _reads(
        "-nsz --complement --only-delimited --characters= --bytes= --output-delimiter= -d:any -f:any -c:any -b:any"
        " --delimiter:any --fields:any"
    ),
    "tr": _reads("-cCdst --complement --delete --squeeze-repeats --truncate-set1", "text"),
    "fold": _reads("-bs --spaces --bytes --width= -w:number"),
    "paste": _reads("-sz --serial --delimiters= -d:any"),
    "column": _reads("-txn --table -s:any -o:any -c:number"),
    "expand": _reads("-i -t:any"),
    **dict.fromkeys(("md5sum", "sha1sum", "sha256sum", "sha512sum"), _SUMS),
    "xxd": _reads("-a -b -e -E -i -p -u -C -c:number -g:number -l:number -s:number", most=1, form="apart"),
    "od": _reads(r"-abcdfhiloxv -A:[doxn] -t:\w+ -N:number -j:number"),
    "grep": _GREP, "egrep": _GREP, "fgrep": _GREP,
    "rg": _reads(
        "-abcFiIlnNopPqsSuUvVwxHh0. --count --count-matches --column --no-column --after-context= --before-context="
        " --files --files-with-matches --files-without-match --fixed-strings --heading --no-heading --hidden"
        " --no-hidden --ignore-case --json --line-number --no-line-number --max-columns= --multiline --no-filename"
        " --no-ignore --no-ignore-vcs --no-messages --only-matching --pretty --quiet --smart-case --sortr= --stats"
        r" --trim --type-list --vimgrep --with-filename --word-regexp --no-config --case-sensitive -e:any --regexp:any"
        r" -A:number -B:number -C:number -m:number -d:number -g:any --glob:any --iglob:any -t:\w+ -T:\w+ --type:\w+"
        r" --type-not:\w+ -j:number -M:number --max-count:number --max-depth:number --sort:\w+ -r:any --replace:any"
        r" --context:number --color:\w+", "expression", finds_files="*",
    ),
    "find": Program(Use(operands="find", form="single"), dangers={DELETES: "-delete"}),
    "sed": _reads("-nErsz --quiet --silent --regexp-extended", "sed"),
    "test": _reads(operands="test"),
    **dict.fromkeys(("python", "python3", "node", "bash", "gcc"), _reads("--version", "version")),
}  # fmt: skip

_PYTEST = (
    "-qvxslhV --lf --ff --nf --last-failed --failed-first --new-first --sw --stepwise --co --collect-only --no-header"
    " --no-summary --exitfirst --quiet --verbose --showlocals --strict-markers --strict-config --no-cov --full-trace"
    r" --runxfail --disable-warnings --fixtures --markers --cov-branch -k:any -m:any -n:\d+|auto|logical -r:\w+"
    r" -p:no:[\w.-]+ --tb:word --maxfail:number --durations:number --durations-min:[\d.]+ --timeout:[\d.]+"
    r" --reruns:number --capture:fd|sys|no|tee-sys --show-capture:word --verbosity:number --dist:word"
    r" --numprocesses:\d+|auto --ignore:path --deselect:path --ignore-glob:any --import-mode:word --asyncio-mode:word"
    r" --cov:?path --cov-report:?term(-missing)?(:skip-covered)? --cov-fail-under:number --log-level:word"
    r" --log-cli-level:word --randomly-seed:word -W:(error|ignore|default|always|module|once)(:[^:]*(:\w*)?)?"
)
_MYPY = (
    "-v --strict --ignore-missing-imports --show-error-codes --hide-error-codes --pretty --no-pretty --no-incremental"
    " --no-error-summary --namespace-packages --explicit-package-bases --check-untyped-defs --disallow-untyped-defs"
    " --disallow-any-generics --warn-unreachable --warn-unused-ignores --warn-return-any --no-color-output"
    " --show-column-numbers --show-error-context --no-site-packages --verbose --no-warn-unused-ignores"
    r" --python-version:[\d.]+ --platform:word --follow-imports:word --disable-error-code:word"
    r" --enable-error-code:word -p:[\w.]+ -m:[\w.]+ --package:[\w.]+ --module:[\w.]+ --exclude:any"
)
_RUFF = "-qvsn --quiet --verbose --silent --no-cache --preview --line-length:number --target-version:word --exclude:any"
_PIP = (
    "-qvU --quiet --verbose --upgrade --no-cache-dir --no-deps --pre --disable-pip-version-check --no-input"
    " --progress-bar:word --no-build-isolation --force-reinstall --dry-run -r:target --requirement:target -e:target"
    " --editable:target"
)
_NPM = "-s -q --silent --quiet --verbose --if-present --no-color"
_NPM_TEST: Final = _keeps(
    _NPM, "none", after=r"--(verbose|silent|ci|bail|runInBand|coverage=false|no-coverage|watch(All)?=false|no-watch)"
)
_NPM_RUN: Final = Program(
    keeps=Use(_NPM, "targets", most=1, after="(?!)"), dangers={SENDS: "/(.*:)?(publish|release|deploy)(:.*)?"}
)
_NPM_INSTALL: Final = _keeps(
    f"{_NPM} -DE --save-dev --save-exact --no-save --dev --exact --no-audit --no-fund --no-progress --ignore-scripts"
    " --prefer-offline --offline --legacy-peer-deps --frozen-lockfile --immutable --production --dry-run", "packages",
)  # fmt: skip
_CARGO = (
    "-qvr --quiet --verbose --release --lib --bins --tests --examples --benches --all-targets --all-features"
    " --no-default-features --features:any -F:any -p:word --package:word --workspace --all --bin:word --example:word"
    " --test:word --bench:word --exclude:word --locked --frozen --offline --no-run --no-fail-fast --doc --keep-going"
    " --message-format:short|human|json --profile:word -j:number --jobs:number --no-deps --document-private-items"
    " --color:word"
)
_GO = r"-v -x -n -race -trimpath -json -p:number -tags:any -mod:mod|readonly|vendor"
_TARGETS: Final = _keeps("-qvsknB -j:?\\d+ --silent --quiet --keep-going --dry-run --no-print-directory", "targets")
_JVM: Final = _keeps(
    "-q -B -o -i -s --batch-mode --quiet --offline --info --stacktrace --continue --parallel --console:word --tests:any"
    " -x:target", "targets", form="glued",
)  # fmt: skip
_DOTNET: Final = _keeps(
    "--no-restore --no-build --nologo -c:word --configuration:word -v:word --verbosity:word --filter:any"
)
_JEST = (
    r"-bioe --runInBand --verbose --ci --bail:?\d+ --silent --coverage:?true|false --no-coverage --watchAll:?false"
    r" -t:any --testNamePattern:any --onlyChanged --passWithNoTests --detectOpenHandles --forceExit --maxWorkers:[\d%]+"
    r" -w:[\d%]+ --no-cache --colors --expand --listTests --runTestsByPath !-u !--updateSnapshot"
)
_MOCHA_REPORTERS = "dot|spec|min|list|nyan|tap|progress|json"
_MOCHA = (
    "-bcCi --bail --exit --forbid-only --forbid-pending --recursive --parallel --invert -g:any --grep:any -f:any"
    f" --fgrep:any -t:number --timeout:number --retries:number -j:number --jobs:number -R:{_MOCHA_REPORTERS}"
    f" --reporter:{_MOCHA_REPORTERS}"
)
_ESLINT_FORMATS = "stylish|json|unix|compact|tap|html"
_KUBECTL = (
    "-n:any --namespace:any -A --all-namespaces -o:wide|json|yaml|name --output:wide|json|yaml|name -l:any"
    " --selector:any --show-labels --no-headers --sort-by:any --tail:number --since:any -c:any --container:any -p"
    " --previous --timestamps"
)
_GH = "-c --comments --json:any --log --log-failed -L:number --limit:number --state:word -s:word --author:any -l:any" \
      " --label:any --search:any --name-only --patch --required"  # fmt: skip
_TERRAFORM = "-no-color -input:?true|false -refresh:?true|false -lock:?true|false -compact-warnings -json" \
             " -detailed-exitcode -upgrade -recursive -diff ^-check"  # fmt: skip
_DOCKER = "-aqt --all --quiet --no-trunc --timestamps -n:number --tail:any --since:any --until:any --filter:any"
_RUBY_TESTS = r"-f:d|p|documentation|progress -e:any --fail-fast:?\d+ --seed:number --order:word"

_KEPT: Final[Mapping[str, Program]] = {
    "pytest": _keeps(_PYTEST, "tests"),
    "unittest": _keeps("-vqfbc -k:any --locals --verbose --quiet --failfast -s:path -t:path -p:any", "modules"),
    "json.tool": _keeps("--sort-keys --compact --no-ensure-ascii --indent:number", most=1),
    "venv": _keeps("--clear --upgrade-deps --without-pip", "targets"),
    "mypy": _keeps(_MYPY), "dmypy run": _keeps(),
    "pyright": _keeps(r"-p:path --stats --verbose --warnings --outputjson --level:word --pythonversion:[\d.]+"),
    "pyflakes": _keeps(),
    "ruff check": _keeps(
        f"{_RUFF} -e --select:any --ignore:any --extend-select:any --extend-ignore:any --per-file-ignores:any"
        " --output-format:word --statistics --exit-zero --diff --show-files --show-fixes --no-fix !--fix"
        " !--unsafe-fixes"
    ),
    "ruff format": _keeps(f"{_RUFF} ^--check ^--diff"),
    "black": _keeps(
        "-qvS --quiet --verbose --skip-string-normalization --preview --fast --safe -l:number --line-length:number"
        " -t:word --target-version:word --include:any --exclude:any --extend-exclude:any ^--check ^--diff"
    ),
    "isort": _keeps("-qv --profile:word -l:number --line-length:number ^-c ^--check ^--check-only ^--diff"),
    "flake8": _keeps(
        "-qv --count --statistics --show-source --exit-zero --max-line-length:number --max-complexity:number"
        " --select:any --ignore:any --extend-ignore:any --extend-select:any --exclude:any --per-file-ignores:any"
        " -j:number"
    ),
    "pylint": _keeps(
        r"-Ev --errors-only --verbose -d:any --disable:any -e:any --enable:any -j:number --score:word -s:word -r:word"
        r" --reports:word -f:text|colorized|json --output-format:text|colorized|json --max-line-length:number"
        r" --py-version:[\d.]+ --recursive:word --fail-under:[\d.]+ --ignore:any"
    ),
    "eslint": _keeps(
        "--quiet --debug --ext:any --max-warnings:number --no-color --color --no-inline-config --no-ignore"
        " --report-unused-disable-directives --no-error-on-unmatched-pattern --ignore-pattern:any"
        f" -f:{_ESLINT_FORMATS} --format:{_ESLINT_FORMATS} !--fix"
    ),
    "tsc": _keeps(
        "--strict --pretty --skipLibCheck --listFiles --diagnostics --extendedDiagnostics --noErrorTruncation"
        " --noUnusedLocals --noUnusedParameters -p:path --project:path ^--noEmit", form="apart",
    ),
    "prettier": _keeps("-u --ignore-unknown --no-color ^-c ^--check ^-l ^--list-different !-w !--write"),
    "stylelint": _keeps("-q --quiet --color --no-color --max-warnings:number !--fix"),
    "jest": _keeps(_JEST),
    "vitest run": _keeps("-t:any --testNamePattern:any --silent --bail:number --passWithNoTests --coverage"),
    "mocha": _keeps(_MOCHA),
    "shellcheck": _keeps("-xa -s:word -S:word -e:any -f:word --color:word --severity:word --exclude:any --format:word"),
    "rspec": _keeps(_RUBY_TESTS, "tests"),
    "rubocop": _keeps("-DLPS --only:any --except:any --parallel --no-color --fail-fast !-a !-A !--autocorrect"),
    "phpunit": _keeps("--filter:any --group:any --exclude-group:any --testdox --stop-on-failure --colors=", "tests"),
    "ctest": _keeps("-V -N -R:any -E:any -j:number --output-on-failure", "none"),
    "gofmt": _keeps("-s -e ^-l ^-d !-w", form="single"),
    "rustfmt": _keeps("--edition:number ^--check"),
    "clang-format": _keeps("--Werror --style:word ^--dry-run ^-n !-i", form="apart"),
    "tox": _keeps("-qvp -e:target", "none"), "nox": _keeps("-v -s:target", "none"),
    "make": _TARGETS._replace(reads=Use("--version", "version")), "just": _TARGETS,
    **dict.fromkeys(("mvn", "gradle", "./gradlew", "./mvnw"), _JVM),
    **dict.fromkeys(("cp", "mkdir", "touch"), _keeps("-pvfnui --parents --verbose", "names")),
    "jq": _keeps(
        "-rcesSajMCn --raw-output --compact-output --exit-status --slurp --sort-keys --tab --indent:number"
        " --null-input", "filter",
    ),
    **{f"{name} {sub}": _NPM_TEST for name in ("npm", "yarn", "pnpm", "bun") for sub in ("test", "t", "build", "lint")},
    **{f"{name} run": _NPM_RUN for name in ("npm", "yarn", "pnpm", "bun")},
    **{f"{name} {sub}": _NPM_INSTALL for name in ("npm", "yarn", "pnpm", "bun")
       for sub in ("install", "i", "ci", "add")},
    **{f"npm {sub}": _keeps("-a --all --json --depth:number", "targets") for sub in ("ls", "outdated", "audit")},
    **{f"cargo {sub}": _keeps(_CARGO, "none") for sub in ("build", "check", "doc", "tree", "bench")},
    "cargo run": _keeps(_CARGO.replace("--bin:word", "--bin:target"), "none"),
    "cargo test": _keeps(
        _CARGO, "text", after=r"--(nocapture|ignored|include-ignored|exact|show-output|test-threads=\d+)|[\w:]+"
    ),
    "cargo clippy": _keeps(f"{_CARGO} !--fix", "none", after=r"-[DWA]|warnings|clippy::\w+"),
    "cargo fmt": _keeps("-qv --all --quiet --verbose ^--check", "none"),
    "cargo add": _keeps("-q --dev --build --optional --features:any -F:any", "packages"),
    "cargo update": _keeps("-q --dry-run -p:target --package:target", "packages"),
    "go test": _keeps(
        f"{_GO} -short -failfast -cover -count:number -run:any -skip:any -bench:any -benchmem -benchtime:any"
        " -timeout:any -cpu:any -parallel:number -shuffle:any -vet:off|all -list:any -covermode:word", form="single",
    ),
    **{f"go {sub}": _keeps(_GO, form="single") for sub in ("build", "vet", "fmt")},
    "go list": _keeps(f"{_GO} -m -u -deps -test -f:any", form="single"),
    "go mod": _keeps("-v", "targets", form="single"), "go get": _keeps("-u -t -v", "packages", form="single"),
    **{f"{pip} install": _keeps(_PIP, "packages") for pip in ("pip", "pip3", "uv pip")},
    **{f"{pip} {sub}": _keeps("-qv -f --files -o --outdated --format:word --user --local", "text")
       for pip in ("pip", "pip3", "uv pip") for sub in ("list", "show", "freeze", "check")},
    "uv sync": _keeps(
        "-qvU --quiet --verbose --frozen --locked --all-extras --extra:word --group:word --all-groups --dev --no-dev"
        " --upgrade --offline --no-progress", "none",
    ),
    "uv lock": _keeps("-qvU --quiet --upgrade --check --offline", "none"),
    "uv tree": _keeps("-q --depth:number", "none"),
    **{f"{name} {sub}": _keeps("-qvD --quiet --dev --group:word --optional:word", "packages")
       for name in ("uv", "poetry") for sub in ("add", "remove")},
    **{f"poetry {sub}": _keeps("-qvn --quiet --no-interaction --no-root --all-extras --with:any --without:any --sync",
       "packages") for sub in ("install", "update", "lock", "show", "check", "build")},
    "docker build": _keeps(
        "-q --quiet --pull --no-cache --progress:word -t:target --tag:target --target:target -f:target --file:target",
        "targets",
    ),
    **{f"docker {sub}": _keeps(_DOCKER, "text") for sub in ("ps", "images", "logs", "compose ps", "compose logs")},
    **{f"docker compose {sub}": _keeps("-dq --detach --build --wait --no-build --quiet-pull --no-cache", "targets")
       for sub in ("up", "build", "down")},
    **{f"kubectl {sub}": _keeps(_KUBECTL, "targets") for sub in ("get", "describe", "logs")},
    **{f"gh {sub}": _keeps(_GH, "text") for sub in ("pr view", "pr list", "pr diff", "pr checks", "issue view",
       "issue list", "run view", "run list")},
    **{f"terraform {sub}": _keeps(_TERRAFORM, form="single") for sub in ("plan", "validate", "fmt", "init")},
    **{f"dotnet {sub}": _DOTNET for sub in ("build", "test", "restore", "format")},
    **{f"mix {sub}": _keeps("--trace --failed --stale --only:any --exclude:any --seed:number --force"
       " --warnings-as-errors ^--check-formatted", "tests") for sub in ("test", "compile", "format", "deps.get")},
    **{f"swift {sub}": _keeps("-v -c:word --filter:any --parallel", "none") for sub in ("build", "test")},
    **{f"composer {sub}": _keeps("-nq --no-dev --no-scripts --no-interaction --prefer-dist --quiet", "packages")
       for sub in ("install", "update")},
    "bundle install": _keeps("--quiet --jobs:number --retry:number", "none"),
    "git add": _keeps("-AuvnN --all --update --verbose --dry-run --intent-to-add"),
    "git commit": _keeps(
        "-aqvsoi --all --quiet --verbose --signoff --only --include --allow-empty --allow-empty-message --dry-run"
        " --status --no-status --no-gpg-sign -m:any --message:any --author:any --date:any -F:path --file:path"
        " --cleanup:word --trailer:any !--amend !--no-edit !--no-verify !-n"
    ),
    "git merge": _keeps("-qvn --no-ff --ff --ff-only --squash --no-commit --no-edit --stat -m:any", "targets"),
    "git mv": _keeps("-vnk", "names"),
    **{f"git {sub}": _keeps("-nx --no-edit --no-commit -m:number", "targets") for sub in ("cherry-pick", "revert")},
}  # fmt: skip

_IN_GIT: Final[Mapping[str, Program]] = {
    "git checkout": Program(
        keeps=Use("-qt --quiet --track --no-track --detach -b:target", "targets"),
        dangers={DISCARDS: "-f --force -B -- -p --patch --ours --theirs --pathspec-from-file FILE"},
    ),
    "git switch": Program(
        keeps=Use("-qt --quiet --track --detach -c:target --create:target", "targets"),
        dangers={DISCARDS: "-f --force --discard-changes -C --force-create"},
    ),
    "git branch": Program(
        GIT_READS["branch"], Use("-qt --quiet --track --no-track", "targets"),
        {DISCARDS: "-d -D --delete -f --force -M -C"},
    ),
    "git tag": Program(
        GIT_READS["tag"], Use("-a --annotate -m:any --message:any", "targets"), {DISCARDS: "-d --delete -f --force"}
    ),
    "git stash": Program(
        GIT_READS["stash"],
        Use("-uqk --include-untracked --keep-index --quiet -m:any --message:any", "targets"),
        {DISCARDS: "/drop|clear"},
    ),
    "git reset": Program(dangers={DISCARDS: "--hard --merge"}),
    "git reflog": Program(GIT_READS["reflog"], dangers={DISCARDS: "/expire|delete"}),
    "git worktree": Program(GIT_READS["worktree"], dangers={DISCARDS: "/remove"}),
    "git remote": Program(GIT_READS["remote"], dangers={CONFIGURES_GIT: "/set-url|add|rename|remove|rm"}),
    "git push": Program(
        dangers={REWRITES: r"-f --force --force-with-lease --mirror -d --delete --prune /\+.* /:.+", SENDS: ""}
    ),
    **_always(DISCARDS, *(f"git {each}" for each in ("restore", "rebase", "filter-branch", "filter-repo",
              "update-ref", "gc", "prune"))),
    **_always(DELETES, "git clean", "git rm"),
    **_always(CONFIGURES_GIT, "git config"),
    **_always(SENDS, "git send-email"),
}  # fmt: skip

_DANGEROUS: Final[Mapping[str, Program]] = {
    **_always(DELETES, "rm", "rmdir", "shred", "unlink"),
    "rsync": Program(dangers={DELETES: "--delete --delete-before --delete-during --delete-after --delete-excluded"
                              " --delete-delay --delete-missing-args --remove-source-files"}),
    **_always(OVERWRITES, "truncate", "dd", "mkfs", "fdisk", "mkswap", "wipefs", "dropdb"),
    **_always(BECOMES, "sudo", "doas", "su", "pkexec", "chroot"),
    **_always(STOPS, "shutdown", "reboot", "halt", "poweroff", "kill", "killall", "pkill"),
    **dict.fromkeys(("chmod", "chown", "chgrp"), Program(dangers={CHANGES_MODES: "-R --recursive"})),
    **_always("changes scheduled jobs", "crontab"),
    **_always(DISCARDS, *(f"docker {each} prune" for each in ("system", "container", "image", "volume", "network",
              "builder", "buildx")), "docker volume rm", "kubectl delete", "kubectl drain", "terraform destroy"),
    "docker compose down": _KEPT["docker compose down"]._replace(dangers={DISCARDS: "-v --volumes"}),
    **_always(SENDS, *(f"{name} {sub}" for name in ("npm", "yarn", "pnpm", "bun") for sub in ("publish", "unpublish",
              "deprecate", "npm publish")), "uv publish", "poetry publish", "cargo publish", "cargo yank",
              "cargo owner", "gem push", "gem yank", "twine upload", "docker push", "terraform apply",
              *(f"kubectl {each}" for each in ("apply", "create", "replace", "patch", "scale", "rollout")),
              *(f"gh pr {each}" for each in ("merge", "create", "close", "comment", "edit", "ready", "review")),
              *(f"gh issue {each}" for each in ("create", "close", "comment", "delete", "edit", "reopen")),
              *(f"gh repo {each}" for each in ("delete", "create", "edit", "rename", "archive")),
              "gh release", "gh secret", "gh gist create", "gh workflow run", "gh run cancel", "gh run rerun"),
    "gh api": Program(dangers={SENDS: "-X --method -f -F --field --raw-field --input"}),
}  # fmt: skip

PROGRAMS: Final[Mapping[str, Program]] = {
    **_READING,
    **{f"git {name}": Program(reads=use) for name, use in GIT_READS.items()},
    **_KEPT,
    **_IN_GIT,
    **_DANGEROUS,
}
"""By program, or program and subcommand."""

TAKES_VALUE: Final = {
    "git": "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env",
    "docker": "-H --host -c --context --config -l --log-level -f --file -p --project-name --profile --env-file",
    "kubectl": "-n --namespace --context --cluster --user --kubeconfig -s --server --as --as-group --token",
    "gh": "-R --repo --hostname", "npm": "--prefix -C --workspace -w --registry --userconfig --loglevel",
    "yarn": "--cwd", "pnpm": "-C --dir --filter -F", "cargo": "--config -Z --color -C", "uv": "--directory --project",
    "terraform": "-chdir", "poetry": "-C --directory -P --project", "bun": "--cwd",
}  # fmt: skip
"""Options with a value that may precede a subcommand."""


def program_of(words: Sequence[str]) -> Program | None:
    """The entry of a program, or of a program and its subcommand."""
    return PROGRAMS.get(" ".join(words)) if not any(" " in word for word in words) else None
