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
_any = st.one_of(prompts, returns, replies, replies, mixed)
histories: st.SearchStrategy[list[ModelMessage]] = st.builds(
    lambda system, body, last: [*system, *body, last],
    st.lists(systems, max_size=2),
    st.lists(_any, max_size=40),
    prompts | returns,
)
