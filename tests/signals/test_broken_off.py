"""Abrupt termination: what the service does changes nothing, and a mark holds until one is back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ethogram.app.analyze import analyze
from ethogram.app.live.watch import Watch
from ethogram.models import Event
from ethogram.models.roles import SERVICE_ROLES
from ethogram.signals import measure_all
from ethogram.usage import Summary, record, signals
from ethogram.usage.event import arguments_of

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PATTERN = ["abrupt_termination"]
BY_SERVICE = [{"is_user": 0}, *({"role": role} for role in sorted(SERVICE_ROLES))]


def said(seconds: float, by: dict | None = None, kind: str = "usage", **readings: float) -> Event:
    at = NOON + timedelta(seconds=seconds)
    return Event(id=f"e{seconds}", at=at, subject="ann", kind=kind, attributes=by or {}, readings=readings)


def found(events: list[Event], seconds: float) -> list:
    as_of = NOON + timedelta(seconds=seconds)
    whole = list(analyze(events, PATTERN, as_of=as_of).detections)
    watch = Watch(PATTERN, clock=lambda: as_of)
    live = {item.id: item for event in events for item in [*watch.tick(event.at), *watch.observe(event)]}
    live |= {item.id: item for item in [*watch.tick(as_of), *watch.flush(as_of), *watch.open()]}
    key = [(item.severity, item.detected_at) for item in whole]
    assert sorted((item.severity, item.detected_at) for item in live.values()) == sorted(key)
    return whole


@pytest.mark.parametrize("kind", ["usage", "message"])
@pytest.mark.parametrize("by", BY_SERVICE, ids=str)
def test_what_the_service_answers_changes_nothing(by: dict, kind: str) -> None:
    events = [said(0, kind=kind), said(60, kind=kind, emotional=0.9)]
    events += [said(90 + 300 * k, by, kind, emotional=0.1) for k in range(5)]
    assert found(events, 60 + 1800) == []
    (item,) = found(events, 7200)
    assert (item.severity, item.detected_at) == ("medium", NOON + timedelta(seconds=60 + 1800))
    # The person's own word ends it, whatever the service says after it.
    assert found([*events, said(1500, kind=kind), said(1530, by, kind)], 7200) == []


@pytest.mark.parametrize("by", [None, *BY_SERVICE[:2]], ids=str)
def test_a_mark_counts_whoever_carries_it_until_the_person_is_back(by: dict | None) -> None:
    events = [said(0), said(90, by, ended_abruptly=1.0)]
    (item,) = found(events, 100)
    assert item.severity == "medium"
    assert item.details["feeling"] == 0
    assert item.explanation.endswith("conversation ended abruptly, as marked by the source.")
    (item,) = found([*events, said(300), said(900, closing=1.0)], 7200)
    assert item.state == "closed"


@pytest.mark.parametrize(("feeling", "wanted"), [(0.6, []), (0.7, ["medium"]), (0.95, ["medium"])])
def test_pattern_and_statistics_are_of_one_severity(feeling: float, wanted: list[str]) -> None:
    event = said(0, emotional=feeling)
    assert [item.severity for item in found([event], 7200)] == wanted
    arguments = arguments_of(event)
    state = record(Summary(), NOON.timestamp(), emotional=arguments["emotional"])
    severity = signals(state, NOON.timestamp() + 7200).findings["abrupt_termination"].severity
    assert severity == (wanted or ["none"])[0]


def test_what_is_left_is_carried_and_then_over() -> None:
    by = {"role": "assistant"}
    events = [said(0, emotional=0.8), said(600, by), said(1800, by), said(1801, by), said(1900)]
    told = [item.readings.get("broken_off_after") for item in measure_all(events, ["broken_off_after"])]
    assert told == [1800, 1200, 0, None, None]


@pytest.mark.parametrize("role", sorted(SERVICE_ROLES))
def test_patterns_and_tracker_take_the_same_roles_for_the_service(role: str) -> None:
    event = said(0, {"role": role})
    assert arguments_of(event)["is_user"] is False
    (measured,) = measure_all([event], ["messages_today", "quiet_after"])
    assert not measured.readings
