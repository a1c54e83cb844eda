"""`ethogram analyze`: events in, detections out."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import click

from ..app.analyze import analyze_gathered, load_library, with_excerpts
from ..app.jobs import memory_for
from ..app.mute import mute
from ..app.runs import run_report
from ..errors import BadUsage
from ..report.wording import plural, printable
from . import options as o
from .output import Progress, check_page, show, write_json, write_line, write_page


def analyze(
    paths: o.Paths = o.NONE,
    patterns: o.Patterns = o.NONE,
    as_of: o.AsOf = "",
    fail_on: o.FailOn = "",
    html: o.Html = "",
    as_json: o.AsJson = False,
    verbose: o.Verbose = False,
    excerpts: o.Excerpts = False,
    store: Annotated[str, o.opt("Import the events and analyse all of this store.", metavar="URL")] = "",
    skip_bad: o.SkipBad = False,
    config: o.Config = "",
    source: o.Source = "",
    scorers: o.Scorers = o.NONE,
    keep_text: Annotated[bool, o.opt("With --store: store texts too.", "--keep-text", panel=o.INPUT)] = False,
    muted: Annotated[bool, o.opt("Show muted detections too.", "--muted", panel=o.OUTPUT)] = False,
    insufficient: Annotated[
        bool, o.opt("List every history with insufficient data.", "--insufficient", panel=o.OUTPUT)
    ] = False,
    evaluator: Annotated[
        str, o.opt("Score flagged messages first: local, openai, ...", metavar="NAME", panel=o.SCORING)
    ] = "",
    scoring: o.ScoringOptions = o.NO_SCORING,
    run: o.RunOptions = o.NO_RUN,
    parameters: o.Parameters = o.NONE,
    plugins: o.Plugins = o.NONE,
    jobs: o.Jobs = None,
    bucket: Annotated[
        str, o.opt("Analyse share K of N of a folder of buckets.", metavar="K/N", panel=o.SHARES)
    ] = "",
    output: Annotated[str, o.opt("With --bucket: write to FILE.", metavar="FILE", panel=o.SHARES)] = "",
) -> None:
    """Detect patterns in files of events."""
    if not paths and not store:
        raise click.BadParameter("missing input: name files or folders of events, or a --store")
    if keep_text and not (store and paths):
        raise click.BadParameter("--keep-text needs --store and files to import")
    check_page(html, [path for path in (*(paths or ()), store) if path])
    options = o.InputOptions(
        paths, as_of, config, source, skip_bad, scorers, parameters, fail_on, as_json, run
    )
    moment, loaded = options.moment(), options.loaded()
    settings, library = loaded.settings, load_library(patterns or None, loaded)
    if bucket or output:
        from .buckets import analyze_bucket

        if store or html or evaluator or excerpts or fail_on:
            raise click.BadParameter(
                "--bucket excludes --store, --html, --evaluator, --excerpts and --fail-on"
            )
        analyze_bucket(paths, library, settings, bucket, output, as_of=moment, jobs=jobs)
        return
    progress, scored = Progress(), None
    evaluate = scoring.make(evaluator, settings, library, progress)
    if store:
        from .store import gather_stored, with_probabilities

        gathered, scored = gather_stored(
            store, options, library, settings, keep_text=keep_text, evaluate=evaluate
        )
        if scored is not None:
            from ..app.evaluation.scoring import settings_for

            evaluate, settings = None, settings_for(settings, scored.scorer)
    else:
        gathered = options.gather(library, settings, progress, memory=memory_for(settings, jobs))
    with o.held(gathered):
        events = gathered.events
        with progress.checking(
            f"checking {plural(len(events), 'event')} for {plural(len(library), 'pattern')}"
        ):
            analysis = analyze_gathered(
                gathered,
                library,
                as_of=moment,
                settings=settings,
                traced=bool(html),
                evaluate=evaluate,
                jobs=jobs,
            )
            if scored is not None:
                analysis = replace(analysis, evaluated=scored.to_dict())
            analysis = mute(analysis, options.mutes(loaded, untrusted=True), events, now=o.now())
            if store:
                analysis = with_probabilities(analysis, store, settings)
            if excerpts:
                analysis = with_excerpts(analysis, events)
            detections = analysis.told(muted=muted)
            runs = run_report(detections, events, as_of=analysis.as_of, settings=settings)
        # Nothing is written before this line: an interrupted command has written all or nothing.
        if html:
            from ..report.coverage import Coverage
            from ..report.html import page

            coverage = Coverage.of(analysis, library, gathered)
            write_page(html, page(analysis, coverage, muted=muted, runs=runs))
        if as_json:
            for record in analysis.to_dicts(muted=muted, runs=runs):
                write_json(record)
        else:
            from ..report.text import analysis_parts

            analysis = with_excerpts(analysis, events)
            how = {"muted": muted, "verbose": verbose, "histories": insufficient}
            show(*analysis_parts(analysis, library, gathered, runs=runs, **how))
            if html:
                write_line(f"\nHTML report: {printable(html)}")
    if settings.fail_on is not None and not analysis.events:
        raise BadUsage("--fail-on: there are no events in this input, so nothing was checked")
    if settings.fail_on is not None and analysis.at_or_above(settings.fail_on):
        raise click.exceptions.Exit(o.FAIL)
