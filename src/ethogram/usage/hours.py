"""Change of hours: activity at hours of the day that a person never used before, whatever their time zone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .clock import SLOTS, hour_of
from .finding import Finding, grade, insufficient
from .night import CLUMPING, active_in, highest_share, share_surprise, split_days
from .settings import Settings
from .summary import Day, Summary, recent_days

NEAR = 2
"""Half-hours either side of a used one that count as used: summer time, and nobody is punctual."""
NEW_SHARE, NEW_WEIGHT = 0.1, 5.0
"""Share of activity at new hours to expect of somebody new, and the half-hours it weighs as."""


def hours_change(state: Summary, today: int, settings: Settings) -> Finding:
    """Whether most of the newest days' activity was at hours that the person had not used before.

    Where nobody knows the time zone this is all that can be said of a move into the night.
    """
    name, new = "hours_change", new_hours(state, today, settings)
    if new is None:
        return insufficient(name, "it needs ten active half-hours and a week before the newest days")
    surprise, share, hours = new
    # Where the clock is known, late_night says whether the new hours are at night.
    medium = math.inf if state.zoned else settings.hours_medium
    severity, strength = grade(surprise, settings.hours_low, medium)
    word, where = "Nothing unusual", ""
    if severity != "none":
        word, where = "Other hours than ever before", f" ({_clock_text(hours)})"
        if not state.zoned:
            where = f" ({_clock_text(hours)} UTC; the time zone is not known)"
    text = f"{word}: {share:.0%} of the newest activity was at hours that were not used before{where}."
    return Finding(name, "ok", share, severity, strength, text, {"share": share, "surprise": surprise})


def new_hours(state: Summary, today: int, settings: Settings) -> tuple[float, float, int] | None:
    """Surprise a week, the share of activity at hours not used before, and these hours as a mask.

    None where too little is known.
    """
    past, spans = split_days([day for day in recent_days(state) if day.day < today], today, settings)
    if not spans:
        return None
    used = _used(past)
    return max(_test(past, used, recent, span, settings) for span, recent in spans)


def _test(
    past: Sequence[Day], used: int, recent: Sequence[Day], span: int, settings: Settings
) -> tuple[float, float, int]:
    """Surprise a week, the share at hours that are not `used`, and these hours as a mask."""
    active, new = active_in(recent), active_in(recent, ~used)
    share, hours = new / active, 0
    for day in recent:
        hours |= day.active & ~used
    if share < settings.hours_share:
        return 0.0, share, hours
    news = _news(past, settings)
    counts = {day.day: day.active.bit_count() for day in news}
    if share <= highest_share([(d.day, d.active.bit_count(), counts.get(d.day, 0)) for d in past], span):
        return 0.0, share, hours
    before, known = active_in(news), active_in(past[-len(news) :]) if news else 0
    clumps = new / CLUMPING, (active - new) / CLUMPING
    prior = NEW_SHARE * NEW_WEIGHT, (1 - NEW_SHARE) * NEW_WEIGHT
    return share_surprise(active, span, clumps, prior, (before, known - before)), share, hours


def _news(past: Sequence[Day], settings: Settings) -> list[Day]:
    """Past days from the second week on, each with only the half-hours that no day before had used."""
    used, news = 0, []
    for day in past:
        if day.day - past[0].day > settings.known_days:
            news.append(day._replace(active=day.active & ~_widened(used)))
        used |= day.active
    return news


def _used(days: Sequence[Day]) -> int:
    """Mask of the half-hours that were used, and those near them."""
    used = 0
    for day in days:
        used |= day.active
    return _widened(used)


def _widened(mask: int) -> int:
    whole = (1 << SLOTS) - 1
    wide = mask
    for step in range(1, NEAR + 1):
        wide |= mask << step | mask >> (SLOTS - step) | mask >> step | mask << (SLOTS - step)
    return wide & whole


def _clock_text(hours: int) -> str:
    """The first and the last hour of a mask, around the longest pause in it.

    >>> _clock_text(1 << 46 | 1 << 47)
    '4:00 to 5:00'
    """
    slots = [slot for slot in range(SLOTS) if hours >> slot & 1]
    pauses = [((slots[i] - slots[i - 1]) % SLOTS or SLOTS, i) for i in range(len(slots))]
    first = max(pauses)[1]
    begin, end = hour_of(slots[first]), hour_of((slots[first - 1] + 1) % SLOTS)
    return " to ".join(f"{int(hour)}:{int(hour % 1 * 60):02d}" for hour in (begin, end))
