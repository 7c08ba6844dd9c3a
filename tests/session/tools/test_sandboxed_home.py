"""The home folder in the sandbox: programs on PATH and their toolchains work, and no store of keys can be read."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.session.tools.test_sandbox import told_of
from tests.support.sandbox import needs_bwrap
from tests.support.working import repository

pytestmark = needs_bwrap

_STORES = """
.ssh/id_ed25519 .gnupg/secring.gpg .aws/credentials .azure/msal_token_cache.json .kube/config .docker/config.json
.netrc .git-credentials .pypirc .npmrc .pgpass .my.cnf .vault-token .config/gcloud/credentials.db
.config/gh/hosts.yml .config/op/config .config/rclone/rclone.conf .config/pip/pip.conf
.terraform.d/credentials.tfrc.json .local/share/keyrings/login.keyring .mozilla/firefox/p/logins.json .anthropic/key
.claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json .config/openai/key .boto .s3cfg .databrickscfg
.snowsql/config .dbt/profiles.yml .huggingface/token .cache/huggingface/token .kaggle/kaggle.json
.netlify/config.json .config/fly/config.yml .fly/token .config/heroku/token .config/doctl/config.yaml .oci/config
.bluemix/config.json .ibmcloud/key .config/hcloud/cli.toml .config/linode-cli .config/ngrok/ngrok.yml
.ngrok2/ngrok.yml .config/stripe/config.toml .config/sentry/token .sentryclirc .m2/settings.xml
.gradle/gradle.properties .gem/credentials .bundle/config .composer/auth.json .nuget/NuGet.Config
.config/NuGet/NuGet.Config .ivy2/.credentials .sbt/credentials .cargo/credentials .cargo/credentials.toml
.hex/hex.config .config/hub .config/glab-cli/config.yml .config/tea/config.yml .config/github-copilot/hosts.json
.config/Slack/Cookies .config/Signal/key .thunderbird/p/logins.json .config/discord/token .password-store/mail.gpg
.config/Bitwarden/data.json .local/share/secrets/x .config/sops/age/keys.txt .age/key.txt .minisign/minisign.key
.step/secrets/key .cloudflared/cert.pem .wrangler/config .config/.wrangler/config/default.toml .vercel/auth.json
.local/share/com.vercel.cli/auth.json .config/configstore/firebase-tools.json .expo/state.json .android/adbkey
.config/gspread/credentials.json .msmtprc .fetchmailrc .mutt/muttrc .config/aerc/accounts.conf
.config/neomutt/muttrc .weechat/sec.conf .irssi/config .rclone.conf .duply/conf .restic/password .borg/keys/x
.config/borg/keys/x .mysql_history .psql_history .bash_history .zsh_history .python_history .node_repl_history
.lesshst .config/gcloud/access_tokens.db .nvm/versions/node/v20/etc/npmrc go/.netrc
"""
KEYS = _STORES.split()


@pytest.fixture
def home_of_user(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home of a user with keys everywhere, and tools; not below /tmp, of which the sandbox has its own."""
    with TemporaryDirectory(dir="/var/tmp") as made:
        home = Path(made)
        for name in KEYS:
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(f"PRIVATE {name}")
        monkeypatch.setenv("HOME", str(home))
        yield home


