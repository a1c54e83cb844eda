"""Verdicts in Python: record what people say of detections, and read how often patterns were right.

>>> import ethogram
>>> ethogram.verdicts.accuracy("love_bombing", store="events.db")  # doctest: +SKIP
[Accuracy(pattern='love_bombing', ...)]

`store` is a path, a URL or an open store; times are arguments, and only where none is given is it now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .app import accuracy as calibrating
from .app import accuracy as counted
from .app import verdicts
from .config import Settings
from .config.settings import learning_in
from .errors import BadUsage
from .models import Detection, Verdict, parse_time
from .risk.accuracy import Accuracy
from .risk.agreement import Agreement

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
    """The verdict as it was kept: `confirmed` or `false_alarm` of a detection, by itself or by its id.

    Of a stretch in which nothing was detected it is `missed` or `correct_silence`: then `detection` is None,
    and `pattern`, `subject`, `first_event` and `last_event` say which. Later verdicts of the same judge take
    the place of earlier ones, which stay in the history. BadUsage where the store has no such thing.
    """
    now = datetime.now(UTC)
    of: str | verdicts.Silence
    if detection is None:
        of = verdicts.Silence(pattern, subject, first_event, last_event, source)
    else:
        of = detection.id if isinstance(detection, Detection) else detection
    text = verdicts.Said(verdict, by, _moment(at) or now, of, why, blind)
    with _opened(store) as opened:
        made = verdicts.verdict_of(opened, text, settings or Settings(), now=now)
        verdicts.keep_verdicts(opened, [made])
    return made


def accuracy(
    pattern: str | None = None,
    *,
    store: str | Path | Store,
    silences: int = 0,
    settings: Settings | None = None,
) -> list[Accuracy]:
    """What is known of each version of a pattern (of all, without one), in order of names and versions.

    `silences` is how many stretches without a detection there were, where those judged were drawn from them
    at random: only then is there a lower bound of recall.
    """
    settings = settings or Settings()
    minimum = learning_in(settings)["accuracy_minimum"]
    with _opened(store) as opened:
        if pattern is not None:
            counted.check_pattern(opened, pattern, settings)
        return counted.accuracies(opened, pattern, minimum=minimum, silences=silences)


def agreement(pattern: str | None = None, *, store: str | Path | Store, blind: bool = False) -> Agreement:
    """How far judges agree beyond chance; `blind`: only where later ones were not told what was said."""
    with _opened(store) as opened:
        return counted.agreed(opened, pattern, blind=blind)


def second_look(
    judge: str, *, store: str | Path | Store, settings: Settings | None = None
) -> list[Detection]:
    """Detections that this judge should judge too, drawn from what others judged, without their verdicts."""
    with _opened(store) as opened:
        return counted.to_look_at(opened, judge, settings or Settings())


def calibration(
    pattern: str | None = None, *, store: str | Path | Store, settings: Settings | None = None
) -> list[calibrating.Calibrated]:
    """What the confidences of a pattern (of all, without one) have meant, by verdicts."""
    settings = settings or Settings()
    with _opened(store) as opened:
        if pattern is not None:
            counted.check_pattern(opened, pattern, settings)
        return calibrating.calibrations(opened, pattern, settings)


def probabilities(
    detections: Iterable[Detection], *, store: str | Path | Store, settings: Settings | None = None
) -> list[Detection]:
    """The detections, each with the `probability` that its confidence stands for where there are verdicts."""
    with _opened(store) as opened:
        return calibrating.with_probabilities(detections, opened, settings or Settings())


def _moment(at: datetime | str | None) -> datetime | None:
    """When it was judged: a datetime with a zone, or ISO text."""
    try:
        found = parse_time(at) if isinstance(at, str) else at
    except ValueError as error:
        raise BadUsage(f"at: {error}") from None
    if found is not None and not isinstance(found, datetime):
        raise BadUsage(f"at takes a datetime or ISO text like 2026-01-31T12:00:00Z; here is {at!r:.80}")
    if found is not None and found.tzinfo is None:
        raise BadUsage("at needs a time zone: datetime(..., tzinfo=UTC)")
    return found


@contextmanager
def _opened(store: str | Path | Store) -> Iterator[Store]:
    """The store; one that was opened here is closed again."""
    from .store import open_store

    if not isinstance(store, str | Path):
        yield store
        return
    with open_store(str(store)) as opened:
        yield opened
