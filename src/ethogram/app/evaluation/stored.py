"""Scores in a store: messages are scored while their texts are at hand, and the scores are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from ...ingest import Batch, OnDisk
from ...models import Event
from ...models.detection import STANDING
from ...models.slotted import replace
from ...store.records import Store
from ...store.scores import Scored
from .scoring import Evaluate, Evaluated, Key, Paying, readings_in, shown_detections

SAVED_AT_ONCE = 2_000
"""Events whose scores are saved in one commit."""


class StoredSubjects:
    """What a store knows of subjects: their history, and the detections of earlier runs."""

    def __init__(self, store: Store, scorer: str) -> None:
        self._store, self._scorer = store, scorer
        self._last: tuple[Key, list[Event]] | None = None  # questions about one subject often follow

    def events(self, who: Key) -> Sequence[Event]:
        """The stored events of a subject, in order, with scores of this scorer before others."""
        if self._last is None or self._last[0] != who:
            self._last = who, list(self._store.events([who], scorers={"*": self._scorer}))
        return self._last[1]

    def detections(self, who: Key, until: datetime) -> list[dict[str, str]]:
        """The detections of a subject that stood at a moment, as a prompt shows them."""
        stored = self._store.detections(subjects=[who], states=STANDING, parts=False)
        return shown_detections(item for item in stored if item.detected_at <= until)


def score(
    store: Store, gathered: Batch | OnDisk, evaluate: Evaluate, as_of: datetime | None = None
) -> Evaluated:
    """Score the messages of `gathered`, which are in the store, and keep the scores there.

    Messages that the store has scores of by this evaluator are not asked about again. What was answered
    before an interruption is kept too.
    """
    scorer = evaluate.evaluator.scorer
    paying = replace(evaluate.paying or Paying(), known=StoredSubjects(store, scorer))
    before = store.scored_by(scorer)
    evaluated = replace(evaluate, paying=paying, before=before).evaluate(gathered, as_of)
    scored = _scored(gathered.events, evaluated)
    while some := list(islice(scored, SAVED_AT_ONCE)):
        store.add_scores(some)
    return evaluated


def _scored(events: Iterable[Event], evaluated: Evaluated) -> Iterator[Scored]:
    for event in events:
        answer = evaluated.answers.get((event.source, event.id))
        if answer is not None:
            yield Scored(event, readings_in(answer))
