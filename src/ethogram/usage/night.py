"""Late night: the share of activity at night (two to five, on the own clock), against the own habit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..stats import beta_binomial_at_least, surprise_of
from .baseline import Cohort
from .clock import SLOTS, infer_zone, night_slots
from .finding import Finding, graded, insufficient, weekly_surprise
from .settings import Settings
from .summary import Day, Summary, recent_days

CLUMPING = 1.5
"""Half-hours of one night come together; so many count as one."""
SPANS = (3, 7, 14)
"""Days that are looked at, the newest closed ones; all are compared with the days before the longest."""
FEWEST = 5
"""Active half-hours that the days looked at must have."""
LOOKS = 2.0
"""How many looks that do not depend on each other one stretch of days is worth: it is looked at anew on every
day, and in several spans. Counted on made-up people whose nights never change."""
PLENTY = 10
UNSURE = 1.9
"""With fewer half-hours than PLENTY, the most that is made of any share of them."""


@dataclass(frozen=True, slots=True)
class Nights:
    """How the newest days compare: surprise a week of so much at night (0: no rise to speak of), its share of
    the activity now (at least, where the clock is a guess) and before, and how sure the own clock is (1: it
    was given)."""

    surprise: float
    share: float
    share_before: float
    confidence: float


def nights_of(state: Summary, today: int, cohort: Cohort, settings: Settings) -> Nights | str:
    """The share of the newest closed days' activity that was at night, against that before; or what is not
    known."""
    days = [day for day in recent_days(state) if day.day < today]
    past, spans = _split(days, today, settings)
    if not spans:
        return "ten active half-hours and a week before the newest days"
    clocks: tuple[float, ...] = (0.0,)
    confidence = 1.0
    if not state.zoned:
        # From the days that are surely before any change; the nights themselves would pull the guess along.
        guess = infer_zone(activity(past))
        confidence = guess.confidence
        if confidence < settings.zone_confidence:
            return f"the time zone is not known (a guess has confidence {confidence:.2f})"
        # Summer time may have begun in between, and the guess may be an hour off: it must hold on all three.
        clocks = (guess.hours - 1, guess.hours, guess.hours + 1)
    found = [_surest(past, recent, span, clocks, cohort, settings) for span, recent in spans]
    return Nights(*max(found), confidence)


def late_night(state: Summary, today: int, cohort: Cohort, settings: Settings) -> Finding:
    """Whether a larger share of the newest days' activity was at night than before."""
    nights = nights_of(state, today, cohort, settings)
    if isinstance(nights, str):
        return insufficient("late_night", nights)
    severity, strength = graded(nights.surprise, settings.night_low, settings.night_medium)
    said = "" if state.zoned else f" (own clock inferred, confidence {nights.confidence:.2f})"
    begin, end = settings.night
    share = f"{nights.share:.0%}" if state.zoned else f"at least {nights.share:.0%}"
    record = (
        f"{share} of the newest activity was between {begin} and {end} o'clock at night, "
        f"before {nights.share_before:.0%}{said}"
    )
    text = f"{'More at night than usual' if severity != 'none' else 'Nothing unusual'}: {record}."
    value = nights.share - nights.share_before
    details = {"share": nights.share, "before": nights.share_before, "confidence": nights.confidence}
    return Finding("late_night", "ok", value, severity, strength, text, details)


def _surest(
    past: Sequence[Day],
    recent: Sequence[Day],
    span: int,
    clocks: Sequence[float],
    cohort: Cohort,
    settings: Settings,
) -> tuple[float, float, float]:
    """Surprise a week, share now and before, on the clock that makes least of it."""
    usual = clocks[len(clocks) // 2]
    shares = [_shares(past, recent, hours, usual, settings) for hours in clocks]
    share, before = min(shares)
    # Most people's nights are as they were: nothing more need be asked of them.
    if share - before < settings.night_rise or share <= _highest(
        past, span, night_slots(settings.night, usual)
    ):
        return 0.0, share, before
    surprise = weekly_surprise(_surprise(past, recent, share, before, cohort), span)
    return surprise if _active(recent) >= PLENTY else min(UNSURE, surprise), share, before


def _split(
    days: Sequence[Day], today: int, settings: Settings
) -> tuple[Sequence[Day], list[tuple[int, list[Day]]]]:
    """The days before, and the newest of each span that has enough of them; no span: too little is known.

    By days and not by what was done in them: one more night then never makes nights before it part of the
    past. Who is not known long enough for the longest span is looked at with shorter ones.
    """
    for longest in sorted(SPANS, reverse=True):
        past = [day for day in days if day.day < today - longest]
        if _active(past) < 2 * FEWEST or past[-1].day - past[0].day < settings.known_days:
            continue
        newest = (
            (span, [day for day in days if day.day >= today - span]) for span in SPANS if span <= longest
        )
        return past, [(span, recent) for span, recent in newest if _active(recent) >= FEWEST]
    return (), []


def _highest(past: Sequence[Day], span: int, night: int) -> float:
    """The largest share at night of any so many days before: what was seen before is no news."""
    highest, begin = 0.0, 0
    active = hits = 0
    for day in past:
        active += day.active.bit_count()
        hits += (day.active & night).bit_count()
        while past[begin].day <= day.day - span:
            active -= past[begin].active.bit_count()
            hits -= (past[begin].active & night).bit_count()
            begin += 1
        if active >= FEWEST:
            highest = max(highest, hits / active)
    return highest


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
    known, weight = _active(past) / CLUMPING, cohort.night_weight / CLUMPING
    a = cohort.night_share * weight + before * known
    b = (1 - cohort.night_share) * weight + (1 - before) * known
    # Each by itself, so that one more half-hour at night never makes it less surprising.
    hits = round(share * _active(recent))
    at_night, else_ = math.ceil(hits / CLUMPING), math.ceil((_active(recent) - hits) / CLUMPING)
    return surprise_of(min(1.0, LOOKS * beta_binomial_at_least(at_night, at_night + else_, a, b)))
