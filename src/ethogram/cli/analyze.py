"""`ethogram analyze`: events in, detections out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import click

from ..app.analyze import analyze_gathered, with_excerpts
from ..app.mute import mute
from ..app.result import Analysis
from ..app.run_record import Run
from ..app.runs import run_report
from ..errors import BadUsage
from ..ingest import Gathered
from ..models.detection import base_pattern
from ..patterns.library import Library
from ..report.wording import plural, printable
from . import options as o
from .output import Progress, Target, json_line, show, write_line, write_text
from .scoring import NO_SCORING, ScoringOptions

FORMATS = ("text", "json", "github", "junit", "markdown")


def analyze(
    options: Annotated[o.InputOptions, o.MATCHING.replace("!", "")],
    html: o.Html = "",
    verbose: o.Verbose = False,
    excerpts: o.Excerpts = False,
    store: Annotated[str, o.opt("Import the events and analyse all of this store.", metavar="URL")] = "",
    keep_text: Annotated[bool, o.opt("With --store: store texts too.", "--keep-text", panel=o.INPUT)] = False,
    formats: o.Formats = o.NONE,
    exit_zero: o.ExitZero = False,
    muted: Annotated[bool, o.opt("Show muted detections too.", "--muted", panel=o.OUTPUT)] = False,
    insufficient: Annotated[
        bool, o.opt("List every history with insufficient data.", "--insufficient", panel=o.OUTPUT)
    ] = False,
    evaluator: o.ScoreFirst = "",
    scoring: ScoringOptions = NO_SCORING,
    jobs: o.Jobs = None,
) -> None:
    """Detect patterns in files of events."""
    paths = options.paths
    if not paths and not store:
        raise click.BadParameter("missing input: name files or folders of events, or a --store")
    if keep_text and not (store and paths):
        raise click.BadParameter("--keep-text needs --store and files to import")
    page_file = Target("--html", html, inputs=[*paths, store] if store else paths) if html else None
    shown, files = chosen_formats(formats, as_json=options.as_json, inputs=paths)
    options = replace(options, as_json=shown == "json")
    moment, loaded = options.moment(), options.loaded()
    settings, library = loaded.settings, options.library(loaded)
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
        gathered = options.gather(library, settings, progress, jobs=jobs)
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
            detections = analysis.listed(muted=muted)
            runs = run_report(detections, events, as_of=analysis.as_of, settings=settings)
        # Nothing is written before this line: an interrupted command has written all or nothing.
        if page_file is not None:
            from ..report.coverage import Coverage
            from ..report.html import page

            coverage = Coverage.of(analysis, library, gathered)
            page_file.write([page(analysis, coverage, muted=muted, runs=runs)])
        for name, target in files:
            target.write(formatted(name, analysis, runs, paths, settings.fail_on, muted=muted))
        if shown != "text":
            for piece in formatted(shown, analysis, runs, paths, settings.fail_on, muted=muted):
                write_text(piece)
        else:
            from ..report.text import WITHOUT_TEXT, analysis_parts

            analysis = with_excerpts(analysis, events)
            how = {"muted": muted, "verbose": verbose, "histories": insufficient}
            show(*analysis_parts(analysis, library, gathered, runs=runs, **how))
            if store and (blind := without_text(store, library, analysis, gathered)):
                write_line(f"{WITHOUT_TEXT}: {', '.join(blind)}")
            if html:
                write_line(f"\nHTML report: {printable(html)}")
        if settings.fail_on is not None:
            options.fail(analysis, library, gathered, settings.fail_on, exit_zero=exit_zero)


def without_text(store: str, library: Library, analysis: Analysis, gathered: Gathered) -> list[str]:
    """The patterns without a detection that cannot be judged, since the store left texts out."""
    from ..app.lost_texts import bare_events, lost_in, without_texts
    from ..store import open_store

    with open_store(store) as opened:
        lost = lost_in(opened, bare_events(gathered.events))
    matched = {base_pattern(item.pattern) for item in analysis.checked if item.detections}
    return [name for name in without_texts(library, lost) if name not in matched]


def chosen_formats(
    formats: Sequence[str], *, as_json: bool, inputs: Sequence[str]
) -> tuple[str, list[tuple[str, Target]]]:
    """The format of standard output, and the files that get others. `--json` is `--format json`."""
    printed, files = ["json"] if as_json else [], list[tuple[str, Target]]()
    for text in formats:
        name, equals, path = text.partition("=")
        o.check_word("--format", name, FORMATS)
        if not equals:
            printed.append(name)
        elif name == "text" or not path:
            raise BadUsage(
                f"invalid --format {text!r:.80}: expected a file after json=, github=, junit=, ..."
            )
        else:
            files.append((name, Target("--format", path, inputs=inputs)))
    if len(set(printed)) > 1:
        raise BadUsage(f"--format: {' and '.join(printed)} cannot both be printed; write one to FORMAT=FILE")
    return (printed or ["text"])[0], files


def formatted(
    name: str,
    analysis: Analysis,
    runs: Sequence[Run],
    paths: Sequence[str],
    fail_on: str | None,
    *,
    muted: bool,
) -> Iterator[str]:
    """The analysis in a format other than text, in pieces."""
    if name == "json":
        return (json_line(record) for record in analysis.to_dicts(muted=muted, runs=runs))
    from ..report import ci

    detections = analysis.counted(muted=muted)
    # Events do not know their file: an annotation has one where there is only one.
    file = paths[0] if len(paths) == 1 and Path(paths[0]).is_file() else ""
    if name == "github":
        lines = ci.github_lines(analysis, detections, file=file, fail_on=fail_on)
    elif name == "junit":
        return iter([ci.junit_text(analysis, detections, file=file, fail_on=fail_on)])
    else:
        lines = ci.markdown_lines(analysis, detections)
    return (f"{line}\n" for line in lines)
