"""Pages of the inbox: what is to decide, filters, and decisions by plain forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ...models import SEVERITIES, rank
from ...models.detection import base_pattern
from ...report import charts, wording
from ...report.wording import plural
from ..api import VerdictBody, save_triage, save_verdict
from ..html import back, render
from ..inbox import STATES, InboxItem, inbox, last_look, look
from ..routes import CanJudge, CanRead, Running, person_of
from ..state import Service
from .common import form_of

router = APIRouter(include_in_schema=False)
NEWS = ("escalating", "regressed", "new")
"""States that ask for a decision."""
GROUPS = (
    ("To decide", NEWS),
    ("Ongoing", ("ongoing",)),
    ("Judged", ("judged",)),
    ("Muted", ("muted",)),
)
Choice = Annotated[str, Query(max_length=200)]


class Card(NamedTuple):
    """A detection of the inbox with others of the same cause, and where a decision leads to."""

    item: InboxItem
    others: tuple[InboxItem, ...]
    here: str


@router.get("/")
def inbox_page(
    request: Request,
    service: Running,
    key: CanRead,
    severity: Choice = "",
    pattern: Choice = "",
    source: Choice = "",
    state: Choice = "",
    text: Choice = "",
) -> Response:
    """What is new, ranked."""
    person = person_of(key)
    service.note_look(key, "inbox")
    every = inbox(service.store, person)
    asked = {"severity": severity, "pattern": pattern, "source": source, "state": state, "text": text}
    asked = {name: value for name, value in asked.items() if value}
    items = [item for item in every if is_wanted(item, asked)]
    here = f"/?{urlencode(asked)}" if asked else "/"
    news = [item for item in every if item.state in NEWS]
    ongoing = [item for item in every if item.state == "ongoing"]
    seen = last_look(service.store, person)
    report = service.last_report
    is_looking = not every and (report is None or service.sweeper.is_busy)
    return render(
        request,
        "inbox.html",
        waits=is_looking,
        is_looking=is_looking,
        error="" if report is None else report.error,
        events=service.store.count("events") if not every else 0,
        total=len(every),
        heading=heading_of(len(news), len(ongoing), is_looking=is_looking, is_empty=not every),
        where="" if seen is None else f"You last looked at {wording.stamp(seen)} UTC.",
        tiles=[
            (name, sum(item.detection.severity == name for item in news or ongoing))
            for name in reversed(SEVERITIES)
        ],
        groups=[
            (title, cards_of([item for item in items if item.state in states], here))
            for title, states in GROUPS
        ],
        shown=len(items),
        asked=asked,
        here=here,
        untimed=untimed_sources(service),
        choices=choices_of(every),
    )


def heading_of(news: int, ongoing: int, *, is_looking: bool, is_empty: bool) -> str:
    """What there is to do."""
    if is_looking:
        return "Looking..."
    if is_empty:
        return "Nothing detected"
    if news:
        return f"{plural(news, 'detection')} to decide"
    return f"Nothing new, {ongoing:,} ongoing" if ongoing else "Nothing new"


def untimed_sources(service: Service) -> frozenset[str]:
    """Sources whose events have numbers in place of times."""
    return frozenset(name for name, source in service.store.sources().items() if not source.timed)


def is_wanted(item: InboxItem, asked: Mapping[str, str]) -> bool:
    """Whether an item passes the filters; `severity` is the lowest."""
    detection = item.detection
    least = asked.get("severity", "")
    if least in SEVERITIES and rank(detection.severity) < rank(least):
        return False
    if asked.get("pattern") not in (None, detection.pattern, base_pattern(detection.pattern)):
        return False
    if asked.get("source", detection.source) != detection.source:
        return False
    if asked.get("state", item.state) != item.state:
        return False
    words = " ".join(
        (
            wording.title_of(detection), wording.whom(detection), detection.explanation,
            item.triage.assigned, item.triage.note,
        )
    ).casefold()  # fmt: skip
    return all(word in words for word in asked.get("text", "").casefold().split())


def choices_of(items: Sequence[InboxItem]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Name, label and options of each list of the filter."""
    patterns = {base_pattern(item.detection.pattern): wording.title_of(item.detection, 60) for item in items}
    sources = sorted({item.detection.source for item in items})
    states = [state for state in STATES if any(item.state == state for item in items)]
    severities = [(name, name if name == SEVERITIES[-1] else f"{name} or above") for name in SEVERITIES]
    return [
        ("severity", "Severity", severities[::-1]),
        ("pattern", "Pattern", sorted(patterns.items(), key=lambda pair: pair[1])),
        ("source", "Source", [(name, name) for name in sources]),
        ("state", "State", [(name, name) for name in states]),
    ]


def cards_of(items: Sequence[InboxItem], here: str) -> list[Card]:
    """One card for each cause; a decision on it leads to the next one."""
    by_id = {item.detection.id: item for item in items}
    groups = wording.by_cause([item.detection for item in items])
    cards = []
    for number, (first, others) in enumerate(groups):
        after = groups[number + 1][0] if number + 1 < len(groups) else groups[number - 1][0]
        place = f"{here}#{charts.detection_anchor(after)}"
        cards.append(Card(by_id[first.id], tuple(by_id[other.id] for other in others), place))
    return cards


# --- decisions ------------------------------------------------------------------------------


@router.post("/seen")
def seen(request: Request, service: Running, key: CanRead) -> Response:
    look(service.store, person_of(key), service.now())
    return back(request)


@router.post("/detections/{id}/verdict")
async def judge(request: Request, service: Running, key: CanJudge, id: str) -> Response:  # noqa: A002
    form = await form_of(request)
    body = VerdictBody(form.get("verdict", ""), form.get("why", ""))
    await run_in_threadpool(save_verdict, service, key, id, body)
    return back(request)


@router.post("/detections/{id}/triage")
async def triage(request: Request, service: Running, key: CanJudge, id: str) -> Response:  # noqa: A002
    form = await form_of(request)
    changes = {name: form[name] for name in ("muted", "assigned", "note") if name in form}
    await run_in_threadpool(save_triage, service, key, id, changes)
    return back(request)
