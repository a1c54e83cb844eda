"""Tally: what is counted of one run while its events come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from math import fsum

from ..records import Detection, Event, rank
from .run_episodes import episode_of, event_ids, seconds_in, whole_number
from .run_lane import lane_of
from .run_record import Agent, Run
from .run_steps import Walked, added, failed_with, has_changed, operation_at, path_of, short

TASK = 200
"""Characters of a task that are shown."""
MOST_FILES = 10_000
"""Changed files of one run that are told apart."""
COSTS = ("tokens", "cost", "duration")

Key = tuple[str, str]
"""A source and a thread."""


class Tally:
    """One run while its events come: those of one subject in order, subjects in any order."""

    def __init__(self, key: Key, found: Iterable[Detection]) -> None:
        self.key, self.found = key, tuple(found)
        self.acts: dict[str, int] = {}
        self.results = self.errors = self.condensations = 0
        self.timed = True
        self._parents: dict[str, str] = {}
        self._firsts: dict[str, tuple[datetime, int, str]] = {}
        self._sums: dict[str, dict[str, float | None]] = {name: {} for name in COSTS}
        self._files: set[str] = set()
        self._span: tuple[datetime, datetime] | None = None
        self._task: tuple[tuple[bool, datetime, int, str], str] | None = None
        self._calls: dict[tuple[str, str], tuple[str, str]] = {}
        self._walked: dict[str, Walked] = {}
        self._wanted = frozenset(event for one in self.found for event in event_ids(one))

    def add(self, event: Event) -> None:
        """One event more."""
        first, last = self._span or (event.at, event.at)
        self._span = (min(first, event.at), max(last, event.at))
        self.timed = self.timed and event.timed
        for name, sums in self._sums.items():
            if (told := event.attributes.get(name)) is not None:
                sums[event.subject] = added(sums.get(event.subject), told)
        self._hear(event)
        if event.kind in ("action", "result"):
            self._count(event)
        elif event.kind == "condensation":
            self.condensations += 1
        if self.found:
            self._walked.setdefault(event.subject, Walked(self._wanted)).add(event)

    def _count(self, event: Event) -> None:
        if event.kind == "action":
            self.acts[event.subject] = self.acts.get(event.subject, 0) + 1
            self._firsts.setdefault(event.subject, event.order)
            if isinstance(parent := event.attributes.get("parent"), str):
                self._parents.setdefault(event.subject, parent)
        else:
            self.results += 1
        operation, path = self._call(event)
        self.errors += failed_with(event, operation) is not None
        if path and has_changed(event, operation) and len(self._files) < MOST_FILES:
            self._files.add(path)

    def _call(self, event: Event) -> tuple[str, str]:
        """The operation and path of an action, or of that a result belongs to: without an id, the last."""
        call = event.attributes.get("call_id")
        key = (event.subject, call if isinstance(call, str) else "")
        made = operation_at(event), path_of(event)
        if event.kind == "action":
            self._calls[key] = self._calls[event.subject, ""] = made
            return made
        known = self._calls.get(key, made)
        if key[1]:
            self._calls.pop(key, None)
        return known

    def _hear(self, event: Event) -> None:
        """What the run is about: its attribute says so, or else the first that a user said."""
        told = event.attributes.get("task")
        stated = isinstance(told, str) and bool(told.strip())
        if not stated and not (event.kind == "message" and event.attributes.get("role") == "user"):
            return
        said, place = told if stated else event.text, (not stated, *event.order)
        if isinstance(said, str) and said.strip() and (self._task is None or place < self._task[0]):
            self._task = (place, short(said, TASK))

    def _sum(self, name: str) -> float | None:
        # Exact, so that the order in which subjects come makes no difference.
        known = [one for one in self._sums[name].values() if one is not None]
        return fsum(known) if known else None

    def run(self) -> Run:
        """The run as it is told."""
        first, last = self._span if self.timed and self._span else (None, None)
        took = self._sum("duration") if first is None or last is None else (last - first).total_seconds()
        run = Run(
            source=self.key[0],
            thread=self.key[1],
            task=self._task[1] if self._task else None,
            agents=tuple(
                Agent(name, self._parents.get(name), self.acts[name])
                for name in sorted(self.acts, key=lambda name: (name in self._parents, self._firsts[name]))
            ),
            results=self.results,
            errors=self.errors,
            changed_files=len(self._files),
            condensations=self.condensations,
            tokens=whole_number(self._sum("tokens")),
            cost=self._sum("cost"),
            seconds=took,
            first_at=first,
            last_at=last,
        )
        return self._with_episodes(run)

    def _with_episodes(self, run: Run) -> Run:
        ours = [one for one in self.found if one.subject in self.acts]
        if not ours:
            return run
        episodes = []
        inside: dict[str, set[int]] = {}
        for one in ours:
            walked = self._walked[one.subject]
            told = episode_of(one, walked)
            steps = range(told.from_step, told.to_step + 1) if told.repeated else ()
            inside.setdefault(one.subject, set()).update(steps)
            took = seconds_in(walked.steps[told.from_step - 1 : told.to_step], timed=self.timed)
            episodes.append(replace(told, seconds=took))
        order = [one.name for one in run.agents]
        episodes.sort(
            key=lambda one: (
                order.index(one.subject),
                one.from_step,
                one.to_step,
                -rank(one.level),
                one.pattern,
            )
        )
        return replace(
            run,
            episodes=tuple(episodes),
            lost_steps=sum(map(len, inside.values())),
            lanes=tuple(lane_of(name, self._walked[name].steps) for name in order if name in inside),
        )
