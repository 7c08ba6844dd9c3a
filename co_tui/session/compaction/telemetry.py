"""Compactions as OpenTelemetry spans, off by default. Only numbers and names, never message content."""

import re
import time
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from co_tui.inert import one_line

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

OFF: Final = "off"
NAME: Final = "session_compaction"
NAMES: Final = frozenset(
    (
        "trigger",
        "session_id",
        "system_tokens",
        "conversation_tokens",
        "tool_definition_tokens",
        "pre_tokens",
        "post_tokens",
        "tokens_removed",
        "messages_removed",
        "checkpoint_number",
        "model",
        "duration_ms",
        "request_id",
        "success",
        "cancelled",
    )
)
"""The only attributes ever sent, each as `co_tui.NAME`."""
NAME_CHARS = 200
EXPORT_TIMEOUT_S = 3

_provider: "TracerProvider | None" = None


class CompactionSpan:
    """The span of one compaction; does nothing without telemetry."""

    def __init__(self, span: "Span | None" = None) -> None:
        self._span = span
        self._began = time.monotonic()

    def end(self, attributes: Mapping[str, object], error: str = "") -> None:
        """Report the end; only the first call counts. `error` is a kind of failure, never a sentence."""
        span, self._span = self._span, None
        if span is None:
            return
        taken = {"duration_ms": round((time.monotonic() - self._began) * 1000)}
        sent = _sendable({**taken, **attributes})
        span.set_attributes(sent)
        span.add_event(f"{NAME}_complete", sent)
        if error:
            _fail(span, error)
        span.end()


def start(trigger: str, attributes: Mapping[str, object]) -> CompactionSpan:
    """Open the span of a compaction. Only attributes in `NAMES` are sent."""
    if _provider is None:
        return CompactionSpan()
    sent = _sendable({**attributes, "trigger": trigger})
    span = _provider.get_tracer("co_tui").start_span(NAME, attributes=sent)
    span.add_event(f"{NAME}_start", sent)
    return CompactionSpan(span)


def use(provider: "TracerProvider | None") -> None:
    """Send spans to a provider, or nowhere. It is not the global one: other libraries would send whole
    conversations."""
    global _provider
    _provider = provider


def configure(setting: str) -> str:
    """Apply the setting: `off`, or a collector's address. Returns what is wrong, or an empty text."""
    use(None)
    if setting == OFF:
        return ""
    try:
        use(_exporting(_endpoint(setting)))
    except ValueError:
        return "Telemetry is off: the setting is not a collector's http address."
    except ImportError:
        return "Telemetry is off: it needs the packages opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http."
    return ""


def _endpoint(setting: str) -> str:
    """The collector's URL; raises ValueError for an invalid one. A bare host gets the usual path."""
    address = urlsplit(setting)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError(setting)
    return address._replace(path="/v1/traces").geturl() if address.path in ("", "/") else setting


def _exporting(address: str) -> "TracerProvider":
    """A provider that sends from its own thread; raises ImportError without the packages."""
    # Imported by name: co-tui installs neither package.
    sdk: Any = import_module("opentelemetry.sdk.trace")
    export: Any = import_module("opentelemetry.sdk.trace.export")
    resources: Any = import_module("opentelemetry.sdk.resources")
    otlp: Any = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    _silence_logger()
    exporter = otlp.OTLPSpanExporter(endpoint=address, timeout=EXPORT_TIMEOUT_S)
    provider: TracerProvider = sdk.TracerProvider(resource=resources.Resource({"service.name": "co-tui"}))
    # The API's interface lacks what only the SDK's provider has.
    provider.add_span_processor(export.BatchSpanProcessor(exporter))  # type: ignore[attr-defined]
    return provider


def _silence_logger() -> None:
    """A collector that is down must not write over the screen."""
    import logging

    logger = logging.getLogger("opentelemetry")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False


def _sendable(attributes: Mapping[str, object]) -> dict[str, str | int | float]:
    sent: dict[str, str | int | float] = {}
    for name, value in attributes.items():
        if name in NAMES and isinstance(value, str | int | float):
            sent[f"co_tui.{name}"] = one_line(value, NAME_CHARS) if isinstance(value, str) else value
    return sent


def _fail(span: "Span", error: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_status(StatusCode.ERROR)
    span.set_attribute("error.type", error if re.fullmatch(r"[\w.-]{1,80}", error) else "_OTHER")
