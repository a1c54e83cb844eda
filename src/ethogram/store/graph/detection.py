"""Detection inside Neo4j: run the query of a program, and read what it found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ...language.history import CAP
from ...language.program import Program
from ...models import Value, micros
from ..records import Who
from ..sql import in_pieces
from .connection import Graph, Transaction, named_errors
from .programs import Inexpressible, Query, query_of


class HistoryMatches(NamedTuple):
    """Where a program holds in one history: ids of matched events, or of those that opened and closed it.

    `judged`: whether its condition was true or false anywhere; `have`: how many events the history has.
    """

    source: str
    key: tuple[Value, ...]
    have: int
    judged: bool
    matches: tuple[tuple[str | None, ...], ...]


_OTHERS = """UNWIND $who AS who MATCH (:Subject {source: who[0], id: who[1]})-[:SENT]->(m:Message)
  WHERE any(scorer IN m.other_scorers WHERE scorer IN $wanted) RETURN true LIMIT 1"""
"""Whether scores by a wanted scorer are not among the properties of messages: others came first."""


class Inside(Graph):
    """Programs that the server runs itself."""

    def find_inside(
        self,
        program: Program,
        subjects: Iterable[Who],
        *,
        until: datetime,
        scorers: Mapping[str, str] | None = None,
        cap: int = CAP,
    ) -> list[HistoryMatches]:
        """Histories of these subjects in which a program holds, or that it could not judge.

        Raises Inexpressible where Cypher cannot say it, or where numbers are too large for it. A program that
        needs times does not see sources without.
        """
        sources = self.read(lambda tx: dict(tx.run("MATCH (o:Source) RETURN o.name, o.timed")))
        found: list[HistoryMatches] = []
        wanted = sorted(set((scorers or {}).values()))
        for timed in (True, False):
            who = [list(item) for item in subjects if bool(sources.get(item[0])) is timed]
            if not who or (program.timed_only and not timed):
                continue
            query = query_of(program, timed=timed, scorers=scorers, cap=cap)
            for piece in in_pieces(who):
                if wanted and self._has_others(piece, wanted):
                    raise Inexpressible("messages have scores by several scorers")
                found += self._found(query, piece, micros(until))
        return found

    def _has_others(self, who: object, wanted: object) -> bool:
        return bool(self.read(lambda tx: tx.value(_OTHERS, who=who, wanted=wanted)))

    def _found(self, query: Query, who: Sequence[object], until: int) -> list[HistoryMatches]:
        """The histories of subjects; of half of them at a time where the server has too little memory."""
        from neo4j.exceptions import ClientError, TransientError

        def work(tx: Any) -> list[Any]:
            try:
                return Transaction(tx, self.labels).run(query.text, who=who, until=until, **query.values)
            except ClientError as error:
                if "Arithmetic" in (error.code or ""):
                    raise Inexpressible("a number is too large for sums in Cypher") from None
                raise
            except TransientError as error:
                if "OutOfMemory" in (error.code or ""):
                    raise MemoryError from error  # which the driver does not repeat
                raise

        try:
            with named_errors(self.url), self._session() as session:
                rows = session.execute_read(work)
        except MemoryError:
            if len(who) == 1:
                why = "a history needs more memory than the server gives a transaction"
                raise Inexpressible(why) from None
            half = len(who) // 2
            return self._found(query, who[:half], until) + self._found(query, who[half:], until)
        return [
            HistoryMatches(source, tuple(key), have, judged, tuple(map(tuple, matches)))
            for source, key, have, judged, matches in rows
        ]
