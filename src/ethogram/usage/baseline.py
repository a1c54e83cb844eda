"""Baseline: what a person's own days and the cohort make likely for the next day, and how far it is off."""

from __future__ import annotations

from collections.abc import Sequence

from ..models.slotted import dataclass
from ..stats import count_at_least, count_at_most, surprise_of
from .clock import WEEK, day_of
from .cohort import Cohort
from .finding import Finding, grade, insufficient
from .settings import Settings
from .summary import DAYS, Summary, read_days

MAX_SILENCE = 365
"""Days of a silence that count."""
BUSY = 2.0
"""Times a usual day above which a day that is not over is tested: less is never far from ordinary."""


@dataclass(frozen=True, slots=True)
class Daily:
    """Events and active half-hours of consecutive closed days, oldest first; `first` numbers the first."""

    first: int
    events: tuple[int, ...]
    active: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.events)


def closed_days(state: Summary, today: int) -> Daily:
    """Every day from the person's first (or the oldest in the summary) to yesterday, empty ones included.

    Of a silence of more than a year, its first year.
    """
    rows = list(read_days(state))
    begin = max(day_of(state.first, state.ahead), rows[-1].day - DAYS + 1) if rows else today
    today = min(today, begin + DAYS + MAX_SILENCE)
    length = max(0, today - begin)
    events, active = [0] * length, [0] * length
    for row in rows:
        if begin <= row.day < today:
            events[row.day - begin] = row.events
            active[row.day - begin] = row.active.bit_count()
    return Daily(begin, tuple(events), tuple(active))


@dataclass(frozen=True, slots=True)
class Expected:
    """The count expected of a day: its mean, and the squared relative spread of the rate."""

    mean: float
    spread: float

    def excess(self, count: int) -> float:
        """-log10 of the chance of so much or more; 0 where the count is not above the mean."""
        return surprise_of(count_at_least(count, self.mean, self.spread)) if count > self.mean else 0.0

    def change(self, count: int) -> float:
        """Signed distance from the middle of such days.

        -log10 of twice the chance of being so far out on that side, where a day just like this one counts
        half: so one event more is a small step everywhere.

        >>> [round(Expected(20, 0.0).change(count), 1) for count in (5, 18, 20, 22, 40)]
        [-4.1, -0.2, 0.0, 0.2, 4.1]
        """
        law = self.mean, self.spread
        up = (count_at_least(count, *law) + count_at_least(count + 1, *law)) / 2
        down = (count_at_most(count, *law) + count_at_most(count - 1, *law)) / 2
        return surprise_of(2 * up) if up < down else -surprise_of(2 * down)


def expect_day(past: Daily, cohort: Cohort, settings: Settings) -> Expected | None:
    """What to expect of the day after these; None: too little is known.

    Gamma-Poisson: the own days, older ones weighing less, with the cohort as prior. The spread is that of
    single days, plus what the estimate of the rate adds, plus the drift of habits. Against the cohort's
    spread the own one weighs as the number of equally weighted days that would tell as much.
    """
    if len(past) < settings.known_days or sum(past.events) < settings.known_events:
        return None
    weights = [0.5 ** ((len(past) - i) / settings.half_life) for i in range(len(past))]
    known = sum(weights)
    total = sum(w * x for w, x in zip(weights, past.events, strict=True))
    mean = (cohort.days * cohort.events_a_day + total) / (cohort.days + known)
    off = sum(w * (x - mean) ** 2 for w, x in zip(weights, past.events, strict=True)) / max(known, 1e-9)
    own = max(0.0, (off - mean) / (mean * mean)) if mean > 0 else 0.0
    alike = known * known / max(sum(w * w for w in weights), 1e-9)
    spread = (cohort.spread_days * cohort.events_spread + alike * own) / (cohort.spread_days + alike)
    averaged = spread * (1 + (known + cohort.days) ** -settings.correlation)
    factor = _weekday_factor(past.active, settings)
    return Expected(max(1e-3, mean * factor), averaged + 1 / max(1.0, total) + settings.drift)


def _weekday_factor(active: Sequence[int], settings: Settings) -> float:
    """How the day after these compares with the average day, by active half-hours; 1 without enough weeks.

    Shrunk to 1 with the weight of two average weekdays.
    """
    weeks, total = len(active) // WEEK, sum(active)
    if weeks < settings.weeks_for_weekdays or total < 5 * weeks:
        return 1.0
    usual = total / len(active)
    same = active[len(active) % WEEK :: WEEK]
    return (2.0 * usual + sum(same)) / ((2.0 + len(same)) * usual)


def frequency(days: Daily, cohort: Cohort, settings: Settings, today: int = 0) -> tuple[Finding, Finding]:
    """frequency_change of a day (-1 to 1, 0 on an ordinary day), and whether that day is a spike.

    The day is the last closed one, or the current one with `today` messages so far where these are a greater
    spike: a day that is not over can have too many, and never too few. A single day with little or nothing is
    never unusual; `withdrawal` looks at several.
    """
    past = Daily(days.first, days.events[:-1], days.active[:-1])
    usual = expect_day(past, cohort, settings)
    usual_today = expect_day(days, cohort, settings) if today else None
    seen = days.events[-1] if days.events else 0
    is_burst = False
    if usual_today is not None and today > BUSY * usual_today.mean:
        before = 0.0 if usual is None else usual.excess(seen)
        is_burst = usual_today.excess(today) >= max(settings.change_low, before)
    if is_burst:
        usual, seen = usual_today, today
    if usual is None:
        known = f"{settings.known_days} closed days with {settings.known_events} events"
        need = f"it needs {known} before the last one"
        return insufficient("frequency_change", need), insufficient("spike", need)
    change, excess = usual.change(seen), usual.excess(seen)
    value = max(-1.0, min(1.0, change / 3))
    details = {"surprise": change, "seen": float(seen), "expected": usual.mean}
    when, whole = ("today so far", " on a whole day") if is_burst else ("on the last whole day", "")
    text = f"{seen} {when}, where {usual.mean:.1f}{whole} were to be expected"
    severity, strength = grade(excess, settings.change_low, settings.spike_medium)
    word = "Nothing unusual" if severity == "none" else "Far more than usual"
    spike = {**details, "surprise": excess}
    return (
        Finding("frequency_change", "ok", value, "none", abs(value), f"Messages: {text}.", details),
        Finding("spike", "ok", max(0.0, value), severity, strength, f"{word}: {text}.", spike),
    )
