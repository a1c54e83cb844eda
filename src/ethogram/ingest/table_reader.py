"""Tables as columns of events: what readers of CSV, Parquet and DataFrames have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .column_reader import ColumnReader, Irregular, Sink
from .errors import BadLine
from .event_columns import MANY_SIGNALS, Column, Readings, thinned
from .event_parser import Rules
from .tables import ATTRIBUTES, OBJECTS, READINGS, Table


class TableReader(ColumnReader):
    """Takes in chunks of a table, column by column; a subclass reads the values of its kind of columns."""

    def __init__(self, source: str, rules: Rules, names: Iterable[str], sink: Sink | None = None) -> None:
        super().__init__(source, rules, sink)
        try:
            self.table = Table.of(list(names), rules.kinds)
        except BadLine:
            raise Irregular from None
        self.strays = dict.fromkeys(self.table.strays.values(), 0)

    def add_columns(self, rows: int, columns: Iterable[Any]) -> None:
        """Add rows by the columns of the table."""
        fields: dict[str, Column] = {}
        readings: dict[str, Readings] = {}
        attributes: dict[str, Sequence[Any]] = {}
        times = None
        is_wide = sum(place.place == READINGS for place in self.table.columns) > MANY_SIGNALS
        for number, (place, column) in enumerate(zip(self.table.columns, columns, strict=True)):
            if place.place == READINGS:
                own = self.reading(place.name, self.readings_of(place.name, column))
                readings[place.name] = thinned(own) if is_wide else own
            elif place.place == ATTRIBUTES:
                attributes[place.name] = self.attributes_of(column)
            elif place.name in OBJECTS:
                raise Irregular
            elif place.name == "at":
                times = self.times_of(column)
            else:
                fields[place.name] = self.field_of(place.name, column)
            if number in self.table.strays:
                self.strays[self.table.strays[number]] += rows - self.count_empty(column)
        if len(readings) > self.rules.limits.readings:
            raise Irregular
        if attributes:
            fields["attributes"] = [
                {name: value for name, value in zip(attributes, row, strict=True) if value is not None}
                or None
                for row in zip(*attributes.values(), strict=True)
            ]
        if self.table.kind is not None:
            fields["kind"] = [self.table.kind] * rows
        self.add_chunk(rows, times, fields, readings)

    def readings_of(self, name: str, column: Any) -> Sequence[Any] | NDArray[np.float64]:
        """Return the values of a signal."""
        raise NotImplementedError

    def attributes_of(self, column: Any) -> Sequence[Any]:
        """Return the values of an attribute."""
        raise NotImplementedError

    def field_of(self, name: str, column: Any) -> Column:
        """Return the values of a field of events."""
        raise NotImplementedError

    def times_of(self, column: Any) -> NDArray[np.int64] | None:
        """Return the times in microseconds, None where there are none."""
        raise NotImplementedError

    def count_empty(self, column: Any) -> int:
        """Return how many cells are empty."""
        raise NotImplementedError
