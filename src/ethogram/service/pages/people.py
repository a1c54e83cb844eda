"""Pages of people: how they use a service against their own habit, from times and lengths alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from ...errors import BadUsage
from ...models import Detection, Event
from ...models.roles import is_by_service
from ...report.svg import percent, tag
from ...report.wording import plural, ranked, title_of
from ...signals.habits import DEFAULT_KINDS, habit_options
from ...signals.options import Options
from ...store.records import Who
from ...store.windows import actors, window
from ...usage.event import arguments_of
from ...usage.finding import Finding
from ...usage.signals import UsageSignals, signals
from ...usage.summary import EMPTY, record
from ..html import Part, render
from ..request_checks import Refused
from ..routes import CanRead, Offset, Running
from ..state import Service

router = APIRouter(include_in_schema=False)
PAGE = 100
EVENTS = 2_000
"""Newest events of a person that are read."""
DAYS = 70


class Person(NamedTuple):
    """A person's use of a service: what is unusual, and what could not be judged."""

    who: Who
    events: int
    last_at: datetime
    signals: UsageSignals
    detections: tuple[Detection, ...]
    days: Markup

    @property
    def unusual(self) -> list[Finding]:
        return self.signals.at_severity("low")

    @property
    def unknown(self) -> list[Finding]:
        return [finding for finding in self.signals.findings.values() if not finding.is_ok]

    @property
    def ordinary(self) -> list[Finding]:
        return [
            finding
            for finding in self.signals.findings.values()
            if finding.is_ok and finding.severity == "none"
        ]


@router.get("/people")
def people_page(request: Request, service: Running, key: CanRead, offset: Offset = 0) -> Response:
    """Who changed, how, since when."""
    service.note_look(key, "usage")
    kinds = tuple(service.settings.usage.get("kinds", DEFAULT_KINDS))
    rows, total = actors(service.store, kinds[0], limit=PAGE, offset=offset) if kinds else ([], 0)
    people = [person for who in rows if (person := person_of_use(service, who, kinds[0])) is not None]
    changed = [person for person in people if person.unusual or person.detections]
    changed.sort(key=lambda person: -person.signals.score)
    return render(
        request,
        "people.html",
        changed=changed,
        others=[person for person in people if person not in changed],
        total=total,
        heading=f"{plural(len(changed), 'person')} changed" if changed else "Nobody changed",
        next=offset + PAGE if offset + PAGE < total else None,
    )


@router.get("/people/{source}/{name}")
def person_page(request: Request, service: Running, key: CanRead, source: Part, name: Part) -> Response:
    """One person: every signal, also those that are ordinary or cannot be judged."""
    kinds = tuple(service.settings.usage.get("kinds", DEFAULT_KINDS))
    person = person_of_use(service, (source, name), kinds[0]) if kinds else None
    if person is None:
        raise Refused(404, "not_found", f"nobody named {name!r:.80} has events of use")
    service.note_look(key, "usage", name)
    return render(request, "person.html", person=person)


def person_of_use(service: Service, who: Who, kind: str) -> Person | None:
    """What the events of a person say as of now; None where none of them counts."""
    part = window(service.store, who, kind=kind, most=EVENTS)
    habit = habit_options(Options.of(service.settings))
    summary = EMPTY
    for event in part.events:
        try:
            values = arguments_of(event)
            summary = record(
                summary,
                event.at.timestamp(),
                length=values["length"],
                is_user=values["is_user"],
                emotional=values["emotional"],
                closing=values["closing"],
                ended_abruptly=values["ended_abruptly"],
                session=values["session"],
                zone=values["time_zone"] or habit.time_zone,
            )
        except BadUsage:
            continue
    if not summary.events:
        return None
    found = service.store.detections(subjects=[who], parts=False)
    detections = tuple(ranked(item for item in found if item.status != "shadow"))
    return Person(
        who,
        part.total,
        part.events[-1].at,
        signals(summary, service.now().timestamp(), cohort=habit.cohort, settings=habit.settings),
        detections,
        days_of(part.events, detections, service.now()),
    )


def days_of(events: Sequence[Event], detections: Sequence[Detection], now: datetime) -> Markup:
    """Messages of a person by day, the newest days, and when something was detected in them."""
    counts: dict[int, int] = {}
    for event in events:
        if not is_by_service(event):
            age = (now.date() - event.at.date()).days
            counts[age] = counts.get(age, 0) + 1
    shown = {age: count for age, count in counts.items() if 0 <= age < DAYS}
    most = max(shown.values(), default=1)
    bars = []
    for item in reversed(detections):  # the most severe on top
        ages = [(now.date() - at.date()).days for at in (item.opened_at, item.closed_at or now)]
        if ages[1] >= DAYS:
            continue
        first, last = (DAYS - 1 - min(max(age, 0), DAYS - 1) for age in ages)
        box = {"x": percent(100 * first / DAYS), "width": percent(100 * (last - first + 1) / DAYS)}
        words = tag("title", title_of(item))
        bars.append(tag("rect", words, height=28, class_=f"found l-{item.severity}", **box))
    for age, count in sorted(shown.items(), reverse=True):
        day = now.date() - timedelta(days=age)
        high = 2 + 24 * count / most
        box = {"x": percent(100 * (DAYS - 1 - age) / DAYS), "width": percent(75 / DAYS)}
        bars.append(tag("rect", tag("title", f"{day}: {count}"), y=28 - high, height=high, **box))
    label = f"Messages a day over the last {DAYS} days: at most {most}"
    return tag("svg", *bars, class_="use", width="100%", height=28, role="img", aria_label=label)
