"""The conversation that the pictures show: a folder, what is asked there, and what a scripted model does."""

import json
from pathlib import Path
from typing import NamedTuple

from tests.support.provider import Provider, Reply

TITLE = "Why does test_login fail on CI but not here?"
WINDOW_TOKENS = 64_000
SUMMARY = """Title: The login fixture opens the store too early
## Goal
- Make `tests/test_login.py` pass on CI.
## Decisions and outcomes
- The fixture `store` opens the store before `SESSION_DIR` is set (`ci/run.log`, line 412).
- `shop/store.py` reads the variable once, in `open_store`.
## Open tasks
- Set the variable first; run the whole suite."""
FIRST = """The fixture opens the session store **before** the environment is patched: on CI, `SESSION_DIR` is unset.

```python
@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("SESSION_DIR", str(tmp_path))   # first this
    return open_store()                                # then that
```"""
SECOND = """`open_store` in `shop/store.py` reads it **once**, when it is called:

1. `session_dir()` looks the variable up;
2. the path is kept for the life of the process."""
THIRD = "Two more: `cart` and `mailbox` in `tests/conftest.py` open the store the same way."
FOURTH = "Done in this order: set `SESSION_DIR`, open the store, hand it to the test. `cart` and `mailbox` follow it."


class Step(NamedTuple):
    """A prompt, and what the model does about it."""

    prompt: str
    replies: tuple[Reply, ...]


def _reads(path: str) -> Reply:
    return Reply(text="", tool=("read_file", json.dumps({"path": path})), prompt_tokens=-1, completion_tokens=40)


def _says(text: str) -> Reply:
    return Reply(text=text, prompt_tokens=-1, completion_tokens=len(text) // 4)


PARTS = ("cart", "mailbox", "orders", "search", "stock", "users")
UNSEEN = tuple(
    Step(f"Does shop/{part}.py need it, too?", (_reads(f"shop/{part}.py"), _says(f"`shop/{part}.py` takes the store.")))
    for part in PARTS
)
"""Turns between those that are filmed, which fill the context."""
STEPS = (
    Step(TITLE, (_reads("tests/test_login.py"), _reads("ci/run.log"), _says(FIRST))),
    Step("Where is the variable read?", (_reads("shop/store.py"), _says(SECOND))),
    Step("Which other fixtures do the same?", (_reads("tests/conftest.py"), _says(THIRD))),
    Step("Fix the order in all three.", (_says(FOURTH),)),
)


def prepare(folder: Path, provider: Provider) -> None:
    """A project with files long enough to fill a context."""
    provider.window, provider.model_id = WINDOW_TOKENS, "qwen3-coder"
    provider.summary = Reply(text=SUMMARY, prompt_tokens=-1, completion_tokens=len(SUMMARY) // 4)
    files = {
        ".git/HEAD": "ref: refs/heads/main\n",
        "tests/test_login.py": "def test_login(store):\n    assert store.login('ada', 'secret')\n",
        "ci/run.log": _lines("collected tests/test_login.py::test_login[{n}] in 0.{n:03} s, worker {n}", 280),
        "shop/store.py": _lines("def step_{n}(store): return store.open(session_dir(), retries={n})", 280),
        "tests/conftest.py": _lines("def fixture_{n}(tmp_path): return open_store(tmp_path / 'part-{n}')", 280),
    }
    files |= {
        f"shop/{part}.py": _lines(f"def {part}_{{n}}(store): return store.read({{n}}, '{part}')", 330) for part in PARTS
    }
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _lines(pattern: str, count: int) -> str:
    return "\n".join(pattern.format(n=n) for n in range(count)) + "\n"
