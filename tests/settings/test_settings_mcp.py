"""MCP servers in settings: what is accepted, how a bad value is reported, and which layers count."""

from pathlib import Path

import pytest

from co_tui.paths import locate
from co_tui.settings import Loaded, SettingsError, check, load
from co_tui.settings.mcp_servers import McpServer, VariableMissing, with_variables
from co_tui.settings.writing import server_table, write
from co_tui.trust import Trust
from tests.support.cases import each_case
from tests.support.here import Here

TIME = '[mcp_servers.time]\ncommand = "mcp-server-time"\nargs = ["--local-timezone", "UTC"]\nenv = { A = "${B}" }\n'
DOCS = '[mcp_servers.docs]\nurl = "https://docs.example/mcp"\nheaders = { Authorization = "Bearer ${DOCS_KEY}" }\n'


def loaded(home: Path, folder: Path, **environ: str) -> Loaded:
    paths = locate({"CO_TUI_HOME": str(home)})
    return load(paths=paths, cwd=folder, environ=environ)


def written(home: Path, text: str) -> None:
    file = locate({"CO_TUI_HOME": str(home)}).config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_programs_and_addresses_can_be_mixed(home: Path, folder: Path) -> None:
    written(home, TIME + DOCS + "enabled = false\ntimeout_s = 5\n")
    found = loaded(home, folder)
    assert found.problems == () and dict(found.settings.mcp_servers) == {
        "time": McpServer(command="mcp-server-time", args=("--local-timezone", "UTC"), env={"A": "${B}"}),
        "docs": McpServer(
            url="https://docs.example/mcp",
            headers={"Authorization": "Bearer ${DOCS_KEY}"},
            enabled=False,
            timeout_s=5.0,
        ),
    }


@each_case(
    ("value", "sentence"),
    [
        ({"time": {"command": "x", "args": "y"}}, "mcp_servers.time.args = [hidden] is not allowed. Use a list"),
        ({"time": {"command": 3}}, "mcp_servers.time.command = 3 is not allowed. Use a program name"),
        ({"time": {}}, "mcp_servers.time = an empty table is not allowed. Use a table with either"),
        ({"time": {"command": "x", "url": "http://h"}}, "mcp_servers.time = command, url is not allowed"),
        ({"time": {"url": "ftp://h"}}, "mcp_servers.time.url = [hidden] is not allowed. Use an address"),
        ({"time": {"command": "x", "enabled": "yes"}}, "mcp_servers.time.enabled = 'yes' is not allowed"),
        ({"time": {"command": "x", "timeout_s": 0}}, "mcp_servers.time.timeout_s = 0 is not allowed. Use a num"),
        ({"time": {"cmd": "x"}}, "mcp_servers.time.cmd = [hidden] is not allowed. Use one of command, args"),
        ({"a__b": {"command": "x"}}, "mcp_servers.a__b = [hidden] is not allowed. Use a name"),
        ({"a": {"url": "http://h", "headers": {"K": "sk-1\nX: y"}}}, "mcp_servers.a.headers.K = [hidden] is not"),
        ({"a": {"url": "http://h", "headers": {"K": "${sk-1"}}}, "mcp_servers.a.headers.K = [hidden] is not"),
        ({"a": {"url": "http://h", "headers": {"K:": "sk-1"}}}, "mcp_servers.a.headers.K: = [hidden] is not"),
        ({"a": {"command": "x", "env": {"K": 4711}}}, "mcp_servers.a.env.K = [hidden] is not"),
        ({"a": {"command": "x", "env": ["sk-1"]}}, "mcp_servers.a.env = [hidden] is not"),
        (
            {"a": {"command": "x", "headers": {"K": "sk-1"}}},
            "mcp_servers.a.headers = [hidden] is not allowed. Use it with a url",
        ),
        ({"a": {"url": "http://h", "args": ["sk-1"]}}, "mcp_servers.a.args = [hidden] is not allowed. Use"),
        ("sk-1", "mcp_servers = [hidden] is not allowed. Use a table of at most 30 MCP servers"),
        ([1], "mcp_servers = [hidden] is not allowed"),
    ],
)
def test_a_bad_value_is_named_without_what_may_be_a_key(value: object, sentence: str) -> None:
    with pytest.raises(SettingsError) as refused:
        check("mcp_servers", value)
    assert str(refused.value).startswith(sentence) and "sk-1" not in str(refused.value)


