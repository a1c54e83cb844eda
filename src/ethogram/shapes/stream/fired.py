"""What is told of a sequence that fires, read where it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..program import Program, SequenceProgram
from .captured import Captured
from .chain import Link, Seen, chain, limit_of
from .plan import Ask, Judge, Plan
from .record import CLOSED, Change, Episode
from .rows import Mark, Rows


class Fired:
    """Makes detections of chains. `steps`: of which step each place is; `optionals`: behind each place."""

    def __init__(
        self,
        plan: Plan,
        body: SequenceProgram,
        judge: Judge,
        steps: Sequence[int],
        optionals: Sequence[Sequence[tuple[Ask, int]]],
    ) -> None:
        self.plan, self.body, self.judge = plan, body, judge
        self.steps, self.optionals = steps, optionals
        self.within = limit_of(body.within)

    def change(
        self, program: Program, source: str, key: Any, subject: str, rows: Rows, fired: Link
    ) -> Change:
        """The detection of a chain, read where it fires."""
        places = chain(fired)
        all_: list[list[Captured]] = [[] for _ in self.plan.captures.steps]
        last = list(fired.last)
        evidence: list[tuple[int, str, Mark]] = []
        for i, link in enumerate(places):
            step = self.steps[i]
            seen = [one for one in link.also if self._inside(one, fired, rows.timed)] + [link.seen]
            evidence += [(one.position, self.body.places[i].step, one.mark) for one in seen]
            all_[step] += [one.captured for one in seen]
            for filled, (_, optional) in zip(link.fill, self.optionals[i - 1] if i else (), strict=False):
                if filled is not None:
                    evidence.append((filled.position, self.plan.captures.steps[optional], filled.mark))
                    all_[optional] = [filled.captured]
                    last[optional] = filled.captured
        evidence.sort(key=lambda item: item[:2])
        confidence = self.judge.confidence(rows, last, all_)
        us = fired.seen.mark.us
        return Change(
            CLOSED,
            Episode(
                program, source, key,
                fired=fired.seen.mark,
                first=fired.first.mark.id,
                last=fired.seen.mark.id,
                last_at=us,
                count=len(evidence),
                level=self.judge.level(rows, last, all_),
                confidence=confidence,
                fired_confidence=confidence,
                opened_at=fired.first.mark.us,
                detected_at=us,
                closed_at=us,
                evidence=tuple((step, mark) for _, step, mark in evidence),
                details=self.judge.details(rows, last, all_),
                explanation=self.judge.explanation(rows, subject, last, all_),
            ),
        )  # fmt: skip

    def _inside(self, one: Seen, fired: Link, timed: bool) -> bool:
        events = fired.seen.position - one.position + 1
        return self.within.holds(events, fired.seen.mark.us - one.mark.us, timed)
