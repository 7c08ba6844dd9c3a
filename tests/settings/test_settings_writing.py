"""Setting a key in the user's own file: the rest of it stays as its user wrote it, to the byte."""

import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui.paths import Paths, locate
from co_tui.settings import SettingsError, load
from co_tui.settings.files import parsed
from co_tui.settings.permission_rules import Effect, RuleInForce, parse_rule
from co_tui.settings.toml_text import with_key
from co_tui.settings.writing import add_permission, add_permissions, remove, remove_permission, write
from tests.support.long_run import drawn


@pytest.fixture
def paths(home: Path) -> Paths:
    return locate({"CO_TUI_HOME": str(home)})


def rewritten(paths: Paths, text: str, *changes: tuple[str, str]) -> str:
    """What the user's file says after the changes."""
    paths.config.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_bytes(text.encode())
    for key, value in changes:
        write(key, value, paths)
    return paths.config_file.read_bytes().decode()


def test_writing_keeps_comments_tables_and_other_keys(paths: Paths, tmp_path: Path) -> None:
    before = "# mine\ntheme = 'dark'  # at night\n\n# not ours\n[other]\nmodel = 'not this one'\n"
    after = rewritten(paths, before, ("model", 'openai:we"ird\\'), ("theme", "light"), ("context_window", "4096"))
    assert after == (
        '# mine\ntheme = "light"  # at night\nmodel = "openai:we\\"ird\\\\"\ncontext_window = 4096\n'
        "\n# not ours\n[other]\nmodel = 'not this one'\n"
    )
    assert stat.S_IMODE(paths.config_file.stat().st_mode) == 0o600
    settings = load(paths=paths, cwd=tmp_path, environ={}).settings
    assert (settings.model, settings.theme, settings.context_window) == ('openai:we"ird\\', "light", 4096)


def test_a_linked_settings_file_stays_a_link(paths: Paths, tmp_path: Path) -> None:
    (dotfile := tmp_path / "dotfile.toml").write_text("# mine\n")
    paths.config.mkdir(parents=True)
    paths.config_file.symlink_to(dotfile)
    write("theme", "light", paths)
    assert paths.config_file.is_symlink() and dotfile.read_text() == '# mine\ntheme = "light"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'theme = "nord"\n'),
        ("# all mine\n", '# all mine\ntheme = "nord"\n'),
        ("theme = 'dark'", 'theme = "nord"'),
        ("model = ''", "model = ''\ntheme = \"nord\""),
        ("model = '' # none", "model = '' # none\ntheme = \"nord\""),
        ("  theme   =   'dark'   # c\n", '  theme   =   "nord"   # c\n'),
        ("'theme' = 'dark' # c\n", "'theme' = \"nord\" # c\n"),
        ('"theme" = """\ndark"""\nmodel=""\n', '"theme" = "nord"\nmodel=""\n'),
        ('"th\\u0065me" = "dark"\n', '"th\\u0065me" = "nord"\n'),
        ("model = '''\n[other]\ntheme = 1\n'''\n", "model = '''\n[other]\ntheme = 1\n'''\ntheme = \"nord\"\n"),
        ("# c\r\nmodel = ''\r\n\r\n[other]\r\n", "# c\r\nmodel = ''\r\ntheme = \"nord\"\r\n\r\n[other]\r\n"),
        ("theme = 'dark' # c\r\n[other]\r\na = 1", 'theme = "nord" # c\r\n[other]\r\na = 1'),
        ("[other]\ntheme = 1\n", 'theme = "nord"\n\n[other]\ntheme = 1\n'),
        ("# top\n\n# of it\n[[other]]\n", '# top\n\ntheme = "nord"\n\n# of it\n[[other]]\n'),
        ("# of it\r\n[other]\r\n", 'theme = "nord"\r\n\r\n# of it\r\n[other]\r\n'),
        ("hooks.preCompact = 'x' # c\n[a.b]\n", "hooks.preCompact = 'x' # c\ntheme = \"nord\"\n[a.b]\n"),
        ("theme = 5 # wrong\n", 'theme = "nord" # wrong\n'),
        ("theme = 'nord' # so it is\n", "theme = 'nord' # so it is\n"),
    ],
)
def test_a_key_is_set_in_place_or_added_to_the_others(paths: Paths, before: str, after: str) -> None:
    assert rewritten(paths, before, ("theme", "nord")) == after


