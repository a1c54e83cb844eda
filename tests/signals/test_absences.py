"""Back after an absence, as the pattern tells it: no weekend, and not only the absences that are short."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from ethogram.app.analyze import analyze
from ethogram.models import Event

MONDAY = datetime(2025, 3, 3, tzinfo=UTC)


def told(hours: list[float]) -> list[tuple[str, float]]:
    """Severity and hour, after a Monday's midnight, of every return."""
    moments = [MONDAY + timedelta(hours=hour) for hour in sorted(hours)]
    events = [Event(id=f"e{n}", at=at, subject="ann", kind="usage") for n, at in enumerate(moments)]
    detections = analyze(events, ["return_after_absence"]).detections
    return [
        (item.severity, round((item.detected_at - MONDAY) / timedelta(hours=1), 2)) for item in detections
    ]


def test_no_monday_is_a_return_for_who_works_on_weekdays() -> None:
    rng = random.Random(1)
    days = [24 * day for day in range(56) if day % 7 < 5]
    assert told([day + rng.uniform(9, 17) for day in days for _ in range(20)]) == []


@pytest.mark.parametrize("days", [60, 66, 75, 300])
def test_who_comes_back_after_months_is_back(days: int) -> None:
    # Three a day for five weeks: at the latest after a week of silence somebody was told.
    habit = [24 * day + hour for day in range(35) for hour in (18, 18.1, 18.2)]
    back = 24 * (34 + days) + 18
    assert told([*habit, back]) == [("low", back)]


def test_an_absence_of_two_days_is_no_more_than_worth_knowing() -> None:
    habit = [24 * day + 18 + k / 60 for day in range(20) for k in range(20)]
    assert told([*habit, habit[-1] + 48]) == [("low", round(habit[-1] + 48, 2))]
    assert told([*habit, habit[-1] + 47.99]) == []
