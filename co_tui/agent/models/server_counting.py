"""Asking a server of the user's own how many tokens a text has."""

from dataclasses import dataclass

from co_tui.agent.wire.http import MOST_ANSWER_BYTES, NoAnswer, ask
from co_tui.events.storable import storable_text, whole_number

COUNT_TIMEOUT_S = 2.0
TOKEN_BYTES = 12
"""What one token takes at most in an answer that lists them; a token has at least one character."""


@dataclass(slots=True)
class TokenCounter:
    """Counts on a server that offers it, as llama.cpp and vLLM do. One that failed is not asked again."""

    base_url: str
    model: str
    key: str = ""
    _offered: bool = True

    async def count(self, text: str) -> int | None:
        """Tokens of the text, without any that a chat template adds; None when the server does not count."""
        if not text:
            return 0
        if not self._offered:
            return None
        counted = await self._ask(storable_text(text))
        self._offered = self._offered and counted is not None
        return counted

    async def _ask(self, text: str) -> int | None:
        """llama.cpp reads `content`, vLLM `prompt`; each ignores the other's words."""
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
    """Counting is no part of the OpenAI-like interface, which is served under `/v1`."""
    return base_url.rstrip("/").removesuffix("/v1")


def _count_in(answer: object, chars: int) -> int | None:
    """A count that can be true: no token is shorter than a byte, and no character longer than four."""
    if not isinstance(answer, dict):
        return None
    count, tokens = answer.get("count"), answer.get("tokens")
    told = count if isinstance(count, int) else len(tokens) if isinstance(tokens, list) else None
    return whole_number(told, most=4 * chars + 16)
