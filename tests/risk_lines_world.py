"""A world of one reading: what lies above a threshold is detected, and what is true lies above another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

import numpy as np

from ethogram.models import Detection
from ethogram.risk.parameter_grid import JudgedItem, period_of
from ethogram.risk.proposal import NoProposal, Proposal
from ethogram.risk.tuning import learn
from risk_makers import NOW, detection

ONE = timedelta(hours=1)
NOW_AT = 0.3
"""The threshold in force."""


def made(number: int, subjects: int = 0) -> Detection:
    """The detection of thing number n; each subject's are far apart."""
    who = f"s{number % subjects}" if subjects else f"s{number}"
    at = NOW + number * 10 * ONE
    return detection(
        f"d{number}",
        subject=who,
        history={"subject": who},
        opened_at=at,
        detected_at=at,
        closed_at=at,
        evidence=(),
    )


def things(
    rng: np.random.Generator,
    n: int,
    now: float,
    right: float,
    *,
    wrong: float = 0.0,
    share: float | None = None,
) -> tuple[np.ndarray, list[JudgedItem]]:
    """Readings above the present threshold, and what judges say: true above the right one, some wrongly.

    `share` of them is true, where it is given; else as many as lie there evenly.
    """
    share = (1 - right) / (1 - now) if share is None else share
    high = rng.random(n) < share
    x = np.where(high, rng.uniform(right, 1, n), rng.uniform(now, right, n))
    true = high ^ (rng.random(n) < wrong)
    return x, [JudgedItem(f"d{i}", bool(t), True, period_of(made(i)), f"s{i}") for i, t in enumerate(true)]


def replayer(x: np.ndarray, other: np.ndarray | None = None, now: float = -1):
    """What is detected with thresholds on the reading, and on another one that means nothing.

    `now` is the one in force on the reading.
    """

    def replay(overlays: Sequence[dict[str, float]]) -> Iterable[list[Detection]]:
        for overlay in overlays:
            found = x > overlay.get("threshold", now)
            if other is not None:
                found &= other > overlay.get("noise", -1)
            yield [made(i) for i in np.flatnonzero(found)]

    return replay


def one_run(
    rng: np.random.Generator,
    n: int = 60,
    *,
    wrong: float = 0.0,
    share: float | None = None,
    right: float | None = None,
    beside: float | None = None,
) -> tuple[float, Proposal | NoProposal]:
    """The right threshold, and what is learned from verdicts where another one is in force.

    A second parameter means nothing, and could be chosen by mistake. With `beside`, the threshold has been
    changed since the verdicts were given, to so far from the right one.
    """
    right = float(rng.uniform(0.6, 0.85)) if right is None else right
    x, judged = things(rng, n, NOW_AT, right, wrong=wrong, share=share)
    now = NOW_AT if beside is None else round(right + beside, 3)
    replay = replayer(x, rng.uniform(0.2, 1, n), now)
    told = learn("p", {"threshold": now, "noise": 0.2}, judged, replay)
    return right, told
