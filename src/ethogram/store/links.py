"""Who acted on whom, which indicators subjects show, and what several have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..models import is_indicator_name, moment
from .events import ORDER
from .records import LinkRow, SharedRow, ShownRow
from .row_store import Condition, RowStore, in_pieces

LINK = ("source", "subject", "target", "kind")


class Links(RowStore):
    """What subjects have to do with each other."""

    def links(self, subject: str | None = None, target: str | None = None) -> list[LinkRow]:
        """Events with a target, counted by source, subject, target and kind, in that order.

        `subject` and `target` select. Both hold where both are given.
        """
        where: list[Condition] = [("target", "!=", None)]
        where += [
            (name, "=", value)
            for name, value in (("subject", subject), ("target", target))
            if value is not None
        ]
        with self.snapshot() as view:
            rows = view.groups("events", LINK, where, low="at_us", high="at_us")
            return [LinkRow._make((*row[:5], moment(row[5]), moment(row[6]))) for row in rows]

    def shown(self) -> list[ShownRow]:
        """The indicators of each subject: number readings above 0 with the name of one, by any scorer.

        In the order source, subject, indicator.
        A name of an indicator is three capitals, `_`, and capitals or digits (`models.is_indicator_name`).
        """
        found: dict[tuple[str, str, str], list[float]] = {}

        def show(source: str, subject: str, at: int, scores: dict[str, float]) -> None:
            for name, score in scores.items():
                row = found.setdefault((source, subject, name), [0, at, score])
                row[0], row[1], row[2] = row[0] + 1, min(row[1], at), max(row[2], score)

        columns = ("key", "source", "subject", "at_us", "readings")
        with self.snapshot() as view:
            # One name may have several scorers on an event.
            added: dict[int, dict[str, float]] = {}
            for event, signal, number in view.rows(
                "readings", [("number", ">", 0)], columns=("event", "signal", "number")
            ):
                if is_indicator_name(signal):
                    own = added.setdefault(event, {})
                    own[signal] = max(number, own.get(signal, number))
            for key, source, subject, at, text in view.rows(
                "events", [("readings", "contains", "_")], columns=columns
            ):
                scores = _indicators(text)
                for name, number in added.pop(key, {}).items():
                    scores[name] = max(number, scores.get(name, number))
                if scores:
                    show(source, subject, at, scores)
            for piece in in_pieces(sorted(added)):
                where = [("key", "in", list(piece))]
                for key, source, subject, at in view.rows("events", where, columns=columns[:-1]):
                    show(source, subject, at, added[key])
        return [
            ShownRow(*key, int(n), moment(int(at)), score) for key, (n, at, score) in sorted(found.items())
        ]

    def shared(self, by: str) -> Iterator[SharedRow]:
        """Events whose `by` (target or text) events of another subject of the source have too.

        In the order source, value, time, sequence number, id. Events without one are left out.
        """
        with self.snapshot() as view:
            values: dict[str, list[str]] = {}
            last: tuple[str, str] | None = None
            for source, value, *_ in view.groups(
                "events", ("source", by, "subject"), [(by, "!=", None)], order=("source", by)
            ):
                own = values.setdefault(source, [])
                if (source, value) == last and own[-1:] != [value]:
                    own.append(value)
                last = (source, value)
            columns = (by, "subject", "id", "at_us")
            for source, own in values.items():
                for piece in in_pieces(own):
                    where = [("source", "=", source), (by, "in", list(piece))]
                    for value, subject, name, at in view.rows(
                        "events", where, columns=columns, order=(by, *ORDER)
                    ):
                        yield SharedRow(source, value, subject, name, moment(at))


def _indicators(text: str) -> dict[str, float]:
    """The indicators among the readings of an event, as they are stored."""
    found: dict[str, float] = {}
    for name, reading in json.loads(text).items():
        if is_indicator_name(name):
            value = reading["value"] if isinstance(reading, dict) else reading
            if isinstance(value, int | float) and value > 0:
                found[name] = float(value)
    return found
