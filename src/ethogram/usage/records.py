"""Records of how people use a service: what is measured, reported and kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from ..fields import Balance, Count, Ratio, RecordStruct, UsageSeverity, UsageStatus, one_of
from ..models.record import decimals
from .cohort import Cohort
from .finding import Finding
from .fusion import Fused
from .helpline import Helpline

Person = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]


class SignalValues(RecordStruct):
    """Everything measured about a person at one time."""

    frequency_change: Balance
    is_late_night: bool
    session_length_trend: Annotated[str, one_of("stable", "increasing", "decreasing")]
    withdrawal_detected: bool
    return_after_absence: bool
    abrupt_termination: bool
    behavioral_score: Ratio
    status: UsageStatus
    parts: Mapping[str, Ratio]
    """The score by cause."""
    cohort: Count
    """The version of the cohort table."""
    signals: Mapping[str, Finding]


class UsageSignalsRecord(RecordStruct):
    """What is unusual about a person at one time."""

    RECORD = "usage_signals"
    FLAT = ("values",)

    subject: str
    as_of: datetime
    values: SignalValues
    fused: Fused | None
    """Only with --score or --crisis."""
    helpline: Helpline | None
    """Only where there is one for the region."""


class NewsFinding(RecordStruct):
    """A finding that is new or has risen."""

    signal: str
    severity: UsageSeverity
    sentence: str


class UsageNews(RecordStruct):
    """A person about whom there is something new to report."""

    RECORD = "usage_news"

    person: Person | None
    subject: str | None
    """The id, where the ids were given."""
    as_of: datetime
    severity: UsageSeverity
    behavioral_score: Ratio
    findings: list[NewsFinding]


class Removed(RecordStruct):
    """What was older than the retention."""

    people: Count
    events: Count


class PeopleByLevel(RecordStruct):
    """How many people, by the highest severity reported."""

    low: Count
    medium: Count


class UsageSweep(RecordStruct):
    """How many people were reported: the last line of a sweep."""

    RECORD = "usage_sweep"

    as_of: datetime
    people: PeopleByLevel
    removed: Removed
    """What was older than the retention."""
    looked_at: Count
    not_judged: Mapping[str, Count]
    """For how many of these people a signal had too little data."""
    helpline: Helpline | None


class UsageRecorded(RecordStruct):
    """What became of the events of files."""

    RECORD = "usage_recorded"

    store: str
    added: Count
    known: Count
    not_by_person: Count
    bad: Count
    too_old: Count
    """Events from before the retention, which were not stored."""
    removed: Removed
    """What was stored before and is older than the retention now."""


class UsageStoreRecord(RecordStruct):
    """What is in a store of people's use."""

    RECORD = "usage_store"
    OMITTED = ("evicted",)

    keep: Annotated[str, one_of("events", "aggregates")]
    retention_days: float
    keys: Count
    people: Count
    events: Count
    looks: Count
    evicted: Count | None = None
    """People that were dropped to stay within the memory; only where there are any."""


class UsageKey(RecordStruct):
    """What became of a key."""

    RECORD = "usage_key"

    what: Annotated[str, one_of("new", "rotate", "catch_up", "check")]
    file: str | None
    keys: Count


class UsagePurge(RecordStruct):
    """What was removed of people's use.

    `clean` is false where another program or a full disk kept old pages from going.
    """

    RECORD = "usage_purge"

    people: Count
    events: Count
    clean: bool


class UsageLook(RecordStruct):
    """Who looked at whom, when, and why."""

    RECORD = "usage_look"

    at: datetime
    what: str
    """`listed` by a sweep that reported them, `refused` for a wrong key, `unknown` where nobody is known."""
    person: Person | None
    """Null where it was nobody in particular, or somebody who was removed since."""
    who: str
    why: str


class UsagePerson(RecordStruct):
    """A person's own data: the head."""

    RECORD = "usage_person"

    person: Person | None
    events: Count
    first_at: datetime | None
    last_at: datetime | None
    clock_ahead: int | None


class UsageEventRecord(RecordStruct):
    """A person's own data: one event that is kept."""

    RECORD = "usage_event"

    at: datetime
    length: int | None
    is_user: bool
    emotional: bool
    closing: bool
    ended_abruptly: bool
    session: str | None
    clock_ahead: int | None


class UsageDay(RecordStruct):
    """A person's own data: one day on their own clock, which begins at five in the morning."""

    RECORD = "usage_day"

    day: str
    events: Count
    active_hours: list[float]


class UsageHalfHour(RecordStruct):
    """A person's own data: one half-hour in which they were active."""

    RECORD = "usage_half_hour"
    DECIMALS = decimals(1, "typical_length")

    first_at: datetime
    last_at: datetime
    events: Count
    typical_length: float | None
    emotional: bool
    closing: bool
    ended_abruptly: bool


class UsageReported(RecordStruct):
    """A person's own data: one finding that was reported about them."""

    RECORD = "usage_told"

    signal: str
    severity: UsageSeverity
    since: datetime
    last: datetime


class UsageCohort(RecordStruct):
    """What is usual among the people of a service."""

    RECORD = "usage_cohort"
    FLAT = ("cohort",)

    cohort: Cohort
    file: str | None
