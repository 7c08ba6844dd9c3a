"""What servers report about the length of a prompt."""

from typing import Any

from co_tui.agent.models.served_models import listed_window
from tests.support.cases import each_case


@each_case(
    ("entry", "expected"),
    [
        ({"meta": {"n_ctx": 8192}}, 8_192),
        ({"max_model_len": 32_768}, 32_768),
        ({"capabilities": {"limits": {"max_prompt_tokens": 64_000, "max_context_window_tokens": 128_000}}}, 64_000),
        ({"capabilities": {"limits": {"max_context_window_tokens": 128_000}}}, 128_000),
        ({"max_input_tokens": 200_000}, 200_000),
        ({}, None),
        ({"meta": None, "capabilities": [1], "max_model_len": "many"}, None),
        ({"max_model_len": True}, None),
        ({"meta": {"n_ctx": 0}}, None),
    ],
)
def test_the_longest_prompt_in_a_servers_list(entry: dict[str, Any], expected: int | None) -> None:
    assert listed_window(entry) == expected