@pytest.mark.parametrize(
    ("key", "value", "before", "after"),
    [
        ("context_window", "4096", "context_window = 4_096 # c\n", "context_window = 4_096 # c\n"),
        ("context_window", "4096", "context_window = true\n", "context_window = 4096\n"),
        ("context_window", "4096", "context_window = 4096.0\n", "context_window = 4096\n"),
        ("summary_share", "0.2", "summary_share = 1e-1 # c\n", "summary_share = 0.2 # c\n"),
        ("model", "openai:a\x1b\x7f\tb", "", 'model = "openai:a\\u001b\\u007f\\tb"\n'),
    ],
)
def test_a_value_is_spelled_anew_only_when_it_differs(paths, key, value, before, after) -> None:
    assert rewritten(paths, before, (key, value)) == after


TWO = '{"preCompact": ["x", "z"]}'


@pytest.mark.parametrize(
    ("value", "before", "after"),
    [
        (TWO, "theme = 'dark'\n[other]\n", 'theme = \'dark\'\nhooks = {preCompact = ["x", "z"]}\n[other]\n'),
        (TWO, "hooks = { preCompact = 'y' } # c\n", 'hooks = { preCompact = ["x", "z"] } # c\n'),
        (
            TWO,
            "hooks . 'preCompact' = ['x'] # c\nmodel = ''\n",
            "hooks . 'preCompact' = ['x', \"z\"] # c\nmodel = ''\n",
        ),
        (
            TWO,
            "[hooks] # h\n# b\npreCompact = [\n  'x', # one\n  'y', # two\n]\n\n[a]\n",
            "[hooks] # h\n# b\npreCompact = [\n  'x', # one\n  \"z\", # two\n]\n\n[a]\n",
        ),
        (
            TWO,
            "['hooks']\r\npreCompact = [\r\n  'x', # one\r\n]\r\n",
            "['hooks']\r\npreCompact = [\r\n  'x', # one\r\n  \"z\",\r\n]\r\n",
        ),
        (
            '{"preCompact": "x"}',
            "[hooks]\npreCompact = [\n  'x', # one\n  'y', # two\n]\n",
            "[hooks]\npreCompact = [\n  'x', # one\n]\n",
        ),
        (TWO, "[hooks] # h\r\n\r\n[a]\r\n", '[hooks] # h\r\npreCompact = ["x", "z"]\r\n\r\n[a]\r\n'),
        ("{}", "[hooks] # h\n# b\npreCompact = 'x'\n[a]\n", "[hooks] # h\n# b\n[a]\n"),
        ("{}", "hooks.preCompact = 'x'\ntheme = 'dark'\n", "theme = 'dark'\nhooks = {}\n"),
        (TWO, "hooks = 'wrong' # c\n", 'hooks = {preCompact = ["x", "z"]} # c\n'),
    ],
)
def test_a_table_is_changed_in_place(paths: Paths, value: str, before: str, after: str) -> None:
    assert rewritten(paths, before, ("hooks", value)) == after


RULES = """\
# mine
[permissions] # p
# before
allow = [
  # reading
  'Bash(ls:*)', # list
  "Write(src/**)", # spelled as elsewhere
  # own tests
  'Bash(pytest:*)' # last
]
deny = ['Bash(rm:*)'] # never

# about the other
[other]
a = 1
"""


def test_a_rule_is_added_to_a_list_that_keeps_its_comments_and_spelling(paths: Paths) -> None:
    rewritten(paths, RULES)
    for effect, rule in (("allow", "Bash(make:*)"), ("deny", "Bash(dd:*)"), ("ask", "Bash(git push:*)")):
        add_permission(effect, rule, paths)  # type: ignore[arg-type]  # they are effects
    assert paths.config_file.read_text() == (
        RULES.replace("(pytest:*)' # last\n", '(pytest:*)\', # last\n  "Bash(make:*)"\n').replace(
            "(rm:*)'] # never\n", '(rm:*)\', "Bash(dd:*)"] # never\nask = ["Bash(git push:*)"]\n'
        )
    )


