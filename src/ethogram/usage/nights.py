"""Late night: the share of activity between two and five on the own clock, against the own habit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Nights:
    """How the newest days compare: surprise a week of so much at night (0: no rise to speak of), its share of
    the activity now and before, and how sure the own clock is (1: it was given)."""

    surprise: float
    share: float
    share_before: float
    confidence: float


def nights_of(state: Summary, today: int, cohort: Cohort, settings: Settings) -> Nights | str:
    """The share of the newest closed days' activity that was at night, against that before; or what is not
    known."""
    days = [one for one in read_days(state) if one.day < today]
    splits = [split for size in SIZES if (split := _split(days, today, size, settings)) is not None]
    if not splits:
        return "ten active half-hours and a week before the newest days"
    clocks: tuple[float, ...] = (0.0,)
    confidence = 1.0
    if not state.zoned:
        # From the days that are surely before any change; the nights themselves would pull the guess along.
        guess = infer_zone(activity(splits[-1][0]))
        confidence = guess.confidence
        if confidence < settings.zone_confidence:
            return f"the time zone is not known (a guess has confidence {confidence:.2f})"
        # Summer time may have begun in between, and the guess may be an hour off: it must hold on all three.
        clocks = (guess.hours - 1, guess.hours, guess.hours + 1)
    found = [_surest(past, recent, clocks, today, cohort, settings) for past, recent in splits]
    return Nights(*max(found), confidence)


def late_night(state: Summary, today: int, cohort: Cohort, settings: Settings) -> Finding:
    """Whether a larger share of the newest days' activity was at night than before."""
    found = nights_of(state, today, cohort, settings)
    if isinstance(found, str):
        return insufficient("late_night", found)
    level, strength = graded(found.surprise, settings.night_low, settings.night_medium)
    said = "" if state.zoned else f" (own clock inferred, confidence {found.confidence:.2f})"
    begin, end = settings.night
    told = (
        f"{found.share:.0%} of the newest activity was between {begin} and {end} at night, "
        f"before {found.share_before:.0%}{said}"
    )
    text = f"{'More at night than usual' if level != 'none' else 'Nothing unusual'}: {told}."
    value = found.share - found.share_before
    details = {"share": found.share, "before": found.share_before, "confidence": found.confidence}
    return Finding("late_night", "ok", value, level, strength, text, details)


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
    shares = [_shares(past, recent, hours, usual, settings) for hours in clocks]
    least = min(shares)
    # Most people's nights are as they were: nothing more need be asked of them.
    if any(now - before < settings.night_rise for now, before in shares):
        return 0.0, *least
    surprise = min(_surprise(past, recent, now, before, cohort) for now, before in shares)
    return a_week(surprise, today - recent[-1].day), *least


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


def _shares(
    past: Sequence[Day], recent: Sequence[Day], hours: float, usual_hours: float, settings: Settings
) -> tuple[float, float]:
    """The share at night of the newest days on one clock, and of the past on the likeliest."""
    night, usual_night = night_slots(settings.night, hours), night_slots(settings.night, usual_hours)
    hits = sum((day.active & night).bit_count() for day in recent)
    before = sum((day.active & usual_night).bit_count() for day in past)
    return hits / _active(recent), before / _active(past)


def _surprise(
    past: Sequence[Day], recent: Sequence[Day], share: float, before: float, cohort: Cohort
) -> float:
    of, known = _active(recent) / CLUMPING, _active(past) / CLUMPING
    weight = cohort.night_weight / CLUMPING
    a = cohort.night_share * weight + before * known
    b = (1 - cohort.night_share) * weight + (1 - before) * known
    return surprise_of(beta_at_least(share * of, of, a, b))
