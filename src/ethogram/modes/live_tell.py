"""Telling: which detections of a watch anybody hears of, and who is called."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from ..detections.spread_live import Told
from ..records import Detection
from .arrival import Arrivals
from .live_mute import Muter

KEPT = 1_000
Callback = Callable[[Detection], object]
_log = logging.getLogger("ethogram")


class Teller:
    """Knows the chosen patterns, the mutes and the callback. `kept`: detections of patterns under test."""

    def __init__(self, chosen: set[str], muter: Muter, callback: Callback | None) -> None:
        self.muter = muter
        self.kept: deque[Detection] = deque(maxlen=KEPT)
        self.errors: deque[Exception] = deque(maxlen=KEPT)
        self._chosen, self._callback = chosen, callback
        self._counting = Lock()

    def is_told(self, one: Detection) -> bool:
        """Whether a detection is for anybody's ears, mutes aside."""
        return one.pattern in self._chosen and one.status != "test"

    def is_heard(self, one: Detection, arrivals: Mapping[str, Arrivals]) -> bool:
        """Whether a detection is told and not muted; nothing is counted."""
        return self.is_told(one) and self.muter.entry(one, arrivals) is None

    def tell(self, told: Sequence[Told], arrivals: Mapping[str, Arrivals]) -> list[Detection]:
        """Those of the detections that are told, after the callback has had each."""
        found = []
        for _, one in told:
            if not self.is_told(one):
                if one.pattern in self._chosen:
                    self.kept.append(one)
            elif not self.muter.entries or not self._is_muted(one, arrivals):
                found.append(one)
        if self._callback is not None:
            for one in found:
                self._call(self._callback, one)
        return found

    def _is_muted(self, one: Detection, arrivals: Mapping[str, Arrivals]) -> bool:
        with self._counting:
            return self.muter.is_muted(one, arrivals)

    def _call(self, callback: Callback, one: Detection) -> None:
        try:
            callback(one)
        except Exception as error:
            # The watch and the caller of `observe` have nothing to do with it.
            self.errors.append(error)
            _log.exception("a callback failed on detection %s", one.id)
