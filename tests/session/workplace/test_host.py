"""Another host: its address, failures of the connection, verdicts by its files, and answers that are not trusted."""

import json
import sys
import uuid
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.exceptions import ToolFailed

from co_tui.agent.permissions.verdict import Verdict
from co_tui.cli.arguments import parse as parse_arguments
from co_tui.events import Event, SessionResume
from co_tui.paths import locate
from co_tui.session.snapshots.entries import FileEntry
from co_tui.session.state.derive import apply
from co_tui.session.state.session_state import SessionState
from co_tui.session.workplace.host.address import (
    AddressRefused,
    HostAddress,
    HostUnreachable,
    host_address,
    recorded_address,
    resume_hint,
)
from co_tui.session.workplace.host.answers import ANSWERS, FEW_BYTES, has_too_many_values
from co_tui.session.workplace.host.connection import Connection
from co_tui.session.workplace.host.host_commands import HostGuard
from co_tui.session.workplace.host.host_files import HostTexts
from co_tui.session.workplace.host.host_judge import NOT_JUDGED, HostJudge
from co_tui.session.workplace.host.host_snapshots import HostSnapshots
from co_tui.session.workplace.host.host_workplace import HostWorkplace, connect
from co_tui.session.workplace.host.link import HostLink
from co_tui.session.workplace.host.values import decoded, encoded
from co_tui.settings.permission_rules import Rule, RuleInForce
from co_tui.shell.syntax import parse
from tests.support.long_run import also_in_a_long_run
from tests.support.ssh_host import SshHost, stand_in_host


def connected_to(host: SshHost, address: HostAddress) -> HostWorkplace:
    return connect(address, host.environ, locate({"CO_TUI_HOME": str(host.folder / "own")}))


@pytest.fixture
def host(tmp_path: Path) -> SshHost:
    return stand_in_host(tmp_path / "box")


@pytest.mark.parametrize("name", ["-oProxyCommand=touch x", "", "a b", "box;id", "box\n", "$(id)", "--"])
def test_what_is_no_host_is_refused(name: str) -> None:
    with pytest.raises(AddressRefused, match="not a host"):
        host_address(name)


@given(st.from_regex(r"[a-z]{1,9}@[a-z][a-z0-9.-]{0,9}", fullmatch=True), st.text(min_size=1, max_size=20))
def test_an_address_is_read_back_from_the_log(name: str, folder: str) -> None:
    if "\0" in folder or "\n" in folder:
        return
    address = HostAddress(name, f"/{folder}")
    assert recorded_address(address.text) == address


@pytest.mark.parametrize("cwd", ["/srv/app", "/home/a:/b", "", "C:\\x", "notes"])
def test_a_folder_of_this_machine_is_no_address(cwd: str) -> None:
    assert recorded_address(cwd) is None


def test_the_hint_quotes_the_folder() -> None:
    hint = resume_hint(HostAddress("me@box", "/srv/my app; rm"), "id-1")
    assert "co-tui --host me@box '/srv/my app; rm' --resume id-1" in hint


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("--host me@box", None),
        ("--host me@box /srv/app", "/srv/app"),
        ("--host=me@box /srv/app --continue", "/srv/app"),
        ("--host me@box run -p hi", None),
        ("--host me@box /srv/app run -p hi", "/srv/app"),
        ("run --host me@box /srv/app -p hi", "/srv/app"),
        ("run -p hi --host me@box", None),
    ],
)
def test_the_folder_follows_the_host(line: str, folder: str | None) -> None:
    options = parse_arguments(line.split())
    assert options.remote_host == "me@box"
    assert getattr(options, "remote_folder", None) == folder


def test_the_host_of_serve_is_its_own_address() -> None:
    options = parse_arguments(["serve", "--host", "0.0.0.0", "--port", "1"])
    assert options.host == "0.0.0.0" and not hasattr(options, "remote_host")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "ssh: Could not resolve hostname box: Name or service not known",
            "No connection to box: its name is not known.",
        ),
        ("me@box: Permission denied (publickey,password).", "Run `ssh box` once"),
        ("Host key verification failed.", "its host key is not known yet, or it changed. Run `ssh box` once"),
        ("ssh: connect to host box port 22: Connection refused", "it refuses the connection."),
        ("something\nodd \x1b[31mhappened", "No connection to box: odd"),
        ("", "ssh ended without a reason"),
    ],
)
def test_a_failed_connection_is_one_sentence(host: SshHost, said: str, expected: str) -> None:
    connection = Connection(HostAddress("box"), host.environ)
    sentence = str(connection.failure(said))
    connection.close()
    assert expected in sentence and "\n" not in sentence and "\x1b" not in sentence


