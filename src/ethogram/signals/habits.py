"""Readings about a person's use of a service, each against the person's own habit: docs/people.md.

They are for events of the kinds that the setting `usage.kinds` names. All of them keep one state between
them, so that a person is remembered once however many are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..records import Event
from .define import Range, Unmeasured, signal
from .options import Options

KINDS = ("usage", "message", "event")
"""Kinds of events that may be a person's activity; the setting `usage.kinds` says which of them are."""
PLAIN = ("usage",)
"""Those that are where nothing is set."""
NUMBER, SURPRISE, CHANGE, SHARE = (0, math.inf), (0, 12), (-12, 12), (0, 1)
Found = Mapping[str, float | Unmeasured]

READINGS: tuple[tuple[str, Range, str], ...] = (
    (
        "quiet_after",
        NUMBER,
        "Seconds until the person counts as gone quiet, if nothing more comes from them.",
    ),
    ("quiet_days", NUMBER, "Days over which the person will then have been quiet."),
    ("quiet_seen", NUMBER, "Messages in these days."),
    ("quiet_usual", NUMBER, "Messages that were to be expected in these days."),
    ("quiet_before", SHARE, "1 where the person counted as gone quiet when the day before closed, else 0."),
    (
        "fewer_after",
        NUMBER,
        "Seconds until the person counts as one with few messages, if nothing more comes.",
    ),
    ("fewer_days", NUMBER, "Days over which messages will then have been few."),
    ("fewer_seen", NUMBER, "Messages in these days."),
    ("fewer_usual", NUMBER, "Messages that were to be expected in these days."),
    ("few_before", SHARE, "1 where messages were few when the day before closed, else 0."),
    ("busy_today", SURPRISE, "How surprising so many messages are on one day, as -log10 of the chance."),
    ("messages_today", NUMBER, "Messages of the person today so far; a day begins at five in the morning."),
    ("usual_today", NUMBER, "Messages to be expected of such a day."),
    (
        "night_shift",
        SURPRISE,
        "How surprising so much activity at night is, as -log10 of the chance in a week.",
    ),
    ("night_share", SHARE, "Share of the newest days' activity that was at night."),
    ("night_share_before", SHARE, "Share of the activity before that was at night."),
    ("zone_confidence", SHARE, "How sure the person's time zone is; 1 where it was given."),
    ("session_trend", CHANGE, "How surprisingly longer (above 0) or shorter the newest sessions are."),
    ("session_minutes", NUMBER, "Minutes of a typical one of the newest sessions."),
    ("session_minutes_before", NUMBER, "Minutes of a typical session before."),
    ("away_surprise", SURPRISE, "How surprising the pause before this session is, of two days or more."),
    ("away_days", NUMBER, "Days of that pause."),
    ("away_ratio", NUMBER, "How many times as long it is as the longest pause of the four weeks before."),
    ("away_missed", NUMBER, "Messages missed in it, by the measure of the quietest week before."),
    ("away_weight", (-12, 12), "log10 of (1 + messages missed) x (pause / longest pause before)."),
    ("away_usual_hours", NUMBER, "Hours of a usual pause of this person."),
    ("length_shift", CHANGE, "How surprisingly longer (above 0) or shorter the newest messages are."),
    ("length_now", NUMBER, "Characters of a typical message of the newest sessions."),
    ("length_before", NUMBER, "Characters of a typical message before."),
)
"""Name, range and meaning of each."""


def measure_all_habits(event: Event, state: Any, options: Options) -> tuple[Found, Any]:
    """Every reading here at an event, by name, and what is now known of the person."""
    # Here and not above: who measures nobody's habits need not wait for it.
    from .people.person import measure_person

    return measure_person(event, state, options)


def usage_kinds(options: Options) -> frozenset[str]:
    """The kinds of events that are a person's activity, by the settings."""
    return frozenset(options.usage.get("kinds", PLAIN))


class _Habit:
    """One reading of a person's habit."""

    scope = "subject"
    start: Any = None
    max_state_bytes = 16_384
    keeps = "person"
    together = staticmethod(measure_all_habits)
    kinds_by = staticmethod(usage_kinds)
    name = ""

    def measure(self, event: Event, state: Any, options: Options) -> tuple[float | Unmeasured | None, Any]:
        """The reading, and what is now known of the person."""
        found, state = measure_all_habits(event, state, options)
        return found.get(self.name), state


for _name, _range, _meaning in READINGS:
    signal(_name, range=_range, kinds=KINDS)(
        type(f"Habit_{_name}", (_Habit,), {"__doc__": _meaning, "__module__": __name__, "name": _name})
    )
