"""Exporters: what goes over the wire, twice the same, and never elsewhere; at the end into a real Phoenix."""

from __future__ import annotations

import base64
import json
import os
import socket
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import DEVNULL

import pytest

import ethogram
from environments import python_with
from ethogram.cli.main import main
from ethogram.errors import BadUsage
from ethogram.integrations.exporters.base import make, parse, read_records
from ethogram.remote import posting
from service.conftest import Start, start, wait_for  # noqa: F401 (a fixture)
from service.test_events import post as post_events
from service.test_outputs import bomb
from settings_files import trusted_settings
from small import WARM, warm_messages, write_events, write_patterns
from waiting import started

TRACE, SPAN, OTHER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "b7ad6b7169203332"
DETECTION = {
    "record": "detection",
    "id": "3253a6767c611d5f2cb2",
    "pattern": "loop",
    "title": "Action loop",
    "version": "0a1b",
    "state": "closed",
    "source": "input",
    "subject": "walker",
    "target": None,
    "thread": "run-2",
    "severity": "high",
    "confidence": 0.8,
    "opened_at": "2026-03-09T14:06:41Z",
    "detected_at": "2026-03-09T14:09:45Z",
    "closed_at": "2026-03-09T14:09:45Z",
    "first_event": "e1",
    "last_event": "e9",
    "count": 4,
    "evidence": [{"step": "loop", "event": "e9", "at": "2026-03-09T14:09:45Z", "readings": {"x": "private"}}],
    "explanation": "walker repeated `ls` 4 times.",
    "recommendation": "Tell it.",
}
METADATA = {
    "detection": "3253a6767c611d5f2cb2",
    "title": "Action loop",
    "version": "0a1b",
    "state": "closed",
    "severity": "high",
    "confidence": 0.8,
    "source": "input",
    "subject": "walker",
    "thread": "run-2",
    "opened_at": "2026-03-09T14:06:41Z",
    "detected_at": "2026-03-09T14:09:45Z",
    "closed_at": "2026-03-09T14:09:45Z",
    "count": 4,
    "recommendation": "Tell it.",
}
SPANS = {
    "evidence": [{"event": f"{TRACE}/{SPAN}"}, {"event": f"{TRACE}/{SPAN}#2"}, {"event": f"{TRACE}/{OTHER}"}],
    "last_event": f"{TRACE}/{OTHER}",
}