def test_without_ssh_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(HostUnreachable, match="needs the program ssh"):
        connect(HostAddress("box"), {"PATH": str(tmp_path)}, locate({"CO_TUI_HOME": str(tmp_path)}))


def test_a_missing_folder_is_named(host: SshHost) -> None:
    with pytest.raises(HostUnreachable, match=r"box:/nowhere cannot be used as a folder: No such file"):
        connected_to(host, HostAddress("box", "/nowhere"))


def test_a_host_without_python_is_named(host: SshHost) -> None:
    (host.folder / "bin/ssh").write_text("#!/bin/sh\nexit 93\n")
    with pytest.raises(HostUnreachable, match=r"no Python 3\.10 or newer"):
        connected_to(host, HostAddress("box"))


def test_a_host_that_talks_nonsense_is_refused(host: SshHost) -> None:
    (host.folder / "bin/ssh").write_text("#!/bin/sh\nprintf 'co-tui is ready\\n\\377\\377\\377\\377'; exec cat\n")
    with pytest.raises(HostUnreachable):
        connected_to(host, HostAddress("box"))


@pytest.fixture
def connected(host: SshHost) -> Any:
    folder = host.home / "project"
    folder.mkdir()
    made = connected_to(host, HostAddress("box", "project"))
    yield made
    made.close()


ONE = uuid.uuid4().hex
"""A session; what is left of its commands is found by its name."""


def judge_of(link: HostLink, shown: str) -> HostJudge:
    nowhere = Path("/nowhere")
    there = {"remote_folder": nowhere, "remote_home": nowhere}
    return HostJudge(folder=nowhere, home=nowhere, link=link.session(ONE), shown=shown, **there)


def verdict(made: HostWorkplace, tool: str, mode: str = "ask", rules: Any = (), **arguments: Any) -> Verdict:
    judge = judge_of(made.host.link, made.text)
    return judge.verdict(tool, arguments, mode, rules)


def test_calls_are_judged_by_the_files_there(connected: HostWorkplace, host: SshHost) -> None:
    there = host.home / "project"
    (there / "a.txt").write_text("a")
    (there / "out").symlink_to(host.home)
    assert verdict(connected, "run_command", command="cat a.txt").only_reads
    assert verdict(connected, "run_command", command="cat out/x").action == "ask"
    assert verdict(connected, "run_command", command="cat *").action == "ask"  # one of the names is a link out
    assert verdict(connected, "run_command", command="rm a.txt").danger
    assert verdict(connected, "run_command", "plan", command="touch b").action == "refuse"
    assert verdict(connected, "write_file", "edits", path="a.txt").action == "run"
    assert verdict(connected, "write_file", "edits", path="out/a.txt").action == "ask"
    assert "can make programs run" in verdict(connected, "write_file", "edits", path=".git/config").reason
    denied = (RuleInForce("deny", Rule("Read", "./secret/**"), "settings"),)
    assert verdict(connected, "read_file", rules=denied, path="secret/key").action == "refuse"
    assert verdict(connected, "search_files", rules=denied, path=".").action == "ask"


def test_git_that_would_run_a_program_there_is_asked_about(connected: HostWorkplace, host: SshHost) -> None:
    git = host.home / "project/.git"
    git.mkdir()
    for name, text in {
        "HEAD": "ref: refs/heads/main\n",
        "config": "[core]\n\tfsmonitor = /bin/evil\n\tx = 1\n",
    }.items():
        (git / name).write_text(text)
    (git / "objects").mkdir()
    (git / "refs").mkdir()
    asked = verdict(connected, "run_command", command="git status")
    assert asked.action == "ask"


def test_tools_of_this_machine_are_judged_here(connected: HostWorkplace, host: SshHost) -> None:
    with host.down():
        assert verdict(connected, "web_fetch", url="https://example.org/").action == "ask"
        with pytest.raises(ToolFailed, match=r"it refuses the connection\. The next call connects again"):
            verdict(connected, "run_command", command="ls")
    assert verdict(connected, "run_command", command="ls").only_reads


