"""The session as a library, by README's own example."""

import re
from pathlib import Path

import pytest

from co_tui.library import open_session
from co_tui.settings import SettingsError
from tests.support.command import CliCommand
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

README = Path(__file__).parents[1] / "README.md"


def test_the_example_in_the_readme_runs(served: CliCommand, provider: Provider) -> None:
    written = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (example,) = (each for each in written if "open_session" in each)
    provider.default = Reply(text="About herons. " * 400, prompt_tokens=-1)
    process = served.start_loaded(code=example)
    out, err = process.communicate(PATIENCE_S)
    assert process.wait() == 0 and err == "", err
    kinds = [line.split()[1] for line in out.splitlines()]
    assert kinds.count("message") >= 2 and "session.usage_info" in kinds and kinds[-1] == "session.end"


async def test_a_session_is_resumed_by_its_id_and_bad_settings_are_a_sentence(
    served: CliCommand, provider: Provider
) -> None:
    async with open_session(served.cwd, environ=served.environ) as session:
        await session.submit("Remember the heron")
    async with open_session(served.cwd, session_id=session.id, environ=served.environ) as again:
        await again.submit("What was it?")
    asked = [message["content"] for message in provider.requests[-1]["messages"] if message["role"] == "user"]
    assert asked == ["Remember the heron", "What was it?"]
    with pytest.raises(SettingsError, match="max_retries"):
        async with open_session(served.cwd, environ=served.environ, max_retries="many"):
            pass