def program(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def worktree(home: Path) -> Path:
    main, tree = repository(home / "main"), home / "trees/one"
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    subprocess.run(["git", *identity, "commit", "-qm", "first"], cwd=main, check=True)
    subprocess.run(["git", "worktree", "add", "-q", str(tree)], cwd=main, check=True)
    return tree


async def test_no_store_of_keys_is_read_and_every_tool_runs(
    home_of_user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = home_of_user
    program(home / ".cargo/bin/cargo", '#!/bin/sh\ncat "$HOME/.rustup/settings.toml"\n')
    (home / ".rustup").mkdir()
    (home / ".rustup/settings.toml").write_text("rustup settings\n")
    program(home / ".local/share/uv/tools/ruff/bin/ruff", "#!/bin/sh\necho ruff of uv\n")
    program(home / ".nvm/versions/node/v20/bin/node", '#!/bin/sh\ncat "$(dirname "$0")/../lib/npm.js"\n')
    (home / ".nvm/versions/node/v20/lib").mkdir()
    (home / ".nvm/versions/node/v20/lib/npm.js").write_text("npm of nvm\n")
    program(
        home / ".local/share/uv/python/3.11/bin/python3",
        '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../lib/os.py"\n',
    )
    (home / ".local/share/uv/python/3.11/lib").mkdir()
    (home / ".local/share/uv/python/3.11/lib/os.py").write_text("python of uv\n")
    program(home / "miniconda/bin/mine", "#!/bin/sh\necho interpreted\n")
    (home / "miniconda/lib").mkdir()
    program(home / ".local/bin/script", f"#!{home}/miniconda/bin/mine\n")
    (home / ".local/bin/ruff").symlink_to(home / ".local/share/uv/tools/ruff/bin/ruff")
    (home / ".gitconfig").write_text("[user]\n\tname = Me Myself\n")
    folder = repository(home / "shop")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python3").symlink_to(home / ".local/share/uv/python/3.11/bin/python3")
    entries = (home / ".cargo/bin", home / ".local/bin", home / ".nvm/versions/node/v20/bin")
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (*entries, os.environ["PATH"]))))
    command = (
        "cargo; ruff; node; script; .venv/bin/python3; git config user.name; touch in-folder; "
        "echo x > ~/lost; grep -rl PRIVATE ~ ; for each in " + " ".join(f"~/{name}" for name in KEYS) + "; do "
        'cat "$each" 2>/dev/null; done; echo end'
    )
    said = await told_of(command, folder, tmp_path / "co-tui")
    for each in ("rustup settings", "ruff of uv", "npm of nvm", "interpreted", "python of uv", "Me Myself", "end"):
        assert each in said
    assert "PRIVATE" not in said and "Read-only file system" in said
    assert (folder / "in-folder").exists() and not (home / "lost").exists()


async def test_gits_settings_with_a_key_are_hidden(home_of_user: Path, tmp_path: Path) -> None:
    header = "AUTHORIZATION: basic PRIVATE"
    (home_of_user / ".gitconfig").write_text(f"[http]\n\textraHeader = {header}\n")
    said = await told_of("cat ~/.gitconfig; echo end", repository(tmp_path / "shop"), tmp_path / "co-tui")
    assert "PRIVATE" not in said and "end" in said


async def test_what_gits_own_settings_name_is_shown(home_of_user: Path, tmp_path: Path) -> None:
    home, folder = home_of_user, repository(home_of_user / "shop")
    program(home / "dotfiles/pre-commit", "#!/bin/sh\necho checked by a hook\n")
    (home / ".githooks").mkdir()
    (home / ".githooks/pre-commit").symlink_to("../dotfiles/pre-commit")
    (home / ".gitignore_global").write_text("*.secret\n")
    (home / ".work").mkdir()
    (home / ".work/inner").write_text("[user]\n\temail = ann@work.example\n")
    (home / ".work/settings").write_text("[user]\n\tname = Ann Work\n[include]\n\tpath = inner\n")
    (home / "dotfiles/gitconfig").write_text(
        "[user]\n\tname = Ann\n\temail = ann@private.example\n"
        f'[includeIf "gitdir:{folder}/"]\n\tpath = ~/.work/settings\n'
        f"[core]\n\texcludesFile = {home}/.gitignore_global\n\thooksPath = ~/.githooks\n"
        '[url "ssh://git@example.com/"]\n\tinsteadOf = https://example.com/\n'
    )
    (home / ".gitconfig").symlink_to("dotfiles/gitconfig")
    (folder / "a.secret").write_text("x")
    command = "git add -A && git commit -m two 2>&1; git log -1 --format='%an <%ae>'; git show --name-only --format="
    said = await told_of(f"{command}; ls", folder, tmp_path / "co-tui")
    assert "checked by a hook" in said and "Ann Work <ann@work.example>" in said
    assert "a.secret" in said.splitlines() and said.count("a.secret") == 1, "it is there, and not in the commit"
    said = await told_of("cat ~/.gitconfig", folder, tmp_path / "co-tui")
    assert "ssh://git@example.com/" in said


async def test_gits_settings_are_shown_without_their_keys(home_of_user: Path, tmp_path: Path) -> None:
    (home_of_user / ".gitconfig").write_text(
        "[user]\n\tname = Pat Ann\n[http] extraHeader = PRIVATE\n\tsslVerify = dropped\n"
        "[github]\n\ttoken = \\\nPRIVATE\n"
        '[url "https://me:PRIVATE@example.com/"]\n\tinsteadOf = dropped\n[core]\n\tabbrev = 11\n'
    )
    (home_of_user / ".config/git").mkdir()
    (home_of_user / ".config/git/ignore").write_text("ignored.secret\n")
    command = (
        "echo > ignored.secret; git status --short; git config user.name; git config core.abbrev; cat ~/.gitconfig"
    )
    folder = repository(home_of_user / "shop")
    for each in ("one", "two"):
        said = await told_of(command, folder, tmp_path / each)
        assert "PRIVATE" not in said and "dropped" not in said and "ignored" not in said and "Pat Ann\n11\n" in said