class Liar(HostLink):
    """A host that answers what a test says."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def ask(self, call: str, *given: Any, session_id: str = "", again: bool = True) -> Any:
        return decoded(json.loads(json.dumps(self.answer)))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {"action": "run"},
        encoded(Verdict("run"))  | {"action": "anything"},
        encoded(Verdict("run")) | {"only_reads": "yes"},
        encoded(Verdict("run")) | {"rules": ["Bash"]},
        encoded(Verdict("ask", rules=(Rule("mcp__files"),))),
        encoded(Verdict("ask", rules=(Rule("WebFetch", "domain:*"),))),
        encoded(Verdict("ask", rules=(Rule("Bash"),))),
        encoded(Verdict("ask", rules=(Rule("Bash", "*"),))),
        encoded(Verdict("ask", rules=(Rule("Bash", "* :*"),))),
        encoded(Verdict("ask", rules=(Rule("Edit", "**"),))),
        encoded(Verdict("run", new=("x" * 1_000_000,))),
        {"_": "Path", "x": 1},
        {"_": "Verdict"},
    ],
)  # fmt: skip
def test_an_answer_that_is_no_verdict_needs_approval(answer: Any) -> None:
    verdict = judge_of(Liar(answer), "box:/x").verdict("run_command", {"command": "ls"}, "auto", ())
    assert verdict == Verdict("ask", NOT_JUDGED, new=("ls",))


# A lying host


_LYING = """#!{python}
import json, struct, sys
source, sink = sys.stdin.buffer, sys.stdout.buffer
if "-O" in sys.argv: sys.exit()
source.read(int(source.readline()))
sink.write(b"co-tui is ready\\n"); sink.flush()
def frame():
    size = source.read(4)
    return json.loads(source.read(struct.unpack(">I", size)[0])) if len(size) == 4 else sys.exit()
while asked := frame():
    answers = json.loads(open("{file}").read())
    lie = answers.get(asked["call"], {{}})
    value = " " * lie.get("spaces", 0) + json.dumps(lie.get("value"))
    data = b'{{"id": %d, "value": %s}}' % (asked["id"], value.encode())
    sink.write(struct.pack(">I", len(data)) + data); sink.flush()
