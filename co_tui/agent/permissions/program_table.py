"""One table of programs: how each only reads, what a kept rule for it admits, and what is dangerous about it.

Only what is listed is free or admitted: an option that loads code, writes or sends is simply not listed, so it asks.

See `Use` for how options are written.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from co_tui.agent.permissions.git_table import GIT
from co_tui.agent.permissions.program_options import (
    BECOMES,
    CHANGES_MODES,
    DELETES,
    DISCARDS,
    OVERWRITES,
    SENDS,
    STOPS,
    Program,
    Use,
    always,
    keeps,
    reads,
)

_GREP: Final = reads(
    "-acEFGHhiIlLnoPqrsvwxyZ --color= --colour= --count --extended-regexp --fixed-strings --basic-regexp --perl-regexp"
    " --files-with-matches --files-without-match --ignore-case --no-ignore-case --invert-match --line-number"
    " --no-filename --no-messages --only-matching --quiet --recursive --text --with-filename --word-regexp"
    " --line-regexp --null -e:any --regexp:any -A:number -B:number -C:number -m:number --include:any --exclude:any"
    " --exclude-dir:any --max-count:number --context:number --after-context:number --before-context:number",
    "expression", digits=True, finds_files="-r --recursive",
)  # fmt: skip
_SUMS: Final = reads("-bt --binary --text --tag --zero")
_LINES: Final = reads("-qvz --quiet --verbose -n:number -c:number --lines:number --bytes:number", digits=True)
_READING: Final[Mapping[str, Program]] = {
    "pwd": reads("-LP", "none"),
    **dict.fromkeys(("true", "false", ":", "echo"), reads(operands="anything")),
    "printf": reads(operands="text"),
    **dict.fromkeys(("whoami", "nproc", "arch"), reads(operands="none")),
    "id": reads("-gGnru", "none"),
    "uname": reads("-asnrvmpio", "none"),
    "hostname": reads("-sfid", "none"),
    "date": reads("-uR --utc --iso-8601=", "date"),
    "sleep": reads(operands="number"),
    "seq": reads("-w", "number"),
    "which": reads("-a", "text"),
    "command": reads("-vV", "lookup"),
    "ls": reads(
        "-1AaBCcdFfGghiklmNnopQqRrSstTUuvXxZ --all --almost-all --color= --directory --full-time"
        " --group-directories-first --human-readable --inode --numeric-uid-gid --recursive --reverse --size --sort="
        " --time= --time-style= --classify= --hide= --ignore= -I:any -w:number"
    ),
    "tree": reads(
        "-a -d -f -p -u -g -h -i -D -F -r -t -Q -N -S -n -C -A -J -X -v -c --noreport --dirsfirst --gitignore --prune"
        r" --du --si -L:number -I:any -P:any --filelimit:number --charset:[\w-]*", form="apart",
    ),
    "cat": reads("-AbEensTtuv --number --show-all --show-ends --show-tabs --squeeze-blank"),
    **dict.fromkeys(("tac", "rev", "cksum", "cd"), reads()),
    "nl": reads("-p -b:[atn] -w:number -s:any -v:number -n:[lnrz]{2}"),
    "head": _LINES, "tail": _LINES,
    "wc": reads("-clLmw --bytes --chars --lines --words --max-line-length"),
    "stat": reads("-ft --terse --file-system -c:any --format:any"),
    "file": reads("-bhiN --brief --mime --mime-type --mime-encoding --no-dereference --no-pad"),
    "du": reads(
        "-0abchkmsSxP --all --apparent-size --bytes --total --human-readable --summarize --si --one-file-system"
        " -d:number --max-depth:number --exclude:any"
    ),
    "basename": reads("-az --multiple --suffix= -s:any", "text"),
    "dirname": reads("-z", "text"),
    "realpath": reads("-emLPqsz --canonicalize-existing --canonicalize-missing --no-symlinks"),
    "readlink": reads("-efmnqsvz --canonicalize"),
    "cmp": reads("-bls --print-bytes --verbose --silent --quiet -n:number"),
    "diff": reads(
        "-abBcdEiNpqstTuwyZ --brief --color= --ignore-all-space --ignore-blank-lines --ignore-case"
        " --ignore-space-change --minimal --new-file --no-dereference --report-identical-files --side-by-side"
        " --strip-trailing-cr --suppress-common-lines --text --unified= --width= -U:number -C:number -W:number",
        "files",
    ),
    "comm": reads("-123z --check-order --nocheck-order --total --output-delimiter="),
    "sort": reads(
        "-bcCdfghiMmnrRsuVz --check= --debug --dictionary-order --general-numeric-sort --human-numeric-sort"
        " --ignore-case --ignore-leading-blanks --month-sort --numeric-sort --reverse --stable --unique --version-sort"
        " -k:any -t:any --key:any --field-separator:any"
    ),
    "uniq": reads("-cdDiuz --count --repeated --unique --ignore-case -f:number -s:number -w:number", most=1),
    "cut": reads(
        "-nsz --complement --only-delimited --characters= --bytes= --output-delimiter= -d:any -f:any -c:any -b:any"
        " --delimiter:any --fields:any"
    ),
    "tr": reads("-cCdst --complement --delete --squeeze-repeats --truncate-set1", "text"),
    "fold": reads("-bs --spaces --bytes --width= -w:number"),
    "paste": reads("-sz --serial --delimiters= -d:any"),
    "column": reads("-txn --table -s:any -o:any -c:number"),
    "expand": reads("-i -t:any"),
    **dict.fromkeys(("md5sum", "sha1sum", "sha256sum", "sha512sum"), _SUMS),
    "xxd": reads("-a -b -e -E -i -p -u -C -c:number -g:number -l:number -s:number", most=1, form="apart"),
    "od": reads(r"-abcdfhiloxv -A:[doxn] -t:\w+ -N:number -j:number"),
    "grep": _GREP, "egrep": _GREP, "fgrep": _GREP,
    "rg": reads(
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
    "sed": reads("-nErsz --quiet --silent --regexp-extended", "sed"),
    "test": reads(operands="test"),
    **dict.fromkeys(("python", "python3", "node", "bash", "gcc"), reads("--version", "version")),
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
    " --progress-bar:word --no-build-isolation --force-reinstall ^--dry-run -r:target --requirement:target -e:target"
    " --editable:target"
)
_NPM = "-s -q --silent --quiet --verbose --if-present --no-color"
_NPM_TEST: Final = keeps(
    _NPM, "none", after=r"--(verbose|silent|ci|bail|runInBand|coverage=false|no-coverage|watch(All)?=false|no-watch)"
)
_NPM_RUN: Final = Program(
    keeps=Use(_NPM, "targets", most=1, after="(?!)"), dangers={SENDS: "/(.*:)?(publish|release|deploy)(:.*)?"}
)
_NPM_INSTALL: Final = keeps(
    f"{_NPM} -DE --save-dev --save-exact --no-save --dev --exact --no-audit --no-fund --no-progress ^--ignore-scripts"
    " --prefer-offline --offline --legacy-peer-deps --frozen-lockfile --immutable --production ^--dry-run", "packages",
)  # fmt: skip
_CARGO = (
    "-qvr --quiet --verbose --release --lib --bins --tests --examples --benches --all-targets --all-features"
    " --no-default-features --features:any -F:any -p:word --package:word --workspace --all --bin:word --example:word"
    " --test:word --bench:word --exclude:word --locked --frozen --offline ^--no-run --no-fail-fast --doc --keep-going"
    " --message-format:short|human|json --profile:word -j:number --jobs:number --no-deps --document-private-items"
    " --color:word"
)
_GO = r"-v -x ^-n -race -trimpath -json -p:number -tags:any -mod:mod|readonly|vendor"
_TARGETS: Final = keeps(
    "-vskB ^-n ^-q -j:?\\d+ --silent --quiet --keep-going ^--dry-run --no-print-directory", "targets"
)
_JVM: Final = keeps(
    "-q -B -o -i --batch-mode --quiet --offline --info --stacktrace --continue --parallel --console:word --tests:any"
    " -x:target", "targets", form="glued",
)  # fmt: skip
_JEST = (
    r"-bioe --runInBand --verbose --ci --bail:?\d+ --silent --coverage:?true|false --no-coverage --watchAll:?false"
    r" -t:any --testNamePattern:any --onlyChanged --passWithNoTests --detectOpenHandles --forceExit --maxWorkers:[\d%]+"
    r" -w:[\d%]+ --no-cache --colors --expand ^--listTests --runTestsByPath !-u !--updateSnapshot"
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
_GH = (
    "-c --comments --json:any --log --log-failed -L:number --limit:number --state:word -s:word --author:any -l:any"
    " --label:any --search:any --name-only --patch --required"
)
_TERRAFORM = (
    "-no-color -input:?true|false -refresh:?true|false -lock:?true|false -compact-warnings -json -detailed-exitcode"
    " -upgrade -recursive -diff ^-check"
)
_DOCKER = "-aqt --all --quiet --no-trunc --timestamps -n:number --tail:any --since:any --until:any --filter:any"

_KEPT: Final[Mapping[str, Program]] = {
    "pytest": keeps(_PYTEST, "tests"),
    "unittest": keeps("-vqfbc -k:any --locals --verbose --quiet --failfast -s:path -t:path -p:any", "modules"),
    "json.tool": keeps("--sort-keys --compact --no-ensure-ascii --indent:number", most=1),
    "venv": keeps("!--clear --upgrade-deps --without-pip", "targets"),
    "mypy": keeps(_MYPY),
    "pyright": keeps(r"-p:path --stats --verbose --warnings --outputjson --level:word --pythonversion:[\d.]+"),
    "pyflakes": keeps(),
    "ruff check": keeps(
        f"{_RUFF} -e --select:any --ignore:any --extend-select:any --extend-ignore:any --per-file-ignores:any"
        " --output-format:word --statistics --exit-zero ^--diff ^--show-files --show-fixes ^--no-fix !--fix"
        " !--unsafe-fixes"
    ),
    "ruff format": keeps(f"{_RUFF} ^--check ^--diff"),
    "black": keeps(
        "-qvS --quiet --verbose --skip-string-normalization --preview --fast --safe -l:number --line-length:number"
        " -t:word --target-version:word --include:any --exclude:any --extend-exclude:any ^--check ^--diff"
    ),
    "isort": keeps("-qv --profile:word -l:number --line-length:number ^-c ^--check ^--check-only ^--diff"),
    "flake8": keeps(
        "-qv --count --statistics --show-source --exit-zero --max-line-length:number --max-complexity:number"
        " --select:any --ignore:any --extend-ignore:any --extend-select:any --exclude:any --per-file-ignores:any"
        " -j:number"
    ),
    "pylint": keeps(
        r"-Ev --errors-only --verbose -d:any --disable:any -e:any --enable:any -j:number --score:word -s:word -r:word"
        r" --reports:word -f:text|colorized|json --output-format:text|colorized|json --max-line-length:number"
        r" --py-version:[\d.]+ --recursive:word --fail-under:[\d.]+ --ignore:any"
    ),
    "eslint": keeps(
        "--quiet --debug --ext:any --max-warnings:number --no-color --color --no-inline-config --no-ignore"
        " --report-unused-disable-directives --no-error-on-unmatched-pattern --ignore-pattern:any"
        f" -f:{_ESLINT_FORMATS} --format:{_ESLINT_FORMATS} !--fix"
    ),
    "tsc": keeps(
        "--strict --pretty --skipLibCheck --listFiles --diagnostics --extendedDiagnostics --noErrorTruncation"
        " --noUnusedLocals --noUnusedParameters -p:path --project:path ^--noEmit", form="apart",
    ),
    "prettier": keeps("-u --ignore-unknown --no-color ^-c ^--check ^-l ^--list-different !-w !--write"),
    "stylelint": keeps("-q --quiet --color --no-color --max-warnings:number !--fix"),
    "jest": keeps(_JEST),
    "vitest run": keeps("-t:any --testNamePattern:any --silent --bail:number --passWithNoTests --coverage"),
    "mocha": keeps(_MOCHA),
    "shellcheck": keeps("-x -s:word -S:word -e:any -f:word --color:word --severity:word --exclude:any --format:word"),
    "rspec": keeps(
        r"-f:d|p|documentation|progress -e:any --fail-fast:?\d+ --seed:number --order:word", "tests"
    ),
    "rubocop": keeps("-DLPS --only:any --except:any --parallel --no-color --fail-fast !-a !-A !--autocorrect"),
    "phpunit": keeps("--filter:any --group:any --exclude-group:any --testdox --stop-on-failure --colors=", "tests"),
    "ctest": keeps("-V -N -R:any -E:any -j:number --output-on-failure", "none"),
    "gofmt": keeps("-s -e ^-l ^-d !-w", form="single"),
    "rustfmt": keeps("--edition:number ^--check"),
    "clang-format": keeps("--Werror --style:word ^--dry-run ^-n !-i", form="apart"),
    "tox": keeps("-qvp -e:target", "none"), "nox": keeps("-v -s:target", "none"),
    "make": _TARGETS._replace(reads=Use("--version", "version")), "just": _TARGETS,
    **dict.fromkeys(("mvn", "gradle", "./gradlew", "./mvnw"), _JVM),
    **dict.fromkeys(("cp", "mkdir", "touch"), keeps("-pvfnui --parents --verbose", "names")),
    "jq": keeps(
        "-rcesSajMCn --raw-output --compact-output --exit-status --slurp --sort-keys --tab --indent:number"
        " --null-input", "filter",
    ),
    **{f"{name} {sub}": _NPM_TEST for name in ("npm", "yarn", "pnpm", "bun") for sub in ("test", "t", "build", "lint")},
    **{f"{name} run": _NPM_RUN for name in ("npm", "yarn", "pnpm", "bun")}, "npm run-script": _NPM_RUN,
    **{f"{name} {sub}": _NPM_INSTALL for name in ("npm", "yarn", "pnpm", "bun")
       for sub in ("install", "i", "ci", "add")},
    **{f"npm {sub}": keeps("-a --all --json --depth:number", "targets") for sub in ("ls", "outdated", "audit")},
    **{f"cargo {sub}": keeps(_CARGO, "none") for sub in ("build", "check", "doc", "tree", "bench")},
    "cargo run": keeps(re.sub(r"(-p|--package|--bin|--example):word", r"\1:target", _CARGO), "none"),
    "cargo test": keeps(
        _CARGO, "text", after=r"--(nocapture|ignored|include-ignored|exact|show-output|test-threads=\d+)|[\w:]+"
    ),
    "cargo clippy": keeps(f"{_CARGO} !--fix", "none", after=r"-[DWA]|warnings|clippy::\w+"),
    "cargo fmt": keeps("-qv --all --quiet --verbose ^--check", "none"),
    "cargo add": keeps("-q --dev --build --optional --features:any -F:any", "packages"),
    "cargo update": keeps("-q ^--dry-run -p:target --package:target", "packages"),
    "go test": keeps(
        f"{_GO} -short -failfast -cover -count:number -run:any -skip:any -bench:any -benchmem -benchtime:any"
        " -timeout:any -cpu:any -parallel:number -shuffle:any -vet:off|all -list:any -covermode:word", form="single",
    ),
    **{f"go {sub}": keeps(_GO, form="single") for sub in ("build", "vet", "fmt")},
    "go list": keeps(f"{_GO} -m -u -deps -test -f:any", "targets", form="single"),
    "go mod": keeps("-v", "targets", form="single"), "go get": keeps("-u -t -v", "packages", form="single"),
    **{f"{pip} install": keeps(_PIP, "packages") for pip in ("pip", "pip3", "uv pip")},
    **{f"{pip} {sub}": keeps("-qv -o --outdated --format:word --user --local", "text")
       for pip in ("pip", "pip3", "uv pip") for sub in ("list", "freeze", "check")},
    **{f"{pip} show": keeps("-qv -f --files", "text") for pip in ("pip", "pip3", "uv pip")},
    "uv sync": keeps(
        "-qvU --quiet --verbose --frozen --locked --all-extras --extra:word --group:word --all-groups --dev --no-dev"
        " --upgrade --offline --no-progress", "none",
    ),
    "uv lock": keeps("-qvU --quiet --upgrade --check --offline", "none"),
    "uv tree": keeps("-q --depth:number", "none"),
    **{f"{name} {sub}": keeps("-qvD --quiet --dev --group:word --optional:word", "packages")
       for name in ("uv", "poetry") for sub in ("add", "remove")},
    **{f"poetry {sub}": keeps("-qvn --quiet --no-interaction --no-root --all-extras --with:any --without:any --sync",
       "packages") for sub in ("install", "update", "lock", "show", "check", "build")},
    "docker build": keeps(
        "-q --quiet --pull --no-cache --progress:word -t:target --tag:target --target:target -f:target --file:target",
        "targets",
    ),
    **{f"docker {sub}": keeps(_DOCKER, "text") for sub in ("ps", "images", "logs", "compose ps", "compose logs")},
    **{f"docker compose {sub}": keeps("-dq --detach --build --wait --no-build --quiet-pull --no-cache", "targets")
       for sub in ("up", "build", "down")},
    **{f"kubectl {sub}": keeps(_KUBECTL, "targets") for sub in ("get", "describe", "logs")},
    **{f"gh {sub}": keeps(_GH, "text") for sub in ("pr view", "pr list", "pr diff", "pr checks", "issue view",
       "issue list", "run view", "run list")},
    **{f"terraform {sub}": keeps(_TERRAFORM, form="single") for sub in ("plan", "validate", "fmt", "init")},
    **{f"dotnet {sub}": keeps("--no-restore --no-build --nologo -c:word --configuration:word -v:word --verbosity:word"
       " --filter:any") for sub in ("build", "test", "restore", "format")},
    **{f"mix {sub}": keeps("--trace --failed --stale --only:any --exclude:any --seed:number --force"
       " --warnings-as-errors ^--check-formatted", "tests") for sub in ("test", "compile", "format", "deps.get")},
    **{f"swift {sub}": keeps("-v -c:word --filter:any --parallel", "none") for sub in ("build", "test")},
    **{f"composer {sub}": keeps("-nq --no-dev ^--no-scripts --no-interaction --prefer-dist --quiet", "packages")
       for sub in ("install", "update")},
    "bundle install": keeps("--quiet --jobs:number --retry:number", "none"),
}  # fmt: skip

_DANGEROUS: Final[Mapping[str, Program]] = {
    **always(DELETES, "rm", "rmdir", "shred", "unlink"),
    "rsync": Program(dangers={DELETES: "--delete --delete-before --delete-during --delete-after --delete-excluded"
                              " --delete-delay --delete-missing-args --remove-source-files"}),
    **always(OVERWRITES, "truncate", "dd", "mkfs", "fdisk", "mkswap", "wipefs", "dropdb"),
    **always(BECOMES, "sudo", "doas", "su", "pkexec", "chroot"),
    **always(STOPS, "shutdown", "reboot", "halt", "poweroff", "kill", "killall", "pkill"),
    **dict.fromkeys(("chmod", "chown", "chgrp"), Program(dangers={CHANGES_MODES: "-R --recursive"})),
    **always("changes scheduled jobs", "crontab"),
    **always(DISCARDS, *(f"docker {each} prune" for each in ("system", "container", "image", "volume", "network",
              "builder", "buildx")), "docker volume rm", "kubectl delete", "kubectl drain", "terraform destroy",
              "terraform state rm", "terraform workspace delete"),
    "docker compose down": _KEPT["docker compose down"]._replace(dangers={DISCARDS: "-v --volumes"}),
    **always(SENDS, *(f"{name} {sub}" for name in ("npm", "yarn", "pnpm", "bun") for sub in ("publish", "unpublish",
              "deprecate", "npm publish")),
              # npm knows its subcommands by their beginnings.
              *(f"npm {each[:size]}" for each in ("publish", "unpublish", "deprecate") for size in range(3, len(each))),
              *(f"npm {each}" for each in ("dist-tag add", "dist-tag rm", "owner add", "owner rm", "token create",
                "token revoke", "access set", "access grant", "access revoke")),
              "uv publish", "poetry publish", "cargo publish", "cargo yank", "cargo owner", "gem push", "gem yank",
              "twine upload", "terraform apply",
              *(f"docker {each}" for each in ("push", "image push", "manifest push", "compose push")),
              *(f"kubectl {each}" for each in ("apply", "create", "replace", "patch", "scale", "rollout", "edit", "set",
                "annotate", "label", "cordon", "taint", "run", "expose", "autoscale")),
              *(f"gh pr {each}" for each in ("merge", "create", "close", "comment", "edit", "ready", "review", "reopen",
                "lock")),
              *(f"gh issue {each}" for each in ("create", "close", "comment", "delete", "edit", "reopen", "lock",
                "transfer")),
              *(f"gh repo {each}" for each in ("delete", "create", "edit", "rename", "archive", "unarchive", "sync",
                "fork")),
              "gh release", "gh secret", "gh gist create", "gh workflow run", "gh run cancel", "gh run rerun",
              "gh run delete", "gh gist edit", "gh gist delete", "gh label delete",
              "gh variable", "gh cache delete", "gh workflow disable", "gh ssh-key add"),
    "gh api": Program(dangers={SENDS: "-X --method -f -F --field --raw-field --input"}),
    "curl": Program(dangers={SENDS: "-d --data --data-ascii --data-binary --data-raw --data-urlencode --json -F --form"
              " --form-string -T --upload-file -X --request"}),
    "wget": Program(dangers={SENDS: "--post-data --post-file --body-data --body-file --method"}),
    **always(SENDS, "scp", "sftp", "ftp", "nc", "ncat", "netcat", "socat", "telnet", "mail", "sendmail"),
}  # fmt: skip

PROGRAMS: Final[Mapping[str, Program]] = {
    **_READING,
    **_KEPT,
    **GIT,
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
