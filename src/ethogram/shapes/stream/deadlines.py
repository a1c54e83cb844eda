"""Deadlines: the silences that wait, those of one source in one queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from .track import Track, Watched


class Deadlines:
    """Every history of a silence that waits for its deadline; each stands in its queue at most once."""

    def __init__(self) -> None:
        self.queues: dict[str, list[tuple[int, int, Track, Watched]]] = {}
        self._pushed = 0
        self._dropped: Counter[str] = Counter()

    def wait(self, track: Track, watched: Watched) -> None:
        """See that a deadline is looked at in time."""
        deadline = watched.state.deadline
        if watched.waits is None or watched.waits > deadline:
            watched.waits = deadline
            self._pushed += 1
            queue = self.queues.setdefault(watched.key[0], [])
            heappush(queue, (deadline, self._pushed, track, watched))

    def drop(self, watched: Watched) -> None:
        """Wait no longer for a history that is let go; its place in the queue goes with many others."""
        if watched.waits is None:
            return
        watched.waits, source = None, watched.key[0]
        self._dropped[source] += 1
        queue = self.queues[source]
        if 2 * self._dropped[source] > len(queue):
            queue[:] = [one for one in queue if one[3].waits == one[0]]
            heapify(queue)
            del self._dropped[source]

    def forget(self, source: str) -> None:
        """Let go of a source that no history is left of."""
        self.queues.pop(source, None)
        self._dropped.pop(source, None)

    def passed(self, source: str, us: int) -> Iterator[tuple[Track, Watched]]:
        """The silences of a source whose deadline lies before a moment; they are open from now on."""
        queue = self.queues.get(source)
        while queue and queue[0][0] < us:
            deadline, _, track, watched = heappop(queue)
            if watched.waits != deadline:
                continue
            watched.waits = None
            state = watched.state
            if state.is_early and state.deadline < us:
                track.machine.settle(state, watched.rows)
            if state.deadline is None or state.is_open:
                continue
            if state.deadline >= us:
                self.wait(track, watched)
                continue
            subject = str(watched.key[1 + track.subject])
            state.read = track.machine.read(state, watched.rows, subject)
            state.is_open = True
            yield track, watched

    def sources(self) -> list[str]:
        """Sources with a deadline waiting."""
        return list(self.queues)
