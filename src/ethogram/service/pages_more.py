"""Pages about patterns, what they learn, how to connect, and the API."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from ..app.findings import find_page
from ..app.judging.accuracy import accuracies
from ..app.judging.learning import judged_patterns, learn_pattern
from ..config.settings import learning_in
from ..report.verdicts import lesson_lines, precision_text
from .html import render
from .patterns import pattern_record, pattern_rows
from .routes import CanRead, Running

router = APIRouter(include_in_schema=False)
RECENT = 20


@router.get("/patterns")
def patterns_page(request: Request, service: Running, key: CanRead) -> Response:
    """Every pattern, with its accuracy and how often it was detected."""
    least = learning_in(service.settings)["accuracy_minimum"]
    precise = {item.pattern: precision_text(item.whole) for item in accuracies(service.store, minimum=least)}
    rows = pattern_rows(service)
    return render(request, "patterns.html", rows=rows, precise=precise, on=sum(row["on"] for row in rows))


@router.get("/patterns/{name}")
def pattern_page(request: Request, service: Running, key: CanRead, name: str) -> Response:
    """One pattern: meaning, examples, accuracy, recent detections, its file."""
    record = pattern_record(service, name)
    least = learning_in(service.settings)["accuracy_minimum"]
    precise = accuracies(service.store, name, minimum=least)
    recent = find_page(service.store, pattern=name, limit=RECENT, settings=service.settings)
    lines = [f"version {item.version}: {precision_text(item.whole)}" for item in precise]
    return render(request, "pattern.html", pattern=record, precise=lines, recent=recent)


@router.get("/learning")
def learning_page(request: Request, service: Running, key: CanRead) -> Response:
    """What patterns would learn from the verdicts so far."""
    at, settings = service.now(), service.settings
    lessons: list[dict[str, Any]] = []
    for name in judged_patterns(service.store):
        result = learn_pattern(service.store, name, settings, at=at)
        lessons.append({"pattern": name, "text": "\n".join(lesson_lines(result, at))})
    return render(request, "learning.html", lessons=lessons)


@router.get("/connect")
def connect_page(request: Request, service: Running, key: CanRead) -> Response:
    """Lines to paste, each marked when its first event has come."""
    sources = {source.name for source in service.store.sources().values()}
    return render(request, "connect.html", url=service.options.url, sources=sources)


@router.get("/api")
def api_page(request: Request, service: Running, key: CanRead) -> Response:
    """The API, from its own description."""
    described = request.app.openapi()
    rows = [
        (method.upper(), path, operation.get("description") or operation.get("summary", ""))
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    return render(request, "api.html", rows=rows)
