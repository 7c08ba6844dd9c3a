"""Histories as they really are: parallel calls, unanswered ones, reused ids, empty and huge contents."""

from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

ids = st.sampled_from(["a", "b", "c", "d"])
words = st.sampled_from(
    ["", " ", "fix src/app.py", "an error in parse_config", "国际化测试", "always use tabs", "x" * 300, "word " * 400]
)
contents = words | st.text(max_size=30)
results = (
    contents
    | st.integers(1, 30).map(lambda n: "line of output\n" * n * 100)
    | st.dictionaries(st.text(max_size=5), contents, max_size=3)
)

systems = contents.map(lambda text: ModelRequest(parts=[SystemPromptPart(text)]))
prompts = contents.map(lambda text: ModelRequest(parts=[UserPromptPart(text)]))
returns = st.lists(st.tuples(ids, results), min_size=1, max_size=3).map(
    lambda pairs: ModelRequest(parts=[ToolReturnPart("tool", content, call_id) for call_id, content in pairs])
)
mixed = st.tuples(ids, results, contents).map(
    lambda t: ModelRequest(parts=[ToolReturnPart("tool", t[1], t[0]), UserPromptPart(t[2])])
)
replies = st.tuples(contents, st.lists(ids, max_size=3)).map(
    lambda t: ModelResponse(
        parts=[
            *([TextPart(t[0])] if t[0] else []),
            *(ToolCallPart("tool", {"path": "src/app.py"}, call) for call in t[1]),
        ]
    )
)


def _step(calls: list[object], text: str, number: int) -> list[ModelMessage]:
    """A reply with its calls, and the results of all of them: a real pair."""
    names = [f"call-{number}-{n}" for n in range(len(calls))]
    made = [ToolCallPart("tool", {"path": "src/app.py"}, name) for name in names]
    answered = [ToolReturnPart("tool", content, name) for name, content in zip(names, calls, strict=True)]
    return [ModelResponse(parts=[*([TextPart(text)] if text else []), *made]), ModelRequest(parts=answered)]


def _turn(prompt: ModelRequest, steps: list[tuple[list[object], str]], reply: str, number: int) -> list[ModelMessage]:
    done = [each for n, (calls, text) in enumerate(steps) for each in _step(calls, text, 100 * number + n)]
    return [prompt, *done, ModelResponse(parts=[TextPart(reply)])]


_steps = st.lists(st.tuples(st.lists(results, min_size=1, max_size=3), contents), max_size=4)
_turns = st.lists(st.tuples(prompts, _steps, contents), min_size=1, max_size=8)
paired_histories: st.SearchStrategy[list[ModelMessage]] = st.builds(
    lambda system, turns, last: [
        *system,
        *(message for number, turn in enumerate(turns) for message in _turn(*turn, number)),
        last,
    ],
    st.lists(systems, max_size=1),
    _turns,
    prompts,
)
"""Whole turns whose calls are all answered just after them: what a session that works well looks like."""


def pins_on(history: list[ModelMessage]) -> st.SearchStrategy[set[int]]:
    """Up to three messages, mostly results and the calls they answer."""
    results = [n for n, m in enumerate(history) if any(isinstance(part, ToolReturnPart) for part in m.parts)]
    calls = [n for n, m in enumerate(history) if any(isinstance(part, ToolCallPart) for part in m.parts)]
    anywhere = st.integers(0, len(history) - 1)
    kinds = [anywhere, *(st.sampled_from(places) for places in (results, calls) if places)]
    return st.sets(st.one_of(*kinds), min_size=1, max_size=3)


_any = st.one_of(prompts, returns, replies, replies, mixed)
histories: st.SearchStrategy[list[ModelMessage]] = st.builds(
    lambda system, body, last: [*system, *body, last],
    st.lists(systems, max_size=2),
    st.lists(_any, max_size=40),
    prompts | returns,
)
