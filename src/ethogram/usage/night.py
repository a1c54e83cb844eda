"""Late night: the share of activity at night (two to five on the own clock), against the own habit.

Where no time zone is given, one is inferred.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..stats import beta_binomial_at_least, surprise_of
from .clock import SLOTS, hour_of, night_slots
from .cohort import Cohort
from .finding import Finding, grade, insufficient, weekly_surprise
from .settings import Settings
from .summary import Day, Summary, recent_days

CLUMPING = 1.5
"""Half-hours of one night come together; so many count as one."""
SPANS = (3, 7, 14)
"""Numbers of newest closed days that are tested; all are compared with the days before the longest."""
MIN_ACTIVE = 5
"""Active half-hours that the tested days must have."""
LOOKS = 2.0
"""Independent looks that one stretch of days is worth: it is tested on every day, and in several spans.
Counted on simulated people whose nights never change."""
ENOUGH_ACTIVE = 10
MAX_UNSURE = 1.9
"""With fewer half-hours than ENOUGH_ACTIVE, the highest surprise."""
SLEEP_CENTRE = 5.5
"""People are least active around half past five: the middle of the quietest seven hours in public chat."""
SLEEP_HOURS = 7
MAX_CONFIDENCE = 0.95
"""Confidence of an inferred time zone at most."""
ENOUGH_KNOWN = 40
"""Active half-hours from which an inferred time zone has its full confidence."""


class Nights(NamedTuple):
    """Newest days against those before: surprise a week of so much at night (0: no relevant rise), its share
    of the activity now (at least, where the zone is inferred) and before, and the zone's confidence."""

    surprise: float
    share: float
    share_before: float
    confidence: float


def nights_of(state: Summary, today: int, cohort: Cohort, settings: Settings) -> Nights | str:
    """Compare the share at night of the newest closed days with that before; or say what is missing."""
    days = [day for day in recent_days(state) if day.day < today]
    past, spans = split_days(days, today, settings)
    if not spans:
        return "it needs ten active half-hours and a week before the newest days"
    clocks: tuple[float, ...] = (0.0,)
    confidence = 1.0
    if not state.zoned:
        # Only from the days before any change: the nights themselves would pull the guess along.
        ahead, confidence = infer_zone(past)
        if confidence < settings.zone_confidence:
            return f"the time zone is not known (a guess has confidence {confidence:.2f})"
        # Summer time may have begun in between, and the guess may be an hour off: it must hold on all three.
        clocks = (ahead - 1, ahead, ahead + 1)
    tests = [_test(past, recent, span, clocks, cohort, settings) for span, recent in spans]
    nights = Nights(*max(tests), confidence)
    if not state.zoned and nights.surprise < settings.night_low:
        # Whoever is active for few hours may be asleep at any of the others.
        others = [
            _test(past, recent, span, (hours,), cohort, settings)
            for hours in possible_zones(past)
            for span, recent in spans
            if _share(recent, hours, settings) >= settings.night_rise
        ]
        surprise, share, _ = max(others, default=(0.0, 0.0, 0.0))
        if surprise >= settings.night_low:
            return f"the time zone is not known, so {nights.share:.0%} to {share:.0%} may have been at night"
    return nights


def late_night(state: Summary, today: int, cohort: Cohort, settings: Settings) -> Finding:
    """Whether a larger share of the newest days' activity was at night than before."""
    nights = nights_of(state, today, cohort, settings)
    if isinstance(nights, str):
        return insufficient("late_night", nights)
    severity, strength = grade(nights.surprise, settings.night_low, settings.night_medium)
    begin, end = settings.night
    word = "Nothing unusual" if severity == "none" else "More at night than usual"
    bound = "" if state.zoned else "at least "
    clock = "" if state.zoned else f" (own clock inferred, confidence {nights.confidence:.2f})"
    text = (
        f"{word}: {bound}{nights.share:.0%} of the newest activity was between {begin} and {end} o'clock at "
        f"night, before {nights.share_before:.0%}{clock}."
    )
    details = {"share": nights.share, "before": nights.share_before, "confidence": nights.confidence}
    return Finding("late_night", "ok", nights.share - nights.share_before, severity, strength, text, details)


def split_days(
    days: Sequence[Day], today: int, settings: Settings
) -> tuple[Sequence[Day], list[tuple[int, list[Day]]]]:
    """The days before, and the newest of each span with enough activity; no span: too little is known.

    Cut by days and not by activity: one more night then never moves nights before it into the past. A person
    who is not known long enough for the longest span is tested with shorter ones.
    """
    for longest in sorted(SPANS, reverse=True):
        past = [day for day in days if day.day < today - longest]
        if active_in(past) < 2 * MIN_ACTIVE or past[-1].day - past[0].day < settings.known_days:
            continue
        newest = [
            (span, [day for day in days if day.day >= today - span]) for span in SPANS if span <= longest
        ]
        return past, [(span, recent) for span, recent in newest if active_in(recent) >= MIN_ACTIVE]
    return (), []


