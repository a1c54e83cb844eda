"""`ethogram analyze`: events in, detections out."""

from __future__ import annotations

from typing import Annotated

import typer

from .asked_evaluator import AnswersFile, AskedEvaluator, Budget, InBatches, Options, Sample, SampleBy
from .inputs import (
    Allow,
    AsJson,
    Asked,
    AsOf,
    Config,
    Cwd,
    Deny,
    Goal,
    Parameters,
    Paths,
    Scorers,
    SkipBad,
    Source,
    Task,
    run_context,
)
from .output import printable, write_json, write_line

FOUND = 3
"""The exit code where something at or above --fail-on was found."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("analyze")(analyze)


def analyze(
    paths: Paths = [],  # noqa: B006 (typer copies it)
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
        str, typer.Option(metavar="SEVERITY", help="Exit 3 on a detection at or above low, medium, ...")
    ] = "",
    skip_bad: SkipBad = False,
    source: Source = "",
    scorers: Scorers = [],  # noqa: B006
    config: Config = "",
    parameters: Parameters = [],  # noqa: B006
    insufficient: Annotated[
        bool, typer.Option("--insufficient", help="List every history with too little data, not only counts.")
    ] = False,
    html: Annotated[str, typer.Option(metavar="FILE", help="Write the report as one HTML file too.")] = "",
    excerpts: Annotated[
        bool, typer.Option("--excerpts", help="Show what the evidence says, secrets and names masked.")
    ] = False,
    muted: Annotated[bool, typer.Option("--muted", help="Show what is muted too.")] = False,
    store: Annotated[
        str, typer.Option(metavar="URL", help="Bring the events into this store, and look at all in it.")
    ] = "",
    keep_text: Annotated[
        bool, typer.Option("--keep-text", help="With --store: keep texts too, which patterns of runs need.")
    ] = False,
    evaluator: Annotated[
        str, typer.Option(metavar="NAME", help="Score the messages that earn it first: local, anthropic, ...")
    ] = "",
    option: Options = [],  # noqa: B006
    budget: Budget = None,
    batch: InBatches = False,
    sample: Sample = None,
    sample_by: SampleBy = "",
    answers: AnswersFile = "",
    task: Task = "",
    goal: Goal = "",
    allow: Allow = [],  # noqa: B006
    deny: Deny = [],  # noqa: B006
    cwd: Cwd = "",
) -> None:
    """Look for patterns in files of events."""
    from contextlib import ExitStack
    from datetime import UTC, datetime

    from ..app.analyze import analyze_gathered, load_library, with_excerpts
    from ..app.mute import mute
    from ..app.runs import run_report
    from ..ingest import OnDisk
    from .html import write_html
    from .page_file import check_page
    from .progress import Progress
    from .report import Report
    from .stored import gather_stored, judged
    from .text import plural

    if not paths and not store:
        raise typer.BadParameter("name files or folders of events, or a --store")
    if keep_text and not (store and paths):
        raise typer.BadParameter("--keep-text says what --store keeps of the files: name both")
    check_page(html, [one for one in (*(paths or ()), store) if one])
    context = run_context(task, goal, allow, deny, cwd)
    asked = Asked(paths, as_of, config, source, skip_bad, scorers, parameters, fail_on, as_json, context)
    moment, loaded = asked.moment(), asked.loaded()
    settings, library = loaded.settings, load_library(patterns or None, loaded)
    progress = Progress()
    how = AskedEvaluator(evaluator, option, budget, sample, sample_by, batch, answers)
    ask = how.make(settings, library, progress)
    with ExitStack() as stack:
        given = (
            gather_stored(store, asked, library, settings, keep_text=keep_text)
            if store
            else asked.gather(library, settings, progress)
        )
        if isinstance(given, OnDisk):
            stack.enter_context(given)
        with progress.checking(
            f"checking {plural(len(given.events), 'event')} for {plural(len(library), 'pattern')}"
        ):
            analysis = analyze_gathered(
                given,
                library,
                as_of=moment,
                settings=settings,
                traced=bool(html),
                evaluate=ask,
            )
            entries = asked.mutes(loaded, untrusted=True)
            analysis = mute(analysis, entries, given.events, now=datetime.now(UTC))
            if store:
                analysis = judged(analysis, store, settings)
            if excerpts:
                analysis = with_excerpts(analysis, given.events)
            told = analysis.told(muted=muted)
            runs = run_report(told, given.events, as_of=analysis.as_of, settings=settings)
        # Nothing was written so far, so that whoever is interrupted has all or nothing.
        if html:
            write_html(html, analysis, library, given, muted=muted, runs=runs)
        if as_json:
            for record in analysis.to_dicts(muted=muted, runs=runs):
                write_json(record)
        else:
            Report(analysis, library, given, all_insufficient=insufficient, muted=muted, runs=runs).write()
            if html:
                write_line(f"\nThe report as a page: {printable(html)}")
    if settings.fail_on is not None and analysis.at_or_above(settings.fail_on):
        raise typer.Exit(FOUND)
