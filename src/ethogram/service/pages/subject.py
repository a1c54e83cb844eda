"""Pages of subjects: all by risk, one over time, and why a pattern is quiet for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from ...app.explain import FIRED, INSUFFICIENT, NO_HISTORY, QUIET, Question, Why
from ...app.explain import why as explain
from ...app.judging.risk import newest, subject_risk, subject_risks
from ...app.readings import scored_events
from ...app.subject import find_subject, signal_contexts, stages
from ...errors import BadUsage
from ...ingest import Batch
from ...ingest.batch import EventList, EventSequence
from ...language.program import SequenceProgram
from ...models import Detection, format_time, parse_time
from ...models.detection import base_pattern
from ...report.explain import WhyLine, why_lines
from ...report.wording import ranked
from ...store.records import SubjectRow
from ...store.windows import Contacts, contacts, window
from ..html import Part, render
from ..inbox import TRIAGE, InboxItem, item_of, last_look
from ..request_checks import Refused
from ..routes import CanRead, Offset, Running, person_of
from ..state import Service
from .detection import Period, chart_of
from .inbox import untimed_sources

router = APIRouter(include_in_schema=False)
PAGE = 100
RECENT = 250
"""Newest events that readings and partial matches are computed from."""
MOST_OTHERS = 30
CONTACTS = 200
"""Subjects whose contacts are remembered."""
RANGES = (
    ("hour", timedelta(hours=1)),
    ("day", timedelta(days=1)),
    ("week", timedelta(days=7)),
    ("month", timedelta(days=30)),
)
FAMILIES = ("conversation", "risk", "run", "usage")
ANSWERS = {
    FIRED: "Yes: it was detected.",
    QUIET: "No: it was checked, and its limits were not reached.",
    INSUFFICIENT: "It could not be judged.",
    NO_HISTORY: "It does not apply: there is nothing of the kind that it looks at.",
}
When = Annotated[str, Query(max_length=40)]


@router.get("/subjects")
def subjects_page(
    request: Request,
    service: Running,
    key: CanRead,
    offset: Offset = 0,
    text: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Subjects by risk."""
    service.note_look(key, "risk")
    risks = subject_risks(service.store, settings=service.settings)
    risks = [risk for risk in risks if text.casefold() in f"{risk.subject} {risk.source}".casefold()]
    quiet: list[SubjectRow] = []
    if text:
        known = {(risk.source, risk.subject) for risk in risks}
        rows = (row for row in service.store.subjects() if text.casefold() in row.name.casefold())
        quiet = [row for row in rows if row.who not in known][:PAGE]
    more = offset + PAGE if offset + PAGE < len(risks) else None
    return render(
        request,
        "subjects.html",
        risks=risks[offset : offset + PAGE],
        total=len(risks),
        next=more,
        text=text,
        quiet=quiet,
        ranked=ranked,
    )


# --- why not --------------------------------------------------------------------------------


@router.get("/subjects/{source}/{name}/why/{pattern}")
def why_page(
    request: Request, service: Running, key: CanRead, source: Part, name: Part, pattern: Part
) -> Response:
    """Why a pattern is quiet for a subject."""
    row = find_subject(service.store, name, source)
    if pattern not in service.library.chosen:
        raise Refused(404, "not_found", f"no pattern {pattern!r:.80} is on")
    service.note_look(key, "subject", name)
    stored = service.store.columns([row.who], mates=True)
    programs = [item for item in service.library.programs if base_pattern(item.name) == pattern]
    batch = Batch(stored if isinstance(stored, EventSequence) else EventList(stored), timed=True)
    answers = explain(Question(name), service.library, batch, programs=programs, settings=service.settings)
    file = service.library.files[pattern]
    # Variants of a pattern often lack the same thing: once is enough.
    shown: dict[Any, tuple[Why, str, list[WhyLine]]] = {}
    for item in answers:
        lines = [line for line in why_lines(item, shorten) if line.is_known]
        shown.setdefault((item.answer, *item.history.items(), *lines), (item, ANSWERS[item.answer], lines))
    return render(
        request,
        "why.html",
        source=source,
        name=name,
        pattern=pattern,
        title=file.title,
        description=file.words.get("description") or "",
        answers=list(shown.values()),
    )


def shorten(expression: str) -> str:
    """An expression without the conditions inside its functions, and without defaults.

    >>> shorten("or_else(run(step_key, keep=20, where=a == 0 and known(b)), 1) >= 3")
    'run(step_key, keep=20) >= 3'
    """
    try:
        return ast.unparse(_Shortener().visit(ast.parse(expression, mode="eval")))
    except (SyntaxError, ValueError, RecursionError):
        return expression  # a define behind a step's dot, or a limit in words


