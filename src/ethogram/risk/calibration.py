"""Calibrate: what a pattern calls confidence, as the probability that a detection is right.

The rising steps nearest to the verdicts and to a few imagined ones that lie on the identity. With no
verdicts the confidence stays as it is, with few it moves a little, with many the imagined ones no longer
matter. A switch at some number of verdicts, or a mixture whose weight grows with their number, would do
that too; but then one more false alarm could turn the calibration on, and raise other probabilities. Here
it can only lower them: adding a point below the steps lowers them everywhere or leaves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..models import Detection
from ..stats import Interval, clopper_pearson_high, clopper_pearson_low, isotonic

IMAGINED = 20.0
"""The weight of all imagined verdicts together; 20 was as good as any on five made-up curves."""
PLACES = 21
"""How many places from 0 to 1 they lie at."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A pattern's confidences and the probabilities they stand for, both rising; straight lines between.

    `scores` and `truths` are the verdicts it was made from, in order of confidence.
    """

    confidences: tuple[float, ...]
    probabilities: tuple[float, ...]
    scores: tuple[float, ...] = ()
    truths: tuple[bool, ...] = ()

    def __call__(self, confidence: float) -> float:
        """The probability that a detection of this confidence is right."""
        return float(np.interp(confidence, self.confidences, self.probabilities))

    def interval(self, confidence: float) -> Interval:
        """Where that probability lies in 95 % of all cases, given that it rises with confidence.

        The nearest verdicts at or below this confidence are confirmed at most as often as one at it, the
        nearest at or above at least as often; exact intervals of these two groups are its ends. How many
        is fixed by the number of verdicts alone, so nothing is picked by what was said.
        """
        n = len(self.scores)
        most = max(1, round(n ** (2 / 3)))
        below, above = (
            np.searchsorted(self.scores, confidence, "right"),
            np.searchsorted(self.scores, confidence),
        )
        lower, upper = self.truths[max(0, below - most) : below], self.truths[above : above + most]
        low = clopper_pearson_low(sum(lower), len(lower)) if lower else 0.0
        high = clopper_pearson_high(sum(upper), len(upper)) if upper else 1.0
        return min(low, high), max(low, high)


def calibrated(judged: Iterable[tuple[float, bool]], imagined: float = IMAGINED) -> Calibration:
    """The calibration that (confidence, was it right) pairs amount to."""
    told = sorted((float(score), bool(true)) for score, true in judged)
    places = np.linspace(0.0, 1.0, PLACES)
    scores = np.concatenate([places, [score for score, _ in told]])
    values = np.concatenate([places, [float(true) for _, true in told]])
    weights = np.concatenate([np.full(PLACES, imagined / PLACES), np.ones(len(told))])
    at, where = np.unique(scores, return_inverse=True)
    total = np.bincount(where, weights).astype(float)
    means = np.bincount(where, weights * values) / total
    fitted = np.clip(isotonic(means.tolist(), total.tolist()), 0.0, 1.0)
    return Calibration(
        tuple(at.tolist()),
        tuple(fitted.tolist()),
        tuple(item for item, _ in told),
        tuple(item for _, item in told),
    )


def by_pattern(
    judged: Mapping[str, Sequence[tuple[float, bool]]],
) -> dict[str, Calibration]:
    """A calibration for each pattern that has verdicts."""
    return {pattern: calibrated(pairs) for pattern, pairs in sorted(judged.items()) if pairs}


def probability(calibrations: Mapping[str, Calibration], detection: Detection) -> float:
    """The probability that a detection is right; its confidence where its pattern has no verdicts."""
    known = calibrations.get(detection.pattern)
    return detection.confidence if known is None else known(detection.confidence)
