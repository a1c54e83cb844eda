"""`ethogram assess`, `store risk` and `store subject`: the risk of runs, and of the subjects of a store."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import click

from ..agents.hook import status as hook_status
from ..app.analyze import analyze_gathered
from ..app.judging.assess import assess_all, assessment_input
from ..app.judging.risk import Muted, newest, risk_record, subject_risk, subject_risks
from ..app.mute import mute
from ..app.run_record import Run
from ..app.runs import run_report
from ..app.subject import SubjectRowRecord, find_subject, subject_context
from ..errors import BadInput
from ..models.detection import STANDING
from ..patterns.settings_check import check_patterns
from ..report.coverage import unjudged_lines
from ..report.rendering import rendered
from ..report.wording import plural, printable
from ..risk.assessment import Intervention
from ..store import open_store
from ..store.records import SubjectRow
from . import options as o
from .output import Progress, emit, write_json, write_line, write_lines
from .scoring import NO_SCORING, ScoringOptions

EFFECTS = {"went_on": "it went on", "open": "not known yet", "ended": "the run was over"}
"""What followed an intervention."""
FEW = 3
"""Assessments that are shown."""


def assess(
    options: Annotated[o.InputOptions, o.MATCHING],
    limit: Annotated[int, o.opt("Show this many; JSON has all.", metavar="N", min=1)] = FEW,
    evaluator: o.ScoreFirst = "",
    scoring: ScoringOptions = NO_SCORING,
) -> None:
    """Rank runs and histories by risk, and say what to do."""
    moment, loaded = options.moment(), options.loaded()
    settings, library = loaded.settings, options.library(loaded)
    progress = Progress()
    evaluate = scoring.make(evaluator, settings, library, progress)
    gathered = options.gather(library, settings, progress)
    with o.held(gathered):
        events = gathered.events
        with progress.checking(f"assessing {plural(len(events), 'event')}"):
            analysis = analyze_gathered(gathered, library, as_of=moment, settings=settings, evaluate=evaluate)
            analysis = mute(analysis, options.mutes(loaded), events, now=o.now())
            runs = run_report(analysis.detections, events, as_of=analysis.as_of, settings=settings)
            interventions = hook_interventions(runs)
            looked = assessment_input(
                analysis, events, library, settings, runs=runs, requested=moment, interventions=interventions
            )
            assessments = assess_all(looked)
        if options.as_json:
            for assessment in assessments:
                write_json(assessment.to_dict())
        else:
            grave = [assessment for assessment in assessments if assessment.overall_risk > 0]
            counts = {"limit": limit, "rest": len(assessments) - len(grave), "events": analysis.events}
            texts = {"untimed": looked.context.untimed, "effects": EFFECTS}
            write_lines(rendered("assess", grave=grave, **counts, **texts))
            write_lines(unjudged_lines(analysis, library, gathered))
        if settings.fail_on is not None:
            options.fail(analysis, library, gathered, settings.fail_on)


def hook_interventions(runs: tuple[Run, ...]) -> dict[str, dict[str, list[Intervention]]]:
    """The interventions of a hook in these runs: by thread and pattern, oldest first."""
    if not runs:
        return {}
    threads = {run.thread for run in runs}
    try:
        interventions, _ = hook_status.load_messages()
    except BadInput as error:
        # They only add to the assessment, which is right without them.
        write_line(printable(f"ethogram: what hooks said is left out: {error}"), to=sys.stderr)
        return {}
    by_thread: dict[str, dict[str, list[Intervention]]] = {}
    for message in interventions:
        if message["session"] in threads:
            steps = by_thread.setdefault(message["session"], {}).setdefault(message["pattern"], [])
            steps.append(Intervention(message["rung"], message["effect"]))
    return by_thread


def risk(
    store: o.StoreUrl,
    subject: Annotated[str, o.arg("Select one subject (default: rank all).", "[SUBJECT]")] = "",
    options: Annotated[o.InputOptions, "as_of as_json config"] = o.NO_INPUT,
    source: o.FromSource = "",
    without: Annotated[
        list[str], o.opt("Evaluate as if this detection did not exist.", "--without", metavar="DETECTION")
    ] = o.NONE,
    limit: Annotated[int, o.opt("List this many subjects; JSON has all.", metavar="N", min=1)] = 50,
    look: o.LookOptions = o.NO_LOOK,
) -> None:
    """Show the risk of a subject and its causes, or rank all subjects."""
    if without and not subject:
        raise click.BadParameter("--without needs a SUBJECT")
    loaded, moment = options.loaded(), options.moment()
    check_patterns(loaded)
    settings, muted = loaded.settings, Muted(options.mutes(loaded), o.now())
    how: dict[str, Any] = {"source": source or None, "as_of": moment, "settings": settings, "muted": muted}
    with open_store(store) as opened, Progress().checking("adding up"):
        untimed = {known.name for known in opened.sources().values() if not known.timed}
        if subject:
            name = look.at(opened, "risk", subject)
            assessment = subject_risk(opened, name, **how, without=without)
        else:
            o.note_all(opened, "risk")
            risks = subject_risks(opened, **how)
    if not subject:
        emit(
            (risk.to_dict() for risk in risks),
            rendered("ranking", risks=risks, limit=limit),
            as_json=options.as_json,
        )
        return
    if without and not options.as_json:
        write_line(f"Without {', '.join(without)} and what depends on it:")
    emit(
        [risk_record(assessment)],
        rendered("risk", assessment=assessment, untimed=untimed, effects=EFFECTS),
        as_json=options.as_json,
    )


# --- subject -----------------------------------------------------------------------------------

Counts = Counter[tuple[str, str]]
SORTS: dict[str, Callable[[SubjectRow, Counts], Any]] = {
    "name": lambda row, counts: (row.name, row.source),
    "events": lambda row, counts: (-row.events, row.name),
    "last": lambda row, counts: (-row.last_at.timestamp(), row.name),
    "detections": lambda row, counts: (-counts[row.who], row.name),
}
"""What a list is sorted by."""


def subject(
    store: o.StoreUrl,
    name: Annotated[str, o.arg("Select one subject (default: list all).", "[SUBJECT]")] = "",
    options: Annotated[o.InputOptions, "as_of patterns as_json config scorers parameters"] = o.NO_INPUT,
    source: o.FromSource = "",
    sort: Annotated[str, o.opt("Sort the list by name, events, last or detections.", metavar="BY")] = "name",
    look: o.LookOptions = o.NO_LOOK,
) -> None:
    """Show where a subject stands, or list all subjects of a store."""
    if not name:
        list_subjects(store, source, sort, as_json=options.as_json)
        return
    loaded = options.loaded()
    settings = loaded.settings
    with open_store(store) as opened:
        row = find_subject(opened, look.at(opened, "subject", name), source or None)
        library = options.library(loaded)
        at = options.moment() or newest(opened)
        context = subject_context(opened, row.source, row.name, at, library=library, settings=settings)
        how: dict[str, Any] = {"source": row.source, "as_of": at, "settings": settings}
        risk = subject_risk(opened, row.name, **how, muted=Muted(options.mutes(loaded), o.now()))
    lines = rendered("subject", context=context, risk=risk, standing=STANDING)
    emit([replace(context, risk=risk.overall_risk)], lines, as_json=options.as_json)


def list_subjects(store: str, source: str, sort: str, *, as_json: bool) -> None:
    """List the subjects of a store."""
    o.check_word("--sort", sort, tuple(SORTS))
    with open_store(store) as opened:
        o.note_all(opened, "subjects")
        rows = [*opened.subjects(source=source or None), *opened.detected_subjects(source=source or None)]
        detections = opened.detections(states=STANDING, parts=False)
        untimed = {known.name for known in opened.sources().values() if not known.timed}
    counts = Counter(
        (detection.source, detection.subject) for detection in detections if detection.status != "shadow"
    )
    rows.sort(key=lambda row: SORTS[sort](row, counts))
    records = [
        SubjectRowRecord(
            source=row.source,
            subject=row.name,
            events=row.events,
            timed=row.source not in untimed,
            first_at=row.first_at,
            last_at=row.last_at,
            detections=counts[row.who],
        )
        for row in rows
    ]
    emit(records, rendered("subjects", rows=records), as_json=as_json)
