"""Calibration of confidences by verdicts, and their reliability.

A calibration is the isotonic regression of the verdicts together with a few prior ones on the identity. With
no verdicts the confidence stays as it is, a few move it a little, and many outweigh the prior. A false alarm
can only lower probabilities, since a point added below an isotonic fit lowers it or leaves it; with a switch
at some number of verdicts, or a mixture whose weight grows with it, that would not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..fields import Count, Name, Ratio
from ..models import Detection
from ..models.record import Record, decimals
from ..models.slotted import dataclass
from ..stats import Interval, isotonic, wilson

PRIOR_WEIGHT = 20.0
"""Weight of all prior verdicts; chosen on five simulated curves, where it mattered little."""
PRIOR_POINTS = 21
GROUPS = 10
"""Rows of a reliability table."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Confidences and their probabilities, both rising, with linear interpolation between."""

    confidences: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __call__(self, confidence: float) -> float:
        """The probability that a detection of this confidence is right."""
        return float(np.interp(confidence, self.confidences, self.probabilities))

    @property
    def curve(self) -> tuple[Interval, ...]:
        """Confidences with their probabilities."""
        return tuple(zip(self.confidences, self.probabilities, strict=True))


def calibrate(judged: Iterable[tuple[float, bool]]) -> Calibration:
    """The calibration for (confidence, was it right) pairs."""
    pairs = sorted((float(score), float(truth)) for score, truth in judged)
    prior = np.linspace(0.0, 1.0, PRIOR_POINTS)
    scores, values = (np.concatenate([prior, [pair[i] for pair in pairs]]) for i in (0, 1))
    weights = np.concatenate([np.full(PRIOR_POINTS, PRIOR_WEIGHT / PRIOR_POINTS), np.ones(len(pairs))])
    at, where = np.unique(scores, return_inverse=True)
    total = np.bincount(where, weights).astype(float)
    means = np.bincount(where, weights * values) / total
    fitted = np.clip(isotonic(means.tolist(), total.tolist()), 0.0, 1.0)
    return Calibration(tuple(at.tolist()), tuple(fitted.tolist()))


def probability(calibrations: Mapping[str, Calibration], detection: Detection) -> float:
    """The probability that a detection is right; its confidence where its pattern has no verdicts."""
    calibration = calibrations.get(detection.pattern)
    return detection.confidence if calibration is None else calibration(detection.confidence)


@dataclass(frozen=True, slots=True)
class ReliabilityRow(Record):
    """Detections of about the same confidence: its range and mean (`said`), and how many were right."""

    DECIMALS = decimals(6, "low", "high", "said", "share", "share_low", "share_high", "probability")

    count: Count
    right: Count
    low: Ratio
    high: Ratio
    said: Ratio
    share: Ratio
    share_low: Ratio
    share_high: Ratio
    probability: Ratio


@dataclass(frozen=True, slots=True)
class Reliability(Record):
    """What the confidences of a pattern have meant: in groups, and as a curve.

    `distance` is the expected calibration error; from `minimum` verdicts on they are sufficient.
    """

    RECORD = "calibration"
    JSON = "pattern verdicts sufficient brier distance rows curve"
    DECIMALS = decimals(6, "brier", "distance", "curve")

    pattern: Name
    verdicts: Count
    minimum: int
    brier: Ratio
    distance: Ratio
    rows: tuple[ReliabilityRow, ...]
    """Groups of about equal size: the mean confidence (`said`) and the share that was right."""
    calibration: Calibration

    @property
    def sufficient(self) -> bool:
        return self.verdicts >= self.minimum

    @property
    def curve(self) -> tuple[Interval, ...]:
        return self.calibration.curve


def reliability(pairs: Sequence[tuple[float, bool]], pattern: str, minimum: int) -> Reliability:
    """The table of one or more (confidence, was it right) pairs, in groups of about equal size.

    Equal confidences stay in one group, so there may be fewer groups.
    """
    scores = np.array([score for score, _ in pairs], dtype=float)
    right = np.array([truth for _, truth in pairs], dtype=float)
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, GROUPS + 1)[1:-1], method="lower"))
    group = np.searchsorted(edges, scores, side="left")
    calibration, rows = calibrate(pairs), []
    for number in np.unique(group):
        own, hits = scores[group == number], int(right[group == number].sum())
        low, high, mean = float(own.min()), float(own.max()), float(own.mean())
        share, interval = hits / len(own), wilson(hits, len(own))
        rows.append(ReliabilityRow(len(own), hits, low, high, mean, share, *interval, calibration(mean)))
    distance = sum(abs(row.said - row.share) * row.count for row in rows) / len(pairs)
    brier = float(((scores - right) ** 2).mean())
    return Reliability(pattern, len(pairs), minimum, brier, distance, tuple(rows), calibration)
