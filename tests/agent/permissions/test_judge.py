"""What runs, what is asked about, and what is refused: in each mode, under rules."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.verdict import Verdict
from co_tui.settings.permission_rules import Effect, RuleInForce, parse_rule
from tests.support.cases import each_case
from tests.support.git_checks import git_checked_once


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    (place / "src").mkdir(parents=True)
    (place / "src/a.py").write_text("x")
    (place / "README.md").write_text("x")
    (tmp_path / "outside.txt").write_text("secret")
    (tmp_path / "other").mkdir()
    (place / "link").symlink_to(tmp_path / "outside.txt")
    (place / "away").symlink_to(tmp_path / "other")
    (place / "inner").symlink_to(place / "src")
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    return place


@pytest.fixture
def unchanged(folder: Path) -> Iterator[Path]:
    """The folder, for many lines: whether git only reads there is found out once."""
    with git_checked_once():
        yield folder


def judged(folder: Path, line: str, *rules: str, mode: str = "ask", tool: str = "run_command") -> Verdict:
    return verdict(folder, tool, {"command": line}, *rules, mode=mode)


def verdict(folder: Path, tool: str, arguments: dict[str, str], *rules: str, mode: str = "ask", **more: Any) -> Verdict:
    """Rules are allowed unless they begin with another effect, as in `deny Bash(curl:*)`."""
    written = []
    for text in rules:
        effect: Effect = "ask" if text.startswith("ask ") else "deny" if text.startswith("deny ") else "allow"
        written.append(RuleInForce(effect, parse_rule(text.removeprefix(f"{effect} ")), "test"))
    judge = Judge(folder=folder, home=folder.parent / "home", environ={"PATH": os.environ["PATH"]}, **more)
    return judge.verdict(tool, arguments, mode, written)


@each_case(
    "line",
    ["git status", "git status -s", "git diff HEAD~1 -- src/a.py", "git log --oneline -5", "git show HEAD",
     "git branch", "git branch -a", "git stash list", "git tag --list", "git tag -l 'v*'", "ls", "ls -la src",
     "cat src/a.py", "cat inner/a.py", "cat 'a b.txt'", "head -n 5 README.md", "head -5 README.md", "wc -l src/a.py",
     "pwd", "grep -rn 'def .*(x|y)$' src", 'grep "a;b" README.md', "find . -name '*.py'", "rg -n todo src",
     # several commands
     "git status && git diff | head -5", "grep -rn def src | head -3", "ls *.md", "cd src && ls", "cd src; cat a.py",
     "cat src/a.py 2>/dev/null | sort | uniq -c | sort -rn | head", "ls 2>&1", "ls >/dev/null 2>&1",
     "sed -n '1,20p' src/a.py", "sed -n '5p;7p' src/a.py", "cat < README.md",
     "find . -type f -name '*.py' -exec grep -l x {} \\;", "test -f README.md && echo yes || echo no",
     "timeout 5 ls", "command -v python3", "echo --- done ---", "cat <<'EOF'\n$(rm x)\nEOF", "diff README.md src/a.py",
     "git log --format='%h %s' -3", "git --no-pager diff", "ls src/*.py inner/*.py"],
)  # fmt: skip
def test_what_only_reads_runs_without_a_question(unchanged: Path, line: str) -> None:
    found = judged(unchanged, line)
    assert (found.action, found.only_reads) == ("run", True)
    assert judged(unchanged, line, mode="plan").action == "run"
    assert judged(unchanged, line, tool="start_command").action == "ask", "what continues by itself is asked about"


@each_case(
    "line",
    ["", "   ", "pytest", "python x.py", "make", "./ls", "/bin/ls", "ls > x", "ls >> x", "ls 2> x", "ls &",
     "echo \"$(git rev-parse HEAD)\"",
     "echo $HOME", "echo `id`", "echo $(touch x)", 'echo "$(touch x)"', "cat $(echo /etc/passwd)", "ls\ntouch x",
     "cat {a,b}", "ls \"it's\" ; touch 'x'",
     # out of the folder
     "cat /etc/passwd", "cat ../outside.txt", "cat src/../../outside.txt", "cat link", "cat l*", "cat away/x", "ls ~",
     "cat ~/x", "ls /", "grep -f ../outside.txt x", "diff README.md /etc/passwd", "cd .. && cat outside.txt",
     "cd away && ls", "cd inner && cat ../src/a.py", "cat < /etc/passwd", "cd src; cd ..; cd ..; ls",
     "cd nowhere || cat ../outside.txt",
     # options that write, run or follow links
     "find . -exec id \\;", "find . -delete", "find . -fprint x", "find -L .", "find . -follow", "ls -L", "ls -LR",
     "diff -r src inner", "diff src inner", "find . -not -type f -exec cat {} \\;", "find . -exec cat {} \\; -type f",
     "find . -type f -o -type l -exec cat {} \\;", "find . -name x -exec cat {} +", "git diff --output=x",
     "git diff --outp=x", "git log --output x", "git -c core.pager=id log", "git --paginate log", "git branch new",
     "git branch -D x", "git tag v1", "git diff --no-index a b", "git log --show-signature", "git log --format=%G?",
     "git for-each-ref --format='%(signature)'", "git grep -O x", "git cat-file --filters HEAD:x", "grep -Rn x .",
     "rg --pre id x", "rg -L x", "rg --follow x", "rg -z x", "tail -f x", "tail -nf x", "sort -o x README.md",
     "sort --compress-program=id x", "uniq a b", "sed -n '1w x' README.md", "sed -i s/a/b/ README.md", "sed '1e id'",
     "sed -n '/[/]w x/p' a", "date -s now", "date 01010000", "hostname evil", "file -C", "xxd -r a b", "tree -o x",
     "tee x", "awk 1", "A=1 ls", "env ls", "xargs cat", "sh -c ls", "git remote add x y", "git config --list",
     "sed -n '-e1e touch planted' -- -e p README.md", "git log -p --pretty --output=x", "git log -gS --output=x",
     "cat < ~/.ssh/id_rsa", "cat .?/outside.txt", "grep -r x .*", "command cd src && cat ../link",
     "cd src && cd nowhere; cat ../link", "test -v 'a[0]'", "xxd -ac 5 README.md", "strings @x", "git grep x",
     "cat /proc/self/cwd/link", "echo /etc/*", "l? src", "echo x >&'２'", "tree -Io x y", "git log --format=%+G?",
     "printf -v x y", "git reflog expire", "git whatchanged",
     "wc --files0-from=x", "du --files0-from=x", "sha256sum -c x"],
)  # fmt: skip
def test_everything_else_is_asked_about(unchanged: Path, line: str) -> None:
    assert judged(unchanged, line).action == "ask"
    assert judged(unchanged, line, mode="edits").action == (
        "run" if line.startswith(("ls > x", "ls >> x", "ls 2> x", "echo x >&")) else "ask"
    )
    assert judged(unchanged, line, mode="plan").action == "refuse"


def test_a_file_named_like_an_option_is_never_one(folder: Path) -> None:
    (folder / "src/--output=planted").write_text("")
    found = judged(folder, "cd src && git diff *")
    assert found.action == "run" and "./--output=planted" in found.judged_line
    assert judged(folder, "cd src && git diff --output=planted").action == "ask"


@each_case(
    ("line", "rules"),
    [
        ("pytest -q tests", ["Bash(pytest, harmless options)"]),
        ("CI=1 python3 -m pytest", ["Bash(python3 -m pytest, harmless options)"]),
        ("LD_PRELOAD=x pytest", ["Bash(LD_PRELOAD=x pytest)"]),
        ("python3.11 x.py", ["Bash(python3.11 x.py)"]),
        ("uv run python x.py", ["Bash(uv run python x.py)"]),
        ("uv run pytest -q", ["Bash(uv run pytest, harmless options)"]),
        ("docker run alpine ls", ["Bash(docker run alpine ls)"]),
        ("poetry run sh x", ["Bash(poetry run sh x)"]),
        ("npm exec foo", ["Bash(npm exec foo)"]),
        ("npm run build", ["Bash(npm run build, harmless options)"]),
        ("find . -exec id {} +", ["Bash(find . -exec id '{}' +)"]),
        ("sed -i s/a/b/ x", ["Bash(sed -i s/a/b/ x)"]),
        ("busybox ls", ["Bash(busybox ls)"]),
        ("stdbuf -oL python x.py", ["Bash(stdbuf -oL python x.py)"]),
        ("timeout 60 pytest -q", ["Bash(pytest, harmless options)"]),
        ("git commit -m 'all of it'", ["Bash(git commit, harmless options)"]),
        ("git -C x commit", ["Bash(git -C x commit)"]),
        ("unknown-tool --x", ["Bash(unknown-tool --x)"]),
        ("grep -rn TODO src | head -5 && pytest -q && make lint",
         ["Bash(pytest, harmless options)", "Bash(make lint, harmless options)"]),
        ("echo x > src/b.py", ["Edit(src/**)"]),
        ("echo x > b.py", ["Edit(./*)"]),
        ("pytest > src/log", ["Edit(src/**)", "Bash(pytest, harmless options)"]),
        # What cannot be kept
        ("git push origin", []),
        ("rm *.pyc", []),
        ("make *", []),
        ("pytest $(ls)", []),
        ("pytest &", []),
        ("echo x > ../b.py", []),
        ("echo x > .git/hooks/pre-commit", []),
        ("cp x .git/hooks/pre-commit", []),
        ("pytest && cp x .git/hooks/pre-commit", []),
        ("python -c '\nprint(1)'", []),
    ],
)  # fmt: skip
def test_an_answer_may_keep_what_it_shows(folder: Path, line: str, rules: list[str]) -> None:
    found = judged(folder, line)
    assert found.action == "ask"
    assert [str(rule) for rule in found.rules] == rules
    if rules:
        assert judged(folder, line, *rules).action == "run", "what was kept holds for the same line"


@each_case(
    "line",
    ["pytest; rm x", "pytest && make", "pytest | sh", "pytest > src/x", "pytest $(make)", "pytest `id`", "pytest\nmake",
     "pytestx", "X=1 pytest", "env pytest", "pytest & id", "sh -c pytest", "pytest .git/hooks"],
)  # fmt: skip
def test_a_rule_allows_no_other_command(folder: Path, line: str) -> None:
    assert judged(folder, "pytest -q", "Bash(pytest:*)").action == "run"
    assert judged(folder, line, "Bash(pytest:*)").action == "ask"


@each_case("line", ["cat x | sh", "echo 1 | python3", "python3 < x", "python3 <<'E'\n1\nE", "git apply < x"])
def test_what_runs_its_input_is_allowed_only_once(folder: Path, line: str) -> None:
    assert judged(folder, line).rules == ()
    assert judged(folder, line, "Bash(sh)", "Bash(python3)", "Bash(git apply)").action == "ask"


def test_a_rule_for_copying_stays_in_the_folder(folder: Path) -> None:
    assert [str(rule) for rule in judged(folder, "cp README.md src/b.md").rules] == ["Bash(cp, harmless options)"]
    for rule in ("Bash({}:*)", "Bash({}, harmless options)"):
        rules = [rule.format("cp"), rule.format("touch")]
        assert judged(folder, "cp README.md src/c.md", *rules).action == "run"
        for line in ("cp README.md ../x", "cp /etc/hostname x", "cp link x", "touch ~/x", "cd src && cp a.py ../../x"):
            assert judged(folder, line, *rules).action == "ask", line
    assert [str(rule) for rule in judged(folder, "cp README.md ../x").rules] == ["Bash(cp README.md ../x)"]


@each_case(
    ("line", "reason"),
    [("cat /etc/passwd", "outside this folder"), ("ls ..", "outside this folder"),
     ("echo $HOME", "known only when it runs"),
     ("cp x .git/hooks/x", ".git can make programs run"), ("pytest", "")],
)  # fmt: skip
def test_a_question_says_why_where_that_is_not_plain(folder: Path, line: str, reason: str) -> None:
    found = judged(folder, line).reason
    assert reason in found if reason else not found


def test_a_question_names_what_is_new(folder: Path) -> None:
    found = judged(folder, "grep -rn TODO src | head -5 && pytest -q tests && mypy", "Bash(mypy:*)")
    assert found.new == ("pytest -q tests",)


@each_case(
    ("line", "danger"),
    [("rm -rf build", "deletes files"), ("cd src && rm -r x", "deletes files"), ("sh -c 'rm -rf x'", "deletes files"),
     ("r''m x", "deletes files"), ("\\rm x", "deletes files"), ("echo `rm x`", "deletes files"),
     ("ls | xargs rm", "deletes files"), ("find . -delete", "deletes files"), ("find . -exec rm {} +", "deletes files"),
     ("sudo ls", "runs as another user"), ("git push", "publishes or sends to others"),
     ("npm publish", "publishes or sends to others"),
     *((line, "publishes or sends to others") for line in ("curl -d @a.txt http://x", "curl -T a.txt https://x",
       "curl -Ff=@a.txt https://x", "wget --post-file=a.txt https://x", "scp a.txt h:", "nc h 1 < a.txt")),
     ("curl -s x | sh", "runs what it downloads"),
     ("git reset --hard HEAD", "discards work"), ("git checkout -- .", "discards work"), ("kill 1", "stops processes"),
     ("git commit -m 'rm the cache'", ""), ("git add .", ""), ("pip install x", ""), ("echo x | tee rm", "")],
)  # fmt: skip
def test_what_destroys_or_publishes_is_said_and_never_kept(folder: Path, line: str, danger: str) -> None:
    found = judged(folder, line)
    assert (found.action, found.danger) == ("ask", danger)
    if danger:
        assert found.rules == ()
        assert judged(folder, line, "Bash", "Bash(git:*)").action == "ask", "no general rule covers it"
        assert judged(folder, line, mode="auto").action == "ask"


@each_case(
    "line", ["mv e .vscode", "mv tasks.json .vscode/", "cp -t .vscode tasks.json", "ln -s ../tasks.json .vscode",
             "install tasks.json .vscode", "rsync e/ .vscode/", "tar xf a.tar -C .vscode", "mv e/* .yarn"],
)  # fmt: skip
def test_what_a_command_puts_into_a_folder_that_programs_obey_is_asked_about_each_time(folder: Path, line: str) -> None:
    for name in (".vscode", ".yarn", "e"):
        (folder / name).mkdir(exist_ok=True)
    found = judged(folder, line)
    assert found.action == "ask" and not found.is_plain_question and not found.can_be_allowed


def test_a_rule_that_names_the_danger_covers_it(folder: Path) -> None:
    assert judged(folder, "rm x", "Bash(rm:*)").action == "run"
    assert judged(folder, "git push origin", "Bash(git push:*)").action == "run"


@each_case(
    "line", ["curl x", "ls && curl x", "timeout 5 curl x", "sh -c 'curl x'", "xargs curl", "echo $(curl x)", "curl `x`",
             "if true; then curl x; fi"],
)  # fmt: skip
def test_deny_wins_however_deep_the_command_is(folder: Path, line: str) -> None:
    found = judged(folder, line, "deny Bash(curl:*)", "Bash(curl:*)", "Bash", mode="auto")
    assert found.action == "refuse" and "Bash(curl:*)" in found.reason


def test_rules_about_files_count_in_every_mode(folder: Path) -> None:
    for line in ("cat README.md", "echo x > README.md", "cp src/a.py README.md", "sed -i s/x/y/ README.md"):
        for rules in (("ask Read(README.md)", "ask Edit(README.md)"), ("deny Read(README.md)", "deny Edit(README.md)")):
            assert judged(folder, line, *rules, "Bash", mode="auto").action == (
                "ask" if "ask" in rules[0] else "refuse"
            )
    assert judged(folder, "(cat README.md)", "deny Read(README.md)", mode="auto").action == "ask"


@each_case("line", ["make lint --eval=x", "make lint SHELL=x", "pylint --init-hook=x", "go test -exec x"])
def test_a_rule_for_any_arguments_covers_no_code_in_them(folder: Path, line: str) -> None:
    rules = ("Bash(make lint:*)", "Bash(pylint:*)", "Bash(go test:*)")
    assert judged(folder, line, *rules).action == "ask"
    assert judged(folder, "make lint -j4", *rules).action == "run"


def test_files_of_co_tui_itself_are_asked_about_in_a_home_folder(folder: Path) -> None:
    judge = Judge(folder=folder, home=folder, environ={}, own=(folder / ".config/co-tui",))
    assert judge.verdict("write_file", {"path": ".config/co-tui/config.toml"}, "edits", ()).action == "ask"
    assert judge.verdict("run_command", {"command": "echo x > .config/co-tui/a"}, "edits", ()).action == "ask"
    assert judge.verdict("write_file", {"path": ".config/other"}, "edits", ()).action == "run"


def test_ask_wins_over_allow(folder: Path) -> None:
    found = judged(folder, "git commit -m x", "ask Bash(git commit:*)", "Bash(git commit:*)")
    assert found.action == "ask" and found.rules == () and "Bash(git commit:*)" in found.reason
    assert judged(folder, "git status", "ask Bash(git:*)").action == "ask", "also over what is free"


def test_files_that_must_not_be_read_are_not_read_by_commands_either(folder: Path) -> None:
    rule = "deny Read(README.md)"
    assert verdict(folder, "read_file", {"path": "src/../README.md"}, rule).action == "refuse"
    for line in ("cat README.md", "cat *.md", "cat < README.md", "cd src && cat ../README.md", "head -1 ./README.md"):
        assert judged(folder, line, rule).action == "refuse", line
    for line in ("grep -r x .", "rg x", "git diff", "git show"):
        assert judged(folder, line, rule).action == "ask", line
    assert judged(folder, "cat src/a.py", rule).action == "run"
    assert verdict(folder, "read_file", {"path": "src/a.py"}, rule).action == "run"


def test_reading_outside_is_free_where_a_rule_says_so(folder: Path) -> None:
    outside = folder.parent / "outside.txt"
    assert judged(folder, f"cat {outside}", f"Read(/{outside})").action == "run"
    assert judged(folder, f"cat {outside}", "Read(**)").action == "ask"


@each_case(
    ("mode", "inside", "protected", "outside", "command"),
    [("ask", "ask", "ask", "ask", "ask"), ("edits", "run", "ask", "ask", "ask"),
     ("plan", "refuse", "refuse", "refuse", "refuse"), ("auto", "run", "ask", "ask", "run")],
)  # fmt: skip
def test_modes(folder: Path, mode: str, inside: str, protected: str, outside: str, command: str) -> None:
    for tool in ("write_file", "edit_file", "create_directory"):
        assert verdict(folder, tool, {"path": "src/new.py"}, mode=mode).action == inside
        assert verdict(folder, tool, {"path": "../x"}, mode=mode).action == outside
        assert verdict(folder, tool, {"path": "away/x"}, mode=mode).action == outside
        for name in (".git/hooks/pre-commit", ".co-tui.toml", ".mcp.json", "src/.claude/x", ".AGENTS/x", ".codex"):
            assert verdict(folder, tool, {"path": name}, mode=mode).action == protected, name
    assert judged(folder, "unknown-tool", mode=mode).action == command
    assert verdict(folder, "mcp__a__b", {}, mode=mode).action == ("refuse" if mode == "plan" else "ask")
    assert verdict(folder, "read_file", {"path": "README.md"}, mode=mode).action == "run"


def test_protected_names_ask_whatever_rules_allow(folder: Path) -> None:
    found = verdict(folder, "write_file", {"path": ".git/config"}, "Edit", "Edit(.git/**)", mode="edits")
    assert found.action == "ask" and found.rules == () and ".git" in found.reason
    assert judged(folder, "echo x > .git/config", "Edit", "Bash", mode="edits").action == "ask"


def test_a_change_offers_its_folder(folder: Path) -> None:
    assert [str(rule) for rule in verdict(folder, "write_file", {"path": "src/x/a.py"}).rules] == ["Edit(src/x/**)"]
    assert [str(rule) for rule in verdict(folder, "write_file", {"path": "a.py"}).rules] == ["Edit(./*)"]
    assert verdict(folder, "write_file", {"path": "src/x/b.py"}, "Edit(src/x/**)").action == "run"
    assert verdict(folder, "write_file", {"path": "src/x/../../b.py"}, "Edit(src/x/**)").action == "ask"
    assert verdict(folder, "write_file", {"path": "src/b.py"}, "deny Edit(src/**)", mode="edits").action == "refuse"


def test_a_server_tool_is_allowed_by_its_name(folder: Path) -> None:
    assert [str(rule) for rule in verdict(folder, "mcp__a__b", {}).rules] == ["mcp__a__b"]
    assert verdict(folder, "mcp__a__b", {}, "mcp__a__b").action == "run"
    assert verdict(folder, "mcp__a__bc", {}, "mcp__a__b").action == "ask"
    assert verdict(folder, "mcp__a__b", {}, "mcp__a", "deny mcp__a__b").action == "refuse"


def fetched(folder: Path, url: str, *rules: str, mode: str = "ask") -> Verdict:
    return verdict(folder, "web_fetch", {"url": url}, *rules, mode=mode)


@each_case(
    ("rules", "marked", "why"),
    [
        ([], True, "no rule allows mcp__shop__look"),
        (["mcp__shop"], False, "MCP server shop does not mark it as read-only"),
        (["mcp__shop", "ask mcp__shop__look"], True, "no rule allows mcp__shop__look"),
        (["mcp__shop"], True, ""),
    ],
)
def test_a_server_tool_in_plan_mode_needs_a_rule_and_its_servers_mark(
    folder: Path, rules: list[str], marked: bool, why: str
) -> None:
    found = verdict(folder, "mcp__shop__look", {}, *rules, mode="plan", is_read_only=lambda tool: marked)
    assert (found.action == "run") is not bool(why) and why in found.reason


def test_a_page_is_asked_about_by_its_domain(folder: Path) -> None:
    found = fetched(folder, "https://Docs.Example.com./a?b")
    assert (found.action, found.new) == ("ask", ("docs.example.com",))
    assert list(map(str, found.rules)) == ["WebFetch(domain:docs.example.com)"]
    for mode in ("edits", "auto", "plan"):
        assert fetched(folder, "https://docs.example.com/", mode=mode).action == "ask"


@each_case(
    ("rules", "action"),
    [
        (["WebFetch(domain:docs.example.com)"], "run"),
        (["WebFetch(domain:*.example.com)"], "run"),
        (["WebFetch"], "run"),
        (["WebFetch(domain:example.com)"], "ask"),
        (["WebFetch", "ask WebFetch(domain:docs.example.com)"], "ask"),
        (["WebFetch", "ask WebFetch", "deny WebFetch(domain:*.example.com)"], "refuse"),
    ],
)
def test_rules_about_domains(folder: Path, rules: list[str], action: str) -> None:
    assert fetched(folder, "http://docs.example.com:8080/x", *rules).action == action


def test_a_page_on_this_machine_needs_a_rule_that_names_it(folder: Path) -> None:
    for rules in ([], ["WebFetch"], ["WebFetch(domain:*)"], ["WebFetch(domain:127.0.0.*)"]):
        found = fetched(folder, "http://127.0.0.1:8000/", *rules)
        assert (found.action, found.rules, found.danger) == ("ask", (), "on this machine or a private network")
    assert fetched(folder, "http://127.0.0.1:8000/", "WebFetch(domain:127.0.0.1)").action == "run"
    assert fetched(folder, "http://[::ffff:127.0.0.1]/", "WebFetch(domain:127.0.0.1)").action == "run"
    assert fetched(folder, "http://localhost/", "WebFetch(domain:127.0.0.1)").action == "ask"
    assert fetched(folder, "http://localhost/", "ask WebFetch").danger
    assert fetched(folder, "http://[::1]/", "deny WebFetch").action == "refuse"


def test_an_address_that_cannot_be_read_is_left_to_the_tool(folder: Path) -> None:
    for url in ("", "file:///etc/passwd", "http://a:b@c.example/", "http://169.254.169.254/"):
        assert fetched(folder, url, "deny WebFetch").action == "run"


def test_a_search_is_asked_about_once(folder: Path) -> None:
    found = verdict(folder, "web_search", {"query": "foxes"})
    assert (found.action, list(map(str, found.rules))) == ("ask", ["WebSearch"])
    assert verdict(folder, "web_search", {"query": "foxes"}, "WebSearch").action == "run"
    assert verdict(folder, "web_search", {"query": "foxes"}, "WebSearch", "deny WebSearch").action == "refuse"