"""
BEGUN = {
    "folder": "/srv",
    "home": "/home/me",
    "guarded": {},
    "platform": "x",
    "shell": "sh",
    "repository": "",
    "branch": "",
    "changed": None,
}


def lying(host: SshHost, call: str = "", **lie: Any) -> HostWorkplace:
    """A connected host that answers one call with something else."""
    answers = write_answers(host, call, **lie)
    (host.folder / "bin/ssh").write_text(_LYING.format(python=sys.executable, file=answers))
    return connected_to(host, HostAddress("box"))


def write_answers(host: SshHost, call: str, **lie: Any) -> Path:
    answers = host.folder / "answers.json"
    answers.write_text(json.dumps({"begin": {"value": BEGUN}, call: lie}))
    return answers


@pytest.mark.parametrize(
    "value", also_in_a_long_run([None, {"folder": 1}, {**BEGUN, "guarded": [1]}], [7, "x", [], {}])
)
def test_a_beginning_that_is_none_is_a_sentence(host: SshHost, value: Any) -> None:
    with pytest.raises(HostUnreachable, match="does not understand"):
        lying(host, "begin", value=value)


@pytest.mark.parametrize("value", [None, 7, "x", [7], {"created": 7}, {"_": "FileEntry", "mode": [], "oid": 1}])
async def test_an_odd_answer_to_any_question_is_a_sentence(host: SshHost, tmp_path: Path, value: Any) -> None:
    made = lying(host)
    link = made.host.link.session(ONE)
    snapshots, guard, texts = HostSnapshots(tmp_path, link), HostGuard("/srv", link), HostTexts("/srv", link, ())
    for call, ask in (
        ("surroundings", lambda: link.ask("surroundings", True)),
        ("texts.stat", lambda: texts.stat("/srv/x")),
        ("texts.list", lambda: texts.list("/srv")),
        ("texts.read", lambda: texts.read("/srv/x")),
        ("texts.find", lambda: texts.find("/srv/x")),
        ("processes.read", lambda: link.ask("processes.read", "a")),
        ("snapshots.take", snapshots.take),
        ("snapshots.read", lambda: snapshots.read("1")),
        ("snapshots.changes", lambda: snapshots.changes(())),
        ("is_protected", lambda: guard.is_protected("x")),
        ("commands.now", lambda: link.ask("commands.now", "a", "")),
        ("files.list", lambda: link.ask("files.list", "/")),
    ):
        write_answers(host, call, value=value)
        with pytest.raises(HostUnreachable, match="box gave an answer that co-tui does not understand"):
            ask()
    made.close()


@pytest.mark.parametrize(
    ("call", "value", "spaces"),
    also_in_a_long_run(
        [("surroundings", BEGUN, 200_000), ("texts.list", [], FEW_BYTES + 1)], [("files.list", [], 31_000_000)]
    ),
)
def test_an_answer_that_is_too_large_for_its_question_is_not_read(
    host: SshHost, call: str, value: Any, spaces: int
) -> None:
    made = lying(host, call, value=value)
    ask = partial(made.host.link.session(ONE).ask, call, again=False)
    assert not ask() or value
    write_answers(host, call, value=value, spaces=spaces)
    with pytest.raises(HostUnreachable):
        ask()
    made.close()


def test_an_answer_of_too_many_values_is_not_read(host: SshHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.session.workplace.host.answers.FEW_BYTES", 10_000)
    made = lying(host, "snapshots.carry_out", value=["a"])
    ask = partial(made.host.link.session(ONE).ask, "snapshots.carry_out", again=False)
    assert ask() == ("a",)
    write_answers(host, "snapshots.carry_out", value=[""] * 5_000)
    with pytest.raises(HostUnreachable):
        ask()
    made.close()


def test_a_long_answer_of_many_small_values_is_known_before_it_is_read() -> None:
    assert has_too_many_values(b"[]," * FEW_BYTES) and not has_too_many_values(b"[]," * 1_000)
    entries = {f"some/folder/file{n}.py": encoded(FileEntry(0o100644, "a" * 40)) for n in range(45_000)}
    data = json.dumps(entries).encode()
    assert FEW_BYTES < len(data) < ANSWERS["snapshots.take"].most_bytes and not has_too_many_values(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_whatever_is_answered_it_has_the_form_or_is_refused(value: Any) -> None:
    for answer in ANSWERS.values():
        with suppress(ValueError):
            answer.read(decoded(value))


@pytest.mark.parametrize("line", ["ls -la", "a | b && c > d", "x=1 y \"$(z)\" 'q'", "for", "cat <<EOF\nx\nEOF"])
def test_a_parsed_line_is_the_same_there(line: str) -> None:
    try:
        parsed = parse(line)
    except Exception:
        return
    assert decoded(json.loads(json.dumps(encoded(parsed)))) == parsed


def test_a_fork_begins_with_snapshots_of_its_own(connected: HostWorkplace, host: SshHost) -> None:
    (host.home / "project/a.txt").write_text("a")
    first = connected.host.link.session(ONE).ask("snapshots.take", "")
    fork = connected.host.link.session(f"{ONE}-2").ask("snapshots.take", first["id"])
    assert first["id"] and fork["before"] == "" and fork["set"] == first["set"]
    again = connected.host.link.session(f"{ONE}-2").ask("snapshots.take", fork["id"])
    assert (again["before"], again["set"]) == (fork["id"], {})


async def test_the_connection_is_renewed(connected: HostWorkplace, host: SshHost) -> None:
    first = await connected.surroundings({})
    host.cut()
    assert await connected.surroundings({}) == first and not first.platform.startswith(" ")


def test_what_was_allowed_in_one_folder_is_asked_again_in_another_and_on_another_host() -> None:
    def resumed(before: str, now: str) -> SessionState:
        state = SessionState(cwd=before, allowed=(Rule("Bash", "rm:*"),))
        return apply(state, Event(session_id="s", seq=1, timestamp="", fact=SessionResume(cwd=now)))

    assert resumed("box:/srv/app", "/home/me").allowed == ()
    assert resumed("box:/srv/app", "other:/srv/app").allowed == ()
    assert resumed("/home/me", "box:/srv/app").allowed == ()
    assert resumed("box:/srv/app", "box:/srv/app").allowed == (Rule("Bash", "rm:*"),)
    assert resumed("/home/me", "/home/you").allowed == ()
