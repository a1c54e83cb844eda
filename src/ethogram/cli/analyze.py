"""`ethogram analyze`: events in, detections out."""

from __future__ import annotations

from typing import Annotated

import typer

from .inputs import AsJson, Asked, AsOf, Config, Parameters, Paths, Scorers, SkipBad, Source
from .output import write_json

FOUND = 3
"""The exit code where something at or above --fail-on was found."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("analyze")(analyze)


def analyze(
    paths: Paths,
    as_json: AsJson = False,
    patterns: Annotated[
        list[str],
        typer.Option(
            "--patterns",
            metavar="SELECTOR",
            help="A pattern's name, a glob of names, a file or a folder; repeatable.",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    as_of: AsOf = "",
    fail_on: Annotated[
        str, typer.Option(metavar="LEVEL", help="Exit 3 on a detection at or above low, medium, ...")
    ] = "",
    skip_bad: SkipBad = False,
    source: Source = "",
    scorers: Scorers = [],  # noqa: B006
    config: Config = "",
    parameters: Parameters = [],  # noqa: B006
    insufficient: Annotated[
        bool, typer.Option("--insufficient", help="List every history with too little data, not only counts.")
    ] = False,
) -> None:
    """Look for patterns in files of events."""
    from ethogram.modes.analyze import analyze_batch, load_library

    from .progress import Progress
    from .report import Report
    from .text import plural

    asked = Asked(paths, as_of, config, source, skip_bad, scorers, parameters, fail_on, as_json)
    moment, settings = asked.moment(), asked.settings()
    library = load_library(patterns or None, settings)
    progress = Progress()
    batch = asked.read(library, settings, progress)
    with progress.checking(
        f"checking {plural(len(batch.events), 'event')} for {plural(len(library), 'pattern')}"
    ):
        analysis = analyze_batch(batch, library, as_of=moment, settings=settings)
    # Nothing was written so far, so that whoever is interrupted has all or nothing.
    if as_json:
        for record in analysis.to_dicts():
            write_json(record)
    else:
        Report(analysis, library, batch, all_insufficient=insufficient).write()
    if settings.fail_on is not None and analysis.at_or_above(settings.fail_on):
        raise typer.Exit(FOUND)
