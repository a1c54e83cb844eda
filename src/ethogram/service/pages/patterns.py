"""Pages about patterns, what they learn, how to connect, and the API."""

from __future__ import annotations

from shlex import quote
from typing import Any

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from ...app.findings import find_page
from ...app.judging.accuracy import accuracies
from ...app.judging.learning import judged_patterns, learn_pattern
from ...app.judging.risk import pattern_files
from ...config.settings import learning_in
from ...report.svg import percent, tag
from ...report.verdicts import counts_text, precision_text, within
from ...report.wording import plural
from ...risk.proposal import Effect, NoProposal, Proposal
from ..html import Part, render
from ..patterns import pattern_record, pattern_rows, stories
from ..request_checks import json_response
from ..routes import CanRead, Running
from ..state import Service

router = APIRouter(include_in_schema=False)
RECENT = 20


@router.get("/patterns")
def patterns_page(request: Request, service: Running, key: CanRead) -> Response:
    """Every pattern, with its accuracy and how often it was detected."""
    least = learning_in(service.settings)["accuracy_minimum"]
    precise = {item.pattern: item.whole for item in accuracies(service.store, minimum=least)}
    rows = pattern_rows(service)
    for row in rows:
        whole = precise.get(row["name"])
        row["found"] = service.store.find_detections(patterns=[row["name"]], limit=1)[1]
        row["precise"] = "" if whole is None else precision_text(whole)
        row["interval"] = Markup("") if whole is None else interval_of(whole)
    rows.sort(key=lambda row: (not row["on"], -row["found"], row["name"]))
    return render(request, "patterns.html", rows=rows, on=sum(row["on"] for row in rows))


def interval_of(figure: Any) -> Markup:
    """A share with its interval, drawn from 0 to 1; nothing where too little is known."""
    if figure.precision is None:
        return Markup("")
    low, high = 100 * figure.precision_low, 100 * figure.precision_high
    parts = (
        tag("rect", class_="room", width="100%", y=6, height=4),
        tag("rect", class_="range", x=percent(low), width=percent(high - low), y=4, height=8),
        tag("circle", cx=percent(100 * figure.precision), cy=8, r=4),
    )
    return tag("svg", *parts, class_="interval", width=120, height=16, aria_hidden="true")


@router.get("/patterns/{name}")
def pattern_page(request: Request, service: Running, key: CanRead, name: Part) -> Response:
    """One pattern: meaning, examples, accuracy, recent detections, its file."""
    record = pattern_record(service, name)
    least = learning_in(service.settings)["accuracy_minimum"]
    file = pattern_files(service.settings)[name]
    return render(
        request,
        "pattern.html",
        pattern=record,
        words=file.words,
        data=file.data,
        parameters=file.parameters,
        examples=stories(service, name),
        precise=[
            (item, counts_text(item.whole), precision_text(item.whole), interval_of(item.whole))
            for item in accuracies(service.store, name, minimum=least)
        ],
        recent=find_page(service.store, pattern=name, limit=RECENT, settings=service.settings),
    )


@router.get("/learning")
def learning_page(request: Request, service: Running, key: CanRead) -> Response:
    """What patterns would learn from the verdicts so far."""
    lessons = [lesson_of(service, name) for name in judged_patterns(service.store)]
    lessons.sort(key=lambda lesson: (lesson["proposal"] is None, lesson["pattern"]))
    return render(request, "learning.html", lessons=lessons)


def lesson_of(service: Service, name: str) -> dict[str, Any]:
    """What a pattern would learn: before and after in numbers, or why there is nothing to learn."""
    outcome = learn_pattern(service.store, name, service.settings, at=service.now()).outcome
    if isinstance(outcome, NoProposal):
        return {"pattern": name, "proposal": None, "why": outcome.why, "effects": []}
    rows = (("now", outcome.before), ("proposed", outcome.after), ("to be expected", outcome.held_out))
    return {
        "pattern": name,
        "proposal": outcome,
        "why": outcome.sentence(),
        "effects": [(title, effect, effect_text(effect), interval_of(effect)) for title, effect in rows],
        "recent": recent_text(outcome),
    }