class Receiver:
    """A server on this machine that keeps requests and answers with the given statuses in turn, then 200.

    The body of all answers is `body`.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.body = b"{}"
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.requests.append((self.path, headers, body))
                status = receiver.answers.pop(0) if receiver.answers else 200
                self.send_response(status)
                if status in (301, 302, 307, 308):
                    self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(receiver.body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    @property
    def bodies(self) -> list[dict]:
        return [json.loads(body) for _, _, body in self.requests]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PHOENIX_API_KEY", "OTEL_EXPORTER_OTLP_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-2")


def send(receiver: Receiver, name: str, record: dict) -> str:
    return make(name, receiver.url, sleep=lambda _: None).send(record)


# --- what goes over the wire ----------------------------------------------------------------


def test_phoenix_annotates_the_session(receiver, monkeypatch):
    monkeypatch.setenv("PHOENIX_API_KEY", "px-1")
    assert send(receiver, "phoenix", DETECTION) == ""
    ((path, headers, _),) = receiver.requests
    assert path == "/v1/session_annotations?sync=true"
    assert (headers["authorization"], headers["content-type"]) == ("Bearer px-1", "application/json")
    annotation = {
        "session_id": "run-2",
        "name": "loop",
        "annotator_kind": "CODE",
        "identifier": DETECTION["id"],
        "result": {"label": "high", "score": 0.8, "explanation": "walker repeated `ls` 4 times."},
        "metadata": METADATA,
    }
    assert receiver.bodies == [{"data": [annotation]}]


def test_phoenix_annotates_the_spans_of_the_evidence_once_each(receiver):
    assert send(receiver, "phoenix", {**DETECTION, **SPANS}) == ""
    assert [path for path, _, _ in receiver.requests] == [
        "/v1/session_annotations?sync=true",
        "/v1/span_annotations?sync=true",
    ]
    data = receiver.bodies[1]["data"]
    assert [item["span_id"] for item in data] == [SPAN, OTHER]
    assert {item["identifier"] for item in data} == {DETECTION["id"]}


def test_a_trace_without_a_session_gets_spans_only(receiver):
    assert send(receiver, "phoenix", {**DETECTION, **SPANS, "thread": TRACE}) == ""
    assert [path for path, _, _ in receiver.requests] == ["/v1/span_annotations?sync=true"]


def test_phoenix_says_which_thing_it_does_not_have(receiver):
    receiver.answers, receiver.body = [404, 200], b'"Sessions with IDs run-2 do not exist."'
    assert send(receiver, "phoenix", {**DETECTION, **SPANS}) == "Phoenix does not have the session"
    assert len(receiver.requests) == 2


def test_langfuse_scores_the_session(receiver):
    assert send(receiver, "langfuse", DETECTION) == ""
    ((path, headers, _),) = receiver.requests
    assert path == "/api/public/scores"
    assert headers["authorization"] == "Basic " + base64.b64encode(b"pk-lf-1:sk-lf-2").decode()
    assert receiver.bodies == [
        {
            "id": DETECTION["id"],
            "name": "loop",
            "value": 0.8,
            "dataType": "NUMERIC",
            "comment": "high: walker repeated `ls` 4 times.",
            "metadata": METADATA,
            "sessionId": "run-2",
        }
    ]


def test_langfuse_scores_the_trace_where_there_is_no_session(receiver):
    assert send(receiver, "langfuse", {**DETECTION, **SPANS, "thread": TRACE}) == ""
    assert receiver.bodies[0]["traceId"] == TRACE
    assert "sessionId" not in receiver.bodies[0]


def test_otel_sends_a_log_record_that_the_protocol_takes(receiver, monkeypatch):
    from google.protobuf.json_format import Parse
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=a%20b, tenant=1")
    assert send(receiver, "otel", DETECTION) == ""
    ((path, headers, body),) = receiver.requests
    assert (path, headers["x-api-key"], headers["tenant"]) == ("/v1/logs", "a b", "1")
    logs = Parse(body, ExportLogsServiceRequest()).resource_logs[0]
    assert logs.resource.attributes[0].value.string_value == "ethogram"
    scope = logs.scope_logs[0].scope
    assert (scope.name, scope.version) == ("ethogram", ethogram.__version__)
    record = logs.scope_logs[0].log_records[0]
    assert (record.event_name, record.severity_number) == ("gen_ai.evaluation.result", 17)
    assert record.time_unix_nano == 1_773_065_385_000_000_000
    attributes = {item.key: item.value for item in record.attributes}
    assert attributes.pop("gen_ai.evaluation.score.value").double_value == 0.8
    assert len(attributes.pop("log.record.uid").string_value) == 32
    assert {name: value.string_value for name, value in attributes.items()} == {
        "gen_ai.evaluation.name": "loop",
        "gen_ai.evaluation.score.label": "high",
        "gen_ai.evaluation.explanation": "walker repeated `ls` 4 times.",
        "gen_ai.conversation.id": "run-2",
        "ethogram.detection.id": DETECTION["id"],
        "ethogram.subject": "walker",
        "ethogram.detection.state": "closed",
    }


def log_of(receiver: Receiver, record: dict) -> dict:
    assert send(receiver, "otel", record) == ""
    return receiver.bodies[-1]["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]


def test_a_log_record_belongs_to_its_span(receiver):
    log = log_of(receiver, {**DETECTION, **SPANS})
    assert (log["traceId"], log["spanId"]) == (TRACE, OTHER)
    assert "traceId" not in log_of(receiver, DETECTION)


@pytest.mark.parametrize("at", [None, "1970-01-01T00:00:07Z"])
def test_a_source_without_times_has_none_in_logs(receiver, at):
    assert "timeUnixNano" not in log_of(receiver, {**DETECTION, "detected_at": at})


def test_the_url_may_name_the_logs_themselves(receiver):
    assert make("otel", f"{receiver.url}/v1/logs").send(DETECTION) == ""
    assert receiver.requests[0][0] == "/v1/logs"


# --- the same for all -----------------------------------------------------------------------

EVERY = pytest.mark.parametrize("name", ["langfuse", "otel", "phoenix"])


@EVERY
def test_sending_again_sends_the_same_bytes(receiver, name):
    assert send(receiver, name, DETECTION) == send(receiver, name, DETECTION) == ""
    first, second = (body for _, _, body in receiver.requests)
    assert first == second


@EVERY
def test_nothing_of_readings_is_sent(receiver, name):
    send(receiver, name, DETECTION)
    assert b"private" not in receiver.requests[0][2]


@EVERY
def test_a_withdrawn_detection_replaces_its_score_with_0(receiver, name):
    send(receiver, name, {**DETECTION, "state": "withdrawn"})
    text = receiver.requests[0][2].decode()
    assert DETECTION["id"] in text
    assert '"withdrawn' in text
    assert any(f'"{key}": 0.0' in text for key in ("score", "value", "doubleValue"))


@EVERY
def test_no_redirect_is_followed(receiver, name):
    receiver.answers = [307]
    assert send(receiver, name, DETECTION) == "the server answered with HTTP 307"
    assert len(receiver.requests) == 1


@EVERY
def test_a_wrong_path_or_key_is_told(receiver, name):
    receiver.answers, receiver.body = [404, 405, 401], b"Not Found"
    for code in (404, 405):
        assert send(receiver, name, DETECTION) == f"the server answered with HTTP {code}: check the URL"
    variable = {"langfuse": "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY", "phoenix": "PHOENIX_API_KEY"}
    what = variable.get(name, "OTEL_EXPORTER_OTLP_HEADERS")
    assert send(receiver, name, DETECTION) == f"the server answered with HTTP 401: check {what}"


@EVERY
def test_only_json_and_an_empty_body_are_answers_of_the_right_server(receiver, name):
    receiver.body = b""
    assert send(receiver, name, DETECTION) == ""
    receiver.body = b"<html>Log in</html>"
    assert send(receiver, name, DETECTION) == "the answer is not JSON: check the URL"


@pytest.mark.parametrize(
    ("partial", "why"),
    [
        ({"rejectedLogRecords": "1", "errorMessage": "too old"}, "the server rejected the log record"),
        ({"rejectedLogRecords": 1}, "the server rejected the log record"),
        ({"rejectedLogRecords": "0", "errorMessage": "a warning"}, ""),
        ({}, ""),
    ],
)
def test_a_partial_success_of_otel_is_read(receiver, partial, why):
    receiver.body = json.dumps({"partialSuccess": partial}).encode()
    assert send(receiver, "otel", DETECTION) == why


@EVERY
def test_a_busy_server_is_asked_again(receiver, name):
    receiver.answers = [503, 429]
    assert send(receiver, name, DETECTION) == ""
    assert len(receiver.requests) == 3


@EVERY
@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "https://a:b@example.org",
        "file:///etc/passwd",
        "x",
        "http://127.0.0.1:8899/a b",
        "https://exa mple.com",
        "https://example.org/\r\nX: y",
        "https://example.org/\x1b[31m",
        "https://example.org/\u00e9",
        "https://a..b",
        "https://[::1",
    ],
)
def test_unsafe_addresses_are_refused(name, url):
    with pytest.raises(BadUsage, match=rf"^{name}: (invalid )?URL") as error:
        make(name, url)
    assert str(error.value).isprintable()


@EVERY
def test_a_hostile_name_stays_a_value(receiver, name):
    hostile = 'x"}\n]\x1b\u202e</script>'
    assert send(receiver, name, {**DETECTION, "thread": hostile, "explanation": hostile}) == ""
    assert json.dumps(hostile) in receiver.requests[0][2].decode()


@pytest.mark.parametrize("value", ["", "a b", "k\n"])
def test_langfuse_needs_proper_keys(monkeypatch, value):
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", value)
    with pytest.raises(BadUsage, match="LANGFUSE_SECRET_KEY") as error:
        make("langfuse", "https://example.org")
    assert not value or value not in str(error.value)


@pytest.mark.parametrize("value", ["nothing", "a b=c", "x=a%0Ab", "=x"])
def test_bad_headers_for_otel_are_refused(monkeypatch, value):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", value)
    with pytest.raises(BadUsage, match="OTEL_EXPORTER_OTLP_HEADERS is invalid"):
        make("otel", "https://example.org")


def test_an_unknown_exporter_suggests_one():
    with pytest.raises(BadUsage, match="unknown exporter 'phenix'; did you mean 'phoenix'"):
        make(*parse("phenix=https://example.org"))
    with pytest.raises(BadUsage, match="expected NAME=URL"):
        parse("phoenix")


# --- records of a file ----------------------------------------------------------------------


def test_records_other_than_detections_are_left_out_and_the_last_of_an_id_counts():
    lines = [{"record": "run"}, DETECTION, {**DETECTION, "state": "withdrawn"}, {"record": "summary"}]
    records = read_records([*map(json.dumps, lines), "\n"], "d.jsonl")
    assert [record["state"] for record in records] == ["withdrawn"]


def test_every_line_that_is_wrong_is_named():
    wrong = [
        "{",
        "3",
        '{"id": "x"}',
        *(
            json.dumps({**DETECTION, key: value})
            for key, value in [
                ("id", ""),
                ("severity", ["high"]),
                ("confidence", True),
                ("confidence", 2),
                ("evidence", [3]),
                ("thread", 4),
                ("detected_at", "noon"),
            ]
        ),
    ]
    with pytest.raises(BadUsage) as error:
        read_records(wrong, "d.jsonl")
    assert [fault.line for fault in error.value.faults] == list(range(1, 11))
    assert str(error.value.faults[4]) == "d.jsonl:5: is not a valid detection: invalid severity"


# --- commands -------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch, no_shipped_patterns) -> Path:
    monkeypatch.setattr(posting, "wait", lambda _: None)
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM)
    write_events(tmp_path / "a.jsonl", [*warm_messages(), *warm_messages("di", (5, 6, 7, 8))])
    trusted_settings(tmp_path, "patterns: [patterns]\n")
    return tmp_path


def scores(receiver: Receiver) -> list[tuple[str, float]]:
    return [(body["sessionId"], body["value"]) for body in receiver.bodies]


def test_export_scores_sends_a_file(folder, receiver, capsys):
    assert main(["analyze", "a.jsonl", "--json"]) == 0
    (folder / "d.jsonl").write_text(capsys.readouterr().out)
    args = ["export-scores", "d.jsonl", "--to", "langfuse", "--url", receiver.url]
    assert main(args) == 0
    assert capsys.readouterr().out == "2 detections sent to langfuse.\n"
    assert [name for name, _ in scores(receiver)] == ["ann", "di"]
    assert main([*args, "--json", "--severity", "critical"]) == 0
    record = {"record": "exported", "to": "langfuse", "sent": 0, "failed": 0, "left": 0}
    assert json.loads(capsys.readouterr().out) == record


def test_a_sweep_exports_and_the_store_can_be_sent_again(folder, receiver, capsys):
    assert main(["store", "import", "a.jsonl", "--store", "s.db"]) == 0
    at = ("--as-of", "2026-01-09T13:00:00Z")
    sweep = ["sweep", "--store", "s.db", *at, "--export", f"langfuse={receiver.url}"]
    assert main(sweep) == main(sweep) == 0
    assert sorted(scores(receiver)) == [("ann", 0.693333), ("di", 0.693333)]
    assert main(["export-scores", "--store", "s.db", "--to", "langfuse", "--url", receiver.url]) == 0
    ids = [body["id"] for body in receiver.bodies]
    assert sorted(ids[:2]) == sorted(ids[2:])


def test_a_watch_exports_each_detection(folder, receiver, capsys):
    assert main(["watch", "a.jsonl", "--once", "--export", f"langfuse={receiver.url}"]) == 0
    assert [name for name, _ in scores(receiver)] == ["ann", "di"]
    receiver.answers = [401, 401]
    assert main(["watch", "a.jsonl", "--once", "--export", f"langfuse={receiver.url}"]) == 0
    assert capsys.readouterr().err.count("the server answered with HTTP 401") == 2


def test_failures_are_named_counted_and_not_repeated_for_ever(folder, receiver, capsys):
    records = [{**DETECTION, "id": f"d{number}"} for number in range(9)]
    (folder / "d.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    receiver.answers = [200, 403, 200, 403, 403, 403]
    assert main(["export-scores", "d.jsonl", "--to", "langfuse", "--url", receiver.url]) == 1
    said = capsys.readouterr()
    assert said.out == "2 detections sent to langfuse, 4 not delivered, 3 not tried.\n"
    assert said.err.splitlines()[0] == "not delivered: detection d1: the server answered with HTTP 403"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "expected a FILE of detections"),
        (("d.jsonl", "--store", "s.db"), "expected a FILE of detections"),
        (("d.jsonl",), "missing --to"),
        (("d.jsonl", "--to", "otel"), "missing --url"),
        (("d.jsonl", "--to", "otel", "--url", "http://example.org"), "http and not on this machine"),
    ],
)
def test_bad_usage_is_refused(folder, capsys, args, says):
    assert main(["export-scores", *args]) == 2
    assert says in capsys.readouterr().err


def test_the_service_exports_changes(start: Start, receiver: Receiver):  # noqa: F811 (the fixture)
    receiver.answers = [500]
    post_events(start(exports=(f"langfuse={receiver.url}",)), *bomb("ann"))
    wait_for(lambda: len(receiver.requests) >= 2)
    assert receiver.bodies[0] == receiver.bodies[-1]
    assert receiver.bodies[0]["name"] == "love_bombing"


# --- Phoenix itself -------------------------------------------------------------------------


def spans(trace: str, session: str) -> Iterator[dict]:
    """Twelve spans of a tool that fails in the same way."""
    now = time.time_ns()
    values = {
        "session.id": session,
        "openinference.span.kind": "TOOL",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "input.value": '{"command": "pytest -x"}',
        "output.value": "1 failed: AssertionError in test_a",
    }
    for number in range(12):
        began = now + number * 10**9
        yield {
            "traceId": trace,
            "spanId": os.urandom(8).hex(),
            "name": "execute_tool bash",
            "startTimeUnixNano": str(began),
            "endTimeUnixNano": str(began + 10**8),
            "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in values.items()],
        }


@pytest.fixture
def phoenix(tmp_path: Path) -> Iterator[str]:
    """The address of a Phoenix server that forgets."""
    ports = [free_port(), free_port()]
    variables = {
        **os.environ, "PHOENIX_WORKING_DIR": str(tmp_path), "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(ports[0]), "PHOENIX_GRPC_PORT": str(ports[1]),
    }  # fmt: skip
    line = [python_with("arize-phoenix"), "-m", "phoenix.server.main", "serve"]
    with started(line, env=variables, stdout=DEVNULL, stderr=DEVNULL) as process:
        url = f"http://127.0.0.1:{ports[0]}"
        try:
            wait_for(lambda: is_up(url))
            yield url
        finally:
            process.kill()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def is_up(url: str) -> bool:
    try:
        urllib.request.urlopen(url).close()
    except OSError:
        return False
    return True


@pytest.mark.long
def test_phoenix_keeps_one_annotation_of_each_detection(phoenix, tmp_path, capsys):
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    url, trace, session = phoenix, os.urandom(16).hex(), os.urandom(4).hex()
    document = {"resourceSpans": [{"scopeSpans": [{"spans": list(spans(trace, session))}]}]}
    (tmp_path / "spans.json").write_text(json.dumps(document))
    message = json.loads(json.dumps(document))
    for span in message["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId"):
            span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    body = ParseDict(message, ExportTraceServiceRequest()).SerializeToString()
    headers = {"Content-Type": "application/x-protobuf"}
    urllib.request.urlopen(urllib.request.Request(f"{url}/v1/traces", body, headers)).close()

    def annotations() -> list[dict]:
        query = urllib.parse.urlencode({"session_ids": session})
        with urllib.request.urlopen(f"{url}/v1/projects/default/session_annotations?{query}") as answer:
            return json.load(answer)["data"]

    assert main(["analyze", str(tmp_path / "spans.json"), "--json"]) == 0
    (tmp_path / "d.jsonl").write_text(capsys.readouterr().out)
    args = ["export-scores", str(tmp_path / "d.jsonl"), "--to", "phoenix", "--url", url]
    wait_for(lambda: main(args) == 0)
    assert main(args) == 0
    found = {item["identifier"]: item["name"] for item in annotations()}
    assert sorted(found.values()) == ["loop", "repetitive_errors"]
    assert len(annotations()) == 2