@pytest.mark.parametrize(
    ("effect", "rule", "after"),
    [
        ("allow", "Bash(ls:*)", RULES.replace("  'Bash(ls:*)', # list\n", "")),
        ("allow", "Edit(src/**)", RULES.replace('  "Write(src/**)", # spelled as elsewhere\n', "")),
        ("allow", "Bash(pytest:*)", RULES.replace('**)",', '**)"').replace("  'Bash(pytest:*)' # last\n", "")),
        ("deny", "Bash(rm:*)", RULES.replace("'Bash(rm:*)'", "")),
    ],
)
def test_a_revoked_rule_leaves_every_other_line(paths: Paths, effect: Effect, rule: str, after: str) -> None:
    rewritten(paths, RULES)
    remove_permission(RuleInForce(effect, parse_rule(rule), str(paths.config_file)), paths)
    assert paths.config_file.read_text() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[keys]\n# one\ncompact = 'f9' # c\n\n# next\n[t]\n", "# next\n[t]\n"),
        ("a = 1\n\n[keys]\ncompact = 'f9'\n\n# next\n\n[[t]]\n", "a = 1\n\n# next\n\n[[t]]\n"),
        ("# a\nkeys.compact = 'f9' # c\n# b\na = 1\n", "# a\n# b\na = 1\n"),
        ("# a\nkeys = {compact = 'f9'} # c\n# b\na = 1\n", "# a\n# b\na = 1\n"),
    ],
)
def test_a_removed_key_leaves_the_comments_around_it(paths: Paths, before: str, after: str) -> None:
    rewritten(paths, before)
    remove("keys", paths)
    assert paths.config_file.read_text() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "[keys]\ncompact = 'ctrl+y' # c\n\n# next\n[t]\n",
            "[keys]\ncompact = 'ctrl+y' # c\nlens = \"f12\"\n\n# next\n[t]\n",
        ),
        ("[keys] # k\n\n# next\n[t]\n", '[keys] # k\nlens = "f12"\n\n# next\n[t]\n'),
    ],
)
def test_a_new_key_of_a_table_is_above_the_comments_on_the_next(paths: Paths, before: str, after: str) -> None:
    assert rewritten(paths, before, ("keys.lens", "f12")) == after


ELEMENTS = ["1", "2", "3", '"a,]#"', '"""\n#\n"""', "[4, # four\n 5]", "{a = '}'}"]


@st.composite
def commented_lists(draw: st.DrawFn) -> str:
    """A list in TOML, with comments wherever they may be."""
    blank = st.sampled_from(["", " ", "\n", "\n  ", " # x\n", "\n  # y\n  ", "\n\n"])
    elements = draw(st.lists(st.sampled_from(ELEMENTS), max_size=5))
    text = ",".join(f"{draw(blank)}{each}{draw(blank)}" for each in elements)
    end = f",{draw(blank)}" if elements and draw(st.booleans()) else draw(blank)
    return f"x = [{text}{end}]\n"


@settings(max_examples=drawn(50), deadline=None)
@given(commented_lists(), st.lists(st.sampled_from([1, 2, 3, "a,]#", "new", {"a": "}"}]), max_size=5))
def test_any_list_is_changed_and_loses_no_comment_of_its_own_line(text: str, value: list[object]) -> None:
    changed = with_key(text, "x", value)
    assert parsed(changed, Path("f")) == {"x": value}
    assert changed.count("# y") == text.count("# y")


@pytest.mark.parametrize("text", ["model = ", "[[[", "theme = 'a'\ntheme = 'b'\n", "a\rb = 1"])
def test_a_file_that_is_no_toml_is_refused_and_stays(paths: Paths, text: str) -> None:
    with pytest.raises(SettingsError, match=r"Cannot read .* Fix it first; nothing was saved\.$"):
        rewritten(paths, text, ("theme", "light"))
    assert paths.config_file.read_bytes().decode() == text


@pytest.mark.parametrize(
    "text",
    [
        "odd = " + "9" * 5_000 + "\n",
        "[hooks]\n[u.v]\n[[many]]\n[u.w]\n",
    ],
)
def test_what_only_its_user_can_change_is_left_to_the_user(paths: Paths, text: str) -> None:
    with pytest.raises(SettingsError, match="Edit the file"):
        rewritten(paths, text, ("hooks", TWO))
    assert paths.config_file.read_text() == text


