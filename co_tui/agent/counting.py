"""Asking a server of the user's own how many tokens a text has."""

import asyncio
import json
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException

COUNT_TIMEOUT_S = 2.0


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
        counted = await asyncio.to_thread(ask_count, self.base_url, self.model, self.key, text)
        self._offered = self._offered and counted is not None
        return counted


def ask_count(base_url: str, model: str, key: str, text: str) -> int | None:
    """One question to the server; blocks, so meant for a thread. Never raises for what a server may do."""
    try:
        request = _question(base_url, model, key, text)
        with urllib.request.urlopen(request, timeout=COUNT_TIMEOUT_S) as reply:
            return _count_in(json.load(reply))
    except (OSError, ValueError, HTTPException):
        return None


def _question(base_url: str, model: str, key: str, text: str) -> urllib.request.Request:
    """llama.cpp reads `content`, vLLM `prompt`; each ignores the other's words."""
    body = {
        "model": model,
        "content": text,
        "prompt": text,
        "add_special": False,
        "add_special_tokens": False,
    }
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{_root(base_url)}/tokenize", data, {"Content-Type": "application/json"})
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    return request


def _root(base_url: str) -> str:
    """Counting is no part of the OpenAI-like interface, which is served under `/v1`."""
    return base_url.rstrip("/").removesuffix("/v1")


def _count_in(answer: object) -> int | None:
    if not isinstance(answer, dict):
        return None
    count, tokens = answer.get("count"), answer.get("tokens")
    if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
        return count
    return len(tokens) if isinstance(tokens, list) else None