async def test_commands_do_not_choose_what_gits_settings_show(home_of_user: Path, tmp_path: Path) -> None:
    home, folder = home_of_user, repository(home_of_user / "dotfiles")
    (home / ".gitconfig").symlink_to("dotfiles/gitconfig")
    (home / ".gitignore_global").symlink_to("dotfiles/ignore")
    (home / ".config/git").mkdir()
    (home / ".config/git/config").write_text("[core]\n\texcludesFile = ~/.gitignore_global\n")
    (folder / "ignore").symlink_to("../.ssh/id_ed25519")
    (folder / "gitconfig").write_text("[include]\n\tpath = ~/.boto\n[core]\n\tattributesFile = ~/.s3cfg\n")
    said = await told_of("cat ~/.boto ~/.s3cfg ~/.gitignore_global ~/.gitconfig", folder, tmp_path / "co-tui")
    assert "PRIVATE" not in said and "attributesFile" in said


async def test_environments_of_python_in_any_folder_run(home_of_user: Path, tmp_path: Path) -> None:
    home, folder = home_of_user, repository(home_of_user / "shop")
    real, minor = home / "tools/cpython-3.12.1", home / "tools/cpython-3.12"
    program(real / "bin/python3.12", '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../lib/os.py"\n')
    (real / "lib").mkdir()
    (real / "lib/os.py").write_text("python of the tools\n")
    minor.symlink_to(real.name)
    for name in ("backend/.venv", ".venv-3.12"):
        (folder / name / "bin").mkdir(parents=True)
        (folder / name / "bin/python").symlink_to(minor / "bin/python3.12")
        (folder / name / "pyvenv.cfg").write_text(f"home = {minor}/bin\n")
    command = "cd backend && .venv/bin/python; ../.venv-3.12/bin/python; ls $(sed 's/home = //' .venv/pyvenv.cfg)"
    said = await told_of(command, folder, tmp_path / "co-tui")
    assert said.count("python of the tools") == 2 and "python3.12\n" in said


async def test_a_link_in_the_folder_shows_no_key(
    home_of_user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, folder = home_of_user, repository(home_of_user / "shop")
    for name in ("one/bin", ".venv/bin", "tools"):
        (folder / name).mkdir(parents=True)
        for key in (".ssh/id_ed25519", ".boto", ".config/fly/config.yml"):
            (folder / name / Path(key).name).symlink_to(home / key)
    (folder / "one/pyvenv.cfg").write_text(f"home = {home}/.fly\n")
    (folder / "venv").mkdir()
    (folder / "venv/bin").symlink_to(home / ".dbt")
    monkeypatch.setenv("PATH", os.pathsep.join((os.environ["PATH"], str(folder / "tools"))))
    said = await told_of("cat */bin/* .venv/bin/* tools/* ~/.fly/*; echo end", folder, tmp_path / "co-tui")
    assert "PRIVATE" not in said and "end" in said


async def test_caches_of_tools_are_written_in_the_sandbox(home_of_user: Path, tmp_path: Path) -> None:
    names = ("npm_config_cache", "YARN_CACHE_FOLDER", "UV_CACHE_DIR", "UV_TOOL_DIR", "PIP_CACHE_DIR", "GOMODCACHE")
    command = "; ".join(f'mkdir -p "${each}" && echo made {each}' for each in names)
    said = await told_of(command, repository(home_of_user / "shop"), tmp_path / "co-tui")
    assert all(f"made {each}\n" in said for each in names)


async def test_the_checkout_around_the_folder_can_be_read(home_of_user: Path, tmp_path: Path) -> None:
    whole = repository(home_of_user / "whole")
    (whole / "part").mkdir()
    said = await told_of("cat ../login.py; git status --short; touch ../x", whole / "part", tmp_path / "co-tui")
    assert "helo" in said and "A  login.py" in said.replace("../", "") and not (whole / "x").exists()


async def test_a_git_file_that_names_no_git_folder_shows_nothing(home_of_user: Path, tmp_path: Path) -> None:
    folder = home_of_user / "shop"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {home_of_user}/.ssh\n")
    said = await told_of("cat ~/.ssh/*; echo end", folder, tmp_path / "co-tui")
    assert "PRIVATE" not in said and "end" in said


async def test_a_worktree_finds_its_repository(home_of_user: Path, tmp_path: Path) -> None:
    said = await told_of("git log --format=%s", worktree(home_of_user), tmp_path / "co-tui")
    assert "first" in said
