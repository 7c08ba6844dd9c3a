"""Git's part of the table of programs. Whoever lets git read must also guard it against what the folder configures."""

from collections.abc import Mapping
from typing import Final

from co_tui.agent.permissions.program_options import (
    CONFIGURES_GIT,
    DELETES,
    DISCARDS,
    REWRITES,
    SENDS,
    Program,
    Use,
    always,
    keeps,
)

_DIFF: Final = (
    "--abbrev= --cached --staged --check --color= --no-color --color-words= --compact-summary --cumulative"
    " --diff-algorithm= --dirstat= --exit-code --find-copies= --find-renames= --full-index --function-context"
    " --histogram --ignore-all-space --ignore-blank-lines --ignore-space-at-eol --ignore-space-change"
    " --ignore-submodules= --inter-hunk-context= --merge-base --minimal --name-only --name-status --no-ext-diff"
    " --no-patch --no-prefix --no-renames --no-textconv --numstat --patch --patch-with-stat --patience --pickaxe-all"
    " --pickaxe-regex --quiet --raw --relative --shortstat --stat= --summary --text --word-diff= --word-diff-regex="
    " -U:number -S:any -G:any --diff-filter:word --unified:number"
)
_LOG_ONLY: Final = (
    "--abbrev-commit --no-abbrev-commit --all --all-match --ancestry-path --boundary --branches= --cherry"
    " --cherry-mark --cherry-pick --children --cc --date-order --author-date-order --topo-order --decorate="
    " --no-decorate --decorate-refs= --dense --sparse --extended-regexp --first-parent --fixed-strings --follow"
    " --full-diff --full-history --format:?format --pretty:?format --graph --invert-grep --left-right --left-only"
    " --right-only --max-parents= --merges --no-merges --min-parents= --notes --no-notes --oneline --parents"
    " --perl-regexp --regexp-ignore-case --relative-date --remotes= --reverse --simplify-by-decoration"
    " --simplify-merges --source --tags= --walk-reflogs --reflog --no-walk= --show-pulls -n:number -L:any"
    " --since:any --until:any --after:any --before:any --author:any --committer:any --grep:any --max-count:number"
    " --skip:number --date:any"
)
_LOG: Final = Use(f"-pusmcbwtzRWqaigEFP {_DIFF} {_LOG_ONLY}", "revisions", digits=True, form="glued", finds_files="*")

_SORT: Final = r"--sort:(?!.*signature)[\w:-]+"
"""By a signature would start another program."""

GIT_READS: Final[Mapping[str, Use]] = {
    "status": Use(
        "-sbvz -u:?no|all|normal --short --branch --show-stash --porcelain= --long --verbose --untracked-files="
        " --ignore-submodules= --ignored= --ahead-behind --no-ahead-behind --renames --no-renames --column="
        " --no-column",
        "revisions", finds_files="-v --verbose",
    ),
    "diff": Use(f"-abpqRsuwzMCDBW {_DIFF}", "revisions", form="glued", finds_files="*"),
    "log": _LOG,
    "show": _LOG,
    "reflog": _LOG._replace(operands="reflog"),
    "rev-list": Use(f"-nz {_DIFF} {_LOG_ONLY} --count --objects", "revisions", digits=True, form="glued"),
    "shortlog": Use(
        "-nsec --numbered --summary --email --no-merges --all --since:any --until:any", "revisions", form="glued",
    ),
    "blame": Use(
        "-clteswfnbp --porcelain --line-porcelain --show-name --show-number --show-email --since= --color-lines"
        " --color-by-age --abbrev= -L:any --date:any", "revisions", finds_files="*",
    ),
    "ls-files": Use(
        "-cdmosutvzk --cached --deleted --modified --others --stage --unmerged --exclude-standard --full-name"
        " --error-unmatch --ignored --directory --deduplicate --eol -x:any --exclude:any", "revisions",
    ),
    "ls-tree": Use("-drtlz --name-only --name-status --full-name --full-tree --long --abbrev=", "revisions"),
    "rev-parse": Use(
        "-q --short= --abbrev-ref= --verify --quiet --show-toplevel --show-prefix --show-cdup --git-dir"
        " --git-common-dir --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository"
        " --is-shallow-repository --all --branches= --tags= --remotes= --symbolic --symbolic-full-name"
        " --show-superproject-working-tree --show-object-format=", "revisions",
    ),
    "describe": Use(
        "--all --tags --contains --always --long --dirty= --broken= --exact-match --candidates= --exclude="
        " --first-parent --match:any --abbrev:number", "revisions",
    ),
    "merge-base": Use("-a --all --octopus --is-ancestor --fork-point", "revisions"),
    "name-rev": Use("--name-only --tags --always --refs=", "revisions"),
    "cat-file": Use("-tsep", "revisions", finds_files="*"),
    "show-ref": Use("-dsq --heads --branches --tags --head --hash= --verify --abbrev=", "revisions"),
    "for-each-ref": Use(
        f"--merged= --no-merged= --contains= --points-at= --format:format {_SORT} --count:number", "revisions",
        finds_files="*",
    ),
    "count-objects": Use("-vH --verbose --human-readable", "none"),
    "check-ignore": Use("-qvn --quiet --verbose --no-index", "revisions"),
    "branch": Use(
        "-arv --all --remotes --list --show-current --verbose --no-color --color= --merged --no-merged"
        f" {_SORT}", "listing",
    ),
    "tag": Use(f"-l --list {_SORT}", "listing"),
    "remote": Use("-v --verbose", "none"),
    "stash": Use(operands="stash", finds_files="*"),
    "worktree": Use(operands="list"),
    "version": Use(operands="none"),
}  # fmt: skip

GIT: Final[Mapping[str, Program]] = {
    **{f"git {name}": Program(reads=use) for name, use in GIT_READS.items()},
    "git add": keeps("-AuvN ^-n --all --update --verbose ^--dry-run --intent-to-add"),
    "git commit": keeps(
        "-aqvsoi --all --quiet --verbose --signoff --only --include --allow-empty --allow-empty-message ^--dry-run"
        " --status --no-status --no-gpg-sign -m:any --message:any --author:any --date:any -F:path --file:path"
        " --cleanup:word --trailer:any !--amend !--no-edit !--no-verify !-n"
    ),
    "git merge": Program(
        keeps=Use("-qvn --no-ff --ff --ff-only --squash --no-commit --no-edit --stat -m:any", "targets"),
        dangers={DISCARDS: "--abort"},
    ),
    "git mv": keeps("-vk ^-n", "names"),
    **dict.fromkeys(("git cherry-pick", "git revert"), Program(
        keeps=Use("-nx --no-edit --no-commit -m:number", "targets"), dangers={DISCARDS: "--abort"},
    )),
    "git am": Program(dangers={DISCARDS: "--abort"}),
    "git checkout-index": Program(dangers={DISCARDS: "-f --force"}),
    "git read-tree": Program(dangers={DISCARDS: "--reset"}),
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
    **always(DISCARDS, *(f"git {each}" for each in ("restore", "rebase", "filter-branch", "filter-repo",
              "update-ref", "gc", "prune", "submodule deinit"))),
    **always(DELETES, "git clean", "git rm"),
    **always(CONFIGURES_GIT, "git config"),
    **always(SENDS, *(f"git {each}" for each in ("send-email", "send-pack", "http-push", "imap-send", "svn dcommit",
              "p4 submit"))),
}  # fmt: skip