def effect_text(effect: Effect) -> str:
    """The precision of an effect with its interval."""
    if effect.precision is None:
        return "no detections"
    return within(effect.precision, effect.precision_low, effect.precision_high)


def recent_text(proposal: Proposal) -> str:
    """What would change in the last 30 days; '' where that is not known."""
    if proposal.recent is None:
        return ""
    before, after = proposal.recent
    lost = f"losing {proposal.recent_lost:,} confirmed"
    return f"In the last 30 days {plural(after, 'detection')} instead of {before:,}, {lost}."


# --- connect --------------------------------------------------------------------------------

CLAUDE_CODE = """export CLAUDE_CODE_ENABLE_TELEMETRY=1
export OTEL_LOGS_EXPORTER=otlp
export OTEL_EXPORTER_OTLP_PROTOCOL=http/json
export OTEL_EXPORTER_OTLP_ENDPOINT={url}
export OTEL_LOG_TOOL_DETAILS=1{otel}"""
OTEL = """export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_ENDPOINT={url}{otel}"""
LITELLM = """guardrails:
  - guardrail_name: ethogram
    litellm_params:
      guardrail: generic_guardrail_api
      mode: [pre_call, post_call]
      api_base: {url}
      api_key: {key}"""
PYTHON = """import httpx

event = {{"subject": "ann", "kind": "message", "text": "Hello"}}
httpx.post("{url}/v1/events?source=python", json=event{headers})"""
GATEWAY = """ethogram proxy --upstream https://api.openai.com --store {store}
export OPENAI_BASE_URL=http://127.0.0.1:8766/v1"""
CURL = """curl{header} '{url}/v1/events?source=curl' \\
  --data-binary '{{"subject": "ann", "kind": "message", "text": "Hello"}}'"""
WAYS = (
    ("curl", "Any events, with curl", CURL),
    ("python", "Python", PYTHON),
    ("claude-code", "Claude Code", CLAUDE_CODE),
    ("otel", "OpenTelemetry", OTEL),
    ("litellm", "LiteLLM proxy (config.yaml)", LITELLM),
    ("proxy", "OpenAI, Anthropic and Ollama clients, through the gateway", GATEWAY),
)
"""Source, title and lines to paste of each way to connect."""


@router.get("/connect")
def connect_page(request: Request, service: Running, key: CanRead) -> Response:
    """Lines to paste, each marked when its first event has come."""
    has_keys = not service.keys.is_empty
    words = {
        "url": service.options.url,
        # The address of a server may hold a password.
        "store": "STORE" if "://" in service.options.store else quote(service.options.store),
        "key": "KEY" if has_keys else "none",
        "header": ' -H "x-api-key: KEY"' if has_keys else "",
        "headers": ', headers={"x-api-key": "KEY"}' if has_keys else "",
        "otel": "\nexport OTEL_EXPORTER_OTLP_HEADERS=x-api-key=KEY" if has_keys else "",
    }
    ways = [(name, title, text.format(**words)) for name, title, text in WAYS]
    return render(
        request,
        "connect.html",
        ways=ways,
        known=service.store.sources(),
        keep_text=service.options.keep_text,
    )


@router.get("/connect/sources")
def connected_sources(service: Running, key: CanRead) -> Response:
    """The ways that have brought an event."""
    return json_response(sorted(service.store.sources()))


@router.get("/api")
def api_page(request: Request, service: Running, key: CanRead) -> Response:
    """The API, from its own description."""
    described = request.app.openapi()
    rows = [
        (method.upper(), path, " ".join(str(operation.get("description", "")).split()))
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    return render(request, "api.html", rows=rows)
