"""Calibrating: what confidences have meant in a store, by its verdicts and the counts of those gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..config import Settings
from ..config.settings import learning_in
from ..library.parts import base
from ..records import Detection
from ..risk.calibrate import Calibration, by_pattern, calibrated, probability
from ..risk.reliability import Reliability, Row, reliability
from ..risk.standing import standings
from ..risk.tally import Counts, Slot, hundredths
from ..stores.protocol import Store

Pairs = dict[str, list[tuple[float, bool]]]
"""For each pattern: the confidence of each judged detection, and whether it was right."""


def judged_pairs(store: Store) -> Pairs:
    """What calibration goes by. Every version of a pattern counts: its confidence is the same formula.

    Confidences are taken to the hundredth, as they stay when the verdicts are gone: were they not, the curve
    would move on that day, and somebody's risk could rise without a reason.
    """
    out = settled_pairs(store.verdict_counts())
    said = [one for one in store.verdicts() if one.detection is not None]
    about = {one.id: one for one in store.detections(ids={one.detection for one in said if one.detection})}
    for item, standing in sorted(standings(said).items()):
        if item[1] in about and standing.verdict != "disputed":
            one = about[item[1]]
            out.setdefault(one.pattern, []).append(
                (hundredths(one.confidence) / 100, standing.verdict == "confirmed")
            )
    return {pattern: sorted(pairs) for pattern, pairs in out.items()}


def settled_pairs(counts: Mapping[Slot, Counts]) -> Pairs:
    """The same of verdicts that are gone; their confidences are known to the hundredth."""
    out: Pairs = {}
    for slot, own in sorted(counts.items()):
        if slot.percent >= 0:
            pairs = [True] * own.confirmed + [False] * own.false_alarm
            out.setdefault(slot.pattern, []).extend((slot.percent / 100, true) for true in pairs)
    return out


def stored_calibrations(store: Store) -> dict[str, Calibration]:
    """A calibration for each pattern that has verdicts."""
    return by_pattern(judged_pairs(store))


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What the confidences of one pattern have meant: in groups, and as a curve."""

    pattern: str
    calibration: Calibration
    reliability: Reliability
    minimum: int

    @property
    def is_sufficient(self) -> bool:
        """Whether there are enough verdicts to go by the table; few of them move the curve only a little."""
        return self.reliability.count >= self.minimum

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; `curve` has confidences and probabilities, with straight lines between."""
        found = self.reliability
        told = zip(self.calibration.confidences, self.calibration.probabilities, strict=True)
        return {
            "record": "calibration",
            "pattern": self.pattern,
            "verdicts": found.count,
            "sufficient": self.is_sufficient,
            "brier": round(found.brier, 6),
            "distance": round(found.distance, 6),
            "rows": [self._row(one) for one in found.rows],
            "curve": [[round(one, 6), round(other, 6)] for one, other in told],
        }

    def _row(self, one: Row) -> dict[str, Any]:
        low, high = one.interval
        numbers = {
            "low": one.low,
            "high": one.high,
            "said": one.said,
            "share": one.right / one.count,
            "share_low": low,
            "share_high": high,
            "probability": self.calibration(one.said),
        }
        return {
            "count": one.count,
            "right": one.right,
            **{name: round(value, 6) for name, value in numbers.items()},
        }


def calibrations(store: Store, pattern: str | None, settings: Settings) -> list[Calibrated]:
    """What confidences have meant, for one pattern or for all that have verdicts."""
    minimum, out = learning_in(settings)["accuracy_minimum"], []
    for name, pairs in sorted(judged_pairs(store).items()):
        found = reliability(pairs) if pattern is None or pattern in (name, base(name)) else None
        if found is not None:
            out.append(Calibrated(name, calibrated(pairs), found, minimum))
    return out


def with_probabilities(detections: Iterable[Detection], store: Store, settings: Settings) -> list[Detection]:
    """The detections, each with the probability that its confidence has meant; as they are where calibration
    is off in the settings, or nothing of its pattern was judged."""
    found = list(detections)
    table = stored_calibrations(store) if settings.calibration and found else {}
    return [
        replace(one, probability=round(probability(table, one), 6)) if one.pattern in table else one
        for one in found
    ]
