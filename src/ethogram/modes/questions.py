"""Questions: which messages an evaluator is asked about, and what it is shown of their thread and subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..evaluators.prompt import Said
from ..evaluators.protocol import Evaluator, Question
from ..records import Event
from ..scanner.router import PRIOR, SAMPLED, Route, Router
from .subject import signal_contexts

WHOLE = "deep_with_context"
"""The tier that sees what is known of the subject."""
LONGEST_THREAD = 400
"""Earlier messages of a thread that are held for it; a prompt shows fewer."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which messages without a flag are asked about all the same: a share of them, or of all subjects.

    Of a subject that is chosen every message is, so that its history has no holes.
    """

    share: float = SAMPLED
    by: str = "message"


FREE = Sampling(0.15, "subject")
"""Where asking costs nothing."""


def sampling_for(evaluator: Evaluator) -> Sampling:
    """What is sampled unless somebody says otherwise: everything where it was decided before."""
    if evaluator.name == "recorded":
        return Sampling(1.0)
    return Sampling() if evaluator.paid else FREE


class Questioner:
    """Routes events one after the other, and makes a question of each that is worth one."""

    def __init__(self, sampling: Sampling, *, with_threads: bool) -> None:
        self._router = Router(sampling.share, by=sampling.by)
        self._threads: dict[tuple[str, str], list[Said]] = {}
        self._with_threads = with_threads

    def ask(self, event: Event) -> tuple[Route, Question | None]:
        """Where an event goes, and what is asked about it; its subject's history is for later."""
        route = self._router.route(event)
        asked = None
        if route.depth is not None and event.text is not None:
            asked = Question(
                event.source, event.id, event.subject, event.text, route.scan, route.tier, self._before(route)
            )
        if self._with_threads and event.thread is not None and event.text is not None:
            said = self._threads.setdefault((event.source, event.thread), [])
            said.append((event.subject, event.text, route.scan))
            del said[:-LONGEST_THREAD]
        return route, asked

    def _before(self, route: Route) -> tuple[Said, ...]:
        prior, thread = PRIOR.get(route.tier, 0), route.event.thread
        if not prior or not self._with_threads or thread is None:
            return ()
        said = self._threads.get((route.event.source, thread), ())
        return tuple(said if prior < 0 else said[-prior:])


def routed(
    events: Iterable[Event], sampling: Sampling, *, with_threads: bool
) -> Iterator[tuple[Event, Route, Question | None]]:
    """Every event in order, where it goes, and what is asked about it."""
    questioner = Questioner(sampling, with_threads=with_threads)
    for event in events:
        yield event, *questioner.ask(event)


Earlier = Callable[[Question], Sequence[Event]]
"""The subject's events before the one of a question, with the readings they have so far."""
Told = Callable[[Sequence[Event]], Sequence[Any]]
"""What was detected in some events of one subject."""


def with_history(question: Question, own: Sequence[Event], told: Told | None = None) -> Question:
    """The question with what is known of its subject so far: counts, averages, trends, detections."""
    history: dict[str, Any] = {
        "messages": len(own),
        "threads": len({one.thread for one in own if one.thread is not None}),
        "signals": [one.to_dict() for one in signal_contexts(own)],
    }
    if told is not None:
        history["detections"] = list(told(own))
    return replace(question, history=history)
