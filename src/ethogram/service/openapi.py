"""The description of the API for programs: bodies, answers and errors by the schemas of our records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ..schemas import object_schema, schema

Schema = dict[str, Any]
ERROR: Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}
COUNT: Schema = {"type": "integer", "minimum": 0}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _page(key: str, name: str) -> Schema:
    """An answer with records under a name, and how many there are in all."""
    rows = {"type": "array", "items": _ref(name)}
    return {"type": "object", "required": ["total", key], "properties": {"total": COUNT, key: rows}}


ANSWERS: Mapping[str, Schema] = {
    "POST /v1/events": _ref("ingested"),
    "GET /v1/detections": _page("detections", "detection"),
    "GET /v1/detections/{id}": _ref("detection"),
    "POST /v1/detections/{id}/verdict": _ref("verdict"),
    "POST /v1/detections/{id}/triage": _ref("triage"),
    "GET /v1/inbox": {
        "type": "object",
        "required": ["items"],
        "properties": {"items": {"type": "array", "items": _ref("inbox_item")}},
    },
    "GET /v1/subjects": _page("subjects", "risk"),
    "GET /v1/subjects/{source}/{name}": _ref("subject"),
    "GET /v1/audit": _page("actions", "audit_line"),
    "POST /v1/purge": _ref("purge"),
    "POST /v1/chat/turns": _ref("chat_turn"),
}
"""Route to the schema of its answer; the others answer with any JSON, or with text."""
RECORDS = (
    "ingested", "detection", "verdict", "triage", "inbox_item", "risk", "subject", "audit_line", "purge",
    "chat_turn",
)  # fmt: skip
EVENTS = ("application/json", "application/x-ndjson", "text/csv", "application/vnd.apache.parquet")
EVENT = {"id": "e1", "at": "2026-01-02T12:00:00Z", "subject": "ann", "kind": "message", "text": "Hello"}
STATUS: Schema = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
}
"""An error as OTLP has it."""
TO_PURGE: Schema = {
    "anyOf": [
        {"required": ["subject"], "properties": {"subject": {"minLength": 1}}},
        {"required": ["before"], "properties": {"before": {"type": "string"}}},
    ]
}
"""What a request to purge must name."""
LITELLM = ("/beta/litellm_basic_guardrail_api", "/v1/litellm/calls")
OTLP = ("/v1/traces", "/v1/logs")
"""Paths that take what another program defines, as LITELLM."""


def describe(app: FastAPI, bodies: Mapping[str, type]) -> Callable[[], Schema]:
    """What makes the description once; `bodies` has the path to the record that is read there."""

    def made() -> Schema:
        if app.openapi_schema is None:
            app.openapi_schema = _made(app, bodies)
        return app.openapi_schema

    return made


def _made(app: FastAPI, bodies: Mapping[str, type]) -> Schema:
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    schemas: Schema = {"error": ERROR}
    for name in RECORDS:
        described = schema(name)
        schemas[name] = {key: value for key, value in described.items() if not key.startswith("$")}
    # With the whole risk instead of its number.
    schemas["subject"]["properties"] = {**schemas["subject"]["properties"], "risk": _ref("risk")}
    document["components"] = {
        "schemas": schemas,
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer"},
            "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
        },
    }
    document["security"] = [{}, {"bearer": []}, {"key": []}]
    contents: dict[str, Schema] = {
        path: {"application/json": {"schema": object_schema(body)}} for path, body in bodies.items()
    }
    contents["/v1/purge"]["application/json"]["schema"] |= TO_PURGE
    contents |= {path: {"application/json": {"schema": {}}} for path in LITELLM}
    contents |= {path: {"application/json": {"schema": {"type": "object"}}} for path in OTLP}
    contents["/v1/events"] = {kind: {"schema": {}} for kind in EVENTS}
    contents["/v1/events"]["application/json"]["example"] = EVENT
    failed = {"description": "What is wrong.", "content": {"application/json": {"schema": _ref("error")}}}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            responses = operation["responses"]
            responses.pop("422", None)  # a bad parameter is answered with 400
            responses |= {"4XX": failed, "5XX": failed}
            if path in OTLP:
                either = {"anyOf": [STATUS, _ref("error")]}
                responses["4XX"] = {**failed, "content": {"application/json": {"schema": either}}}
            if (answer := ANSWERS.get(f"{method.upper()} {path}")) is not None:
                responses["200"]["content"] = {"application/json": {"schema": answer}}
            elif path == "/v1/export":
                responses["200"]["content"] = {"application/x-ndjson": {}}
            if method == "post" and path in contents:
                operation["requestBody"] = {"required": path != "/v1/events", "content": contents[path]}
    return document