def test_a_bad_value_is_reported_with_its_file(home: Path, folder: Path) -> None:
    written(home, "[mcp_servers.time]\ncommand = 3\n")
    (problem,) = loaded(home, folder).problems
    assert problem.startswith(f"mcp_servers.time.command = 3 ({home}")


def test_a_projects_servers_wait_for_trust_and_are_then_added_to_the_users(home: Path, folder: Path) -> None:
    written(home, TIME + DOCS)
    file = folder / ".co-tui.toml"
    file.write_text('[mcp_servers.docs]\nurl = "http://theirs"\n[mcp_servers.lint]\ncommand = "lint"\n')
    before = loaded(home, folder)
    assert set(before.settings.mcp_servers) == {"time", "docs"}
    assert before.settings.mcp_servers["docs"].url == "https://docs.example/mcp"
    assert any("mcp_servers" in warning and "until you run" in warning for warning in before.warnings)
    assert before.withheld is not None
    Trust(locate({"CO_TUI_HOME": str(home)}).trust_file).remember(before.withheld, trusted=True)
    after = loaded(home, folder)
    assert set(after.settings.mcp_servers) == {"time", "docs", "lint"}
    assert after.settings.mcp_servers["docs"].url == "http://theirs"
    assert str(file) in after.origins["mcp_servers"].source and "config.toml" in after.origins["mcp_servers"].source


def test_what_is_shown_of_a_server_holds_no_key() -> None:
    kept = check(
        "mcp_servers",
        {
            "a": {"url": "https://me:sk-1@host/mcp?key=sk-2", "headers": {"Authorization": "sk-3"}},
            "b": {"command": "run", "args": ["--key", "sk-4"], "env": {"KEY": "sk-5"}, "enabled": False},
        },
    )
    assert str(kept) == "{'a': https://host/mcp, 'b': run (off)}"


def test_a_server_can_be_written_by_its_json(home: Path, folder: Path) -> None:
    written(home, "theme = 'dark' # mine\n")
    write(
        "mcp_servers",
        '{"time": {"command": "x", "args": ["-a"], "env": {"B": "c"}}}',
        locate({"CO_TUI_HOME": str(home)}),
    )
    assert loaded(home, folder).settings.mcp_servers["time"].env == {"B": "c"}
    write("mcp_servers", '{"time": {"command": "y"}}', locate({"CO_TUI_HOME": str(home)}))
    assert loaded(home, folder).settings.mcp_servers == {"time": McpServer(command="y")}
    assert loaded(home, folder).settings.theme == "dark"


def test_variables_are_filled_in_or_named() -> None:
    assert with_variables("Bearer ${KEY}, ${REST:-none}", {"KEY": "k"}) == "Bearer k, none"
    with pytest.raises(VariableMissing, match="environment variable KEY is not set"):
        with_variables("${KEY}", {})


def test_a_key_in_a_folder_that_is_not_trusted_is_not_quoted(here: Here) -> None:
    table = '[mcp_servers.docs]\nheaders = { K = "sk-secret" }\nurl = "https://docs.example"\n'
    here.cwd.joinpath(".co-tui.toml").write_text(table)
    sentence = [here("config", "mcp_servers"), here("config"), here("trust")]
    assert any("docs" in each.out + each.err for each in sentence)
    assert not any("sk-secret" in each.out + each.err for each in sentence)


def test_a_server_is_added_by_an_address_in_capitals_and_not_by_what_only_a_shell_understands() -> None:
    assert server_table("HTTPS://Example.com/X") == {"url": "https://Example.com/X"}
    assert server_table("npx -y a=b") == {"command": "npx", "args": ["-y", "a=b"]}
    with pytest.raises(SettingsError, match="'FOO=1' is not a program"):
        server_table("FOO=1 npx x")
    with pytest.raises(SettingsError, match="Write the whole path instead of '~/bin/x'"):
        server_table("~/bin/x")
