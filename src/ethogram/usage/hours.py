"""Change of hours: activity at hours of the day that a person never used before, whatever their time zone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..stats import beta_binomial_at_least, surprise_of
from .clock import SLOTS, hour_of
from .finding import Finding, grade, insufficient, weekly_surprise
from .night import CLUMPING, ENOUGH_ACTIVE, LOOKS, MAX_UNSURE, MIN_ACTIVE, active_in, split_days
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
        return insufficient(name, "ten active half-hours and a week before the newest days")
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
    if share <= _highest(past, news, span):
        return 0.0, share, hours
    before, known = active_in(news), active_in(past[-len(news) :]) if news else 0
    a = (NEW_SHARE * NEW_WEIGHT + before) / CLUMPING
    b = ((1 - NEW_SHARE) * NEW_WEIGHT + known - before) / CLUMPING
    tail = beta_binomial_at_least(new / CLUMPING, active / CLUMPING, a, b)
    surprise = weekly_surprise(surprise_of(min(1.0, LOOKS * tail)), span)
    return surprise if active >= ENOUGH_ACTIVE else min(MAX_UNSURE, surprise), share, hours


def _news(past: Sequence[Day], settings: Settings) -> list[Day]:
    """Past days from the second week on, each with only the half-hours that no day before had used."""
    used, news = 0, []
    for day in past:
        if day.day - past[0].day > settings.known_days:
            news.append(day._replace(active=day.active & ~_widened(used)))
        used |= day.active
    return news


def _highest(past: Sequence[Day], news: Sequence[Day], span: int) -> float:
    """The largest share at new hours of any `span` days before."""
    active = {day.day: day.active.bit_count() for day in past}
    new = {day.day: day.active.bit_count() for day in news}
    shares = [0.0]
    for last in new:
        window = range(last - span + 1, last + 1)
        if (total := sum(active.get(day, 0) for day in window)) >= MIN_ACTIVE:
            shares.append(sum(new.get(day, 0) for day in window) / total)
    return max(shares)


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
