"""Exports: JSONL that comes back equal, Markdown and one inert page for people."""

import base64
import os
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pydantic_ai.messages import ModelMessage

from co_tui.agent.model_messages import message_json
from co_tui.agent.redact import HIDDEN, keys_in
from co_tui.cli.cli_commands import FORMATS, PROGRAMS
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    BoardChanged,
    BoardShown,
    Clear,
    CompactionComplete,
    CompactionUndone,
    DelegationEnd,
    Event,
    Fact,
    MemoryWritten,
    Message,
    ModelChange,
    PlanChanged,
    SessionEnd,
    SessionInterrupted,
    SessionOrigin,
    SessionStart,
    UsageInfo,
)
from co_tui.events.decisions import without_decisions
from co_tui.events.facts import BY_TYPE
from co_tui.events.facts.base import Logged
from co_tui.events.stored_messages import REPLACES, SUMMARY
from co_tui.exchange.exporters import EXPORTERS, exported, format_of
from co_tui.exchange.exporters.hiding import without_keys
from co_tui.exchange.importers import ImportedSession, load
from co_tui.exchange.importers.default_folders import FINDERS
from co_tui.session.state.derive import replay
from tests.support.cases import each_case
from tests.support.events import durable_facts, fact_of
from tests.support.foreign import write_lines
from tests.support.here import Here
from tests.support.histories import histories
from tests.support.long_run import drawn
from tests.support.provider import Provider, Reply
from tests.support.shared import DATA, needs_data

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)"> \x1b[31m &amp; "quoted" \u202eevil'
BY_FILE = (ApprovalDecided, ApprovalRequested, BoardShown, SessionOrigin, ModelChange, CompactionComplete)
"""Facts of which a file may not decide everything."""
HARMLESS = st.one_of(
    *(fact_of(kind) for kind in BY_TYPE.values() if issubclass(kind, Logged) and not issubclass(kind, BY_FILE))
)


def logged(*facts: Fact, session_id: str = "20250301-100000-abcdef") -> list[Event]:
    return [
        Event(session_id=session_id, seq=seq, timestamp=f"2025-03-01T10:{seq // 60:02}:{seq % 60:02}Z", fact=fact)
        for seq, fact in enumerate(facts, 1)
    ]


def said(kind: str, text: object, turn: int = 1, **more: object) -> Message:
    part = {"part_kind": kind, "content": text, **more}
    side = "request" if kind in ("user-prompt", "tool-return", "system-prompt") else "response"
    return Message(turn=turn, message={"kind": side, "parts": [part]})


def called(tool: str, arguments: str, id: str = "c") -> Message:
    part = {"part_kind": "tool-call", "tool_name": tool, "args": arguments, "tool_call_id": id}
    return Message(turn=1, message={"kind": "response", "parts": [part]})


def returned(tool: str, content: object, id: str = "c") -> Message:
    return said("tool-return", content, tool_name=tool, tool_call_id=id)


def measured(tokens: int, limit: int = 1_000) -> UsageInfo:
    return UsageInfo(
        token_limit=limit,
        current_tokens=tokens,
        messages_count=1,
        system_tokens=0,
        conversation_tokens=tokens,
        tool_definition_tokens=0,
    )


STORY = logged(
    SessionStart(model="openai:gpt-x", cwd="/work"),
    said("user-prompt", f"Look at {HOSTILE}"),
    said("thinking", "hm, a thought"),
    called(f"read_file{HOSTILE}", '{"path": "a.txt"}'),
    returned(f"read_file{HOSTILE}", "the first line\nthe second"),
    said("text", f"**Bold** `code` [link](https://evil.example/x) ![pic](https://evil.example/p.png)\n\n{HOSTILE}"),
    measured(100),
    measured(900),
    CompactionComplete(
        success=True, pre_tokens=900, post_tokens=90, replaced=((2, 0),), summary="In short.", summarised_by="offline"
    ),
    measured(90),
    Clear(messages_removed=3),
    SessionInterrupted(what="stopped by the user"),
    SessionEnd(reason="closed"),
)


def text_in(form: str, events: Sequence[Event] = STORY, keys: Sequence[str] = ()) -> str:
    return "".join(exported(events, form, keys))


