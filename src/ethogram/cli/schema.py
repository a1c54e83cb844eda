"""`ethogram schema`: the JSON Schemas of what goes in and comes out."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from .output import write_line


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("schema")(show)


def show(
    name: Annotated[str, typer.Argument(help="Which one; none lists them.", show_default=False)] = "",
) -> None:
    """Show the JSON Schema of an event, a detection, a pattern file, ..."""
    from ..errors import BadUsage, did_you_mean
    from ..schemas import schema, schema_names, schema_summary

    names = schema_names()
    if not name:
        width = max(map(len, names))
        for one in names:
            write_line(f"{one:<{width}}  {schema_summary(one)}")
        return
    if name not in names:
        hint = did_you_mean(name, names) or f"; there are {', '.join(names)}"
        raise BadUsage(f"unknown schema {name!r}{hint}")
    write_line(json.dumps(schema(name), indent=2))
