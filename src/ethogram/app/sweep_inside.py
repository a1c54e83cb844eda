"""Detection inside the store: which subjects have matches is asked of the server, and only they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ..errors import BadUsage
from ..language.ast import Attribute, Signal
from ..language.program import Program
from ..language.visitor import named
from ..signals import plan
from ..store.graph.detection import Inside
from ..store.graph.programs import Inexpressible, why_not
from ..store.records import Store, SubjectRow, Who


class InsideSearch:
    """Runs programs in the server. `outside` says why others need the events: pattern -> reason."""

    def __init__(
        self, store: Store, programs: Iterable[Program], as_of: datetime, scorers: Mapping[str, str]
    ) -> None:
        if not isinstance(store, Inside):
            raise BadUsage(f"--inside needs a store in Neo4j, and {store.url} is another")
        self.store: Inside = store
        self.as_of, self.scorers = as_of, scorers
        untimed = any(not source.timed for source in store.sources().values())
        self.programs: list[Program] = []
        self.outside: dict[str, str] = {}
        for program in programs:
            if program.is_combination and not (untimed and program.timed_only):
                continue  # it sees detections, and is matched where they are
            if reason := _why_read(program, untimed):
                self.outside[program.name] = reason
            else:
                self.programs.append(program)

    def narrow(self, chunk: Sequence[SubjectRow]) -> tuple[Sequence[SubjectRow], int]:
        """The subjects whose events are to be read, and how many histories of others could not be judged."""
        whose = [row.who for row in chunk]
        matched: set[Who] = set()
        unjudged: list[Who] = []
        for program in self.programs:
            number = program.group_by.index("subject")
            try:
                found = self.store.find_inside(program, whose, until=self.as_of, scorers=self.scorers)
            except Inexpressible as error:
                self.outside[program.name] = str(error)
                continue
            for item in found:
                who = (item.source, str(item.key[number]))
                if item.matches:
                    matched.add(who)
                if not item.judged:
                    unjudged.append(who)
        self.programs = [program for program in self.programs if program.name not in self.outside]
        if self.outside:
            return chunk, 0
        return [row for row in chunk if row.who in matched], sum(who not in matched for who in unjudged)


def measured_signals(program: Program) -> list[str]:
    """The signals of a program that are measured from events when they are read, not stored."""
    names = {*named(program.body, Signal), *named(program.body, Attribute), *program.group_by}
    return [item.name for item in plan(names)]


def _why_read(program: Program, untimed: bool) -> str:
    """Why the events of a program must be read; '' where the server finds its matches."""
    if measured := measured_signals(program):
        return f"{measured[0]} is measured from events"
    if untimed and program.timed_only:
        return "sources without times cannot be judged"
    return why_not(program)
