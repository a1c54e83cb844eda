"""OTLP/HTTP in, by the exporters of OpenTelemetry's own SDK and by hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_pb
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

from ethogram.models import Event
from ethogram.service.keys import new_key
from ethogram.store import open_store
from service.conftest import Start, wait_for
from service.test_request_checks import NOW


def stored(path: Path) -> list[Event]:
    with open_store(str(path)) as store:
        return list(store.events())


def steps(events: list[Event]) -> list[tuple[str, str]]:
    """Kind, and role or tool, of each event in order."""
    return [
        (event.kind.partition("_")[0], str(event.attributes.get("role", event.attributes.get("tool"))))
        for event in events
    ]


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> Iterator[TracerProvider]:
    provider = TracerProvider(resource=Resource({"service.name": "planner"}))
    yield provider
    provider.shutdown()


def agent_run(provider: TracerProvider, calls: int = 3) -> None:
    """An agent that calls a model and a tool in turns, by the GenAI conventions."""
    tracer = provider.get_tracer("test")
    history: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"type": "text", "content": "Fix the test."}]}
    ]
    with tracer.start_as_current_span("invoke_agent fixer") as agent:
        agent.set_attribute("gen_ai.operation.name", "invoke_agent")
        agent.set_attribute("gen_ai.agent.name", "fixer")
        for number in range(calls):
            call = {
                "type": "tool_call",
                "id": f"c{number}",
                "name": "bash",
                "arguments": {"command": "pytest"},
            }
            answer = {"role": "assistant", "parts": [call]}
            with tracer.start_as_current_span("chat m") as chat:
                chat.set_attribute("gen_ai.operation.name", "chat")
                chat.set_attribute("gen_ai.input.messages", json.dumps(history))
                chat.set_attribute("gen_ai.output.messages", json.dumps([answer]))
            history.append(answer)
            with tracer.start_as_current_span("execute_tool bash") as tool:
                tool.set_attribute("gen_ai.operation.name", "execute_tool")
                tool.set_attribute("gen_ai.tool.name", "bash")
                tool.set_attribute("gen_ai.tool.call.id", f"c{number}")
                tool.set_attribute("gen_ai.tool.call.arguments", '{"command": "pytest"}')
                tool.set_attribute("gen_ai.tool.call.result", "1 failed")
            result = {"type": "tool_call_response", "id": f"c{number}", "response": "1 failed"}
            history.append({"role": "tool", "parts": [result]})


def run_steps(calls: int) -> list[tuple[str, str]]:
    return [("message", "user"), *[("action", "bash"), ("result", "bash")] * calls]


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_the_sdk_exports_a_trace_at_once(
    client: httpx.Client, provider: TracerProvider, tmp_path: Path, compression: Compression
) -> None:
    exporter = OTLPSpanExporter(f"{client.base_url}/v1/traces", compression=compression)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    agent_run(provider)
    assert provider.force_flush()
    events = stored(tmp_path / "service.db")
    assert steps(events) == run_steps(3)
    assert {event.subject for event in events if event.kind != "message"} == {"fixer"}


def test_a_trace_over_many_requests_gives_each_event_once(
    client: httpx.Client, provider: TracerProvider, tmp_path: Path
) -> None:
    exporter = OTLPSpanExporter(f"{client.base_url}/v1/traces")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    agent_run(provider, calls=5)
    events = stored(tmp_path / "service.db")
    assert steps(events) == run_steps(5)
    # The agent's own span comes last, when its steps have their names already.
    assert {event.subject for event in events if event.kind != "message"} == {"planner"}


def test_a_run_in_circles_is_detected(shared: httpx.Client, provider: TracerProvider) -> None:
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{shared.base_url}/v1/traces")))
    agent_run(provider, calls=12)
    provider.force_flush()
    found = wait_for(lambda: shared.get("/v1/detections?source=otel").json()["detections"])
    assert {item["subject"] for item in found} == {"fixer"}


def exported(calls: int = 2) -> list[bytes]:
    """The requests that the SDK sends for a run, one for each span."""
    bodies: list[bytes] = []

    class Capture(OTLPSpanExporter):
        def _export(self, serialized_data: bytes, *args: Any, **more: Any) -> Any:
            bodies.append(serialized_data)
            answer = type("Answer", (), {"ok": True, "status_code": 200, "reason": ""})
            return answer()

    provider = TracerProvider(resource=Resource({"service.name": "planner"}))
    provider.add_span_processor(SimpleSpanProcessor(Capture("http://127.0.0.1:9/v1/traces")))
    agent_run(provider, calls)
    provider.shutdown()
    return bodies


PROTOBUF = {"Content-Type": "application/x-protobuf"}


def test_requests_sent_again_change_nothing_even_after_a_restart(start: Start, tmp_path: Path) -> None:
    client, bodies = start(detects=False), exported()
    for body in [*bodies, *bodies]:
        answer = client.post("/v1/traces", content=body, headers=PROTOBUF)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-type"] == PROTOBUF["Content-Type"]
    again = start(detects=False)
    for body in bodies:
        assert again.post("/v1/traces", content=body, headers=PROTOBUF).status_code == 200
    assert steps(stored(tmp_path / "service.db"))[:5] == run_steps(2)


def span(number: int, at: int = 1_767_614_400, **attributes: str) -> dict[str, Any]:
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": f"{number:016x}",
        "name": "step",
        "startTimeUnixNano": str(at * 10**9),
        "endTimeUnixNano": str((at + 1) * 10**9),
        "attributes": pairs,
    }


def traces(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def openinference(number: int, **more: Any) -> dict[str, Any]:
    item = span(number, **more)
    for key, value in {"openinference.span.kind": "TOOL", "tool.name": "search", "output.value": "x"}.items():
        item["attributes"].append({"key": key, "value": {"stringValue": value}})
    return item


def test_json_of_openinference_gzipped(client: httpx.Client, tmp_path: Path) -> None:
    body = gzip.compress(json.dumps(traces(openinference(1), span(2))).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = client.post("/v1/traces", content=body, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {})
    assert steps(stored(tmp_path / "service.db")) == [("action", "search"), ("result", "search")]


def test_what_is_bad_is_left_out_and_told(client: httpx.Client, tmp_path: Path) -> None:
    late = openinference(2, at=9_000_000_000)
    answer = client.post("/v1/traces", json=traces(openinference(1), late))
    told = answer.json()["partialSuccess"]
    assert answer.status_code == 200
    assert told["rejectedSpans"] == "2"
    assert "2255" in told["errorMessage"]
    assert len(stored(tmp_path / "service.db")) == 2


@pytest.mark.parametrize("body", [b"{", b"[]", b"[" * 100_000, b"\xff\xfe"])
def test_a_malformed_request_is_explained_in_the_form_of_otlp(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/v1/traces", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    packed = client.post("/v1/logs", content=b"\xff\xff\xff" + body[:50], headers=PROTOBUF)
    assert packed.status_code == 400
    assert b"protobuf" in packed.content


def test_an_empty_request_and_other_programs_are_accepted(client: httpx.Client, tmp_path: Path) -> None:
    empty = trace_pb.ExportTraceServiceRequest().SerializeToString()
    assert client.post("/v1/traces", content=empty, headers=PROTOBUF).status_code == 200
    other = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "hello"}}]}]}]}
    assert client.post("/v1/logs", json=other).json() == {}
    assert stored(tmp_path / "service.db") == []


def test_under_pressure_an_exporter_is_asked_to_come_again(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(waiting=0, detects=False)
    answer = client.post("/v1/traces", json=traces(openinference(1)))
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    again = start(detects=False)
    assert again.post("/v1/traces", json=traces(openinference(1))).status_code == 200
    assert len(stored(tmp_path / "service.db")) == 2


def claude_record(number: int, name: str, **attributes: Any) -> dict[str, Any]:
    fields = {
        "session.id": "s1",
        "event.name": name,
        "event.sequence": number,
        "event.timestamp": f"2026-01-05T12:00:{number:02}.000Z",
        **attributes,
    }
    pairs = [
        {"key": key, "value": {"intValue": value} if isinstance(value, int) else {"stringValue": value}}
        for key, value in fields.items()
    ]
    return {"body": {"stringValue": f"claude_code.{name}"}, "attributes": pairs}


def claude_session(calls: int) -> list[dict[str, Any]]:
    records = [claude_record(0, "user_prompt", prompt="Fix the test.")]
    for number in range(calls):
        call = {"tool_name": "Bash", "tool_use_id": f"t{number}"}
        records.append(claude_record(1 + 2 * number, "tool_decision", decision="accept", **call))
        records.append(
            claude_record(
                2 + 2 * number,
                "tool_result",
                success="false",
                error="Shell command failed",
                tool_input='{"command": "pytest -x"}',
                duration_ms="12",
                **call,
            )
        )
    return records


def logs(*records: dict[str, Any]) -> dict[str, Any]:
    service = [{"key": "service.name", "value": {"stringValue": "claude-code"}}]
    return {
        "resourceLogs": [{"resource": {"attributes": service}, "scopeLogs": [{"logRecords": list(records)}]}]
    }


def test_the_logs_of_claude_code_come_in_parts(start: Start, tmp_path: Path) -> None:
    client, records = start(keep_text=True), claude_session(6)
    for record in records:
        assert client.post("/v1/logs", json=logs(record)).json() == {}
    assert client.post("/v1/logs", json=logs(*records)).json() == {}
    found = wait_for(lambda: client.get("/v1/detections").json()["detections"])
    assert found[0]["subject"] == "claude-code"
    again = start(keep_text=True, detects=False)
    assert again.post("/v1/logs", json=logs(*records)).json() == {}
    events = stored(tmp_path / "service.db")
    assert steps(events) == [("message", "user"), *[("action", "Bash"), ("result", "Bash")] * 6]
    assert {event.thread for event in events} == {"s1"}
    assert {event.subject for event in events if event.kind != "message"} == {"claude-code"}


def test_the_log_exporter_of_the_sdk(client: httpx.Client, tmp_path: Path) -> None:
    provider = LoggerProvider(resource=Resource({"service.name": "claude-code"}))
    provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(f"{client.base_url}/v1/logs")))
    logger = provider.get_logger("com.anthropic.claude_code.events")
    for record in claude_session(2):
        pairs = record["attributes"]
        attributes = {pair["key"]: next(iter(pair["value"].values())) for pair in pairs}
        logger.emit(
            body=record["body"]["stringValue"], attributes=attributes, severity_number=SeverityNumber.INFO
        )
    provider.force_flush()
    provider.shutdown()
    events = stored(tmp_path / "service.db")
    assert steps(events) == [("message", "user"), *[("action", "Bash"), ("result", "Bash")] * 2]


def test_exporters_send_their_key_in_a_header(start: Start, provider: TracerProvider, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "service.db"), create=True) as store:
        _, secret = new_key(store, "agents", "ingest", NOW)
    client = start(detects=False)
    assert client.post("/v1/traces", json={}).status_code == 401
    exporter = OTLPSpanExporter(f"{client.base_url}/v1/traces", headers={"authorization": f"Bearer {secret}"})
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    agent_run(provider, calls=1)
    assert steps(stored(tmp_path / "service.db")) == run_steps(1)
