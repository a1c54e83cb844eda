"""Who acted on whom, which indicators subjects show, and what several have in common."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import distinct, func, select, tuple_

from ..models import is_indicator_name, moment
from . import schema
from .events import EVENTS, ORDER, SOURCES, SUBJECTS
from .records import LinkRow, SharedRow, ShownRow
from .sql import READ_AHEAD, Sql, run


class Links(Sql):
    """What subjects have to do with each other."""

    def links(self, subject: str | None = None, target: str | None = None) -> list[LinkRow]:
        """Events with a target, counted by source, subject, target and kind."""
        values = {"subject": subject, "target": target}
        chosen = {name: value for name, value in values.items() if value is not None}
        columns = {"subject": "u.name", "target": "e.target"}
        where = "".join(f" AND {columns[name]} = :{name}" for name in chosen)
        query = f"""SELECT o.name, u.name, e.target, e.kind, count(*), min(e.at_us), max(e.at_us)
          FROM events e JOIN subjects u ON u.key = e.subject JOIN sources o ON o.key = e.source
          WHERE e.target IS NOT NULL{where}
          GROUP BY o.name, u.name, e.target, e.kind ORDER BY o.name, u.name, e.target, e.kind"""
        with self.reading() as connection:
            rows = run(connection, query, **chosen).all()
            return [LinkRow(*row[:5], moment(row[5]), moment(row[6])) for row in rows]

    def shown(self) -> list[ShownRow]:
        """The indicators of each subject, with number, first time and highest score."""
        # One name may have several scorers on an event.
        query = """SELECT o.name, u.name, r.signal, count(DISTINCT e.key), min(e.at_us), max(r.number)
          FROM all_readings r JOIN events e ON e.key = r.event
          JOIN subjects u ON u.key = e.subject JOIN sources o ON o.key = e.source
          WHERE substr(r.signal, 4, 1) = '_' AND r.signal = upper(r.signal) AND r.number > 0
          GROUP BY o.name, u.name, r.signal ORDER BY o.name, u.name, r.signal"""
        with self.reading() as connection:
            rows = [row for row in run(connection, query).all() if is_indicator_name(row[2])]
            return [ShownRow(*row[:4], moment(row[4]), row[5]) for row in rows]

    def shared(self, by: str) -> Iterator[SharedRow]:
        """Events whose target or text another subject's have too, by source, value and time."""
        column = {"target": EVENTS.target, "text": EVENTS.text}[by]
        common = (
            select(EVENTS.source, column)
            .where(column.is_not(None))
            .group_by(EVENTS.source, column)
            .having(func.count(distinct(EVENTS.subject)) > 1)
        )
        query = (
            select(SOURCES.name, column, SUBJECTS.name, EVENTS.id, EVENTS.at_us)
            .join(schema.subjects, SUBJECTS.key == EVENTS.subject)
            .join(schema.sources, SOURCES.key == EVENTS.source)
            .where(tuple_(EVENTS.source, column).in_(common))
            .order_by(SOURCES.name, column, *ORDER)
        )
        with self.reading() as connection:
            for row in connection.execution_options(yield_per=READ_AHEAD).execute(query):
                yield SharedRow(*row[:4], moment(row[4]))
