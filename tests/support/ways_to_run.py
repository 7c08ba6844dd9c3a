"""Ways to make something run later without being asked, and ordinary work that looks a little like them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

HARMFUL: Final = (
    '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch {marker}; false"\n'
)
_BARE: Final = {"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": ""}

WAYS: Final[Mapping[str, Mapping[str, str]]] = {
    "hook": {".git/hooks/pre-commit": "true"},
    "configuration": {".git/config": HARMFUL},
    "configuration of a worktree": {".git/config.worktree": HARMFUL},
    "objects of others": {".git/objects/info/alternates": "/tmp"},
    "submodule's repository": {".git/modules/x/config": HARMFUL},
    "worktree's repository": {".git/worktrees/x/commondir": "../../../c"},
    "git file": {".git": "gitdir: g\n", "g/config": HARMFUL},
    "bare repository": {**_BARE, "config": HARMFUL},
    "bare repository, HEAD last": {"config": HARMFUL, "objects/x": "", "refs/x": "", "HEAD": _BARE["HEAD"]},
    "bare repository with a hook": {**_BARE, "hooks/post-checkout": "true"},
    "bare repository deep inside": {f"a/b/c/{name}": text for name, text in {**_BARE, "config": HARMFUL}.items()},
    "common folder elsewhere": {
        "HEAD": _BARE["HEAD"], "commondir": "c\n", "c/config": HARMFUL, "c/objects/x": "", "c/refs/x": "",
    },
    "submodules": {".gitmodules": "[submodule]"},
    "Mercurial": {".hg/hgrc": "[hooks]"},
    "Claude Code": {".claude/settings.json": "{}"},
    "MCP servers": {".mcp.json": "{}"},
    "co-tui": {".co-tui.toml": ""},
    "Codex": {".codex/config.toml": ""},
    "skills": {".agents/skills/a/SKILL.md": ""},
    "Cursor": {".cursor/mcp.json": "{}"},
    "Gemini": {".gemini/settings.json": "{}"},
    "opencode": {"opencode.json": "{}"},
    "Kiro": {".kiro/hooks/a.kiro.hook": "{}"},
    "aider": {".aider.conf.yml": "lint-cmd: x"},
    "Roo": {".roo/mcp.json": "{}"},
    "Continue": {".continue/config.yaml": ""},
    "Crush": {"crush.json": "{}"},
    "VS Code tasks": {".vscode/tasks.json": "{}"},
    "VS Code settings": {".vscode/settings.json": "{}"},
    "VS Code workspace": {"shop.code-workspace": "{}"},
    "JetBrains": {".idea/workspace.xml": "<x/>"},
    "Zed": {".zed/tasks.json": "[]"},
    "Helix": {".helix/languages.toml": ""},
    "Vim": {".exrc": "!touch x"},
    "dev container": {".devcontainer/devcontainer.json": "{}"},
    "npm": {".npmrc": "script-shell=x"},
    "yarn": {".yarnrc.yml": "yarnPath: x"},
    "older yarn": {".yarnrc": "yarn-path x"},
    "yarn itself": {".yarn/releases/yarn.cjs": "1"},
    "pnpm": {".pnpmfile.cjs": "1"},
    "bun": {"bunfig.toml": "preload = []"},
    "pip": {".venv/pip.conf": "[global]"},
    "cargo": {".cargo/config.toml": "[build]"},
    "Maven": {".mvn/extensions.xml": "<x/>"},
}  # fmt: skip
"""The files of each, in the order in which they are written."""

AT_HOME: Final = (
    ".bashrc", ".profile", ".zshrc", ".zshenv", ".bash_profile", ".config/fish/config.fish", ".gitconfig",
    ".config/git/config", ".ssh/authorized_keys", ".ssh/rc", ".local/bin/ls", "bin/ls", ".cargo/bin/cargo",
    ".pyenv/shims/python", ".local/share/mise/shims/node", ".config/autostart/a.desktop",
    ".config/systemd/user/a.service", ".local/share/systemd/user/a.timer", ".config/environment.d/a.conf",
    ".config/Code/User/tasks.json", ".vimrc", ".config/nvim/init.lua", ".tmux.conf", ".config/pip/pip.conf", ".npmrc",
    "Library/LaunchAgents/a.plist", ".local/share/applications/a.desktop", ".xprofile",
)  # fmt: skip

JOBS: Final[Mapping[str, tuple[str, ...]]] = {
    "new package": ("shop/__init__.py", "shop/cart.py", "pyproject.toml", "README.md", "LICENSE"),
    "tests": ("tests/conftest.py", "tests/test_cart.py", "pytest.ini", "tox.ini", "noxfile.py"),
    "JavaScript": ("package.json", "package-lock.json", "tsconfig.json", ".eslintrc.json", ".prettierrc", ".nvmrc"),
    "components": ("src/components/Head/index.tsx", "src/hooks/useCart.ts", "src/config/index.ts", "src/refs/list.ts"),
    "configuration": ("config", "config/app.toml", "src/config", "objects/cube.obj", "refs.bib", "HEADER", "head.html"),
    "building": ("Makefile", "CMakeLists.txt", "Dockerfile", "docker-compose.yml", "justfile", ".dockerignore"),
    "git's lists": (".gitignore", ".gitattributes", ".mailmap", ".git-blame-ignore-revs", "docs/.gitignore"),
    "CI": (".github/workflows/ci.yml", ".gitlab-ci.yml", ".pre-commit-config.yaml", "renovate.json"),
    "direnv and versions": (".envrc", ".env.example", ".python-version", ".tool-versions", ".node-version"),
    "editors": (".editorconfig", ".vscode/extensions.json", ".vscode/launch.json", ".vscode/snippets.code-snippets"),
    "instructions": ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", ".cursorrules"),
    "Rust": ("Cargo.toml", "Cargo.lock", "src/lib.rs", "build.rs", "rust-toolchain.toml"),
    "Java": ("pom.xml", "build.gradle", "gradle.properties", "src/main/java/App.java"),
    "Ruby": ("Gemfile", "Rakefile", ".rspec", ".bundle/config"),
    "data": ("data/a.csv", "fixtures/objects/a.json", "fixtures/refs/a.json", "fixtures/commondir.txt"),
    "documents": ("docs/index.md", "docs/conf.py", "mkdocs.yml", "git/config.md", "docs/HEAD.md"),
}  # fmt: skip
"""Files that people have written every day, by job."""

COMMANDS: Final[Mapping[str, str]] = {
    "git init": "git init -q one && cd one && touch a && git add a",
    "git init --bare": "git init -q --bare two.git",
    "git clone": "git clone -q . three && git clone -q --bare . four.git",
    "git worktree": "git worktree add -q five",
    "git commit": "touch six && git add six && git -c user.name=m -c user.email=m@e.org commit -qm six",
    "git branch": "git switch -q -c seven && git switch -q -",
    "git fsck": "git fsck --no-dangling && git pack-refs --all",
    "virtual environment": (
        "mkdir -p .venv/bin .venv/lib/python3/site-packages/pip && touch .venv/pyvenv.cfg .venv/bin/activate"
        " .venv/bin/python .venv/bin/pip && touch .venv/lib/python3/site-packages/a.pth"
    ),
    "npm install": (
        "mkdir -p node_modules/.bin node_modules/a/.vscode node_modules/b/.github && ln -s ../a/cli.js"
        " node_modules/.bin/a && touch node_modules/a/.npmrc node_modules/a/.vscode/settings.json"
        " node_modules/.package-lock.json package-lock.json"
    ),
    "yarn install": "mkdir -p .yarn/cache .yarn/unplugged && touch .yarn/install-state.gz .pnp.cjs yarn.lock",
    "cargo build": "mkdir -p target/debug/build .cargo/registry && touch target/debug/a Cargo.lock",
    "bundle install": "mkdir -p .bundle vendor/bundle && touch .bundle/config Gemfile.lock",
    "Maven": "mkdir -p target/classes && touch target/classes/App.class",
    "new app": "mkdir -p app/.vscode app/src && touch app/.vscode/extensions.json app/package.json app/.gitignore",
    "tests": "mkdir -p .pytest_cache/v __pycache__ .mypy_cache && touch .coverage .pytest_cache/v/a __pycache__/a.pyc",
    "copy": "cp -r src src2 && mv src2 src3",
    "archive": "tar cf a.tar src && mkdir out && tar xf a.tar -C out",
    "generated": "mkdir -p build/objects build/refs build/hooks && touch build/config build/objects/a",
    "HEAD alone": "mkdir -p fixtures && echo 'ref: refs/heads/main' > fixtures/HEAD",
    "links": "ln -s src link && ln -s README.md docs.md",
    "format": "sed -i s/a/b/ README.md && touch .prettierrc .editorconfig",
    "environment": "touch .envrc .env .python-version Makefile conftest.py",
    "background output": "nohup sh -c 'echo x > log.txt' > /dev/null 2>&1 &",
    "Mercurial": "mkdir -p .hg/store && touch .hg/dirstate .hg/requires",
}  # fmt: skip
"""Commands that people have run every day, by job."""


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
