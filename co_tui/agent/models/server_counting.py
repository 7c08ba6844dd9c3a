"""Count tokens on the user's own server."""

from dataclasses import dataclass

from co_tui.agent.wire.http import MOST_ANSWER_BYTES, NoAnswer, ask
from co_tui.events.storable import storable_text, whole_number

COUNT_TIMEOUT_S = 2.0
TOKEN_BYTES = 12
"""The most one token takes in an answer that lists them; a token has at least one character."""


@dataclass(slots=True)
class TokenCounter:
    """Counts tokens on a server that supports it, such as llama.cpp and vLLM. After a failure it is not asked again."""

    base_url: str
    model: str
    key: str = ""
    _offered: bool = True

    async def count(self, text: str) -> int | None:
        """Tokens of the text, without those of a chat template; None when the server does not count."""
        if not text:
            return 0
        if not self._offered:
            return None
        counted = await self._ask(storable_text(text))
        self._offered = self._offered and counted is not None
        return counted

    async def _ask(self, text: str) -> int | None:
        """llama.cpp reads `content`, vLLM `prompt`; each ignores the other's field."""
        question = {
            "model": self.model,
            "content": text,
            "prompt": text,
            "add_special": False,
            "add_special_tokens": False,
        }
        most = MOST_ANSWER_BYTES + TOKEN_BYTES * len(text)
        try:
            url = f"{_root(self.base_url)}/tokenize"
            return _count_in(await ask(url, self.key, question, timeout_s=COUNT_TIMEOUT_S, most=most), len(text))
        except NoAnswer:
            return None


def _root(base_url: str) -> str:
    """Counting is not part of the OpenAI-compatible API under `/v1`."""
    return base_url.rstrip("/").removesuffix("/v1")


def _count_in(answer: object, chars: int) -> int | None:
    """The count, if plausible: a token has at least one byte, and a character at most four."""
    if not isinstance(answer, dict):
        return None
    count, tokens = answer.get("count"), answer.get("tokens")
    reported = count if isinstance(count, int) else len(tokens) if isinstance(tokens, list) else None
    return whole_number(reported, most=4 * chars + 16)