def _test(
    past: Sequence[Day],
    recent: Sequence[Day],
    span: int,
    clocks: Sequence[float],
    cohort: Cohort,
    settings: Settings,
) -> tuple[float, float, float]:
    """Surprise a week, share now and before, on the clock with the smallest share now."""
    usual_night = night_slots(settings.night, clocks[len(clocks) // 2])
    active, before = active_in(recent), active_in(past, usual_night) / active_in(past)
    share = min(_share(recent, hours, settings) for hours in clocks)
    # What was seen before is not news.
    at_night = [(day.day, day.active.bit_count(), (day.active & usual_night).bit_count()) for day in past]
    if share - before < settings.night_rise or share <= highest_share(at_night, span):
        return 0.0, share, before
    # Each rounded by itself, so that one more half-hour at night never makes it less surprising.
    hits = round(share * active)
    clumps = math.ceil(hits / CLUMPING), math.ceil((active - hits) / CLUMPING)
    prior = cohort.night_share * cohort.night_weight, (1 - cohort.night_share) * cohort.night_weight
    known = before * active_in(past), (1 - before) * active_in(past)
    return share_surprise(active, span, clumps, prior, known), share, before


def share_surprise(
    active: int,
    span: int,
    clumps: tuple[float, float],
    prior: tuple[float, float],
    known: tuple[float, float],
) -> float:
    """Surprise a week of a share of `active` half-hours in `span` days.

    `clumps` are those inside and outside; `prior` and `known` are half-hours that count as seen before.
    """
    a, b = (prior[i] / CLUMPING + known[i] / CLUMPING for i in (0, 1))
    chance = min(1.0, LOOKS * beta_binomial_at_least(clumps[0], sum(clumps), a, b))
    surprise = weekly_surprise(surprise_of(chance), span)
    return surprise if active >= ENOUGH_ACTIVE else min(MAX_UNSURE, surprise)


def _share(days: Sequence[Day], hours: float, settings: Settings) -> float:
    """The share at night where the own clock is so many hours ahead."""
    return active_in(days, night_slots(settings.night, hours)) / active_in(days)


def highest_share(past: Sequence[tuple[int, int, int]], span: int) -> float:
    """The largest share of any `span` days; `past` has day, active half-hours and those that count."""
    highest, begin = 0.0, 0
    active = hits = 0
    for day, own_active, own_hits in past:
        active, hits = active + own_active, hits + own_hits
        while past[begin][0] <= day - span:
            active, hits = active - past[begin][1], hits - past[begin][2]
            begin += 1
        if active >= MIN_ACTIVE:
            highest = max(highest, hits / active)
    return highest


def active_in(days: Sequence[Day], slots: int = -1) -> int:
    """Active half-hours of days, of these slots."""
    return sum((day.active & slots).bit_count() for day in days)


def infer_zone(days: Sequence[Day]) -> tuple[float, float]:
    """Infer a time zone from the quietest seven hours of days in UTC.

    Returns the hours that the own clock is probably ahead of the recorded one, and the confidence: how much
    emptier these hours are than chance leaves them, times how much is known. A night-shift worker is placed
    wrongly, so an inferred zone only serves to compare a person with their own past.
    """
    total = active_in(days)
    if total <= 0:
        return 0.0, 0.0
    starts, low = _quietest(days)
    # The middle of all starts that are as quiet: a long empty stretch is taken in its middle.
    emptiness = max(0.0, 1 - low / total / (SLEEP_HOURS / 24))
    return round(_ahead(_middle(starts))), min(MAX_CONFIDENCE, emptiness * min(1.0, total / ENOUGH_KNOWN))


def possible_zones(days: Sequence[Day]) -> list[float]:
    """Hours that the own clock may be ahead where each of the quietest stretches of days may be the sleep."""
    return sorted({float(round(_ahead(start))) for start in _quietest(days)[0]})


def _quietest(days: Sequence[Day]) -> tuple[list[int], int]:
    """Slots at which the quietest seven hours begin, all that are as quiet, and their active half-hours."""
    activity = [sum(day.active >> slot & 1 for day in days) for slot in range(SLOTS)]
    width = SLEEP_HOURS * 2
    sums = [sum(activity[(start + i) % SLOTS] for i in range(width)) for start in range(SLOTS)]
    low = min(sums)
    return [i for i, value in enumerate(sums) if value <= low + 0.01 * sum(activity)], low


def _ahead(start: float) -> float:
    """Hours that the own clock is ahead where sleep begins at a slot."""
    centre = (hour_of(int(start) % SLOTS) + (start % 1) / 2 + SLEEP_HOURS / 2) % 24
    return (SLEEP_CENTRE - centre + 12) % 24 - 12


def _middle(slots: Sequence[int]) -> float:
    """The middle of the longest run of slots around the day."""
    runs = []
    for first in slots:
        if (first - 1) % SLOTS not in slots or len(slots) == SLOTS:
            length = 0
            while (first + length) % SLOTS in slots and length < SLOTS:
                length += 1
            runs.append((length, -first))
    length, first = max(runs)
    return (-first + (length - 1) / 2) % SLOTS