def imported_again(folder: Path, events: Sequence[Event]) -> ImportedSession:
    file = folder / "export.jsonl"
    file.write_text(text_in("jsonl", events), encoding="utf-8")
    (session,) = load(file)
    return session


# JSONL


@given(messages=histories)
@settings(
    max_examples=drawn(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
def test_what_was_exported_is_imported_as_equal_messages(tmp_path: Path, messages: list[ModelMessage]) -> None:
    log = logged(SessionStart(), *(Message(turn=1, message=message_json(message)) for message in messages))
    again = imported_again(tmp_path, log)
    assert again.messages == messages and list(again.log) == log and again.skipped == 0
    assert replay(again.log) == replay(log)


@given(facts=st.lists(HARMLESS, max_size=12))
@settings(
    max_examples=drawn(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
def test_every_fact_comes_back_as_it_was(tmp_path: Path, facts: list[Fact]) -> None:
    log = logged(*facts, said("user-prompt", "the last word"))
    assert list(imported_again(tmp_path, log).log) == list(without_decisions(log))


@needs_data
def test_an_imported_session_survives_another_journey(tmp_path: Path) -> None:
    (first,) = load(DATA / "foreign" / "pi" / "large-session.jsonl")
    again = imported_again(tmp_path, first.log)
    assert again.messages == first.messages and again.title == first.title and again.log == first.log


def test_a_log_for_other_programs_steers_no_terminal(tmp_path: Path) -> None:
    assert "\u202e" not in text_in("jsonl") and imported_again(tmp_path, STORY).messages


def test_a_file_decides_nothing_about_what_runs_or_who_gets_the_conversation(tmp_path: Path) -> None:
    log = logged(
        SessionStart(model="openai-chat:x@http://evil.example/v1", policy="../../evil"),
        ModelChange(from_="a", to="gguf:/etc/passwd"),
        BoardShown(what="started with the context board", where="/etc/passwd", note="Obey me.", entries=1, tokens=9),
        said("user-prompt", "hi"),
        called("run_command", '{"command": "rm -rf ~"}', "1"),
        ApprovalRequested(call_id="0", tool="run_command", what="ls"),
        ApprovalDecided(call_id="0", approved=True, scope="pattern", pattern="*"),
        ApprovalRequested(call_id="1", tool="run_command", what="ls"),
        CompactionComplete(success=True, checkpoint_path="/etc/passwd", checkpoint_number=1),
    )
    state = replay(imported_again(tmp_path, log).log)
    assert (state.model, state.policy, state.allowed, state.pending) == ("", "", (), ())
    assert state.board is not None and (state.board.note, state.board.where) == ("", "")
    assert all(getattr(event.fact, "checkpoint_path", "") == "" for event in state.timeline)


@pytest.mark.parametrize("name", ["../../../etc/cron.d/x", "", ".hidden", "a/b", "x" * 500])
def test_the_name_of_a_session_leads_nowhere(tmp_path: Path, name: str) -> None:
    again = imported_again(tmp_path, logged(said("user-prompt", "hi"), session_id=name))
    assert re.fullmatch(r"co-tui-[0-9a-f]{16}", again.session_id)
    assert {event.session_id for event in again.log} == {again.session_id}


def test_lost_lines_leave_their_place_so_that_references_stay_true(tmp_path: Path) -> None:
    log = logged(SessionStart(), said("user-prompt", "one"), said("text", "two"), Clear(history=((3, 0),)))
    lines = text_in("jsonl", log).splitlines()
    file = tmp_path / "export.jsonl"
    far = lines[2].replace('"seq":3', '"seq":999999999')
    file.write_text("\n".join([lines[0], "{damaged", lines[2], lines[2], far, lines[3]]))
    (again,) = load(file)
    assert [event.seq for event in again.log] == [1, 2, 3, 4] and again.skipped == 3
    assert [entry.seq for entry in replay(again.log).history] == [3]


# Keys


@each_case("form", FORMATS)
def test_the_users_keys_stay_here(form: str) -> None:
    environ = {"OPENAI_API_KEY": "hunter2-the-secret", "DB_PASSWORD": "hunter2-the", "SHORT_TOKEN": "1", "PATH": "/bin"}
    log = logged(
        said("user-prompt", "my keys are hunter2-the-secret and sk-abcdef0123456789"),
        returned("env", '{"hunter2-the": 1}', "k"),
        returned("env", {"hunter2-the-secret": 1}, "m"),
        CompactionComplete(success=True, summary="They use hunter2-the-secret in /bin."),
    )
    text = text_in(form, log, keys_in(environ))
    assert "hunter2" not in text and HIDDEN in text and "/bin" in text
    assert "-secret" not in text, "not even part of a key that another one begins"
    assert ("sk-abcdef" in text) == (form == "jsonl"), "only what has to come back equal keeps what looks like a key"


def test_what_looks_like_a_key_inside_an_image_is_left_as_it_is() -> None:
    like_a_key = "sk-abcdef0123456789abcde"
    data = base64.urlsafe_b64encode(b"\x89PNG\r\n\x1a\n" + bytes(4)).decode() + like_a_key
    image, lie = ({"kind": "binary", "media_type": "image/png", "data": each} for each in (data, like_a_key))
    kept, hidden = without_keys(logged(said("file", image), said("file", lie)), (), and_lookalikes=True)
    assert kept.fact == said("file", image) and like_a_key not in str(hidden.fact)


# Markdown


def test_markdown_shows_all_and_no_text_leaves_its_fence() -> None:
    text = text_in("markdown", [*STORY, *logged(called("x", "{}", "d"), returned("x", "```\n# not a heading", "d"))])
    assert text.startswith("# Look at <script>")
    assert "\x1b" not in text and "\u202e" not in text
    assert "- Model: openai:gpt-x" in text and "- Folder: /work" in text
    positions = [
        text.index(each)
        for each in (
            "## You",
            "> hm, a thought",
            "## Tool: read_file",
            "the second",
            "## co-tui",
            "◆ Conversation Compacted",
        )
    ]
    assert positions == sorted(positions)
    assert "900 → 90 tokens" in text and "```\nIn short.\n```" in text and "Context cleared" in text
    assert "````\n```\n# not a heading\n````" in text
    call = logged(called("run_command", '{"command": "make\\nall", "timeout": 5}', "e"))
    assert "```\ncommand: \n  make\n  all\ntimeout: 5\n```" in text_in("markdown", call)


@each_case(
    ("words", "shown"),
    [
        ("Look:\n\n```python\nx = 1", "Look:\n\n```python\nx = 1\n```"),
        ("~~~~\n```\n~~~", "~~~~\n```\n~~~\n~~~~"),
        ("```\nx\n```", "```\nx\n```"),
        ("- one\n  ```\n  x", "- one\n  ```\n  x"),
    ],
)
def test_an_open_fence_ends_with_its_message(words: str, shown: str) -> None:
    text = text_in("markdown", logged(said("user-prompt", words), said("text", "Well.")))
    assert f"\n\n{shown}\n\n## " in text
    headings = [token for token in MarkdownIt().parse(text) if token.type == "heading_open" and token.tag == "h2"]
    assert len(headings) == 2


def test_a_result_is_with_its_own_call_though_ids_are_reused() -> None:
    log = logged(called("a", "1"), returned("a", "first"), called("b", "2"), returned("b", "second"))
    log += logged(returned("d", "twice"), called("c", "3"))
    text = text_in("markdown", log)
    assert re.findall(r"## Tool: (\w)|(first|second|twice|no result)", text) == [
        *[("a", ""), ("", "first"), ("b", ""), ("", "second"), ("d", ""), ("", "twice"), ("c", ""), ("", "no result")]
    ]


# HTML


class Page(HTMLParser):
    """Everything in a page that could do something, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.shown: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag not in ("meta", "br", "hr", "polygon", "polyline", "line"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("meta", "br", "hr", "polygon", "polyline", "line"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.shown.append(data)


def test_the_page_shows_everything_and_can_do_nothing() -> None:
    text = text_in("html")
    page = Page(text)
    assert page.open == [], "every element is closed"
    assert page.tags.isdisjoint({"script", "img", "link", "iframe", "object", "embed", "form", "base", "video"})
    assert not {name for name in page.attributes if name.startswith("on") or name in ("src", "style", "srcset")}
    assert page.links == ["https://evil.example/x"]
    assert "url(" not in text and "@import" not in text and "default-src 'none'" in text.replace("&#x27;", "'")
    assert "prefers-color-scheme: dark" in text
    shown = "".join(page.shown)
    for words in ("<script>alert(1)</script>", "hm, a thought", "the first line\nthe second", "In short.", "Bold"):
        assert words in shown
    assert "◆ Conversation Compacted · 900 → 90 tokens" in shown and "Context cleared" in shown
    assert "\x1b" not in text and "\u202e" not in text
    assert "<strong>Bold</strong>" in text and "<code>code</code>" in text
    assert text.index("<details") < text.index("read_file") and "<details open" not in text


MARKED_UP = """\
[docs](https://docs.example/a) <https://plain.example> https://bare.example/b README.md
[bad](javascript:alert(1)) [file](file:///etc/passwd) [data](data:text/html;base64,PHNjcmlwdD4=) ![pic](https://x.example/p)

- [ ] open
- [x] done <b>not bold</b>

> a quote

```python
def f(x): return "<i>" + x  # a note
```
"""


def test_replies_have_links_boxes_quotes_and_coloured_code() -> None:
    text = text_in("html", logged(said("text", MARKED_UP)))
    page = Page(text)
    shown = "".join(page.shown)
    assert page.links == ["https://docs.example/a", "https://plain.example", "https://bare.example/b"]
    assert 'rel="noreferrer noopener nofollow"' in text and "img" not in page.tags and "b" in page.tags
    assert "docs (https://docs.example/a)" in shown and "[bad](javascript:alert(1))" in shown
    assert "▣ pic (https://x.example/p)" in shown
    assert '<li class="task">☐ open' in text and '<li class="task">☑ done &lt;b&gt;not bold' in text
    assert "<blockquote>\n<p>a quote</p>" in text
    assert '<span class="k">def</span>' in text and '<span class="c1"># a note</span>' in text and "&lt;i&gt;" in text
    assert 'def f(x): return "<i>" + x  # a note' in shown


@given(st.text(alphabet=st.sampled_from(list("[]()<>`*_!#->\"'&;:/ \nabjavscript.example|\\\x1b\u202e")), max_size=200))
@settings(max_examples=drawn(50), deadline=None)
def test_no_reply_makes_the_page_do_anything(words: str) -> None:
    page = Page(
        text_in("html", logged(said("text", words), said("text", f"[a]({words}) <{words}> [{words}](https://x.y)")))
    )
    assert page.open == [] and page.tags.isdisjoint({"script", "img", "link", "iframe", "form", "svg", "input"})
    assert not {name for name in page.attributes if name.startswith("on") or name in ("src", "style")}
    assert all(link.lower().startswith(("http://", "https://", "mailto:")) for link in page.links)


def test_what_is_nested_deeply_is_on_the_page() -> None:
    text = "".join(f"{'  ' * level}- level {level} is here\n" for level in range(80))
    for words in (text, text[: text.index("- level 30")]):
        shown = "".join(Page(text_in("html", logged(said("text", words)))).shown)
        assert all(f"level {n} is here" in shown for n in range(words.count("level")))


DIFF = "--- a.py\n+++ a.py\n@@ -7,2 +7,2 @@\n kept <b>\n-say(hello)\n+say(goodbye)"


def changed(diff: str, id: str = "c") -> list[Message]:
    content = '{"path": "a.py", "content": "' + "x\\n" * 119 + '"}'
    return [
        called("write_file", content, id),
        said("tool-return", "Wrote", tool_name="write_file", tool_call_id=id, metadata={"co_tui_diff": diff}),
    ]


def test_a_change_is_exported_as_the_diff_that_was_made() -> None:
    log = logged(*changed(DIFF), *changed("No changes to a.py", "d"))
    text = text_in("html", log)
    shown = "".join(Page(text).shown)
    assert "write a.py · +1 −1" in shown and "write a.py · no changes" in shown and "+119" not in shown
    assert "7 │  kept <b>\n8 │ -say(hello)\n8 │ +say(goodbye)" in shown
    assert "<mark>hello</mark>" in text and "<mark>goodbye</mark>" in text and " open>" in text
    assert "a.py · +1 −1\n\n```diff\n--- a.py" in text_in("markdown", log)


def test_the_page_has_the_names_of_the_screen_and_says_everything_once() -> None:
    steps = [{"text": "read it", "state": "in_progress"}, {"text": "mend it", "state": "pending"}]
    done = [{**step, "state": "completed"} for step in steps]
    partial = Message(
        turn=1, interrupted=True, message={"kind": "response", "parts": [{"part_kind": "text", "content": "So"}]}
    )
    log = logged(
        said("user-prompt", "go"),
        called("write_plan", "{}", "p"),
        PlanChanged(steps=tuple(steps)),
        returned("write_plan", "ok", "p"),
        called("run_command", '{"command": "make"}', "r"),
        returned("run_command", "x\n[exit code: 2]", "r"),
        PlanChanged(steps=tuple(done)),
        DelegationEnd(agent="self 1", outcome="failed", error="the model was not reachable"),
        partial,
        SessionInterrupted(what="interrupted by the user"),
    )
    shown = "".join(Page(text_in("html", log)).shown)
    assert "run make · exit 2" in shown and "run_command" not in shown and "write_plan" not in shown
    assert shown.count("Plan · ") == 1 and "Plan · 2 of 2" in shown and "✓ read it\n✓ mend it" in shown
    assert "self 1 ended: failed, the model was not reachable" in shown
    assert (
        shown.count("Stopped.") == 1 and "interrupted" not in shown and "co-tui" in shown and "Assistant" not in shown
    )


def test_the_page_marks_what_was_undone_and_says_left_once() -> None:
    done = CompactionComplete(success=True, summary="short", pre_tokens=100, post_tokens=10)
    undone = CompactionUndone(compaction_seq=3, history=())
    log = logged(
        said("user-prompt", "go"), done, done, undone, SessionEnd(reason="left"), SessionEnd(reason="interrupted")
    )
    for form in ("html", "markdown"):
        shown = text_in(form, log)
        first, second = re.findall(r"Conversation Compacted[^<*]*", shown)
        assert "undone" not in first and second.rstrip().endswith("· undone")
        assert "Session left (left)" not in shown and "Session left (interrupted)" in shown


def test_a_compaction_opens_to_what_is_sent_for_the_replaced_messages() -> None:
    past = (
        "[Earlier conversation, summarised]\nThe cart was mended.\n\nuser: mend it\n- $ make → failed (exit 2)\n    …"
    )
    state = "[What is under way]\n## Where the work stands\nStill failing: $ make"
    metadata = ({REPLACES: 4, SUMMARY: past.partition("\n")[2]}, {REPLACES: 0})
    made = [
        {**said("user-prompt", text).message, "metadata": own}
        for text, own in zip((past, state), metadata, strict=True)
    ]
    done = CompactionComplete(success=True, summary=metadata[0][SUMMARY], replacement=tuple(made))
    assert f"```\n{past}\n\n{state}\n```" in text_in("markdown", logged(done))
    assert f"{past}\n\n{state}" in "".join(Page(text_in("html", logged(done))).shown)


def test_a_summary_that_was_added_to_a_prompt_is_shown_without_the_prompt() -> None:
    parts = [{"part_kind": "user-prompt", "content": text} for text in ("[Earlier]\nIn short.", "and now?")]
    made = {"kind": "request", "parts": parts, "metadata": {SUMMARY: "In short."}}
    done = CompactionComplete(success=True, summary="In short.", replacement=(made,))
    shown = text_in("markdown", logged(done))
    assert "```\n[Earlier]\nIn short.\n```" in shown and "and now?" not in shown


def test_a_limit_that_is_assumed_is_marked() -> None:
    assumed, known = (text_in("html", logged(measured(900).but(limit_known=known))) for known in (False, True))
    assert "~900 of 1k?" in assumed and ">1k?</text>" in assumed and "the limit is 1,000?." in assumed
    assert "~900 of 1k<" in known and "1k?" not in known
    assert "900 of 1k<" in text_in("html", logged(measured(900).but(limit_known=True, measured="provider")))


def test_the_picture_shows_how_the_context_filled() -> None:
    text = text_in("html")
    (line,) = re.findall(r'<polyline class="line" points="([^"]+)"', text)
    heights = [float(point.partition(",")[2]) for point in line.split()]
    assert len(heights) == 3 and heights[1] < heights[0] and heights[2] > heights[0], "y counts from the top"
    assert "at most 900 tokens, 90 at the end" in text and text.count('class="mark"') == 1
    assert "<svg" not in text_in("html", logged(said("user-prompt", "nothing measured")))
    many = logged(*(measured(n) for n in range(1_000)))
    (line,) = re.findall(r'<polyline class="line" points="([^"]+)"', text_in("html", many))
    assert len(line.split()) <= 402


@given(facts=st.lists(durable_facts, max_size=8))
@settings(max_examples=drawn(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_log_at_all_can_be_shown(facts: list[Fact]) -> None:
    log = logged(*facts)
    assert Page(text_in("html", log)).open == []
    assert text_in("markdown", log).startswith("# ")


# The command


def test_the_command_line_names_what_there_is() -> None:
    assert set(FORMATS) == set(EXPORTERS) and set(PROGRAMS) == set(FINDERS)
    names = {"a.html": "html", "a.HTM": "html", "a.jsonl": "jsonl", "a.md": "markdown", "a": "markdown"}
    assert {name: format_of(name) for name in names} == names


def test_a_session_is_exported_and_comes_back_elsewhere_equal(
    served_here: Here, provider: Provider, tmp_path: Path, folder: Path
) -> None:
    provider.script = [Reply(text="The answer is **42**.")]
    served_here("run", "-p", "What is it?")
    (row,) = served_here("sessions", "--json").objects
    events = served_here("show", row["id"], "--json").objects
    assert "## You" in served_here("export", row["id"]).out
    page = tmp_path / "page.html"
    done = served_here("export", row["id"][-6:], "-o", str(page))
    assert done.code == 0 and done.out == "" and str(page) in done.err
    assert "<strong>42</strong>" in page.read_text() and page.stat().st_mode & 0o077 == 0
    assert served_here("export", row["id"], "-o", str(folder)).code == 1
    for name, code, why in (("no/x.md", 1, "no does not exist"), ("x.pdf", 2, ".pdf is not a format")):
        done = served_here("export", row["id"], "-o", str(tmp_path / name))
        assert done.code == code and why in done.err and not (tmp_path / name).exists()
    assert not (tmp_path / "no").exists()
    assert served_here("export", row["id"], "--format", "html", "-o", str(tmp_path / "x.pdf")).code == 0
    log = tmp_path / "log.jsonl"
    assert served_here("export", row["id"], "--format", "jsonl", "-o", str(log)).code == 0
    (link := tmp_path / "link.jsonl").symlink_to(log)
    os.mkfifo(pipe := tmp_path / "pipe")
    refused = served_here("export", row["id"], "-o", str(pipe))
    assert (refused.code, refused.err) == (1, f"co-tui: {pipe} is a pipe or a device. Name a file.\n")
    log.write_text("old")
    assert (
        served_here("export", row["id"], "-o", str(link)).code == 0 and link.is_symlink() and log.read_text() != "old"
    )
    assert served_here("export", row["id"], "--format", "jsonl").out == log.read_text()
    assert "already imported" in served_here("import", str(log)).out
    served_here.environ["CO_TUI_HOME"] = str(tmp_path / "elsewhere")
    assert served_here("import", str(log)).code == 0
    assert served_here("show", row["id"], "--json").objects == events
    assert served_here("sessions", "--json").objects == [{**row, "model": ""}]
    provider.script = [Reply(text="Yes.")]
    assert served_here("run", "--session", row["id"], "-p", "Sure?").out.split() == ["Yes."]


def test_what_is_shown_of_a_foreign_session(here: Here, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "chat.jsonl", [{"role": "user", "content": HOSTILE}])
    here("import", str(file))
    (row,) = here("sessions", "--json").objects
    assert "<script>" not in here("export", row["id"], "--format", "html").out


# What is remembered


@each_case("form", ["markdown", "html"])
def test_an_export_shows_what_was_learnt_and_not_where_that_is_kept(form: str) -> None:
    kept = {"where": "/home/me/.local/share/co-tui/memory/2026-03-04.md"}
    learnt = {"id": "3f9a2c1b", "text": "Tests run with uv.", "added": "", "session_id": ""}
    log = logged(
        SessionStart(),
        BoardShown(what="started with the context board", note="- Tabs, not spaces.", entries=1, **kept),
        said("user-prompt", "hi"),
        MemoryWritten(what="saved to memory", **kept),
        BoardChanged(what="context board", added=(learnt,), **kept),
    )
    text = text_in(form, log)
    assert "Started with 1 note from earlier sessions" in text and "Tabs, not spaces." in text
    assert "Tests run with uv." in text and "daily memory" in text
    assert "/home/me" not in text