class _Shortener(ast.NodeTransformer):
    """Leaves out `where` and `since` of functions, and what `or_else` falls back to."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id == "or_else" and node.args:
            value: ast.expr = self.visit(node.args[0])
            return value
        node.args = [self.visit(item) for item in node.args]
        node.keywords = [item for item in node.keywords if item.arg not in ("where", "since")]
        return node


# --- one subject ----------------------------------------------------------------------------


@router.get("/subjects/{source}/{name}")
def subject_page(
    request: Request,
    service: Running,
    key: CanRead,
    source: Part,
    name: Part,
    since: When = "",
    until: When = "",
) -> Response:
    """One subject over time."""
    row = find_subject(service.store, name, source)
    service.note_look(key, "subject", name)
    at = newest(service.store)
    detections = [
        item for item in service.store.detections(subjects=[row.who], parts=False) if item.status != "shadow"
    ]
    whole = whole_period(row, detections)
    period = (moment(since, whole[0]), moment(until, whole[1])) if since or until else whole
    if period[0] > period[1]:
        raise BadUsage("since is later than until")
    recent = window(service.store, row.who, most=RECENT)
    programs = [
        item
        for item in service.library.programs
        if service.library.is_chosen(item) and isinstance(item.body, SequenceProgram)
    ]
    events, _, _ = scored_events(recent.events, programs, service.settings)
    found = {base_pattern(item.pattern) for item in detections}
    assessed = subject_risk(service.store, name, source=source, as_of=at, settings=service.settings)
    timed = source not in untimed_sources(service)
    known = contacts_of(service, row)
    return render(
        request,
        "subject.html",
        row=row,
        timed=timed,
        detections=detections,
        risk=assessed.composition.risk(name, source=source),
        items=list(items_of(service, person_of(key), detections)),
        untimed=untimed_sources(service),
        chart=chart_of(service, row.who, detections, period, "/detections/"),
        ranges=list(ranges_of(whole, period)) if timed else [],
        others=others_of(row, known),
        since=known.since,
        signals=signal_contexts(events),
        recent=recent,
        stages=list(stages(programs, events, at)),
        quiet=quiet_patterns(service, found),
    )


def moment(text: str, default: datetime) -> datetime:
    """A time of the address; BadUsage where it is none."""
    if not text:
        return default
    try:
        return parse_time(text)
    except ValueError as error:
        raise BadUsage(f"invalid time {text!r:.40}: {error}") from None


def whole_period(row: SubjectRow, detections: Sequence[Detection]) -> Period:
    """From the first to the last thing that is known of a subject."""
    times = [row.first_at, row.last_at]
    for item in detections:
        times += [item.opened_at, item.closed_at or item.detected_at]
        times += [evidence.at for evidence in item.evidence]
    return min(times), max(times)


def ranges_of(whole: Period, shown: Period) -> Iterator[tuple[str, str, bool]]:
    """Words, query and whether it is shown, for each part of the time that one can look at."""
    length = whole[1] - whole[0]
    yield "all", "", shown == whole
    for word, size in RANGES[::-1]:
        if size < length:
            part = (whole[1] - size, whole[1])
            yield f"last {word}", query_of(part), shown == part
    size = shown[1] - shown[0]
    if shown != whole and size:
        half = size / 2
        if shown[0] > whole[0]:
            yield "earlier", query_of((shown[0] - half, shown[1] - half)), False
        if shown[1] < whole[1]:
            yield "later", query_of((shown[0] + half, shown[1] + half)), False
        yield "wider", query_of((shown[0] - half, shown[1] + half)), False
    yield "closer", query_of((shown[0] + size / 4, shown[1] - size / 4)), False


def query_of(period: Period) -> str:
    """The query of a part of the time."""
    return "?" + urlencode({"since": format_time(period[0]), "until": format_time(period[1])})


def items_of(service: Service, person: str, detections: Sequence[Detection]) -> Iterator[InboxItem]:
    """Detections as the inbox shows them."""
    seen = last_look(service.store, person)
    for detection in ranked(detections):
        note = service.store.note(TRIAGE, detection.id)
        verdicts = service.store.verdicts(detection.id)
        yield item_of(detection, service.store.history(detection.id), note, verdicts, seen)


class Other(NamedTuple):
    """What went between a subject and another: kinds and numbers of events in both directions."""

    name: str
    given: Mapping[str, int]
    got: Mapping[str, int]
    last_at: datetime

    @property
    def events(self) -> int:
        return sum(self.given.values()) + sum(self.got.values())


def others_of(row: SubjectRow, known: Contacts) -> list[Other]:
    """Whom a subject acted on and who acted on it, those with most events first."""
    found: dict[str, tuple[dict[str, int], dict[str, int], list[datetime]]] = {}
    for link in known.links:
        given, got, times = found.setdefault(
            link.target if link.subject == row.name else link.subject, ({}, {}, [])
        )
        (given if link.subject == row.name else got)[link.kind] = link.events
        times.append(link.last_at)
    others = [Other(name, given, got, max(times)) for name, (given, got, times) in found.items()]
    return sorted(others, key=lambda other: (-other.events, other.name))[:MOST_OTHERS]


def contacts_of(service: Service, row: SubjectRow) -> Contacts:
    """The contacts of a subject, read again when its source has new events."""
    source = service.store.sources().get(row.source)
    state = 0 if source is None else source.next_seq
    known = service.contacts.get(row.who)
    if known is None or known[0] != state:
        known = service.contacts[row.who] = (state, contacts(service.store, row.who))
        while len(service.contacts) > CONTACTS:
            service.contacts.pop(next(iter(service.contacts)), None)
    return known[1]


def quiet_patterns(service: Service, found: set[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Patterns that are on and quiet, by family."""
    families: dict[str, list[tuple[str, str]]] = {}
    for file in service.library:
        if file.name not in found:
            tags: Sequence[Any] = file.words.get("tags") or file.data.get("tags") or ()
            family = next((name for name in FAMILIES if name in tags), "combination")
            families.setdefault(family, []).append((file.name, file.title))
    return sorted(families.items())
