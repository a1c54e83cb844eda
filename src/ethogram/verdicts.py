"""Verdicts in Python: record verdicts on detections, and read the accuracy of patterns.

>>> import ethogram
>>> ethogram.verdicts.accuracy("love_bombing", store="events.db")  # doctest: +SKIP
[Accuracy(pattern='love_bombing', ...)]

`store` is a path, a URL or an open store.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .app.analyze import moment_of
from .app.judging import accuracy as stored
from .app.judging.risk import opened
from .app.judging.verdicts import NonDetection, VerdictInput, check_verdict, save_verdicts
from .config import Settings
from .config.settings import learning_in
from .models import Detection, Verdict
from .risk.accuracy import Accuracy, Agreement
from .risk.calibration import Reliability

if TYPE_CHECKING:
    from .store import Store


__all__ = ["accuracy", "agreement", "calibration", "probabilities", "record", "second_look"]


def record(
    detection: str | Detection | None,
    verdict: str,
    *,
    store: str | Path | Store,
    by: str,
    why: str = "",
    blind: bool = False,
    at: datetime | str | None = None,
    pattern: str = "",
    subject: str = "",
    first_event: str = "",
    last_event: str = "",
    source: str = "",
    settings: Settings | None = None,
) -> Verdict:
    """Save and return a verdict: `confirmed` or `false_alarm` on a detection or its id.

    For a stretch without a detection it is `missed` or `correct_silence`: `detection` is None, and `pattern`,
    `subject`, `first_event` and `last_event` say which. Later verdicts of the same judge replace earlier
    ones, which stay in the history. `at` defaults to now. BadUsage where the store lacks what is judged.
    """
    now = datetime.now(UTC)
    item: str | NonDetection
    if detection is None:
        item = NonDetection(pattern, subject, first_event, last_event, source)
    else:
        item = detection.id if isinstance(detection, Detection) else detection
    verdict_input = VerdictInput(verdict, by, moment_of(at, "at") or now, item, why, blind)
    with opened(store) as store:
        result = check_verdict(store, verdict_input, settings or Settings(), now=now)
        save_verdicts(store, [result])
    return result


def accuracy(
    pattern: str | None = None,
    *,
    store: str | Path | Store,
    silences: int = 0,
    settings: Settings | None = None,
) -> list[Accuracy]:
    """The accuracy of each version of a pattern (default: all), in order of names and versions.

    `silences` is the number of stretches without a detection, where those judged were drawn from them at
    random: only then is there a lower bound of recall.
    """
    settings = settings or Settings()
    minimum = learning_in(settings)["accuracy_minimum"]
    with opened(store) as store:
        if pattern is not None:
            stored.check_pattern(store, pattern, settings)
        return stored.accuracies(store, pattern, minimum=minimum, silences=silences)


def agreement(pattern: str | None = None, *, store: str | Path | Store, blind: bool = False) -> Agreement:
    """The agreement of judges beyond chance; `blind`: only where later judges did not see the verdicts."""
    with opened(store) as store:
        return stored.judge_agreement(store, pattern, blind=blind)


def second_look(
    judge: str, *, store: str | Path | Store, settings: Settings | None = None
) -> list[Detection]:
    """Detections judged by others that this judge should judge too, without their verdicts."""
    with opened(store) as store:
        return stored.second_judge_queue(store, judge, settings or Settings())


def calibration(
    pattern: str | None = None, *, store: str | Path | Store, settings: Settings | None = None
) -> list[Reliability]:
    """The calibration of the confidences of a pattern (default: all) by verdicts."""
    settings = settings or Settings()
    with opened(store) as store:
        if pattern is not None:
            stored.check_pattern(store, pattern, settings)
        return stored.calibrations(store, pattern, settings)


def probabilities(
    detections: Iterable[Detection], *, store: str | Path | Store, settings: Settings | None = None
) -> list[Detection]:
    """The detections with the `probability` that their confidence stands for, where there are verdicts."""
    with opened(store) as store:
        return stored.with_probabilities(detections, store, settings or Settings())