def test_rules_are_added_by_their_effect_without_json(paths: Paths) -> None:
    before = '[permissions]\ndeny = ["Read(.env)"]\n'
    more = (("permissions.deny", "Bash(curl:*), WebFetch"), ("permissions.allow", "Bash(git log:*)"))
    after = parsed(rewritten(paths, before, *more), paths.config_file)["permissions"]
    assert after == {"deny": ["Read(.env)", "Bash(curl:*)", "WebFetch"], "allow": ["Bash(git log:*)"]}
    write("permissions.deny", "default", paths)
    wrong = {"permissions": "Edit", "permissions.denny": "Edit", "permissions.ask": "Nope(x)"}
    for key, value in wrong.items():
        with pytest.raises(SettingsError, match=r"permissions\.allow|is not a rule"):
            write(key, value, paths)
    assert parsed(paths.config_file.read_text(), paths.config_file)["permissions"] == {"allow": ["Bash(git log:*)"]}


def test_a_bad_value_is_not_written(paths: Paths) -> None:
    for key, value in (("context_window", "x"), ("policy", "nope"), ("nope", "1")):
        with pytest.raises(SettingsError):
            write(key, value, paths)
    assert not paths.config_file.exists()


KEYS = ["model = 'a' # m", "'theme'='dark'", "x.y = 1 # dots", "x.z.w = [1, 2,\n  3 # three\n]", "n = {a = 1, b = ''}"]
TABLES = ["[t] # t\nmodel = 1", "[u.v]\nk = 1", "[[many]]\nk = 1", "[u.w]\n# inside\nk = '''\n[x]\n'''", "[[many]]"]
filling = st.sampled_from(["", "\n", "# a comment\n", "\n# another\n\n", "  \n"])


@st.composite
def settings_files(draw: st.DrawFn) -> str:
    """Valid TOML as people write it, in any order that TOML allows."""
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True))
    tables = draw(st.lists(st.sampled_from(TABLES), unique=True))
    text = "".join(f"{draw(filling)}{piece}\n" for piece in keys + tables) + draw(filling)
    text = text.removesuffix("\n") if draw(st.booleans()) else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@settings(max_examples=drawn(30), deadline=None)
@given(settings_files(), st.sampled_from([("model", "b"), ("theme", "light"), ("context_window", 7)]))
def test_every_other_line_of_any_file_stays(text: str, change: tuple[str, object]) -> None:
    key, value = change
    changed = with_key(text, key, value)
    assert parsed(changed, Path("f")) == {**parsed(text, Path("f")), key: value}
    assert changed.count("\r\n") == (changed.count("\n") if "\r\n" in text else 0)
    assert (changed[-1] == "\n") == (text[-1:] in ("", "\n"))
    before, after = text.splitlines(), changed.splitlines()
    if key in parsed(text, Path("f")):
        assert len(after) == len(before) and len(set(enumerate(after)) - set(enumerate(before))) <= 1
    else:
        place = next(index for index, line in enumerate(after) if line.startswith(f"{key} = "))
        assert before in (after[:place] + after[place + 1 :], after[:place] + after[place + 2 :])


def test_what_the_reader_would_refuse_is_refused_before_it_is_saved(paths: Paths) -> None:
    write("theme", "light", paths)
    with pytest.raises(SettingsError, match=r"permissions was not saved, because .* line 2 has more than 100 dots"):
        add_permission("allow", f"Bash({'a.' * 101}:*)", paths)
    assert paths.config_file.read_text() == 'theme = "light"\n'
    rules = [RuleInForce("allow", parse_rule(f"Bash({number}{'x' * 400})")) for number in range(200)]
    with pytest.raises(SettingsError, match="it could not be read again: it is over 64,000 bytes; nothing was saved"):
        add_permissions(rules, paths)
    assert paths.config_file.read_text() == 'theme = "light"\n'
    (paths.config_file).write_text(too_long := "# mine\n" * 10_000)
    with pytest.raises(SettingsError, match="it is over 64,000 bytes; nothing was saved"):
        write("theme", "dark", paths)
    assert paths.config_file.read_text() == too_long
