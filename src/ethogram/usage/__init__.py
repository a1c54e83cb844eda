"""How a person uses a service: a bounded summary, and what changed against the person's own habit.

    state = record(Summary(), at=..., length=120)      # in any order
    answer = signals(state, as_of=...)                 # eight signals, each with a status and a sentence

No content is needed or stored. Nothing here diagnoses anybody; it tells a human that something changed.
"""

from __future__ import annotations

from .cohort import COHORTS, Cohort, learn_cohort
from .fusion import Fused, fuse
from .helpline import Helpline, helpline
from .settings import Settings
from .signals import UsageSignals, signals
from .summary import Summary, record

__all__ = [
    "COHORTS",
    "Cohort",
    "Fused",
    "Helpline",
    "Settings",
    "Summary",
    "UsageSignals",
    "fuse",
    "helpline",
    "learn_cohort",
    "record",
    "signals",
]
