"""`ethogram signals`: the names a pattern may use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from .inputs import AsJson, Config, load_config
from .output import printable, write_json, write_line

Row = dict[str, Any]
INDICATOR_COLUMNS = ("name", "trait", "dimension", "polarity", "description", "definition")
SIGNAL_COLUMNS = ("name", "kind", "range", "cost", "version", "description")


def register(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="The names a pattern may use.", no_args_is_help=True)
    group.command("list")(list_names)
    # Without a callback, typer would make a group of one command that command itself.
    group.callback()(lambda: None)
    app.add_typer(group, name="signals")


def list_names(
    as_json: AsJson = False,
    indicators: Annotated[
        bool, typer.Option("--indicators", help="The signs an evaluator may find.")
    ] = False,
    attributes: Annotated[bool, typer.Option("--attributes", help="The facts an event may carry.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="The tables of weights.")] = False,
    config: Config = "",
) -> None:
    """List the signals, or with an option the indicators, attributes or tables."""
    listed: list[tuple[bool, Callable[[], Iterator[Row]], Sequence[str]]] = [
        (indicators, indicator_rows, INDICATOR_COLUMNS),
        (attributes, attribute_rows, ("name", "kind", "description")),
        (tables, table_rows, ("name", "entries")),
    ]
    chosen = [(rows(), columns) for asked, rows, columns in listed if asked]
    if not chosen:
        chosen = [(signal_rows(_declared(config)), SIGNAL_COLUMNS)]
    for rows, columns in chosen:
        _write(list(rows), columns, as_json=as_json)


def _declared(config: str) -> Mapping[str, str]:
    return load_config(config).settings.signals


def signal_rows(declared: Mapping[str, str]) -> Iterator[Row]:
    """Every signal by name: measured here, in the catalogue of what scorers supply, or declared.

    `cost` is that of measuring it here: free, cheap or model; supplied ones come with the events.
    """
    from .. import registry
    from ..patterns.catalogue import load_vocabulary, signal_catalogue

    load_vocabulary(declared)  # a declaration that contradicts what is known is an error here too
    found = {name: _signal(name, kind, None, "declared in the settings") for name, kind in declared.items()}
    found |= {
        name: _signal(name, entry.kind, entry.range, entry.description)
        for name, entry in signal_catalogue().items()
    }
    found |= {
        name: _signal(name, one.kind, one.range, one.description, cost=one.cost, version=one.version)
        for name, one in registry.signals.items()
    }
    yield from (found[name] for name in sorted(found))


def _signal(
    name: str, kind: str, allowed: Any, description: str, cost: str = "supplied", version: int | None = None
) -> Row:
    from ..patterns.listing import SignalRow

    return SignalRow(
        name=name,
        kind=kind,
        range=_range(kind, allowed),
        cost=cost,
        version=version,
        description=description,
    ).to_dict()


def _range(kind: str, allowed: Any) -> Any:
    """[low, high] with null for no end; the categories; null for anything."""
    if allowed is None:
        return None
    if kind != "number":
        return list(allowed)
    return [None if math.isinf(end) else end for end in allowed]


def indicator_rows() -> Iterator[Row]:
    """Every indicator in the order of the catalogue, with the line that says by what it is seen."""
    from ..patterns.catalogue import indicator_catalogue
    from ..patterns.listing import IndicatorRow

    for one in indicator_catalogue().values():
        yield IndicatorRow(
            name=one.id,
            trait=one.trait,
            dimension=one.dimension,
            polarity=one.polarity,
            description=one.name.replace("_", " "),
            definition=one.definition,
        ).to_dict()


def attribute_rows() -> Iterator[Row]:
    """Every attribute in the catalogue, by name."""
    from ..patterns.catalogue import attribute_catalogue
    from ..patterns.listing import AttributeRow

    for _, one in sorted(attribute_catalogue().items()):
        yield AttributeRow(name=one.name, kind=one.kind, description=one.description).to_dict()


def table_rows() -> Iterator[Row]:
    """Every table by name, with its numbers."""
    from ..patterns.catalogue import load_tables
    from ..patterns.listing import TableRow

    for name, values in sorted(load_tables().items()):
        yield TableRow(name=name, entries=len(values), values=values).to_dict()


def _write(rows: Sequence[Row], columns: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        for row in rows:
            write_json(row)
        return
    texts = [list(columns), *([_text(name, row) for name in columns] for row in rows)]
    widths = [max(len(line[i]) for line in texts) for i in range(len(columns))]
    for line in texts:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        write_line("  ".join(cells).rstrip())


def _text(name: str, row: Row) -> str:
    value = row.get(name)
    if name == "range":
        return range_text(row["kind"], value)
    return "-" if value is None else printable(str(value))


def range_text(kind: str, allowed: Sequence[Any] | None) -> str:
    """A range in words.

    >>> range_text("number", [0, None]), range_text("category", None), range_text("category", ["a", "b"])
    ('0 or more', 'any', 'a, b')
    """
    from ..signals.base import describe_range

    if allowed is None:
        return "any"
    if kind != "number":
        return printable(describe_range(tuple(allowed)))
    low, high = allowed
    return describe_range((-math.inf if low is None else low, math.inf if high is None else high))
