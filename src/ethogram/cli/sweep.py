"""`ethogram sweep`: check every subject with something new in a store, once or repeatedly."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import click

from ..app.judging.accuracy import with_probabilities as calibrated
from ..app.judging.verdicts import settle
from ..app.mute import add_excerpts
from ..app.stored_events import note_looks
from ..app.swarms import once_per_swarm
from ..app.sweep import Sweep, mute_changes
from ..app.sweep import reset_clock as forget_sweeps_ahead
from ..app.sweep import sweep as run
from ..config import Settings
from ..errors import BadUsage
from ..models import Detection
from ..models.mute import Mute
from ..patterns.library import Library
from ..report.coverage import untrusted_lines
from ..report.text import sweep_parts
from ..report.wording import plural, scored_line
from ..store import Store, open_store
from ..store.records import Change
from . import options as o
from .errors import warn
from .export import Exports, Sink, sinks_of
from .output import Progress, flush, show, write_json, write_line
from .scoring import NO_SCORING, ScoringOptions


def sweep(
    store: o.StoreUrl,
    options: Annotated[
        o.InputOptions, "patterns fail_on as_json config scorers parameters plugins"
    ] = o.NO_INPUT,
    every: Annotated[str, o.opt("Repeat after this long, like 1h.", metavar="DURATION")] = "",
    since: Annotated[str, o.opt("Include everybody with an event since then.", metavar="TIME")] = "",
    min_events: Annotated[int, o.opt("Skip subjects with fewer events.", min=1)] = 1,
    as_of: o.AsOfNow = "",
    verbose: o.Verbose = False,
    exports: Exports = o.NONE,
    reset_clock: Annotated[
        bool, o.opt("Forget sweeps recorded ahead of the clock.", "--reset-clock")
    ] = False,
    evaluator: Annotated[
        str, o.opt("Score stored texts first: local, openai, ...", metavar="NAME", panel=o.SCORING)
    ] = "",
    scoring: ScoringOptions = NO_SCORING,
    jobs: o.Jobs = None,
) -> None:
    """Check subjects with something new in a store; report changes once."""
    options, as_json = replace(options, as_of=as_of), options.as_json
    loaded, pause = options.loaded(), o.seconds_of(every, "--every")
    settings = loaded.settings
    if pause is not None and pause <= 0:
        raise BadUsage("invalid --every: expected more than 0 seconds")
    if pause and as_of:
        raise BadUsage("--every and --as-of exclude each other")
    library = options.library(loaded)
    sinks = list(sinks_of(exports))
    with open_store(store) as opened:
        if sinks and opened.private() is not None:
            raise BadUsage("this store keeps people under other names: nothing of it is sent elsewhere")
        if reset_clock:
            again = plural(forget_sweeps_ahead(opened, o.now()), "subject")
            write_line(f"Forgot sweeps ahead of the clock; checking {again} again.", to=sys.stderr)
        left = scoring.budget
        while True:
            o.note_all(opened, "sweep")
            rest = replace(scoring, budget=left)
            settings, spent = scored(opened, options, library, loaded.settings, evaluator, rest)
            left = None if left is None else max(0.0, left - spent)
            with Progress().checking(f"checking what is new for {len(library)} patterns"):
                done = run(
                    opened,
                    library,
                    as_of=options.moment() or o.now(),
                    clock=o.now,
                    settings=settings,
                    since=o.moment(since, "--since"),
                    min_events=min_events,
                    jobs=jobs,
                )
            changes, folded = once_per_swarm(done.changes, opened)
            done = replace(done, changes=tuple(changes))
            failing, done, shown = muted(done, options.mutes(loaded, untrusted=True), opened)
            done = with_probabilities(done, opened, settings)
            export(opened, done, sinks, as_json=as_json)
            report(opened, done, shown, as_json=as_json, verbose=verbose)
            opened.mark_reported(change.key for change in folded)
            settle(opened, settings, o.now())
            if settings.fail_on is not None and failing.at_or_above(settings.fail_on):
                raise click.exceptions.Exit(o.FAIL)
            if not pause:
                return
            time.sleep(pause)


def scored(
    store: Store,
    options: o.InputOptions,
    library: Library,
    settings: Settings,
    evaluator: str,
    scoring: ScoringOptions,
) -> tuple[Settings, float]:
    """The settings with the evaluator's scores counting, after it scored what is new; and what that cost.

    A store without texts keeps the scores that it has.
    """
    progress = Progress()
    evaluate = scoring.make(evaluator, settings, library, progress)
    if evaluate is None:
        return settings, 0.0
    from ..app.evaluation.scoring import settings_for
    from .store import score_stored

    ours, spent = settings_for(settings, evaluate.evaluator.scorer), 0.0
    if not store.has_texts():
        warn(f"{store.url} has no texts: nothing to score; scores kept before count", as_json=options.as_json)
        return ours, spent
    try:
        result = score_stored(store, options, library, settings, evaluate)
    finally:
        progress.stop()
    result.must_not_have_stopped()
    if not options.as_json:
        write_line(scored_line(result.to_dict()), to=sys.stderr)
    return ours, result.spent


def muted(
    done: Sweep, entries: Sequence[Mute], store: Store
) -> tuple[Sweep, Sweep, list[tuple[Change, Mute]]]:
    """The sweep as --fail-on sees it, as it is reported, and what an untrusted file mutes."""
    at = o.now()
    failing = mute_changes(done, [entry for entry in entries if not entry.untrusted], store, at)
    reported, shown = failing, list[tuple["Change", "Mute"]]()
    for entry in (entry for entry in entries if entry.untrusted):
        left = {change.key for change in mute_changes(reported, [entry], store, at).changes}
        new = [change for change in reported.changes if change.key not in left]
        shown += [(change, entry) for change in new]
        changes = tuple(change for change in reported.changes if change.key in left)
        reported = replace(reported, changes=changes, muted=(*reported.muted, *new))
    return failing, reported, shown


def with_probabilities(done: Sweep, store: Store, settings: Settings) -> Sweep:
    """The sweep with what confidences have meant by verdicts, where the settings ask for that."""
    if not done.changes or not store.has_verdicts():
        return done
    detections = calibrated([change.detection for change in done.changes], store, settings)
    changes = [
        replace(change, detection=detection)
        for change, detection in zip(done.changes, detections, strict=True)
    ]
    return replace(done, changes=tuple(changes))


def export(store: Store, done: Sweep, sinks: Sequence[Sink], *, as_json: bool) -> None:
    """Send the changes, before they count as reported: an interrupted command sends them again."""
    untimed = untimed_sources(store) if sinks else set[str]()
    for change in done.changes if sinks else ():
        for sink in sinks:
            if why := sink(change.detection.to_dict(timed=change.detection.source not in untimed)):
                again = "ethogram export-scores --store sends it again"
                warn(f"not delivered: detection {change.detection.id}: {why}; {again}", as_json=as_json)


def report(
    store: Store,
    done: Sweep,
    shown: Sequence[tuple[Change, Mute]],
    *,
    as_json: bool,
    verbose: bool,
) -> None:
    """Print the changes, then mark them as reported: an interrupted command reports them again."""
    untimed = untimed_sources(store)
    if as_json:
        every = [replace(change.detection, change=change.change) for change in done.changes]
        for change, entry in shown:
            detection = replace(change.detection, change=change.change)
            every.append(replace(detection, muted=entry.id, muted_by_untrusted=True))
        for detection in every:
            write_json(detection.to_dict(timed=detection.source not in untimed))
        write_json(done.summary())
    else:
        hidden = untrusted_lines([(change.detection, entry) for change, entry in shown])
        quoted = partial(with_excerpts, store=store)
        show(*sweep_parts(done, untimed, quoted, verbose=verbose), *hidden)
    flush()
    people = sorted({change.detection.subject for change in done.changes})
    note_looks(store, "listed", people, at=o.now(), who=o.user_name())
    store.mark_reported(change.key for change in (*done.changes, *done.muted))


def with_excerpts(detections: Sequence[Detection], store: Store) -> list[Detection]:
    """The detections with a masked excerpt on each event by their subjects whose text the store keeps."""
    whose = {(each.source, each.subject) for each in detections}
    events = store.events(whose, with_text=True) if whose and store.has_texts() else ()
    return add_excerpts(detections, events)


def untimed_sources(store: Store) -> set[str]:
    """The names of the sources without times."""
    return {source.name for source in store.sources().values() if not source.timed}
