"""`ethogram spark analyze`: events of Parquet files or tables in, detections out, on a Spark cluster."""

from __future__ import annotations

import json
from typing import Annotated

import click

from .. import spark as spark_
from ..app.analyze import load_library
from ..report.wording import plural, printable
from . import options as o
from .output import Progress, write_line


def analyze(
    source_of: Annotated[
        str, o.opt("Read these Parquet files, or a table of the catalogue.", "--input", metavar="PATH|TABLE")
    ],
    output: Annotated[str, o.opt("Write JSON records into this new folder.", "--output", metavar="DIR")],
    master: Annotated[
        str, o.opt("Run on this cluster (default: as Spark is set up).", "--master", metavar="URL")
    ] = "",
    patterns: o.Patterns = o.NONE,
    as_of: o.AsOf = "",
    fail_on: o.FailOn = "",
    config: o.Config = "",
    source: o.Source = "",
    scorers: o.Scorers = o.NONE,
    run: o.RunOptions = o.NO_RUN,
    parameters: o.Parameters = o.NONE,
    plugins: o.Plugins = o.NONE,
) -> None:
    """Detect patterns in events on Spark; records as of analyze --json."""
    options = o.InputOptions((), as_of, config, source, False, scorers, parameters, fail_on, run=run)
    loaded = options.loaded()
    library = load_library(patterns or None, loaded)
    session = spark_.session(master)
    is_table = "/" not in source_of and session.catalog.tableExists(source_of)
    frame = session.table(source_of) if is_table else spark_.read_parquet(session, source_of)
    with Progress().checking(f"checking for {plural(len(library), 'pattern')} on Spark"):
        analysis = spark_.detect(frame, library, as_of=options.moment(), settings=loaded.settings)
    lines = [(json.dumps(record, ensure_ascii=False),) for record in analysis.to_dicts()]
    session.createDataFrame(lines, "value string").coalesce(1).write.text(output)
    write_line(
        f"{plural(len(analysis), 'detection')} in {plural(analysis.events, 'event')}: {printable(output)}"
    )
    if loaded.settings.fail_on is not None and analysis.at_or_above(loaded.settings.fail_on):
        raise click.exceptions.Exit(o.FAIL)
