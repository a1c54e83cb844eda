"""`ethogram bucket` and `ethogram merge`: split events once, and join what was found in shares of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import click

from ..app import buckets as shares
from ..app.analyze import load_library, with_excerpts
from ..app.mute import mute
from ..app.runs import run_report
from ..config import Settings
from ..errors import BadUsage
from ..patterns.library import Library
from ..report.text import analysis_parts
from ..report.wording import plural, printable
from . import options as o
from .output import Progress, show, write_json, write_line


def bucket(
    path: Annotated[str, o.arg("Read this file or folder; - is standard input.", "INPUT")],
    out: Annotated[str, o.arg("Write this new folder.", "OUT")],
    buckets: Annotated[int, o.opt("Split into N buckets.", min=1, max=shares.MOST_BUCKETS, metavar="N")] = 16,
    patterns: o.Patterns = o.NONE,
    skip_bad: o.SkipBad = False,
    config: o.Config = "",
    source: o.Source = "",
    scorers: o.Scorers = o.NONE,
    run: o.RunOptions = o.NO_RUN,
    parameters: o.Parameters = o.NONE,
    plugins: o.Plugins = o.NONE,
) -> None:
    """Split events into Parquet files by subject, for analyze --bucket."""
    options = o.InputOptions([path], "", config, source, skip_bad, scorers, parameters, run=run)
    loaded = options.loaded()
    settings, library = loaded.settings, load_library(patterns or None, loaded)
    progress = Progress()
    gathered = options.gather(library, settings, progress, multiple=buckets)
    with o.held(gathered), progress.checking(f"splitting {plural(len(gathered.events), 'event')}"):
        manifest = shares.bucket(gathered, library, settings, out, buckets)
    write_line(
        f"{plural(manifest.events, 'event')} in {plural(manifest.files, 'bucket')}: {printable(out)}"
        + (f"; measured across subjects: {', '.join(manifest.measured)}" if manifest.measured else "")
    )


def analyze_bucket(
    paths: Sequence[str],
    library: Library,
    settings: Settings,
    bucket: str,
    output: str,
    *,
    as_of: datetime | None,
    jobs: int | None,
) -> None:
    """Analyse a share of a folder of buckets, and write what was found."""
    if not (bucket and output and len(paths) == 1):
        raise click.BadParameter("--bucket K/N needs one folder of buckets and --output FILE")
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", bucket)
    if match is None:
        raise BadUsage(f"invalid --bucket {bucket!r:.40}: expected K/N, like 1/16")
    share = shares.analyze_share(
        paths[0],
        library,
        settings,
        share=int(match[1]),
        of=int(match[2]),
        output=output,
        as_of=as_of,
        workers=jobs,
    )
    write_line(
        f"{plural(share.detections, 'detection')} in {plural(share.events, 'event')}: {printable(output)}"
    )


def merge(
    paths: Annotated[list[str], o.arg("Join these files of analyze --bucket.", "DETECTIONS")],
    patterns: o.Patterns = o.NONE,
    events: Annotated[
        str, o.opt("Find the buckets in DIR (default: where they were).", "--events", metavar="DIR")
    ] = "",
    as_of: o.AsOf = "",
    fail_on: o.FailOn = "",
    as_json: o.AsJson = False,
    verbose: o.Verbose = False,
    excerpts: o.Excerpts = False,
    config: o.Config = "",
    scorers: o.Scorers = o.NONE,
    muted: Annotated[bool, o.opt("Show muted detections too.", "--muted", panel=o.OUTPUT)] = False,
    insufficient: Annotated[
        bool, o.opt("List every history with insufficient data.", "--insufficient", panel=o.OUTPUT)
    ] = False,
    run: o.RunOptions = o.NO_RUN,
    parameters: o.Parameters = o.NONE,
    plugins: o.Plugins = o.NONE,
) -> None:
    """Join detections of all buckets, and detect what spans subjects."""
    options = o.InputOptions((), as_of, config, "", False, scorers, parameters, fail_on, as_json, run)
    moment, loaded = options.moment(), options.loaded()
    library = load_library(patterns or None, loaded)
    with Progress().checking(f"joining {plural(len(paths), 'share')}"):
        analysis, gathered, settings = shares.merge(
            paths, library, loaded.settings, folder=events or None, as_of=moment
        )
        analysis = mute(analysis, options.mutes(loaded, untrusted=True), gathered.events, now=o.now())
        if excerpts or not as_json:
            analysis = with_excerpts(analysis, gathered.events)
        detections = analysis.listed(muted=muted)
        runs = run_report(detections, gathered.events, as_of=analysis.as_of, settings=settings)
    if as_json:
        for record in analysis.to_dicts(muted=muted, runs=runs):
            write_json(record)
    else:
        how = {"muted": muted, "verbose": verbose, "histories": insufficient}
        show(*analysis_parts(analysis, library, gathered, runs=runs, **how))
    if settings.fail_on is not None and analysis.at_or_above(settings.fail_on):
        raise click.exceptions.Exit(o.FAIL)
