"""The limits that readings about people go by, as the settings say."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from ...usage.cohort import Cohort, find_cohort
from ...usage.settings import Settings
from ..habits import usage_kinds
from ..options import Options


@dataclass(frozen=True, slots=True)
class Limits:
    """Which kinds of events count, where people live who do not say, and by what they are measured."""

    kinds: frozenset[str]
    time_zone: str | None
    settings: Settings
    cohort: Cohort


_newest: tuple[Options | None, Limits | None] = (None, None)


def limits_of(options: Options) -> Limits:
    """The limits of these options; worked out once for as long as the options are the same."""
    global _newest
    known, limits = _newest
    if limits is None or known is not options:
        limits = _limits(options)
        _newest = (options, limits)
    return limits


def _limits(options: Options) -> Limits:
    names = {one.name for one in fields(Settings)}
    given = {name: value for name, value in options.usage.items() if name in names}
    settings = replace(Settings(), **given, inactivity=options.session_inactivity // 1_000_000)
    cohort = find_cohort(options.usage.get("cohort", 1))
    return Limits(usage_kinds(options), options.time_zone, settings, cohort)
