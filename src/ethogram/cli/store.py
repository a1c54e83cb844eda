"""`ethogram store`: import events, look at a store, export and purge."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import click

from ..errors import BadUsage, did_you_mean
from ..files.sqlite import create
from ..report.rendering import rendered
from ..report.wording import clean, plural, stamp
from ..store import Store, open_store
from ..store.records import COUNTED, TALK_SOURCES, Info, Purged
from . import options as o
from .output import Progress, Target, emit, json_line, write_json, write_line, write_text

if TYPE_CHECKING:
    from ..app.evaluation.scoring import Evaluate, Evaluated
    from ..app.importing import Imported
    from ..app.result import Analysis
    from ..config import Settings
    from ..ingest import Batch, OnDisk
    from ..patterns.library import Library
    from ..usage.records import UsagePurge


FORMATS = ("jsonl", "parquet", "neo4j-csv")
"""Of `store export`."""
UNCLEAN = 1
"""Exit code where copies of what was removed are left in the files."""


# --- import ---------------------------------------------------------------------------------


def import_files(
    options: Annotated[o.InputOptions, o.READING],
    store: o.StoreUrl,
    keep_text: Annotated[bool, o.opt("Store the texts of events too.", "--keep-text")] = False,
    pseudonyms: Annotated[str, o.opt("Replace names by this key, and drop texts.", metavar="KEYFILE")] = "",
) -> None:
    """Import events into a store; all of them or none.

    After an interruption, the same command continues where it stopped.
    """
    if pseudonyms:
        from ..usage.pseudonym import read_keys

        read_keys(pseudonyms)
        if o.is_file(store):
            create(o.path_of(store))  # a new file that only its owner may read
    with open_store(store, create=True) as opened:
        done = run_import(opened, options, options.settings(), keep_text=keep_text, pseudonyms=pseudonyms)
    emit([done], rendered("import", done=done, near=near_signal), as_json=options.as_json)


def near_signal(name: str) -> str:
    """A question whether a column was meant to be a signal; '' where none has a similar name."""
    from ..patterns.catalogue import load_vocabulary

    return did_you_mean(name, load_vocabulary().signals)


def run_import(
    store: Store, options: o.InputOptions, settings: Settings, *, keep_text: bool, pseudonyms: str = ""
) -> Imported:
    """Import the paths; skipped lines are listed on standard error."""
    from ..app.importing import Options, import_events
    from ..ingest import Batch
    from ..ingest.batch import EventList
    from ..usage.pseudonym import read_keys

    progress = Progress()
    keys = read_keys(pseudonyms) if pseudonyms else None
    how = Options(settings.source, options.skip_bad, keep_text, pseudonyms=keys)
    try:
        done = import_events(
            store, options.paths, at=o.now(), options=how, settings=settings, progress=progress.read
        )
    except KeyboardInterrupt:
        progress.stop()
        if staged := sum(unfinished.staged for unfinished in store.imports()):
            text = f"{plural(staged, 'event')} staged; run the same command again to continue"
            write_line(f"ethogram: {text}", to=sys.stderr)
        raise
    finally:
        progress.stop()
    options.report_bad(Batch(EventList(), done.faults, done.bad))
    return done


def gather_stored(
    url: str,
    options: o.InputOptions,
    library: Library,
    settings: Settings,
    *,
    keep_text: bool = False,
    evaluate: Evaluate | None = None,
) -> tuple[Batch | OnDisk, Evaluated | None]:
    """All events of a store, with the paths imported first, as `analyze` takes them.

    With `evaluate` the messages of the paths, or without paths those of the store, are scored before, and
    the scores are kept in the store.
    """
    from ..app.stored_events import gather

    with open_store(url, create=bool(options.paths)) as opened, o.stdin_copy(options.paths, evaluate):
        o.note_all(opened, "analyze")
        done = run_import(opened, options, settings, keep_text=keep_text) if options.paths else None
        scorers, evaluated = settings.scorers, None
        if evaluate is not None:
            from ..app.evaluation.scoring import settings_for

            evaluated = score_stored(opened, options, library, settings, evaluate)
            evaluated.must_not_have_stopped()
            scorers = settings_for(settings, evaluated.scorer).scorers
        memory = settings.memory
        return gather(opened, library.programs, memory=memory, imported=done, scorers=scorers), evaluated


def score_stored(
    store: Store, options: o.InputOptions, library: Library, settings: Settings, evaluate: Evaluate
) -> Evaluated:
    """Score the messages of the paths, which were imported, or without paths those with a stored text."""
    from ..app.evaluation.stored import score
    from ..app.stored_events import gather

    if options.paths:
        if "-" in options.paths:
            sys.stdin.buffer.seek(0)  # a copy, see `stdin_copy`
        gathered = options.gather(library, settings, Progress())
    elif store.has_texts():
        scorers = {"*": evaluate.evaluator.scorer}
        gathered = gather(store, library.programs, memory=settings.memory, scorers=scorers)
    else:
        from .evaluate import NO_TEXTS

        raise BadUsage(f"{store.url} has no texts to score: {NO_TEXTS}")
    with o.held(gathered):
        return score(store, gathered, evaluate, options.moment())


def with_probabilities(analysis: Analysis, url: str, settings: Settings) -> Analysis:
    """The analysis with what confidences have meant by verdicts, where the settings ask for that."""
    if not settings.calibration or not analysis.detections:
        return analysis
    with open_store(url) as opened:
        if not opened.has_verdicts():
            return analysis
        from ..app.judging.accuracy import with_probabilities as calibrated

        detections = tuple(calibrated(analysis.detections, opened, settings))
    changed: Analysis = replace(analysis, detections=detections)
    return changed


# --- info -----------------------------------------------------------------------------------


def info(store: o.StoreUrl, as_json: o.AsJson = False) -> None:
    """Show what is in a store."""
    with open_store(store) as opened:
        contents = opened.info()
    emit([contents], _info_lines(contents), as_json=as_json)


def _info_lines(contents: Info) -> Iterator[str]:
    """What is in a store, in words; not by a template, since reading those takes longer than all else."""
    size = f"{contents.bytes / 1e6:,.1f} MB, " if contents.bytes else ""
    yield f"{clean(contents.store)}: {size}schema {contents.schema}"
    nouns = {"runner_states": "engine state", "readings": "measured reading"}
    for name in COUNTED:
        yield f"  {plural(getattr(contents, name), nouns.get(name, name.removesuffix('s')))}"
    if contents.first_at and contents.last_at:
        yield f"  from {stamp(contents.first_at)} to {stamp(contents.last_at)} UTC"
    for source in contents.sources:
        yield f"  source {clean(source.name)}{'' if source.timed else ', without times'}"
    for staged in contents.unfinished_imports:
        yield f"  unfinished import: {plural(staged, 'staged event')}"
    if contents.last_sweep:
        yield f"  last swept as of {stamp(contents.last_sweep)} UTC"


# --- export ---------------------------------------------------------------------------------


def export(
    store: o.StoreUrl,
    subject: Annotated[str, o.opt("Export this subject alone.", metavar="NAME")] = "",
    source: o.FromSource = "",
    form: Annotated[str, o.opt("Write jsonl, parquet or neo4j-csv.", "--format", metavar="FORMAT")] = "jsonl",
    output: Annotated[str, o.opt("Write this file (neo4j-csv: folder).", metavar="PATH")] = "",
) -> None:
    """Write the events of a store as JSON lines, in order.

    With --format neo4j-csv, nodes and relationships for neo4j-admin.
    """
    from ..app.stored_events import stored_name

    if form not in FORMATS:
        raise BadUsage(f"invalid --format {form!r:.40}: expected {', '.join(FORMATS)}")
    if not output and form != FORMATS[0]:
        raise BadUsage(f"--format {form} needs --output PATH; only JSON lines go to standard output")
    with open_store(store) as opened:
        o.note_all(opened, "export")
        name = stored_name(opened, subject, None) if subject else None
        if form == FORMATS[0]:
            rows = opened.subjects(name, source or None) if subject or source else None
            events = opened.events(None if rows is None else [row.who for row in rows])
            lines = (json_line({"source": event.source, **event.to_dict()}) for event in events)
            if output:
                done = Target("--output", output, new=True).write(lines)
                write_line(f"{plural(done, 'event')} written to {output}.")
            else:
                for line in lines:
                    write_text(line)
            return
        from ..app.moving import export_neo4j, export_parquet

        chosen = opened.subjects(name, source or None)
        try:
            if form == "parquet":
                write_line(f"{plural(export_parquet(opened, output, chosen), 'event')} written to {output}.")
            else:
                write_line(
                    f"neo4j-admin database import full {' '.join(export_neo4j(opened, output, chosen))}"
                )
        except OSError as error:
            raise BadUsage(f"{output} cannot be written: {error.strerror or error}") from None


def copy(
    origin: Annotated[str, o.arg("Copy this store.", "FROM")],
    target: Annotated[str, o.arg("Copy into this new store.", "TO")],
    as_json: o.AsJson = False,
) -> None:
    """Copy a store into a new one, of the same or another kind."""
    from ..app.moving import copy_store

    with open_store(origin) as opened, open_store(target, create=True) as new:
        o.note_all(opened, "copy")
        done = copy_store(opened, new)
    emit([done], rendered("copy", done=done), as_json=as_json)


def export_subject(
    store: o.StoreUrl,
    subject: Annotated[str, o.opt("Name the subject.", metavar="ID")],
    source: o.FromSource = "",
    look: o.LookOptions = o.NO_LOOK,
) -> None:
    """Write everything a store has about one subject, for that person."""
    from .usage import open_tracker

    has_people = o.is_usage(store)
    if o.has_events(store):
        for record in subject_records(store, subject, source, look):
            # The lines of the audit come once, at the end.
            if not (has_people and record.get("record") == "usage_look"):
                write_json(record)
    if has_people:
        with open_tracker(store, look.key, look.who) as tracker:
            for record in tracker.export(look.person(subject), look.why or None):
                write_json(record)


def subject_records(store: str, subject: str, source: str, look: o.LookOptions) -> Iterator[dict[str, Any]]:
    """Events, detections, verdicts and conversations of a subject, and who looked at them."""
    from ..app.stored_events import stored_name, stored_source

    with open_store(store) as opened:
        name = stored_name(opened, look.person(subject), look.key)
        of = stored_source(opened, source, look.key) or None
        rows = [row.who for row in (*opened.subjects(name, of), *opened.detected_subjects(name, of))]
        states = opened.states_of(name) if source in ("", *TALK_SOURCES) else []
        action = "export" if rows or states else "unknown"
        look.note(opened, action, [name], subject)
        for event in opened.events(rows) if rows else ():
            yield {"source": event.source, **event.to_dict()}
        detections = opened.detections(subjects=rows) if rows else []
        yield from (detection.to_dict() for detection in detections)
        ids = {detection.id for detection in detections}
        for verdict in opened.verdicts():
            if verdict.detection in ids or verdict.subject == name:
                yield verdict.to_dict()
        yield from (state.to_dict() for state in states)
        yield from (look.to_dict() for look in opened.looks(name))


# --- purge ----------------------------------------------------------------------------------


def purge(
    store: o.StoreUrl,
    subject: Annotated[str, o.opt("Remove everything of this subject.", metavar="ID")] = "",
    before: Annotated[str, o.opt("Remove everything before this time.", metavar="TIME")] = "",
    redact: o.Redact = False,
    source: o.FromSource = "",
    look: o.LookOptions = o.NO_LOOK,
    as_json: o.AsJson = False,
) -> None:
    """Remove a subject or old events permanently from a store.

    What others wrote stays. Where it mentions the subject's id, it is counted, and --redact replaces it. The
    audit records that something was removed, not who.
    """
    from ..app.stored_events import stored_name, stored_source
    from .usage import open_tracker

    if not subject and not before:
        raise BadUsage("nothing to purge: expected --subject NAME, --before TIME or both")
    if source and not subject:
        raise BadUsage("--source needs --subject")
    if redact and (before or not subject):
        raise BadUsage("--redact needs --subject, and excludes --before")
    person, end = look.person(subject), o.moment(before, "--before")
    all_clean, has_people, has_events = True, o.is_usage(store), o.has_events(store)
    done: UsagePurge | Purged
    if has_people and not source:
        with open_tracker(store, look.key, look.who) as tracker:
            done = tracker.purge(person or None, end, look.why or None)
        events = plural(done.events, "event") + (" before that time" if before else "")
        removed = f"{plural(done.people, 'person')} and {events}"
        emit([done], rendered("purge", done=done, removed=removed, mentions={}), as_json=as_json)
        all_clean = done.clean
    if has_events:
        with open_store(store) as opened:
            name = stored_name(opened, person, look.key) if subject else ""
            whose = (stored_source(opened, source, look.key), name) if source else name or None
            if not has_people:
                look.note(opened, "purge", [None], subject)
            done = opened.purge(subject=whose, before=end, redact=redact)
        more = f", {plural(done.states, 'conversation state')}" if done.states else ""
        removed = f"{plural(done.events, 'event')} and {plural(done.detections, 'detection')}{more}"
        how = {"done": done, "removed": removed, "mentions": done.mentions}
        emit([done], rendered("purge", **how), as_json=as_json)
        all_clean = all_clean and done.clean
    if not all_clean:
        raise click.exceptions.Exit(UNCLEAN)
