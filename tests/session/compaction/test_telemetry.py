"""Compactions are sent to a collector only if the user asks, and never with text of the conversation."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from co_tui.session.compaction import telemetry

OTLP = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


@pytest.fixture
def collected() -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.use(provider)
    yield exporter
    telemetry.use(None)
    provider.shutdown()


def told(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_compaction_is_one_span_with_its_start_and_its_end(collected: InMemorySpanExporter) -> None:
    span = telemetry.start("background", {"session_id": "s1", "pre_tokens": 9000, "model": "m"})
    assert collected.get_finished_spans() == ()
    ended = {"post_tokens": 700, "tokens_removed": 8300, "messages_removed": 40, "checkpoint_number": 3}
    span.end({**ended, "duration_ms": 1234, "request_id": "r1", "success": True, "cancelled": False})
    (kept,) = collected.get_finished_spans()
    assert kept.name == "session_compaction"
    started = {
        "co_tui.trigger": "background",
        "co_tui.session_id": "s1",
        "co_tui.pre_tokens": 9000,
        "co_tui.model": "m",
    }
    completed = {
        **{f"co_tui.{name}": value for name, value in ended.items()},
        "co_tui.duration_ms": 1234,
        "co_tui.request_id": "r1",
        "co_tui.success": True,
        "co_tui.cancelled": False,
    }
    assert told(kept) == started | completed
    assert [(event.name, dict(event.attributes or {})) for event in kept.events] == [
        ("session_compaction_start", started),
        ("session_compaction_complete", completed),
    ]
    assert kept.status.status_code is StatusCode.UNSET


def test_no_text_of_the_conversation_leaves(collected: InMemorySpanExporter) -> None:
    words = "the user's own words"
    span = telemetry.start("manual", {"focus": words, "session_id": None, "pre_tokens": [words]})
    span.end({"summary": words, "success": False, "error": words}, error=f"Provider said: {words}")
    (kept,) = collected.get_finished_spans()
    assert words not in kept.to_json()
    assert kept.status.status_code is StatusCode.ERROR
    assert told(kept)["error.type"] == "_OTHER"
    assert "co_tui.session_id" not in told(kept)


def test_a_failure_is_reported_by_its_kind(collected: InMemorySpanExporter) -> None:
    telemetry.start("manual", {}).end({"success": False}, error="rate_limit")
    (kept,) = collected.get_finished_spans()
    assert told(kept)["error.type"] == "rate_limit"
    assert told(kept)["co_tui.duration_ms"] >= 0


def test_only_the_first_end_counts(collected: InMemorySpanExporter) -> None:
    span = telemetry.start("manual", {})
    span.end({"cancelled": True})
    span.end({"success": True})
    (kept,) = collected.get_finished_spans()
    assert "co_tui.success" not in told(kept)


def test_off_means_no_span_and_no_import() -> None:
    code = (
        "import sys; from co_tui.session.compaction import telemetry as t; assert t.configure('off') == '';"
        "t.start('manual', {'pre_tokens': 1}).end({'success': False}, error='x');"
        "print(*(name for name in sys.modules if name.startswith('opentelemetry')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_without_the_packages_the_user_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, OTLP, None)
    problem = telemetry.configure("http://localhost:4318")
    assert "opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http" in problem
    telemetry.start("manual", {}).end({})


@pytest.mark.parametrize("setting", ["on", "localhost:4318", "ftp://host", "http://", "", "http://[::1"])
def test_a_setting_that_is_no_address_is_reported(setting: str) -> None:
    assert "not a collector's http address" in telemetry.configure(setting)


@pytest.mark.parametrize(
    ("setting", "endpoint"),
    [
        ("http://localhost:4318", "http://localhost:4318/v1/traces"),
        ("https://host/", "https://host/v1/traces"),
        ("https://host/my/traces?x=1", "https://host/my/traces?x=1"),
    ],
)
def test_an_address_gets_the_spans(monkeypatch: pytest.MonkeyPatch, setting: str, endpoint: str) -> None:
    sent: list[tuple[str, str]] = []

    class Exporter(SpanExporter):
        def __init__(self, endpoint: str, timeout: float) -> None:
            self.endpoint = endpoint

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            sent.extend((self.endpoint, span.name) for span in spans)
            return SpanExportResult.SUCCESS

    module = ModuleType(OTLP)
    module.OTLPSpanExporter = Exporter
    monkeypatch.setitem(sys.modules, OTLP, module)
    assert telemetry.configure(setting) == ""
    telemetry.start("manual", {}).end({"success": True})
    provider = telemetry._provider
    assert isinstance(provider, TracerProvider)
    provider.shutdown()
    telemetry.use(None)
    assert sent == [(endpoint, "session_compaction")]
