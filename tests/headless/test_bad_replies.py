"""What scripts see of a provider that misbehaves: the exit code, and a sentence on standard error."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.replies import DONE, HELLO, STOP, chunk, sse
from tests.support.waiting import PATIENCE_S

KEY = "sk-test-0123456789abcdef"


def test_a_reply_that_breaks_off_is_a_failure_reported_without_a_library_s_words(
    served: CliCommand, served_here: Here, provider: Provider
) -> None:
    served.environ["CO_TUI_MAX_RETRIES"] = "0"
    usage = chunk({}, choices=[], usage={"prompt_tokens": 1.5, "completion_tokens": "x", "total_tokens": None})
    provider.script = [Reply(raw=(sse(HELLO, usage),))]
    process = served.start_loaded("run", "-p", "hi")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out.strip()) == (1, "Hello there.")
    failure, session = err.splitlines()
    assert "stopped mid-reply" in failure and session.startswith("co-tui: Session ")
    assert not any(word in err for word in ("site-packages", "Warning", ".py"))

    provider.script = [Reply(raw=(sse(chunk({"content": "a\ud800b"}), usage, STOP, DONE),))]
    done = served_here("run", "--continue", "-p", "again", "--json")
    assert (done.code, done.err) == (0, "")
    replies = [each["payload"] for each in done.objects if each["payload"].get("message", {}).get("kind") == "response"]
    assert [part["content"] for reply in replies for part in reply["message"]["parts"]] == ["a\ufffdb"]

    shown = served_here("show", done.objects[0]["session_id"], "--json").objects
    assert [each["message"].get("state") for each in shown if each["message"]["kind"] == "response"] == [
        "interrupted",
        "complete",
    ]


def test_hooks_of_a_command_get_no_key(served_here: Here, provider: Provider) -> None:
    config = served_here.home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[hooks]\npreCompact = ["env > {served_here.cwd}/given"]\n')
    provider.default = Reply(text="An answer. " * 50)
    session_id = served_here("run", "-p", "hi " * 200, "--json").objects[0]["session_id"]
    served_here("run", "--continue", "-p", "more " * 200)
    served_here("compact", session_id)
    given = (served_here.cwd / "given").read_text()
    assert "PATH=" in given and KEY not in given and "OPENAI_API_KEY" not in given


def test_what_libraries_say_is_not_printed(home: Path) -> None:
    program = (
        "import logging, sys, warnings; sys.argv = ['co-tui', 'sessions']\n"
        "from co_tui.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('-' * 9, file=sys.stderr, flush=True)\n"
        "warnings.warn('a library warns', UserWarning); logging.getLogger('library').warning('it logs')\n"
    )
    environ = {**os.environ, "CO_TUI_HOME": str(home)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=environ)
    assert done.stderr.rpartition("-" * 9)[2].strip() == "", done.stderr
