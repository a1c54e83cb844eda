"""Late night: the share of activity between two and five on the own clock, against the own habit."""

from __future__ import annotations

from collections.abc import Sequence

from .chance import a_week, beta_at_least, surprise_of
from .clock import SLOTS, infer_zone, night_slots
from .cohort import Cohort
from .finding import Finding, graded, insufficient
from .settings import Settings
from .summary import Day, Summary, read_days

CLUMPING = 1.5
"""Half-hours of one night come together; so many count as one."""
SIZES = (10, 20)
"""Active half-hours that the newest days should hold: tried with both."""
FEWEST = 5
"""Active half-hours that the days looked at must have."""


def late_night(state: Summary, today: int, cohort: Cohort, settings: Settings) -> Finding:
    """Whether a larger share of the newest days' activity was at night than before."""
    days = [one for one in read_days(state) if one.day < today]
    splits = [split for size in SIZES if (split := _split(days, today, size, settings)) is not None]
    if not splits:
        return insufficient("late_night", "ten active half-hours and a week before the newest days")
    clocks, said = [0.0], ""
    if not state.zoned:
        guess = infer_zone(activity(splits[0][0]))
        if guess.confidence < settings.zone_confidence:
            need = f"the time zone is not known (a guess has confidence {guess.confidence:.2f})"
            return insufficient("late_night", need)
        # Summer time may have begun in between, and the guess may be an hour off: it must hold on all three.
        clocks = [guess.hours - 1, guess.hours, guess.hours + 1]
        said = f" (own clock inferred, confidence {guess.confidence:.2f})"
    found = max(_surest(past, recent, clocks, today, cohort, settings) for past, recent in splits)
    surprise, now, before = found
    level, strength = graded(surprise, settings.night_low, settings.night_medium)
    told = f"{now:.0%} of the newest activity was between two and five at night, before {before:.0%}{said}"
    text = f"{'More at night than usual' if level != 'none' else 'Nothing unusual'}: {told}."
    return Finding("late_night", "ok", now - before, level, strength, text, {"share": now, "before": before})


def _surest(
    past: Sequence[Day],
    recent: Sequence[Day],
    clocks: Sequence[float],
    today: int,
    cohort: Cohort,
    settings: Settings,
) -> tuple[float, float, float]:
    """Surprise a week, share now and before, on the clock that makes least of it."""
    usual = clocks[len(clocks) // 2]
    surprise, now, before = min(_compare(past, recent, hours, usual, cohort, settings) for hours in clocks)
    is_more = now - before >= settings.night_rise
    return (a_week(surprise, today - recent[-1].day) if is_more else 0.0), now, before


def _split(
    days: Sequence[Day], today: int, size: int, settings: Settings
) -> tuple[list[Day], list[Day]] | None:
    """The days before, and the newest: three at least, as few as hold so many half-hours; None: too
    little."""
    recent: list[Day] = []
    for day in reversed(days):
        if day.day < today - settings.night_recent or (len(recent) >= 3 and _active(recent) >= size):
            break
        recent.append(day)
    past = list(days[: len(days) - len(recent)])
    if (
        _active(recent) < FEWEST
        or _active(past) < 2 * FEWEST
        or past[-1].day - past[0].day < settings.known_days
    ):
        return None
    return past, recent


def _active(days: Sequence[Day]) -> int:
    return sum(day.active.bit_count() for day in days)


def activity(days: Sequence[Day]) -> list[int]:
    """On how many days each half-hour of the day was active."""
    return [sum(day.active >> slot & 1 for day in days) for slot in range(SLOTS)]


def _compare(
    past: Sequence[Day],
    recent: Sequence[Day],
    hours: float,
    usual_hours: float,
    cohort: Cohort,
    settings: Settings,
) -> tuple[float, float, float]:
    """Surprise, share now, share before: the newest days on one clock, the past on the likeliest."""
    night, usual_night = night_slots(settings.night, hours), night_slots(settings.night, usual_hours)
    of, known = _active(recent), _active(past)
    hits = sum((day.active & night).bit_count() for day in recent)
    before = sum((day.active & usual_night).bit_count() for day in past)
    weight = cohort.night_weight / CLUMPING
    a = cohort.night_share * weight + before / CLUMPING
    b = (1 - cohort.night_share) * weight + (known - before) / CLUMPING
    chance = beta_at_least(hits / CLUMPING, of / CLUMPING, a, b)
    return surprise_of(chance), hits / of, before / known
