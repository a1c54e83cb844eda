"""Sessions are cut by inactivity, or by the names that the events give."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ethogram.models import Event, parse_duration
from ethogram.signals import Options, measure_all
from ethogram.signals.timing import Place, advance

HALF_HOUR = parse_duration("30m")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Session:
    """One stretch of a subject's events, in order; never empty."""

    source: str
    subject: str
    events: tuple[Event, ...]


def sessions(events: Iterable[Event], inactivity: int) -> list[Session]:
    """The sessions in these events, which must be in order, sorted by their first event.

    Events that no session can be told for are in none.
    """
    places: dict[tuple[str, str], Place] = {}
    under_way: dict[tuple[str, str], list[Event]] = {}
    cut: list[list[Event]] = []
    for event in events:
        whose = (event.source, event.subject)
        place = advance(places.get(whose), event, inactivity)
        if place is None:
            continue
        places[whose] = place
        if place[2] == 1:
            under_way[whose] = []
            cut.append(under_way[whose])
        under_way[whose].append(event)
    return [Session(item[0].source, item[0].subject, tuple(item)) for item in cut]


def event(minute: float, subject: str = "sam", **fields: object) -> Event:
    return Event.sample(
        id=f"{subject}{minute}", at=NOON + timedelta(minutes=minute), subject=subject, **fields
    )


def minutes(events: list[Event]) -> list[list[float]]:
    return [[(e.at - NOON) / timedelta(minutes=1) for e in s.events] for s in sessions(events, HALF_HOUR)]


def test_a_pause_of_exactly_the_inactivity_is_still_one_session():
    assert minutes([event(0), event(30)]) == [[0, 30]]


def test_a_longer_pause_starts_a_new_session():
    assert minutes([event(0), event(10), event(40.5), event(41)]) == [[0, 10], [40.5, 41]]


def test_a_session_may_last_all_day_without_a_pause():
    assert len(sessions([event(20 * n) for n in range(72)], HALF_HOUR)) == 1


def test_subjects_have_sessions_of_their_own():
    result = sessions([event(0), event(20, "ann"), event(40)], HALF_HOUR)
    assert [(s.subject, len(s.events)) for s in result] == [("sam", 1), ("ann", 1), ("sam", 1)]


def test_the_same_name_in_two_sources_is_two_subjects():
    result = sessions([event(0), event(1, source="forum")], HALF_HOUR)
    assert [s.source for s in result] == ["input", "forum"]


def test_where_both_name_a_session_the_names_decide():
    assert minutes([event(0, session="a"), event(1, session="b")]) == [[0], [1]]
    assert minutes([event(0, session="a"), event(600, session="a")]) == [[0, 600]]


def test_where_one_does_not_name_it_inactivity_decides():
    assert minutes([event(0, session="a"), event(10), event(20, session="a")]) == [[0, 10, 20]]
    assert minutes([event(0, session="a"), event(31)]) == [[0], [31]]
    assert minutes([event(0), event(10, session="a"), event(100, session="a")]) == [[0, 10, 100]]


def test_a_source_without_times_has_only_named_sessions():
    assert sessions([event(0, timed=False), event(1, timed=False)], HALF_HOUR) == []
    named = [event(0, timed=False, session="a"), event(1, timed=False, session="a")]
    assert len(sessions(named, HALF_HOUR)) == 1


def test_no_events_no_sessions():
    assert sessions([], HALF_HOUR) == []


def test_position_counts_from_one_and_start_marks_the_first():
    events = [event(0), event(10), event(50), event(51)]
    found = list(measure_all(events, ["session_position", "session_start"]))
    assert [e.readings["session_position"] for e in found] == [1, 2, 1, 2]
    assert [e.readings["session_start"] for e in found] == [1, 0, 1, 0]


def test_position_agrees_with_the_sessions_cut_from_the_whole():
    gaps = [3, 40, 1, 29, 30, 31, 2, 2, 90]
    events = [event(sum(gaps[:n]), session="x" if n in (2, 5) else None) for n in range(len(gaps))]
    by_step = [e.readings["session_position"] for e in measure_all(events, ["session_position"])]
    whole = [n for s in sessions(events, HALF_HOUR) for n in range(1, len(s.events) + 1)]
    assert by_step == whole


def test_the_inactivity_can_be_set():
    found = list(
        measure_all(
            [event(0), event(10)], ["session_start"], Options(session_inactivity=parse_duration("5m"))
        )
    )
    assert [e.readings["session_start"] for e in found] == [1, 1]
